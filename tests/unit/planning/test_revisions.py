"""How a template is kept, and read back."""

import pytest

from rollout.api.replicaset import decode_replicaset
from rollout.model import names
from rollout.model.content import content_hash
from rollout.model.kinds import REPLICA_SET, ROLLOUT_REVISION, Obj, Ref
from rollout.planning.revisions import read_revision, revision_object
from tests.support import make


def kept(name: str = "web", namespace: str = "default", version: str = "1") -> tuple[Ref, Obj]:
    document = make.workload(name, namespace, version=version)
    document["metadata"]["uid"] = "u-1"
    replicaset = decode_replicaset(document)
    content = replicaset.template.content
    return revision_object(Ref(REPLICA_SET, f"{namespace}/{name}"), replicaset, content, 7)


def test_what_was_kept_is_read_back() -> None:
    _, obj = kept()

    found = read_revision(obj)

    assert found is not None
    assert (found.owner, found.number) == (Ref(REPLICA_SET, "default/web"), 7)
    assert found.content == content_hash(make.template())
    assert found.template == make.template()


def test_it_is_a_rollout_revision_beside_its_owner() -> None:
    ref, obj = kept()

    assert (ref.kind, ref.namespace) == (ROLLOUT_REVISION, "default")
    assert (obj["apiVersion"], obj["kind"]) == ("rollout-engine.io/v1alpha1", "RolloutRevision")
    (owner,) = obj["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"]) == ("ManifestWorkReplicaSet", "web", "u-1")
    assert owner["blockOwnerDeletion"] is False


def test_each_template_of_each_workload_has_a_name_of_its_own_that_stays() -> None:
    found = {
        kept(name, namespace, version)[0].key
        for name in ("web", "n" * 253)
        for namespace in ("one", "two")
        for version in ("1", "2")
    }

    assert len(found) == 8
    assert all(len(key.rpartition("/")[2]) <= 63 for key in found)
    assert kept()[0] == kept()[0]


@pytest.mark.parametrize(
    "spoilt",
    [
        pytest.param({"labels": {}}, id="without our label: somebody else's"),
        pytest.param({"annotations": {names.OWNER: "default/web"}}, id="without its content"),
        pytest.param({"annotations": {names.REVISION: "abc"}}, id="without its owner"),
    ],
)
def test_what_is_not_ours_is_no_revision(spoilt: Obj) -> None:
    _, obj = kept()

    assert read_revision({**obj, "metadata": {**obj["metadata"], **spoilt}}) is None


@pytest.mark.parametrize("template", [None, "text", []])
def test_a_revision_without_a_template_is_none(template: object) -> None:
    assert read_revision({**kept()[1], "template": template}) is None


def test_a_number_that_is_none_counts_as_the_oldest() -> None:
    found = read_revision({**kept()[1], "revision": "seven"})

    assert found is not None
    assert found.number == 0
