"""Prints objects as tables with kubectl's columns, as JSON, as YAML or as names."""

import json
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest
from textwrap import wrap
from typing import Any

from rollout.account.words import age
from rollout.api.columns import Column, Type, columns_of
from rollout.model.instants import parse_instant
from rollout.model.kinds import KINDS, Kind, Obj, full_name

GAP = "   "


@dataclass(frozen=True, slots=True)
class Table:
    """A header and rows of cells, all of one length."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def table(
    kind: Kind,
    objects: Iterable[Obj],
    now: datetime,
    *,
    wide: bool = False,
    namespaces: bool = False,
    prefixed: bool = False,
) -> Table:
    """The table of some objects of one kind.

    Args:
        now: ages are counted up to here.
        namespaces: begin with the namespace (of kinds that have one).
        prefixed: names with their kind, for when several kinds are shown.
    """
    columns = columns_of(kind, wide=wide)
    lead = ("NAMESPACE", "NAME") if namespaces and kind.namespaced else ("NAME",)
    rows = []
    for obj in objects:
        meta = obj["metadata"]
        name = full_name(kind, meta["name"]) if prefixed else meta["name"]
        start = (meta.get("namespace", ""), name) if len(lead) == 2 else (name,)
        rows.append((*start, *(_cell(column, obj, now) for column in columns)))
    return Table((*lead, *(column.name.upper() for column in columns)), tuple(rows))


def _cell(column: Column, obj: Obj, now: datetime) -> str:
    value = column.value(obj)
    if value is None:
        return ""
    if column.type is Type.DATE:
        since = parse_instant(value)
        return age(now - since) if since else "<invalid>"
    return _one_line(value)


def _one_line(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    first, newline, _ = text.partition("\n")
    return f"{first}..." if newline else text


def widths(shown: Table, least: Sequence[int] = ()) -> tuple[int, ...]:
    """How wide each column must be; never below ``least``, so that rows printed later line up."""
    needed = [max(map(len, cells)) for cells in zip(shown.header, *shown.rows, strict=True)]
    return tuple(
        max(width, least[i]) if i < len(least) else width for i, width in enumerate(needed)
    )


def lines(shown: Table, sizes: Sequence[int], *, header: bool = True) -> list[str]:
    """The table as text: left-aligned columns three spaces apart, no blanks at the end of a line."""
    rows = (shown.header, *shown.rows) if header else shown.rows
    return [
        GAP.join(cell.ljust(size) for cell, size in zip(row, sizes, strict=True)).rstrip()
        for row in rows
    ]


def text_table(
    header: tuple[str, ...], rows: Iterable[tuple[str, ...]], room: int | None = None
) -> list[str]:
    """The lines of a table that stands alone.

    Args:
        room: so wide it may be: cells are then broken between words. None: as the terminal, if it
            goes to one.
    """
    shown = Table(header, tuple(rows))
    sizes = widths(shown)
    if room is None:
        room = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    if not room or sum(sizes) + len(GAP) * (len(sizes) - 1) <= room:
        return lines(shown, sizes)
    narrow = _narrowed(shown, sizes, room - len(_LEAST_GAP) * (len(sizes) - 1))
    return [
        _LEAST_GAP.join(cell.ljust(size) for cell, size in zip(row, narrow, strict=True)).rstrip()
        for cells in (shown.header, *shown.rows)
        for row in _folded(cells, narrow)
    ]


_LEAST_GAP = "  "


def _narrowed(shown: Table, sizes: Sequence[int], room: int) -> list[int]:
    """Sizes that fit, taken from the widest columns first; no word is broken, so they may be too wide."""
    least = [
        max(len(word) for cell in cells for word in cell.split() or ("",))
        for cells in zip(shown.header, *shown.rows, strict=True)
    ]
    found = list(sizes)
    while sum(found) > room:
        over = [i for i, size in enumerate(found) if size > least[i]]
        if not over:
            break
        found[max(over, key=lambda i: found[i])] -= 1
    return found


def _folded(cells: Sequence[str], sizes: Sequence[int]) -> Iterable[tuple[str, ...]]:
    """The lines of one row: each cell on as many as it needs."""
    parts = [
        wrap(cell, size, break_on_hyphens=False, break_long_words=False)
        if len(cell) > size
        else [cell]
        for cell, size in zip(cells, sizes, strict=True)
    ]
    return zip_longest(*parts, fillvalue="")


# -- documents ---------------------------------------------------------------------------------

FORMATS = ("table", "wide", "yaml", "json", "name")


def listed(objects: Sequence[Obj]) -> Obj:
    """A ``List``, as kubectl prints several objects."""
    return {
        "apiVersion": "v1",
        "items": list(objects),
        "kind": "List",
        "metadata": {"resourceVersion": ""},
    }


def formatted(output: str, value: Obj) -> str:
    """An object (or List) as ``json``, ``yaml`` or ``name``; ends without a newline."""
    match output:
        case "json":
            return json.dumps(value, indent=4, ensure_ascii=False, sort_keys=True)
        case "name":
            return full_name(KINDS[value["kind"]], value["metadata"]["name"])
        case _:
            return to_yaml(value)


def to_yaml(value: Any) -> str:
    """YAML as kubectl writes it: keys sorted, lists not indented, long strings on one line."""
    import yaml  # noqa: PLC0415  # it takes longer to load than most commands take to run

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.dump(
        value, Dumper=dumper, default_flow_style=False, allow_unicode=True, width=2**31 - 1
    )
    return text.rstrip("\n")
