from collections.abc import Iterable
from datetime import UTC, datetime
from random import Random

import pytest

from rollout.clock import VirtualClock
from rollout.errors import Conflict, Gone, HubError, Throttled, Unavailable
from rollout.hub.base import EmbeddedHub
from rollout.hub.memory import MemoryHub
from rollout.model.events import Event
from rollout.model.kinds import CONFIG_MAP, Kind, Obj, Ref
from tests.support.faults import Delivery, Fault, FaultyHub, RandomFaults, Rates

A = Ref(CONFIG_MAP, "ns/a")


class Script:
    """Faults one after another, then none."""

    def __init__(
        self, calls: Iterable[Fault | None] = (), events: Iterable[Delivery | None] = ()
    ) -> None:
        self.calls, self.events = list(calls), list(events)

    def call(self, verb: str, target: Ref | Kind) -> Fault | None:
        return self.calls.pop(0) if self.calls else None

    def event(self, event: Event) -> Delivery | None:
        return self.events.pop(0) if self.events else None


def memory() -> EmbeddedHub:
    return MemoryHub(VirtualClock(datetime(2026, 1, 1, tzinfo=UTC)))


def put(hub: EmbeddedHub, n: int) -> Obj:
    return hub.patch(A, {"data": {"n": str(n)}})


@pytest.mark.parametrize(
    ("fault", "error", "written"),
    [
        (Fault.CONFLICT, Conflict, False),
        (Fault.THROTTLED, Throttled, False),
        (Fault.UNAVAILABLE, Unavailable, False),
        (Fault.LOST, Unavailable, True),
    ],
)
def test_a_write_fails_before_it_is_done_or_is_done_and_seems_to_fail(
    fault: Fault, error: type[HubError], written: bool
) -> None:
    inner = memory()
    hub = FaultyHub(inner, Script([fault, fault, fault, fault, fault]))
    inner.create(A, {"data": {"n": "0"}})

    for write in (
        lambda: hub.create(Ref(CONFIG_MAP, "ns/b"), {}),
        lambda: put(hub, 1),
        lambda: hub.patch_status(A, {"data": {"n": "2"}}),
        lambda: hub.replace(A, {"data": {"n": "3"}}),
        lambda: hub.delete(A),
    ):
        with pytest.raises(error):
            write()

    assert inner.list(CONFIG_MAP).version == (6 if written else 1)


def test_a_lost_write_that_was_refused_says_why() -> None:
    with pytest.raises(Gone):
        put(FaultyHub(memory(), Script([Fault.LOST])), 1)


@pytest.mark.parametrize("fault", list(Fault))
def test_a_read_is_throttled_or_unavailable(fault: Fault) -> None:
    hub = FaultyHub(memory(), Script([fault, fault]))
    error = Throttled if fault is Fault.THROTTLED else Unavailable

    with pytest.raises(error):
        hub.get(A)
    with pytest.raises(error):
        hub.list(CONFIG_MAP)
    assert hub.list(CONFIG_MAP).items == ()


def test_a_repeated_event_comes_twice_and_a_rewound_watch_tells_the_last_ones_again() -> None:
    heard: list[int] = []
    hub = FaultyHub(memory(), Script(events=[None, Delivery.REPEAT, Delivery.REWIND]))
    hub.watch(CONFIG_MAP, 0, lambda e: heard.append(e.version))

    hub.create(A, {})
    put(hub, 1)
    put(hub, 2)
    put(hub, 3)

    assert heard == [1, 2, 2, 3, 1, 2, 3, 4]


def test_held_events_and_all_after_them_wait_for_release_in_order() -> None:
    heard: list[int] = []
    hub = FaultyHub(memory(), Script(events=[None, Delivery.HOLD]))
    hub.watch(CONFIG_MAP, 0, lambda e: heard.append(e.version))
    hub.create(A, {})
    put(hub, 1)
    put(hub, 2)
    before = list(heard)

    assert (before, hub.release(), hub.release()) == ([1], 2, 0)
    put(hub, 3)
    assert heard == [1, 2, 3, 4]


def test_what_is_written_during_a_release_comes_after_what_was_held() -> None:
    heard: list[int] = []
    hub = FaultyHub(memory(), Script(events=[Delivery.HOLD]))

    def answer(event: Event) -> None:
        heard.append(event.version)
        if event.version == 1:
            put(hub, 9)

    hub.watch(CONFIG_MAP, 0, answer)
    hub.create(A, {})
    put(hub, 1)
    hub.release()

    assert heard == [1, 2, 3]


