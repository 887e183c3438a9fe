"""Decides which notifications of a workload are due now.

A notification is an object, owned by the workload, with a name that follows from what it tells: so it is
made once, also over a restart. What is to be told follows from where the rollout stands, not from how it
came there: what was missed is told later. The objects are written before the record is.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from rollout.measuring.values import AnalysisRun
from rollout.model.analyses import AnalysisPhase
from rollout.model.instants import rfc3339
from rollout.model.kinds import ROLLOUT_NOTIFICATION, Obj, Ref, key_of
from rollout.model.notifications import Channel, Notification, Trigger
from rollout.model.ownership import owned_object
from rollout.model.waits import Grade, Reason, Wait
from rollout.model.wording import first_of
from rollout.model.writes import Create, Delete
from rollout.planning.analyses import KnownAnalyses, has_touched
from rollout.planning.plan import Write
from rollout.rollouts.facts import Decided, StepMade
from rollout.strategies.base import Phase, Step

_HALTING = frozenset(
    {
        Reason.ABORTED,
        Reason.REJECTED,
        Reason.UNDONE,
        Reason.ANALYSIS_FAILED,
        Reason.ROLLING_BACK,
        Reason.ROLLBACK_HALTED,
    }
)
_ON_THE_WAY = frozenset({Trigger.ROLLOUT_STARTED, Trigger.STAGE_PASSED})
_LEAD = {
    Trigger.APPROVAL_NEEDED: ("explain", "approve", "reject"),
    Trigger.HALTED: ("explain", "undo", "retry"),
    Trigger.ROLLED_BACK: ("explain", "history"),
    Trigger.ANALYSIS_FAILED: ("explain", "retry"),
    Trigger.WINDOW_CLOSED: ("explain", "override calendar"),
}
"""The commands that somebody may want next; where none is named: ``status``."""
LONGEST_MESSAGE = 2000
"""Characters of what is told."""
OPENINGS_KEPT = 10
"""Notifications of openings that have been: each cluster can have an opening of its own."""


class KnownNotifications(Protocol):
    """What is known of notifications."""

    def of(self, workload: Ref) -> Mapping[str, Notification]:
        """Those of a workload, by their names."""
        ...


class WorkloadSurroundings(Protocol):
    """What is known of workloads of any kind besides their clusters."""

    @property
    def notifications(self) -> KnownNotifications:
        """What people have been told."""
        ...

    @property
    def measured(self) -> KnownAnalyses:
        """Analyses and their runs."""
        ...

    def is_done(self, workload: Ref) -> bool:
        """Whether it says, of what it is now, that it is rolled out."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldWorkload:
    """A workload of any kind. ``home`` is the namespace of its channels and notifications;
    ``is_finished``: it says already that what is rolled out now is rolled out.
    """

    ref: Ref
    uid: str
    home: str
    channels: tuple[Channel, ...]
    is_finished: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """Something that people want to know of one revision. ``about`` and ``attempt`` tell two of the same
    trigger apart.
    """

    trigger: Trigger
    revision: str
    message: str
    placement: str = ""
    about: str = ""
    attempt: str = ""


def notification_writes(
    workload: ToldWorkload,
    decided: Iterable[Decided],
    runs: Iterable[AnalysisRun],
    known: KnownNotifications,
    at: str,
) -> list[Write]:
    """The notifications that are made now, and those that go: of earlier revisions, once they are
    delivered or given up, of openings long past, and of channels that are not named any more.

    Args:
        at: this instant, as it is written.
    """
    there, listed = known.of(workload.ref), list(decided)
    writes: list[Write] = []
    told: set[str] = set()
    for happening in happenings(listed, runs):
        for channel in workload.channels:
            if happening.trigger not in channel.triggers:
                continue
            name = notification_name(workload, happening, channel)
            told.add(name)
            if name not in there and not _is_old_news(workload, happening, channel, there.values()):
                writes.append(_made(workload, happening, channel, name, at=at))
    current = {each.ledger.rollout.revision for each in listed}
    left = [each for name, each in there.items() if name not in told]
    return writes + list(_spare(workload, current, left, at))


def _is_old_news(
    workload: ToldWorkload,
    happening: Happening,
    channel: Channel,
    there: Collection[Notification],
) -> bool:
    """Whether it came before the channel did: of what was done by then only the end is told."""
    if not workload.is_finished or happening.trigger not in _ON_THE_WAY:
        return False
    mine = (happening.revision, channel.name)
    was_told = (each for each in there if each.trigger in _ON_THE_WAY)
    return not any((each.revision, each.channel) == mine for each in was_told)


