"""What can a person do to a rollout while it runs? One call for each verb, on any hub.

Everything is an annotation on the workload, or an object of ours (Approval, Freeze), so that kubectl
and GitOps can do it too, and so that it outlives every process. Each verb is recorded with who says to
have asked, when and why.
"""

from rollout.operate.consents import FREEZE_NAME, approve, freeze, reject, unfreeze
from rollout.operate.intents import (
    abort,
    hold,
    override_calendars,
    pause,
    release,
    resume,
    retry,
    skip,
    undo,
    unskip,
)
from rollout.operate.told import Told, Who

__all__ = [
    "FREEZE_NAME",
    "Told",
    "Who",
    "abort",
    "approve",
    "freeze",
    "hold",
    "override_calendars",
    "pause",
    "reject",
    "release",
    "resume",
    "retry",
    "skip",
    "undo",
    "unfreeze",
    "unskip",
]
