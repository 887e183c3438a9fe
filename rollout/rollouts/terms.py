"""The terms of a rollout, and what follows from them at one instant."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise

from msgspec import Struct, structs

from rollout.model.analyses import AnalysisVerdict
from rollout.model.approvals import Approval, ApprovalDecision
from rollout.model.intents import NO_INTENTS, Intents
from rollout.model.kinds import Obj, Ref
from rollout.model.replicaset import RolloutSpec
from rollout.model.waits import Reason, Wait
from rollout.rollouts.facts import Decided
from rollout.rollouts.head import Head, Rollback
from rollout.rollouts.holds import analysis_hold, barred, revision_hold, why_back
from rollout.rollouts.line import KeptContent
from rollout.rollouts.outages import Outages
from rollout.strategies.base import (
    Closed,
    Rollout,
    Selection,
    Staging,
    Standing,
    Step,
    Strategy,
    Timing,
)
from rollout.strategies.gate_kinds import GATES
from rollout.strategies.gates import Gate, Gates
from rollout.strategies.judge import is_open
from rollout.strategies.retreat import Retreat
from rollout.strategies.stages import All

UNTIL_THEN = timedelta(days=36_500)  # a soak and a grace that nobody lives to see the end of
OUTAGES_KEPT = 100  # in a record


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What is to be rolled out to whom, and how.

    ``as_ocm`` is the rolloutStrategy as written where profile ``ocm`` decides, else None.
    ``intents`` are what people asked for by annotation, ``approvals`` those given for this workload.
    """

    revision: str
    spec: RolloutSpec
    strategy: Strategy
    selection: Selection
    soak: timedelta
    grace: timedelta
    outages: tuple[tuple[datetime, datetime], ...] = ()
    lease: timedelta = timedelta(0)
    """How much of the end of each outage is for news that comes late (`Timing`)."""
    intents: Intents = NO_INTENTS
    approvals: tuple[Approval, ...] = ()
    keeps_templates: bool = False
    """Whether older revisions can be given back."""
    as_ocm: Obj | None = None
    is_known: bool = True
    """Whether the selection could be read; where not, nobody is taken to have left."""
    blind_since: datetime | None = None
    """Since when events may be missing."""
    gates: Mapping[str, Gate] = field(default_factory=lambda: GATES)
    """The kinds of gates that are installed."""
    unsettled: Wait | None = None
    """That the selection may still be half written (row 15)."""
    analyses: tuple[AnalysisVerdict, ...] = ()
    """What was measured of the workload in this placement."""
    unmeasurable: str = ""
    """Why an analysis that is asked for cannot be made."""
    contents: Mapping[str, str] = field(default_factory=dict)
    """What each cluster is to carry; empty where all carry the revision itself."""
    unrendered: Mapping[str, Wait] = field(default_factory=dict)
    """Why nobody can tell what a cluster is to carry."""

    def wanted(self, cluster: str) -> str:
        """The content that a cluster is to carry."""
        return self.contents.get(cluster, self.revision) if self.contents else self.revision


class Circumstances(Struct, frozen=True, kw_only=True):
    """What a decision is asked for besides the terms.

    ``hold`` is why nothing may be touched, whatever the stages say, ``kept`` the contents that can be given back,
    ``barred`` another placement of the workload that takes the present revision back, ``closed`` the
    clusters that are shut now.
    """

    hold: Wait | None
    now: datetime
    kept: Mapping[str, KeptContent]
    barred: str
    closed: Closed


def reselected(
    agreed: Terms | None,
    head: Head,
    standings: Iterable[Standing],
    selection: Selection,
    *,
    known: bool,
) -> Terms | None:
    """The terms agreed last with other clusters.

    After a restart none are agreed yet. Then the record's revision ("": there is none) is watched, and on
    clusters with values of their own the content that was brought for it. It gets no verdict until the
    terms are known again.
    """
    if agreed is not None:
        return replace(agreed, selection=selection, is_known=known)
    if not head.revision:
        return None
    waived = Intents(waivers=dict.fromkeys(head.waived, frozenset({""})))  # for whom they were seen
    return Terms(
        revision=head.revision,
        spec=RolloutSpec(),
        strategy=All(),
        selection=selection,
        soak=UNTIL_THEN,
        grace=UNTIL_THEN,
        intents=waived,
        is_known=known,
        contents={s.cluster: s.revision for s in standings if s.made_for == head.revision},
    )


def heard(terms: Terms, outages: Outages) -> Terms:
    """The terms, with what is known now of the times in which nobody heard of the hub."""
    return replace(terms, outages=outages.spans, blind_since=outages.blind_since)


