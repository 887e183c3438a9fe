"""Decides which analyses of a workload begin, and which are no longer needed.

A run is an object, owned by the workload, with a name that follows from what it is about: so it begins once,
also over a restart. It is stopped when nobody asks for it any more, and goes with its revision, or, where it is about
no single cluster, when that revision is rolled out a second time.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from rollout.measuring.values import (
    AnalysisArgument,
    AnalysisRun,
    AnalysisTemplate,
    Subject,
    status_of,
)
from rollout.measuring.verdicts import stop
from rollout.model.analyses import ANALYSIS_GATE
from rollout.model.cluster import Cluster
from rollout.model.instants import rfc3339_micro
from rollout.model.intents import Intents
from rollout.model.kinds import ROLLOUT_ANALYSIS_RUN, Obj, Ref, key_of
from rollout.model.ownership import owned_object
from rollout.model.writes import Create, Delete, PatchStatus
from rollout.planning.plan import Note, Write
from rollout.rollouts.facts import Decided, StepMade
from rollout.strategies.base import Health, Phase, Standing, Verdict
from rollout.strategies.gates import gate_key, is_key_of, stands_at
from rollout.strategies.judge import ANALYSIS_FAILED, attempt_of, is_open

_UNTOUCHED = frozenset(
    {Phase.WAITING, Phase.HELD, Phase.SKIPPED, Phase.OUTDATED, Phase.UNRENDERED, Phase.LOST}
)


ANALYSIS_REPAIRED = "AnalysisRepaired"
"""The reason of Events about runs that somebody else made or wrote."""


class KnownAnalyses(Protocol):
    """What is known of analyses."""

    def home(self, workload: Ref) -> str:
        """The namespace of the runs, and of the templates, of a workload."""
        ...

    def template(self, namespace: str, name: str) -> AnalysisTemplate | None: ...

    def filled(self, template: AnalysisTemplate, given: Mapping[str, str]) -> AnalysisTemplate:
        """The template with the values of these arguments, and with the problems that they bring."""
        ...

    def runs(self, workload: Ref) -> Mapping[str, AnalysisRun]:
        """Those of a workload, by their names."""
        ...

    def occupant(self, key: str) -> str:
        """The uid of an object that has the name of a run but is not its workload's; "" if there is none."""
        ...

    def cluster(self, name: str) -> Cluster | None: ...


@dataclass(frozen=True, slots=True)
class AnalysedWorkload:
    """A workload of any kind, and what it asks for."""

    ref: Ref
    uid: str
    intents: Intents


@dataclass(frozen=True, slots=True)
class _Wanted:
    subject: Subject
    stage: str = ""


def analysis_writes(
    workload: AnalysedWorkload, decided: Iterable[Decided], known: KnownAnalyses, now: datetime
) -> tuple[list[Write], list[Note]]:
    """The runs that begin now, those that are stopped, and those that are not kept any longer.

    What is in the way of a run, and is none of this workload, goes first: a run begins once it is gone.
    """
    runs, found = known.runs(workload.ref), list(decided)
    writes: list[Write] = []
    notes: list[Note] = []
    for each in found:
        for wanted in _begun_by(workload, each):
            there = runs.get(run_name(wanted.subject))
            ref = _run_ref(wanted.subject, known)
            if occupant := known.occupant(ref.key):
                writes.append(Delete(ref, occupant))
                text = f"RolloutAnalysisRun {ref.key} is none of this workload: it is deleted"
                notes.append(Note(workload.ref, ANALYSIS_REPAIRED, text, warning=True))
            elif there is None:
                writes += _begin(workload, wanted, known)
            elif there.result.stopped:
                writes.append(
                    Delete(there.ref, there.uid)
                )  # it is wanted again: from the beginning
    by_placement = {each.placement: each for each in found}
    current = {each.ledger.rollout.revision for each in found}
    spare = _spare_revisions(runs.values(), current, workload.intents.history_limit)
    for run in runs.values():
        subject, here = run.subject, by_placement.get(run.subject.placement)
        if subject.revision in spare or _is_of_earlier_life(subject, here):
            writes.append(Delete(run.ref, run.uid))
        elif run.result.finished_at is None and (
            why := _overtaken(workload.intents, subject, here)
        ):
            status = status_of(stop(run.result, why, now))
            writes.append(PatchStatus(run.ref, status, run.version or None))
    return writes, notes


