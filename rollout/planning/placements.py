"""Plans the PlacementDecisions and the status of a Placement.

The planner finds the candidate clusters (bindings, sets), asks the scheduler and the grouping, and
turns the difference between the pages wanted and the pages there into waves of writes. Profile
``ocm`` of a Placement (annotation ``rollout-engine.io/semantics``) decides exactly as OCM does.
Source: OCM placement spec 2.3, 2.4, 3.5. Difference: a misconfigured or failing evaluation keeps the
last good decisions and says so.
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from operator import is_
from typing import Protocol

from rollout.errors import ConfigError, PluginError
from rollout.model.cluster import ClusterSet, ClusterSetBinding, Score
from rollout.model.kinds import PLACEMENT
from rollout.model.names import DECISION_ORDER, SCHEDULING_DISABLED, SEMANTICS
from rollout.model.placement import Decision, Placement, is_foreign, owned
from rollout.model.problems import joined
from rollout.placement import ocm
from rollout.placement.cel.screening import Screening, Unfinished
from rollout.placement.explain import ClusterEvaluation, explain
from rollout.placement.framework import Cycle, EvaluationCode, EvaluationStatus, PlacementSelection
from rollout.placement.grouping import Barred, Profile, group, none_barred
from rollout.placement.index import Pool
from rollout.placement.ocm import mapping
from rollout.placement.scheduler import DEFAULT_PLUGINS, Plugins, check, select
from rollout.placement.sticky import told_pages
from rollout.planning.decisions import PlacementOutcome, writes
from rollout.planning.plan import NOTHING, UNFINISHED, Plan
from rollout.planning.scores import told_scores


class PlacementView(Protocol):
    """What the planner reads."""

    def placement(self, key: str) -> Placement | None: ...

    def cluster_set(self, name: str) -> ClusterSet | None: ...

    def bindings(self, namespace: str) -> Sequence[ClusterSetBinding]:
        """Of one namespace, in any order."""
        ...

    def members(self, sets: Sequence[str]) -> Pool:
        """The clusters of these sets that are not terminating; sets with problems are left out."""
        ...

    def clusters(self, names: Sequence[str]) -> Pool:
        """Those of the named clusters that exist and are not terminating."""
        ...

    def decisions(self, placement_key: str) -> Sequence[Decision]:
        """All that carry the placement's label, by name."""
        ...

    def decision(self, key: str) -> Decision | None:
        """The PlacementDecision of this key, whatever its labels."""
        ...

    def decision_counts(self) -> Mapping[str, int]:
        """How many decisions of the whole hub name each cluster; no entry is 0.

        A value: what was returned never changes.
        """
        ...

    def scores(self, name: str) -> Mapping[str, Score]:
        """The AddOnPlacementScores of this name, by cluster."""
        ...

    def stamp(self, placement_key: str) -> Hashable:
        """Equal to an earlier one only while nothing that a plan of the placement reads changed."""
        ...


@dataclass(frozen=True, slots=True)
class Candidates:
    """Where the clusters come from. ``broken``: eligible sets whose members nobody can tell."""

    bound: tuple[str, ...]
    eligible: tuple[str, ...]
    broken: tuple[str, ...]
    pool: Pool


@dataclass(frozen=True, slots=True)
class _QuietPlan:
    """A plan without writes. It holds from ``since`` on, until ``recheck_at``."""

    stamp: Hashable
    since: datetime
    plan: Plan

    def holds(self, stamp: Hashable, now: datetime) -> bool:
        until = self.plan.recheck_at
        return self.stamp == stamp and self.since <= now and (until is None or now < until)


