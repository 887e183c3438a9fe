"""``python -m benchmarks.kube``: measure a controller on a real API server; print a table, write a receipt.

``CONTROLLER='cmd'`` measures any other process, started with KUBECONFIG set, instead of ours.
``AGAINST='cmd'`` measures a second one too, by turns, and prints each line as a ratio.
"""

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.kube.client import Refused
from benchmarks.kube.controller import OURS, Ended
from benchmarks.kube.field import TooLong
from benchmarks.kube.lines import IDLE_SECONDS, LINES
from benchmarks.kube.receipt import A, B, Run, Taken, ratios, receipt, turns
from benchmarks.kube.run import Spoken, Wanted, measure
from benchmarks.kube.tenants import NotLogged
from benchmarks.machine import hardware, versions
from tests.kube.cluster import Missing, assets

RESULTS = Path(__file__).with_name("results.json")
SIZES = "1000,3000"
BUSY = 0.1
"""Cores that others may keep busy before the times of a run say nothing."""
_BEGAN = time.perf_counter()


def _arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kube", description=__doc__)
    add = parser.add_argument
    add(
        "--clusters",
        type=_numbers,
        default=_numbers(SIZES),
        help=f"numbers of clusters, with commas (default {SIZES})",
    )
    add("--only", default=",".join(LINES), help=f"of {', '.join(LINES)}, with commas")
    add(
        "--repeat",
        type=_numbers,
        default=[3],
        metavar="N[,N...]",
        help="runs of floor, loops, works, progressive, change: means (default 3); with commas,"
        " for each number of clusters",
    )
    add("--rounds", type=int, default=1, help="with AGAINST: how often A B B A is run")
    add("--idle-seconds", type=float, default=IDLE_SECONDS, help="how long idle is watched")
    add("--patience", type=float, default=600.0, help="seconds after which a line has failed")
    add("--keep", type=Path, help="keep logs and the audit log in this folder")
    add("--results", type=Path, default=RESULTS, help="where the receipt is written")
    found = parser.parse_args(words)
    if len(found.repeat) not in (1, len(found.clusters)):
        parser.error(f"--repeat has {len(found.repeat)} numbers for {len(found.clusters)} sizes")
    unknown = set(found.only.split(",")) - set(LINES)
    if unknown:
        parser.error(f"no line is called {min(unknown)!r}; there are: {', '.join(LINES)}")
    return found


def _numbers(words: str) -> list[int]:
    return [int(word) for word in words.split(",")]


def say(words: str) -> None:
    """Progress, for whoever waits."""
    print(f"{time.perf_counter() - _BEGAN:6.0f} s  {words}", file=sys.stderr, flush=True)


def main(words: list[str]) -> int:
    said = _arguments(words)
    sides = {A: os.environ.get("CONTROLLER") or OURS}
    against = os.environ.get("AGAINST")
    if against:
        sides[B] = against
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installation has its bytecode
    runs: list[Run] = []
    try:
        programs = versions(assets())
        asyncio.run(_all(said, sides, runs))
    except Missing as missing:
        print(missing, file=sys.stderr)
        return 2
    except (Ended, TooLong, Refused, NotLogged, TimeoutError) as error:
        print(str(error) or "a step took longer than --patience", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        if runs:
            told = {side: "ours" if cmd == OURS else cmd for side, cmd in sides.items()}
            found = receipt(runs, told, hardware(), programs)
            said.results.write_text(json.dumps(found, indent=1) + "\n")
    return 0


async def _all(said: argparse.Namespace, sides: Mapping[str, str], runs: list[Run]) -> None:
    repeats = said.repeat * len(said.clusters) if len(said.repeat) == 1 else said.repeat
    for size, repeat in zip(said.clusters, repeats, strict=True):
        wanted = Wanted(
            lines=frozenset(said.only.split(",")),
            repeat=repeat,
            patience=said.patience,
            idle_seconds=said.idle_seconds,
            keep=said.keep,
        )
        of_size: list[Run] = []
        for side in turns(said.rounds) if B in sides else A:
            print(
                f"{'name':<26}{'value':>10}  {'unit':<4}{'OCM':>8}{'target':>10}  met", flush=True
            )
            run = Run(side=side, clusters=size)
            runs.append(run)
            of_size.append(run)
            await measure(run, sides[side], wanted, Spoken(say, _show))
            if run.others is not None and run.others > BUSY:
                say(f"others kept {run.others:.2f} cores busy: these times say little")
            _show_requests(run)
        _show_ratios(of_size)


def _show(figure: Figure) -> None:
    ocm = "" if figure.reference is None else f"{figure.reference:,.2f}"
    sign = "" if figure.target is None else ">=" if figure.rising else "<="
    target = "" if figure.target is None else f"{sign} {figure.target:,.2f}"
    met = {None: "", True: "ok", False: "MISSED"}[figure.met]
    row = f"{figure.name:<26}{figure.value:>10,.2f}  {figure.unit:<4}{ocm:>8}{target:>10}  {met}"
    print(row.rstrip(), flush=True)


def _show_requests(run: Run) -> None:
    """What was asked for, a column for each line."""
    print(f"\nrequests with {run.clusters} clusters")
    asked = run.asked()
    lines = list(asked)
    print(" " * 38 + "".join(f"{line[:11]:>12}" for line in lines))
    for verb, what in sorted({each for counts in asked.values() for each in counts}):
        row = [asked[line].get((verb, what), 0.0) for line in lines]
        counts = "".join(f"{f'{n:g}' if n else '':>12}" for n in row)
        print(f"  {verb + ' ' + what:<36}{counts}".rstrip())
    print(flush=True)


def _show_ratios(runs: Sequence[Run]) -> None:
    found = ratios(runs)
    if not found:
        return
    print(f"{'name':<26}{'A':>10}{'spread':>8}{'B':>12}{'spread':>8}  {'unit':<4}{'A/B':>7}")
    for each in found:
        ratio = "" if each.value is None else f"{each.value:.2f}"
        print(f"{each.name:<26}{_side(each.a)}  {_side(each.b)}  {each.unit:<4}{ratio:>7}")
    print(flush=True)


def _side(taken: Taken) -> str:
    return f"{taken.mean:>10,.2f}{taken.spread:>8.0%}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