def rollout_on(
    terms: Terms,
    staging: Staging,
    standings: Mapping[str, Standing],
    timing: Timing,
    *,
    head: Head,
    lost: Mapping[str, str],
    hold: Wait | None,
) -> Rollout:
    return Rollout(
        revision=terms.revision,
        staging=staging,
        standings=standings,
        timing=timing,
        passed=head.passed,
        skipped=head.skipped(terms.intents.waivers),
        lost=dict(lost),
        hold=hold,
        strict_tolerance=terms.intents.strict_tolerance,
        held=terms.intents.held,
        unsettled=terms.unsettled,
        contents=terms.contents,
        unrendered=terms.unrendered,
    )


def gates_of(terms: Terms | None, workload: Ref, placement: str, head: Head) -> Gates | None:
    """The gates in the way of this placement's rollout; None where the workload asks for none. In profile ``ocm`` there
    are none.
    """
    if terms is None or terms.as_ocm is not None or not terms.intents.gates:
        return None
    name, asked = placement.rpartition("/")[2], terms.intents.gates
    return Gates(
        workload=workload,
        placement=name,
        revision=terms.revision,
        asked=[gate for gate in asked if gate.placement in ("", name)],
        kinds=terms.gates,
        approvals=terms.approvals,
        attempt=head.attempt,
        analyses=terms.analyses,
    )


def measured_hold(terms: Terms, head: Head, now: datetime) -> Wait | None:
    """Why the present revision goes no further for what was, or cannot be, measured of it."""
    if terms.unmeasurable:
        return Wait(Reason.MISCONFIGURED, terms.unmeasurable)
    if not terms.analyses:
        return None
    return analysis_hold(
        terms.analyses,
        head.revision,
        head.attempt,
        terms.approvals,
        intents=terms.intents,
        now=now,
    )


def held_here(
    terms: Terms, head: Head, gates: Gates | None, given: Circumstances, *, staging: Staging
) -> Wait | None:
    """Why the present revision goes no further, where nothing takes it back in this placement."""
    asked = revision_hold(terms.revision, terms.intents, terms.approvals, given.now)
    by = barred(terms.revision, given.barred or head.barred_by)
    asked = asked or by or measured_hold(terms, head, given.now)
    if asked is not None or gates is None:
        return asked
    return gates.misplaced(staging, terms.selection)


def with_next_look(step: Step, terms: Terms | None, hold: Wait | None, now: datetime) -> Step:
    """The step, to be looked at again when time may end its hold, or when an approval or a refusal of its
    revision ends.
    """
    given = terms.approvals if terms is not None else ()
    if not given and hold is None:
        return step
    mine = [a.expires for a in given if terms is not None and a.revision == terms.revision]
    looks = (*mine, hold.until if hold is not None else None, step.recheck_at)
    ends = [at for at in looks if at is not None and at > now]
    recheck_at = min(ends, default=step.recheck_at)
    return step if recheck_at == step.recheck_at else structs.replace(step, recheck_at=recheck_at)


def open_only(step: Step, refused: Mapping[str, datetime]) -> Step:
    """A step of OCM's rules, which know of no refusals, without the clusters where the server refused this
    very write, until each is to be tried again.
    """
    touch = tuple(c for c in step.touch if c not in refused)
    if len(touch) == len(step.touch):
        return step
    looks = [step.recheck_at, *(refused[c] for c in step.touch if c in refused)]
    return structs.replace(
        step, touch=touch, recheck_at=min((at for at in looks if at), default=None)
    )


def relevant_outages(
    head: Head,
    news: Iterable[tuple[datetime, datetime]],
    standings: Iterable[Standing] | None,
    now: datetime,
) -> tuple[tuple[datetime, datetime], ...]:
    """The outages, of this process and of earlier ones, that still matter: those that are not over, and
    those that ended after a cluster was touched that is still on its way.

    If there are more than `OUTAGES_KEPT`, the two with the least time between them become one: a
    deadline may come late, but never early (R8).

    Args:
        standings: None if they are not known yet, since lines that the record has lost are to be read
            from works. Then every outage matters.
    """
    open_since = min((s.touched for s in standings or () if is_open(s)), default=None)
    merged = joined(
        (begin, end)
        for begin, end in {*head.outages, *news}
        if standings is None or end > now or (open_since is not None and end > open_since)
    )
    while len(merged) > OUTAGES_KEPT:
        gaps = [later[0] - sooner[1] for sooner, later in pairwise(merged)]
        least = gaps.index(min(gaps))
        merged[least : least + 2] = [(merged[least][0], merged[least + 1][1])]
    return tuple(merged)


