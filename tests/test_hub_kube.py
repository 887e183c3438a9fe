"""The hub over HTTP on a server that fails in every way: errors, patience, credentials, proxies."""

import json
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from rollout.clock import SteadyClock
from rollout.errors import (
    AlreadyExists,
    ConfigError,
    Conflict,
    Denied,
    Expired,
    Gone,
    HubError,
    Invalid,
    Throttled,
    Unavailable,
)
from rollout.hub import kube_access, kube_calls
from rollout.hub.kube import KubeHub
from rollout.hub.kube_access import Access
from rollout.hub.kube_answers import error_of
from rollout.hub.kube_objects import Payloads, Reader, path_of
from rollout.hub.kube_session import Session, Times
from rollout.model.kinds import (
    CONFIG_MAP,
    MANAGED_CLUSTER,
    MANIFEST_WORK,
    PLACEMENT_DECISION,
    Obj,
    Ref,
)
from tests.kube.contract import MAP, WORK, work
from tests.kube.facade import Act, Facade, cut, delay, refusal, refuse, say, serving

QUICK = Times(connect=0.5, read=0.4, write=0.4, silence=0.4)


@pytest.fixture
def facade() -> Iterator[Facade]:
    with serving() as found:
        yield found


@pytest.fixture
def hub(facade: Facade, tmp_path: Path) -> Iterator[KubeHub]:
    hub = KubeHub(Access(str(facade.kubeconfig(tmp_path))), times=QUICK, patience=1.5)
    yield hub
    hub.close()


# Errors


@pytest.mark.parametrize(
    ("act", "expected"),
    [
        (refuse(400, "BadRequest"), Invalid),
        (refuse(401, "Unauthorized"), Denied),
        (refuse(403, "Forbidden"), Denied),
        (refuse(403, "Forbidden", "forbidden because it is being terminated"), Invalid),
        (refuse(404, "NotFound"), Gone),
        (refuse(409, "AlreadyExists"), AlreadyExists),
        (refuse(409, "Conflict"), Conflict),
        (refuse(413, "RequestEntityTooLarge"), Invalid),
        (refuse(422, "Invalid"), Invalid),
        (refuse(429, "TooManyRequests"), Throttled),
        (refuse(500, "InternalError"), Unavailable),
        (refuse(500, "", "etcdserver: request is too large"), Invalid),
        (refuse(503, "ServiceUnavailable"), Unavailable),
        (refuse(504, "Timeout"), Unavailable),
        (say(b"<html>Bad Gateway</html>", 502), Unavailable),
        (say(b"\xff\x00", 500), Unavailable),
        (say(b"", 200), Unavailable),
        (say(b"[]", 200), Unavailable),
        (say(b'{"metadata": 7}', 200), Unavailable),
        (cut, Unavailable),
        (delay(0.8), Unavailable),
    ],
    ids=[
        "400",
        "401",
        "403",
        "403 terminating",
        "404",
        "409 exists",
        "409",
        "413",
        "422",
        "429",
        "500",
        "500 too large",
        "503",
        "504",
        "a proxy's page",
        "no text",
        "nothing",
        "a list",
        "no metadata",
        "reset",
        "late",
    ],
)
def test_each_answer_is_the_error_that_says_who_must_act(
    facade: Facade, hub: KubeHub, act: Act, expected: type[HubError]
) -> None:
    facade.script("create", act)

    with pytest.raises(expected) as caught:
        hub.create(WORK, work())

    assert type(caught.value) is expected


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


def test_reads_are_repeated_while_the_server_cannot_answer(facade: Facade, hub: KubeHub) -> None:
    hub.create(WORK, work())
    facade.script("get", refuse(503), cut, delay(0.8))
    facade.script("list", cut, refuse(429, Retry_After="1"))

    assert hub.get(WORK)["metadata"]["name"] == "web"
    clock = SteadyClock()
    began = clock.now()
    assert len(hub.list(MANIFEST_WORK).items) == 1
    assert clock.now() - began >= timedelta(seconds=1)


def test_patience_ends_with_what_was_wrong(facade: Facade, hub: KubeHub) -> None:
    facade.script("list", *(refuse(503, "", "no leader") for _ in range(50)))

    with pytest.raises(Unavailable, match="no leader"):
        hub.list(MANIFEST_WORK)
    assert 3 <= facade.count("list") <= 12


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


def test_a_list_that_always_expires_is_given_up(facade: Facade, hub: KubeHub) -> None:
    facade.script("list", *(refuse(410, "Expired") for _ in range(100)))

    with pytest.raises(Unavailable, match="kept expiring"):
        hub.list(MANIFEST_WORK)


def test_a_kind_that_is_not_served_says_what_to_install(facade: Facade, hub: KubeHub) -> None:
    facade.script("list", *(say(b"404 page not found\n", 404) for _ in range(50)))

    with pytest.raises(Unavailable, match="is the CustomResourceDefinition installed"):
        hub.list(MANIFEST_WORK)


# Connections and threads