def test_a_cut_watch_is_silent_until_release_says_that_it_has_expired() -> None:
    heard: list[int] = []
    hub = FaultyHub(memory(), Script(events=[None, Delivery.CUT]))

    def again() -> None:
        heard.append(0)
        hub.watch(CONFIG_MAP, hub.list(CONFIG_MAP).version, lambda e: heard.append(e.version))

    hub.watch(CONFIG_MAP, 0, lambda e: heard.append(e.version), again)
    hub.create(A, {})
    put(hub, 1)
    put(hub, 2)
    before = list(heard)
    hub.release()
    put(hub, 3)

    assert before == [1]
    assert heard == [1, 0, 4]
    assert hub.release() == 0


def test_a_watch_that_cannot_be_told_of_a_cut_is_held_instead() -> None:
    heard: list[int] = []
    hub = FaultyHub(memory(), Script(events=[Delivery.CUT]))
    hub.watch(CONFIG_MAP, 0, lambda e: heard.append(e.version))
    hub.create(A, {})
    hub.release()

    assert heard == [1]


def test_an_ended_watch_hears_nothing_of_what_was_held_or_cut() -> None:
    heard: list[int] = []
    hub = FaultyHub(memory(), Script(events=[Delivery.HOLD, Delivery.CUT]))
    ends = [
        hub.watch(CONFIG_MAP, 0, lambda e: heard.append(e.version), lambda: heard.append(0))
        for _ in range(2)
    ]
    hub.create(A, {})
    for end in ends:
        end()

    assert (hub.release(), heard) == (0, [])


RATES = Rates(conflict=5, throttled=5, unavailable=5, lost=5, repeat=10, rewind=10, hold=5, cut=5)


class Follower:
    """What is known to a client that lists again whenever its watch has expired."""

    def __init__(self, inner: EmbeddedHub, hub: FaultyHub) -> None:
        self.inner, self.hub = inner, hub
        self.known: dict[str, Obj] = {}
        self.relist()

    def hear(self, event: Event) -> None:
        old = self.known.get(event.ref.key)
        if old is None or int(old["metadata"]["resourceVersion"]) < event.version:
            self.known[event.ref.key] = {**event.obj, "gone": event.change.value == "DELETED"}

    def relist(self) -> None:
        listing = self.inner.list(CONFIG_MAP)
        self.known.clear()
        self.known.update({f"ns/{o['metadata']['name']}": o for o in listing.items})
        self.hub.watch(CONFIG_MAP, listing.version, self.hear, self.relist)

    def live(self) -> list[Obj]:
        return [
            {k: v for k, v in o.items() if k != "gone"}
            for o in self.known.values()
            if not o.get("gone")
        ]


def write_at_random(hub: FaultyHub, random: Random, step: int) -> None:
    ref = Ref(CONFIG_MAP, f"ns/{random.choice('abcdef')}")
    match random.randrange(4):
        case 0:
            hub.delete(ref)
        case 1:
            hub.create(ref, {"data": {}})
        case _:
            hub.patch(ref, {"data": {"n": str(step)}})


@pytest.mark.parametrize("seed", range(25))
def test_under_random_faults_a_client_that_lists_again_ends_with_the_truth(seed: int) -> None:
    random = Random(seed)
    inner = memory()
    faults = RandomFaults(Random(seed), RATES)
    hub = FaultyHub(inner, faults)
    client = Follower(inner, hub)
    refused = 0
    for step in range(300):
        try:
            write_at_random(hub, random, step)
        except HubError:
            refused += 1
        if random.random() < 0.05:
            hub.release()
    faults.on = False
    while hub.release():
        pass

    assert refused > 30
    truth = inner.list(CONFIG_MAP).items
    assert sorted(map(repr, client.live())) == sorted(map(repr, truth))


def test_the_same_seed_gives_the_same_faults() -> None:
    def draw() -> list[object]:
        faults = RandomFaults(Random(7), RATES)
        return [faults.call("patch", A) for _ in range(200)]

    drawn = draw()

    assert drawn == draw()
    assert {f for f in drawn if f is not None} == set(Fault)
