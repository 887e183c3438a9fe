"""Finds the manifests of a work that its agent could not apply or calls unhealthy, and why.

Source: OCM work agent spec 3.4, 4 and 4.2: the reason stands with the single manifest, and the
conditions of the work only count.
"""

from collections.abc import Mapping

from rollout.api.fields import listed, mapping, text
from rollout.model.conditions import Condition
from rollout.model.kinds import Obj
from rollout.model.names import APPLIED, AVAILABLE, DEGRADED
from rollout.model.secrets import scrubbed, secret_texts

MOST = 3
"""Manifests that are told of, the others are counted."""
LONGEST = 300
"""Characters of what is told of one."""
_TROUBLE = ((APPLIED, "False"), (DEGRADED, "True"), (AVAILABLE, "False"))
"""What is wrong with a manifest, what explains the rest first."""
_SECRET = ("Secret", "secrets")


def faults_of(
    conditions: Mapping[str, Condition], status: Obj, spec: Obj, generation: int
) -> tuple[str, ...]:
    """One text for each manifest that is in trouble, such as ``ConfigMap ns/x: Failed to apply ...``.

    Args:
        conditions: of the whole work: where they are well, no manifest is looked at.

    What an agent says of a Secret is not told, nor a value of a Secret that it quotes elsewhere.
    """
    for kind, bad in _TROUBLE:
        if (found := conditions.get(kind)) is not None and found.status == bad:
            break
    else:
        return ()
    entries = listed(mapping(status.get("resourceStatus")).get("manifests"))
    troubled = [
        (mapping(entry.get("resourceMeta")), condition)
        for entry in map(mapping, entries)
        if (condition := _trouble(listed(entry.get("conditions")), generation)) is not None
    ]
    if not troubled:
        return ()
    try:
        secrets = secret_texts(spec)
    except RecursionError:  # what is a secret cannot be told, so nothing of the agent's is
        return (f"manifests that are not well: {len(troubled)}",)
    told = tuple(_told(meta, condition, secrets) for meta, condition in troubled[:MOST])
    more = len(troubled) - MOST
    return (*told, f"{more} more manifests are not well") if more > 0 else told


def _trouble(conditions: list[object], generation: int) -> Obj | None:
    known = {text(c.get("type")): c for c in map(mapping, conditions)}
    for kind, status in _TROUBLE:
        found = known.get(kind)
        if found is None or found.get("status") != status:
            continue
        if found.get("observedGeneration") in (None, generation):
            return found
    return None


def _told(meta: Obj, condition: Obj, secrets: set[str]) -> str:
    kind, name = text(meta.get("kind")) or text(meta.get("resource")), text(meta.get("name"))
    place = "/".join(part for part in (text(meta.get("namespace")), name) if part)
    said = text(condition.get("message"))
    if kind in _SECRET or not said:
        said = f"{text(condition.get('type'))}={text(condition.get('status'))} " + text(
            condition.get("reason")
        )
    told = " ".join(f"{kind or 'manifest'} {place}: {scrubbed(said, secrets)}".split())
    return told if len(told) <= LONGEST else told[: LONGEST - 4] + " ..."