def _spare(
    workload: ToldWorkload, current: Collection[str], there: Iterable[Notification], at: str
) -> Iterator[Delete]:
    named, listed = {channel.name for channel in workload.channels}, list(there)
    past = [each for each in listed if _has_opened(each, at) and each.delivery.is_over]
    past.sort(key=lambda each: (each.about, each.ref.key))
    spare = {each.ref for each in past[:-OPENINGS_KEPT]}
    for each in listed:
        is_over = each.revision not in current and each.delivery.is_over
        if is_over or each.ref in spare or each.channel not in named:
            yield Delete(each.ref, each.uid)


def _has_opened(each: Notification, at: str) -> bool:
    """Whether it tells of an opening that has been: each cluster can have one of its own."""
    whole = len("2026-01-01T00:00:00")
    return each.trigger is Trigger.WINDOW_CLOSED and "" < each.about[:whole] < at[:whole]


# -- what happened ---------------------------------------------------------------------------------


def happenings(decided: Sequence[Decided], runs: Iterable[AnalysisRun]) -> Iterator[Happening]:
    """All that people are told of where a workload stands now."""
    by_revision: dict[str, list[Decided]] = {}
    for each in decided:
        revision = each.ledger.rollout.revision
        if revision:
            by_revision.setdefault(revision, []).append(each)
    for revision, members in by_revision.items():
        yield from _began(revision, members)
        for each in members:
            yield from _of_one(revision, each)
        yield from _ended(revision, members)
    current = {(each.placement, r): each for r, m in by_revision.items() for each in m}
    yield from _of_analyses(current, runs)


def _began(revision: str, members: Sequence[Decided]) -> Iterator[Happening]:
    """Told once, however many placements there are."""
    if any(each.step.touch or has_touched(each) for each in members):
        listed = ", ".join(each.placement for each in members)
        text = f"revision {revision} is being rolled out in {listed}"
        yield Happening(trigger=Trigger.ROLLOUT_STARTED, revision=revision, message=text)


def _ended(revision: str, members: Sequence[Decided]) -> Iterator[Happening]:
    if all(each.step.complete for each in members):
        yield Happening(
            trigger=Trigger.COMPLETED,
            revision=revision,
            message=_end(revision, [each.step for each in members]),
            attempt=",".join(each.head.retried for each in members),
        )


def _end(revision: str, steps: Sequence[Step]) -> str:
    counts = {
        word: sum(step.count(phase) for step in steps for phase in phases)
        for word, phases in (
            ("succeeded", (Phase.SOAKED,)),
            ("failed within budget", (Phase.FAILED, Phase.LOST)),
            ("were skipped", (Phase.SKIPPED,)),
        )
    }
    told = ", ".join(f"{n} {word}" for word, n in counts.items() if n)
    return f"revision {revision} is rolled out; clusters: {told}"


def _of_one(revision: str, decided: Decided) -> Iterator[Happening]:
    """What is told of each placement by itself."""
    step, where, attempt = decided.step, decided.placement, decided.head.retried
    for stage in step.stages:
        if stage.passed and stage.members:
            yield Happening(
                trigger=Trigger.STAGE_PASSED,
                revision=revision,
                placement=where,
                about=stage.key,
                message=f"placement {where}: {stage.title} passed, {stage.members} clusters",
            )
    stop = _stop(decided)
    if stop is not None:
        is_back = stop.reason is Reason.ROLLED_BACK  # it has halted, too: that may have been short
        for trigger in (Trigger.HALTED, *([Trigger.ROLLED_BACK] if is_back else [])):
            yield Happening(
                trigger=trigger,
                revision=revision,
                placement=where,
                about="rollback" if stop.reason is Reason.ROLLBACK_HALTED else "",
                attempt=f"{attempt}{_given_up(decided)}",
                message=f"placement {where}: {stop.message}",
            )
    elif step.gate is not None and decided.hold is None:
        yield from _at_gate(revision, decided, step.gate)


def _given_up(decided: Decided) -> str:
    """The clusters that a person has skipped, where too many others have failed: once those are given up,
    the rollout may go on and halt for others, which is another halt. "" where there are none.
    """
    skipped = decided.ledger.rollout.skipped if decided.hold is None else ()
    return "".join(f" -{cluster}" for cluster in sorted(skipped))


