"""Which revisions is a workload rolling out now, and where would approvals of them lie?"""

from rollout.api.decoding import decode
from rollout.hub.base import Hub
from rollout.model import names
from rollout.model.kinds import CLUSTER_MANAGEMENT_ADDON, REPLICA_SET, ROLLOUT_RECORD, Obj, Ref
from rollout.model.replicaset import ReplicaSet
from rollout.planning.record import HEAD, page_of, read_record


def revisions(hub: Hub, ref: Ref, obj: Obj) -> frozenset[str]:
    """The revisions of a workload: of its template, or of each placement's configurations."""
    return frozenset(revision for _, revision in places(hub, ref, obj))


def places(hub: Hub, ref: Ref, obj: Obj) -> frozenset[tuple[str, str]]:
    """Pairs (namespace of the Approvals, revision). An add-on has one for each of its placements.

    Raises: HubError.
    """
    if ref.kind is REPLICA_SET:
        replicaset = decode(REPLICA_SET, obj)
        assert isinstance(replicaset, ReplicaSet)
        return frozenset({(ref.namespace, replicaset.template.content)})
    assert ref.kind is CLUSTER_MANAGEMENT_ADDON, "only workloads have revisions"
    found: set[tuple[str, str]] = set()
    for page in hub.list(ROLLOUT_RECORD).items:
        meta = page["metadata"]
        place = page_of(Ref(ROLLOUT_RECORD, f"{meta['namespace']}/{meta['name']}"))
        owner = (meta.get("annotations") or {}).get(names.OWNER)
        if place is None or owner != ref.key or HEAD not in (page.get("data") or {}):
            continue
        revision = read_record([page]).head.revision
        if revision and _is_of(page, obj):
            placement = (meta.get("annotations") or {}).get(names.RECORD_PLACEMENT, "")
            found.add((placement.partition("/")[0], revision))
    return frozenset(found)


def _is_of(page: Obj, obj: Obj) -> bool:
    """Whether the page belongs to this very object, not to one of its name before it."""
    owners = page["metadata"].get("ownerReferences") or []
    return any(owner.get("uid") == obj["metadata"].get("uid") for owner in owners)
