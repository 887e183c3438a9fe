"""Checks of `rollout doctor`: whether the controller may do what it does."""

import json
from collections.abc import Iterable, Iterator

from rollout.api.addon import decode_addon
from rollout.cli.contention import MANAGER_PATH
from rollout.cli.diagnosis import CheckResult, Level, Send, ask
from rollout.errors import Denied, Gone
from rollout.hub.kube_objects import path_of
from rollout.model.addon import Resource
from rollout.model.kinds import CLUSTER_MANAGEMENT_ADDON, REPLICA_SET, Obj
from rollout.runtime.permissions import EXECUTORS, FOLLOW, Permission


def check_permissions(
    send: Send, permissions: Iterable[Permission], namespace: str, account: str
) -> Iterator[CheckResult]:
    """Is everything allowed that a controller does?

    Args:
        namespace: where the lease lies.
        account: the service account ``ns/name`` that is asked about; "" for whoever asks.
    """
    yield from _findings(
        send,
        permissions,
        namespace,
        account,
        all_of_it="do all that a controller does",
        fix="apply the ClusterRoles and the Role of manifests/standalone, or of manifests/on-ocm"
        " with the components that are in use, and bind them to the service account",
    )


def check_configurations(send: Send, account: str) -> Iterator[CheckResult]:
    """May the objects that configure add-ons be read? Of whatever kind these are.

    Looked at are the kinds that add-ons support and refer to themselves.
    """
    try:
        items = ask(send, path_of(CLUSTER_MANAGEMENT_ADDON)).get("items") or ()
    except Gone:
        return  # a hub may do without add-ons
    kinds: set[Resource] = set()
    for obj in items:
        addon = decode_addon(obj)
        used = {ref.resource for ref in addon.defaults}
        used |= {ref.resource for each in addon.placements or () for ref in each.configs}
        kinds |= used.intersection(addon.supported)
    why = "configurations of add-ons"
    if kinds:
        yield from _findings(
            send,
            [Permission(kind.group, kind.resource, FOLLOW, why) for kind in sorted(kinds)],
            "",
            account,
            all_of_it="read what configures add-ons",
            fix="grant list and watch on these with a ClusterRole of your own"
            " (docs/kubernetes.md, Rights)",
        )


def check_executors(send: Send, account: str) -> Iterator[CheckResult]:
    """May works be written that name an executor? OCM's webhook asks, where it is and one is named."""
    try:
        ask(send, MANAGER_PATH)
        items = ask(send, path_of(REPLICA_SET)).get("items") or ()
    except Gone:
        return
    named = [obj for obj in items if (_template(obj).get("executor") or {}).get("subject")]
    if named:
        meta = named[0]["metadata"]
        yield from _findings(
            send,
            EXECUTORS,
            "",
            account,
            all_of_it=f"write works that name an executor, as {meta['namespace']}/{meta['name']} does",
            fix="add manifests/components/execute-as; whoever may write a workload then acts as the"
            " executor that it names (docs/security.md, Executors)",
        )


def _template(workload: Obj) -> Obj:
    found: Obj = (workload.get("spec") or {}).get("manifestWorkTemplate") or {}
    return found


def _findings(
    send: Send,
    permissions: Iterable[Permission],
    namespace: str,
    account: str,
    *,
    all_of_it: str,
    fix: str,
) -> Iterator[CheckResult]:
    who = f"service account {account}" if account else "the user of this kubeconfig"
    try:
        refused = list(_refused(send, permissions, namespace, account))
    except Denied as error:
        yield CheckResult(
            "permissions",
            Level.NOTE,
            f"cannot find out what {who} may do: {error}",
            "run as somebody who may create subjectaccessreviews",
        )
        return
    if refused:
        what = f"{who} may not {', '.join(refused)}"
        yield CheckResult("permissions", Level.PROBLEM, what, fix)
    else:
        yield CheckResult("permissions", Level.OK, f"{who} may {all_of_it}")


def _refused(
    send: Send, permissions: Iterable[Permission], namespace: str, account: str
) -> Iterator[str]:
    for permission in permissions:
        for verb in permission.verbs:
            if not _may(send, permission, verb, namespace, account=account):
                place = f" in namespace {namespace}" if permission.here else ""
                target = f"{permission.resource}.{permission.group}".rstrip(".")
                yield f"{verb} {target}{place}"


def _may(send: Send, permission: Permission, verb: str, namespace: str, account: str) -> bool:
    resource, _, sub = permission.resource.partition("/")
    attributes = {
        "group": permission.group,
        "resource": resource,
        "subresource": sub,
        "verb": verb,
        "namespace": namespace if permission.here else "",
    }
    kind = "SubjectAccessReview" if account else "SelfSubjectAccessReview"
    spec: Obj = {"resourceAttributes": {k: v for k, v in attributes.items() if v}}
    if account:
        place, _, name = account.partition("/")
        spec["user"] = f"system:serviceaccount:{place}:{name}"
        spec["groups"] = [
            "system:serviceaccounts",
            f"system:serviceaccounts:{place}",
            "system:authenticated",
        ]
    question = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}
    answer = json.loads(send("POST", f"/apis/authorization.k8s.io/v1/{kind.lower()}s", question))
    return bool((answer.get("status") or {}).get("allowed"))
