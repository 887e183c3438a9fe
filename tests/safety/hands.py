"""What do people, other programs and bad luck do in a history? One method per verb of a script."""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from random import Random

from rollout.errors import Conflict, Gone
from rollout.hub.base import Hub
from rollout.model import names
from rollout.model.kinds import (
    CLUSTER_SET,
    CLUSTER_SET_BINDING,
    MANAGED_CLUSTER,
    PLACEMENT,
    ROLLOUT_RECORD,
    Obj,
    Ref,
    ref_of,
)
from tests.safety import objects
from tests.safety.decider import Decider
from tests.safety.kinds import EDITORS
from tests.safety.operators import CLEARED, Operators
from tests.safety.setting import FIX, REVISIONS, Setting, strategy
from tests.safety.subject import Editor
from tests.safety.tenants import Tenants
from tests.safety.terms import Groups


class Hands:
    """Acts on the hub directly, never through the engine.

    What concerns the workload itself is done by its `Editor`. ``later`` calls a function after a
    span. ``flying`` tells which clusters are in flight, ``failed`` which have failed.
    """

    def __init__(
        self,
        setting: Setting,
        hub: Hub,
        now: Callable[[], datetime],
        later: Callable[[timedelta, Callable[[], None]], None],
        flying: Callable[[], list[str]],
        failed: Callable[[], list[str]],
    ) -> None:
        self.setting, self.hub, self._now, self._later = setting, hub, now, later
        self._flying, self._failed = flying, failed
        self.dice = Random(f"hands:{setting.seed}")
        self.editor: Editor = EDITORS[setting.kind](setting, hub, self.dice, self._soon)
        self.refusing: set[str] = set()
        self.deciders = {
            ref: Decider(hub, ref, self.dice, told=setting.told)
            for ref in setting.refs
            if setting.foreign
        }
        self.operators = Operators(setting, hub, self.editor, now, self._soon, flying, self._empty)
        self.tenants = Tenants(hub, setting.clusters, Random(f"tenants:{setting.seed}"))
        self._added = 0
        self._left: list[str] = []

    def act(self, verb: str) -> None:
        with suppress(Gone, Conflict):  # what it is about is not there just now
            for each in (self, self.operators, self.editor, self.tenants):
                do = getattr(each, f"do_{verb}", None)
                if do is not None:
                    do()
                    return
            raise AttributeError(verb)

    # -- at the beginning and at the end ---------------------------------------------------------

    def set_up(self) -> None:
        hub, setting = self.hub, self.setting
        cluster_set: Obj = {
            "apiVersion": "cluster.open-cluster-management.io/v1beta2",
            "kind": "ManagedClusterSet",
            "metadata": {"name": "global"},
            "spec": {"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {}}},
        }
        binding: Obj = {
            "apiVersion": "cluster.open-cluster-management.io/v1beta2",
            "kind": "ManagedClusterSetBinding",
            "metadata": {"name": "global", "namespace": objects.NAMESPACE},
            "spec": {"clusterSet": "global"},
        }
        hub.create(Ref(CLUSTER_SET, "global"), cluster_set)
        hub.create(Ref(CLUSTER_SET_BINDING, f"{objects.NAMESPACE}/global"), binding)
        for name in setting.clusters:
            self._join(name, setting.rings[name])
        for ref in setting.refs:
            self._place(ref)
        notes = {names.FAILURE_TOLERANCE: "Strict"} if setting.strict else {}
        notes.update(setting.notes)
        self.editor.create(setting.strategies, notes)

    def heal(self) -> None:
        """Everything is repaired, and a good revision is asked for."""
        self.refusing.clear()
        for cluster in self.setting.clusters:
            if not self._is_there(Ref(MANAGED_CLUSTER, cluster)):
                self._join(cluster, self.setting.rings[cluster])
            self._say(cluster, "True")
            ring = {"metadata": {"labels": {"ring": self.setting.rings[cluster]}}}
            self.hub.patch(Ref(MANAGED_CLUSTER, cluster), ring)
        for ref in self.setting.refs:
            if not self._is_there(Ref(PLACEMENT, f"{objects.NAMESPACE}/{ref}")):
                self._place(ref)
            elif ref in self.deciders:
                self.deciders[ref].decide(self._grouped(ref), self._now(), 0)
            spec = {"predicates": None, **self._placement(ref)["spec"]}
            self.hub.patch(Ref(PLACEMENT, f"{objects.NAMESPACE}/{ref}"), {"spec": spec})
        until = objects.wire(self._now() + timedelta(days=1))
        good = {"maxConcurrency": "25%", "minSuccessTime": "30s"}
        strategies = {
            ref: {"type": "Progressive", "progressive": good} for ref in self.setting.refs
        }
        notes = {names.PAUSED: None, names.SKIP: None, names.RELEASE_REMOVALS: until, **CLEARED}
        self.operators.heal()
        self.editor.heal(FIX, strategies, notes)

    # -- people ----------------------------------------------------------------------------------

    def do_new_revision(self) -> None:
        asked = self.editor.asked()
        at = REVISIONS.index(asked) if asked in REVISIONS else 0
        self.editor.roll_out(REVISIONS[(at + 1) % len(REVISIONS)])

    def do_old_revision(self) -> None:
        asked = self.editor.asked()
        self.editor.roll_out(self.dice.choice([r for r in REVISIONS if r != asked]))

    def do_first_revision(self) -> None:
        self.editor.roll_out(REVISIONS[0])

    def do_edit_strategy(self) -> None:
        self.editor.edit(strategies={ref: strategy(self.dice) for ref in self.setting.refs})

    def do_pause(self) -> None:
        self.editor.edit(notes={names.PAUSED: "true"})
        self._soon(lambda: self.editor.edit(notes={names.PAUSED: "false"}))

    def do_skip(self) -> None:
        self.editor.edit(notes={names.SKIP: ",".join(self._some(2))})

    # -- the fleet -------------------------------------------------------------------------------

    def do_cluster_down(self) -> None:
        self._down(self._some(1))

    def do_cluster_down_in_flight(self) -> None:
        self._down(self._flying()[:1])

    def do_cluster_deleted(self) -> None:
        for cluster in self._some(1):
            self._leave(cluster)

    def do_cluster_deleted_in_flight(self) -> None:
        """Contact is lost, then the cluster is taken out of the fleet."""
        for cluster in self._flying()[:2]:
            self._say(cluster, "Unknown")
            self._leave(cluster)

    def do_one_lost(self) -> None:
        """As before, with one of them."""
        for cluster in self._flying()[:1]:
            self._say(cluster, "Unknown")
            self._leave(cluster)

    def do_lose_failed(self) -> None:
        """Contact with clusters that have failed is lost, then they are taken out of the fleet."""
        for cluster in self._failed()[:1]:
            self._say(cluster, "Unknown")
            self._leave(cluster)

    def do_skip_lost(self) -> None:
        """Somebody waives what was lost."""
        self.editor.edit(notes={names.SKIP: ",".join(self._left)})

    def do_some_leave(self) -> None:
        """Clusters leave the selection; those of before stay away."""
        there = [c for c in self.setting.clusters if c not in self._left]
        chosen = self.dice.sample(there, min(len(there), self.dice.randrange(4, 9)))
        if not self.setting.foreign:
            for cluster in chosen:
                self._leave(cluster)
            return
        self._left += chosen
        for ref, decider in self.deciders.items():
            decider.decide(self._grouped(ref, without=self._left), self._now(), 0)

    def do_canaries_leave(self) -> None:
        """All clusters of the mandatory group are taken out of the fleet."""
        for cluster in self.setting.clusters:
            if self.setting.rings[cluster] == "canary":
                self._leave(cluster)

    def do_leave_first(self) -> None:
        """Clusters leave the first placement while the other writer is busy with the second."""
        gone = self._some(4)
        for ref, decider in self.deciders.items():
            without = gone if ref == self.setting.refs[0] else None
            decider.decide(self._grouped(ref, without), self._now(), 0 if without else 14)

    def do_cluster_back(self) -> None:
        for cluster in self.setting.clusters:
            if not self._is_there(Ref(MANAGED_CLUSTER, cluster)):
                self._join(cluster, self.setting.rings[cluster])
                self._regroup(0)
                return

    def do_cluster_new(self) -> None:
        self._added += 1
        name = f"c9{self._added}"
        self._join(name, self.dice.choice(("canary", "rest")))
        self._regroup(0)

    def do_regroup(self) -> None:
        """Clusters change their ring."""
        for cluster in self._some(3):
            ring = self.dice.choice(("canary", "early", "rest"))
            self.hub.patch(Ref(MANAGED_CLUSTER, cluster), {"metadata": {"labels": {"ring": ring}}})
        self._regroup(self.dice.choice((0, 2, 8)))

    def do_torn(self) -> None:
        """The other writer takes its time over a change that drops clusters only for a moment."""
        for ref, decider in self.deciders.items():
            decider.decide(self._grouped(ref, without=self._some(2)), self._now(), 6)
            back = timedelta(seconds=self.dice.choice((9, 10.4, 11, 12)))
            self._later(back, partial(self._decide, decider, ref, 3))

    def do_edit_placement(self) -> None:
        """The placement's spec leaves a ring out."""
        key = f"{objects.NAMESPACE}/{self.setting.refs[0]}"
        changes = {"spec": {"predicates": objects.leaves_out("canary")}}
        self.hub.patch(Ref(PLACEMENT, key), changes)

    def do_placement_deleted(self) -> None:
        ref = self.dice.choice(self.setting.refs)
        self.hub.delete(Ref(PLACEMENT, f"{objects.NAMESPACE}/{ref}"))
        self._soon(lambda: self._place(ref))

    def do_overlap(self) -> None:
        """The order of the placements changes, so that others own the clusters they share."""
        self.editor.overlap()

    def do_nobody(self) -> None:
        """All clusters leave the selection for a while."""
        self._empty(list(self.setting.clusters))

    def do_many_leave(self) -> None:
        self._empty(self._some(max(len(self.setting.clusters) * 2 // 3, 1)))

    # -- bad luck --------------------------------------------------------------------------------

    def do_refuse(self) -> None:
        """An admission webhook refuses writes to some clusters for a while."""
        chosen = set(self._some(2))
        self.refusing |= chosen
        self._soon(lambda: self.refusing.difference_update(chosen))

    def do_lose_record(self) -> None:
        for obj in self.hub.list(ROLLOUT_RECORD).items:
            self.hub.delete(ref_of(ROLLOUT_RECORD, obj))

    # -- how -------------------------------------------------------------------------------------

    def _soon(self, what: Callable[[], None]) -> None:
        self._later(timedelta(seconds=self.dice.randrange(5, 240)), what)

    def _some(self, most: int) -> list[str]:
        count = min(len(self.setting.clusters), self.dice.randrange(1, most + 1))
        return sorted(self.dice.sample(self.setting.clusters, count))

    def _is_there(self, ref: Ref) -> bool:
        try:
            self.hub.get(ref)
        except Gone:
            return False
        return True

    def _join(self, name: str, ring: str) -> None:
        ref = Ref(MANAGED_CLUSTER, name)
        if not self._is_there(ref):
            self.hub.create(ref, objects.cluster(name, ring))
        self._say(name, "True")

    def _say(self, name: str, status: str) -> None:
        if self._is_there(Ref(MANAGED_CLUSTER, name)):
            said = objects.availability(status, self._now())
            self.hub.patch_status(Ref(MANAGED_CLUSTER, name), said)

    def _down(self, clusters: list[str]) -> None:
        for cluster in clusters:
            self._say(cluster, "Unknown")
            self._soon(partial(self._say, cluster, "True"))

    def _leave(self, cluster: str) -> None:
        ref = Ref(MANAGED_CLUSTER, cluster)
        if self._is_there(ref):
            self.hub.delete(ref)
            self._left.append(cluster)
        self._regroup(0)

    def _place(self, ref: str) -> None:
        target = Ref(PLACEMENT, f"{objects.NAMESPACE}/{ref}")
        if not self._is_there(target):
            self.hub.create(target, self._placement(ref))
        if ref in self.deciders:
            pause = self.dice.choice((0, 2, 6))
            self._decide(self.deciders[ref], ref, pause)

    def _placement(self, ref: str) -> Obj:
        without = "early" if len(self.setting.refs) > 1 and ref == "p" else ""
        return objects.placement(ref, self.setting.foreign, self.setting.group_size, without)

    def _regroup(self, pause: float) -> None:
        for ref, decider in self.deciders.items():
            self._decide(decider, ref, pause)

    def _decide(self, decider: Decider, ref: str, pause: float) -> None:
        decider.decide(self._grouped(ref), self._now(), pause)

    def _grouped(self, ref: str, without: list[str] | None = None) -> Groups:
        """What the other writer decides: rings as groups, the rest in chunks, a gap in the index."""
        rings: dict[str, list[str]] = {"canary": [], "early": [], "rest": []}
        for obj in self.hub.list(MANAGED_CLUSTER).items:
            name = obj["metadata"]["name"]
            if name not in (without or ()):
                rings[obj["metadata"]["labels"]["ring"]].append(name)
        groups: Groups = {}
        for index, ring in enumerate(("canary", "early")):
            if rings[ring] and not (ring == "early" and ref == "p" and "q" in self.deciders):
                groups[index, ring] = rings[ring]
        size = self.setting.group_size if isinstance(self.setting.group_size, int) else 100
        for nth in range(0, max(len(rings["rest"]), 1), size):
            groups[3 + nth // size, ""] = rings["rest"][nth : nth + size]
        if self.setting.twice:  # each group also names the last cluster of the one before it
            ordered = sorted(groups)
            for before, group in pairwise(ordered):
                groups[group] = [*groups[group], *groups[before][-1:]]
        return groups

    def _empty(self, clusters: list[str]) -> None:
        if self.setting.foreign:
            for ref, decider in self.deciders.items():
                decider.decide(self._grouped(ref, without=clusters), self._now(), 0)
            self._soon(lambda: self._regroup(0))
            return
        gone = {"name": "global", "namespace": objects.NAMESPACE}
        if len(clusters) == len(self.setting.clusters):
            binding = Ref(CLUSTER_SET_BINDING, f"{gone['namespace']}/global")
            body = {k: v for k, v in self.hub.get(binding).items() if k != "status"}
            body["metadata"] = gone
            self.hub.delete(binding)
            self._soon(partial(self._bind, binding, body))
            return
        for cluster in clusters:
            self._leave(cluster)

    def _bind(self, ref: Ref, body: Obj) -> None:
        if not self._is_there(ref):
            self.hub.create(ref, body)
