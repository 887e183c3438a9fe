"""A virtual run on a state file that tells people, and dies with its Nth commit. Also a program: `main`.

What is told goes into a file, a line for each attempt, before anybody knows that it was delivered.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path

from rollout.clock import VirtualClock
from rollout.hub.admission import admit
from rollout.hub.base import StateKey
from rollout.model import names
from rollout.model.content import content_hash
from rollout.model.instants import parse_instant
from rollout.model.kinds import KINDS, Obj, ref_of
from rollout.model.writes import Deliver
from rollout.sim.local import LocalRun
from rollout.sim.scenario import Scenario
from rollout.sim.surroundings import simulated_io
from tests.stories.mortal import T0, MortalHub
from tests.support import make


class WrittenDown:
    """A channel: each attempt is a line of a file, on the disk before it counts as delivered."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def deliver(self, write: Deliver, done: Callable[[str], None]) -> None:
        told = write.notification
        with self._path.open("a") as file:
            file.write(f"{told.id} {told.trigger} {told.revision}\n")
            file.flush()
            os.fsync(file.fileno())
        done("")


def documents() -> list[Obj]:
    strategy = make.progressive(mandatory=["canary"], maxConcurrency=3, maxFailures=1)
    annotations = {names.NOTIFY: "team", names.ROLLBACK: "Automatic"}
    return [*make.fleet(6, canary=2), make.workload(strategy=strategy, annotations=annotations)]


def day() -> Scenario:
    """A good release, then one that fails on two clusters and is taken back."""
    target = {"kind": "ManifestWorkReplicaSet", "namespace": "default", "name": "web"}
    patch = {"spec": {"manifestWorkTemplate": make.template("2")}}
    bad = {
        "clusters": {"names": ["c04", "c05"]},
        "revision": content_hash(make.template("2")),
        "behaviour": {"outcome": "fail"},
    }
    events = [{"at": "10m", "patch": {**target, "patch": patch}}]
    return Scenario.model_validate({"spec": {"seed": 5, "rules": [bad], "fleetEvents": events}})


def run(path: Path, last: int | None = None, *, before: bool = False) -> int:
    """Run on the file, to the end or the ``last`` commit. Returns how many commits there were."""
    clock, is_new = VirtualClock(T0), not path.exists()
    hub = MortalHub(path, clock, runner=True, admit=admit)
    for document in documents() if is_new else ():
        ref = ref_of(KINDS[document["kind"]], document)
        hub.create(ref, document)
        if document.get("status"):
            hub.patch_status(ref, {"status": document["status"]})
    hub.commits, hub.last, hub.before, hub.by_signal = 0, last, before, True
    kept = hub.get_state(StateKey.CLOCK)
    since = parse_instant(kept.decode()) if kept else None
    if since is not None:
        clock.advance(since - T0)
    deliverer = WrittenDown(path.with_suffix(".told"))
    try:
        scenario = day()
        io = simulated_io(hub, clock, scenario, deliverer)
        LocalRun(hub, clock, None, scenario, io=io).run()
    finally:
        hub.last = None
        hub.close()
    return hub.commits


def main() -> None:
    """``told.py PATH before|after N...``: processes one after the other, each of which is killed with its
    Nth commit, and one that is not.
    """
    path, side = Path(sys.argv[1]), sys.argv[2]
    for last in map(int, sys.argv[3:]):
        child = os.fork()
        if not child:
            run(path, last, before=side == "before")
            os._exit(0)
        _, how = os.waitpid(child, 0)
        print("killed" if os.WIFSIGNALED(how) else "done", flush=True)
    run(path)


if __name__ == "__main__":
    main()
