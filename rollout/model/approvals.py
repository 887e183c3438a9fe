"""Gates that are asked for, approvals, rejections, and freezes of the hub."""

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from datetime import datetime
from enum import Enum

EVERY_STAGE = "*"
CLUSTER_GATE = "cluster/"
"""What an Approval names that is about the analysis of one cluster begins so; the cluster's name follows."""
APPROVAL_GATE = "approval"
"""The kind of a gate that an Approval opens."""


class Side(Enum):
    """On which side of a stage a gate stands."""

    __hash__ = object.__hash__  # members are single: Enum's own hash costs a call in Python

    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, slots=True)
class GateRef:
    """A gate that a workload asks for: ``before:west``, ``after:edge/canary``, ``before:*=analysis/slo``.

    ``group`` is a decision group's name or index, the word for a whole stage (``rest``, ``all``), or
    ``*`` for every stage; ``placement`` is "" where the gate stands in each of the workload's placements.
    ``kind`` says what opens it; ``argument`` is for that kind to read.
    """

    side: Side
    group: str
    _: KW_ONLY
    placement: str = ""
    kind: str = APPROVAL_GATE
    argument: str = ""

    def __str__(self) -> str:
        where = f"{self.placement}/{self.group}" if self.placement else self.group
        if self.kind == APPROVAL_GATE:
            return f"{self.side.value}:{where}"
        how = f"{self.kind}/{self.argument}" if self.argument else self.kind
        return f"{self.side.value}:{where}={how}"


GATES_ACCEPTED = (
    "gates such as before:GROUP or after:GROUP=KIND/ARGUMENT, separated by commas "
    "(without KIND: an approval)"
)


def parse_gate(text: str) -> GateRef | None:
    """Reads one gate as people write it; None if the text is no gate."""
    place, has_kind, how = text.strip().partition("=")
    side, colon, where = place.strip().partition(":")
    if not colon or side not in (Side.BEFORE.value, Side.AFTER.value):
        return None
    placement, _, group = where.strip().rpartition("/")
    kind, _, argument = how.strip().partition("/")
    if not group.strip() or (has_kind and not kind):
        return None
    return GateRef(
        Side(side),
        group.strip(),
        placement=placement.strip(),
        kind=kind or APPROVAL_GATE,
        argument=argument.strip(),
    )


class ApprovalDecision(Enum):
    """What an Approval says."""

    APPROVE = "Approve"
    REJECT = "Reject"


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """An Approval object: consent to one gate of one revision, or its refusal.

    ``gate`` is as `GateRef` prints it, ``*`` for all gates of the revision, or ``cluster/NAME`` for the
    analysis of one cluster; a refusal is of the revision as a whole. ``actor`` is who says so: a claim, the API server does not check it.
    """

    name: str
    namespace: str
    kind: str
    workload: str
    revision: str
    decision: ApprovalDecision
    gate: str = EVERY_STAGE
    actor: str = ""
    reason: str = ""
    expires: datetime | None = None

    def counts(self, revision: str, now: datetime) -> bool:
        """Whether it is about this revision, and has not expired."""
        return self.revision == revision and (self.expires is None or now < self.expires)

    @property
    def cluster(self) -> str:
        """The cluster whose analysis it is about; "" where it is about gates."""
        return self.gate.removeprefix(CLUSTER_GATE) if self.gate.startswith(CLUSTER_GATE) else ""

    @property
    def delete_command(self) -> str:
        """What a person types to take it back."""
        return f"`rollout delete approval {self.name} -n {self.namespace}`"


def refusal(approvals: Iterable[Approval], revision: str, now: datetime) -> Approval | None:
    """The first that rejects this revision; None where none does."""
    for each in approvals:
        if each.decision is ApprovalDecision.REJECT and each.counts(revision, now):
            return each
    return None


@dataclass(frozen=True, slots=True)
class Freeze:
    """A Freeze object: nothing is touched or removed on the whole hub while it stands."""

    name: str
    reason: str = ""
    actor: str = ""
    until: datetime | None = None

    def stands(self, now: datetime) -> bool:
        return self.until is None or now < self.until
