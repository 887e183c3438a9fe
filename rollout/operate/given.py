"""Which approvals and refusals of a workload stand already?

Who may not read Approvals, or has a server without them, is answered as if there were none: the verbs
write all the same, and the engine heeds what stands.
"""

from datetime import datetime

from rollout.api.own import decode_approval
from rollout.errors import ConfigError, Denied, NotServed
from rollout.hub.base import Hub
from rollout.model.approvals import EVERY_STAGE, Approval, Decision, refusal
from rollout.model.kinds import APPROVAL, Obj, Ref
from rollout.operate.revisions import places


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
    known: tuple[Approval, ...], decision: Decision, gate: str, expires: datetime | None
) -> Approval | None:
    """The one that says as much already, for at least as long; None where there is none."""
    for each in known:
        enough = decision is Decision.REJECT or each.gate in (EVERY_STAGE, gate)
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
        if (found := refusal(given(hub, ref, namespace, revision, now), revision, now))
    ]
    words = "; ".join(map(still_rejected, refused))
    if refused and len(refused) == len(present):
        raise ConfigError(f"{ref}: {words} first, then retry")
    return words