def _is_of_earlier_life(subject: Subject, decided: Decided | None) -> bool:
    """Whether it is about a time when the present revision was rolled out before: it counts no more.

    Runs of clusters count for as long as the attempt that they are about.
    """
    if decided is None or subject.cluster or subject.revision != decided.ledger.rollout.revision:
        return False
    return not subject.attempt.startswith(decided.head.life)


def _spare_revisions(
    runs: Iterable[AnalysisRun], current: Collection[str], limit: int
) -> frozenset[str]:
    """Earlier revisions whose runs are not kept: all but so many that were measured last."""
    last: dict[str, str] = {}
    for run in runs:
        revision, began = run.subject.revision, run.result.started_at
        if revision not in current:
            told = rfc3339_micro(began) if began is not None else ""
            last[revision] = max(last.get(revision, ""), told)
    ordered = sorted(last, key=lambda each: (last[each], each))
    return frozenset(ordered[: max(len(ordered) - limit, 0)])


def _begun_by(workload: AnalysedWorkload, decided: Decided) -> Iterator[_Wanted]:
    """The runs that a rollout asks for where it stands now."""
    if decided.by_ocm is not None or decided.head.rollback is not None:
        return
    yield from _at_gates(workload, decided)
    intents, step = workload.intents, decided.step
    if intents.analysis and decided.hold is None and not step.complete and has_touched(decided):
        yield _Wanted(_subject(decided, intents.analysis))
    if intents.cluster_analysis:
        for standing in decided.ledger.open_standings():
            is_current = standing.revision == decided.ledger.rollout.wanted(standing.cluster)
            if is_current and standing.health is Health.SUCCEEDED and _is_measured(standing):
                yield _Wanted(
                    _subject(
                        decided,
                        intents.cluster_analysis,
                        cluster=standing.cluster,
                        attempt=attempt_of(standing),
                    )
                )


def _is_measured(standing: Standing) -> bool:
    """Whether an analysis can still change it. A cluster that failed and recovers soaks, so it is measured,
    too, unless it was an analysis that it failed.
    """
    has_failed = standing.verdict is Verdict.FAILED and standing.reason == ANALYSIS_FAILED
    return is_open(standing) and not has_failed


def has_touched(decided: Decided) -> bool:
    """Whether any cluster was touched with the revision. Where values differ from cluster to cluster, some
    carried what they are to carry before it came.
    """
    found = {p for s in decided.step.stages for p, n in s.phases.items() if n} - _UNTOUCHED
    rollout = decided.ledger.rollout
    if found - {Phase.SOAKED}:
        return True
    return bool(found) and any(map(rollout.is_on_it, rollout.standings.values()))


def _at_gates(workload: AnalysedWorkload, decided: Decided) -> Iterator[_Wanted]:
    """The gate that the rollout stands at, where it is one of analyses."""
    if decided.step.gate is None:
        return
    for made in decided.made:
        rollout = made.rollout if isinstance(made, StepMade) else None
        for checkpoint in rollout.checkpoints if rollout is not None else ():
            if checkpoint.closed is not decided.step.gate or rollout is None:
                continue
            for stage in rollout.staging.stages:
                for ref in workload.intents.gates:
                    if (
                        ref.kind == ANALYSIS_GATE
                        and stands_at(ref, stage)
                        and gate_key(ref, stage) == checkpoint.key
                    ):
                        yield _Wanted(_subject(decided, ref.argument, at=checkpoint.key), stage.key)


def _subject(
    decided: Decided, template: str, *, at: str = "", cluster: str = "", attempt: str | None = None
) -> Subject:
    return Subject(
        workload=decided.workload,
        placement=decided.placement,
        revision=decided.ledger.rollout.revision,
        attempt=decided.head.attempt if attempt is None else attempt,
        template=template,
        at=at,
        cluster=cluster,
    )


