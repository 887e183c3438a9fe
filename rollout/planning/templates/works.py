"""Shares an add-on's objects out over ManifestWorks.

Objects stay in the work that has them; new ones go where there is room. Source: OCM add-on
template spec 4.2, 4.3, semantics rows T12 to T14, T17.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from rollout.model import names
from rollout.model.addon import ClusterAddOn
from rollout.model.addon_template import AgentWork
from rollout.model.content import content_hash
from rollout.model.kinds import MANAGED_CLUSTER_ADDON, MANIFEST_WORK, Obj, Ref
from rollout.model.ownership import owned_by
from rollout.model.spec_hash import go_json
from rollout.model.writes import Create, Patch
from rollout.planning.plan import Write
from rollout.planning.templates import Unrenderable
from rollout.planning.templates.render import group_of, name_of
from rollout.rollouts.addon_configs import hashes_of

ROOM = 409_600
"""Bytes of encoded manifests that a work holds: 80 % of what the reference lets a work have."""
_SMALL_NUMBERS = (128, 16_384, 2_097_152)

Identity = tuple[str, str, str, str]


class Filled(NamedTuple):
    """A work and the manifests it is to carry; ``before`` is None where the work is new."""

    name: str
    manifests: list[Obj]
    before: AgentWork | None


def deploy_prefix(addon: str) -> str:
    return f"addon-{addon}-deploy"


def hook_name(addon: str) -> str:
    return f"addon-{addon}-pre-delete"


def is_deploy_work(work: AgentWork, addon: ClusterAddOn) -> bool:
    """Whether the work is one of those that deploy this add-on, here."""
    return (
        work.cluster == addon.cluster
        and work.labels.get(names.ADDON_NAME_LABEL) == addon.name
        and names.ADDON_NAMESPACE_LABEL not in work.labels
        and not work.name.startswith(hook_name(addon.name))
    )


def identity(obj: Obj) -> Identity:
    return (str(obj.get("apiVersion") or ""), str(obj.get("kind") or ""), *name_of(obj))


# -- sharing out ---------------------------------------------------------------------------------


def share_out(
    objects: Iterable[Obj], existing: Sequence[AgentWork], addon: str, *, strict: bool
) -> list[Filled]:
    """New works first, then those that exist; a work left without manifests is to be deleted.

    Raises: Unrenderable for an object that no work can carry.
    """
    wanted: dict[Identity, Obj] = {}
    for obj in objects:
        if not obj.get("kind") or not obj.get("apiVersion"):
            raise Unrenderable(f"got empty kind/version from object {go_json(obj)[:200]}")
        wanted[identity(obj)] = obj
    sizes = {key: size(obj) for key, obj in wanted.items()}
    if strict:
        _refuse_large(sizes)
    filled = [_kept(work, wanted, sizes, strict=strict) for work in existing]
    rooms = [ROOM - sum(size(m) for m in work.manifests) for work in filled]
    rest: list[Identity] = []
    for key in sorted(wanted, key=lambda key: -sizes[key]):
        best = max(range(len(rooms)), key=rooms.__getitem__, default=None)
        if best is not None and sizes[key] < rooms[best]:
            filled[best].manifests.append(wanted[key])
            rooms[best] -= sizes[key]
        else:
            rest.append(key)
    piles = _piled([(wanted[key], sizes[key]) for key in rest], keeps_empty=not strict)
    named = {work.name: work for work in existing}
    numbers = _numbers(addon, named if strict else (), 0 if strict else len(existing), len(piles))
    new = [Filled(n, pile, named.get(n)) for n, pile in zip(numbers, piles, strict=True)]
    lost = {each.name for each in new}  # in ocm: what is in the work of that name is overwritten
    return new + [each for each in filled if each.name not in lost]


def _refuse_large(sizes: Mapping[Identity, int]) -> None:
    for (_, kind, namespace, name), bytes_ in sizes.items():
        if bytes_ >= ROOM:
            raise Unrenderable(
                f"{kind} {namespace}/{name} is {bytes_} bytes; a work holds less than {ROOM}"
            )


def _kept(
    work: AgentWork, wanted: dict[Identity, Obj], sizes: Mapping[Identity, int], *, strict: bool
) -> Filled:
    """What stays in the work, taken out of ``wanted``. In strict only what fits into it."""
    kept: list[Obj] = []
    room = ROOM
    for manifest in work.manifests:
        key = identity(manifest)
        if key in wanted and (not strict or sizes[key] < room):
            kept.append(wanted.pop(key))
            room -= sizes[key]
    return Filled(work.name, kept, work)


def _piled(objects: list[tuple[Obj, int]], *, keeps_empty: bool) -> list[list[Obj]]:
    """Objects in piles that fit into one work each, unless one object alone is too large."""
    piles: list[list[Obj]] = [[]]
    full = 0
    for obj, bytes_ in objects:
        if full + bytes_ < ROOM:
            full += bytes_
        else:
            piles.append([])
            full = bytes_
        piles[-1].append(obj)
    return [pile for pile in piles if pile or (keeps_empty and objects)]


def _numbers(addon: str, taken: Collection[str], first: int, count: int) -> list[str]:
    """Names for ``count`` new works. In ``ocm`` numbers go on from the number of works (row T13)."""
    found: list[str] = []
    number = first
    while len(found) < count:
        name = f"{deploy_prefix(addon)}-{number}"
        if name not in taken:
            found.append(name)
        number += 1
    return found


def size(obj: Obj) -> int:
    """Bytes of an object in a work: compact JSON, a newline, and two frames with their lengths."""
    inner = len(go_json(obj).encode()) + 1
    framed = inner + 1 + _digits(inner)
    return framed + 1 + _digits(framed)


def _digits(length: int) -> int:
    return 1 + sum(length >= least for least in _SMALL_NUMBERS)


# -- what else is in them ------------------------------------------------------------------------


class Parts(NamedTuple):
    """What all works of one add-on share. ``manifest_configs`` may be empty."""

    manifest_configs: list[Obj]
    delete_option: Obj | None = None
    executor: Obj | None = None


def annotations_of(addon: ClusterAddOn) -> dict[str, str]:
    """The annotation that says which revisions of the configurations the works are made from."""
    hashes = hashes_of(addon.references)
    return {names.CONFIG_SPEC_HASH: go_json(dict(hashes))} if addon.references else {}


def written(filled: Filled, parts: Parts, addon: ClusterAddOn, annotations: Obj) -> Write | None:
    """The write that brings the work to what it is to be; None where nothing differs."""
    spec: Obj = {"workload": {"manifests": filled.manifests}}
    for field, value in zip(("manifestConfigs", "deleteOption", "executor"), parts, strict=True):
        if value:
            spec[field] = value
    owner = owned_by(Ref(MANAGED_CLUSTER_ADDON, addon.key), addon.uid, controller=True)
    meta: Obj = {"labels": {names.ADDON_NAME_LABEL: addon.name}, "ownerReferences": [owner]}
    if annotations:
        meta["annotations"] = annotations
    ref = Ref(MANIFEST_WORK, f"{addon.cluster}/{filled.name}")
    before = filled.before
    if before is not None:
        return _changed(ref, before, spec, meta)
    obj: Obj = {
        "apiVersion": MANIFEST_WORK.api_version,
        "kind": MANIFEST_WORK.name,
        "metadata": {"namespace": addon.cluster, "name": filled.name, **meta},
        "spec": spec,
    }
    return Create(ref, obj)


def _changed(ref: Ref, before: AgentWork, spec: Obj, meta: Obj) -> Patch | None:
    """A merge patch; labels, annotations and owners that others added are removed."""
    changes: Obj = {}
    if content_hash(spec) != content_hash(before.spec):
        gone = dict.fromkeys(before.spec.keys() - spec.keys())
        changes["spec"] = {**gone, **{k: _whole(before.spec.get(k), v) for k, v in spec.items()}}
    inner: Obj = {}
    for field, old in (("labels", before.labels), ("annotations", before.annotations)):
        new = meta.get(field) or {}
        if dict(old) != new:
            inner[field] = {**dict.fromkeys(old.keys() - new.keys()), **new}
    if not _same_owners(before.owners, meta["ownerReferences"]):
        inner["ownerReferences"] = meta["ownerReferences"]
    if inner:
        changes["metadata"] = inner
    return Patch(ref, changes, before.version) if changes else None


def _whole(old: object, new: object) -> object:
    """A value for a merge patch that removes all that is only in the old one."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    gone = dict.fromkeys(old.keys() - new.keys())
    return {**gone, **{key: _whole(old.get(key), value) for key, value in new.items()}}


