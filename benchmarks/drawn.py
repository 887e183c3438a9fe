"""``python -m benchmarks.drawn``: write the tables and plots of docs/scale.md from the receipts.

Receipts lie in benchmarks/receipts: ``parts.json`` of ``python -m benchmarks``, ``turns-*.json`` of
``make kube-bench AGAINST=...``. Times of a run during which others used the machine are left out.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RECEIPTS = ROOT / "benchmarks" / "receipts"
PAGE = ROOT / "docs" / "scale.md"
PICTURES = ROOT / "docs" / "pictures"
QUIET_CORES = 0.1
"""Cores that others may keep busy while times are taken."""
COUNTED = ("requests", "memory", "status-writes")
"""Lines that mean the same on a machine that others use."""
_ROW, _LEFT, _WIDE, _TOP = 26, 250, 420, 34
_COLOURS = ("#2f6fb0", "#9aa4ad")

Receipt = dict[str, Any]
Bars = Mapping[str, Sequence[float]]


def receipts(folder: Path = RECEIPTS) -> dict[str, Receipt]:
    """By name."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}


def is_quiet(receipt: Receipt) -> bool:
    """Whether its times may be quoted: nobody else used the machine."""
    runs = receipt.get("runs") or [receipt]
    return all(run["coresOfOthers"] <= QUIET_CORES for run in runs)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def requests(receipt: Receipt) -> str:
    """What was asked of the API server, for each size and line: means of the first side's runs."""
    of_size: dict[int, list[Any]] = {}
    for run in receipt["runs"]:
        if run["side"] == "A":
            of_size.setdefault(run["clusters"], []).append(run)
    return "\n\n".join(filter(None, map(_requests, of_size.values())))


def _requests(runs: Sequence[Any]) -> str:
    lines = [line for line in runs[0]["requests"] if line != "between"]
    if not lines:
        return ""
    asked: dict[str, dict[str, float]] = {}
    for run in runs:
        for line in lines:
            for what, number in run["requests"].get(line, {}).items():
                if what == "patch leases":  # upkeep, by time and not by clusters
                    continue
                verb = what.partition(" ")[0]
                row = "lists and watches" if verb in ("list", "watch", "get") else what
                counts = asked.setdefault(row, dict.fromkeys(lines, 0.0))
                counts[line] += number / len(runs)
    rows = [
        [what, *(f"{round(counts[line], 1):g}" if counts[line] else "" for line in lines)]
        for what, counts in sorted(asked.items())
    ]
    clusters = runs[0]["clusters"]
    sums = [sum(counts[line] for counts in asked.values()) / clusters for line in lines]
    rows.append(["all, for each cluster", *(f"{each:.3f}" for each in sums)])
    return _table([f"requests with {runs[0]['clusters']} clusters", *lines], rows)


def ratios(receipt: Receipt) -> str:
    """Each line of both sides that may be quoted."""
    quiet = is_quiet(receipt)
    asked = {each["name"]: each for run in receipt["runs"] for each in run.get("figures", ())}
    rows = [
        [
            each["name"],
            *(f"{each[s]['mean']:,.2f} ({each[s]['spread']:.0%})" for s in ("A", "B")),
            each["unit"],
            "" if each["ratio"] is None else f"{each['ratio']:.2f}",
            *_held({**asked.get(each["name"], {}), "value": each["A"]["mean"]}),
        ]
        for each in receipt["ratios"]
        if quiet or each["name"].endswith(COUNTED)
    ]
    return _table(["line", "A (spread)", "B (spread)", "unit", "A/B", "target of A", "met"], rows)


def _held(figure: Mapping[str, Any]) -> tuple[str, str]:
    """The target of a figure, and whether it is met; both empty where it has none."""
    target, rising = figure.get("target"), figure.get("rising", False)
    if target is None:
        return "", ""
    value = figure["value"]
    met = value >= target if rising else value <= target
    return f"{'≥' if rising else '≤'} {target:,.6g}", "yes" if met else "no"


def growth(receipt: Receipt) -> str:
    """CPU of the same lines at the least and at the most clusters; "" where there is one size only."""
    sizes = sorted({run["clusters"] for run in receipt["runs"]})
    if len(sizes) == 1 or not is_quiet(receipt):
        return ""
    small, large = (
        {
            each["name"].partition(".")[2]: each["value"]
            for run in receipt["runs"]
            if run["clusters"] == size
            for each in run["figures"]
        }
        for size in (sizes[0], sizes[-1])
    )
    rows = [
        [line, f"{small[line]:,.2f}", f"{value:,.2f}", f"{value / small[line]:.2f}"]
        for line, value in large.items()
        if line.endswith("cpu") and small.get(line)
    ]
    head = ["seconds of CPU", *(f"{size:,} clusters" for size in (sizes[0], sizes[-1])), "ratio"]
    return _table(head, rows)


