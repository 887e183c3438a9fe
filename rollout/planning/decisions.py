"""Plans the writes that make a Placement's decision pages as they should be.

Pages are PlacementDecisions. While they are rewritten no cluster is ever missing from all of them: it
reaches its new page before it leaves the old one. Mostly that is an order of the pages, in which each
is written once; pages that exchange clusters, and those that wait for these, are written twice. Pages
that only lose clusters follow when all others have theirs, then pages nobody wants go, then the status
tells of it all. Where groups are sticky the status comes before the pages go: until it tells of the new
groups, those before them can be read from the pages that it names.
Source: OCM placement spec 3.2 to 3.6. Differences: adding comes before removing, labels of others
are kept and the owner reference is repaired, scores in the decisions.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from rollout.model.conditions import Condition, merge
from rollout.model.instants import earliest, rfc3339
from rollout.model.kinds import PLACEMENT, PLACEMENT_DECISION, Obj, Ref
from rollout.model.names import PLACEMENT_MISCONFIGURED, PLACEMENT_SATISFIED
from rollout.model.ownership import owned_by
from rollout.model.placement import Decision, Placement
from rollout.model.writes import Create, Delete, Patch, PatchStatus
from rollout.placement.framework import (
    EvaluationCode,
    EvaluationStatus,
    PlacementSelection,
)
from rollout.placement.grouping import DecisionPage, Grouping, Profile
from rollout.planning.notes import page_notes
from rollout.planning.plan import NOTHING, Note, Plan, Write
from rollout.planning.scores import ToldScores

LONGEST_ORDER = 32
"""Waves that pages may take in their order: each takes a round trip."""

Lookup = Callable[[str], Decision | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementOutcome:
    """What an evaluation of a placement came to, before anything is written.

    ``grouping`` None: there is none, the decisions stay as they are. ``status`` may differ from the
    selection's where the grouping failed. ``broken`` names the sets that could not be read. ``is_sticky``:
    the groups follow from those that the status tells of. ``scores`` None: decisions have no say of any.
    """

    profile: Profile
    bound: tuple[str, ...]
    eligible: tuple[str, ...]
    available: int
    selection: PlacementSelection
    grouping: Grouping | None
    status: EvaluationStatus
    broken: tuple[str, ...] = ()
    is_sticky: bool = False
    scores: ToldScores | None = None

    @property
    def keeps_decisions(self) -> bool:
        """The last good decisions stay: there is nothing better to replace them with."""
        return self.profile == "strict" and (self.status.failed or self.grouping is None)


def writes(
    placement: Placement,
    outcome: PlacementOutcome,
    own: Sequence[Decision],
    lookup: Lookup,
    now: datetime,
) -> Plan:
    """The plan that brings pages and status to the outcome."""
    conditions = (misconfigured(placement, outcome), satisfied(placement, outcome))
    if outcome.keeps_decisions or outcome.grouping is None:
        waves = _status_wave(placement, {"conditions": _merged(placement, conditions, now)})
        return Plan(
            waves, recheck_at=outcome.selection.recheck_at, notes=_trouble(placement, outcome)
        )
    pages = _PageDifference(placement, outcome, own, lookup)
    status: Obj = {
        "numberOfSelectedClusters": len(outcome.selection.chosen),
        "decisionGroups": [
            {
                "decisionGroupIndex": index,
                "decisionGroupName": name,
                "decisions": list(names),
                "clusterCount": count,
            }
            for index, name, count, names in outcome.grouping.status_groups
        ],
        "conditions": _merged(placement, conditions, now),
    }
    if pages.scores_written:
        status["lastScoreUpdateTime"] = rfc3339(now)
    told, deletes = _status_wave(placement, status), pages.deletes()
    waves = (*pages.waves(), *((*told, *deletes) if outcome.is_sticky else (*deletes, *told)))
    notes = (*pages.notes(), *_trouble(placement, outcome))
    recheck = earliest(outcome.selection.recheck_at, pages.scores_due)
    return Plan(waves, recheck_at=recheck, notes=notes) if waves or recheck else NOTHING


def _status_wave(placement: Placement, status: Obj) -> tuple[tuple[Write, ...], ...]:
    """The status fields that differ, as a wave of their own; no wave where none does."""
    known = placement.raw.get("status") or {}
    changes = {key: value for key, value in status.items() if known.get(key) != value}
    if not changes:
        return ()
    ref = Ref(PLACEMENT, placement.key)
    return ((PatchStatus(ref, changes, placement.version or None),),)


def _merged(placement: Placement, conditions: Sequence[Condition], now: datetime) -> list[Obj]:
    listed = (placement.raw.get("status") or {}).get("conditions")
    old = [c for c in listed if isinstance(c, dict)] if isinstance(listed, list) else []
    return merge(old, conditions, now)


def misconfigured(placement: Placement, outcome: PlacementOutcome) -> Condition:
    """PlacementMisconfigured. The reason without trouble is spelt as OCM spells it."""
    status, generation = outcome.status, _observed(placement, outcome)
    if status.code is EvaluationCode.MISCONFIGURED:
        message = f"{status.plugin}:{status.message}"
        if outcome.profile == "strict" and not status.plugin:
            message = status.message
        return Condition(
            PLACEMENT_MISCONFIGURED,
            "True",
            status.code.value,
            message,
            observed_generation=generation,
        )
    parts = ["Placement configurations check pass", *outcome.selection.remarks]
    return Condition(
        PLACEMENT_MISCONFIGURED,
        "False",
        "Succeedconfigured",
        "; ".join(parts)[:32_768],
        observed_generation=generation,
    )


def _observed(placement: Placement, outcome: PlacementOutcome) -> int | None:
    return None if outcome.profile == "ocm" else placement.generation


def satisfied(placement: Placement, outcome: PlacementOutcome) -> Condition:
    """PlacementSatisfied: the first row of the table that applies."""
    status, reason, message = _satisfied(placement, outcome)
    if outcome.broken:
        message += f"; unreadable ManagedClusterSets: {','.join(outcome.broken)}"
    return Condition(
        PLACEMENT_SATISFIED,
        status,
        reason,
        message,
        observed_generation=_observed(placement, outcome),
    )


def _satisfied(placement: Placement, outcome: PlacementOutcome) -> tuple[str, str, str]:
    selection = outcome.selection
    if not outcome.bound:
        text = "No valid ManagedClusterSetBindings found in placement namespace"
        return "False", "NoManagedClusterSetBindings", text
    if not outcome.eligible:
        listed = ",".join(placement.cluster_sets)
        text = f"None of ManagedClusterSets [{listed}] is bound to placement namespace"
        return "False", "NoIntersection", text
    if not outcome.available:
        listed = ",".join(outcome.eligible)
        text = f"All ManagedClusterSets [{listed}] have no member ManagedCluster"
        return "False", "AllManagedClusterSetsEmpty", text
    if outcome.status.code is EvaluationCode.ERROR:
        return "False", "NotAllDecisionsScheduled", outcome.status.message
    if outcome.keeps_decisions:
        text = f"the last decisions are kept: {outcome.status.message}"
        return "False", "NotAllDecisionsScheduled", text
    if not selection.chosen and (placement.number != 0 or outcome.profile == "ocm"):
        return "False", "NoManagedClusterMatched", _unmatched(outcome)
    if selection.unmet <= 0:
        return "True", "AllDecisionsScheduled", "All cluster decisions scheduled"
    text = f"{selection.unmet} cluster decisions unscheduled"
    return "False", "NotAllDecisionsScheduled", text


def _unmatched(outcome: PlacementOutcome) -> str:
    """OCM's words, and (strict) how many clusters were left after each filter."""
    text = "No ManagedCluster matches any of the cluster predicate"
    if outcome.profile == "ocm":
        return text
    counts = [f"{s.name.rpartition(',')[2]} {len(s.left)}" for s in outcome.selection.stages]
    return f"{text} (of {outcome.available} clusters left after {', '.join(counts)})"


