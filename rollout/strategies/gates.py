"""The gates between stages, and which of them are open.

A gate stands before or after a stage. It is asked in each decision; when it has nothing against it once
the rollout has reached it, it opens, and stays open for the revision. The built-in kinds are in
`rollout.strategies.gate_kinds`; packages can add others (entry point group ``rollout.gates``, see
`rollout.plugins`).
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from rollout.model.amounts import parse_digits
from rollout.model.analyses import AnalysisVerdict
from rollout.model.approvals import EVERY_STAGE, Approval, ApprovalDecision, GateRef, refusal
from rollout.model.kinds import Ref
from rollout.model.waits import Reason, Scope, Wait
from rollout.strategies.base import Checkpoint, Selection, Stage, Staging


@dataclass(frozen=True, slots=True, kw_only=True)
class AtGate:
    """A rollout and one of its gates, whether it has come there or not: all that a gate is told.

    ``placement`` is the name of the placementRef; ``approvals`` are those given for the workload, of
    every gate and revision. ``analyses`` are the verdicts on the workload in this placement, of every
    revision; those of another ``attempt`` than this one do not count.
    """

    workload: Ref
    placement: str
    revision: str
    stage: Stage
    gate: GateRef
    approvals: Sequence[Approval] = ()
    attempt: str = ""
    analyses: Sequence[AnalysisVerdict] = ()

    def approval(self, now: datetime) -> tuple[bool, str]:
        """Whether a person has approved the gate, and the name of an approval that has expired."""
        mine = [
            each
            for each in self.approvals
            if each.decision is ApprovalDecision.APPROVE
            and each.revision == self.revision
            and each.gate in (EVERY_STAGE, str(self.gate))
        ]
        is_given = any(each.counts(self.revision, now) for each in mine)
        return is_given, mine[0].name if mine and not is_given else ""


class Gate(Protocol):
    """One kind of gate. It is pure: the same answer for the same arguments, without clock or I/O."""

    def check(self, at: AtGate, now: datetime) -> Wait | None:
        """What keeps the gate shut at this instant; None where nothing does.

        ``Wait.until`` is when to ask again though nothing has happened (None: only after an event).
        """
        ...


def flaw_of(answer: object) -> str:
    """What is wrong with the answer of a gate that somebody else wrote; "" where nothing is."""
    if answer is None:
        return ""
    if not isinstance(answer, Wait):
        return f"it answers with a {type(answer).__name__}, not with a Wait"
    reason: object = answer.reason
    if not isinstance(reason, Reason):
        return f"its reason is a {type(reason).__name__}, not a Reason"
    if reason.scope is not Scope.STAGE:
        return f"its reason is {reason}, which does not concern a stage"
    message: object = answer.message
    if not isinstance(message, str) or not message:
        return "it is shut without a message"
    until: object = answer.until
    if until is not None and not (isinstance(until, datetime) and until.tzinfo is not None):
        return "its until is no instant with a time zone"
    return ""


def rejection(approvals: Iterable[Approval], revision: str, now: datetime) -> Wait | None:
    """The wait of a revision that a person rejected; None if nobody did."""
    found = refusal(approvals, revision, now)
    if found is None:
        return None
    by = f" by {found.actor} (unverified)" if found.actor else ""
    why = f": {found.reason}" if found.reason else ""
    return Wait(
        Reason.REJECTED,
        f"revision {revision} was rejected{by} in Approval {found.name}{why}; "
        "roll out another one, or delete that Approval",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Gates:
    """The gates that one rollout has to pass, and what opens them.

    ``asked`` are those that the workload asks for in this placement; ``kinds`` those that are
    installed; ``placement`` is the name of the placementRef.
    """

    workload: Ref
    placement: str
    revision: str
    asked: Sequence[GateRef]
    kinds: Mapping[str, Gate]
    approvals: Sequence[Approval] = ()
    attempt: str = ""
    analyses: Sequence[AnalysisVerdict] = ()

    def checkpoints(
        self, staging: Staging, opened: Container[str], now: datetime
    ) -> tuple[Checkpoint, ...]:
        """Every gate at every stage that it stands at, but for those that have opened before."""
        found: list[Checkpoint] = []
        for ref in self.asked:
            for stage in staging.stages:
                key = gate_key(ref, stage)
                if stands_at(ref, stage) and key not in opened:
                    found.append(
                        Checkpoint(key, stage.key, ref.side, self._closed(ref, stage, now))
                    )
        return tuple(found)

    def _closed(self, ref: GateRef, stage: Stage, now: datetime) -> Wait | None:
        kind = self.kinds.get(ref.kind)
        if kind is None:
            return unknown_kind(ref, self.kinds)
        at = AtGate(
            workload=self.workload,
            placement=self.placement,
            revision=self.revision,
            stage=stage,
            gate=ref,
            approvals=self.approvals,
            attempt=self.attempt,
            analyses=self.analyses,
        )
        return kind.check(at, now)

    def misplaced(self, staging: Staging, selection: Selection) -> Wait | None:
        """The first gate that stands nowhere, or is of no kind, as the reason to hold (S7)."""
        for ref in self.asked:
            if ref.kind not in self.kinds:
                return unknown_kind(ref, self.kinds)
        return misplaced(self.asked, staging, selection)


def unknown_kind(gate: GateRef, kinds: Iterable[str]) -> Wait:
    """That nothing here can open the gate."""
    return Wait(
        Reason.UNKNOWN_GATE,
        f"gate {gate}: no kind of gate is called {gate.kind!r}; there are: {', '.join(sorted(kinds))}",
    )


def gate_key(ref: GateRef, stage: Stage) -> str:
    """The key under which an opened gate is recorded. Each gate of a stage has its own key."""
    return str(ref) if ref.group == stage.key else f"{ref} at {stage.key}"


def is_key_of(key: str, ref: GateRef) -> bool:
    """Whether a key is that of this gate at some stage."""
    return key == str(ref) or key.startswith(f"{ref} at ")


def stands_at(ref: GateRef, stage: Stage) -> bool:
    """Whether the gate stands at this stage."""
    if ref.group in (EVERY_STAGE, stage.key):
        return True
    if len(stage.groups) != 1 or stage.key in ("rest", "all"):
        return False
    group = stage.groups[0]
    return ref.group == group.name or parse_digits(ref.group) == group.index


def misplaced(gates: Iterable[GateRef], staging: Staging, selection: Selection) -> Wait | None:
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
        return Wait(
            Reason.UNKNOWN_APPROVAL_GROUP,
            f"gate {ref} matches no stage; there are: {titles}",
        )
    return None


def _word(stage: Stage) -> str:
    """The name of the stage in gates."""
    single = len(stage.groups) == 1 and stage.key not in ("rest", "all")
    return (stage.groups[0].name or str(stage.groups[0].index)) if single else stage.key