def joined(spans: Iterable[tuple[datetime, datetime]]) -> list[tuple[datetime, datetime]]:
    """Spans that overlap made one; ascending."""
    merged: list[tuple[datetime, datetime]] = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged


def not_heard_in(
    rollout: Rollout, outages: tuple[tuple[datetime, datetime], ...], blind: datetime | None
) -> Rollout:
    """The rollout as agreed so far, with what is known by now of the times in which nobody heard of it."""
    timing = replace(rollout.timing, outages=outages, blind_since=blind)
    return structs.replace(rollout, timing=timing)


def differ_in_time_alone(before: Terms, after: Terms) -> bool:
    """Whether all that has changed is what people ask of the rollout as a whole, and when the hub was out
    of touch: then nothing is to be counted again but the clusters of which time decides.
    """
    asked, now_asked = before.intents, after.intents
    if (asked.waivers, asked.held, asked.may_be_empty) != (
        now_asked.waivers,
        now_asked.held,
        now_asked.may_be_empty,
    ):
        return False
    return after == replace(
        before,
        outages=after.outages,
        blind_since=after.blind_since,
        unsettled=after.unsettled,
        intents=now_asked,
        approvals=after.approvals,
        gates=after.gates,
        analyses=after.analyses,
        unmeasurable=after.unmeasurable,
    )


def differ_in_contents_alone(before: Terms, after: Terms) -> bool:
    """Whether all that has changed is what single clusters are to carry."""
    return after == replace(before, contents=after.contents, unrendered=after.unrendered)


def other_contents(before: Terms, after: Terms) -> list[str]:
    """The clusters whose content is another one, or is newly known or unknown, by name."""
    clusters = before.contents.keys() | after.contents.keys()
    return sorted(
        cluster
        for cluster in clusters
        if before.contents.get(cluster) != after.contents.get(cluster)
        or before.unrendered.get(cluster) != after.unrendered.get(cluster)
    )


def timing_of(terms: Terms, outages: tuple[tuple[datetime, datetime], ...]) -> Timing:
    """The waits on these terms."""
    measured: dict[str, AnalysisVerdict] | None = None
    if asked := terms.intents.cluster_analysis:
        measured = {}
        for verdict in sorted(terms.analyses, key=lambda each: each.attempt):
            is_asked = (verdict.template, verdict.revision) == (asked, terms.revision)
            if verdict.cluster and is_asked:
                measured[verdict.cluster] = verdict
    return Timing(
        soak=terms.soak,
        deadline=terms.spec.deadline,
        grace=terms.grace,
        outages=outages,
        lease=terms.lease,
        blind_since=terms.blind_since,
        measured=measured,
        approved=_approved_clusters(terms) if measured is not None else {},
    )


def _approved_clusters(terms: Terms) -> dict[str, datetime | None]:
    """The clusters whose analyses a person approved for this revision, each until when at the latest."""
    found: dict[str, datetime | None] = {}
    for each in terms.approvals:
        is_mine = each.revision == terms.revision and each.decision is ApprovalDecision.APPROVE
        if not each.cluster or not is_mine:
            continue
        known = found.get(each.cluster, each.expires)
        is_endless = known is None or each.expires is None
        found[each.cluster] = None if is_endless else max(filter(None, (known, each.expires)))
    return found


def places_in(staging: Staging) -> dict[str, str]:
    """The stage key of each cluster."""
    return {
        cluster: stage.key
        for stage in staging.stages
        for group in stage.groups
        for cluster in group.clusters
    }


def untouched_while_unsettled(found: Retreat, terms: Terms) -> Retreat:
    """While the selection may be half written nothing is touched, not even to take it back."""
    return found if terms.unsettled is None else replace(found, touch=())


def redirected(head: Head, terms: Terms | None) -> Head:
    """The head of the record, where a person names meanwhile what a rollback is to go back to."""
    back, asked = head.rollback, terms.intents if terms is not None else None
    if back is None or asked is None or asked.undo != back.revision:
        return head
    if asked.undo_to in ("", back.to):
        return head
    return replace(head, rollback=replace(back, to=asked.undo_to))


def with_rollback(
    decided: Decided, terms: Terms | None, revision: str, now: datetime
) -> Head | None:
    """The head of the record with a rollback of this revision, where one begins now."""
    head = decided.head
    if terms is None or not terms.keeps_templates or head.rollback is not None:
        return None
    cause = why_back(decided.step, decided.hold, terms.intents, completed=head.completed)
    if not cause:
        return None
    to = terms.intents.undo_to if cause == "Undo" else ""
    return head.taken_back(Rollback(revision, cause, now, to))
