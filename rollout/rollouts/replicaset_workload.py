"""What is known of one ManifestWorkReplicaSet: works, clusters, rollouts.

Kept current work by work; recounted only when the template, a strategy or a selection changes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from rollout.model.content import normal_spec
from rollout.model.kinds import Obj, Ref
from rollout.model.replicaset import PlacementRef, ReplicaSet
from rollout.model.work import Work, names_another_owner, oldest, work_labels
from rollout.model.workload import Carried
from rollout.rollouts.live import LiveRollout
from rollout.rollouts.observations import Observation
from rollout.rollouts.selections import Reading
from rollout.rollouts.share import PlacementShare, Surroundings
from rollout.rollouts.tallies import NO_MARKS, Counts, marks_of, rules_of
from rollout.rollouts.terms import Terms
from rollout.rollouts.workload import Workload
from rollout.strategies.ocm import work_status
from rollout.strategies.states import read_report
from rollout.values.contents import ClusterContents
from rollout.values.rendering import ValueShown
from rollout.values.rules import ClusterValues


@dataclass(slots=True, kw_only=True)
class ReplicaSetShare(PlacementShare):
    """One placementRef of a workload, live. ``counts`` are over its clusters' current works."""

    ref: PlacementRef
    counts: Counts
    labels: dict[str, str]  # what each of its works carries

    @property
    def placement_key(self) -> str:
        return f"{self.live.workload.namespace}/{self.ref.name}"

    @property
    def asked(self) -> PlacementRef:
        return self.ref

    @property
    def updated(self) -> int:
        return self.counts.updated

    @property
    def groups(self) -> int:
        """How many decision groups the placement has."""
        return len(self.reading.selection.groups)


