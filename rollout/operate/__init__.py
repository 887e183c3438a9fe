"""The verbs that people use on a rollout while it runs, one call each, on any hub.

Everything is an annotation on the workload, or an object of ours (Approval, Freeze), so that kubectl
and GitOps can do it too, and so that it outlives every process. Each verb is recorded with who says to
have asked, when and why.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rollout.operate.edits import FREEZE_NAME, VerbResult, Who

if TYPE_CHECKING:
    from rollout.operate.consents import approve, freeze, reject, unfreeze
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

__all__ = [
    "FREEZE_NAME",
    "VerbResult",
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

_CONSENTS = frozenset({"approve", "freeze", "reject", "unfreeze"})


def __getattr__(name: str) -> Any:
    """A verb, loaded when it is asked for: whoever reads its help does not wait for all models."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "consents" if name in _CONSENTS else "intents"
    return getattr(import_module(f"{__name__}.{module}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
