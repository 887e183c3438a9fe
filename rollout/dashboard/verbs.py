"""The verbs that have a button: what each needs, and how it is called."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from rollout import operate
from rollout.account.interventions import Intervention
from rollout.account.tree import WorkloadAccount
from rollout.account.waits import APPROVABLE
from rollout.errors import ConfigError
from rollout.hub.base import EmbeddedHub
from rollout.model.amounts import DURATION_ACCEPTED, parse_digits, parse_duration
from rollout.model.instants import parse_instant
from rollout.model.kinds import APPROVAL, FREEZE, Kind, Ref, traits_of
from rollout.operate import VerbResult, Who


@dataclass(frozen=True, slots=True, kw_only=True)
class VerbCall:
    """What somebody filled in. ``ref`` None: the verb is about the whole hub; "" is: left empty.

    ``shown`` are the revisions that they looked at; none: they do not say.
    """

    ref: Ref | None
    clusters: tuple[str, ...] = ()
    gate: str = ""
    shown: frozenset[str] = frozenset()
    number: str = ""
    until: str = ""
    name: str = ""

    @property
    def workload(self) -> Ref:
        if self.ref is None:
            raise ConfigError("name the workload")
        return self.ref


Does = Callable[[EmbeddedHub, VerbCall, Who], Iterable[VerbResult]]
Words = Callable[[VerbCall], Iterable[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """One verb.

    Args:
        name: as one types it; ``label`` is on the button.
        does: calls it. Raises: ConfigError, HubError.
        words: what follows the name of the workload on the command line.
        writes: what one must be allowed to do, to objects of which kind; None: of the workload's.
        asks: the fields that are to be filled in, with what it means to leave one empty; "": it must not be.
        of_revision: it is about the revision that was looked at, and about no other.
        is_grave: it takes something away from clusters, or stops others.
        is_offered: whether its button stands on the page of a rollout that is like this.
    """

    name: str
    label: str
    does: Does
    words: Words = lambda _: ()
    writes: tuple[str, Kind | None] = ("patch", None)
    asks: Mapping[str, str] = field(default_factory=dict)
    of_revision: bool = False
    is_grave: bool = False
    is_offered: Callable[[WorkloadAccount], bool] = lambda _: True

    def kind(self, ref: Ref | None) -> Kind:
        """The kind of the objects that it writes."""
        found = self.writes[1] or (ref.kind if ref is not None else None)
        assert found is not None, "verbs of the hub name the kind that they write"
        return found


def until(text: str, now: datetime) -> datetime | None:
    """An instant, or a span from now; None for "". Raises: ConfigError."""
    if not text:
        return None
    span, instant = parse_duration(text), parse_instant(text)
    if span is None and instant is None:
        raise ConfigError(
            f'until {text[:40]!r} is neither an instant such as "2026-11-21T08:00:00Z" nor '
            f"{DURATION_ACCEPTED}"
        )
    return now + span if span is not None else instant


def _of_workload(verb: Callable[[EmbeddedHub, Ref, Who], VerbResult]) -> Does:
    return lambda hub, call, who: [verb(hub, call.workload, who)]


def _of_clusters(verb: Callable[[EmbeddedHub, Ref, Iterable[str], Who], VerbResult]) -> Does:
    return lambda hub, call, who: [verb(hub, call.workload, call.clusters, who)]


def _approve(hub: EmbeddedHub, call: VerbCall, who: Who) -> Iterable[VerbResult]:
    end = until(call.until, who.at)
    return operate.approve(hub, call.workload, who, call.gate, shown=call.shown, expires=end)


def _reject(hub: EmbeddedHub, call: VerbCall, who: Who) -> Iterable[VerbResult]:
    return operate.reject(hub, call.workload, who, shown=call.shown)


def _abort(hub: EmbeddedHub, call: VerbCall, who: Who) -> Iterable[VerbResult]:
    return [operate.abort(hub, call.workload, who, shown=call.shown)]


def _retry(hub: EmbeddedHub, call: VerbCall, who: Who) -> Iterable[VerbResult]:
    return [operate.retry(hub, call.workload, who, shown=call.shown)]


def _skip(hub: EmbeddedHub, call: VerbCall, who: Who) -> Iterable[VerbResult]:
    return [operate.skip(hub, call.workload, call.clusters, who, shown=call.shown)]


def _undo(hub: EmbeddedHub, call: VerbCall, who: Who) -> Iterable[VerbResult]:
    number = parse_digits(call.number)
    if call.number and number is None:
        raise ConfigError(f"back to revision {call.number[:20]!r}: that is not a number, such as 3")
    return [operate.undo(hub, call.workload, who, number, shown=call.shown)]


def _override(hub: EmbeddedHub, call: VerbCall, who: Who) -> Iterable[VerbResult]:
    return [operate.override_calendars(hub, call.workload, until(call.until, who.at), who)]


def _freeze(hub: EmbeddedHub, call: VerbCall, who: Who) -> Iterable[VerbResult]:
    name = call.name or operate.FREEZE_NAME
    return [operate.freeze(hub, who, until=until(call.until, who.at), name=name)]


def _unfreeze(hub: EmbeddedHub, call: VerbCall, who: Who) -> Iterable[VerbResult]:
    return [operate.unfreeze(hub, who, call.name)]


def _options(*pairs: tuple[str, str]) -> Iterable[str]:
    return [word for option, value in pairs if value for word in (option, value)]


def _one(revisions: frozenset[str]) -> str:
    """The revision that is meant; "" where there are several, which no option can name together."""
    return next(iter(revisions)) if len(revisions) == 1 else ""


def _seen(call: VerbCall) -> Iterable[str]:
    return _options(("--revision", ",".join(sorted(call.shown))))


def _asked(account: WorkloadAccount, *whats: str) -> list[Intervention]:
    return [each for each in account.interventions if each.what in whats]


def _asks_person(account: WorkloadAccount) -> bool:
    """Whether a gate does, or what is measured in the background."""
    gates = (gate for _, stage in account.stages for gate in stage.gates)
    return account.reason in APPROVABLE or any(gate.asks_person for gate in gates)


_EVERY = (
    Verb(
        name="approve",
        label="Approve",
        does=_approve,
        words=lambda c: _options(
            ("--gate", c.gate), ("--revision", _one(c.shown)), ("--expires", c.until)
        ),
        writes=("create", APPROVAL),
        asks={
            "gate": "the only one that there is, or what is measured in the background",
            "until": "it does not expire",
        },
        of_revision=True,
        is_offered=_asks_person,
    ),
    Verb(
        name="pause",
        label="Pause",
        does=_of_workload(operate.pause),
        is_offered=lambda a: not _asked(a, "paused"),
    ),
    Verb(
        name="resume",
        label="Resume",
        does=_of_workload(operate.resume),
        is_offered=lambda a: bool(_asked(a, "paused")),
    ),
    Verb(name="retry", label="Retry", does=_retry, words=_seen, of_revision=True),
    Verb(
        name="abort",
        label="Abort",
        does=_abort,
        words=_seen,
        of_revision=True,
        is_grave=True,
        is_offered=lambda a: not _asked(a, "aborted"),
    ),
    Verb(
        name="undo",
        label="Undo",
        does=_undo,
        words=lambda c: (*_options(("--to-revision", c.number)), *_seen(c)),
        asks={"number": "what soaked last"},
        of_revision=True,
        is_grave=True,
        is_offered=lambda a: traits_of(a.kind).keeps_templates,
    ),
    Verb(
        name="reject",
        label="Reject",
        does=_reject,
        words=lambda c: _options(("--revision", _one(c.shown))),
        writes=("create", APPROVAL),
        of_revision=True,
        is_grave=True,
    ),
    Verb(
        name="skip",
        label="Skip clusters",
        does=_skip,
        words=lambda c: (*c.clusters, *_seen(c)),
        asks={"clusters": ""},
        of_revision=True,
    ),
    Verb(
        name="unskip",
        label="Skip no longer",
        does=_of_clusters(operate.unskip),
        words=lambda c: ("--remove", *c.clusters),
        asks={"clusters": "all of them"},
        is_offered=lambda a: bool(_asked(a, "skipped")),
    ),
    Verb(
        name="hold",
        label="Hold clusters",
        does=_of_clusters(operate.hold),
        words=lambda c: c.clusters,
        asks={"clusters": ""},
    ),
    Verb(
        name="release",
        label="Release clusters",
        does=_of_clusters(operate.release),
        words=lambda c: c.clusters,
        asks={"clusters": "all of them"},
        is_offered=lambda a: bool(_asked(a, "held")),
    ),
    Verb(
        name="override",
        label="Override calendars",
        does=_override,
        words=lambda c: ("--until", c.until) if c.until else ("--end",),
        asks={"until": "the override ends"},
        is_grave=True,
    ),
    Verb(
        name="freeze",
        label="Freeze the hub",
        does=_freeze,
        words=lambda c: [*([c.name] if c.name else []), *_options(("--until", c.until))],
        writes=("create", FREEZE),
        asks={"until": "until somebody ends it"},
        is_grave=True,
    ),
    Verb(
        name="unfreeze",
        label="End the freeze",
        does=_unfreeze,
        words=lambda c: [c.name] if c.name else [],
        writes=("patch", FREEZE),
        asks={"name": "the one that stands"},
    ),
)
VERBS: Mapping[str, Verb] = {verb.name: verb for verb in _EVERY}
OF_HUB = ("freeze", "unfreeze")
OF_WORKLOAD = tuple(name for name in VERBS if name not in OF_HUB)
