"""The hub over HTTP on a server that fails in every way: errors, patience, connections."""

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from rollout.clock import SteadyClock
from rollout.errors import (
    AlreadyExists,
    Conflict,
    Denied,
    Gone,
    HubError,
    Invalid,
    NotServed,
    Throttled,
    Unauthenticated,
    Unavailable,
)
from rollout.hub import kube_calls, kube_objects
from rollout.hub.kube import KubeHub
from rollout.hub.kube_access import Access
from rollout.hub.kube_answers import error_of
from rollout.hub.kube_session import Session, Times
from rollout.model.kinds import (
    CONFIG_MAP,
    MANAGED_CLUSTER,
    MANIFEST_WORK,
    PLACEMENT,
    REPLICA_SET,
    Kind,
    Obj,
    Ref,
)
from tests.kube.contract import WORK, work
from tests.kube.facade import Act, Facade, cut, delay, facade, refusal, refuse, say, serving

__all__ = ["facade"]  # fixtures

PATIENT = Times(connect=60, read=60, write=60)
HASTY = Times(connect=60, read=0.4, write=0.4)


@pytest.fixture
def hub(facade: Facade, tmp_path: Path) -> Iterator[KubeHub]:
    hub = KubeHub(Access(str(facade.kubeconfig(tmp_path))), times=PATIENT, patience=60)
    yield hub
    hub.close()


@pytest.fixture
def hasty(facade: Facade, tmp_path: Path) -> Iterator[KubeHub]:
    """A hub that waits for one answer no longer than an instant, and asks again for long."""
    hub = KubeHub(Access(str(facade.kubeconfig(tmp_path))), times=HASTY, patience=60)
    yield hub
    hub.close()


@pytest.fixture
def impatient(facade: Facade, tmp_path: Path) -> Iterator[KubeHub]:
    """A hub that waits for each answer, and does not ask again for long."""
    hub = KubeHub(Access(str(facade.kubeconfig(tmp_path))), times=PATIENT, patience=1.5)
    yield hub
    hub.close()


# Errors


ANSWERS: dict[str, tuple[Act, type[HubError]]] = {
    "400": (refuse(400, "BadRequest"), Invalid),
    "401": (refuse(401, "Unauthorized"), Unauthenticated),
    "403": (refuse(403, "Forbidden"), Denied),
    "403 terminating": (
        refuse(403, "Forbidden", "forbidden because it is being terminated"),
        Invalid,
    ),
    "404": (refuse(404, "NotFound"), NotServed),
    "409 exists": (refuse(409, "AlreadyExists"), AlreadyExists),
    "409": (refuse(409, "Conflict"), Conflict),
    "413": (refuse(413, "RequestEntityTooLarge"), Invalid),
    "422": (refuse(422, "Invalid"), Invalid),
    "429": (refuse(429, "TooManyRequests"), Throttled),
    "500": (refuse(500, "InternalError"), Unavailable),
    "500 too large": (refuse(500, "", "etcdserver: request is too large"), Invalid),
    "503": (refuse(503, "ServiceUnavailable"), Unavailable),
    "504": (refuse(504, "Timeout"), Unavailable),
    "a proxy's page": (say(b"<html>Bad Gateway</html>", 502), Unavailable),
    "no text": (say(b"\xff\x00", 500), Unavailable),
    "nothing": (say(b"", 200), Unavailable),
    "a list": (say(b"[]", 200), Unavailable),
    "no metadata": (say(b'{"metadata": 7}', 200), Unavailable),
    "reset": (cut, Unavailable),
}


@pytest.mark.parametrize(("act", "expected"), ANSWERS.values(), ids=ANSWERS)
def test_each_answer_is_the_error_that_says_who_must_act(
    facade: Facade, hub: KubeHub, act: Act, expected: type[HubError]
) -> None:
    facade.script("create", act)

    with pytest.raises(expected) as caught:
        hub.create(WORK, work())

    assert type(caught.value) is expected


