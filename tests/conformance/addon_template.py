"""Rendering of AddOnTemplates and one deploy pass over a ManagedClusterAddOn.

Profile ocm has to give OCM's answer; profile strict another one only in the fields in which a row of the
semantics says that it may (`tests.conformance.addon_template_rows`).

Owners are named in v1alpha1, where OCM names them in v1beta1 (row T27). Not compared: `namespace`, `registrations` and `permissions` of the answers, which are what OCM's
registration controller writes; registration is left to it.
"""

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from rollout.api.addon_template import decode_agent_work, decode_deployment_config, decode_template
from rollout.api.decoding import decode
from rollout.hub.patching import merge
from rollout.model import names
from rollout.model.addon import ClusterAddOn, ConfigRef
from rollout.model.addon_template import AddOnTemplate, DeploymentConfig
from rollout.model.conditions import read_conditions
from rollout.model.content import normal_spec
from rollout.model.kinds import MANAGED_CLUSTER_ADDON, Obj
from rollout.model.writes import Create, Delete, Patch
from rollout.placement.quantity import parse_quantity
from rollout.planning.templates import Unrenderable
from rollout.planning.templates.deploy import DeployInput, DeployWrites, deploy
from rollout.planning.templates.render import rendered
from tests.conformance.addon_template_rows import (
    OF_A_REFUSAL,
    allowed,
    may_be_refused,
    repaired,
    unknown_placeholders,
)
from tests.conformance.suite import Excuse, Json, Vector

UNKNOWN = frozenset({"unknownField", "evil"})
"""Fields of the vectors that the types of apps/v1 do not have; typed clients drop them."""
NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


class Given:
    """The objects of one vector, looked up as the planner does."""

    def __init__(self, given: Json) -> None:
        self.given = given
        found = decode(MANAGED_CLUSTER_ADDON, given["addon"])
        assert isinstance(found, ClusterAddOn)
        self.addon = found

    def template(self, name: str) -> AddOnTemplate | None:
        given = self.given["template"]
        return decode_template(given) if given["metadata"]["name"] == name else None

    def deployment_config(self, ref: ConfigRef) -> DeploymentConfig | None:
        for obj in self.given["configs"]:
            meta = obj["metadata"]
            if (meta.get("namespace", ""), meta["name"]) == (ref.namespace, ref.name):
                return decode_deployment_config(obj)
        return None

    def registries(self, cluster: str) -> str:
        annotations = self.given["cluster"]["metadata"].get("annotations") or {}
        return str(annotations.get(names.IMAGE_REGISTRIES, ""))

    def subject(self, *, strict: bool = False) -> DeployInput:
        default = self.given.get("defaultTemplate") or self.given["template"]
        cluster = self.given["cluster"]
        conditions = read_conditions((cluster.get("status") or {}).get("conditions"))
        available = conditions.get(names.CLUSTER_AVAILABLE)
        return DeployInput(
            addon=self.addon,
            works=[decode_agent_work(work) for work in self.given["works"] or ()],
            sources=self,
            strict=strict,
            default_template=decode_template(default),
            cluster_deleting="deletionTimestamp" in cluster["metadata"],
            cluster_is_silent=available is not None and available.status == "Unknown",
        )

    def after(self, outcome: DeployWrites) -> Json:
        """How everything stands once the pass is written down."""
        works = {_key(work): work for work in self.given["works"] or ()}
        actions: set[str] = set()
        for write in (*outcome.works, *outcome.gone):
            if isinstance(write, Create):
                works[write.ref.key] = write.obj
                actions.add(f"create manifestworks {write.ref.key}")
            elif isinstance(write, Delete):
                del works[write.ref.key]
                actions.add(f"delete manifestworks {write.ref.key}")
            elif isinstance(write, Patch):
                before = works[write.ref.key]
                works[write.ref.key] = merge(before, write.changes)
                if _shown(before, alike=True) != _shown(works[write.ref.key], alike=True):
                    actions.add(f"patch manifestworks {write.ref.key}")
        addon = merge(self.given["addon"], {"status": outcome.status})
        if outcome.finalizers is not None:
            addon = merge(addon, {"metadata": {"finalizers": outcome.finalizers}})
            actions.add(f"update managedclusteraddons {self.addon.key}")
        elif outcome.status:
            actions.add(f"patch managedclusteraddons/status {self.addon.key}")
        status = addon.get("status") or {}
        return {
            "actions": sorted(actions),
            "finalizers": addon["metadata"].get("finalizers"),
            "healthCheckMode": (status.get("healthCheck") or {}).get("mode"),
            "conditions": sorted(
                (
                    c for c in status.get("conditions") or () if c["type"] != names.RENDERED
                ),  # row T22
                key=lambda c: c["type"],
            ),
            "works": [_shown(work) for _, work in sorted(works.items())],
        }