def _overtaken(intents: Intents, subject: Subject, decided: Decided | None) -> str:
    """Why nobody waits for a run any more; "" where somebody does."""
    if decided is None:
        return "the placement is no longer asked for"
    if subject.revision != decided.ledger.rollout.revision:
        return "another revision is rolled out"
    if decided.head.rollback is not None:
        return "the revision is rolled back"
    if subject.cluster:
        standing = decided.standing(subject.cluster)
        if intents.cluster_analysis != subject.template:
            return "it is no longer asked for"
        if standing is None or attempt_of(standing) != subject.attempt:
            return "the cluster has another attempt"
        return "" if _is_measured(standing) else "the cluster is done"
    if subject.attempt != decided.head.attempt:
        return "it is tried again"
    if subject.at:
        is_asked = any(is_key_of(subject.at, ref) for ref in intents.gates)
        if subject.at in decided.head.opened:
            return "the gate is open"
        return "" if is_asked else "the gate is no longer asked for"
    if intents.analysis != subject.template:
        return "it is no longer asked for"
    return "the rollout is complete" if decided.step.complete else ""


def run_name(subject: Subject) -> str:
    """The name of the run that is about this."""
    told = (
        str(subject.workload),
        subject.placement,
        subject.revision,
        subject.attempt,
        subject.template,
        subject.at,
        subject.cluster,
    )
    digest = hashlib.sha256("\n".join(told).encode()).hexdigest()[:16]
    return f"{subject.workload.name[:200]}-{digest}"


def _run_ref(subject: Subject, known: KnownAnalyses) -> Ref:
    return Ref(ROLLOUT_ANALYSIS_RUN, key_of(known.home(subject.workload), run_name(subject)))


def _begin(workload: AnalysedWorkload, wanted: _Wanted, known: KnownAnalyses) -> list[Write]:
    """The run, with all arguments but Secrets put in; nothing while the template cannot be read."""
    subject = wanted.subject
    template = known.template(known.home(workload.ref), subject.template)
    if template is None or template.problems:
        return []
    cluster = known.cluster(subject.cluster) if subject.cluster else None
    given = {
        each.name: _value(each, wanted, workload.intents, cluster)
        for each in template.arguments
        if each.secret is None
    }
    filled = known.filled(template, given)
    # What cannot be read once its values are in stays as it is written: the run says so, and ends.
    spec = _spec(subject, template if filled.problems else filled)
    ref = _run_ref(subject, known)
    return [Create(ref, owned_object(ref, workload.ref, workload.uid, {"spec": spec}))]


def _spec(subject: Subject, template: AnalysisTemplate) -> Obj:
    """What a run says: whom it is about, and what it takes over from the template."""
    written = template.raw["spec"]
    taken = {
        name: written[name] for name in ("dryRun", "measurementRetention") if written.get(name)
    }
    secrets = [
        {"name": a.name, "secretKeyRef": {"name": a.secret.name, "key": a.secret.key}}
        for a in template.arguments
        if a.secret is not None
    ]
    return {
        "workload": {"kind": subject.workload.kind.name, "name": subject.workload.name},
        "placement": subject.placement,
        "revision": subject.revision,
        "attempt": subject.attempt,
        "template": subject.template,
        **({"at": subject.at} if subject.at else {}),
        **({"cluster": subject.cluster} if subject.cluster else {}),
        **({"secrets": secrets} if secrets else {}),
        "metrics": written["metrics"],
        **taken,
    }


def _value(
    argument: AnalysisArgument, wanted: _Wanted, intents: Intents, cluster: Cluster | None
) -> str:
    """What is put in for an argument; "" where nobody says, or knows, what."""
    subject = wanted.subject
    given = intents.analysis_args.get(argument.name, argument.value)
    if given is not None:
        return given
    fact, _, key = argument.fact.rstrip("]").partition("[")
    labels = cluster.labels if cluster is not None else {}
    claims = cluster.claims if cluster is not None else {}
    return {
        "workload.name": subject.workload.name,
        "workload.namespace": subject.workload.namespace,
        "placement": subject.placement.rpartition("/")[2],
        "stage": wanted.stage,
        "revision": subject.revision,
        "cluster.name": subject.cluster,
        "cluster.labels": labels.get(key, ""),
        "cluster.claims": claims.get(key, ""),
    }.get(fact, "")
