"""A virtual run on a state file that dies where it is told to. Also a program: see `main`.

What is on the file after a kill is all that the next process knows.
"""

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rollout.clock import VirtualClock
from rollout.fleet.watched import WATCHED
from rollout.hub.admission import admit
from rollout.hub.base import StateKey
from rollout.hub.sqlite import SqliteHub
from rollout.model.events import Event
from rollout.model.instants import parse_instant
from rollout.model.kinds import KINDS, Obj, ref_of
from rollout.sim.local import LocalRun
from rollout.sim.scenario import Scenario
from tests.support import make

T0 = datetime(2026, 1, 1, tzinfo=UTC)


class KilledError(BaseException):
    """The process is gone: nobody catches it."""


class MortalHub(SqliteHub):
    """Dies with its ``last`` batch: after the commit, or before it (then nothing of it remains)."""

    commits = 0
    last: int | None = None
    before = False
    by_signal = False

    def batch(self) -> AbstractContextManager[None]:
        return super().batch() if self._in_batch else self._counted()

    @contextmanager
    def _counted(self) -> Iterator[None]:
        with super().batch():
            yield
            if self.before:
                self._count()
        if not self.before:
            self._count()

    def _count(self) -> None:
        self.commits += 1
        if self.commits == self.last:
            if self.by_signal:
                os.kill(os.getpid(), signal.SIGKILL)
            raise KilledError


def documents() -> list[Obj]:
    strategy = make.progressive(
        mandatory=["canary"],
        maxConcurrency=3,
        minSuccessTime="1m",
        progressDeadline="3m",
        maxFailures=2,
    )
    return [*make.fleet(12, canary=2), make.workload(strategy=strategy)]


def day() -> Scenario:
    """Agents of all sorts, and a new template midway."""
    changed = make.template("2")
    rules: list[dict[str, Any]] = [
        {
            "clusters": {"names": ["c03"]},
            "behaviour": {"outcome": "fail", "recoverAfter": "40s"},
        },
        {
            "clusters": {"names": ["c05"]},
            "behaviour": {"flapping": {"period": "20s", "count": 1}},
        },
        {"clusters": {"names": ["c07"]}, "behaviour": {"outcome": "silent"}},
        {
            "clusters": {"names": ["c08"]},
            "behaviour": {"offline": [{"from": "3m", "to": "5m"}], "availability": "Unknown"},
        },
    ]
    delays = {
        "applyAfter": {"min": "1s", "max": "9s"},
        "readyAfter": {"mean": "25s", "sigma": "10s", "min": "5s"},
    }
    patch = {"spec": {"manifestWorkTemplate": changed}}
    target = {"kind": "ManifestWorkReplicaSet", "namespace": "default", "name": "web"}
    events = [
        {"at": "150s", "patch": {**target, "patch": patch}},
        {"at": "4m", "deleteClusters": {"names": ["c09"]}},
    ]
    spec = {"seed": 5, "defaults": delays, "rules": rules, "fleetEvents": events}
    return Scenario.model_validate({"spec": spec})


def new_file(path: Path) -> None:
    hub = SqliteHub(path, VirtualClock(T0), admit=admit)
    for document in documents():
        ref = ref_of(KINDS[document["kind"]], document)
        hub.create(ref, document)
        if document.get("status"):
            hub.patch_status(ref, {"status": document["status"]})
    hub.close()


def run(path: Path, last: int | None = None, *, before: bool = False, signal: bool = False) -> int:
    """Run on the file, to the end or the ``last`` commit. Returns how many commits there were."""
    clock = VirtualClock(T0)
    hub = MortalHub(path, clock, runner=True, admit=admit)
    hub.last, hub.before, hub.by_signal = last, before, signal
    kept = hub.get_state(StateKey.CLOCK)
    since = parse_instant(kept.decode()) if kept else None
    if since is not None:
        clock.advance(since - T0)
    try:
        LocalRun(hub, clock, None, day()).run()
    finally:
        hub.last = None
        hub.close()
    return hub.commits


History = dict[str, list[tuple[str, Obj]]]


def histories(path: Path) -> History:
    """What happened to each object, in order, with every instant.

    But for uids and versions, which follow from the order of writes to different objects at one
    instant; and for causes of touches, which say "Found" where the kill came between a touch and
    the page that would have told its cause.
    """
    found: History = {}
    hub = SqliteHub(path, VirtualClock(T0))

    def heard(event: Event) -> None:
        found.setdefault(str(event.ref), []).append((event.change.value, _plain(event.obj)))

    for kind in WATCHED:
        hub.watch(kind, 0, heard)
    hub.close()
    return found


def _plain(obj: Obj) -> Obj:
    meta = {k: v for k, v in obj["metadata"].items() if k not in ("uid", "resourceVersion")}
    if "ownerReferences" in meta:
        meta["ownerReferences"] = [{**o, "uid": ""} for o in meta["ownerReferences"]]
    if "data" in obj and "clusters.json" in obj["data"]:
        lines = json.loads(obj["data"]["clusters.json"])
        told = {c: {k: v for k, v in line.items() if k != "cause"} for c, line in lines.items()}
        obj = {**obj, "data": {**obj["data"], "clusters.json": told}}
    return {**obj, "metadata": meta}


def main() -> None:
    """``mortal.py PATH N``: run until the process kills itself after the Nth commit."""
    run(Path(sys.argv[1]), int(sys.argv[2]), signal=True)


if __name__ == "__main__":
    main()
