"""Changes a workload's annotations and loses no other change: who asks, what changes, the result."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from rollout.errors import ConfigError, Conflict, RolloutError
from rollout.hub.base import Hub, Kept, profile_of
from rollout.model import names
from rollout.model.intents import AskedBy, asked_text, read_asked
from rollout.model.kinds import Obj, Ref

FREEZE_NAME = "stop-the-line"
"""The Freeze that is meant where none is named."""
TRIES = 10
"""Others write the object too: statuses, mostly. A conflict is read again."""


@dataclass(frozen=True, slots=True)
class Who:
    """Who says to ask, when, and why. Nobody checks ``by``: it is a claim, and is shown as one."""

    by: str
    at: datetime
    reason: str = ""

    @property
    def asked(self) -> AskedBy:
        return AskedBy(self.by, self.at.replace(microsecond=0), self.reason)


@dataclass(frozen=True, slots=True)
class VerbResult:
    """What a verb came to: the object it wrote, whether that changed anything, and a few words."""

    ref: Ref
    changed: bool
    message: str


class OptionError(ConfigError):
    """The user must choose, and has an option for that on the command line. ``plain`` says it without."""

    def __init__(self, message: str, plain: str) -> None:
        super().__init__(message)
        self.plain = plain


def plain(fault: RolloutError) -> str:
    """The text of a fault for people without a command line."""
    return fault.plain if isinstance(fault, OptionError) else str(fault)


Annotations = Mapping[str, str]
AnnotationChanges = dict[str, str | None]
"""Annotations to set, or (None) to take away."""


@dataclass(frozen=True, slots=True)
class Edit:
    """What is to be changed of the annotations, and what is to be remembered of it.

    ``verb`` is the key under which ``asked`` keeps who asked; ``forgets`` the keys that are over.
    """

    changes: AnnotationChanges
    message: str
    verb: str = ""
    forgets: tuple[str, ...] = ()


def annotate(
    hub: Hub, ref: Ref, who: Who, decide: Callable[[Obj, Annotations], Edit | str]
) -> VerbResult:
    """Change the annotations of an object as ``decide`` says; a text instead says why nothing changes.

    Raises: Gone where it is not there, ConfigError where it cannot be done, Conflict where others
    write it all the time.
    """
    for left in reversed(range(TRIES)):
        obj = hub.get(ref)
        known: Annotations = obj["metadata"].get("annotations") or {}
        edit = decide(obj, known)
        if isinstance(edit, str):
            return VerbResult(ref, False, edit)
        changes = {**edit.changes, names.ASKED: _remembered(known, edit, who)}
        try:
            hub.patch(
                ref, {"metadata": {"annotations": changes}}, int(obj["metadata"]["resourceVersion"])
            )
        except Conflict:
            if not left:
                raise
            continue
        return VerbResult(ref, True, edit.message)
    raise AssertionError("the last try returns or raises")


def refuse_ocm(hub: Kept, ref: Ref, known: Annotations, what: str) -> None:
    """Nobody shall believe to have stopped what goes on: profile ``ocm`` knows nothing of ``what``.

    Raises: ConfigError where that profile decides, since the workload asks for it or the engine goes by
    it.
    """
    asked = known.get(names.SEMANTICS)
    if asked == "ocm":
        raise ConfigError(
            f"{ref} is rolled out as OCM does (annotation {names.SEMANTICS}: ocm), where {what} does "
            "nothing; pause it, or take that annotation away"
        )
    if asked != "strict" and profile_of(hub) == "ocm":
        raise ConfigError(
            f"{ref} is rolled out as OCM does (the engine runs with --profile ocm), where {what} does "
            f"nothing; pause it, or annotate it with {names.SEMANTICS}: strict"
        )


def _remembered(known: Annotations, edit: Edit, who: Who) -> str:
    asked = {verb: told for verb, told in read_asked(known).items() if verb not in edit.forgets}
    for verb in edit.verb.split(","):
        asked[verb] = who.asked
    return asked_text(asked, asked)
