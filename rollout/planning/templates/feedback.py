"""The feedback rules and update strategies of an add-on's works.

Source: OCM add-on template spec 4.4, semantics rows T4, T5.
"""

from collections.abc import Iterable

from rollout.model.addon_template import AddOnTemplate
from rollout.model.kinds import Obj
from rollout.planning.templates.render import WORKLOADS, Rendered, group_of, name_of
from rollout.planning.templates.values import in_tree

WELL_KNOWN = {"type": "WellKnownStatus"}


def identifier(group: str, resource: str, namespace: str, name: str) -> Obj:
    return {"group": group, "resource": resource, "namespace": namespace, "name": name}


def manifest_configs(
    rendered: Rendered, template: AddOnTemplate | None, *, strict: bool
) -> list[Obj]:
    """``manifestConfigs`` of the works: one for each workload with a health check, then the template's.

    ``template`` is None where no template's entries count. Raises: Unrenderable.
    """
    found = [
        {
            "resourceIdentifier": identifier(
                group_of(obj), WORKLOADS[str(obj["kind"])], *name_of(obj)
            ),
            "feedbackRules": [WELL_KNOWN],
        }
        for obj in rendered.workloads
    ]
    given: Iterable[Obj] = template.manifest_configs if template is not None else ()
    for index, config in enumerate(given):
        entry = _filled(config, rendered, index) if strict else config
        same = [i for i, other in enumerate(found) if _key(other) == _key(entry)]
        if same:
            found[same[0]] = _merged(found[same[0]], entry)
        else:
            found.append(entry)
    return found


def _filled(config: Obj, rendered: Rendered, index: int) -> Obj:
    """An entry with its placeholders replaced, and in the namespace that the objects move to."""
    entry = in_tree(config, rendered.values.public, f"manifestConfigs[{index}]")
    about = entry.get("resourceIdentifier")
    if isinstance(about, dict) and about.get("namespace") and rendered.values.namespace:
        about["namespace"] = rendered.values.namespace
    return entry


def _key(config: Obj) -> tuple[object, ...]:
    about = config.get("resourceIdentifier") or {}
    return tuple(about.get(field) or "" for field in ("group", "resource", "namespace", "name"))


def _merged(first: Obj, then: Obj) -> Obj:
    """Two entries for one object as one: each rule and path once, and the later update strategy."""
    rules = list(first.get("feedbackRules") or ())
    for rule in then.get("feedbackRules") or ():
        if rule.get("type") == "JSONPaths":
            known = {path.get("name") for r in rules for path in r.get("jsonPaths") or ()}
            paths = [p for p in rule.get("jsonPaths") or () if p.get("name") not in known]
            if paths:
                rules.append({**rule, "jsonPaths": paths})
        elif rule not in rules:
            rules.append(rule)
    merged = {"resourceIdentifier": first["resourceIdentifier"], "feedbackRules": rules}
    strategy = then.get("updateStrategy") or first.get("updateStrategy")
    return {**merged, "updateStrategy": strategy} if strategy else merged
