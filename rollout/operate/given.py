"""Finds the revisions that a workload is rolling out, and the Approvals of them.

Who may not read Approvals, or has a server without them, is answered as if there were none: the verbs
write all the same, and the engine heeds what stands.
"""

from collections.abc import Set
from datetime import datetime

from rollout.api.decoding import decode
from rollout.api.own import decode_approval
from rollout.api.values import decode_values
from rollout.errors import ConfigError, Denied, NotServed
from rollout.hub.base import Hub
from rollout.model import names
from rollout.model.approvals import (
    CLUSTER_GATE,
    EVERY_STAGE,
    Approval,
    ApprovalDecision,
    refusal,
)
from rollout.model.kinds import (
    APPROVAL,
    CLUSTER_VALUES,
    REPLICA_SET,
    ROLLOUT_RECORD,
    Obj,
    Ref,
    traits_of,
)
from rollout.model.replicaset import ReplicaSet
from rollout.rollouts.record import HEAD, page_of, read_record
from rollout.values.rules import revision_of, written_rules


def revisions(hub: Hub, ref: Ref, obj: Obj) -> frozenset[str]:
    """The revisions of a workload: of its template and the rules over it, or of each placement's
    configurations.

    Raises: as `places`.
    """
    return frozenset(revision for _, revision in places(hub, ref, obj))


def places(hub: Hub, ref: Ref, obj: Obj) -> frozenset[tuple[str, str]]:
    """Pairs (namespace of the Approvals, revision). An add-on has one for each of its placements: as its
    records say.

    Raises: Denied where neither ClusterValues may be listed nor the status tells of the present spec;
    HubError.
    """
    if traits_of(ref.kind.name).has_one_revision:
        return frozenset({(ref.namespace, _revision(hub, ref, obj))})
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
            found.add((ref.namespace or placement.partition("/")[0], revision))
    return frozenset(found)


def _revision(hub: Hub, ref: Ref, obj: Obj) -> str:
    """What the engine rolls out of this ManifestWorkReplicaSet, with the rules that stand over it."""
    # An approval, or an abort, of a revision that does not exist would do nothing, and nobody would know.
    assert ref.kind is REPLICA_SET, f"nothing here reads the one revision of {ref}"
    try:
        listed = hub.list(CLUSTER_VALUES, ref.namespace).items
    except NotServed:
        listed = ()
    except Denied:
        told = _told(obj)
        if not told:
            raise
        return told
    replicaset = decode(REPLICA_SET, obj)
    assert isinstance(replicaset, ReplicaSet)
    several = [values for values in map(decode_values, listed) if values.workload == ref.name]
    return revision_of(replicaset.template.content, written_rules(several))


def _told(obj: Obj) -> str:
    """The revision that the status tells; "" where it tells none, or is about an earlier spec."""
    status: Obj = obj.get("status") or {}
    generation = obj["metadata"].get("generation")
    is_current = any(
        each.get("type") == names.READY and each.get("observedGeneration") == generation
        for each in status.get("conditions") or []
    )
    return str(status.get("updateRevision") or "") if is_current else ""


def _is_of(page: Obj, obj: Obj) -> bool:
    """Whether the page belongs to this very object, not to one of its name before it."""
    owners = page["metadata"].get("ownerReferences") or []
    return any(owner.get("uid") == obj["metadata"].get("uid") for owner in owners)


NONE: Set[str] = frozenset()


def refuse_others(ref: Ref, present: Set[str], shown: Set[str]) -> None:
    """Nobody acts on a revision that they have not seen: ``shown`` are those that they have; none: any.

    Raises: ConfigError where others are rolled out.
    """
    if shown and present != shown:
        before, now = (", ".join(sorted(each)) or "none" for each in (shown, present))
        raise ConfigError(
            f"{ref}: revision {before} was shown, and now {now} is rolled out: look at it first"
        )


def given(hub: Hub, ref: Ref, namespace: str, revision: str, now: datetime) -> tuple[Approval, ...]:
    """The Approvals of a revision that count now, by name. Raises: HubError."""
    try:
        listed = hub.list(APPROVAL, namespace).items
    except (Denied, NotServed):
        return ()
    found = [
        approval
        for approval in map(decode_approval, listed)
        if (approval.kind, approval.workload) == (ref.kind.name, ref.name)
        and approval.counts(revision, now)
    ]
    return tuple(sorted(found, key=lambda approval: approval.name))


def says_so(
    known: tuple[Approval, ...], decision: ApprovalDecision, gate: str, expires: datetime | None
) -> Approval | None:
    """The one that says as much already, for at least as long; None where there is none.

    One of every gate says nothing of what is measured of a cluster.
    """
    of_all = () if gate.startswith(CLUSTER_GATE) else (EVERY_STAGE,)
    for each in known:
        enough = decision is ApprovalDecision.REJECT or each.gate in (*of_all, gate)
        lasts = each.expires is None or (expires is not None and each.expires >= expires)
        if each.decision is decision and enough and lasts:
            return each
    return None


def still_rejected(refused: Approval) -> str:
    """That a revision is rejected, and what ends that."""
    by = f" by {refused.actor} (unverified)" if refused.actor else ""
    return (
        f"revision {refused.revision} is still rejected{by} in Approval {refused.name}: delete that"
        f" ({refused.delete_command})"
    )


def refuse_rejected(hub: Hub, ref: Ref, obj: Obj, now: datetime) -> str:
    """Say which of the revisions that are rolled out are rejected, "" where none is.

    Raises: ConfigError where all are: nothing would come of a retry.
    """
    try:
        present = sorted(places(hub, ref, obj))
    except Denied:
        return ""
    refused = [
        found
        for namespace, revision in present
        if (found := refusal(given(hub, ref, namespace, revision, now=now), revision, now))
    ]
    words = "; ".join(map(still_rejected, refused))
    if refused and len(refused) == len(present):
        raise ConfigError(f"{ref}: {words} first, then retry")
    return words
