"""Random histories of clusters with values of their own, held against S22 to S24 by an oracle in plain Python.

Rules change, labels flap and go missing, two objects conflict, works drift, the process dies. The oracle
renders without CEL and knows nothing of how the engine does it.
"""

from collections import Counter
from datetime import timedelta
from random import Random

from rollout.model import names
from rollout.model.kinds import CLUSTER_VALUES, MANAGED_CLUSTER, MANIFEST_WORK, REPLICA_SET, Ref
from tests.safety.days import DAYS, BrokenPromise, run_days
from tests.support import make
from tests.support.story import Story

CLUSTERS = 6
TIERS = ("a", "b", None)
RULES = {
    "label": "current + '-' + cluster.labels['tier']",
    "other": "'x' + current + cluster.labels['tier']",
    "same for b": "cluster.labels['tier'] == 'b' ? current + '-b' : current + '+a'",
    "all": "current + '!'",
    "current": "current",
}
CONFLICT = "'other'"
STEADY = ("c00", "c02", "c04")
QUIET = timedelta(seconds=60)


class ValuesDay:
    """One history."""

    steps = 8

    def __init__(self, seed: int, counts: Counter[str]) -> None:

        self.dice, self.counts = Random(seed), counts
        self.tiers = {f"c{n:02}": self.dice.choice(TIERS) for n in range(CLUSTERS)}
        self.tiers |= dict.fromkeys(STEADY, "a")  # so that in each group somebody can be rendered
        self.rule, self.version, self.conflicts = "label", 1, False
        self.carried: dict[str, str] = {}
        self.drifted: set[str] = set()
        self.since: dict[str, timedelta] = {}
        fleet = make.fleet(CLUSTERS, one=2, two=2)
        for obj in fleet:
            if obj["kind"] == "ManagedCluster" and self.tiers[obj["metadata"]["name"]]:
                obj["metadata"]["labels"]["tier"] = self.tiers[obj["metadata"]["name"]]
        limit = self.dice.choice([1, 2, "50%"])
        by_group = self.dice.random() < 0.5
        strategy = make.per_group() if by_group else make.progressive(maxConcurrency=limit)
        self.story = Story([*fleet, self._object("tiers"), make.workload(strategy=strategy)])
        self.seen = 0

    # -- the oracle ------------------------------------------------------------------------------

    def due(self, cluster: str) -> str | None:
        """What the cluster is to carry; None where nobody can tell."""
        tier, current = self.tiers[cluster], str(self.version)
        match self.rule:
            case "label":
                found = None if tier is None else f"{current}-{tier}"
            case "other":
                found = None if tier is None else f"x{current}{tier}"
            case "same for b":
                found = None if tier is None else current + ("-b" if tier == "b" else "+a")
            case "all":
                found = current + "!"
            case _:
                found = current
        if self.conflicts and tier == "b":
            return None
        return found

    def look(self) -> None:
        """Hold all writes since the last look against the promises."""
        for line in self.story.lines[self.seen :]:
            due, before = self.due(line.cluster), self.carried.get(line.cluster)
            if line.cluster in self.drifted:
                self.drifted.discard(line.cluster)
                if line.version == before:
                    continue  # put right
            if line.version != due:
                raise BrokenPromise(f"S22: {line.cluster} gets {line.version!r}, not {due!r}")
            waited = line.after - self.since.get(line.cluster, line.after - QUIET)
            if before is not None and waited < QUIET:
                raise BrokenPromise(
                    f"S22: {line.cluster} gets {due!r} {waited} after its label changed"
                )
            self.counts["touched"] += 1
            self.carried[line.cluster] = line.version
        self.seen = len(self.story.lines)

    def rest(self) -> None:
        """Nothing happens any more: everybody has what is due, and nobody waits for others."""
        self.story.end()
        self.look()
        for cluster in self.tiers:
            due = self.due(cluster)
            has = self.story.versions().get(cluster)
            self.counts["held"] += due is None
            if has != (self.carried.get(cluster) if due is None else due):
                raise BrokenPromise(f"S23: {cluster} has {has!r} in the end, and {due!r} is due")
        whole = all(self.due(c) is not None for c in self.tiers)
        if (self.story.reason == "Complete") is not whole:
            raise BrokenPromise(f"S23: {self.story.reason}: {self.story.message}")

    # -- what happens ----------------------------------------------------------------------------

    def begin(self) -> None:
        self.story.settle()
        self.look()

    def happen(self) -> None:
        act = self.dice.choice(
            [
                self.relabel,
                self.relabel,
                self.change_rule,
                self.change_template,
                self.undo,
                self.undo,
                self.quarrel,
                self.restart,
                self.drift,
            ]
        )
        act()
        self.counts[act.__name__] += 1
        self.story.settle()
        self.look()
        for _ in range(self.dice.randrange(4)):
            self.story.on(timedelta(seconds=self.dice.choice([1, 10, 30, 61])))
            self.look()

    def relabel(self) -> None:

        cluster = self.dice.choice(sorted(self.tiers.keys() - set(STEADY)))
        tier = self.dice.choice(TIERS)
        before = self.due(cluster)
        self.tiers[cluster] = tier
        if self.due(cluster) != before:
            self.since[cluster] = self.story.now
        self.story.hub.patch(
            Ref(MANAGED_CLUSTER, cluster), {"metadata": {"labels": {"tier": tier}}}
        )

    def change_rule(self) -> None:
        self._rule(self.dice.choice(sorted(RULES)))

    def _rule(self, name: str) -> None:

        if name != self.rule:
            self.since.clear()  # a new revision waits for no label
        self.rule = name
        spec = self._object("tiers")["spec"]
        self.story.hub.patch(Ref(CLUSTER_VALUES, "default/tiers"), {"spec": spec})

    def change_template(self) -> None:

        self.version += 1
        self.since.clear()
        self.story.template(make.template(str(self.version)))

    def undo(self) -> None:
        """A rule changes and is taken back: who was not touched for it is not touched by that either."""

        self.rest()
        if self.conflicts or any(self.due(c) is None for c in self.tiers):
            return
        before = dict(self.carried)
        self._rule(self.dice.choice(sorted(RULES.keys() - {self.rule})))
        self.story.end()
        self.look()
        touched = {c for c in before if self.carried[c] != before[c]}
        workload = self.story.engine.fleet.rollout(Ref(REPLICA_SET, "default/web"))
        assert workload is not None
        self.story.annotate(names.UNDO, workload.revisions[0])
        start = len(self.story.lines)
        self.story.end()
        back = {line.cluster for line in self.story.lines[start:]}
        if back - touched:
            raise BrokenPromise(
                f"S24: {sorted(back - touched)} are taken back, and were never touched"
            )
        if {c: v for c, v in self.story.versions().items() if c in touched} != {
            c: before[c] for c in touched
        }:
            raise BrokenPromise("S24: they do not have again what soaked there")
        self.counts["taken back"] += len(touched)
        self.carried, self.seen = before, len(self.story.lines)
        self.change_template()

    def quarrel(self) -> None:
        """A second object sets the same field of the clusters of one tier, or does so no more."""

        self.since.clear()
        self.conflicts = not self.conflicts
        if self.conflicts:
            self.story.add(self._object("zulu"))
        else:
            self.story.hub.delete(Ref(CLUSTER_VALUES, "default/zulu"))

    def restart(self) -> None:
        self.story.restart()
        self.since.clear()  # how long a label has stood, a new process does not know

    def drift(self) -> None:

        works = self.story.works()
        if not works:
            return
        cluster = self.dice.choice(sorted(works))
        manifest = {
            **works[cluster]["spec"]["workload"]["manifests"][0],
            "data": {"version": "drift"},
        }
        ref = Ref(MANIFEST_WORK, f"{cluster}/{works[cluster]['metadata']['name']}")
        self.story.hub.patch(ref, {"spec": {"workload": {"manifests": [manifest]}}})
        self.seen += 1
        self.drifted.add(cluster)

    def _object(self, name: str) -> dict[str, object]:
        rule: dict[str, object] = {
            "set": [
                {
                    "target": {"kind": "ConfigMap"},
                    "path": "/data/version",
                    "value": RULES[self.rule] if name == "tiers" else CONFLICT,
                }
            ]
        }
        if name != "tiers":
            rule["clusters"] = {"labelSelector": {"matchLabels": {"tier": "b"}}}
        return {
            "apiVersion": "rollout-engine.io/v1alpha1",
            "kind": "ClusterValues",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"workload": {"name": "web"}, "rules": [rule]},
        }


def check(seeds: range = DAYS) -> Counter[str]:
    """Run a history for each seed. Raises: BrokenPromise, with the seed."""
    return run_days(ValuesDay, seeds, ValuesDay.steps)
