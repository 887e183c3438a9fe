"""Objects that say something hostile wherever somebody can write, on a hub that admits it."""

import json
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from rollout.clock import Clock
from rollout.hub.base import StateKey
from rollout.hub.sqlite import SqliteHub
from rollout.model import names
from rollout.model.kinds import (
    APPROVAL,
    CALENDAR,
    FREEZE,
    KINDS,
    MANAGED_CLUSTER,
    MANIFEST_WORK,
    REPLICA_SET,
    ROLLOUT_ANALYSIS_RUN,
    ROLLOUT_NOTIFICATION,
    ROLLOUT_REVISION,
    SCORE,
    Kind,
    Obj,
    Ref,
    ref_of,
)
from rollout.model.ownership import owned_by
from tests.support import make

AT = "2026-01-01T00:00:01Z"
WEB = "/rollouts/mwrs/default/web"
RUN = "/analyses/default/evil"
FIELDS: Mapping[str, str] = {
    "asked-by": "/rollouts/mwrs/default/idle",
    "asked-why": "/rollouts/mwrs/default/idle",
    "cause": f"{WEB}",
    "condition-type": WEB,
    "condition-reason": WEB,
    "condition-message": WEB,
    "event-reason": WEB,
    "event-message": WEB,
    "channel": WEB,
    "channel-fault": WEB,
    "agent-says": "/clusters/c00",
    "claim": "/clusters/c00",
    "taint": "/clusters",
    "score": "/clusters/c00",
    "freeze-by": "/consents",
    "freeze-why": "/",
    "approved-by": "/consents",
    "approved-why": "/consents",
    "calendar-fault": "/consents",
    "template": "/analyses",
    "measured-metric": RUN,
    "measured-message": RUN,
    "measured-value": RUN,
    "measured-condition": RUN,
    "run-message": RUN,
}
"""What is hostile, and a page that shows it. Labels, such as the names of decision groups, cannot be."""


def said(field: str) -> str:
    """Markup, steering of terminals and of reading directions, a template, all quotes, a long word."""
    markup = f"<img src=x id={field} onerror=window.hacked=1>"
    return f"{markup}\u202e\x07\x1b\"'`{{{{7*7}}}} שלום {'y' * 120}"


def spoil(path: Path, clock: Clock) -> None:
    """Have everybody say something hostile on the hub of `tests.support.dashboards.documents`."""
    with closing(SqliteHub(path, clock, create=False)) as hub:
        _workloads(hub)
        _clusters(hub)
        _consents(hub)
        _create(hub, _run(hub.get(Ref(REPLICA_SET, "default/web"))))
        told = [
            AT,
            "ManifestWorkReplicaSet",
            "default/web",
            said("event-reason"),
            said("event-message"),
        ]
        hub.put_state(StateKey.TOLD, json.dumps([told]).encode())


def _object(kind: Kind, name: str, spec: Obj, namespace: str = "default", **more: Obj) -> Obj:
    meta = make.meta(name, namespace if kind.namespaced else "")
    return {
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "metadata": meta,
        "spec": spec,
        **more,
    }


def _create(hub: SqliteHub, obj: Obj) -> None:
    ref = ref_of(KINDS[obj["kind"]], obj)
    hub.create(ref, {key: value for key, value in obj.items() if key != "status"})
    if obj.get("status"):
        hub.patch_status(ref, {"status": obj["status"]})


