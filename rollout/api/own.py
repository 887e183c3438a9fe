"""The wire form of the other kinds of our own API group.

Whatever cannot be read does not help: an Approval of which a part is unclear counts for nothing, unless
it refuses; a Freeze whose end is unclear has none.
"""

from typing import Annotated, Literal

from pydantic import Field

from rollout.api.fields import mapping, text
from rollout.api.reading import read
from rollout.api.wire import (
    BLANK,
    InstantText,
    Name,
    RawObject,
    Shape,
    WireObject,
    WorkloadKindName,
    accepted,
    passing,
)
from rollout.model import approvals
from rollout.model.approvals import CLUSTER_GATE, EVERY_STAGE, Approval, Freeze, parse_gate
from rollout.model.instants import parse_instant
from rollout.model.kinds import REPLICA_SET, Obj

GATE = r"^(\*|(before|after):.+|cluster/.+)$"
REVISION = r"^[0-9a-z]{6,64}$"


def _is_of_cluster(gate: str) -> bool:
    return gate.startswith(CLUSTER_GATE) and gate != CLUSTER_GATE


GateText = Annotated[
    str,
    Field(pattern=GATE),
    passing(lambda gate: gate == EVERY_STAGE or _is_of_cluster(gate) or parse_gate(gate), ""),
    accepted("before:GROUP, after:GROUP, * for every gate, or cluster/NAME for its analysis"),
]
RevisionText = Annotated[
    str, Field(pattern=REVISION), accepted("the hash of a revision, as `rollout history` shows it")
]


class WorkloadRefShape(Shape):
    """Names the workload that is meant. A ManifestWorkReplicaSet is in the Approval's namespace."""

    counts_whole = True

    kind: Annotated[WorkloadKindName | None, BLANK] = "ManifestWorkReplicaSet"
    name: Name


class ApprovalSpec(Shape):
    """Consent to a gate of one revision, or refusal of that revision."""

    workload: WorkloadRefShape
    revision: RevisionText
    gate: Annotated[GateText | None, BLANK] = "*"
    decision: Literal["Approve", "Reject"]
    actor: str | None = None
    """Who says so; a claim, which nobody checks. RBAC on Approvals says who can."""
    reason: str | None = None
    expires: InstantText | None = None
    """From then on it counts no more; a gate that has opened stays open."""


class ApprovalObject(WireObject):
    """Somebody's word on one revision of one workload."""

    spec: ApprovalSpec


def decode_approval(obj: Obj) -> Approval:
    """An Approval; where it is not clear what it approves it names no revision, and counts for none."""
    meta, written = mapping(obj.get("metadata")), mapping(obj.get("spec"))
    name, namespace = text(meta.get("name")), text(meta.get("namespace"))
    refuses = written.get("decision") == approvals.ApprovalDecision.REJECT.value
    decision = approvals.ApprovalDecision.REJECT if refuses else approvals.ApprovalDecision.APPROVE
    spec, problems = read(ApprovalSpec, obj.get("spec"), "spec")
    if spec is None or (problems and not refuses):
        return Approval(
            name=name, namespace=namespace, kind="", workload="", revision="", decision=decision
        )
    return Approval(
        name=name,
        namespace=namespace,
        kind=spec.workload.kind or REPLICA_SET.name,
        workload=spec.workload.name,
        revision=spec.revision,
        decision=decision,
        gate=spec.gate or EVERY_STAGE,
        actor=spec.actor or "",
        reason=spec.reason or "",
        expires=parse_instant(spec.expires),
    )


class FreezeSpec(Shape):
    """Why the line stands still, and until when."""

    reason: str | None = None
    actor: str | None = None
    """Who says so; a claim, which nobody checks. RBAC on Freezes says who can."""
    until: InstantText | None = None
    """From then on it holds nothing; without it somebody has to delete it."""


class FreezeObject(WireObject):
    """While it stands, nothing on the hub is touched or removed."""

    spec: FreezeSpec | None = None


def decode_freeze(obj: Obj) -> Freeze:
    """A Freeze."""
    name = text(mapping(obj.get("metadata")).get("name"))
    spec = read(FreezeSpec, obj.get("spec"), "spec")[0] or FreezeSpec()
    return Freeze(name, spec.reason or "", spec.actor or "", parse_instant(spec.until))


class RecordObject(WireObject):
    """One page of what the engine remembers of a rollout. It is written by the engine alone."""

    data: dict[str, str] | None = None
    """Readable JSON by name: head.json is about the rollout, clusters.json has a line for each cluster."""


class RevisionObject(WireObject):
    """A template that was rolled out, kept to be given back. It is written by the engine alone."""

    revision: int = Field(ge=0)
    """Counts up from 1 for each workload; 0 for a rendered content."""
    template: RawObject | None = None
    """The manifestWorkTemplate as it was; absent for a content that was rendered from another revision."""
    rules: list[RawObject] | None = None
    """The rules over the template as they were, where clusters have values of their own."""
    base: str | None = None
    """The revision that a content was rendered from."""
    values: list[RawObject] | None = None
    """What was put into that one's template."""