class PlacementPlanner:
    """Plans one Placement. The same view and instant give the same plan.

    What it remembers saves work and never alters an answer: that a placement was settled, as long
    as the view's stamp is the same, the inputs derived from decisions that are the same objects, and
    what expressions said of clusters.
    """

    kind = PLACEMENT

    def __init__(
        self,
        plugins: Plugins = DEFAULT_PLUGINS,
        profile: Profile = "strict",
        *,
        slice_steps: int | None = None,
    ) -> None:
        """
        Args:
            profile: decides where the Placement does not say.
            slice_steps: so many steps of CEL in one turn, then the plan is `UNFINISHED`; None: a
                plan is always finished.
        """
        self.plugins, self.profile = plugins, profile
        self._slice_steps = slice_steps
        self._settled: dict[str, _QuietPlan] = {}
        self._loads: dict[str, Load] = {}
        self._screenings: dict[str, tuple[object, Screening]] = {}  # with what they are of

    def plan(self, key: str, view: PlacementView, now: datetime) -> Plan:
        """The writes that bring decisions and status up to date; nothing where they are."""
        stamp = view.stamp(key)
        settled = self._settled.get(key)
        if settled is not None and settled.holds(stamp, now):
            return settled.plan
        try:
            plan = self._plan(key, view, now)
        except Unfinished:
            return UNFINISHED
        if plan.writes or plan.notes or view.placement(key) is None:
            self._settled.pop(key, None)
        else:
            self._settled[key] = _QuietPlan(stamp, now, plan)
        return plan

    def _plan(self, key: str, view: PlacementView, now: datetime) -> Plan:
        placement = view.placement(key)
        screening = self._screening(key, placement)
        if placement is None or placement.deleting:
            return NOTHING
        if placement.annotations.get(SCHEDULING_DISABLED) == "true":
            return NOTHING
        own = owned(placement, view.decisions(key))
        outcome = self.evaluate(placement, own, view, now, screening=screening)
        if outcome is None:
            return NOTHING
        return writes(placement, outcome, own, view.decision, now=now)

    def _screening(self, key: str, placement: Placement | None) -> Screening | None:
        """What is known of the placement's expressions, and how far the next slice goes."""
        predicates = mapping(placement.raw.get("spec")).get("predicates") if placement else None
        if placement is None or not predicates:
            self._screenings.pop(key, None)
            return None
        asked = profile_of(placement, self.profile), predicates
        known = self._screenings.get(key)
        if known is None or known[0] != asked:
            known = self._screenings[key] = asked, Screening()
        known[1].begin(self._slice_steps)
        return known[1]

    def evaluate(
        self,
        placement: Placement,
        own: Sequence[Decision],
        view: PlacementView,
        now: datetime,
        screening: Screening | None = None,
    ) -> PlacementOutcome | None:
        """Select and group, without a thought to writing; None where OCM's pass would end early.

        Also the way to explain a decision, or to try a Placement that is not stored.

        Args:
            screening: of the placement's expressions. Raises: Unfinished where it is not given
                steps enough; asked again with the same one, the evaluation goes on.
        """
        if profile_of(placement, self.profile) == "ocm":
            return self._as_ocm(placement, own, view, now, screening=screening)
        return self._strictly(placement, own, view, now, screening=screening or Screening())

    def explain(
        self, key: str, view: PlacementView, now: datetime
    ) -> tuple[PlacementSelection, list[ClusterEvaluation]]:
        """Why each candidate is selected or not; nothing where the Placement is unknown."""
        placement = view.placement(key)
        if placement is None:
            return PlacementSelection(
                EvaluationStatus(EvaluationCode.ERROR, "", ("it does not exist",))
            ), []
        own = owned(placement, view.decisions(key))
        outcome = self.evaluate(placement, own, view, now)
        if outcome is None:
            return PlacementSelection(
                EvaluationStatus(EvaluationCode.ERROR, "", ("OCM's pass ends early",))
            ), []
        candidates = find_candidates(placement, view, clusters_of(own))
        cycle = self._cycle(placement, own, view, now)
        found = explain(cycle, candidates.pool, outcome.selection, self.plugins)
        return outcome.selection, found

    def _strictly(
        self,
        placement: Placement,
        own: Sequence[Decision],
        view: PlacementView,
        now: datetime,
        screening: Screening,
    ) -> PlacementOutcome:
        problems = check(placement, self.plugins, screening.program)
        previous = clusters_of(own)
        candidates = find_candidates(placement, view, previous)
        if problems:
            status = EvaluationStatus(EvaluationCode.MISCONFIGURED, "", (joined(problems),))
            return PlacementOutcome(
                profile="strict",
                bound=candidates.bound,
                eligible=candidates.eligible,
                available=len(candidates.pool),
                selection=PlacementSelection(status),
                grouping=None,
                status=status,
            )
        cycle = self._cycle(placement, own, view, now, screening=screening)
        try:
            selection = select(cycle, candidates.pool, self.plugins)
        except PluginError as fault:
            selection = PlacementSelection(
                EvaluationStatus(EvaluationCode.ERROR, "", (str(fault),))
            )
        barred = _barred(placement, view)
        return _outcome("strict", placement, candidates, selection, own=own, now=now, barred=barred)

    def _as_ocm(
        self,
        placement: Placement,
        own: Sequence[Decision],
        view: PlacementView,
        now: datetime,
        screening: Screening | None,
    ) -> PlacementOutcome | None:
        candidates = find_candidates(placement, view, frozenset())
        if candidates.broken:
            return None  # OCM's pass fails before it writes anything
        spec = ocm.defaulted(placement.raw.get("spec") or {})
        placement = replace(placement, raw={**placement.raw, "spec": spec})
        try:
            cycle = self._cycle(placement, own, view, now, screening=screening)
            selection = ocm.select(cycle, candidates.pool)
        except ConfigError:
            return None  # OCM's pass panics
        return _outcome("ocm", placement, candidates, selection, own=own, now=now)

    def _cycle(
        self,
        placement: Placement,
        own: Sequence[Decision],
        view: PlacementView,
        now: datetime,
        screening: Screening | None = None,
    ) -> Cycle:
        hub = view.decision_counts()
        load = self._loads.pop(placement.key, None)
        if load is None or not load.is_of(own, hub):
            load = load_of(own, hub)
        self._loads[placement.key] = load  # now the youngest
        if len(self._loads) > LOADS_KEPT:
            del self._loads[next(iter(self._loads))]
        return Cycle(
            placement,
            now,
            previous=load.previous,
            counts=load.counts,
            scores=view.scores,
            screening=screening,
        )