def _key(work: Obj) -> str:
    return f"{work['metadata']['namespace']}/{work['metadata']['name']}"


def _shown(work: Obj, *, alike: bool = False) -> Json:
    """The parts of a work that are compared; with ``alike`` its manifests in their normal form."""
    meta, spec = work["metadata"], normal_spec(work["spec"]) if alike else work["spec"]
    manifests = (spec.get("workload") or {}).get("manifests") or []
    return {
        "name": meta["name"],
        **{field: meta.get(field) for field in ("labels", "annotations", "ownerReferences")},
        **{field: spec.get(field) for field in ("deleteOption", "executor", "manifestConfigs")},
        "manifests": [normal(manifest) for manifest in manifests] if alike else manifests,
    }


class AddOnTemplateSuite:
    """`addon_template`."""

    name = "addon_template"
    exceptions: Sequence[Excuse] = ()

    def run(self, given: Json) -> Json:
        return answered(given, strict=False)

    def differing(self, expected: Json, got: Json, vector: Vector) -> set[str]:
        return {*differing(expected, got), *unexcused(expected, vector.input)}


def answered(given: Json, *, strict: bool) -> Json:
    """Our answer in one of the profiles."""
    at = Given(given)
    answer: Json = {}
    try:
        answer["objects"] = list(rendered(at.addon, at, strict=strict).objects)
    except Unrenderable as error:
        answer["error"] = str(error)
    if "works" in given:
        answer["deploy"] = at.after(deploy(at.subject(strict=strict), NOW))
    return answer


def unexcused(expected: Json, given: Json) -> set[str]:
    """The fields in which profile strict answers otherwise than OCM though no row says that it may.

    Unknown placeholders are an error in strict; without them it has to answer as in all other cases.
    """
    refused = answered(given, strict=True)
    if unknown_placeholders(given) and not _is_refused(refused):
        return {"error"}
    mended = repaired(given)
    answer = answered(mended, strict=True) if mended is not given else refused
    is_refused = may_be_refused(mended) and _is_refused(answer)
    forgiven = allowed(mended) | (OF_A_REFUSAL if is_refused else frozenset())
    return set(differing(expected, answer)) - forgiven


def _is_refused(answer: Json) -> bool:
    """Whether the answer is an error and no work is written, or no template was to be looked at."""
    actions = answer.get("deploy", {}).get("actions") or []
    return "error" in answer and not any("manifestworks" in action for action in actions)


def differing(expected: Json, got: Json) -> list[str]:
    """The fields in which an answer is another one."""
    found: list[str] = []
    if said(expected.get("error", "")) not in ("", said(got.get("error", ""))):
        found.append("error")
    if ("error" in expected) != ("error" in got):
        found.append("error")
    known = expected.get("objects") or []
    ours = got.get("objects") or []
    if list(map(normal, known)) != list(map(normal, ours)):
        found.append("objects")
    passes = expected.get("deployOneOf") or [expected.get("deploy")]
    if passes != [None] and "deploy" not in got:
        found.append("deploy")
    elif passes != [None]:
        differences = [unlike(each, got["deploy"], known) for each in passes]
        fewest: list[str] = min(differences, key=len)
        found += fewest
    return found


