"""Compares the writes of this engine with those of an older checkout, on the same random histories.

    python -m tests.differential.engines --old ../older --histories 1000 [--kind addon]

Each history runs in both checkouts, each with its own engine, hub, agents and virtual clock. What is
compared are the writes of ManifestWorks' specs (of what add-ons are told to apply): instant, cluster,
content, in their order. Of a history that differs, events are left out one by one for as long as it still
differs: what is left says what the difference is about. Differences that are meant are listed in
docs/adr/0041-same-writes.md.
"""

import argparse
import importlib
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

EVENTS: dict[str, dict[str, int]] = {
    "replicaset": {
        "template": 6,
        "strategy": 2,
        "pause": 2,
        "resume": 2,
        "skip": 1,
        "hold": 1,
        "abort": 1,
        "undo": 1,
        "retry": 2,
        "join": 2,
        "leave": 1,
        "lose": 1,
        "drift": 1,
        "delete": 1,
        "restart": 1,
        "rollback": 1,
    },
    "addon": {
        "template": 6,
        "strategy": 2,
        "retry": 1,
        "pause": 1,
        "resume": 1,
        "skip": 1,
        "hold": 1,
        "restart": 1,
        "drift": 1,
    },
}
"""What can happen, and how often beside the others."""


def drawn(kind: str, seed: int) -> dict[str, Any]:
    """A history: a fleet, a strategy, agents, and events at instants (seconds)."""
    dice = random.Random(f"{kind}/{seed}")
    clusters = dice.randint(2, 9)
    canaries = dice.choice([0, 0, 1, 2]) if clusters > 3 else 0
    weights = EVENTS[kind]
    names = dice.choices(list(weights), list(weights.values()), k=dice.randint(2, 8))
    at = sorted(dice.randint(0, 5400) for _ in names)
    return {
        "clusters": clusters,
        "canaries": canaries,
        "strategy": _strategy(dice, canaries),
        "fails": [
            [dice.randint(1, 5), dice.randint(0, clusters)] for _ in range(dice.randint(0, 3))
        ],
        "events": [
            [when, name, dice.randint(0, clusters - 1), _strategy(dice, canaries)]
            for when, name in zip(at, names, strict=True)
        ],
    }


def _strategy(dice: random.Random, canaries: int) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if dice.random() < 0.7:
        options["minSuccessTime"] = dice.choice(["1m", "5m", "20m"])
    if dice.random() < 0.7:
        options["progressDeadline"] = dice.choice(["2m", "10m", "1h"])
    if dice.random() < 0.5:
        options["maxFailures"] = dice.choice([0, 1, 2, "30%"])
    shape = dice.choice(["All", "Progressive", "Progressive", "ProgressivePerGroup"])
    if shape == "Progressive" and dice.random() < 0.8:
        options["maxConcurrency"] = dice.choice([1, 2, "50%"])
    if shape != "All" and canaries and dice.random() < 0.6:
        options["mandatoryDecisionGroups"] = [{"groupName": "canary"}]
    if shape == "All":
        options.pop("maxFailures", None)
    return {"type": shape, shape[0].lower() + shape[1:]: options}


# -- in a checkout ---------------------------------------------------------------------------------


def serve() -> None:
    """Answers histories with the writes of this checkout's engine, a line of JSON each."""
    for line in sys.stdin:
        asked = json.loads(line)
        play = Works if asked["kind"] == "replicaset" else Addons
        try:
            writes: object = play(asked).written()
        except Exception as error:  # noqa: BLE001  (told as the answer)
            writes = [f"{type(error).__name__}: {error}"]
        print(json.dumps(writes), flush=True)


def _the_first(*modules: str) -> Any:
    """The test helpers of this checkout: they have moved."""
    for name in modules[:-1]:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return importlib.import_module(modules[-1])