class ReplicaSetWorkload(Workload[ReplicaSetShare]):
    """One ManifestWorkReplicaSet and everything that hangs on it."""

    def __init__(self, ref: Ref, profile: str = "strict") -> None:
        super().__init__(ref, profile)
        self.replicaset: ReplicaSet | None = None
        self._works: dict[str, dict[str, Work]] = {}  # cluster -> name -> work
        self._chosen: dict[str, Work] = {}  # cluster -> the work that counts
        self._marks: dict[str, tuple[str, tuple[bool, ...]]] = {}
        self._rules: dict[str, frozenset[str]] = {}  # content -> what its rules can set
        self.twins: set[str] = set()  # clusters with more than one work
        self.told_at: datetime | None = None  # when this process last wrote its status
        self.faulty: set[str] = set()  # clusters whose agent finds manifests that are not well
        self.mislabelled: set[str] = set()  # clusters whose work lacks labels, or names another one
        self.values: tuple[ClusterValues, ...] = ()  # that its clusters have of their own
        self.contents = ClusterContents()
        self.is_unrendered = False  # clusters are still to be rendered before anything is decided

    @property
    def spec(self) -> ReplicaSet | None:
        return self.replicaset

    @property
    def placements(self) -> tuple[str, ...]:
        return self.replicaset.placement_names if self.replicaset else ()

    # -- works ---------------------------------------------------------------------------------

    def put_work(self, work: Work, now: datetime) -> None:
        self._works.setdefault(work.cluster, {})[work.name] = work
        self._choose(work.cluster, now)

    def renew_work(self, work: Work) -> None:
        """One that is here, in a newer version that says the same."""
        self._works[work.cluster][work.name] = work
        chosen = self._chosen.get(work.cluster)
        if chosen is not None and chosen.name == work.name:
            self._chosen[work.cluster] = work

    def drop_work(self, cluster: str, name: str, now: datetime) -> None:
        held = self._works.get(cluster, {})
        held.pop(name, None)
        if not held:
            self._works.pop(cluster, None)
        self._choose(cluster, now)

    def is_going(self, cluster: str) -> bool:
        return cluster in self._works and cluster not in self._chosen

    def going(self) -> list[str]:
        """Clusters that are to keep what is being deleted there, by name."""
        astray = (cluster for share in self.shares.values() for cluster in share.live.astray)
        return sorted(filter(self.is_going, astray))

    def work(self, cluster: str) -> Work | None:
        """The work that counts there; None also where all are being deleted."""
        return self._chosen.get(cluster)

    def works(self, cluster: str) -> Mapping[str, Work]:
        """All works of this workload there, by name."""
        return self._works.get(cluster, {})

    @property
    def clusters(self) -> list[str]:
        """Clusters that hold a work of this workload, by name."""
        return sorted(self._works)

    @property
    def revisions(self) -> tuple[str, ...]:
        return (self.revision,) if self.replicaset else ()

    @property
    def revision(self) -> str:
        """What is rolled out: the template, or the template and the rules over it."""
        return self.contents.revision(self.replicaset) if self.replicaset else ""

    def revision_at(self, cluster: str) -> str:
        """It is one for all, also for a cluster that is not selected."""
        return self.revision

    def content_at(self, cluster: str) -> str:
        """The content that the cluster is to carry: of what was agreed, where rules cannot be followed."""
        owner = self.members.get(cluster)
        if self.contents.problems and owner is not None:
            return self.shares[owner].live.wanted(cluster)
        own = self.contents.contents.get(cluster)
        return self.revision if own is None else own

    @property
    def has_values(self) -> bool:
        return bool(self.contents.written)

    def values_at(self, cluster: str) -> tuple[ValueShown, ...]:
        return self.contents.shown(cluster)

    def spec_of(self, content: str) -> Obj | None:
        """The template that has this content now; None where none has."""
        template = self.replicaset.template if self.replicaset else None
        if template is None or template.content == content:
            return template.spec if template is not None else None
        return self.contents.spec(content)

    def carried(self, cluster: str) -> Carried | None:
        work = self._chosen.get(cluster)
        if work is None:
            return None
        revision, owner = work.content, self.members.get(cluster)
        live = self.shares[owner].live if owner is not None else None
        if revision == self.content_at(cluster):
            revision = live.revision if live and self.contents.problems else self.revision
        elif live is not None:
            standing = live.ledger.standings.get(cluster)
            if standing is not None and standing.revision == revision:
                revision = standing.of_revision
        return Carried(
            work.key,
            revision,
            tuple(work.conditions.values()),
            generation=work.generation,
            faults=work.faults,
        )

    def leaving(self, cluster: str) -> str:
        if not self.is_going(cluster):
            return ""
        return min(work.key for work in self._works[cluster].values())

    def body(self, cluster: str) -> Obj | None:
        work = self._chosen.get(cluster)
        return normal_spec(work.spec) if work else None

    def wanted(self, cluster: str) -> Obj | None:
        if self.contents.problems:
            return None
        spec = self.spec_of(self.content_at(cluster))
        return normal_spec(spec) if spec is not None else None

    def made_of(self, revision: str) -> tuple[str, ...]:
        return ()

    def _choose(self, cluster: str, now: datetime) -> None:
        """The oldest work that is not being deleted counts; further ones are twins."""
        held = [w for w in self._works.get(cluster, {}).values() if not w.deleting]
        before = self._chosen.get(cluster)
        chosen = oldest(held)
        (self.twins.add if len(held) > 1 else self.twins.discard)(cluster)
        if chosen is None:
            self._chosen.pop(cluster, None)
        else:
            self._chosen[cluster] = chosen
        (self.faulty.add if chosen and chosen.faults else self.faulty.discard)(cluster)
        if before is None or chosen is None or not chosen.is_labelled_as(before):
            self._place(cluster)
        owner = self.members.get(cluster)
        if owner is not None:
            self.shares[owner].live.observe(cluster, self._observation(chosen), now)
        self._mark(cluster)

    def _place(self, cluster: str) -> None:
        """Keep `strays` and `mislabelled`."""
        owner, work = self.members.get(cluster), self._chosen.get(cluster)
        (self.strays.add if owner is None and work else self.strays.discard)(cluster)
        lacks = (
            owner is not None
            and work is not None
            and (
                not self.shares[owner].labels.items() <= work.labels.items()
                or names_another_owner(work, self.ref.key)
            )
        )
        (self.mislabelled.add if lacks else self.mislabelled.discard)(cluster)

    def _observation(self, work: Work | None) -> Observation | None:
        if work is None:
            return None
        report = read_report(work, self.rules(work))
        reported = work_status(work.generation, work.conditions) if self.is_ocm else None
        return Observation(
            content=work.content,
            health=report.health,
            reason=report.reason,
            revision=work.revision,
            started_at=work.started_at,
            reported=reported,
            token=report.token,
        )

    def rules(self, work: Work) -> frozenset[str]:
        """The condition types that the rules in this very work can set."""
        template = self.replicaset.template if self.replicaset else None
        if template is not None and (
            work.content == template.content
            # Values change manifests, never the rules beside them; where there are problems, what is
            # agreed is of another template.
            or (not self.contents.problems and work.content == self.content_at(work.cluster))
        ):
            return template.rules
        known = self._rules.get(work.content)
        if known is None:
            if len(self._rules) > 32:
                self._rules.clear()
            known = self._rules[work.content] = rules_of(work.spec)
        return known

    def _mark(self, cluster: str) -> None:
        """Keep each share's counts."""
        before = self._marks.pop(cluster, None)
        if before is not None and before[0] in self.shares:
            self.shares[before[0]].counts.shift(before[1], -1)
        owner, work = self.members.get(cluster), self._chosen.get(cluster)
        if owner is None or work is None or self.replicaset is None:
            return
        is_current = work.content == self.content_at(cluster)
        marks = marks_of(work, as_ocm=self.is_ocm) if is_current else NO_MARKS
        self._marks[cluster] = (owner, marks)
        self.shares[owner].counts.shift(marks, 1)

    # -- terms ---------------------------------------------------------------------------------

    def sync(self, around: Surroundings, now: datetime) -> None:
        """As for every workload, once it is rendered what the clusters are to carry."""
        replicaset = self.replicaset
        if replicaset is None:
            return
        is_due = self.is_due(now)
        if is_due:  # by the rules of now, before it is known what their clusters are to carry
            self.contents.follow(replicaset, self.values)
        if not (is_due or self.contents.is_stale) or self._is_rendered(around, now):
            super().sync(around, now)

    def _dealt(self, left: Mapping[str, ReplicaSetShare], owners: Mapping[str, str]) -> None:
        members, shares = self.members, self.shares
        self._marks.clear()
        for share in shares.values():
            share.counts = Counts()
        for cluster in owners.keys() | members.keys() | self._chosen.keys():
            self._place(cluster)
            self._mark(cluster)

    def _is_rendered(self, around: Surroundings, now: datetime) -> bool:
        """Render what is not rendered yet, one slice of it. Whether nothing is left; then, of clusters
        that are to carry something else, each share is told.
        """
        selected: list[str] | None = None  # as before, unless shares are dealt anew
        if self.is_due(now):
            keys = map(self.placement_key, self.placements)
            pages = (page for key in keys for page in around.decisions(key))
            decided = {cluster for page in pages for cluster in page.clusters}
            selected = sorted(decided | self.members.keys())  # who is in no decision may be kept
        before = self.contents.contents
        self.is_unrendered = not self.contents.render(selected, around.cluster, now)
        if self.is_unrendered:
            return False
        if self.contents.contents is not before and not self.stale:
            self.restated = True
            for cluster, content in self.contents.contents.items():
                if before.get(cluster) != content:
                    self._mark(cluster)
        return True

    def _share(
        self, placement: str, live: LiveRollout, reading: Reading, around: Surroundings
    ) -> ReplicaSetShare:
        replicaset, known = self._asked, self.shares.get(placement)
        return ReplicaSetShare(
            ref=next(ref for ref in replicaset.refs if ref.name == placement),
            live=live,
            reading=reading,
            hold=reading.hold,
            counts=known.counts if known else Counts(),
            labels=work_labels(replicaset, placement, around.policy.sharding),
        )

    @property
    def _asked(self) -> ReplicaSet:
        """What it asks for. To be asked only where it is there."""
        assert self.replicaset is not None
        return self.replicaset

    def _observed(self, placement: str) -> dict[str, Observation]:
        return {
            cluster: seen
            for group in self.shares[placement].reading.selection.groups
            for cluster in group.clusters
            if (seen := self._observation(self._chosen.get(cluster))) is not None
        }

    def _why_not(self, placement: str, around: Surroundings) -> str:
        ref = self.shares[placement].ref
        if ref.rollout is not None and around.strategy(ref.rollout.type) is not None:
            return "; ".join(self.contents.problems)
        if ref.problems:
            return "; ".join(map(str, ref.problems))
        kind = ref.rollout.type if ref.rollout else "?"
        return f"placementRef {placement}: no rollout strategy is called {kind!r}"

    def _terms(self, placement: str, around: Surroundings) -> Terms | None:
        replicaset, share = self._asked, self.shares[placement]
        if replicaset.problems or self.contents.problems:
            return None
        settles = bool(replicaset.template.rules)
        terms = self.terms_of(share, share.ref.rollout, self.revision, around, settles=settles)
        if terms is None:
            return None
        unrendered = {
            cluster: wait
            for cluster, wait in self.contents.unrendered.items()
            if self.members.get(cluster) == placement
        }
        contents = self.contents.contents
        return replace(terms, keeps_templates=True, contents=contents, unrendered=unrendered)