def _same_owners(old: Sequence[Obj], new: Sequence[Obj]) -> bool:
    """Whether the owners are the same objects, whatever API version names them."""

    def known(owners: Sequence[Obj]) -> list[Obj]:
        return [{k: v for k, v in owner.items() if k != "apiVersion"} for owner in owners]

    return known(old) == known(new)


# -- what stays when the add-on goes -------------------------------------------------------------

_ORPHAN = "addon.open-cluster-management.io/deletion-orphan"
_GROUPS = frozenset(
    {
        *("", "apps", "autoscaling", "batch", "extensions", "policy"),
        *(
            f"{name}.k8s.io"
            for name in (
                "admissionregistration",
                "apiextensions",
                "apiregistration",
                "certificates",
                "coordination",
                "discovery",
                "events",
                "networking",
                "node",
                "rbac.authorization",
                "scheduling",
                "storage",
            )
        ),
    }
)
"""Groups of Kubernetes itself: the plural of each of their kinds follows from the kind."""


def delete_option(objects: Sequence[Obj], given: Obj | None, *, strict: bool) -> Obj | None:
    """Which objects stay when their work is deleted. ``given`` is the template's own, in strict.

    Raises: Unrenderable in strict for an object that is to stay and whose plural is not known.
    """
    defined = _defined(objects)
    rules = [_rule(obj, defined, strict=strict) for obj in objects if _stays(obj, strict=strict)]
    if not strict or given is None:
        given = None
    if not rules or (given or {}).get("propagationPolicy") == "Orphan":
        return given
    kept = given or {}
    listed = (kept.get("selectivelyOrphans") or {}).get("orphaningRules") or []
    return {
        **kept,
        "propagationPolicy": "SelectivelyOrphan",
        "selectivelyOrphans": {"orphaningRules": [*listed, *rules]},
    }