class Works:
    """A history of a ManifestWorkReplicaSet."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self._asked = asked
        self._make = _the_first("tests.support.make", "tests.make")
        self._names = importlib.import_module("rollout.model.names")
        self._kinds = importlib.import_module("rollout.model.kinds")
        groups = {"canary": asked["canaries"]} if asked["canaries"] else {}
        fails = [
            {
                "clusters": {"names": [f"c{cluster:02}"]},
                "manifests": {"path": "data.version", "equals": str(version)},
                "behaviour": {"outcome": "fail"},
            }
            for version, cluster in asked["fails"]
        ]
        workload = self._make.workload(strategy=asked["strategy"])
        fleet = self._make.fleet(asked["clusters"], **groups)
        stories = _the_first("tests.sim.story", "tests.support.story")
        self._story = stories.Story([*fleet, workload], {"rules": fails})
        self._version, self._joined, self._token = 1, asked["clusters"], 0

    def written(self) -> list[Any]:
        """The writes of works' specs: seconds, change, cluster, version."""
        story = self._story
        for at, name, number, strategy in self._asked["events"]:
            story.to(timedelta(seconds=at))
            self._happen(name, f"c{number:02}", strategy)
        story.to(timedelta(hours=30))
        lines = story.lines
        return [
            [each.after.total_seconds(), each.change, each.cluster, each.version] for each in lines
        ]

    def _happen(self, name: str, cluster: str, strategy: Any) -> None:
        story, names = self._story, self._names
        if name == "template":
            self._version += 1
            story.template(self._make.template(str(self._version)))
        elif name == "strategy":
            story.strategy(strategy)
        elif name == "join":
            story.add(self._make.cluster(f"c{self._joined:02}", {self._make.GROUP: "rest"}))
            self._joined += 1
        elif name == "lose":
            story.lose(cluster)
        elif name == "restart":
            story.restart()
        elif name in ("leave", "drift", "delete"):
            self._harm(name, cluster)
        else:
            self._token += 1
            revision = str((story.mwrs().get("status") or {}).get("updateRevision", ""))
            key, text = {
                "pause": (names.PAUSED, "true"),
                "resume": (names.PAUSED, None),
                "skip": (names.SKIP, cluster),
                "hold": (names.HOLD, cluster),
                "abort": (names.ABORT, revision),
                "undo": (names.UNDO, revision),
                "retry": (names.RETRY, str(self._token)),
                "rollback": (names.ROLLBACK, "Automatic"),
            }[name]
            story.annotate(key, text)

    def _harm(self, name: str, cluster: str) -> None:
        hub, kinds = self._story.hub, self._kinds
        ref, work = kinds.Ref(kinds.MANAGED_CLUSTER, cluster), self._story.works().get(cluster)
        if name == "leave" and self._story.exists(ref):
            hub.delete(ref)
        elif name == "drift" and work is not None:
            spec = self._make.template("99")
            hub.patch(kinds.ref_of(kinds.MANIFEST_WORK, work), {"spec": spec})
        elif name == "delete" and work is not None:
            hub.delete(kinds.ref_of(kinds.MANIFEST_WORK, work))


