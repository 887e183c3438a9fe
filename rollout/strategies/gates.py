"""Which doors stand between the stages, and which of them are open now?

A gate stands before or after a stage. It opens when it is asked and has nothing against it, once the
rollout has reached it; open, it stays open for the revision. `Approved` asks the approvals that people
gave; a gate of another kind answers the same question.
"""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from rollout.model.amounts import parse_digits
from rollout.model.approvals import EVERY_STAGE, Approval, Decision, GateRef, refusal
from rollout.strategies.base import Checkpoint, Hold, Selection, Stage, Staging


class Gate(Protocol):
    """Says what keeps a gate shut at this instant; None where nothing does."""

    def check(self, gate: GateRef, stage: Stage, revision: str, now: datetime) -> Hold | None: ...


@dataclass(frozen=True, slots=True)
class Approved:
    """Opens where a person approved this gate for this revision, and the approval has not expired."""

    approvals: Sequence[Approval] = ()

    def check(self, gate: GateRef, stage: Stage, revision: str, now: datetime) -> Hold | None:
        mine = [
            each
            for each in self.approvals
            if each.decision is Decision.APPROVE
            and each.revision == revision
            and each.gate in (EVERY_STAGE, str(gate))
        ]
        if any(each.counts(revision, now) for each in mine):
            return None
        late = f"; approval {mine[0].name} has expired" if mine else ""
        return Hold(
            "ApprovalNeeded",
            f"{gate.side.value} {stage.title} somebody has to approve revision {revision}: "
            f"an Approval of gate {gate}{late}",
        )


def rejection(approvals: Iterable[Approval], revision: str, now: datetime) -> Hold | None:
    """Why this revision goes no further, where a person refused it."""
    found = refusal(approvals, revision, now)
    if found is None:
        return None
    by = f" by {found.actor} (as they say)" if found.actor else ""
    why = f": {found.reason}" if found.reason else ""
    return Hold(
        "Rejected",
        f"revision {revision} was rejected{by} in Approval {found.name}{why}; "
        "roll out another one, or delete that Approval",
    )


def checkpoints(
    gates: Iterable[GateRef],
    gate: Gate,
    staging: Staging,
    revision: str,
    opened: Container[str],
    now: datetime,
) -> tuple[Checkpoint, ...]:
    """Every gate at every stage that it stands at, but for those that have opened before."""
    found: list[Checkpoint] = []
    for ref in gates:
        for stage in staging.stages:
            if not stands_at(ref, stage):
                continue
            key = gate_key(ref, stage)
            if key not in opened:
                shut = gate.check(ref, stage, revision, now)
                found.append(Checkpoint(key, stage.key, ref.side, shut))
    return tuple(found)


def gate_key(ref: GateRef, stage: Stage) -> str:
    """What a gate that has opened at this stage is recorded as: of several each opens for itself."""
    return str(ref) if ref.group == stage.key else f"{ref} at {stage.key}"


def stands_at(ref: GateRef, stage: Stage) -> bool:
    """Whether the gate stands at this stage."""
    if ref.group in (EVERY_STAGE, stage.key):
        return True
    if len(stage.groups) != 1 or stage.key in ("rest", "all"):
        return False
    group = stage.groups[0]
    return ref.group == group.name or parse_digits(ref.group) == group.index


def misplaced(gates: Iterable[GateRef], staging: Staging, selection: Selection) -> Hold | None:
    """The first gate that stands nowhere, as the reason to hold (S7).

    A group that the placement's spec names may have no cluster yet: its stage will have the gate.
    """
    if not selection.total:
        return None
    inner = {group.name for stage in staging.stages for group in stage.groups} - {""}
    for ref in gates:
        if any(stands_at(ref, stage) for stage in staging.stages):
            continue
        if ref.group in selection.named - inner:
            continue
        titles = ", ".join(_word(stage) for stage in staging.stages)
        return Hold(
            "UnknownApprovalGroup",
            f"gate {ref} stands at no stage of this rollout; there are: {titles}",
        )
    return None


def _word(stage: Stage) -> str:
    """How a gate calls the stage."""
    single = len(stage.groups) == 1 and stage.key not in ("rest", "all")
    return (stage.groups[0].name or str(stage.groups[0].index)) if single else stage.key
