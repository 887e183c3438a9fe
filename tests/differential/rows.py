"""Which rows of docs/semantics.md excuse a difference on an input? Predicates on the input alone."""

import math
from collections.abc import Callable

from rollout.strategies.base import Phase
from tests.differential.case import GRACE, Case, Known, whole


def _row_1(case: Case) -> bool:
    """Names decide who is next, after group order; and counting never stops half way."""
    if case.kind != "Progressive":
        return False
    rest = case.stages()[-1][1]
    if rest != sorted(rest):
        return True
    slots = whole(case.limit or len(rest), len(rest)) or len(rest)
    held = 0
    for name in sorted(case.known):
        known = case.known[name]
        late = case.deadline is not None and known.since >= case.deadline
        if held >= slots and (known.letter == "F" or (known.letter == "P" and late)):
            return True
        over = known.letter == "S" and known.since >= case.soak
        held += not over and not (late and known.letter in "PF")
    return False


def _row_3(case: Case) -> bool:
    """A budget is clamped to its scope, its shares are whole numbers, digits are a count."""
    if case.kind == "All":
        return False
    sizes = [len(case.clusters)]
    if case.kind == "ProgressivePerGroup":
        sizes += [len(members) for role, members in case.stages() if role == "group"]
    return any(_reads_otherwise(case.budget, size) for size in sizes)


def _row_4(case: Case) -> bool:
    """A limit written as zero is none, its shares are whole numbers, digits are a count."""
    if case.kind != "Progressive" or case.limit is None:
        return False
    zero = case.limit in ("0", "0%")
    return zero or (
        _reads_otherwise(case.limit, len(case.stages()[-1][1])) and isinstance(case.limit, str)
    )


def _reads_otherwise(value: int | str, size: int) -> bool:
    if isinstance(value, int):
        return value > size
    if not value.endswith("%"):
        return True
    return math.ceil(int(value[:-1]) / 100 * size) != whole(value, size)


def _row_6(case: Case) -> bool:
    """The deadline runs from the first attempt, for silent clusters too, and for a late success."""
    return case.deadline is not None and any(
        (k.letter == "A" and k.touched >= case.deadline)
        or (k.letter in "PF" and (k.touched >= case.deadline) != (k.since >= case.deadline))
        or (k.letter == "S" and k.touched - k.since > case.deadline)
        for k in case.known.values()
    )


def _row_7(case: Case) -> bool:
    """A failure counts after its grace; without a deadline it is final then, and frees its slot."""
    return any(
        k.letter == "F" and (case.deadline is None or k.since < GRACE) for k in case.known.values()
    )


def _row_11(case: Case) -> bool:
    """What has soaked stays so."""
    return any(k.soaked and (k.letter != "S" or k.since < case.soak) for k in case.known.values())


def _row_12(case: Case) -> bool:
    """A gate looks at its own members, with failures within budget, in the order listed."""
    if case.kind == "All" or (case.kind == "Progressive" and not case.mandatory):
        return False
    stages = case.stages()
    indexes = {g.name: g.index for g in case.groups}
    listed = [indexes.get(m, -1) if isinstance(m, str) else m for m in case.mandatory]
    flying = any(k.letter in "PF" or _soaks(k, case) for k in case.known.values())
    first_done = all(case.phase(c) is Phase.SOAKED for c in stages[0][1]) if stages else False
    failed = any(
        k.letter == "F" or (k.letter == "P" and k.since >= (case.deadline or math.inf))
        for k in case.known.values()
    )
    return failed or listed != sorted(listed) or (first_done and flying)


def _soaks(known: Known, case: Case) -> bool:
    return known.letter == "S" and known.since < case.soak


def _row_13(case: Case) -> bool:
    """A mandatory group without clusters proves nothing, so it holds."""
    have = {g.name for g in case.groups if g.clusters} | {
        g.index for g in case.groups if g.clusters
    }
    return any(ref not in have for ref in case.mandatory)


def _row_14(case: Case) -> bool:
    """Gaps and duplicates among the indexes hide nobody; a cluster named twice is one."""
    indexes = [group.index for group in case.groups]
    named = [cluster for group in case.groups for cluster in group.clusters]
    return sorted(indexes) != list(range(len(indexes))) or len(named) != len(set(named))


def _row_17(case: Case) -> bool:
    """A cluster lost in flight is a failure."""
    return bool(case.lost)


def _row_18(case: Case) -> bool:
    """What is in flight on an older revision holds its slot and is overwritten first."""
    return any(case.phase(c) is Phase.OUTDATED for c, k in case.known.items() if k.old)


def _row_20(case: Case) -> bool:
    """Deadlines do not run while the hub is out of touch."""
    return case.outage is not None and case.deadline is not None


ROWS: dict[int, Callable[[Case], bool]] = {
    1: _row_1,
    3: _row_3,
    4: _row_4,
    6: _row_6,
    7: _row_7,
    11: _row_11,
    12: _row_12,
    13: _row_13,
    14: _row_14,
    17: _row_17,
    18: _row_18,
    20: _row_20,
}


def rows_of(case: Case) -> list[int]:
    """The rows that excuse a difference on this input."""
    return [row for row, applies in ROWS.items() if applies(case)]
