"""What do an Approval and a Freeze say? Wire objects to model values.

Whatever cannot be read does not help: an Approval of which a part is unclear counts for nothing, unless
it refuses; a Freeze whose end is unclear has none.
"""

from rollout.api.fields import mapping, text
from rollout.model.approvals import EVERY_STAGE, Approval, Decision, Freeze, parse_gate
from rollout.model.instants import parse_instant
from rollout.model.kinds import REPLICA_SET, Obj


def decode_approval(obj: Obj) -> Approval:
    """An Approval; where it is not clear what it approves it names no revision, and counts for none."""
    meta, spec = mapping(obj.get("metadata")), mapping(obj.get("spec"))
    workload = mapping(spec.get("workload"))
    refuses = spec.get("decision") == Decision.REJECT.value
    gate = text(spec.get("gate")) or EVERY_STAGE
    expires = spec.get("expires")
    is_clear = (
        spec.get("decision") == Decision.APPROVE.value
        and (gate == EVERY_STAGE or parse_gate(gate) is not None)
        and (expires is None or parse_instant(expires) is not None)
    )
    return Approval(
        text(meta.get("name")),
        text(meta.get("namespace")),
        text(workload.get("kind")) or REPLICA_SET.name,
        text(workload.get("name")),
        text(spec.get("revision")) if refuses or is_clear else "",
        Decision.REJECT if refuses else Decision.APPROVE,
        gate,
        text(spec.get("actor")),
        text(spec.get("reason")),
        parse_instant(expires),
    )


def decode_freeze(obj: Obj) -> Freeze:
    """A Freeze."""
    meta, spec = mapping(obj.get("metadata")), mapping(obj.get("spec"))
    return Freeze(
        text(meta.get("name")),
        text(spec.get("reason")),
        text(spec.get("actor")),
        parse_instant(spec.get("until")),
    )