def _trouble(placement: Placement, outcome: PlacementOutcome) -> tuple[Note, ...]:
    """A warning when the placement begins to be misconfigured, or to fail."""
    if not outcome.keeps_decisions:
        return ()
    known = placement.conditions.get(PLACEMENT_MISCONFIGURED)
    fresh = misconfigured(placement, outcome)
    if known is not None and (known.status, known.message) == (fresh.status, fresh.message):
        return ()
    ref = Ref(PLACEMENT, placement.key)
    text = f"The decisions are kept as they are: {outcome.status.message}"
    return (Note(ref, "PlacementMisconfigured", text, warning=True, action="DecisionsKept"),)


@lru_cache(maxsize=2_048)
def entry(cluster: str, score: int) -> Obj:
    """A cluster as a page names it: one object, however many pages name it so."""
    said = {"clusterName": cluster, "reason": ""}
    return {**said, "score": score} if score else said


class _PageDifference:
    """The difference between the pages wanted and the pages there."""

    def __init__(
        self,
        placement: Placement,
        outcome: PlacementOutcome,
        own: Sequence[Decision],
        lookup: Lookup,
    ) -> None:
        assert outcome.grouping is not None, "pages need a grouping"
        self.placement = placement
        self.outcome = outcome
        self.wanted = outcome.grouping.pages
        self.strict = outcome.profile == "strict"
        self.there = {p.name: lookup(f"{placement.namespace}/{p.name}") for p in self.wanted}
        names = {page.name for page in self.wanted}
        self.redundant = [d for d in own if d.name not in names]
        self.chosen = frozenset(outcome.selection.chosen)
        self.told = outcome.scores
        self.scores = self.told.by_cluster if self.told is not None else {}
        self.changed = [p for p in self.wanted if p.clusters != self._clusters(p)]
        self.rescored = self._rescored()

    @property
    def scores_due(self) -> datetime | None:
        return self.told.due if self.told is not None else None

    @property
    def scores_written(self) -> bool:
        """Whether the latest scores are written, on whatever page."""
        if self.told is None or self.told.held:
            return False
        by_score = self.placement.sort_by == "Score"
        return bool(self.rescored or (self.changed and by_score))

    def _clusters(self, page: DecisionPage) -> tuple[str, ...]:
        known = self.there[page.name]
        return () if known is None else known.clusters

    def _rescored(self) -> list[DecisionPage]:
        """Pages of which only scores changed, when it is time to write those."""
        if self.told is None or self.told.held:
            return []
        changed = {page.name for page in self.changed}
        return [
            page
            for page in self.wanted
            if page.name not in changed
            and page.clusters
            and self._scores(page) != self._stored(page)
        ]

    def _stored(self, page: DecisionPage) -> tuple[int, ...] | None:
        known = self.there[page.name]
        return None if known is None else known.scores

    def _scores(self, page: DecisionPage) -> tuple[int, ...]:
        return tuple(self.scores.get(name, 0) for name in page.clusters)

    def _entries(self, clusters: Sequence[str]) -> list[Obj]:
        scores = self.scores
        return [entry(name, scores.get(name, 0)) for name in clusters]

    def waves(self) -> tuple[tuple[Write, ...], ...]:
        meta: list[Write] = []
        for page in self.wanted:
            known = self.there[page.name]
            if known is None:
                meta.append(self._create(page))
            elif (changes := self._metadata(page, known)) is not None:
                meta.append(Patch(self._ref(page.name), changes, known.version or None))
        fixed = {write.ref for write in meta}
        turns, left = self._turns()
        filled = [[self._fill(page, page.clusters, fixed) for page in turn] for turn in turns]
        moving = {page.name: self._moving(page) for page in left}
        gains = [self._fill(page, (*page.clusters, *moving[page.name]), fixed) for page in left]
        again = {*fixed, *(self._ref(page.name) for page in left)}
        losses = [self._fill(page, page.clusters, again) for page in left if moving[page.name]]
        emptied = [self._fill(p, p.clusters, fixed) for p in self.changed if self._only_loses(p)]
        scores = [self._fill(page, page.clusters, fixed) for page in self.rescored]
        waves: list[Sequence[Write]] = [meta, *filled, gains, [*losses, *emptied], scores]
        return tuple(tuple(wave) for wave in waves if wave)

    def deletes(self) -> tuple[tuple[Write, ...], ...]:
        """The pages that nobody wants, as a wave of their own; no wave where there are none."""
        wave = tuple(Delete(self._ref(page.name), page.uid) for page in self.redundant)
        return (wave,) if wave else ()

    def _moving(self, page: DecisionPage) -> list[str]:
        """The clusters that leave the page for another one."""
        wanted = frozenset(page.clusters)
        return [c for c in self._clusters(page) if c not in wanted and c in self.chosen]

    def _turns(self) -> tuple[list[list[DecisionPage]], list[DecisionPage]]:
        """An order in which each page is filled once: where its clusters go to comes first.

        Returns: pages by wave, and those for which there is no such order, or none so short. These
        are filled twice: with those that leave them, then without. Pages that only lose clusters are
        in neither: nobody waits for them.
        """
        place = {cluster: page.name for page in self.changed for cluster in page.clusters}
        after = {
            page.name: {place[c] for c in self._moving(page) if c in place} for page in self.changed
        }
        turns: list[list[DecisionPage]] = []
        left = [page for page in self.changed if not self._only_loses(page)]
        while left and len(turns) < LONGEST_ORDER:
            waiting = {page.name for page in left}
            turn = [page for page in left if after[page.name].isdisjoint(waiting)]
            if not turn:
                break
            turns.append(turn)
            left = [page for page in left if not after[page.name].isdisjoint(waiting)]
        return turns, left

    def _only_loses(self, page: DecisionPage) -> bool:
        return frozenset(page.clusters) <= frozenset(self._clusters(page))

    def _ref(self, name: str) -> Ref:
        return Ref(PLACEMENT_DECISION, f"{self.placement.namespace}/{name}")

    def _fill(self, page: DecisionPage, clusters: Sequence[str], written: set[Ref]) -> PatchStatus:
        """The page's clusters. Its version is a precondition of its first write only."""
        ref, known = self._ref(page.name), self.there[page.name]
        version = None if known is None or ref in written else known.version or None
        return PatchStatus(ref, {"decisions": self._entries(clusters)}, version)

    def _owner(self) -> Obj:
        placement = self.placement
        return owned_by(Ref(PLACEMENT, placement.key), placement.uid, controller=True)

    def _create(self, page: DecisionPage) -> Create:
        obj: Obj = {
            "apiVersion": PLACEMENT_DECISION.api_version,
            "kind": PLACEMENT_DECISION.name,
            "metadata": {
                "namespace": self.placement.namespace,
                "name": page.name,
                "labels": dict(page.labels),
                "ownerReferences": [self._owner()],
            },
        }
        return Create(self._ref(page.name), obj)

    def _metadata(self, page: DecisionPage, known: Decision) -> Obj | None:
        """What is wrong with an existing page's labels and owner; None where nothing is."""
        meta = known.raw.get("metadata", {})
        labels: Mapping[str, str] = meta.get("labels") or {}
        fixes: dict[str, str | None] = {
            key: value for key, value in page.labels.items() if labels.get(key) != value
        }
        if not self.strict:
            fixes |= {key: None for key in labels if key not in page.labels}
        changes: Obj = {"labels": fixes} if fixes else {}
        owners = meta.get("ownerReferences") or []
        if self.strict and self.placement.uid and self._owner() not in owners:
            others = [
                o for o in owners if (o.get("kind"), o.get("controller")) != (PLACEMENT.name, True)
            ]
            changes["ownerReferences"] = [*others, self._owner()]
        return {"metadata": changes} if changes else None

    def notes(self) -> tuple[Note, ...]:
        return page_notes(
            self.placement,
            self.outcome.profile,
            self.outcome.status,
            self.outcome.selection,
            fresh=[page.name for page in self.wanted if self.there[page.name] is None],
            filled=[page.name for page in self.changed],
            gone=[page.name for page in self.redundant],
        )
