"""How is a gate approved, a revision rejected, and the line stopped?"""

import hashlib
from datetime import datetime

from rollout.errors import AlreadyExists, ConfigError
from rollout.hub.base import Hub
from rollout.model import names
from rollout.model.approvals import EVERY_STAGE, Decision
from rollout.model.instants import rfc3339
from rollout.model.intents import read_intents
from rollout.model.kinds import APPROVAL, FREEZE, Obj, Ref
from rollout.operate.revisions import places
from rollout.operate.told import Told, Who

FREEZE_NAME = "stop-the-line"


def approve(
    hub: Hub,
    ref: Ref,
    who: Who,
    gate: str = "",
    *,
    revision: str = "",
    expires: datetime | None = None,
) -> tuple[Told, ...]:
    """Approve a gate of the revision that is being rolled out.

    Args:
        gate: as the workload asks for it, or ``*`` for all; "" where it asks for one only.
        revision: what was looked at; where that is no longer the present one nothing is approved.
        expires: until when the gate must have been reached.

    Returns: what was written, one Approval for each revision (an add-on has one for each placement).
    Raises: ConfigError, Gone, HubError.
    """
    obj = hub.get(ref)
    asked = read_intents(obj["metadata"].get("annotations") or {}).gates
    gates = [str(each) for each in asked]
    if not gates:
        raise ConfigError(f"{ref} asks for no approval: annotation {names.GATES} names no gate")
    if not gate and len(gates) > 1:
        raise ConfigError(f"{ref} has {len(gates)} gates: name one of {', '.join(gates)}, or *")
    gate = gate or gates[0]
    if gate != EVERY_STAGE and gate not in gates:
        raise ConfigError(f"{ref} has no gate {gate}; it has {', '.join(gates)}")
    return _consent(hub, ref, obj, who, Decision.APPROVE, gate, revision, expires)


def reject(hub: Hub, ref: Ref, who: Who, *, revision: str = "") -> tuple[Told, ...]:
    """Reject the revision that is being rolled out: it goes no further; with rollback Automatic its
    clusters get back what soaked there. Raises: ConfigError, Gone, HubError.
    """
    obj = hub.get(ref)
    return _consent(hub, ref, obj, who, Decision.REJECT, EVERY_STAGE, revision, None)


def _consent(
    hub: Hub,
    ref: Ref,
    obj: Obj,
    who: Who,
    decision: Decision,
    gate: str,
    revision: str,
    expires: datetime | None,
) -> tuple[Told, ...]:
    present = sorted(places(hub, ref, obj))
    if revision and revision not in {each for _, each in present}:
        listed = ", ".join(sorted({each for _, each in present}))
        raise ConfigError(f"{ref}: revision {revision} is not rolled out (any more); {listed} is")
    if not present:
        raise ConfigError(f"{ref}: nothing is rolled out yet")
    told: list[Told] = []
    for namespace, each in present:
        if revision and each != revision:
            continue
        spec: Obj = {
            "workload": {"kind": ref.kind.name, "name": ref.name},
            "revision": each,
            "gate": gate,
            "decision": decision.value,
            "actor": who.by,
            "reason": who.reason,
        }
        if expires is not None:
            spec["expires"] = rfc3339(expires)
        told.append(_create(hub, namespace, _name(ref, spec, who), spec))
    return tuple(told)


def _name(ref: Ref, spec: Obj, who: Who) -> str:
    """A name that tells what it is about; the same word twice within a second is one object."""
    text = f"{ref}/{spec['revision']}/{spec['gate']}/{spec['decision']}/{rfc3339(who.at)}"
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"{ref.name[:200]}-{spec['revision'][:8]}-{spec['decision'].lower()}-{digest}"


def _create(hub: Hub, namespace: str, name: str, spec: Obj) -> Told:
    ref = Ref(APPROVAL, f"{namespace}/{name}")
    obj = {
        "apiVersion": APPROVAL.api_version,
        "kind": APPROVAL.name,
        "metadata": {"namespace": namespace, "name": name},
        "spec": spec,
    }
    words = "approved" if spec["decision"] == Decision.APPROVE.value else "rejected"
    what = f"gate {spec['gate']} of revision {spec['revision']}"
    if words == "rejected":
        what = f"revision {spec['revision']}"
    try:
        hub.create(ref, obj)
    except AlreadyExists:
        return Told(ref, False, f"{what} was {words} just now")
    return Told(ref, True, f"{words} {what}")


def freeze(hub: Hub, who: Who, *, until: datetime | None = None, name: str = FREEZE_NAME) -> Told:
    """Stop the line: nothing on the hub is touched or removed until the Freeze ends or is deleted.

    Raises: HubError.
    """
    spec: Obj = {"reason": who.reason, "actor": who.by}
    if until is not None:
        spec["until"] = rfc3339(until)
    ref = Ref(FREEZE, name)
    obj = {
        "apiVersion": FREEZE.api_version,
        "kind": FREEZE.name,
        "metadata": {"name": name},
        "spec": spec,
    }
    try:
        hub.create(ref, obj)
    except AlreadyExists:
        known = hub.get(ref).get("spec") or {}
        if known.get("until") == spec.get("until"):
            return Told(ref, False, f"is frozen already by {known.get('actor') or 'somebody'}")
        hub.patch(ref, {"spec": {"until": spec.get("until"), "reason": who.reason}})
        return Told(ref, True, "the freeze was changed")
    return Told(ref, True, "nothing is touched or removed on this hub from now on")


def unfreeze(hub: Hub, name: str = "") -> tuple[Told, ...]:
    """End a freeze; "" ends the one that there is.

    Raises: ConfigError where there are several and none was named, Gone, HubError.
    """
    standing = [obj["metadata"]["name"] for obj in hub.list(FREEZE).items]
    if not name and len(standing) > 1:
        raise ConfigError(f"there are {len(standing)} freezes: name one of {', '.join(standing)}")
    if not name and not standing:
        return (Told(Ref(FREEZE, FREEZE_NAME), False, "the hub is not frozen"),)
    ref = Ref(FREEZE, name or standing[0])
    hub.delete(ref)
    return (Told(ref, True, "the freeze has ended"),)
