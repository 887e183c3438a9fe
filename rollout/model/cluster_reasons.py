"""Why a single cluster is not done, where no hold, block or gate says so.

What keeps clusters from being touched is a `Reason`. The words here are those of a cluster whose
turn comes, that is on its way, or that has failed. They stand in `-o json`, in Events and in
records: they never change.
"""

from enum import StrEnum
from typing import NewType, Self

from rollout.model.waits import Reason, reason_of


class ClusterReason(StrEnum):
    """One word for what a cluster waits for, or for how it failed.

    ``meaning`` says what the word means. A member is equal to its word.
    """

    meaning: str

    def __new__(cls, word: str, meaning: str) -> Self:
        member = str.__new__(cls, word)
        member._value_ = word
        member.meaning = meaning
        return member

    # -- it waits to be written to ---------------------------------------------------------------
    DUE = "Due", "It is its turn: the engine writes to it next."
    NOT_STAGED = "NotStaged", "It is in no stage yet."
    GOING_BACK = "GoingBack", "It is on its way back to the earlier revision."
    NOTHING_TO_GO_BACK_TO = "NothingToGoBackTo", "Nothing has soaked there before."
    WRITE_REJECTED = "WriteRejected", "The API server refuses what would be written."

    # -- it is on its way ------------------------------------------------------------------------
    NOT_ACKNOWLEDGED = "NotAcknowledged", "Its agent has not answered yet."
    PROGRESSING = "Progressing", "Its agent has answered, and has not reported success yet."
    SOAKING = "Soaking", "It is well, and minSuccessTime is not over."
    IN_FLIGHT = "InFlight", "Of a stage: it waits for clusters that have been touched."

    # -- it has failed, or is failing ------------------------------------------------------------
    TIMED_OUT = "TimedOut", "progressDeadline is over."
    UNREACHABLE = "Unreachable", "progressDeadline is over, and its agent has not answered."
    LOST = "Lost", "It became unavailable while it was in flight, or after it had failed."
    APPLY_FAILED = "ApplyFailed", "Its agent could not apply the manifests."
    DEGRADED = "Degraded", "Its agent reports that the objects are not well."
    UNAVAILABLE = "Unavailable", "The agent of the add-on is not available there."
    COMPLETED_WORK_FROZEN = (
        "CompletedWorkFrozen",
        "Its ManifestWork is Complete, so its agent applies nothing more.",
    )
    FAILED = "Failed", "It failed, and nothing says more of why."


ReportedWord = NewType("ReportedWord", str)
"""The word of somebody else for a failure, as a stored condition or a record has it."""
AnyReason = Reason | ClusterReason | ReportedWord
"""What can stand as the reason of a wait."""


def any_reason(word: str) -> AnyReason:
    """The reason that a stored or reported word names; the word itself where it is none of ours."""
    return reason_of(word) or _BY_WORD.get(word) or ReportedWord(word)


_BY_WORD = {reason.value: reason for reason in ClusterReason}
