"""Watches on a server that cuts, stalls, babbles and forgets: nothing lost, nothing twice, no rush."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rollout.clock import SteadyClock
from rollout.fleet.fleet import Fleet
from rollout.hub.kube import KubeHub
from rollout.hub.kube_access import Access
from rollout.hub.kube_objects import lines_of
from rollout.hub.kube_session import Times
from rollout.hub.memory import MemoryHub
from rollout.model.kinds import LEASE, MANIFEST_WORK, ROLLOUT_RECORD, Obj, Ref
from rollout.model.names import RECORD_LABEL
from rollout.runtime.engine import Engine
from rollout.runtime.timers import VirtualTimers
from tests.kube.contract import Ear
from tests.kube.facade import Act, Facade, cut, line, refuse, say, serving, stream
from tests.kube.setting import PATIENCE, eventually, not_before


@pytest.fixture
def facade() -> Iterator[Facade]:
    with serving() as found:
        yield found


def opened(facade: Facade, folder: Path, **times: float) -> KubeHub:
    patient = Times(**{"connect": 60, "read": 60, "write": 60, **times})
    return KubeHub(Access(str(facade.kubeconfig(folder))), only={LEASE: "our/label"}, times=patient)


@pytest.fixture
def hub(facade: Facade, tmp_path: Path) -> Iterator[KubeHub]:
    """A silent connection is none of its worries."""
    hub = opened(facade, tmp_path)
    yield hub
    hub.close()


@pytest.fixture
def restless(facade: Facade, tmp_path: Path) -> Iterator[KubeHub]:
    """A hub that gives a silent connection up after an instant."""
    hub = opened(facade, tmp_path, silence=0.3)
    yield hub
    hub.close()


def page(name: str, version: int, **fields: Any) -> Obj:
    meta = {"namespace": "ns", "name": name, "resourceVersion": str(version), "uid": f"uid-{name}"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, **fields}


def added(name: str, version: int) -> bytes:
    return line("ADDED", page(name, version))


def bookmark(version: int) -> bytes:
    return line("BOOKMARK", {"metadata": {"resourceVersion": str(version)}})


ERROR_410 = line("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "old"})
ERROR_500 = line("ERROR", {"kind": "Status", "code": 500, "message": "etcd has no leader"})


def versions_asked(facade: Facade) -> list[int]:
    return [int(a.query["resourceVersion"]) for a in tuple(facade.asked) if a.verb == "watch"]


def listen(hub: KubeHub, since: int = 10) -> tuple[Ear, Callable[[], None]]:
    ear = Ear()
    return ear, hub.watch(ROLLOUT_RECORD, since, ear, ear.expired.set)


def test_a_watch_asks_for_bookmarks_and_an_end(facade: Facade, hub: KubeHub) -> None:
    facade.script("watch", stream(then="hang"))
    _, end = listen(hub)
    eventually("it asks", lambda: facade.count("watch") == 1)
    end()

    query = facade.asked[-1].query
    assert query["resourceVersion"] == "10"
    assert (query["watch"], query["allowWatchBookmarks"]) == ("true", "true")
    assert 300 <= int(query["timeoutSeconds"]) <= 600


def test_lists_of_all_namespaces_show_only_what_was_asked_for_and_those_of_one_show_all(
    facade: Facade, hub: KubeHub
) -> None:
    for kind in (LEASE, MANIFEST_WORK):
        hub.list(kind)
    hub.list(LEASE, "ns", {"a": "b"})

    assert [a.query.get("labelSelector") for a in facade.asked] == [
        "our/label",
        None,
        "a=b",
    ]


@pytest.mark.parametrize("ending", ["end", "cut", "hang"])
def test_half_a_line_is_dropped_and_comes_whole_from_the_last_version(
    facade: Facade, restless: KubeHub, ending: str
) -> None:
    half = added("b", 12)[:30]
    facade.script(
        "watch",
        stream(added("a", 11), half, 0.05, then=ending),
        stream(added("b", 12), added("c", 13), then="hang"),
    )

    ear, end = listen(restless)

    ear.hears(("ADDED", "ns/a"), ("ADDED", "ns/b"), ("ADDED", "ns/c"))
    assert versions_asked(facade)[:2] == [10, 11]
    end()


def test_it_goes_on_from_the_last_bookmark(facade: Facade, hub: KubeHub) -> None:
    facade.script("watch", stream(added("a", 11), bookmark(500)), stream(then="hang"))

    ear, end = listen(hub)

    eventually("it asks again", lambda: len(versions_asked(facade)) >= 2)
    assert versions_asked(facade)[:2] == [10, 500]
    assert ear.said() == [("ADDED", "ns/a")]
    end()


@pytest.mark.parametrize("size", [1, 2, 7, 60, 10_000])
def test_however_the_bytes_are_cut_into_chunks_the_lines_are_the_same(size: int) -> None:
    text = b"".join((added("a", 11), b"\n", bookmark(12), '{"ü": 1}\n'.encode(), b"half"))
    lines: list[bytes] = []
    tail = b""
    for start in range(0, len(text), size):
        found, tail = lines_of(tail, text[start : start + size])
        lines += found

    assert (lines, tail) == ([added("a", 11)[:-1], bookmark(12)[:-1], '{"ü": 1}'.encode()], b"half")


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(stream(added("a", 11), ERROR_410), id="in the stream"),
        pytest.param(refuse(410, "Expired"), id="at once"),
        pytest.param(say(b"404 page not found", 404), id="the kind is gone"),
    ],
)
def test_a_version_that_is_too_old_or_a_kind_that_is_gone_expires_the_watch_for_good(
    facade: Facade, hub: KubeHub, act: Act
) -> None:
    times: list[int] = []
    expired = threading.Event()

    def on_expired() -> None:
        times.append(1)
        expired.set()

    facade.script("watch", act)
    end = hub.watch(ROLLOUT_RECORD, 10, Ear(), on_expired)

    assert expired.wait(PATIENCE)
    end()
    assert not threading.Event().wait(0.3)
    assert (times, facade.count("watch")) == ([1], 1)


GARBAGE = b'{"type": "ADDED", "object": 17}\n'


REFUSALS = 8
"""So many connections in the first second, and later one in a second, are no rush."""


def most(began: float) -> float:
    """How many connections are no rush by now."""
    return REFUSALS + time.monotonic() - began  # noqa: TID251  a test on real time


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(refuse(500), id="500"),
        pytest.param(refuse(503), id="503"),
        pytest.param(refuse(403, "Forbidden"), id="403"),
        pytest.param(say(b"<html>Bad Gateway</html>", 502), id="a proxy's page"),
        pytest.param(cut, id="reset"),
        pytest.param(stream(), id="ends at once"),
        pytest.param(stream(ERROR_500), id="an error in the stream"),
    ],
)
def test_a_server_that_refuses_is_asked_again_but_never_in_a_tight_loop(
    facade: Facade, hub: KubeHub, act: Act
) -> None:
    facade.script("watch", *(act for _ in range(500)))
    began = time.monotonic()  # noqa: TID251  a test on real time
    ear, end = listen(hub)

    eventually("it asks again", lambda: facade.count("watch") >= 2)
    assert not ear.expired.wait(0.6)
    end()
    assert facade.count("watch") <= most(began)


def test_events_on_every_short_connection_are_no_reason_to_rush_either(
    facade: Facade, hub: KubeHub
) -> None:
    facade.script("watch", *(stream(added(f"n{n}", 11 + n)) for n in range(200)))
    began = time.monotonic()  # noqa: TID251  a test on real time
    ear, end = listen(hub)

    eventually("some are told", lambda: len(ear.events) >= 3)
    assert not ear.expired.wait(0.6)
    end()
    seconds = time.monotonic() - began  # noqa: TID251
    assert len(ear.events) <= 2 + 20 * seconds
    assert versions_asked(facade) == list(range(10, 10 + facade.count("watch")))


def test_a_server_that_asks_to_wait_is_left_alone_for_so_long(facade: Facade, hub: KubeHub) -> None:
    facade.script("watch", refuse(429, Retry_After="1"), stream(added("a", 11), then="hang"))
    began = time.monotonic()  # noqa: TID251  a test on real time
    ear, end = listen(hub)

    not_before(began, 0.9, lambda: facade.count("watch") <= 1 and not ear.expired.is_set())
    ear.hears(("ADDED", "ns/a"))
    end()


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(GARBAGE, id="no object"),
        pytest.param(b"\x00\xff nonsense\n", id="no JSON"),
        pytest.param(line("ADDED", page("x", 12) | {"metadata": {"name": "x"}}), id="no version"),
        pytest.param(line("RENAMED", page("x", 12)), id="no such event"),
        pytest.param(line("ADDED", page("x", 0)).replace(b'"0"', b'"abc"'), id="no number"),
        pytest.param(line("ADDED", page("x", 12)).replace(b'"ns"', b'"\xff"'), id="no UTF-8"),
    ],
)
def test_garbage_is_asked_for_again_and_if_it_stays_the_list_is_read_anew(
    facade: Facade, hub: KubeHub, bad: bytes
) -> None:
    facade.script(
        "watch",
        stream(added("a", 11), bad, added("lost", 12), then="hang"),
        stream(added("b", 12), bad, then="hang"),
        *(stream(bad, then="hang") for _ in range(9)),
    )

    ear, end = listen(hub)

    assert ear.expired.wait(PATIENCE)
    assert ear.said() == [("ADDED", "ns/a"), ("ADDED", "ns/b")]
    assert versions_asked(facade)[:3] == [10, 11, 12]
    assert 4 <= facade.count("watch") <= 5
    end()


def test_a_silent_connection_is_given_up_and_taken_up_again(
    facade: Facade, restless: KubeHub, caplog: pytest.LogCaptureFixture
) -> None:
    """A server without bookmarks is silent where nothing happens: that is no news for a log."""
    caplog.set_level(logging.INFO)
    facade.script("watch", stream(added("a", 11), then="hang"), stream(added("b", 12), then="hang"))
    ear, end = listen(restless)

    ear.hears(("ADDED", "ns/a"), ("ADDED", "ns/b"))
    end()
    assert caplog.messages == []


def test_a_listener_that_raises_does_not_end_the_watch(
    facade: Facade, hub: KubeHub, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[str] = []

    def broken(event: Any) -> None:
        heard.append(event.ref.name)
        if event.ref.name == "a":
            raise RuntimeError("a fault of the listener")

    facade.script("watch", stream(added("a", 11), added("b", 12), then="hang"))
    end = hub.watch(ROLLOUT_RECORD, 10, broken)

    eventually("both are told", lambda: heard == ["a", "b"])
    assert "the watch goes on" in caplog.text
    end()


def test_a_watch_that_is_ended_before_it_began_asks_nothing(facade: Facade, hub: KubeHub) -> None:
    ends = [listen(hub)[1] for _ in range(20)]
    for end in ends:
        end()
    hub.list(MANIFEST_WORK)

    assert facade.count("watch") <= 20
    assert not hub.is_watching()


def test_readiness_follows_the_connection(facade: Facade, restless: KubeHub) -> None:
    turns = [act for _ in range(200) for act in (refuse(503), stream(then="hang"))]
    facade.script("watch", *turns)
    _, end = listen(restless)

    eventually("it is connected", restless.is_watching)
    eventually("the silence is noticed", lambda: not restless.is_watching())
    _, other = listen(restless)
    end()
    eventually("the other is connected", restless.is_watching)
    other()


def test_an_engine_that_missed_events_finds_what_was_deleted_and_what_was_made(
    facade: Facade, hub: KubeHub, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    labels = {"labels": {RECORD_LABEL: "r"}}

    def seed(memory: MemoryHub) -> None:
        for name in ("stays", "goes"):
            memory.create(Ref(ROLLOUT_RECORD, f"ns/{name}"), {"metadata": labels})

    facade.do(seed)
    clock = SteadyClock()
    engine = Engine(hub, clock, lambda wake: VirtualTimers(clock, wake), {}, Fleet())
    facade.script("watch", *(stream(then="cut") for _ in range(10)))
    engine.start()
    facade.script("watch", *(refuse(410) for _ in range(10)))
    facade.do(lambda h: h.delete(Ref(ROLLOUT_RECORD, "ns/goes")))
    facade.do(lambda h: h.create(Ref(ROLLOUT_RECORD, "ns/comes"), {"metadata": labels}))

    def known() -> None:
        engine.wait(0.05)
        engine.run_until_idle()
        assert {ref.name for ref in engine.fleet.versions.known(ROLLOUT_RECORD)} == {
            "stays",
            "comes",
        }

    eventually("the engine knows", known)
    engine.stop()