NO_WORD_ABOUT_IT = [
    pytest.param(say(b"404 page not found\n", 404), id="a page"),
    pytest.param(say(b'{"kind":"Status","reason":"NotFound","details":{}}', 404), id="no name"),
    pytest.param(say(b"", 404), id="nothing"),
]
CALLS: dict[str, Callable[[KubeHub], object]] = {
    "get": lambda hub: hub.get(WORK),
    "create": lambda hub: hub.create(WORK, work()),
    "patch": lambda hub: hub.patch(WORK, {}),
    "delete": lambda hub: hub.delete(WORK),
}


@pytest.mark.parametrize("verb", CALLS)
@pytest.mark.parametrize("act", NO_WORD_ABOUT_IT)
def test_a_path_that_is_not_found_is_no_object_that_is_gone(
    facade: Facade, hub: KubeHub, verb: str, act: Act
) -> None:
    facade.script(verb, act)

    with pytest.raises(NotServed):
        CALLS[verb](hub)


@pytest.mark.parametrize("verb", [verb for verb in CALLS if verb != "create"])
def test_an_object_that_is_not_there_is_gone(hub: KubeHub, verb: str) -> None:
    with pytest.raises(Gone):
        CALLS[verb](hub)


def test_an_answer_that_is_late_is_none(facade: Facade, hasty: KubeHub) -> None:
    held, _ = facade.gate()
    facade.script("create", held)

    with pytest.raises(Unavailable, match="no answer in time"):
        hasty.create(WORK, work())


def test_a_write_is_never_repeated_by_itself(facade: Facade, hub: KubeHub) -> None:
    for act in (cut, refuse(503), refuse(429), facade.lose):
        facade.script("create", act)
        with pytest.raises(HubError):
            hub.create(WORK, work())

    assert facade.count("create") == 4


def test_a_terminating_namespace_is_known_by_its_cause() -> None:
    answer = refusal(403, "Forbidden", "no", causes=[{"reason": "NamespaceTerminating"}])

    assert isinstance(answer.body, bytes)
    assert type(error_of("create it", 403, answer.body)) is Invalid


@pytest.mark.parametrize(
    ("header", "seconds"), [("7", 7), ("0", 1), ("", 1), ("soon", 1), ("-3", 1), ("99999", 300)]
)
def test_how_long_to_wait_is_what_the_server_says_within_reason(header: str, seconds: int) -> None:
    error = error_of("create it", 429, b"", {"Retry-After": header})

    assert isinstance(error, Throttled)
    assert error.after.total_seconds() == seconds


def test_the_servers_words_are_kept_but_not_the_values_in_a_users_manifests() -> None:
    secret = "c2VjcmV0"
    field = "spec.workload.manifests[0].metadata.labels"
    bad = {"field": field, "reason": "FieldValueInvalid", "message": f"Invalid value: {secret}"}
    other = {"field": "spec.x", "reason": "FieldValueInvalid", "message": "must be a number"}
    whole = refusal(422, "Invalid", f"{field}: Invalid value: {secret}", causes=[bad, other])
    bare = refusal(422, "Invalid", f"{field}: Invalid value: {secret}")

    assert isinstance(whole.body, bytes)
    assert isinstance(bare.body, bytes)
    words = str(error_of("create it", 422, whole.body))
    assert words == f"create it: {field}: FieldValueInvalid; must be a number"
    assert str(error_of("create it", 422, bare.body)) == "create it: Invalid"


@pytest.mark.parametrize("verb", ["create", "patch"])
def test_a_refusal_of_a_write_does_not_quote_the_secrets_in_it(
    facade: Facade, hub: KubeHub, verb: str
) -> None:
    spec = {"workload": {"manifests": [{"kind": "Secret", "stringData": {"p": "hunter2-canary"}}]}}
    facade.script(verb, refuse(403, "Forbidden", "webhook: hunter2-canary is too weak"))

    with pytest.raises(Denied, match=r"^[a-z]+ ManifestWork c1/web: webhook: \*\*\* is too weak$"):
        hub.create(WORK, {**work(), "spec": spec}) if verb == "create" else hub.patch(
            WORK, {"spec": spec}
        )


