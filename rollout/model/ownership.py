"""Says which object owns which, and who wrote an object last. An owned object goes with its owner."""

from rollout.model.kinds import Obj, Ref


def belongs_to(obj: Obj, uid: str) -> bool:
    """Whether this very workload owns it. What names no owner, or an earlier object of the workload's
    name, says nothing.
    """
    owners = obj["metadata"].get("ownerReferences") or []
    return bool(uid) and any(owner.get("uid") == uid for owner in owners)


def owned_object(ref: Ref, owner: Ref, uid: str, body: Obj, **meta: Obj) -> Obj:
    """A new object that goes when its owner goes.

    Args:
        uid: of the owner.
        body: what stands beside the metadata.
        meta: labels and annotations.
    """
    return {
        "apiVersion": ref.kind.api_version,
        "kind": ref.kind.name,
        "metadata": {
            "namespace": ref.namespace,
            "name": ref.name,
            **meta,
            "ownerReferences": [owned_by(owner, uid)],
        },
        **body,
    }


def owned_by(owner: Ref, uid: str, *, controller: bool = False) -> Obj:
    """An ownerReference. Only what it controls holds up an owner that is deleted in the foreground."""
    return {
        "apiVersion": owner.kind.api_version,
        "kind": owner.kind.name,
        "name": owner.name,
        "uid": uid,
        "controller": controller,
        "blockOwnerDeletion": controller,
    }


def writer_of(obj: Obj) -> str:
    """Who wrote an object last, as its managedFields tell; "" where it has none."""
    entries = [e for e in obj["metadata"].get("managedFields") or () if isinstance(e, dict)]
    last = max(entries, key=lambda entry: str(entry.get("time") or ""), default={})
    return str(last.get("manager") or "")