def profile_of(placement: Placement, default: Profile = "strict") -> Profile:
    """Whose rules the Placement asks for; ``default`` where it says neither."""
    asked = placement.annotations.get(SEMANTICS)
    if asked == "ocm" or (asked != "strict" and default == "ocm"):
        return "ocm"
    return "strict"


def _barred(placement: Placement, view: PlacementView) -> Barred:
    def is_barred(name: str) -> bool:
        known = view.decision(f"{placement.namespace}/{name}")
        return known is not None and is_foreign(placement, known)

    return is_barred


def clusters_of(decisions: Sequence[Decision]) -> frozenset[str]:
    return frozenset(name for decision in decisions for name in decision.clusters)


def find_candidates(
    placement: Placement, view: PlacementView, previous: frozenset[str]
) -> Candidates:
    """The clusters of all sets that are bound, exist, and are asked for.

    The members of a set that cannot be read are unknown; of those, the clusters already decided
    (``previous``) stay candidates, so that a typing error in a set evicts nobody.
    """
    names = sorted({b.name for b in view.bindings(placement.namespace)})
    found = {name: view.cluster_set(name) for name in names}
    bound = tuple(name for name, each in found.items() if each is not None)
    wanted = frozenset(placement.cluster_sets)
    eligible = tuple(name for name in bound if not wanted or name in wanted)
    broken = tuple(n for n in eligible if (each := found[n]) is not None and each.problems)
    pool = view.members(eligible)
    if broken and previous:
        pool = pool.source.pool(pool.bits | view.clusters(sorted(previous)).bits)
    return Candidates(bound, eligible, broken, pool)


LOADS_KEPT = 4
"""Each takes a tenth of a kilobyte for each cluster."""


@dataclass(frozen=True, slots=True)
class Load:
    """What decisions say of clusters, as one placement sees it.

    ``counts``: how many decisions of all others name each cluster.
    """

    own: Sequence[Decision]
    hub: Mapping[str, int]
    previous: frozenset[str]
    counts: Mapping[str, int]

    def is_of(self, own: Sequence[Decision], hub: Mapping[str, int]) -> bool:
        """Whether it was made of these very objects."""
        same = len(own) == len(self.own) and all(map(is_, own, self.own))
        return same and self.hub is hub


def load_of(own: Sequence[Decision], hub: Mapping[str, int]) -> Load:
    """Take the placement's own decisions out of the counts. Cost: O(clusters of the hub)."""
    mine = Counter(name for decision in own for name in decision.clusters)
    counts = {**hub}
    for name, count in mine.items():
        left = counts.get(name, 0) - count
        if left > 0:
            counts[name] = left
        else:
            counts.pop(name, None)
    return Load(own, hub, frozenset(mine), counts)


def _outcome(
    profile: Profile,
    placement: Placement,
    candidates: Candidates,
    selection: PlacementSelection,
    *,
    own: Sequence[Decision],
    now: datetime,
    barred: Barred = none_barred,
) -> PlacementOutcome:
    source = candidates.pool.source
    chosen = source.pool(source.bits(selection.chosen))
    by_score = profile == "strict" and placement.sort_by == "Score"
    told = told_scores(placement, selection, own, now) if profile == "strict" else None
    is_sticky = placement.annotations.get(DECISION_ORDER) == "sticky" and profile == "strict"
    # Sticky groups take newcomers by name, whatever the order of the others.
    scores = told.by_cluster if told is not None and by_score and not is_sticky else None
    before = told_pages(placement, own) if is_sticky else ()
    grouping = group(placement, chosen, profile, scores=scores, before=before, is_barred=barred)
    if grouping.misconfigured is not None:
        status = EvaluationStatus(EvaluationCode.MISCONFIGURED, "", (grouping.misconfigured,))
    else:
        status = selection.status
    return PlacementOutcome(
        profile=profile,
        bound=candidates.bound,
        eligible=candidates.eligible,
        available=len(candidates.pool),
        selection=selection,
        grouping=grouping,
        status=status,
        broken=candidates.broken,
        is_sticky=is_sticky,
        scores=told,
    )
