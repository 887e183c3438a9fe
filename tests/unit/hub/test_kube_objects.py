"""What does the hub keep of what a server tells? Equal parts once, and odd objects as they are."""

import json

import pytest

from rollout.errors import Expired, Unavailable
from rollout.hub.kube_answers import error_of
from rollout.hub.kube_objects import ObjectDecoder, Payloads, path_of
from rollout.model.events import Event
from rollout.model.kinds import (
    CONFIG_MAP,
    MANAGED_CLUSTER,
    MANIFEST_WORK,
    PLACEMENT_DECISION,
    REPLICA_SET,
    ROLLOUT_ANALYSIS_RUN,
    ROLLOUT_RECORD,
    ROLLOUT_REVISION,
    Kind,
    Obj,
    Ref,
)
from rollout.model.ownership import writer_of
from rollout.model.problems import TOO_DEEP
from rollout.model.spec_hash import spec_hash


def test_equal_payloads_are_one_object_and_bounded() -> None:
    payloads = Payloads(most_bytes=40)
    first = payloads.of(b'{"a": 1}')

    assert payloads.of(b'{"a": 1}') is first
    for n in range(10):
        payloads.of(b'{"b": %d}' % n)
    assert payloads.of(b'{"a": 1}') is not first
    assert payloads.of(b'{"a": 1}') == first


def test_a_null_is_a_payload_and_counted_once() -> None:
    payloads = Payloads(most_bytes=100)
    first = payloads.of(b'{"a": 1}')

    assert {payloads.of(b"null") for _ in range(100)} == {None}
    assert payloads.of(b'{"a": 1}') is first


def test_works_of_one_template_share_their_spec_and_nothing_else() -> None:
    reader = ObjectDecoder()
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
    reader = ObjectDecoder()
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
    reader = ObjectDecoder()
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
    obj = ObjectDecoder().object(
        MANAGED_CLUSTER, json.dumps({"metadata": {"name": "c"}, **more}).encode()
    )

    assert {key: obj.get(key) for key in ("spec", "status")} == {
        "spec": more.get("spec"),
        "status": more.get("status"),
    }


@pytest.mark.parametrize("status", [None, {}, {"decisions": None}, {"decisions": [], "more": 1}])
def test_a_page_that_names_nobody_or_says_more_is_read_whole(status: Obj | None) -> None:
    said = {"metadata": {"name": "p-1"}, **({} if status is None else {"status": status})}
    obj = ObjectDecoder().object(PLACEMENT_DECISION, json.dumps(said).encode())

    assert obj.get("status") == status


@pytest.mark.parametrize(
    "text",
    [
        b'{"metadata":{"name":"w","labels":{"a":1}},"spec":7,"extra":[1]}',
        b'{"metadata":{"name":"w","generation":"x","managedFields":[]},"status":"odd"}',
    ],
)
def test_an_object_of_unexpected_shape_is_read_as_it_is(text: bytes) -> None:
    obj = ObjectDecoder().object(MANIFEST_WORK, text)

    assert obj["metadata"]["name"] == "w"
    assert obj["kind"] == "ManifestWork"
    assert "managedFields" not in obj["metadata"]


@pytest.mark.parametrize("kind", [ROLLOUT_RECORD, ROLLOUT_REVISION, ROLLOUT_ANALYSIS_RUN])
def test_who_wrote_what_is_the_engines_alone_can_be_told(kind: Kind) -> None:
    text = b'{"metadata":{"name":"r","managedFields":[{"manager":"mallory","time":"2026-01-01"}]}}'

    assert writer_of(ObjectDecoder().object(kind, text)) == "mallory"


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


DEEP = b'{"a":' * 5_000 + b"[1]" + b"}" * 5_000


def _deep(name: bytes) -> bytes:
    return (
        b'{"metadata":{"name":"%s","namespace":"t","resourceVersion":"5","labels":{"a":"b"},'
        b'"managedFields":[{"fieldsV1":%s}]},"spec":{"x":%s},"status":{"conditions":[]}}'
    ) % (name, DEEP, DEEP)


@pytest.mark.parametrize("kind", [REPLICA_SET, MANIFEST_WORK, MANAGED_CLUSTER, CONFIG_MAP])
def test_of_an_object_that_is_nested_too_deeply_all_else_is_read(kind: Kind) -> None:
    obj = ObjectDecoder().object(kind, _deep(b"w"))

    assert obj == {
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "metadata": {
            "name": "w",
            "namespace": "t",
            "resourceVersion": "5",
            "labels": {"a": "b"},
        },
        "spec": TOO_DEEP,
        "status": {"conditions": []},
    }


def test_an_object_that_is_nested_too_deeply_hides_no_other_in_a_list() -> None:
    other = b'{"metadata":{"name":"v","resourceVersion":"4"},"spec":{"a":"}\\"{"}}'
    text = b'{"metadata":{"resourceVersion":"9","continue":"t"},"items":[%s, %s ,%s]}'
    page = ObjectDecoder().page(REPLICA_SET, text % (other, _deep(b"w"), other))

    assert (page.version, page.token) == (9, "t")
    first, deep, last = page.objects()
    assert first == last
    assert first["spec"] == {"a": '}"{'}
    assert deep["spec"] == TOO_DEEP


def test_an_event_of_an_object_that_is_nested_too_deeply_is_read() -> None:
    event = ObjectDecoder().line(REPLICA_SET, b'{"type":"ADDED","object":%s}' % _deep(b"w"))

    assert isinstance(event, Event)
    assert (event.ref, event.version) == (Ref(REPLICA_SET, "t/w"), 5)
    assert event.obj["spec"] == TOO_DEEP


@pytest.mark.parametrize(
    "text",
    [
        DEEP[:-1],
        DEEP + b"}",
        b"[" + DEEP + b"]",
        b'{"items":%s}' % DEEP,
        b'{"metadata":7,"object":7,"items":[%s]}' % DEEP,
    ],
)
def test_what_is_nested_too_deeply_and_is_no_object_list_or_event_is_refused(text: bytes) -> None:
    reader = ObjectDecoder()
    for read in (reader.object, reader.page, reader.line):
        with pytest.raises(Unavailable):
            read(REPLICA_SET, text)


def test_what_is_nested_too_deeply_has_no_hash() -> None:
    with pytest.raises(TypeError):
        spec_hash(ObjectDecoder().object(CONFIG_MAP, _deep(b"w")))


def test_an_answer_that_is_nested_too_deeply_is_told_by_its_status() -> None:
    assert isinstance(error_of("get it", 500, b'{"message":%s}' % DEEP), Unavailable)
