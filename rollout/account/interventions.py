"""Lists what people have asked of a workload, and the result: verbs, gates, rollbacks.

Who asked is what the annotations and objects say: nobody has verified it, and it is told so.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from rollout.account.waits import APPROVABLE
from rollout.model.approvals import (
    APPROVAL_GATE,
    EVERY_STAGE,
    Approval,
    ApprovalDecision,
    GateRef,
    Side,
)
from rollout.model.instants import rfc3339
from rollout.model.intents import PAST_CALENDARS, AskedBy, Intents
from rollout.model.kinds import Ref
from rollout.model.waits import Reason, Wait
from rollout.rollouts.holds import CAUSES
from rollout.rollouts.live import LiveRollout
from rollout.rollouts.share import PlacementShare
from rollout.rollouts.workload import Workload
from rollout.strategies.base import Stage
from rollout.strategies.gates import gate_key, stands_at

if TYPE_CHECKING:
    from rollout.fleet.fleet import Fleet


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervention:
    """One thing that somebody asks for: a word for it (``paused``), and of what, where of a part.

    ``by``, ``at`` and ``reason`` are what is said of who asked; "" and None where nothing is.
    """

    what: str
    about: tuple[str, ...] = ()
    by: str = ""
    at: datetime | None = None
    reason: str = ""

    @property
    def asked(self) -> AskedBy:
        return AskedBy(self.by, self.at, self.reason)

    def __str__(self) -> str:
        about = f" {', '.join(self.about)}" if self.about else ""
        return f"{self.what}{about}{self.asked}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateAccount:
    """A gate as it is asked for, at its stage. ``state`` is ``open``, ``approved``, ``shut``, or
    ``passed`` (the rollout was beyond it when it was asked for).

    ``by`` and ``approval`` are who approved it for this revision, in which Approval; "" is nobody.
    ``why`` is what keeps a gate shut that is no approval; ``until`` when an approval expires that has
    not opened it yet, or when it is asked again; ``asks_person``: an approval would open it now.
    """

    gate: str
    state: str
    by: str = ""
    approval: str = ""
    why: str = ""
    until: datetime | None = None
    asks_person: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackAccount:
    """A revision that is being taken back from its clusters, or was.

    ``limit`` is how many go back at once. ``stuck`` have nothing to go back to, and keep it; ``held`` go
    back once they are released. The counts are None where nobody moves now, since something else holds
    the workload.
    """

    revision: str
    cause: str
    began: datetime
    total: int | None = None
    back: int = 0
    in_flight: int = 0
    failed: int = 0
    waiting: int = 0
    limit: int = 0
    stuck: tuple[str, ...] = ()
    held: tuple[str, ...] = ()


def interventions(
    fleet: "Fleet", workload: Workload[PlacementShare], now: datetime
) -> tuple[Intervention, ...]:
    """Everything that people ask of a workload now."""
    intents = workload.intents
    shares = workload.shares.values()
    counting = {c for share in shares for c in share.live.ledger.rollout.skipped}
    over = intents.waivers.keys() - counting if shares else set()
    found = [
        *of_all(fleet, intents, now),
        *_of_revisions(workload.revisions, intents),
        *_of_clusters("skipped", intents.waivers.keys() - over, _asked_by(intents, "skip")),
        *_of_clusters("skipped for an earlier revision", over, _asked_by(intents, "skip")),
        *_of_clusters("held", intents.held, _asked_by(intents, "hold")),
    ]
    for approval in refusals(fleet, workload, now):
        about = (approval.revision, f"in Approval {approval.name}")
        found.append(
            Intervention(what="rejected", about=about, by=approval.actor, reason=approval.reason)
        )
    return tuple(found)


def refusals(fleet: "Fleet", workload: Workload[PlacementShare], now: datetime) -> list[Approval]:
    """The Approvals that reject a revision which is being rolled out."""
    return [
        each
        for each in _approvals(fleet, workload, now)
        if each.decision is ApprovalDecision.REJECT and each.revision in workload.revisions
    ]


def of_all(fleet: "Fleet", intents: Intents, now: datetime) -> Iterator[Intervention]:
    """What is asked of the workload as a whole."""
    freeze = fleet.freeze(now)
    if freeze is not None:
        yield Intervention(what="the hub frozen", by=freeze.actor, reason=freeze.reason)
    until = intents.overridden_until(now)
    if until is not None:
        yield _intervention(PAST_CALENDARS, (f"until {rfc3339(until)}",), intents.who("override"))
    if intents.paused:
        yield _intervention("paused", (), intents.who("pause"))


def _of_revisions(revisions: Collection[str], intents: Intents) -> Iterator[Intervention]:
    aborted = tuple(each for each in revisions if each in intents.aborted)
    if aborted:
        yield _intervention("aborted", aborted, intents.who("abort"))
    if intents.undo in revisions:
        yield _intervention("undone", (intents.undo,), intents.who("undo"))


def _asked_by(intents: Intents, verb: str) -> Callable[[str], AskedBy]:
    return lambda cluster: intents.who(f"{verb}/{cluster}")


def _of_clusters(
    what: str, clusters: Collection[str], who: Callable[[str], AskedBy]
) -> Iterator[Intervention]:
    """One intervention for all clusters that were asked for together."""
    together: dict[AskedBy, list[str]] = {}
    for cluster in sorted(clusters):
        together.setdefault(who(cluster), []).append(cluster)
    for asked, names in together.items():
        yield _intervention(what, tuple(names), asked)


def _intervention(what: str, about: tuple[str, ...], asked: AskedBy) -> Intervention:
    return Intervention(what=what, about=about, by=asked.by, at=asked.at, reason=asked.reason)


def remembered(workload: Workload[PlacementShare]) -> tuple[Intervention, ...]:
    """What was asked and is over: pauses resumed, clusters released, failures tried again."""
    intents = workload.intents
    return tuple(
        _intervention(words, (), intents.asked[verb])
        for verb, words in _OVER.items()
        if verb in intents.asked
    )


_OVER: Mapping[str, str] = {
    "resume": "resumed",
    "retry": "retried",
    "release": "released clusters",
    "unskip": "skipped clusters no longer",
}
"""Verbs that leave nothing to be asked for but word of who asked."""


def of_cluster(asked: Collection[Intervention], cluster: str) -> Intervention | None:
    """What is asked of this cluster alone: that it is skipped, or held."""
    for each in asked:
        if each.what in ("skipped", "held") and cluster in each.about:
            return each
    return None


# -- gates -------------------------------------------------------------------------------------


def gates(
    fleet: "Fleet",
    workload: Workload[PlacementShare],
    live: LiveRollout,
    stage: Stage,
    now: datetime,
) -> tuple[GateAccount, ...]:
    """Every gate that the workload asks for at this stage."""
    asked = gates_at(workload.intents.gates, live.placement, stage)
    if not asked:
        return ()
    approvals = fleet.approvals(workload.ref, _namespace(workload.ref, live))
    return tuple(_gate(live, gate, stage, approvals, now=now) for gate in asked)


def _gate(
    live: LiveRollout,
    gate: GateRef,
    stage: Stage,
    approvals: Collection[Approval],
    now: datetime,
) -> GateAccount:
    given = _given(approvals, gate, live.revision, now)
    by = given.actor or "somebody" if given else ""
    key, is_approval = gate_key(gate, stage), gate.kind == APPROVAL_GATE
    known = {each.key: each.closed for each in live.ledger.rollout.checkpoints}
    closed = known.get(key)
    is_free = given is not None if is_approval else key in known and closed is None
    state = _state(live, gate, stage, approved=is_free)
    if state == "shut":
        until = closed.until if closed is not None else None
    else:
        until = given.expires if given is not None and state == "approved" else None
    return GateAccount(
        gate=str(gate),
        state=state,
        by=by,
        approval=given.name if given else "",
        why=_why(gate, closed) if state == "shut" and not is_approval else "",
        until=until,
        asks_person=state == "shut"
        and (is_approval or (closed is not None and closed.reason in _OPENED_BY_APPROVALS)),
    )


_OPENED_BY_APPROVALS = (Reason.APPROVAL_NEEDED, *APPROVABLE)


def _why(gate: GateRef, closed: Wait | None) -> str:
    said = closed.message if closed is not None else "the rollout has not got there"
    return said.removeprefix(f"gate {gate}: ")


def gates_at(asked: Collection[GateRef], placement: str, stage: Stage) -> list[GateRef]:
    """Those of the gates that stand at this stage of this placement's rollout."""
    name = placement.rpartition("/")[2]
    return [gate for gate in asked if gate.placement in ("", name) and stands_at(gate, stage)]