def parts(receipt: Receipt) -> str:
    """The figures of the parts, with their targets."""
    rows = [
        [
            each["name"],
            f"{each['value']:,.2f}",
            each["unit"],
            *_held(each),
        ]
        for each in receipt["figures"]
        if each["value"] or not each["name"].endswith(".spread")  # of one repetition
    ]
    return _table(["figure", "value", "unit", "target", "met"], rows)


def bars(title: str, rows: Bars, unit: str) -> str:
    """Horizontal bars as SVG: for each row one value, or one and what it was before."""
    most = max(max(values) for values in rows.values())
    height = _TOP + _ROW * len(rows) + 8
    wide = _LEFT + _WIDE + 90
    said = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {height}" role="img"',
        f' font-family="sans-serif" font-size="13"><title>{escape(title)}</title>',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        f'<text x="8" y="20" font-weight="bold">{escape(title)}</text>',
    ]
    for place, (name, values) in enumerate(rows.items()):
        top = _TOP + _ROW * place
        said.append(f'<text x="{_LEFT - 8}" y="{top + 15}" text-anchor="end">{escape(name)}</text>')
        thick = (_ROW - 6) / len(values)
        for number, value in enumerate(values):
            y, long = top + number * thick, _WIDE * value / most
            said.append(f'<rect x="{_LEFT}" y="{y:.1f}" width="{long:.1f}" height="{thick:.1f}"')
            said.append(f' fill="{_COLOURS[number]}"/>')
        label = " / ".join(f"{value:,.3g}" for value in values)
        end = _LEFT + _WIDE * max(values) / most + 6
        said.append(f'<text x="{end:.1f}" y="{top + 15}">{label} {escape(unit)}</text>')
    return "\n".join([*said, "</svg>\n"])


def runs(name: str, receipt: Receipt) -> str:
    """What was measured on API servers: as ratios where two controllers took turns."""
    sizes = ", ".join(sorted({f"{run['clusters']:,}" for run in receipt["runs"]}))
    others = max(run["coresOfOthers"] for run in receipt["runs"])
    used = (
        "" if is_quiet(receipt) else f"; others kept {others:.1f} cores busy, so no times are shown"
    )
    count = len(receipt["runs"])
    title = f"`{name}`: {sizes} clusters, {count} run{'s' if count > 1 else ''}, commit {receipt['versions']['commit']}{used}."
    if receipt["ratios"]:
        return f"{title}\n\n{ratios(receipt)}"
    figures = [each for run in receipt["runs"] for each in run["figures"]]
    quiet = is_quiet(receipt)
    told = [each for each in figures if quiet or each["name"].endswith(COUNTED)]
    return "\n\n".join(filter(None, (title, parts({"figures": told}), growth(receipt))))


def drawn(found: Mapping[str, Receipt]) -> tuple[dict[str, str], dict[str, str]]:
    """The tables by their mark in the page, and the plots by their file."""
    on_servers = {name: receipt for name, receipt in found.items() if "runs" in receipt}
    plots: dict[str, str] = {}
    of_turns: list[str] = []
    for name, receipt in on_servers.items():
        of_turns.append(runs(name, receipt))
        told = {r["name"]: [r["A"]["mean"], r["B"]["mean"]] for r in receipt["ratios"]}
        counts = {each: means for each, means in told.items() if _is_shown(each, receipt)}
        if counts:
            plots[f"scale-{name}.svg"] = bars(f"{name}: A / B", counts, "")
            of_turns.append(f"![{name}](pictures/scale-{name}.svg)")
    kept = {
        each["name"]: [each["value"], each["target"]]
        for each in found["parts"]["figures"]
        if each["unit"] == "B"
    }
    plots["scale-parts.svg"] = bars("bytes kept for each: now / at most", kept, "B")
    tables = {
        "requests": "\n\n".join(filter(None, map(requests, on_servers.values()))),
        "runs": "\n\n".join(of_turns),
        "parts": f"{_company(found['parts'])}\n\n{parts(found['parts'])}",
    }
    return tables, plots


def _company(receipt: Receipt) -> str:
    """How alone the parts were while they were measured."""
    others, cores = receipt["coresOfOthers"], receipt["hardware"]["cores"]
    said = "" if is_quiet(receipt) else ": too many to quote these times"
    return f"Commit {receipt['versions']['commit']}. Meanwhile others kept {others:.2f} of {cores} cores busy{said}."


def _is_shown(line: str, receipt: Receipt) -> bool:
    """Whether a line is in the plot of its receipt: seconds, or where these say nothing requests."""
    return line.endswith(".seconds" if is_quiet(receipt) else ".requests")


def page(text: str, tables: Mapping[str, str]) -> str:
    """The page with its tables as the receipts have them."""
    for mark, table in tables.items():
        begin, end = f"<!-- drawn: {mark} -->", "<!-- end -->"
        before, found, after = text.partition(begin)
        if found:
            text = f"{before}{begin}\n{table}\n{end}{after.partition(end)[2]}"
    return text


def main() -> None:
    tables, plots = drawn(receipts())
    PAGE.write_text(page(PAGE.read_text(), tables))
    for name, svg in plots.items():
        (PICTURES / name).write_text(svg)


if __name__ == "__main__":
    main()
