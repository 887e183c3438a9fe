"""The rules by which an API server changes or refuses an object that a client sends.

Pure rules over one object: which fields are the server's, what may not change, when the generation
grows. Source: behaviour of kube-apiserver for custom resources with and without a status
subresource, and for ConfigMap, ControllerRevision and Lease, which carry no generation.
"""

import hashlib
import re
from functools import lru_cache

from rollout.errors import Conflict, Invalid
from rollout.hub.patching import unchanged
from rollout.model.kinds import Kind, Obj, Ref, key_of
from rollout.model.selectors import is_label_key, is_label_value

_NAME = re.compile(r"\A[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z", re.ASCII)
_NAMESPACE = re.compile(r"\A[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\Z", re.ASCII)
_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"  # no vowels: a generated name never spells a word
_LONGEST_STEM = 58  # 63 less the five characters of the suffix
_NEVER_GIVEN = ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")
_SERVERS = (
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
_NOT_SPEC = frozenset({"apiVersion", "kind", "metadata", "status"})


def uid_of(seed: str, version: int) -> str:
    """The uid of what is created at ``version``: shaped as a random UUID, the same in every run."""
    digest = hashlib.sha256(f"{seed}:{version}".encode()).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-a{digest[17:20]}-{digest[20:32]}"


def generated_name(stem: str, seed: str, version: int, attempt: int) -> str:
    """``stem`` (cut where the name would pass 63 characters) and five characters."""
    digest = hashlib.sha256(f"{seed}:{version}:{attempt}:{stem}".encode()).digest()
    return stem[:_LONGEST_STEM] + "".join(_SUFFIX[b % len(_SUFFIX)] for b in digest[:5])


def metadata_of(obj: Obj) -> Obj:
    """The metadata a client sent; empty where it sent none. Raises: Invalid."""
    meta = obj.get("metadata")
    if meta is None:
        return {}
    if not isinstance(meta, dict):
        raise Invalid("metadata must be an object")
    return meta


def check_ref(ref: Ref) -> None:
    """Raises: Invalid where no object of the kind can be called so."""
    if not _valid_name(ref.name):
        raise Invalid(f"cannot store {ref}: the name must be a DNS subdomain in lower case")
    if ref.kind.namespaced and not _valid_namespace(ref.namespace):
        raise Invalid(f"cannot store {ref}: it needs a namespace that is a DNS label")
    if not ref.kind.namespaced and "/" in ref.key:
        raise Invalid(f"cannot store {ref}: the kind has no namespaces")


def _valid_name(name: str) -> bool:
    return len(name) <= 253 and _NAME.match(name) is not None


@lru_cache(maxsize=16_384)
def _valid_namespace(name: str) -> bool:
    return _NAMESPACE.match(name) is not None


def drafted(ref: Ref, obj: Obj) -> Obj:
    """A new object as admission sees it: named, typed, without a status that is a subresource."""
    meta = metadata_of(obj)
    if meta.get("resourceVersion"):
        raise Invalid(f"cannot create {ref}: metadata.resourceVersion must not be set")
    identity = {"name": ref.name}
    if ref.kind.namespaced:
        identity["namespace"] = ref.namespace
    _check_identity(ref, obj, meta)
    draft = {
        "apiVersion": ref.kind.api_version,
        "kind": ref.kind.name,
        **obj,
        "metadata": {**identity, **meta},
    }
    if ref.kind.has_status:
        draft.pop("status", None)
    return draft


def _check_identity(ref: Ref, obj: Obj, meta: Obj) -> None:
    """Raises: Invalid where an object says that it is another than the one addressed."""
    kind = ref.kind
    if (
        (obj.get("kind") or kind.name) != kind.name
        or (obj.get("apiVersion") or kind.api_version) != kind.api_version
        or (meta.get("name") or ref.name) != ref.name
        or (kind.namespaced and (meta.get("namespace") or ref.namespace) != ref.namespace)
    ):
        raise Invalid(
            f"cannot write {ref}: apiVersion, kind, name or namespace say otherwise: "
            f"{obj.get('apiVersion')} {obj.get('kind')} "
            f"{key_of(str(meta.get('namespace') or ''), str(meta.get('name')))}"
        )


def born(ref: Ref, draft: Obj, version: int, uid: str, created: str) -> Obj:
    """The object as it is first stored. Raises: Invalid for malformed metadata."""
    _check_metadata(ref, draft["metadata"], {})
    meta = {
        **draft["metadata"],
        "uid": uid,
        "resourceVersion": str(version),
        "creationTimestamp": created,
    }
    for field in _NEVER_GIVEN:
        meta.pop(field, None)
    if ref.kind.has_generation:
        meta["generation"] = 1
    else:
        meta.pop("generation", None)
    obj = {**draft, "metadata": meta}
    if ref.kind.has_status:
        obj.pop("status", None)
    return obj


def settled(ref: Ref, old: Obj, draft: Obj) -> Obj:
    """``draft`` with all that a client may not change as it is in ``old``; ``old`` if nothing is left.

    Raises: Conflict where its resourceVersion or uid are not those of ``old``; Invalid.
    """
    meta, old_meta = metadata_of(draft), old["metadata"]
    if meta is not old_meta:
        meta = _settled_metadata(ref, old_meta, meta)
    _check_identity(ref, draft, meta)
    draft = {
        **draft,
        "apiVersion": old["apiVersion"],
        "kind": old["kind"],
        "metadata": meta,
    }
    if ref.kind.has_status:
        if "status" in old:
            draft["status"] = old["status"]
        else:
            draft.pop("status", None)
    return unchanged(old, draft)


def _settled_metadata(ref: Ref, old: Obj, new: Obj) -> Obj:
    check_preconditions(ref, old, new)
    _check_metadata(ref, new, old)
    if (new.get("name") or old["name"]) != old["name"]:
        raise Invalid(f"cannot change {ref}: metadata.name cannot change")
    if (new.get("namespace") or old.get("namespace")) != old.get("namespace"):
        raise Invalid(f"cannot change {ref}: metadata.namespace cannot change")
    if "deletionTimestamp" not in old:
        if new.get("deletionTimestamp"):
            raise Invalid(f"cannot change {ref}: deletionTimestamp is set by a delete alone")
    elif not set(finalizers(new)) <= set(finalizers(old)):
        raise Invalid(f"cannot change {ref}: no finalizer can be added while it is being deleted")
    result = {k: v for k, v in new.items() if k in old or k not in _SERVERS}
    result.update((field, old[field]) for field in _SERVERS if field in old)
    return unchanged(old, result)


def check_preconditions(ref: Ref, old: Obj, meta: Obj) -> None:
    """A resourceVersion or uid in what a client sends must be the stored one. Raises: Conflict."""
    version = meta.get("resourceVersion")
    if version and version != old["resourceVersion"]:
        raise Conflict(
            f"cannot write {ref}: it is at version {old['resourceVersion']}, not {version}"
        )
    uid = meta.get("uid")
    if uid and uid != old["uid"]:
        raise Conflict(f"cannot write {ref}: its uid is {old['uid']}, not {uid}")


def finalizers(meta: Obj) -> list[str]:
    """The finalizers that metadata names; none where the field is absent or null."""
    found: list[str] = meta.get("finalizers") or []
    return found


def spec_changed(old: Obj, new: Obj) -> bool:
    """Whether anything but metadata and status differs, by identity (see `patching.shared`)."""
    return any(
        key not in _NOT_SPEC and new.get(key) is not old.get(key) for key in old.keys() | new.keys()
    )


def check_status(kind: Kind, obj: Obj) -> None:
    """Raises: Invalid where a status that is a subresource is no object."""
    if kind.has_status and not isinstance(obj.get("status", {}), dict):
        raise Invalid(f"the status of a {kind.name} must be an object")


def _check_metadata(ref: Ref, meta: Obj, old: Obj) -> None:
    """Raises: Invalid, for labels, annotations, finalizers and owners that are new and malformed."""
    labels = meta.get("labels")
    if labels and labels is not old.get("labels"):
        bad = (
            [k for k, v in labels.items() if not _is_label(k, v)]
            if isinstance(labels, dict)
            else [labels]
        )
        if bad:
            raise Invalid(
                f"cannot write {ref}: metadata.labels: {bad[0]!r} or its value is not a valid label"
            )
    annotations = meta.get("annotations")
    if annotations and annotations is not old.get("annotations") and not _strings(annotations):
        raise Invalid(f"cannot write {ref}: metadata.annotations must be a map of strings")
    names = meta.get("finalizers")
    if names and names is not old.get("finalizers") and not _string_list(names):
        raise Invalid(f"cannot write {ref}: metadata.finalizers must be a list of strings")
    owners = meta.get("ownerReferences")
    if owners and owners is not old.get("ownerReferences") and not _owner_list(owners):
        raise Invalid(
            f"cannot write {ref}: metadata.ownerReferences must each have apiVersion, kind, name, uid"
        )
    if owners and sum(owner.get("controller") is True for owner in owners) > 1:
        raise Invalid(
            f"cannot write {ref}: metadata.ownerReferences: only one can have controller set to true"
        )


@lru_cache(maxsize=1_024)
def _is_label_pair(key: str, value: str) -> bool:
    return is_label_key(key) and is_label_value(value)


def _is_label(key: object, value: object) -> bool:
    return isinstance(key, str) and isinstance(value, str) and _is_label_pair(key, value)


def _strings(value: object) -> bool:
    return isinstance(value, dict) and all(
        isinstance(k, str) and isinstance(v, str) for k, v in value.items()
    )


def _string_list(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) and item for item in value)


def _owner_list(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(item, dict)
        and all(
            isinstance(item.get(field), str) and item[field]
            for field in ("apiVersion", "kind", "name", "uid")
        )
        for item in value
    )