def _state(live: LiveRollout, gate: GateRef, stage: Stage, *, approved: bool) -> str:
    reports: Mapping[str, bool] = {report.key: report.passed for report in live.last.stages}
    if gate_key(gate, stage) in live.head.opened:
        return "open"
    if reports.get(stage.key) or (gate.side is Side.BEFORE and stage.key in live.head.passed):
        return "passed"
    return "approved" if approved else "shut"


def _given(
    approvals: Collection[Approval], gate: GateRef, revision: str, now: datetime
) -> Approval | None:
    """The approval that opens, or opened, the gate; the last by name of several."""
    mine = [
        each
        for each in approvals
        if each.decision is ApprovalDecision.APPROVE
        and each.gate in (EVERY_STAGE, str(gate))
        and each.counts(revision, now)
    ]
    return mine[-1] if mine else None


def _approvals(fleet: "Fleet", workload: Workload[PlacementShare], now: datetime) -> list[Approval]:
    spaces = {_namespace(workload.ref, share.live) for share in workload.shares.values()}
    return [
        each
        for space in sorted(spaces)
        for each in fleet.approvals(workload.ref, space)
        if each.expires is None or now < each.expires
    ]


def _namespace(workload: Ref, live: LiveRollout) -> str:
    """Where the approvals of a rollout lie: beside the workload, else beside the placement."""
    return workload.namespace or live.placement.partition("/")[0]


# -- rollbacks ---------------------------------------------------------------------------------


def rollback(live: LiveRollout) -> RollbackAccount | None:
    """The present revision of a placement, where it is taken back."""
    back, step = live.head.rollback, live.retreat
    if back is None:
        return None
    cause = CAUSES.get(back.cause, back.cause)
    if step is None:
        return RollbackAccount(revision=back.revision, cause=cause, began=back.began)
    return RollbackAccount(
        revision=back.revision,
        cause=cause,
        began=back.began,
        total=step.total,
        back=step.back,
        in_flight=step.in_flight,
        failed=step.failed,
        waiting=step.waiting,
        limit=step.limit,
        stuck=step.stuck,
        held=step.held,
    )
