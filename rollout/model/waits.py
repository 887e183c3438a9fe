"""Why something does not happen now, who can end that, and when to look again.

Everything that keeps a cluster from being touched, or a work from being removed, is one `Wait`. Its
`Reason` is one word of a fixed list; the list says for each word how bad it is, what it concerns and what
would end it. The words stand in conditions, events, metrics and `-o json`: they never change.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum, IntEnum, StrEnum

from rollout.model import names


class Grade(IntEnum):
    """How a workload, or a part of it, stands; the worst first."""

    FAILED = 0
    PERSON = 1
    """Only a person can end it."""
    WAITING = 2
    """It may end by itself."""
    TOLERATED = 3
    DONE = 4

    @property
    def exit_code(self) -> int:
        """What `rollout status` and `rollout run` exit with (2 is for a wrong call)."""
        return {"DONE": 0, "FAILED": 1, "WAITING": 3, "PERSON": 4, "TOLERATED": 5}[self.name]


class Scope(Enum):
    """What a reason concerns: all of this waits, and nothing else does."""

    HUB = "hub"
    WORKLOAD = "workload"
    PLACEMENT = "placement"
    REVISION = "revision"
    STAGE = "stage"
    CLUSTER = "cluster"


def _row(word: str, scope: Scope, grade: Grade, remedy: str = "") -> tuple[str, Scope, Grade, str]:
    return word, scope, grade, remedy


class Reason(StrEnum):
    """One word for why something waits, or for how it ended.

    ``scope`` says what the reason concerns, ``grade`` how bad it is, ``remedy`` what would end it ("" where
    the message of the `Wait` says that). A member is equal to its word.
    """

    scope: Scope
    grade: Grade
    remedy: str

    def __new__(cls, word: str, scope: Scope, grade: Grade, remedy: str) -> "Reason":
        member = str.__new__(cls, word)
        member._value_ = word
        member.scope, member.grade, member.remedy = scope, grade, remedy
        return member

    # -- of the hub ------------------------------------------------------------------------------
    FROZEN = _row(
        "Frozen",
        Scope.HUB,
        Grade.PERSON,
        "the freeze ends, by itself or with `rollout unfreeze` (its Freeze is deleted)",
    )

    # -- of a workload ---------------------------------------------------------------------------
    PAUSED = _row(
        "Paused",
        Scope.WORKLOAD,
        Grade.PERSON,
        f'somebody resumes it: `rollout resume`, or annotation {names.PAUSED}: "false"',
    )
    MISCONFIGURED = _row(
        "Misconfigured",
        Scope.WORKLOAD,
        Grade.FAILED,
        "the fields named are corrected",
    )
    RECORD_REJECTED = _row(
        "RecordRejected",
        Scope.WORKLOAD,
        Grade.PERSON,
        "the server accepts the record: check the quota, the permissions or the policy that the "
        "message names",
    )
    NOT_MANAGED = _row(
        "NotManaged",
        Scope.WORKLOAD,
        Grade.PERSON,
        f"annotation {names.ADDON_LIFECYCLE} of the add-on is removed, or set to addon-manager",
    )
    DELETING = _row(
        "Deleting",
        Scope.WORKLOAD,
        Grade.FAILED,
        "the agents named have deleted what they applied; where a cluster is gone for good, delete its "
        "ManagedCluster, or remove the finalizer from its ManifestWork",
    )
    REMOVAL_BRAKE = _row(
        "RemovalBrake",
        Scope.WORKLOAD,
        Grade.PERSON,
        f"somebody releases the removals: annotation {names.RELEASE_REMOVALS}, an instant in the future; "
        "or the clusters are selected again",
    )

    # -- of a placement --------------------------------------------------------------------------
    PLACEMENT_NOT_FOUND = _row(
        "PlacementNotFound",
        Scope.PLACEMENT,
        Grade.PERSON,
        "the Placement is created, or the placementRef corrected",
    )
    NOT_DECIDED = _row(
        "NotDecided",
        Scope.PLACEMENT,
        Grade.WAITING,
        "the Placement has been decided",
    )
    TORN_DECISIONS = _row(
        "TornDecisions",
        Scope.PLACEMENT,
        Grade.WAITING,
        "whoever writes the PlacementDecisions has written all of them",
    )
    NO_TARGETS = _row(
        "NoTargets",
        Scope.PLACEMENT,
        Grade.PERSON,
        "the Placement selects a cluster",
    )
    CONFIG_NOT_FOUND = _row(
        "ConfigNotFound",
        Scope.PLACEMENT,
        Grade.PERSON,
        "the configuration object is created, or another one is referred to",
    )
    UNKNOWN_DECISION_GROUP = _row(
        "UnknownDecisionGroup",
        Scope.PLACEMENT,
        Grade.PERSON,
        "mandatoryDecisionGroups names a group that the Placement has",
    )
    MANDATORY_GROUP_EMPTY = _row(
        "MandatoryGroupEmpty",
        Scope.PLACEMENT,
        Grade.PERSON,
        "clusters are selected for the group, it is no longer mandatory, or annotation "
        f"{names.ALLOW_EMPTY_GROUPS} names it",
    )
    MANDATORY_GROUP_EMPTIED = _row(
        "MandatoryGroupEmptied",
        Scope.PLACEMENT,
        Grade.PERSON,
        "clusters are selected for the group, or it is no longer mandatory",
    )

    # -- of a revision ---------------------------------------------------------------------------
    DECISIONS_UNSETTLED = _row(
        "DecisionsUnsettled",
        Scope.REVISION,
        Grade.WAITING,
        "the placement's decisions have not changed for the quiet period",
    )
    ABORTED = _row(
        "Aborted",
        Scope.REVISION,
        Grade.PERSON,
        "another revision is rolled out, or somebody retries: `rollout retry`, or annotation "
        f"{names.ABORT} is removed",
    )
    REJECTED = _row(
        "Rejected",
        Scope.REVISION,
        Grade.PERSON,
        "another revision is rolled out, or the Approval that rejects this one is deleted: "
        "`rollout delete approval`",
    )
    UNDONE = _row(
        "Undone",
        Scope.REVISION,
        Grade.PERSON,
        "another revision is rolled out, or somebody retries: `rollout retry`, or annotation "
        f"{names.UNDO} is removed",
    )
    ROLLING_BACK = _row(
        "RollingBack",
        Scope.REVISION,
        Grade.WAITING,
        "all clusters are back; then a fix is rolled out, or somebody retries: `rollout retry` "
        f"(annotation {names.RETRY})",
    )
    ROLLED_BACK = _row(
        "RolledBack",
        Scope.REVISION,
        Grade.FAILED,
        f"a fix is rolled out, or somebody retries: `rollout retry` (annotation {names.RETRY})",
    )
    ROLLBACK_HALTED = _row(
        "RollbackHalted",
        Scope.REVISION,
        Grade.FAILED,
        "a fix is rolled out, failed clusters are skipped (`rollout skip`, annotation "
        f"{names.SKIP}), or annotation {names.ROLLBACK_FAILURES} is raised (or "
        f"{names.ROLLBACK_CONCURRENCY}, where it is zero)",
    )
    UNKNOWN_APPROVAL_GROUP = _row(
        "UnknownApprovalGroup",
        Scope.REVISION,
        Grade.PERSON,
        f"annotation {names.GATES} names a group that is a stage of its own; for one of several"
        " placements it is before:PLACEMENT/GROUP",
    )
    ANALYSIS_FAILED = _row(
        "AnalysisFailed",
        Scope.REVISION,
        Grade.FAILED,
        f"a fix is rolled out, or somebody retries: `rollout retry` (annotation {names.RETRY})",
    )
    MAX_FAILURES_EXCEEDED = _row(
        "MaxFailuresExceeded",
        Scope.REVISION,
        Grade.FAILED,
        "a fix is rolled out, maxFailures is raised, or failed clusters are skipped (`rollout skip`, "
        f"annotation {names.SKIP}) or tried again (`rollout retry`)",
    )

    # -- of a stage ------------------------------------------------------------------------------
    APPROVAL_NEEDED = _row(
        "ApprovalNeeded",
        Scope.STAGE,
        Grade.PERSON,
        "somebody approves it: `rollout approve` (an Approval); or the gate is taken out of annotation "
        f"{names.GATES}",
    )
    UNKNOWN_GATE = _row(
        "UnknownGate",
        Scope.STAGE,
        Grade.PERSON,
        f"annotation {names.GATES} names a kind of gate that is installed",
    )
    GATE_FAILED = _row(
        "GateFailed",
        Scope.STAGE,
        Grade.PERSON,
        "the package of the gate is mended and the controller started again (its log says what the gate "
        f"raised), or the gate is taken out of annotation {names.GATES}",
    )
    GATE_CLOSED = _row("GateClosed", Scope.STAGE, Grade.WAITING)
    """For gates that have no reason of their own, as those of packages may: the message says why."""
    ANALYSIS_RUNNING = _row(
        "AnalysisRunning", Scope.STAGE, Grade.WAITING, "the analysis is Successful"
    )
    ANALYSIS_INCONCLUSIVE = _row(
        "AnalysisInconclusive",
        Scope.STAGE,
        Grade.PERSON,
        "somebody decides: `rollout approve` (an Approval), or `rollout reject`",
    )
    METRIC_UNREACHABLE = _row(
        "MetricUnreachable",
        Scope.STAGE,
        Grade.WAITING,
        "the provider of the metric answers again, or somebody approves: `rollout approve`",
    )
    CONCURRENCY_ZERO = _row(
        "ConcurrencyZero",
        Scope.STAGE,
        Grade.PERSON,
        "maxConcurrency is raised above zero",
    )
    WAITING_FOR_STAGE = _row("WaitingForStage", Scope.STAGE, Grade.WAITING)
    SLOTS_FULL = _row("SlotsFull", Scope.STAGE, Grade.WAITING)
    FAILURE_TOLERANCE = _row("FailureTolerance", Scope.STAGE, Grade.WAITING)

    # -- of a cluster ----------------------------------------------------------------------------
    HELD = _row(
        "Held",
        Scope.CLUSTER,
        Grade.PERSON,
        f"somebody releases it: `rollout release`, or annotation {names.HOLD} no longer names it",
    )
    WINDOW_CLOSED = _row(
        "WindowClosed",
        Scope.CLUSTER,
        Grade.WAITING,
    )
    """The message says when the calendar opens."""
    UNKNOWN_TIME_ZONE = _row(
        "UnknownTimeZone",
        Scope.CLUSTER,
        Grade.PERSON,
        "the label or claim that names the cluster's time zone is corrected, or the calendar gets a timeZone",
    )

    VALUES_MISSING = _row("ValuesMissing", Scope.CLUSTER, Grade.PERSON)
    """The message says which rule needs what of the cluster."""
    VALUES_INVALID = _row("ValuesInvalid", Scope.CLUSTER, Grade.PERSON)
    VALUES_CONFLICT = _row("ValuesConflict", Scope.CLUSTER, Grade.PERSON)
    VALUES_SETTLING = _row(
        "ValuesSettling",
        Scope.CLUSTER,
        Grade.WAITING,
        "what is rendered for the cluster has not changed for a while",
    )

    # -- nothing stands in the way, or it is over ------------------------------------------------
    ROLLING_OUT = _row("RollingOut", Scope.WORKLOAD, Grade.WAITING)
    WAITING = _row("Waiting", Scope.WORKLOAD, Grade.WAITING)
    COMPLETE = _row("Complete", Scope.WORKLOAD, Grade.DONE)
    COMPLETE_WITH_FAILURES = _row("CompleteWithFailures", Scope.WORKLOAD, Grade.TOLERATED)
    ROLLED_OUT = _row("RolledOut", Scope.WORKLOAD, Grade.DONE)
    ROLLED_OUT_WITH_FAILURES = _row("RolledOutWithFailures", Scope.WORKLOAD, Grade.TOLERATED)
    MANUAL = _row("Manual", Scope.WORKLOAD, Grade.DONE)

    @property
    def is_done(self) -> bool:
        """Whether nothing is waited for any more."""
        return self.grade >= Grade.TOLERATED

    @property
    def resolves_itself(self) -> bool:
        """Whether it ends when other clusters are done, without anybody doing anything."""
        return self in (Reason.SLOTS_FULL, Reason.WAITING_FOR_STAGE, Reason.FAILURE_TOLERANCE)


def reason_of(word: str) -> Reason | None:
    """The reason that a stored condition names; None for a word of somebody else."""
    return _BY_WORD.get(word)


_BY_WORD = {reason.value: reason for reason in Reason}


@dataclass(frozen=True, slots=True)
class Wait:
    """Why something does not happen now.

    ``message`` is a sentence for a person that says what would end the wait. ``until`` is the instant at
    which time alone may end it, so that somebody has to look again then (None: an event ends it).
    """

    reason: Reason
    message: str = ""
    until: datetime | None = None
