"""Does a real API server take every object that the Helm chart makes?"""

import json

import pytest

from rollout.hub.kube import KubeHub
from rollout.hub.kube_objects import path_of
from tests.kube.processes import SYSTEM, kind_of
from tests.kube.setting import PATIENCE, namespace
from tests.package.test_chart import rendered

pytestmark = pytest.mark.kube

TOO_NEW = {"PodDisruptionBudget"}
"""policy/v1 came with Kubernetes 1.21; the server of the tests is older."""


def test_every_object_of_the_chart_is_taken(admin: KubeHub) -> None:
    """By server-side apply without effect: it refuses fields that a kind does not have. What another test
    applied by the same names is no conflict.
    """
    namespace(admin, SYSTEM)
    found = rendered({"dashboard": {"enabled": True}, "components": {"execute-as": True}})

    refused = {}
    for key, obj in found.items():
        if obj["kind"] in TOO_NEW:
            continue
        meta = obj["metadata"]
        path = path_of(kind_of(obj), meta.get("namespace", ""), meta["name"])
        answer = admin.session.run(
            admin.session.call(
                "PATCH",
                f"{path}?dryRun=All&fieldManager=helm&force=true",
                json.dumps(obj).encode(),
                "application/apply-patch+yaml",
            ),
            PATIENCE,
        )
        if answer.status not in (200, 201):
            refused[key] = answer.body

    assert refused == {}
    assert {"Deployment/rollout-dashboard", "NetworkPolicy/rollout-dashboard"} <= set(found)
