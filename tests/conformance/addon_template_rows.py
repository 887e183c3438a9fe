"""Where may profile strict answer otherwise than OCM? Suite ``addon_template``, row by row.

Every row of docs/semantics.md ("AddOnTemplates") has a predicate on the input alone and the fields in
which the answer may be another one where it holds; in all others it is OCM's. Rows that refuse what OCM
renders excuse no field: there the answer is an error, and no work is written.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from rollout.model.kinds import Obj
from tests.conformance.suite import Json

HOOK = "addon.open-cluster-management.io/addon-pre-delete"
ORPHAN = "addon.open-cluster-management.io/deletion-orphan"
HOSTING = "addon.open-cluster-management.io/hosting-cluster-name"
WORKLOADS = ("Deployment", "DaemonSet")
WITH_PODS = ("StatefulSet", "ReplicaSet", "Job", "CronJob", "Pod")
BUILT_IN = ("CLUSTER_NAME", "INSTALL_NAMESPACE", "HUB_KUBECONFIG")


class Row(NamedTuple):
    """A row of the semantics: where it applies, and what may be another answer there."""

    name: str
    applies: Callable[[Json], object]
    fields: frozenset[str]


# -- what is in the input -------------------------------------------------------------------------


def template_of(given: Json) -> Obj:
    found: Obj = given["template"]["spec"]
    return found


def manifests_of(given: Json) -> list[Obj]:
    return template_of(given)["agentSpec"].get("workload", {}).get("manifests") or []


def references(given: Json, resource: str) -> list[Obj]:
    listed = (given["addon"].get("status") or {}).get("configReferences") or []
    return [r for r in listed if r.get("resource") == resource]


def configs_of(given: Json) -> list[Obj]:
    """The specs of the configurations that exist."""
    return [config["spec"] for config in given["configs"]]


def variables_of(given: Json) -> dict[str, str]:
    return {
        v["name"]: v.get("value", "")
        for spec in configs_of(given)
        for v in spec.get("customizedVariables") or []
    }


def nodes(value: Any) -> Iterator[Any]:
    yield value
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in parts:
        yield from nodes(part)


def texts(value: Any) -> Iterator[str]:
    for node in nodes(value):
        if isinstance(node, str):
            yield node
        elif isinstance(node, dict):
            yield from node


def names_in(text: str) -> Iterator[str]:
    """The placeholders of a string; None of one that is not closed is ""."""
    at = 0
    while (begin := text.find("{{", at)) >= 0:
        end = text.find("}}", begin + 2)
        yield text[begin + 2 : end] if end >= 0 else ""
        if end < 0:
            return
        at = end + 2


def known_names(given: Json) -> set[str]:
    known = set(variables_of(given)) | {"CLUSTER_NAME"}
    if any(spec.get("agentInstallNamespace") for spec in configs_of(given)):
        known.add("INSTALL_NAMESPACE")
    if "registration" in template_of(given):
        known.add("HUB_KUBECONFIG")
    return known


def unknown_placeholders(given: Json) -> bool:
    known = known_names(given)
    used = (name for text in texts(manifests_of(given)) for name in names_in(text))
    return any(name not in known for name in used)


def unclosed(given: Json) -> bool:
    """A placeholder that does not end, over which OCM's controller stops."""
    return any("" in names_in(text) for text in texts(manifests_of(given)))


def annotated(obj: Obj, key: str) -> bool:
    meta = obj.get("metadata") or {}
    return key in (meta.get("annotations") or {}) or key in (meta.get("labels") or {})


def hooks(given: Json) -> list[Obj]:
    return [m for m in manifests_of(given) if annotated(m, HOOK)]


def settings(given: Json, field: str) -> bool:
    return any(spec.get(field) is not None for spec in configs_of(given))


def is_going(given: Json) -> bool:
    return any("deletionTimestamp" in given[what]["metadata"] for what in ("addon", "cluster"))


def identities(given: Json) -> list[tuple[str, str]]:
    """Kind and name, which is all that two objects need to become one by being moved."""
    found = [
        (m.get("kind", ""), (m.get("metadata") or {}).get("name", "")) for m in manifests_of(given)
    ]
    return [("Namespace", "") if kind == "Namespace" else (kind, name) for kind, name in found]


# -- the rows ------------------------------------------------------------------------------------

_CONTENT = {"objects", "deploy.works.manifests", "deploy.actions", "deploy.works"}
_MAY_FAIL = {"error", "deploy.conditions", "deploy.finalizers"}


def _row(name: str, applies: Callable[[Json], object], *fields: str) -> Row:
    return Row(name, applies, frozenset(fields))


REFUSED: tuple[Row, ...] = (
    _row("T1, T23", unknown_placeholders),
    _row("T1", lambda g: any(not m.get("kind") for m in manifests_of(g))),
    _row("T2", lambda g: any("{{" in key for node in nodes(manifests_of(g))
                             if isinstance(node, dict) for key in node)),
    _row("T3", lambda g: any(name.startswith("__") for name in variables_of(g))),
    _row("T6", lambda g: len(set(identities(g))) < len(identities(g))),
)  # fmt: skip
"""Rows by which strict may refuse what OCM renders."""
OF_A_REFUSAL = frozenset(
    {"error", "objects", "deploy.actions", "deploy.conditions", "deploy.works"}
    | {f"deploy.works.{field}" for field in ("manifests", "manifestConfigs")}
)
"""Fields in which what is refused may be another answer: works stay as they were."""