def _stays(obj: Obj, *, strict: bool) -> bool:
    meta = obj.get("metadata")
    annotations = meta.get("annotations") if isinstance(meta, dict) else None
    if not isinstance(annotations, dict) or _ORPHAN not in annotations:
        return False
    return not strict or annotations[_ORPHAN] != "false"


def _defined(objects: Iterable[Obj]) -> dict[tuple[str, str], str]:
    """Plurals of kinds that the objects define, by group and kind."""
    found: dict[tuple[str, str], str] = {}
    for obj in objects:
        spec = obj.get("spec")
        if obj.get("kind") == "CustomResourceDefinition" and isinstance(spec, dict):
            called = spec.get("names") or {}
            key = (str(spec.get("group")), str(called.get("kind")))
            found[key] = str(called.get("plural") or "")
    return found


def _rule(obj: Obj, defined: Mapping[tuple[str, str], str], *, strict: bool) -> Obj:
    group, kind = group_of(obj), str(obj["kind"])
    resource = defined.get((group, kind)) if strict else None
    if strict and not resource and group not in _GROUPS:
        raise Unrenderable(
            f"{kind} {'/'.join(name_of(obj))} is to stay when the add-on goes, but what {kind} of "
            f"{group} is called in the plural is not known; put its CustomResourceDefinition "
            "into the template"
        )
    namespace, name = name_of(obj)
    return {
        "group": group,
        "resource": resource or plural_of(kind),
        "namespace": namespace,
        "name": name,
    }


def plural_of(kind: str) -> str:
    """The plural of a kind, as OCM guesses it."""
    word = kind.lower()
    if word == "endpoints":
        return word
    if word.endswith("s"):
        return f"{word}es"
    return f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"