class Addons:
    """A history of an add-on, whose placement's decisions somebody else writes."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self._asked, self._told = asked, list[Any]()
        self._addons = addons = _the_first("tests.support.addons", "tests.addons")
        self._names = importlib.import_module("rollout.model.names")
        self._kinds = importlib.import_module("rollout.model.kinds")
        self._clusters = [f"c{n:02}" for n in range(asked["clusters"])]
        self._ill = {cluster for _, cluster in asked["fails"]}
        self._value, self._notes = 0, dict[str, Any]()
        canaries = asked["canaries"]
        groups = self._clusters[:canaries], self._clusters[canaries:]
        self._rig = addons.Rig([*addons.fleet(*self._clusters), addons.config("deploy")])
        self._rig.hub.watch(self._kinds.MANAGED_CLUSTER_ADDON, 0, self._hear)
        self._rig.decide(*(group for group in groups if group))
        self._rig.later(timedelta(seconds=30))  # decisions of others count once they are still
        self._rig.add(addons.addon(placements=[self._installed(asked["strategy"])]))

    def _hear(self, event: Any) -> None:
        refs = (event.obj.get("status") or {}).get("configReferences") or []
        hashes = [each["desiredConfig"].get("specHash") for each in refs]
        cluster, after = event.ref.namespace, self._rig.clock.now() - self._addons.T0
        known = [each for each in self._told if each[1] == cluster]
        if hashes and (not known or known[-1][2] != hashes):
            self._told.append([after.total_seconds(), cluster, hashes])

    def _installed(self, strategy: Any) -> Any:
        return self._addons.installed_at("p", self._addons.refer("deploy"), strategy=strategy)

    def _agents(self) -> None:
        """They say of what is there now how it does."""
        for number, cluster in enumerate(self._clusters):
            works = self._rig.hub.list(self._kinds.MANIFEST_WORK, cluster).items
            if any(work["metadata"]["name"].startswith("addon-") for work in works):
                self._rig.works_do([cluster], degraded=number in self._ill)

    def written(self) -> list[Any]:
        """What add-ons are told to apply: seconds, cluster, hashes of configurations."""
        now = 0
        for at, name, number, strategy in self._asked["events"]:
            self._rig.later(timedelta(seconds=at - now))
            self._agents()
            now = at
            self._happen(name, at, self._clusters[number], strategy)
        for _ in range(6):
            self._rig.later(timedelta(minutes=10))
            self._agents()
        self._rig.later(timedelta(hours=30))
        return self._told

    def _happen(self, name: str, at: int, cluster: str, strategy: Any) -> None:
        rig, addons, names = self._rig, self._addons, self._names
        if name == "template":
            self._value += 1
            rig.set_config(f"v{self._value}", "deploy")
        elif name == "strategy":
            entries = [self._installed(strategy)]
            rig.set_addon(addons.addon(placements=entries, annotations=self._notes))
        elif name == "restart":
            rig.restart()
        elif name == "drift":
            ref = self._kinds.Ref(self._kinds.MANAGED_CLUSTER_ADDON, f"{cluster}/{addons.NAME}")
            rig.edit(ref, {"metadata": {"annotations": {"x": str(at)}}})
        else:
            key, text = {
                "pause": (names.PAUSED, "true"),
                "resume": (names.PAUSED, None),
                "skip": (names.SKIP, cluster),
                "hold": (names.HOLD, cluster),
                "retry": (names.RETRY, str(at)),
            }[name]
            self._notes[key] = text
            rig.edit(addons.CMA, {"metadata": {"annotations": {key: text}}})


# -- both ------------------------------------------------------------------------------------------


class Side:
    """One checkout's engine, in a process of its own."""

    def __init__(self, folder: Path) -> None:
        program = f"import runpy; runpy.run_path({str(Path(__file__).resolve())!r})['serve']()"
        self._process = subprocess.Popen(
            [sys.executable, "-c", f"import sys; sys.path.insert(0, '.'); {program}"],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def writes(self, kind: str, history: dict[str, Any]) -> list[Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"kind": kind, **history}) + "\n")
        self._process.stdin.flush()
        found: list[Any] = json.loads(self._process.stdout.readline())
        return found

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


def smallest(old: Side, new: Side, kind: str, history: dict[str, Any]) -> dict[str, Any]:
    """The history without the events that the difference does not need."""
    at = 0
    while at < len(history["events"]):
        events = history["events"][:at] + history["events"][at + 1 :]
        tried = {**history, "events": events}
        if old.writes(kind, tried) != new.writes(kind, tried):
            history = tried
        else:
            at += 1
    return history


def differing(
    old: Side, new: Side, kind: str, seeds: range
) -> Iterator[tuple[int, dict[str, Any], list[Any], list[Any]]]:
    for seed in seeds:
        history = drawn(kind, seed)
        if old.writes(kind, history) != new.writes(kind, history):
            history = smallest(old, new, kind, history)
            yield seed, history, old.writes(kind, history), new.writes(kind, history)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--old", type=Path, required=True, help="the older checkout")
    parser.add_argument("--histories", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=list(EVENTS), action="append")
    asked = parser.parse_args()
    old, new = Side(asked.old), Side(Path(__file__).resolve().parents[2])
    seeds = range(asked.seed, asked.seed + asked.histories)
    for kind in asked.kind or EVENTS:
        about: Counter[str] = Counter()
        for seed, history, before, after in differing(old, new, kind, seeds):
            what = " ".join(event[1] for event in history["events"]) or "nothing happens"
            about[what] += 1
            first = next(
                n
                for n, pair in enumerate(zip([*before, None], [*after, None], strict=False))
                if pair[0] != pair[1]
            )
            print(f"{kind} {seed}: {what}\n  {json.dumps(history)}")
            print(
                f"  old {before[first : first + 3]}\n  new {after[first : first + 3]}", flush=True
            )
        print(f"{kind}: {sum(about.values())} of {len(seeds)} histories differ")
        for what, count in about.most_common():
            print(f"  {count:4} {what}")
    old.close()
    new.close()


if __name__ == "__main__":
    main()