ROWS: tuple[Row, ...] = (
    _row("T1", lambda g: '"string"' in json.dumps(g.get("works") or []), "deploy.healthCheckMode",
         "deploy.actions", "deploy.conditions"),
    _row("T2", lambda g: any(json.dumps(v)[1:-1] != v for v in variables_of(g).values()),
         "deploy.works.annotations", "deploy.works.ownerReferences", *_CONTENT, *_MAY_FAIL),
    _row("T4", lambda g: g.get("defaultTemplate"), "deploy.works.manifestConfigs", "deploy.actions"),
    _row("T5", lambda g: template_of(g)["agentSpec"].get("manifestConfigs"),
         "deploy.works.manifestConfigs", "deploy.actions", "deploy.conditions"),
    _row("T7", lambda g: "registration" in template_of(g)
         or any(n.get("name") in BUILT_IN or str(n.get("name", "")).upper().endswith("_PROXY")
                for n in nodes(manifests_of(g)) if isinstance(n, dict)),
         *_CONTENT, *_MAY_FAIL),
    _row("T8", lambda g: any(m.get("kind") in WITH_PODS for m in manifests_of(g))
         or '"initContainers"' in json.dumps(manifests_of(g)), *_CONTENT, *_MAY_FAIL),
    _row("T9", lambda g: settings(g, "registries")
         or "image-registries" in json.dumps(g["cluster"]["metadata"]), *_CONTENT),
    _row("T10", lambda g: '"caBundle"' in json.dumps(configs_of(g)), *_CONTENT),
    _row("T11", lambda g: len(g.get("works") or []) > 1, "deploy.conditions"),
    _row("T12", lambda g: len(hooks(g)) == len(manifests_of(g)),
         "deploy.works", "deploy.actions", "deploy.conditions"),
    _row("T13", lambda g: len(json.dumps(manifests_of(g))) > 300_000,
         "deploy.works", "deploy.actions", "deploy.works.manifests", "deploy.conditions"),
    _row("T14", lambda g: any(annotated(m, ORPHAN) for m in manifests_of(g)),
         "deploy.works.deleteOption", "deploy.works", "deploy.actions", "deploy.conditions",
         "deploy.works.manifests", "deploy.works.labels", "deploy.works.manifestConfigs",
         "deploy.works.annotations", "deploy.works.ownerReferences"),
    _row("T17", lambda g: template_of(g)["agentSpec"].keys() & {"executor", "deleteOption"},
         "deploy.works.executor", "deploy.works.deleteOption", "deploy.actions"),
    _row("T18", lambda g: is_going(g) or hooks(g), "deploy.finalizers", "deploy.actions", "deploy.works",
         "deploy.conditions"),
    _row("T18 without a template", lambda g: is_going(g) or HOOK in json.dumps(g["addon"]),
         "deploy.finalizers", "deploy.actions"),
    _row("T19", lambda g: HOSTING in (g["addon"]["metadata"].get("annotations") or {}),
         "deploy.conditions"),
    _row("T20", lambda g: g.get("works"), "deploy.conditions"),
    _row("T21", lambda g: any(m.get("kind") in WORKLOADS for m in manifests_of(g))
         and "{{" in json.dumps(manifests_of(g)), *_CONTENT, *_MAY_FAIL),
    _row("T23", unclosed, "deploy.healthCheckMode"),
    _row("T24", lambda g: settings(g, "resourceRequirements"), *_CONTENT),
    _row("T25", lambda g: len(references(g, "addondeploymentconfigs")) > 1,
         "deploy.works.manifestConfigs", *_CONTENT, *_MAY_FAIL),
    _row("T26", lambda g: '"tolerations"' in json.dumps(configs_of(g)), *_CONTENT),
)  # fmt: skip
"""Rows by which an answer of strict may be another one in these fields."""


def allowed(given: Json) -> set[str]:
    """The fields in which strict may answer otherwise."""
    return {field for row in ROWS if row.applies(given) for field in row.fields}


def may_be_refused(given: Json) -> bool:
    return any(row.applies(given) for row in REFUSED)


def repaired(given: Json) -> Json:
    """The input without unknown placeholders, to which OCM gives the same answer."""
    if not unknown_placeholders(given):
        return given
    known = known_names(given)

    def mended(value: Any) -> Any:
        if isinstance(value, dict):
            return {mended(k): mended(v) for k, v in value.items()}
        if isinstance(value, list):
            return [mended(item) for item in value]
        return _without(value, known) if isinstance(value, str) else value

    found = json.loads(json.dumps(given))
    for holder in (found["template"], found.get("defaultTemplate") or {}):
        workload = holder.get("spec", {}).get("agentSpec", {}).get("workload", {})
        if workload.get("manifests"):
            workload["manifests"] = mended(workload["manifests"])
    return found


def _without(text: str, known: set[str]) -> str:
    parts: list[str] = []
    at = 0
    while (begin := text.find("{{", at)) >= 0:
        end = text.find("}}", begin + 2)
        if end < 0:
            break
        kept = text[begin : end + 2] if text[begin + 2 : end] in known else ""
        parts += [text[at:begin], kept]
        at = end + 2
    return "".join((*parts, text[at:]))
