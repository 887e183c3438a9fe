"""Random histories of clusters with values of their own, held against S22 to S24.

Rules change, break and go, labels, claims and versions flap and go missing, two objects conflict, works
drift, the process dies; in some of them OCM's rules decide. What is due says `tests.safety.values_due`,
which knows nothing of how the engine does it.
"""

import json
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

from rollout.model import names
from rollout.model.kinds import CLUSTER_VALUES, MANAGED_CLUSTER, MANIFEST_WORK, REPLICA_SET, Ref
from tests.safety.days import DAYS, BrokenPromise, one_day, run_days
from tests.safety.values_due import (
    FLAGS,
    RULES,
    SELECTORS,
    TWINS,
    Asked,
    Member,
    conflicting,
    text_of,
)
from tests.support import make
from tests.support.story import Story

CLUSTERS = 6
TIERS = ("a", "b", None)
ZONES = ("z1", "z2", None)
STEADY = ("c00", "c02", "c04")
QUIET = timedelta(seconds=60)
DRIFT = text_of({"data": {"version": "drift"}})


class ValuesDay:
    """One history."""

    steps = 9

    def __init__(self, seed: int, counts: Counter[str]) -> None:
        self.dice, self.counts = Random(seed), counts
        members = {
            f"c{n:02}": Member(self.dice.choice(TIERS), self.dice.choice(ZONES))
            for n in range(CLUSTERS)
        }
        members |= {
            name: Member("a") for name in STEADY
        }  # so that somebody in each group is rendered
        self.asked = Asked(
            members,
            selector=self.dice.choice(sorted(SELECTORS)),
            has_zone=self.dice.random() < 0.5,
            flag=self.dice.choice(FLAGS),
        )
        self.carried: dict[str, str] = {}
        self.drifted: set[str] = set()
        self.since: dict[str, timedelta] = {}
        self.then: dict[str, Member] = {}  # when the rules were broken
        self.is_blind = False  # a process that began while no rule could be followed
        self.is_ocm = self.dice.random() < 0.25
        self.seen = 0
        fleet = make.fleet(CLUSTERS, one=2, two=2)
        for obj in fleet:
            if obj["kind"] == "ManagedCluster":
                member = members[obj["metadata"]["name"]]
                obj["metadata"]["labels"] |= {"tier": member.tier} if member.tier else {}
                obj["status"] |= self._status(member)
        limit = self.dice.choice([1, 2, "50%"])
        by_group = self.dice.random() < 0.5
        strategy = make.per_group() if by_group else make.progressive(maxConcurrency=limit)
        notes = {names.SEMANTICS: "ocm"} if self.is_ocm else {}
        workload = make.workload(strategy=strategy, annotations=notes)
        self.story = Story([*fleet, self._object("tiers", self.asked.rules()), workload])

    # -- the oracle ------------------------------------------------------------------------------

    def due(self, cluster: str) -> str | None:
        return self.asked.due(cluster)

    def look(self) -> None:
        """Hold all writes since the last look against the promises."""
        lines = self.story.lines[self.seen :]
        works = self.story.works() if lines else {}
        for line in lines:
            name = line.cluster
            has, due, before = self._has(works[name]), self.due(name), self.carried.get(name)
            if name in self.drifted:
                self.drifted.discard(name)
                if has == before:
                    continue  # put right
            if self.asked.is_broken:
                raise BrokenPromise(f"S22: {name} gets {has} while no rule can be followed")
            if has != due or line.version != json.loads(due)["data"]["version"]:
                raise BrokenPromise(f"S22: {name} gets {line.version!r}, {has}, not {due}")
            waited = line.after - self.since.get(name, line.after - QUIET)
            if before is not None and waited < QUIET:
                raise BrokenPromise(f"S22: {name} gets {due} {waited} after it changed")
            self.counts["touched"] += 1
            self.counts["waited"] += name in self.since
            self.carried[name] = has
        self.seen = len(self.story.lines)

    @staticmethod
    def _has(work: dict[str, Any]) -> str:
        return text_of(work["spec"]["workload"]["manifests"][0])

    def rest(self) -> None:
        """Nothing happens any more: everybody has what is due, and nobody waits for others."""
        if self.asked.is_broken:
            self.story.on(
                timedelta(hours=1)
            )  # what is in flight is watched for ever, and not judged
        else:
            self.story.end()
        self.look()
        works = self.story.works()
        for name in self.asked.members:
            due = None if self.asked.is_broken else self.due(name)
            self.counts["held"] += due is None
            if due is None:  # OCM's rules put right what they may bring there, and nothing else
                due = DRIFT if self.is_ocm and name in self.drifted else self.carried.get(name)
            has = self._has(works[name]) if name in works else None
            if has != due:
                raise BrokenPromise(f"S23: {name} has {has} in the end, and {due} is due")
        whole = all(self.due(c) is not None for c in self.asked.members)
        reason = self.story.reason
        if self.asked.is_broken:
            is_right = reason == "Misconfigured"
        else:
            is_right = (reason == "Complete") is whole
        if not is_right:
            raise BrokenPromise(f"S23: {reason}: {self.story.message}")

    # -- what happens ----------------------------------------------------------------------------

    def begin(self) -> None:
        self.story.settle()
        self.look()

    def happen(self) -> None:
        if self.asked.is_broken and self.dice.random() < 0.5:
            self.break_rules()
            self.story.settle()
            self.look()
        act = self.dice.choice(
            [
                self.relabel,
                self.relabel,
                self.reclaim,
                self.upgrade,
                self.change_rule,
                self.change_rule,
                self.change_both,
                self.change_template,
                self.break_rules,
                self.delete,
                self.undo,
                self.undo,
                self.quarrel,
                self.restart,
                self.drift,
            ]
        )
        act()
        self.counts[act.__name__] += 1
        self.counts["as OCM"] += self.is_ocm
        self.counts["half"] += any(map(self.asked.is_half, self.asked.members))
        self.story.settle()
        self.look()
        for _ in range(self.dice.randrange(4)):
            self.story.on(timedelta(seconds=self.dice.choice([1, 10, 30, 61])))
            self.look()

    def relabel(self) -> None:
        self._alter(self._anybody(), tier=self.dice.choice(TIERS))

    def reclaim(self) -> None:
        self._alter(self._anybody(), zone=self.dice.choice(ZONES))

    def upgrade(self) -> None:
        """One cluster goes from one version to the other, or two do."""
        some = sorted(self.asked.members.keys() - set(STEADY))
        for name in self.dice.sample(some, self.dice.choice((1, 2))):
            was = self.asked.members[name].version
            self._alter(name, version="v1" if was == "v2" else "v2")

    def _anybody(self) -> str:
        return self.dice.choice(sorted(self.asked.members.keys() - set(STEADY)))

    def _alter(self, name: str, **change: Any) -> None:
        """Change what rules may read of a cluster."""
        before, member = self.due(name), self.asked.members[name]
        for key, value in change.items():
            setattr(member, key, value)
        if self.due(name) != before:
            self.since[name] = self.story.now
        ref = Ref(MANAGED_CLUSTER, name)
        if "tier" in change:
            self.story.hub.patch(ref, {"metadata": {"labels": {"tier": member.tier}}})
        self.story.hub.patch_status(ref, {"status": self._status(member)})

    @staticmethod
    def _status(member: Member) -> dict[str, Any]:
        claims = [{"name": "zone", "value": member.zone}] if member.zone else []
        return {"clusterClaims": claims, "version": {"kubernetes": member.version}}

    def change_rule(self) -> None:
        asked = self.asked
        match self.dice.randrange(7):
            case 0:
                asked.has_zone = not asked.has_zone
            case 1:
                asked.flag = self.dice.choice(FLAGS)
            case 2 | 3:
                asked.flag = TWINS.get(repr(asked.flag), 1)
            case 4:
                asked.selector = self.dice.choice(sorted(SELECTORS))
            case _:
                asked.rule = self.dice.choice(sorted(RULES))
        self._write_rules()

    def change_both(self) -> None:
        """A label and a rule change in the same moment, or the rule soon after: what comes of the label waits."""
        rule = self.dice.choice(sorted(RULES))
        was = {name: replace(member) for name, member in self.asked.members.items()}
        if self.asked.template % 2 == 0:
            self.asked.rule = rule
            self.relabel()
        else:
            self.asked.rule = "all"  # which reads no label
            self._write_rules()
            self.story.on(QUIET)
            self.look()
            then = self.story.now
            self.relabel()
            self.story.on(QUIET / 3)
            self.look()
            self.asked.rule = rule
            before = Asked(**{**vars(self.asked), "members": was})
            read_late = {c for c in was if before.due(c) != self.due(c)}
            self.since |= dict.fromkeys(read_late, then)
            self.counts["read late"] += len(read_late)
        self._write_rules()

    def _write_rules(self) -> None:
        if not self.asked.is_gone:
            spec = self._object("tiers", self.asked.rules())["spec"]
            ref = Ref(CLUSTER_VALUES, "default/tiers")
            self.story.hub.replace(ref, {**self.story.hub.get(ref), "spec": spec})

    def break_rules(self) -> None:
        """The rules are no CEL any more, or are mended."""
        if self.asked.is_gone:
            return
        asked, now = self.asked, {c: self.due(c) for c in self.asked.members}
        asked.is_broken = not asked.is_broken
        if asked.is_broken:
            self.then = {name: replace(member) for name, member in asked.members.items()}
        else:  # nobody looked at labels meanwhile, only how they are in the end
            before = Asked(**{**vars(asked), "members": self.then})
            came_back = {c for c in now if before.due(c) == now[c]}
            self.since = {c: at for c, at in self.since.items() if c not in came_back}
        if self.is_blind and not asked.is_broken:
            self.since.clear()  # how long a label has stood, that process never knew
            self.is_blind = False
        self._write_rules()

    def delete(self) -> None:
        """The rules go, or come back."""
        self.since.clear()  # what comes of labels is asked for no more, or for the first time
        self.asked.is_broken = self.is_blind = False
        self.asked.is_gone = not self.asked.is_gone
        if self.asked.is_gone:
            self.story.hub.delete(Ref(CLUSTER_VALUES, "default/tiers"))
        else:
            self.story.add(self._object("tiers", self.asked.rules()))

    def change_template(self) -> None:
        self.asked.template += 1
        self.story.template(make.template(str(self.asked.template)))

    def undo(self) -> None:
        """A rule changes and is taken back: who was not touched for it is not touched by that either."""
        self.rest()
        asked = self.asked
        if self.is_ocm or asked.is_broken or asked.is_gone or asked.conflicts:
            return
        for name in [c for c in sorted(asked.members) if self.due(c) is None]:
            self._alter(name, tier="b", zone="z1")  # so that everybody has something to go back to
        self.rest()
        before = dict(self.carried)
        asked.rule = self.dice.choice(sorted(RULES.keys() - {asked.rule}))
        self._write_rules()
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
        works = self.story.works()
        if any(self._has(works[c]) != before[c] for c in touched):
            raise BrokenPromise("S24: they do not have again what soaked there")
        self.counts["taken back"] += len(touched)
        self.carried, self.seen = before, len(self.story.lines)
        self.change_template()

    def quarrel(self) -> None:
        """A second object sets the same field of the clusters of one tier, or does so no more."""
        if self.asked.is_gone:
            self.since.clear()  # as in `delete`
        self.asked.conflicts = not self.asked.conflicts
        if self.asked.conflicts:
            self.story.add(self._object("zulu", conflicting()))
        else:
            self.story.hub.delete(Ref(CLUSTER_VALUES, "default/zulu"))

    def restart(self) -> None:
        self.story.restart()
        self.since.clear()  # how long a label has stood, a new process does not know
        self.is_blind = self.asked.is_broken

    def drift(self) -> None:
        works = self.story.works()
        if not works:
            return
        name = self.dice.choice(sorted(works))
        manifest = {**works[name]["spec"]["workload"]["manifests"][0], **json.loads(DRIFT)}
        manifest.pop("spec", None)
        ref = Ref(MANIFEST_WORK, f"{name}/{works[name]['metadata']['name']}")
        self.story.hub.patch(ref, {"spec": {"workload": {"manifests": [manifest]}}})
        self.seen = len(self.story.lines)
        self.drifted.add(name)

    @staticmethod
    def _object(name: str, rule: dict[str, Any]) -> dict[str, Any]:
        return {
            "apiVersion": "rollout-engine.io/v1alpha1",
            "kind": "ClusterValues",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"workload": {"name": "web"}, "rules": [rule]},
        }


def check(seeds: range = DAYS) -> Counter[str]:
    """Run a history for each seed. Raises: BrokenPromise, with the command that runs it again."""
    return run_days(ValuesDay, seeds, ValuesDay.steps)


if __name__ == "__main__":
    one_day(check)
