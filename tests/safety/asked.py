"""What do people ask for besides the spec, read plainly? Annotations, approvals and freezes.

A revision is named in them by its fingerprint, as people see it in the status.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from rollout.model import names
from rollout.model.kinds import Obj
from tests.safety.instants import instant


@dataclass(frozen=True, slots=True)
class Asked:
    """By annotation. ``back_limit`` and ``back_budget``: of a rollback, as written."""

    held: frozenset[str] = frozenset()
    aborted: frozenset[str] = frozenset()
    retry: str = ""
    undo: str = ""
    undo_to: str = ""
    gates: tuple[str, ...] = ()
    rollback: str = "Manual"
    back_limit: str = "25%"
    back_budget: str = "25%"
    may_be_empty: frozenset[str] = frozenset()


def asked_in(notes: Mapping[str, str], placement: str = "") -> Asked:
    """``placement``: without the gates of other ones."""
    gates = (gate for gate in _listed(notes, names.GATES) if _where(gate)[0] in ("", placement))
    return Asked(
        _listed(notes, names.HOLD),
        _listed(notes, names.ABORT),
        notes.get(names.RETRY, ""),
        notes.get(names.UNDO, ""),
        notes.get(names.UNDO_TO, ""),
        tuple(sorted(gates)),
        notes.get(names.ROLLBACK, "Manual"),
        notes.get(names.ROLLBACK_CONCURRENCY, "25%"),
        notes.get(names.ROLLBACK_FAILURES, "25%"),
        _listed(notes, "rollout-engine.io/allow-empty-groups"),
    )


def _listed(notes: Mapping[str, str], name: str) -> frozenset[str]:
    return frozenset(part for part in notes.get(name, "").split(",") if part)


def is_over(obj: Obj, field: str, now: datetime) -> bool:
    """Whether an Approval or a Freeze has ended by itself."""
    end = instant(obj["spec"].get(field))
    return end is not None and end <= now


@dataclass(frozen=True, slots=True)
class Said:
    """What people said of the present revision. ``late``: an approval of it has expired."""

    approved: frozenset[str] = frozenset()
    rejected: bool = False
    elsewhere: bool = False  # something was said of another revision
    late: bool = False

    def opens(self, gate: str) -> bool:
        return "*" in self.approved or gate in self.approved


def said_of(fingerprint: str, approvals: Iterable[Obj], now: datetime) -> Said:
    mine, elsewhere, late = [], False, False
    for obj in approvals:
        if obj["spec"]["revision"] != fingerprint:
            elsewhere = True
        elif is_over(obj, "expires", now):
            late = True
        else:
            mine.append(obj["spec"])
    return Said(
        frozenset(spec.get("gate", "*") for spec in mine if spec["decision"] == "Approve"),
        any(spec["decision"] == "Reject" for spec in mine),
        elsewhere,
        late,
    )


def group_of(gate: str) -> str:
    """The decision group, or the stage, that a gate stands at."""
    return _where(gate)[1]


def _where(gate: str) -> tuple[str, str]:
    """The placement of a gate, "" where it is in each, and its group: before:p/canary."""
    placement, _, group = gate.partition(":")[2].rpartition("/")
    return placement, group


def stands_at(gate: str, key: str) -> bool:
    """Whether a gate, such as before:canary, stands at the stage of this key."""
    group = group_of(gate)
    return group in ("*", key) or (key not in ("rest", "all") and key.rpartition("/")[0] == group)
