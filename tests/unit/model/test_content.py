import copy
import json
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollout.api.defaults import with_defaults
from rollout.model.content import content_hash, normal_spec
from rollout.model.kinds import Obj


def manifest(**metadata: Any) -> Obj:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", **metadata},
        "spec": {"template": {"metadata": {"labels": {"app": "web"}}, "spec": {}}},
    }


def spec(**more: Any) -> Obj:
    return {"workload": {"manifests": [manifest()]}, **more}


IDENTIFIER = {"resource": "deployments", "name": "web"}


def config(**more: Any) -> Obj:
    return spec(manifestConfigs=[{"resourceIdentifier": IDENTIFIER, **more}])


def apply_with(**fields: Any) -> Obj:
    return config(updateStrategy={"type": "ServerSideApply", "serverSideApply": fields})


SAME = {
    "delete policy": (
        spec(deleteOption={}),
        spec(deleteOption={"propagationPolicy": "Foreground"}),
    ),
    "update strategy": (config(updateStrategy={}), config(updateStrategy={"type": "Update"})),
    "scrape type": (config(), config(feedbackScrapeType="Poll")),
    "server-side apply": (apply_with(), apply_with(force=False, fieldManager="work-agent")),
    "null fields": (apply_with(), apply_with(force=None, fieldManager=None, ignoreFields=None)),
    "ignored fields": (
        apply_with(ignoreFields=[{"jsonPaths": [".a"]}]),
        apply_with(
            ignoreFields=[{"condition": "OnSpokePresent", "jsonPaths": [".a"], "jsonPointers": []}]
        ),
    ),
    "empty lists": (spec(), spec(manifestConfigs=[])),
    "null objects": (spec(), spec(manifestConfigs=None, deleteOption=None, executor=None)),
    "empty rules": (config(), config(conditionRules=[], feedbackRules=None)),
    "empty strings": (
        config(),
        spec(
            manifestConfigs=[{"resourceIdentifier": {**IDENTIFIER, "group": "", "namespace": ""}}]
        ),
    ),
    "rule texts": (
        config(conditionRules=[{"condition": "Complete", "type": "WellKnownConditions"}]),
        config(
            conditionRules=[
                {
                    "condition": "Complete",
                    "type": "WellKnownConditions",
                    "celExpressions": [],
                    "message": "",
                    "messageExpression": "",
                }
            ]
        ),
    ),
    "workload": ({}, {"workload": {}}),
    "no manifests": ({}, {"workload": {"manifests": []}}),
    "null creation": (spec(), {"workload": {"manifests": [manifest(creationTimestamp=None)]}}),
}


@pytest.mark.parametrize("case", SAME)
def test_what_a_server_fills_in_does_not_change_the_content(case: str) -> None:
    ours, theirs = SAME[case]
    assert content_hash(ours) == content_hash(theirs)


def test_a_null_creation_time_in_the_pod_template_does_not_count_either() -> None:
    theirs = copy.deepcopy(spec())
    theirs["workload"]["manifests"][0]["spec"]["template"]["metadata"]["creationTimestamp"] = None
    theirs["workload"]["manifests"][0]["metadata"]["creationTimestamp"] = None
    assert content_hash(theirs) == content_hash(spec())


DIFFERENT = {
    "a manifest value": {"workload": {"manifests": [manifest(namespace="x")]}},
    "an empty map in a manifest": {"workload": {"manifests": [manifest(labels={})]}},
    "a null in a manifest": {"workload": {"manifests": [manifest(labels=None)]}},
    "a creation time": {
        "workload": {"manifests": [manifest(creationTimestamp="2026-01-01T00:00:00Z")]}
    },
    "one manifest more": {"workload": {"manifests": [manifest(), manifest(name="b")]}},
    "an orphan": spec(deleteOption={"propagationPolicy": "Orphan"}),
    "a time to live of 0": spec(deleteOption={"ttlSecondsAfterFinished": 0}),
    "an executor": spec(executor={"subject": {"type": "ServiceAccount"}}),
    "a strategy that is written": config(updateStrategy={}),
    "a configuration": config(),
    "watching": config(feedbackScrapeType="Watch"),
    "forcing": apply_with(force=True),
    "an unknown field": spec(somethingNew=1),
}


def test_everything_that_means_something_changes_the_content() -> None:
    hashes = {name: content_hash(value) for name, value in {**DIFFERENT, "plain": spec()}.items()}
    assert len(set(hashes.values())) == len(hashes)


def test_the_hash_is_sixteen_hex_digits_and_stable() -> None:
    found = content_hash(spec())
    assert len(found) == 16
    assert set(found) <= set(string.hexdigits)
    assert found == content_hash(json.loads(json.dumps(spec())))


def test_the_content_is_known_for_ever() -> None:
    """Records and annotations of an earlier release must stay comparable."""
    assert content_hash(config(updateStrategy={}, feedbackScrapeType="Watch")) == "f9a5123117ff39aa"


def test_manifests_are_shared_not_copied() -> None:
    original = spec()
    assert normal_spec(original)["workload"]["manifests"][0] is original["workload"]["manifests"][0]


SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3)
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=10,
)
MANIFESTS = st.lists(
    st.fixed_dictionaries(
        {
            "metadata": st.fixed_dictionaries(
                {"name": st.text(max_size=3)}, optional={"creationTimestamp": SCALARS}
            )
        },
        optional={"spec": JSON, "data": JSON},
    ),
    max_size=3,
)
STRATEGIES = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["Update", "ServerSideApply", "ReadOnly"]),
        "serverSideApply": st.fixed_dictionaries(
            {},
            optional={
                "force": st.booleans(),
                "ignoreFields": st.lists(
                    st.fixed_dictionaries({}, optional={"jsonPaths": st.lists(st.just(".a"))})
                ),
            },
        ),
    },
)
SPECS = st.fixed_dictionaries(
    {},
    optional={
        "workload": st.fixed_dictionaries({}, optional={"manifests": MANIFESTS}),
        "deleteOption": st.fixed_dictionaries(
            {}, optional={"propagationPolicy": st.sampled_from(["Foreground", "Orphan"])}
        ),
        "manifestConfigs": st.lists(
            st.fixed_dictionaries(
                {"resourceIdentifier": st.just(IDENTIFIER)}, optional={"updateStrategy": STRATEGIES}
            ),
            max_size=2,
        ),
        "unknown": JSON,
    },
)


def reordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: reordered(value[name]) for name in reversed(value)}
    return [reordered(item) for item in value] if isinstance(value, list) else value


@given(SPECS)
def test_defaults_and_order_never_change_the_content(value: Obj) -> None:
    work = {
        "apiVersion": "work.open-cluster-management.io/v1",
        "kind": "ManifestWork",
        "spec": value,
    }
    before = copy.deepcopy(value)
    found = content_hash(value)

    assert content_hash(with_defaults(work)["spec"]) == found
    assert content_hash(reordered(value)) == found
    assert content_hash(normal_spec(value)) == found
    assert value == before


@given(JSON)
def test_any_json_has_a_content(value: Any) -> None:
    wild = {"workload": value, "manifestConfigs": [value], "deleteOption": value, "executor": value}
    assert len(content_hash(wild)) == 16