def unlike(expected: Json, got: Json, objects: list[Obj]) -> list[str]:
    """The fields of a deploy pass in which an answer is another one."""
    found = [
        f"deploy.{field}"
        for field in ("finalizers", "healthCheckMode")
        if (expected[field] or None) != (got[field] or None)
    ]
    # A work that is patched twice is what it is patched to last.
    if set(expected["actions"] or ()) != set(got["actions"]):
        found.append("deploy.actions")
    if not _same_conditions(expected["conditions"] or [], got["conditions"]):
        found.append("deploy.conditions")
    theirs = {work["name"]: work for work in expected["works"] or ()}
    ours = {work["name"]: work for work in got["works"]}
    if theirs.keys() != ours.keys():
        return [*found, "deploy.works"]
    for name, work in theirs.items():
        found += [
            f"deploy.works.{field}"
            for field in ("labels", "annotations", "deleteOption", "executor")
            if (work[field] or None) != (ours[name][field] or None)
        ]
        if _owners(work) != _owners(ours[name]):
            found.append("deploy.works.ownerReferences")
        if _configs(work) != _configs(ours[name]):
            found.append("deploy.works.manifestConfigs")
        contents = [_content(m, objects) for m in work["manifests"] or ()]
        kept = [m for m in ours[name]["manifests"] if _is_known(m, work)]
        if sorted(filter(None, contents)) != sorted(_text(m) for m in kept):
            found.append("deploy.works.manifests")
        if len(contents) != len(ours[name]["manifests"]):
            found.append("deploy.works.manifests")
    return found


def _owners(work: Json) -> list[Obj]:
    """The owners, whatever version names them (row T27)."""
    return [
        {key: value for key, value in owner.items() if key != "apiVersion"}
        for owner in work["ownerReferences"] or ()
    ]


def _configs(work: Json) -> list[str]:
    """What is asked about the objects of a work, without regard to order and empty fields."""
    spec = normal_spec({"manifestConfigs": work["manifestConfigs"] or []})
    return sorted(map(_text_of, spec.get("manifestConfigs") or ()))


def _text_of(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _text(obj: Obj) -> str:
    return _text_of(normal(obj))


def _content(entry: Json, objects: list[Obj]) -> str:
    """What a manifest is to be; "" where it is to be what it was."""
    return "" if entry["object"] is None else _text(objects[entry["object"]])


def _is_known(manifest: Obj, work: Json) -> bool:
    """Whether the manifest is one that was rendered, not one that is as it was."""
    meta = manifest.get("metadata") or {}
    own = (manifest.get("kind"), meta.get("namespace") or "", meta.get("name") or "")
    return any(
        (m["kind"], m["namespace"] or "", m["name"] or "") == own and m["object"] is not None
        for m in work["manifests"] or ()
    )


_FAULT = "failed to get manifest from agent interface: "


def _same_conditions(expected: list[Json], got: list[Json]) -> bool:
    """Whether conditions are the same but for their times and the words of libraries."""
    if len(expected) != len(got):
        return False
    for theirs, ours in zip(expected, got, strict=True):
        if any(theirs[field] != ours[field] for field in ("type", "status", "reason")):
            return False
        before, is_fault, fault = theirs["message"].partition(_FAULT)
        if is_fault and not said(fault):
            if not ours["message"].startswith(before + _FAULT):
                return False
        elif theirs["message"] != ours["message"]:
            return False
    return True


_NOT_OURS = re.compile(r"\A(invalid character|json: |unexpected end)")


def said(error: str) -> str:
    """An error text; "" where it is that of a library, which is not worth reproducing."""
    return "" if _NOT_OURS.match(error) else error


def normal(obj: Obj) -> Any:
    """A Deployment or DaemonSet of group apps without what a typed client adds or leaves out."""
    group = str(obj.get("apiVersion", "")).rpartition("/")[0]
    if group != "apps" or obj.get("kind") not in ("Deployment", "DaemonSet"):
        return obj
    return _without_empty(json.loads(json.dumps(obj)), "")


def _without_empty(value: Any, key: str, *, secure: bool = False) -> Any:
    if isinstance(value, dict):
        secure = secure or key == "securityContext"
        found = {
            k: _quantities(v)
            if k in ("limits", "requests")
            else _without_empty(v, k, secure=secure)
            for k, v in value.items()
            if k not in UNKNOWN
        }
        return {k: v for k, v in found.items() if v or _counts(k, v, secure=secure)}
    if isinstance(value, list):
        return [_without_empty(item, "") for item in value]
    return value


def _counts(key: str, value: Any, *, secure: bool) -> bool:
    """Whether an empty value means something where it stands."""
    return (key == "replicas" and type(value) is int) or (secure and value is False)


def _quantities(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    found = {k: parse_quantity(str(v)) for k, v in value.items()}
    return {k: v.as_float() if v is not None else None for k, v in found.items()}
