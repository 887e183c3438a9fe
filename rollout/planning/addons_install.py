"""Plans where an add-on is installed and removed, by creating and deleting ManagedClusterAddOns.

Only what an install strategy made is removed, on a consistent read, within the removal brake, and
never while a placement is missing. Source: OCM add-on spec 2.1, 2.7, weaknesses A-9, A-10;
semantics rows 15, 16.
"""

from collections.abc import Iterable
from datetime import datetime

from rollout.model import names
from rollout.model.addon import AddOn, ClusterAddOn
from rollout.model.instants import earliest
from rollout.model.kinds import MANAGED_CLUSTER_ADDON, Obj, Ref
from rollout.model.ownership import owned_by
from rollout.model.writes import Create, Delete, Patch, Touch
from rollout.planning.notes import disowned_notes
from rollout.planning.plan import Note, Write
from rollout.planning.removals import NONE, Removals, brake
from rollout.planning.views import AddOnView
from rollout.rollouts.addon_workload import AddOnWorkload
from rollout.strategies.base import NOTHING_SHUT, Shut


def addon_ref(cluster: str, name: str) -> Ref:
    return Ref(MANAGED_CLUSTER_ADDON, f"{cluster}/{name}")


def new_addon(workload: AddOnWorkload, addon: AddOn, cluster: str, touch: Touch | None) -> Create:
    """A ManagedClusterAddOn that does not exist yet."""
    ref = addon_ref(cluster, addon.name)
    mirrored = {k: v for k, v in workload.mirrored(cluster).items() if v is not None}
    return Create(
        ref,
        {
            "apiVersion": MANAGED_CLUSTER_ADDON.api_version,
            "kind": MANAGED_CLUSTER_ADDON.name,
            "metadata": {
                "namespace": cluster,
                "name": addon.name,
                "annotations": {**mirrored, names.INSTALLED_BY: addon.uid},
                "ownerReferences": [owned_by(workload.ref, addon.uid, controller=True)],
            },
            "spec": {},
        },
        touch,
    )


def owned(workload: AddOnWorkload, addon: AddOn, busy: set[str], in_order: set[str]) -> list[Write]:
    """Owner references, mirrored annotations and marks that are not as they should be.

    Clusters in ``busy`` are written to already; those written to here are put there, and into ``in_order``
    those where nothing is amiss. What a person holds is left alone.
    """
    found: list[Write] = []
    for cluster in sorted(workload.unowned - busy - workload.held):
        installed = workload.installed(cluster)
        changes = None if installed is None else _metadata(workload, addon, installed)
        if installed is None or not changes:
            in_order.add(cluster)
            continue
        touch = Touch(
            workload.ref, workload.members.get(cluster, ""), cluster, first=False, cause="Own"
        )
        busy.add(cluster)
        ref = addon_ref(cluster, addon.name)
        found.append(Patch(ref, {"metadata": changes}, installed.version, touch))
    return found


def disowned_addons(workload: AddOnWorkload, addon: AddOn, writes: Iterable[Write]) -> list[Note]:
    """Notes on ManagedClusterAddOns that lost their owner or their mark, where a write puts it back (S18).

    One that the add-on did not install gets its owner without a note.
    """

    def is_disowned(cluster: str) -> bool:
        installed = workload.installed(cluster)
        return installed is not None and _is_disowned(workload, addon, installed)

    text = (
        "the ManagedClusterAddOn of cluster {cluster} had lost its owner or its mark; it is put"
        " back"
    )
    return disowned_notes(workload.ref, writes, is_disowned, reason="AddOnRepaired", text=text)


def _is_disowned(workload: AddOnWorkload, addon: AddOn, installed: ClusterAddOn) -> bool:
    """Whether somebody removed its mark, or left the mark and removed the owner."""
    mark = installed.annotations.get(names.INSTALLED_BY)
    if mark is None:
        return workload.is_marked(installed.cluster)
    return mark == addon.uid and addon.uid not in installed.owner_uids


def _metadata(workload: AddOnWorkload, addon: AddOn, installed: ClusterAddOn) -> Obj:
    changes: Obj = {}
    if addon.uid and addon.uid not in installed.owner_uids:
        owners = installed.raw["metadata"].get("ownerReferences") or []
        taken = any(owner.get("controller") for owner in owners)
        ours = owned_by(workload.ref, addon.uid, controller=not taken)
        changes["ownerReferences"] = [*owners, ours]
    annotations = {
        key: value
        for key, value in workload.mirrored(installed.cluster).items()
        if installed.annotations.get(key) != value
    }
    if workload.is_marked(installed.cluster) and names.INSTALLED_BY not in installed.annotations:
        annotations[names.INSTALLED_BY] = addon.uid
    if annotations:
        changes["annotations"] = annotations
    return changes


def uninstalls(
    workload: AddOnWorkload,
    addon: AddOn,
    view: AddOnView,
    now: datetime,
    *,
    shut: Shut = NOTHING_SHUT,
) -> Removals:
    """What the strategy installed at clusters that are selected no more.

    A placement that is missing, or whose selection is unknown, could select any of them: then nothing
    is removed.
    """
    shares = workload.shares.values()
    if not workload.strays or addon.placements is None or not all(s.is_settled for s in shares):
        return NONE
    leaving = _staying(workload, workload.strays - workload.held)
    going = {cluster: uid for cluster, uid in leaving.items() if cluster not in shut.waits}
    opens_at = shut.until if len(going) < len(leaving) else None
    unasked = sorted(going.keys() - workload.asked_for)
    braking = brake(workload, unasked, addon.intents, view.is_detached, policy=view.policy, now=now)
    keys = tuple(share.placement.key for share in shares)
    return Removals(
        [
            Delete(
                addon_ref(cluster, addon.name),
                uid,
                unless_selected_by=keys,
                cluster=cluster,
                removed_from=workload.ref,
            )
            for cluster, uid in sorted(going.items())
            if cluster not in braking.clusters
        ],
        braking.hold,
        earliest(braking.eased_at, opens_at),
    )


def _staying(workload: AddOnWorkload, clusters: Iterable[str]) -> dict[str, str]:
    """The uids of those there that nobody is deleting yet: the brake counted the others when they went."""
    found = ((cluster, workload.installed(cluster)) for cluster in clusters)
    return {
        cluster: installed.uid
        for cluster, installed in found
        if installed is not None and not installed.deleting
    }