def _stop(decided: Decided) -> Wait | None:
    """What has ended the revision here; None where nothing has."""
    hold = decided.hold
    if hold is not None:
        return hold if hold.reason in _HALTING or hold.reason is Reason.ROLLED_BACK else None
    return decided.step.halt


def _at_gate(revision: str, decided: Decided, gate: Wait) -> Iterator[Happening]:
    if gate.reason is Reason.WINDOW_CLOSED:
        trigger, about = Trigger.WINDOW_CLOSED, rfc3339(gate.until) if gate.until else ""
    elif gate.reason.grade is Grade.PERSON and (key := _key_of(gate, decided)):
        trigger, about = Trigger.APPROVAL_NEEDED, key
    else:
        return
    where = decided.placement
    yield Happening(
        trigger=trigger,
        revision=revision,
        placement=where,
        about=about,
        message=f"placement {where}: {gate.message}",
    )


def _key_of(gate: Wait, decided: Decided) -> str:
    """Which gate it is that is shut; "" where what is shut is a cluster."""
    for made in decided.made:
        for checkpoint in made.rollout.checkpoints if isinstance(made, StepMade) else ():
            if checkpoint.closed is gate:
                return checkpoint.key
    return ""


def _of_analyses(
    current: Mapping[tuple[str, str], Decided], runs: Iterable[AnalysisRun]
) -> Iterator[Happening]:
    """Runs of the present revisions that failed; of those of single clusters the first for each template."""
    failed: dict[tuple[str, ...], list[AnalysisRun]] = {}
    for run in runs:
        subject = run.subject
        here = current.get((subject.placement, subject.revision))
        if run.result.phase is not AnalysisPhase.FAILED or run.result.stopped or here is None:
            continue
        if not subject.cluster and subject.attempt != here.head.attempt:
            continue
        key = (subject.placement, subject.revision, subject.template, subject.at)
        failed.setdefault(key, []).append(run)
    for (placement, revision, template, at), found in failed.items():
        of_clusters = sorted(run.subject.cluster for run in found if run.subject.cluster)
        whom = f" of {first_of(of_clusters, 3)}" if of_clusters else ""
        retried = current[placement, revision].head.retried
        yield Happening(
            trigger=Trigger.ANALYSIS_FAILED,
            revision=revision,
            placement=placement,
            about=f"{template}/{at}/{'clusters' if of_clusters else ''}",
            attempt=retried,
            message=f"placement {placement}: analysis {template}{whom} failed: {found[0].result.message}",
        )


# -- the object ------------------------------------------------------------------------------------


def notification_name(workload: ToldWorkload, happening: Happening, channel: Channel) -> str:
    """The name of the notification of this on one channel."""
    return f"{workload.ref.name[:200]}-{_digest(workload, happening, channel.name)}"


def _digest(workload: ToldWorkload, happening: Happening, *more: str) -> str:
    told = (
        str(workload.ref),
        workload.uid,
        happening.revision,
        happening.attempt,
        happening.trigger,
        happening.placement,
        happening.about,
        *more,
    )
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:16]


def advice_for(trigger: Trigger, workload: Ref) -> tuple[str, ...]:
    """What somebody who is told of it may want to type next."""
    where = f" -n {workload.namespace}" if workload.namespace else ""
    verbs = _LEAD.get(trigger, ("status",))
    return tuple(f"rollout {v} {workload.kind.typed} {workload.name}{where}" for v in verbs)


def _made(
    workload: ToldWorkload, happening: Happening, channel: Channel, name: str, at: str
) -> Create:
    ref = Ref(ROLLOUT_NOTIFICATION, key_of(workload.home, name))
    spec: Obj = {
        "workload": {"kind": workload.ref.kind.name, "name": workload.ref.name},
        "revision": happening.revision,
        "trigger": happening.trigger.value,
        "channel": channel.name,
        # A revision that is rolled out again later tells something new: hence the instant.
        "id": _digest(workload, happening, at),
        "at": at,
        "message": happening.message[:LONGEST_MESSAGE],
        "advice": list(advice_for(happening.trigger, workload.ref)),
        **({"placement": happening.placement} if happening.placement else {}),
        **({"about": happening.about} if happening.about else {}),
    }
    return Create(ref, owned_object(ref, workload.ref, workload.uid, {"spec": spec}))
