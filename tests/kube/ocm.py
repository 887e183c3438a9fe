"""What would OCM's own controllers have written here? Their objects, made by hand.

Source: OCM placement spec 3.1 to 3.5, ManifestWorkReplicaSet spec 4 and 5.4. `same_to_ocm` is the
comparison by which they tell whether a work has to be written.
"""

import copy
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from rollout.model import names
from rollout.model.kinds import MANIFEST_WORK, PLACEMENT, PLACEMENT_DECISION, REPLICA_SET, Obj, Ref
from rollout.sim.agents import FINALIZER as AGENT_FINALIZER
from tests.kube.setting import put
from tests.kube.tenants import Tenant
from tests.support import make

PAGE = 100


def _condition(kind: str, status: str, reason: str, message: str = "") -> Obj:
    return make.condition(kind, status, reason=reason, message=message)


def decide(tenant: Tenant, *groups: tuple[str, Sequence[str]], placement: str = "p") -> None:
    """PlacementDecisions and the Placement's status: a name and the clusters of each group."""
    ref = tenant.ref(PLACEMENT, placement)
    owner = tenant.hub.get(ref)
    told: list[tuple[str, int, list[str]]] = []
    number = 0
    for index, (group, clusters) in enumerate(groups):
        pages = [clusters[at : at + PAGE] for at in range(0, len(clusters), PAGE)] or [[]]
        found = []
        for page in pages:
            number += 1
            name = f"{placement}-decision-{number}"
            obj = make.decision(page, placement, tenant.name, index=index, group=group)
            obj["metadata"] |= {"name": name, "ownerReferences": [_controlled_by(owner)]}
            put(tenant.hub, obj)
            found.append(name)
        told.append((group, len(clusters), found))
    conditions = [
        _condition(
            names.PLACEMENT_MISCONFIGURED,
            "False",
            "Succeedconfigured",
            "Placement configurations check pass",
        ),
        _condition(
            names.PLACEMENT_SATISFIED,
            "True",
            "AllDecisionsScheduled",
            "All cluster decisions scheduled",
        ),
    ]
    tenant.hub.patch_status(ref, {"status": {**make.told(*told), "conditions": conditions}})


def _controlled_by(owner: Obj) -> Obj:
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def deploy(tenant: Tenant, **fields: Any) -> Ref:
    """A workload that their controller has seen: with its finalizer, and a status."""
    ref = tenant.deploy(**fields)
    tenant.hub.patch(ref, {"metadata": {"finalizers": [names.REPLICASET_FINALIZER]}})
    return ref


def report(tenant: Tenant, clusters: int, succeeded: int) -> None:
    """The workload's status as they write it, without a generation."""
    done = clusters == succeeded
    summary = dict.fromkeys(("total", "applied", "available"), succeeded)
    conditions = [
        _condition(names.PLACEMENT_VERIFIED, "True", "AsExpected"),
        _condition(
            names.PLACEMENT_ROLLED_OUT,
            "True" if done else "False",
            "Complete" if done else "Progressing",
        ),
        _condition(names.MANIFESTWORK_APPLIED, "True", "AsExpected"),
    ]
    tenant.hub.patch_status(
        tenant.ref(REPLICA_SET, "web"), {"status": {"summary": summary, "conditions": conditions}}
    )


def apply(tenant: Tenant, clusters: Sequence[str], version: str, *, done: bool = True) -> None:
    """A work on each cluster, created or overwritten, and what its agent says once it is done."""

    def one(cluster: str) -> None:
        work = works.get(cluster)
        spec = make.template(version)
        if work is None:
            obj = make.work(cluster, f"{tenant.name}.web", name=f"web{hash(cluster) % 36**5:05x}")
            obj["metadata"]["labels"] |= labels
            obj["metadata"]["finalizers"] = [AGENT_FINALIZER]
            work = tenant.hub.create(
                Ref(MANIFEST_WORK, f"{cluster}/{obj['metadata']['name']}"), {**obj, "spec": spec}
            )
        ref = Ref(MANIFEST_WORK, f"{cluster}/{work['metadata']['name']}")
        work = tenant.hub.patch(ref, {"spec": spec})
        if done:
            tenant.hub.patch_status(ref, {"status": {"conditions": said(work)}})

    works = tenant.works()
    labels = tenant.hub.get(tenant.ref(REPLICA_SET, "web"))["metadata"].get("labels") or {}
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(one, clusters))


def said(work: Obj) -> list[Obj]:
    """What an agent says of a work that it has applied, and that runs."""
    generation = work["metadata"]["generation"]
    states = {names.APPLIED: "True", names.AVAILABLE: "True", names.PROGRESSING: "False"}
    return [
        make.condition(kind, status, generation)
        for kind, status in {**states, names.DEGRADED: "False"}.items()
    ]


def same_to_ocm(work: Obj, template: Mapping[str, Any]) -> bool:
    """Whether their controller would leave the work as it is: its spec is the template's."""
    return _normal(work["spec"]) == _normal(template)


def _normal(spec: Mapping[str, Any]) -> str:
    found = copy.deepcopy(dict(spec))
    for manifest in found.get("workload", {}).get("manifests", []):
        manifest["metadata"].pop("creationTimestamp", None)
    return json.dumps(found, sort_keys=True)


def has_succeeded(work: Obj) -> bool:
    """Whether their controller counts the cluster as succeeded."""
    generation = work["metadata"]["generation"]
    status = {
        c["type"]: c["status"]
        for c in (work.get("status") or {}).get("conditions") or []
        if c.get("observedGeneration") == generation
    }
    return (status.get(names.APPLIED), status.get(names.PROGRESSING)) == ("True", "False")


def decisions(tenant: Tenant) -> list[Obj]:
    label = {names.PLACEMENT_LABEL: "p"}
    return list(tenant.hub.list(PLACEMENT_DECISION, tenant.name, label).items)
