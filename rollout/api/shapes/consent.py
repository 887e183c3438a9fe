"""What do people write to consent, to refuse, and to stop the line?"""

from typing import Annotated, Literal

from pydantic import Field

from rollout.api.shapes.base import InstantText, Name, Resource, Shape, accepted

GATE = r"^(\*|(before|after):.+)$"
REVISION = r"^[0-9a-z]{6,64}$"
GateText = Annotated[
    str, Field(pattern=GATE), accepted("before:GROUP, after:GROUP or * for every gate")
]
RevisionText = Annotated[
    str, Field(pattern=REVISION), accepted("the hash of a revision, as `rollout history` shows it")
]


class WorkloadRef(Shape):
    """Names the workload that is meant. A ManifestWorkReplicaSet is in the Approval's namespace."""

    kind: Literal["ManifestWorkReplicaSet", "ClusterManagementAddOn"] = "ManifestWorkReplicaSet"
    name: Name


class ApprovalSpec(Shape):
    """Consent to a gate of one revision, or refusal of that revision."""

    workload: WorkloadRef
    revision: RevisionText
    gate: GateText = "*"
    decision: Literal["Approve", "Reject"]
    actor: str | None = None
    """Who says so; a claim, which nobody checks. RBAC on Approvals says who can."""
    reason: str | None = None
    expires: InstantText | None = None
    """From then on it counts no more; a gate that has opened stays open."""


class Approval(Resource):
    """Somebody's word on one revision of one workload."""

    spec: ApprovalSpec


class FreezeSpec(Shape):
    """Why the line stands still, and until when."""

    reason: str | None = None
    actor: str | None = None
    """Who says so; a claim, which nobody checks. RBAC on Freezes says who can."""
    until: InstantText | None = None
    """From then on it holds nothing; without it somebody has to delete it."""


class Freeze(Resource):
    """While it stands, nothing on the hub is touched or removed."""

    spec: FreezeSpec | None = None