def test_a_closed_hub_answers_nothing_and_leaves_no_thread(facade: Facade, tmp_path: Path) -> None:
    before = threading.active_count()
    hub = KubeHub(Access(str(facade.kubeconfig(tmp_path))))
    hub.watch(CONFIG_MAP, 0, lambda event: None)
    hub.list(CONFIG_MAP)
    hub.close()
    hub.close()

    assert threading.active_count() == before
    with pytest.raises(Unavailable):
        hub.get(WORK)
    hub.watch(CONFIG_MAP, 0, lambda event: None)()


def test_a_server_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    with serving() as facade:
        kubeconfig = facade.kubeconfig(tmp_path)
    hub = KubeHub(Access(str(kubeconfig)), times=QUICK, patience=0.3)

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


# Credentials


def test_a_token_goes_with_every_request(facade: Facade, tmp_path: Path) -> None:
    hub = KubeHub(Access(str(facade.kubeconfig(tmp_path, token="abc"))))
    hub.list(CONFIG_MAP)
    hub.create(MAP, {"data": {}})
    hub.close()

    assert {a.headers["Authorization"] for a in facade.asked} == {"Bearer abc"}


def test_a_token_that_ran_out_is_renewed_by_its_plugin_and_the_request_repeated(
    facade: Facade, tmp_path: Path
) -> None:
    plugin = tmp_path / "plugin"
    credential = (
        '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",'
        ' "status": {"token": "token-%s"}}'
    )
    plugin.write_text(
        f"#!/bin/sh\necho x >>{tmp_path}/runs\nprintf '{credential}' $(wc -l <{tmp_path}/runs)\n"
    )
    plugin.chmod(0o755)
    path = facade.kubeconfig(tmp_path)
    user = (
        "{exec: {apiVersion: client.authentication.k8s.io/v1, "
        f"command: {plugin}, interactiveMode: Never}}}}"
    )
    path.write_text(path.read_text().replace("user: {}", f"user: {user}"))
    hub = KubeHub(Access(str(path)))
    hub.list(CONFIG_MAP)
    first = facade.asked[-1].headers["Authorization"]
    time.sleep(1.05)  # noqa: TID251  a plugin is not run twice in a second
    facade.script("create", refuse(401, "Unauthorized"))

    hub.create(MAP, {"data": {}})
    hub.close()

    last = facade.asked[-1].headers["Authorization"]
    assert first.startswith("Bearer token-")
    assert last.startswith("Bearer token-")
    assert last != first
    assert facade.count("create") == 2


@pytest.mark.parametrize(
    ("access", "words"),
    [
        pytest.param(Access("/nowhere/kubeconfig"), "kubeconfig /nowhere", id="no file"),
        pytest.param(Access(None, "nowhere"), "context nowhere", id="no context"),
    ],
)
def test_a_configuration_that_cannot_be_used_says_which(
    access: Access, words: str, tmp_path: Path, facade: Facade, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "kubernetes.aio.config.KUBE_CONFIG_DEFAULT_LOCATION", str(facade.kubeconfig(tmp_path))
    )
    before = threading.active_count()

    with pytest.raises(ConfigError, match=words):
        KubeHub(access if access.kubeconfig else Access(str(tmp_path / "kubeconfig"), "nowhere"))
    assert threading.active_count() == before


