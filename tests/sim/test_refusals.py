"""What the server refuses fails a cluster only where it keeps the cluster from what it is to have (row 19)."""

from typing import Any

from rollout.errors import Denied
from rollout.hub.memory import MemoryHub
from rollout.model import names
from rollout.model.kinds import MANIFEST_WORK, Ref
from tests import make
from tests.sim.story import MIN, Story


class Strict:
    """A hub whose admission does not let a label stand on works."""

    def __init__(self, hub: MemoryHub) -> None:
        self._hub, self.tries = hub, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._hub, name)

    def patch(self, ref: Ref, changes: Any, version: int | None = None) -> Any:
        labels = (changes.get("metadata") or {}).get("labels") or {}
        if ref.kind is MANIFEST_WORK and "secret" in labels:
            self.tries += 1
            raise Denied("label secret is not allowed on works")
        return self._hub.patch(ref, changes, version)


def story(hubs: list[Strict], **strategy: Any) -> Story:
    def between(hub: MemoryHub) -> Any:
        hubs.append(Strict(hub))
        return hubs[-1]

    notes = {names.ROLLBACK: "Automatic"}
    workload = make.workload(strategy=make.progressive(**strategy), annotations=notes)
    return Story([*make.fleet(4), workload], wrap=between)


def test_a_label_that_is_refused_fails_nobody_and_takes_nothing_back() -> None:
    hubs: list[Strict] = []
    s = story(hubs, maxConcurrency=4, maxFailures=0, minSuccessTime="10m")
    s.to(5 * MIN)
    s.edit({"metadata": {"labels": {"secret": "1"}}})
    s.to(9 * MIN)

    assert s.reason == "RollingOut"
    assert 0 < hubs[0].tries <= 4 * 8  # each after 5 s, 10 s ... 5 min
    s.to(20 * MIN)
    assert s.reason == "Complete"


def test_a_template_that_is_refused_with_it_fails_the_cluster() -> None:
    hubs: list[Strict] = []
    s = story(hubs, maxConcurrency=1, maxFailures=0).end()
    s.annotate(names.ROLLBACK, "Manual")
    s.edit({"metadata": {"labels": {"secret": "1"}}})
    s.edit({"spec": {"manifestWorkTemplate": make.template("2")}})
    s.on(2 * MIN)

    assert s.reason == "MaxFailuresExceeded"
    assert set(s.versions().values()) == {"1"}