def _workloads(hub: SqliteHub) -> None:
    web, idle = (Ref(REPLICA_SET, f"default/{name}") for name in ("web", "idle"))
    who = {"by": said("asked-by"), "at": AT, "reason": said("asked-why")}
    hub.patch(idle, {"metadata": {"annotations": {names.ASKED: json.dumps({"pause": who})}}})
    hub.patch(
        web,
        {
            "metadata": {
                "annotations": {names.NOTIFY: f"{said('channel')}=on-halted; team=on-halted"}
            }
        },
    )
    condition = {"type": said("condition-type"), "status": "False", "reason": said("condition-reason"),
                 "message": said("condition-message"), "lastTransitionTime": AT}  # fmt: skip
    known = (hub.get(web).get("status") or {}).get("conditions") or []
    hub.patch_status(web, {"status": {"conditions": [*known, condition]}})
    spec = {"workload": {"kind": "ManifestWorkReplicaSet", "name": "web"}, "revision": "r", "id": "i",
            "trigger": "on-halted", "channel": "team", "at": AT, "message": "x"}  # fmt: skip
    status = {"phase": "Pending", "tries": 1, "lastTryAt": AT, "message": said("channel-fault")}
    obj = _object(ROLLOUT_NOTIFICATION, "told", spec, status=status)
    _create(hub, obj)
    for revision in hub.list(ROLLOUT_REVISION).items:
        if revision["metadata"]["ownerReferences"][0]["name"] == "web":
            why = {"metadata": {"annotations": {names.CHANGE_CAUSE: said("cause")}}}
            hub.patch(ref_of(ROLLOUT_REVISION, revision), why)


def _clusters(hub: SqliteHub) -> None:
    first = Ref(MANAGED_CLUSTER, "c00")
    taint = {"key": said("taint"), "effect": "PreferNoSelect", "timeAdded": AT}
    hub.patch(first, {"spec": {"taints": [taint]}})
    claims = [{"name": "x", "value": said("claim")}]
    hub.patch_status(first, {"status": {"clusterClaims": claims}})
    score = _object(
        SCORE, "load", {}, "c00", status={"scores": [{"name": said("score"), "value": 1}]}
    )
    _create(hub, score)
    for work in hub.list(MANIFEST_WORK, "c00").items:
        condition = {"type": "Available", "status": "False", "reason": "x", "lastTransitionTime": AT,
                     "message": said("agent-says"), "observedGeneration": 1}  # fmt: skip
        hub.patch_status(ref_of(MANIFEST_WORK, work), {"status": {"conditions": [condition]}})


def _consents(hub: SqliteHub) -> None:
    windows = [
        {"name": "n", "action": "Deny", "schedule": said("calendar-fault"), "duration": "1h"}
    ]
    decided = {"workload": {"name": "web"}, "revision": "0" * 16, "gate": "*", "decision": "Reject",
               "actor": said("approved-by"), "reason": said("approved-why")}  # fmt: skip
    who = {"actor": said("freeze-by"), "reason": said("freeze-why")}
    for obj in (
        _object(FREEZE, "stop", who),
        _object(APPROVAL, "no", decided),
        _object(CALENDAR, "bad", {"timeZone": "UTC", "windows": windows}),
    ):
        _create(hub, obj)


def _run(workload: Obj) -> Obj:
    measured = {"value": said("measured-value"), "phase": "Failed", "startedAt": AT, "finishedAt": AT,
                "message": said("measured-message")}  # fmt: skip
    metric = {"name": said("measured-metric"), "provider": {"web": {"url": "http://x"}},
              "successCondition": f"{json.dumps(said('measured-condition'))} != ''"}  # fmt: skip
    spec = {"workload": {"kind": "ManifestWorkReplicaSet", "name": "web"}, "revision": "r",
            "template": said("template"), "placement": "p", "attempt": "1", "metrics": [metric]}  # fmt: skip
    results = [{"name": said("measured-metric"), "phase": "Failed", "measurements": [measured]}]
    status = {
        "phase": "Failed",
        "startedAt": AT,
        "message": said("run-message"),
        "metrics": results,
    }
    run = _object(ROLLOUT_ANALYSIS_RUN, "evil", spec, status=status)
    owner = owned_by(Ref(REPLICA_SET, "default/web"), workload["metadata"]["uid"])
    run["metadata"]["ownerReferences"] = [owner]
    return run