def test_in_a_pod_the_service_account_is_used_unless_a_kubeconfig_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = tmp_path / "token"
    token.write_text("pod-token")
    monkeypatch.setattr(kube_access, "_IN_CLUSTER", token)
    monkeypatch.setattr(
        "kubernetes.aio.config.KUBE_CONFIG_DEFAULT_LOCATION", str(tmp_path / "none")
    )

    assert Access().is_in_cluster()
    assert not Access(str(tmp_path / "mine")).is_in_cluster()
    (tmp_path / "none").write_text("")
    assert not Access().is_in_cluster()


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, None),
        ({"HTTPS_PROXY": "http://proxy:3128"}, "http://proxy:3128"),
        ({"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "hub.example.com"}, None),
        ({"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": ".example.com"}, None),
        ({"HTTP_PROXY": "http://proxy:3128"}, None),
    ],
    ids=str,
)
def test_the_environment_names_the_proxy(
    environment: dict[str, str], expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"):
        for spelled in (name, name.lower()):
            monkeypatch.delenv(spelled, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    assert kube_access._proxy_of("https://hub.example.com:6443") == expected


def test_requests_go_through_a_proxy_that_the_kubeconfig_names(tmp_path: Path) -> None:
    with serving() as proxy:
        path = proxy.kubeconfig(tmp_path)
        text = path.read_text().replace(
            f"server: '{proxy.url}'", f"server: 'http://hub.invalid', proxy-url: '{proxy.url}'"
        )
        path.write_text(text)
        hub = KubeHub(Access(str(path)))
        assert hub.list(CONFIG_MAP).items == ()
        hub.close()

        assert proxy.asked[-1].headers["Host"] == "hub.invalid"


# Objects


def test_equal_payloads_are_one_object_and_bounded() -> None:
    payloads = Payloads(most_bytes=40)
    first = payloads.of(b'{"a": 1}')

    assert payloads.of(b'{"a": 1}') is first
    for n in range(10):
        payloads.of(b'{"b": %d}' % n)
    assert payloads.of(b'{"a": 1}') is not first
    assert payloads.of(b'{"a": 1}') == first


def test_works_of_one_template_share_their_spec_and_nothing_else() -> None:
    reader = Reader()
    texts = [
        b'{"metadata":{"name":"w","namespace":"c%d","resourceVersion":"%d","managedFields":[{"x":1}],'
        b'"labels":{"a":"b"}},"spec":{"workload":{"manifests":[{"kind":"X"}]}},"status":{}}'
        % (n, n)
        for n in (1, 2)
    ]
    one, other = (reader.object(MANIFEST_WORK, text) for text in texts)

    assert one["spec"] is other["spec"]
    assert one["metadata"] == {
        "name": "w",
        "namespace": "c1",
        "resourceVersion": "1",
        "labels": {"a": "b"},
    }
    assert one["apiVersion"] == "work.open-cluster-management.io/v1"


def test_pages_of_all_placements_share_their_entries() -> None:
    reader = Reader()
    entries = b'{"clusterName":"c1","reason":"","score":100},{"clusterName":"c2","reason":""}'
    texts = [
        b'{"metadata":{"name":"p-%d","namespace":"ns"},"status":{"decisions":[%s]}}' % (n, entries)
        for n in (1, 2)
    ]
    one, other = (reader.object(PLACEMENT_DECISION, text) for text in texts)

    assert one == {
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "PlacementDecision",
        "metadata": {"name": "p-1", "namespace": "ns"},
        "status": json.loads(b'{"decisions":[%s]}' % entries),
    }
    pairs = zip(one["status"]["decisions"], other["status"]["decisions"], strict=True)
    assert all(mine is theirs for mine, theirs in pairs)


def test_clusters_share_what_they_say_alike() -> None:
    reader = Reader()
    says: Obj = {
        "conditions": [{"type": "HubAcceptedManagedCluster", "status": "True"}],
        "version": {"kubernetes": "v1.33.4"},
        "capacity": {"cpu": 4},
        "clusterClaims": [{"name": "region", "value": "eu"}],
        "odd": None,
    }
    said: list[Obj] = [
        {"metadata": {"name": name}, "spec": {"hubAcceptsClient": True}, "status": says}
        for name in ("c1", "c2")
    ]
    said[1]["status"] = {**says, "conditions": [*says["conditions"], {"type": "Odd"}]}
    one, other = (reader.object(MANAGED_CLUSTER, json.dumps(each).encode()) for each in said)

    head = {"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster"}
    assert [one, other] == [{**head, **each} for each in said]
    assert one["spec"] is other["spec"]
    assert one["status"]["conditions"][0] is other["status"]["conditions"][0]
    assert one["status"]["version"] is other["status"]["version"]


@pytest.mark.parametrize("more", [{}, {"status": None}, {"status": []}, {"spec": None}, {"x": 1}])
def test_a_cluster_that_says_less_or_something_odd_is_read_whole(more: Obj) -> None:
    obj = Reader().object(MANAGED_CLUSTER, json.dumps({"metadata": {"name": "c"}, **more}).encode())

    assert {key: obj.get(key) for key in ("spec", "status")} == {
        "spec": more.get("spec"),
        "status": more.get("status"),
    }


@pytest.mark.parametrize("status", [None, {}, {"decisions": None}, {"decisions": [], "more": 1}])
def test_a_page_that_names_nobody_or_says_more_is_read_whole(status: Obj | None) -> None:
    said = {"metadata": {"name": "p-1"}, **({} if status is None else {"status": status})}
    obj = Reader().object(PLACEMENT_DECISION, json.dumps(said).encode())

    assert obj.get("status") == status


@pytest.mark.parametrize(
    "text",
    [
        b'{"metadata":{"name":"w","labels":{"a":1}},"spec":7,"extra":[1]}',
        b'{"metadata":{"name":"w","generation":"x","managedFields":[]},"status":"odd"}',
    ],
)
def test_an_object_of_unexpected_shape_is_read_as_it_is(text: bytes) -> None:
    obj = Reader().object(MANIFEST_WORK, text)

    assert obj["metadata"]["name"] == "w"
    assert obj["kind"] == "ManifestWork"
    assert "managedFields" not in obj["metadata"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (path_of(CONFIG_MAP), "/api/v1/configmaps"),
        (path_of(CONFIG_MAP, "ns", "a"), "/api/v1/namespaces/ns/configmaps/a"),
        (
            path_of(MANAGED_CLUSTER, None, "c1", "status"),
            "/apis/cluster.open-cluster-management.io/v1/managedclusters/c1/status",
        ),
        (path_of(CONFIG_MAP, "ns", "../x?y"), "/api/v1/namespaces/ns/configmaps/..%2Fx%3Fy"),
    ],
)
def test_paths_are_those_of_the_api(path: str, expected: str) -> None:
    assert path == expected


def test_expiry_is_an_error_of_its_own() -> None:
    assert type(error_of("list", 410, b"")) is Expired
