"""Who may say to how many shards the namespaces are dealt, and when?"""

from datetime import timedelta
from typing import Any

import pytest

from rollout.clock import VirtualClock
from rollout.errors import Conflict, Unavailable
from rollout.hub.memory import MemoryHub
from rollout.model.kinds import LEASE, Obj, Ref
from rollout.model.names import SHARDS_LABEL
from rollout.model.sharding import Sharding
from rollout.runtime.layout import CHANGING, Layout, lease_of
from rollout.runtime.leader import Predecessor
from tests.support.processes import T0

BASE = Ref(LEASE, "default/rollout-controller")
LASTS = timedelta(seconds=15)


class Rig:
    """A hub with the lease of shard 0."""

    def __init__(self, number: str | None = None, holder: str = "me") -> None:
        self.clock = VirtualClock(T0)
        self.hub = MemoryHub(self.clock)
        labels = {} if number is None else {SHARDS_LABEL: number}
        self.hub.create(BASE, {
            "apiVersion": LEASE.api_version,
            "kind": LEASE.name,
            "metadata": {"namespace": BASE.namespace, "name": BASE.name, "labels": labels},
            "spec": {"holderIdentity": holder},
        })  # fmt: skip

    def layout(self, shards: int, shard: int = 0, hub: Any = None) -> Layout:
        share = Sharding(shards=shards, shard=shard)
        return Layout(hub or self.hub, self.clock, BASE, me="me", sharding=share, lasts=LASTS)

    def number(self) -> str | None:
        labels = self.hub.get(BASE)["metadata"].get("labels") or {}
        return labels.get(SHARDS_LABEL)

    def hold(self, holder: str) -> None:
        self.hub.patch(BASE, {"spec": {"holderIdentity": holder}})


class Frozen:
    """A hub whose caller freezes before each write, for as long as ``meanwhile`` takes."""

    def __init__(self, rig: Rig, holder: str) -> None:
        self._rig, self._holder = rig, holder

    def get(self, ref: Ref) -> Obj:
        return self._rig.hub.get(ref)

    def patch(self, *args: Any) -> Obj:
        self._rig.hold(self._holder)
        return self._rig.hub.patch(*args)


@pytest.mark.parametrize(("number", "shards"), [(None, 1), ("1", 1), ("3", 3)])
def test_where_the_number_is_in_force_nothing_is_written(number: str | None, shards: int) -> None:
    rig = Rig(number)
    version = rig.hub.get(BASE)["metadata"]["resourceVersion"]

    rig.layout(shards).begin()

    assert rig.hub.get(BASE)["metadata"]["resourceVersion"] == version


@pytest.mark.parametrize("number", [None, "1", "2", CHANGING, "nonsense"])
def test_another_number_takes_a_lease_of_waiting(number: str | None) -> None:
    rig = Rig(number)
    layout = rig.layout(3)
    for seconds in (0, 5, 9.9):
        with pytest.raises(Unavailable, match="dealt to 3 shards from now on"):
            layout.begin()
        assert rig.number() == CHANGING
        rig.clock.advance(timedelta(seconds=seconds))
    rig.clock.advance(timedelta(seconds=0.1))
    layout.begin()

    assert rig.number() == "3"


def test_a_successor_waits_for_all_of_it_again() -> None:
    rig = Rig("2")
    with pytest.raises(Unavailable):
        rig.layout(3).begin()
    rig.clock.advance(LASTS)
    with pytest.raises(Unavailable):
        rig.layout(3).begin()

    assert rig.number() == CHANGING


@pytest.mark.parametrize("number", ["2", CHANGING])
def test_one_that_froze_writes_no_number_on_the_lease_of_its_successor(number: str) -> None:
    rig = Rig("2")
    layout = rig.layout(3, hub=Frozen(rig, "another"))
    if number == CHANGING:
        layout = rig.layout(3)
        with pytest.raises(Unavailable):
            layout.begin()
        rig.clock.advance(LASTS)
        layout._hub = Frozen(rig, "another")  # type: ignore[assignment]  # only what is used
    with pytest.raises(Conflict):
        layout.begin()

    assert rig.number() == number


def test_one_that_holds_the_lease_no_more_writes_no_number() -> None:
    rig = Rig("2", holder="another")
    with pytest.raises(Conflict, match="another holder"):
        rig.layout(3).begin()

    assert rig.number() == "2"


@pytest.mark.parametrize(
    ("number", "said"),
    [
        ("3", ""),
        ("2", "says 2 shards, and this is one of 3"),
        (None, "says 1 shard, and this is one of 3"),
        (CHANGING, "says that the number of shards changes"),
    ],
)
def test_a_shard_leads_only_where_its_number_is_in_force(number: str | None, said: str) -> None:
    layout = Rig(number).layout(3, shard=2)
    if not said:
        layout.agree()
        return
    with pytest.raises(Unavailable, match=said):
        layout.agree()


def test_a_shard_waits_for_the_first_shard_0() -> None:
    rig = Rig()
    rig.hub.delete(BASE)
    with pytest.raises(Unavailable, match="shard 0 has never led"):
        rig.layout(3, shard=1).agree()


@pytest.mark.parametrize(
    ("labels", "is_known"),
    [({}, False), ({SHARDS_LABEL: "2"}, False), ({SHARDS_LABEL: "3"}, True)],
)
def test_the_last_sign_of_a_process_that_had_other_namespaces_says_nothing(
    labels: dict[str, str], is_known: bool
) -> None:
    found = Rig().layout(3, shard=1).last_sign(Predecessor("before", T0, labels))

    assert found == (T0 if is_known else None)


def test_each_shard_has_a_lease_and_the_first_one_that_of_a_hub_without_shards() -> None:
    found = [lease_of("default", "rollout-controller", shard).key for shard in range(3)]

    assert found == [BASE.key, f"{BASE.key}-1", f"{BASE.key}-2"]