def test_a_message_names_the_object_and_what_was_said(facade: Facade, hub: KubeHub) -> None:
    facade.script("create", refuse(422, "Invalid", "spec.x: Required value"))

    with pytest.raises(Invalid, match=r"^create ManifestWork c1/web: spec\.x: Required value$"):
        hub.create(WORK, work())


# Patience


def test_reads_are_repeated_while_the_server_cannot_answer(
    facade: Facade, hub: KubeHub, hasty: KubeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rollout.hub.kube.GET_SECONDS", 60.0)
    hub.create(WORK, work())
    facade.script("get", refuse(503), cut, delay(0.8))
    facade.script("list", cut, refuse(429, Retry_After="1"))

    assert hasty.get(WORK)["metadata"]["name"] == "web"
    assert facade.count("get") >= 4
    clock = SteadyClock()
    began = clock.now()
    assert len(hub.list(MANIFEST_WORK).items) == 1
    assert clock.now() - began >= timedelta(seconds=1)


def test_patience_ends_with_what_was_wrong(facade: Facade, impatient: KubeHub) -> None:
    facade.script("list", *(refuse(503, "", "no leader") for _ in range(50)))

    with pytest.raises(Unavailable, match="no leader"):
        impatient.list(MANIFEST_WORK)
    assert 2 <= facade.count("list") <= 12


def test_a_kind_that_was_read_at_the_start_is_listed_again_without_patience(
    facade: Facade, hub: KubeHub
) -> None:
    hub.expect([MANIFEST_WORK])
    facade.script("list", refuse(429))
    assert hub.list(MANIFEST_WORK).items == ()
    facade.script("list", refuse(429))

    with pytest.raises(Throttled):
        hub.list(MANIFEST_WORK)


def test_what_will_not_change_is_not_asked_twice(facade: Facade, hub: KubeHub) -> None:
    facade.script("list", refuse(403, "Forbidden"))

    with pytest.raises(Denied):
        hub.list(MANIFEST_WORK)
    with pytest.raises(Gone):
        hub.get(WORK)
    assert (facade.count("list"), facade.count("get")) == (1, 1)


def test_a_list_that_expires_between_its_pages_begins_anew(
    facade: Facade, hub: KubeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kube_calls, "PAGE", 2)
    for n in range(5):
        hub.create(Ref(MANIFEST_WORK, f"c1/w{n}"), work())

    async def usual(request: Any) -> None:
        return None

    facade.script("list", usual, usual, refuse(410, "Expired"))

    assert [o["metadata"]["name"] for o in hub.list(MANIFEST_WORK).items] == [
        f"w{n}" for n in range(5)
    ]
    tokens = [a.query.get("continue", "") for a in facade.asked if a.verb == "list"]
    assert [bool(token) for token in tokens] == [False, True, True, False, True, True]
    assert {a.query["limit"] for a in facade.asked if a.verb == "list"} == {"2"}


def test_a_list_that_always_expires_is_given_up(facade: Facade, impatient: KubeHub) -> None:
    facade.script("list", *(refuse(410, "Expired") for _ in range(100)))

    with pytest.raises(Unavailable, match="kept expiring"):
        impatient.list(MANIFEST_WORK)


def test_a_kind_that_is_not_served_says_what_to_install(facade: Facade, hub: KubeHub) -> None:
    facade.script("list", *(say(b"404 page not found\n", 404) for _ in range(50)))

    with pytest.raises(Unavailable, match="is the CustomResourceDefinition installed"):
        hub.list(MANIFEST_WORK)


# Lists that are begun early


def listed(facade: Facade) -> list[str]:
    """The kinds of which lists were asked for, in order."""
    return [asked.path.rpartition("/")[2] for asked in tuple(facade.asked) if asked.verb == "list"]


def until(what: Callable[[], bool]) -> None:
    end = SteadyClock().now() + timedelta(seconds=60)
    while not what() and SteadyClock().now() < end:
        threading.Event().wait(0.01)
    assert what()


def test_of_the_lists_that_are_expected_two_are_begun_before_they_are_asked_for(
    facade: Facade, hub: KubeHub
) -> None:
    hub.create(Ref(MANIFEST_WORK, "c1/w"), work())
    hub.expect([MANAGED_CLUSTER, MANIFEST_WORK, PLACEMENT, REPLICA_SET])
    until(lambda: len(listed(facade)) == 2)
    assert sorted(listed(facade)) == ["managedclusters", "manifestworks"]

    assert hub.list(MANAGED_CLUSTER).items == ()
    until(lambda: len(listed(facade)) == 3)
    assert [obj["metadata"]["name"] for obj in hub.list(MANIFEST_WORK).items] == ["w"]
    hub.list(PLACEMENT)
    hub.list(REPLICA_SET)

    assert len(listed(facade)) == 4, "each was asked for once"


def test_a_list_that_is_begun_early_fails_when_it_is_asked_for_and_alone(
    facade: Facade, hub: KubeHub
) -> None:
    facade.script("list", refuse(403, "Forbidden"))
    hub.expect([MANAGED_CLUSTER, PLACEMENT])
    until(lambda: len(listed(facade)) == 2)
    refused, other = MANAGED_CLUSTER, PLACEMENT
    if listed(facade)[0] == "placements":
        refused, other = other, refused

    assert hub.list(other).items == ()
    with pytest.raises(Denied):
        hub.list(refused)
    assert hub.list(refused).items == (), "asked again"


def test_the_next_page_is_asked_for_before_this_one_is_decoded(
    facade: Facade, hub: KubeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kube_calls, "PAGE", 2)
    monkeypatch.setattr(kube_objects, "_SLICE", 1)
    for n in range(4):
        hub.create(Ref(MANIFEST_WORK, f"c1/w{n}"), work())
    done: list[str] = []
    decode, call = hub.calls.reader.object, hub.session.call

    def decoded(kind: Kind, raw: Any) -> Obj:
        done.append("decode")
        return decode(kind, raw)

    def asked(*words: Any) -> Any:
        done.append("ask")
        return call(*words)

    monkeypatch.setattr(hub.calls.reader, "object", decoded)
    monkeypatch.setattr(hub.session, "call", asked)

    assert len(hub.list(MANIFEST_WORK).items) == 4
    assert done == ["ask", "decode", "ask", "decode", "decode", "decode"]


def test_whoever_is_near_the_server_has_it_compress_nothing(facade: Facade, tmp_path: Path) -> None:
    near = KubeHub(Access(str(facade.kubeconfig(tmp_path))), times=PATIENT, compressed=False)
    near.list(MANIFEST_WORK)
    near.close()

    assert facade.asked[-1].headers["Accept-Encoding"] == "identity"


# Connections and threads


def test_a_closed_hub_answers_nothing_and_leaves_no_thread(facade: Facade, tmp_path: Path) -> None:
    before = threading.active_count()
    hub = KubeHub(Access(str(facade.kubeconfig(tmp_path))))
    hub.watch(CONFIG_MAP, 0, lambda event: None)
    hub.list(CONFIG_MAP)
    hub.close()
    hub.close()

    assert threading.active_count() <= before, "one of an earlier test may have ended meanwhile"
    with pytest.raises(Unavailable):
        hub.get(WORK)
    hub.watch(CONFIG_MAP, 0, lambda event: None)()


def test_a_server_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    with serving() as facade:
        kubeconfig = facade.kubeconfig(tmp_path)
    hub = KubeHub(Access(str(kubeconfig)), times=PATIENT, patience=0.3)

    with pytest.raises(Unavailable):
        hub.create(WORK, work())
    hub.close()


def test_the_clients_private_parts_are_as_we_use_them(facade: Facade, tmp_path: Path) -> None:
    """Holds for kubernetes >=37,<38; a release that changes it must be looked at."""
    session = Session(Access(str(facade.kubeconfig(tmp_path))))
    http = session._http
    try:
        assert type(http) is aiohttp.ClientSession
        assert http.trust_env is False
        assert isinstance(http.connector, aiohttp.TCPConnector)
        assert http.connector.limit == 128
        assert session._credentials.configuration.retries is None
    finally:
        session.close()
    assert http.closed
