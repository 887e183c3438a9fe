"""Words that several answers share: names in a row, waits, instants, amounts."""

import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from datetime import datetime

from rollout.analysis.waits import Wait
from rollout.cli.ages import age
from rollout.cli.figures import SIGNS
from rollout.model.instants import rfc3339
from rollout.strategies.base import Phase

FEW = 4
_NARROWEST = 20


def row_of(names: Sequence[str], *, whole: bool = False) -> str:
    """``a, b, c ... z``: the first three and the last, all where they are few or ``whole``."""
    if whole or len(names) <= FEW:
        return ", ".join(names)
    return f"{', '.join(names[: FEW - 1])} ... {names[-1]}"


def many(count: int, word: str) -> str:
    """``1 cluster``, ``2 clusters``."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def effective(asked: str, total: int, found: int) -> str:
    """``25% of 290 = 73``; just the number where nothing had to be worked out."""
    if not asked:
        return "all" if found >= total else str(found)
    return f"{asked} of {total} = {found}" if asked.endswith("%") else str(found)


def at_and_in(instant: datetime, now: datetime) -> str:
    """``2026-01-01T00:05:00Z (in 3m)``."""
    span = instant - now
    return f"{rfc3339(instant)} ({f'in {age(span)}' if instant > now else 'now'})"


def since(instant: datetime | None, now: datetime) -> str:
    """``for 3m``; "" where it is not known."""
    return f"for {age(now - instant)}" if instant is not None else ""


def waiting(wait: Wait, now: datetime) -> list[tuple[str, str]]:
    """What is to be said of a wait, as (key, text)."""
    told = " ".join(part for part in (wait.reason, since(wait.since, now)) if part)
    facts = [("Reason", told), ("Ends when", wait.ends)]
    if wait.until is not None:
        facts.append(("By itself", at_and_in(wait.until, now)))
    return facts


def counted(phases: Mapping[Phase, int]) -> str:
    """``✔ 7 soaked  ◷ 3 soaking``."""
    return "  ".join(
        f"{sign} {phases[phase]} {phase.value.lower()}"
        for phase, sign in SIGNS.items()
        if phases.get(phase)
    )


def facts(pairs: Sequence[tuple[str, str]], indent: str = "") -> list[str]:
    """Key and value in two columns; nothing is said of an empty value."""
    told = [(key, text) for key, text in pairs if text]
    width = max((len(key) for key, _ in told), default=0) + 1
    return [line for key, text in told for line in hanging(f"{indent}{key + ':':<{width}}  ", text)]


def hanging(lead: str, text: str) -> list[str]:
    """The text behind its lead; in a terminal that is too narrow for it, on several lines."""
    room = shutil.get_terminal_size().columns - len(lead)
    if not sys.stdout.isatty() or room < _NARROWEST or len(text) <= room:
        return [lead + text]
    first, *rest = textwrap.wrap(text, room, break_on_hyphens=False)
    return [lead + first, *(" " * len(lead) + line for line in rest)]
