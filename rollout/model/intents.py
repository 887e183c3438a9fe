"""What a person asks for by annotation, besides the spec.

The values are plain, so that `kubectl annotate` can set them; who asked, when and why stands beside
them in one annotation of its own. The name of the actor there is a claim: nobody has checked it.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from rollout.model import names
from rollout.model.amounts import AMOUNT_ACCEPTED, Amount, parse_amount, parse_digits
from rollout.model.analyses import ANALYSIS_GATE
from rollout.model.approvals import GATES_ACCEPTED, GateRef, parse_gate
from rollout.model.instants import parse_instant, rfc3339
from rollout.model.notifications import CHANNELS_ACCEPTED, Channel, parse_channel
from rollout.model.problems import Problem

HISTORY_LIMIT = 10
LONGEST_HISTORY = 999
A_QUARTER = Amount(25, percent=True)
PROFILES = ("strict", "ocm")
ORDERS = ("ClusterName", "sticky")
INSTANT_ACCEPTED = 'an instant such as "2030-01-01T12:00:00Z"'


class RollbackMode(Enum):
    """Who may start taking a revision back: nobody, a person, or the engine too."""

    NONE = "None"
    MANUAL = "Manual"
    AUTOMATIC = "Automatic"


LONGEST_OVERRIDE = timedelta(hours=24)
"""The longest override of calendars. If one ends later, only its last 24 hours count."""
PAST_CALENDARS = "past all calendars"
"""How it is said that a person overrides them."""


@dataclass(frozen=True, slots=True)
class AskedBy:
    """Who says to have asked for something, when and why."""

    by: str = ""
    at: datetime | None = None
    reason: str = ""

    def __str__(self) -> str:
        by = f" by {self.by} (unverified)" if self.by else ""
        at = f" at {self.at:%Y-%m-%dT%H:%M:%SZ}" if self.at else ""
        return f"{by}{at}{': ' if self.reason else ''}{self.reason}"


NOBODY = AskedBy()


@dataclass(frozen=True, slots=True, kw_only=True)
class Intents:
    """Everything that annotations ask for. Values that cannot be read are among ``problems``.

    ``waivers`` are the clusters to skip, each with the revisions for which it is skipped ("": the one
    that is current when the waiver is first seen). ``may_be_empty`` are mandatory decision groups that
    may have no cluster, as ``str(GroupRef)``.

    ``analysis`` and ``cluster_analysis`` name templates of analyses: measured in the background, and for
    each cluster; ``analysis_args`` are the values that templates ask for. ``notify`` are the channels on
    which people are told.

    ``profile`` is whose rules are asked for: ``strict``, ``ocm``, or "" for neither. ``health_gated``:
    an add-on has to be Available, too. ``aborted`` and ``undo`` name the revisions that they are about; ``undo_to`` the revision
    that is to be given back ("" the last that soaked). ``retry`` is a token: another one than the
    last retries. ``asked`` is by the verb, or by verb and cluster: ``pause``, ``skip/c1``.
    """

    paused: bool = False
    waivers: Mapping[str, frozenset[str]] = field(default_factory=dict)
    held: frozenset[str] = frozenset()
    aborted: frozenset[str] = frozenset()
    retry: str = ""
    undo: str = ""
    undo_to: str = ""
    gates: tuple[GateRef, ...] = ()
    analysis: str = ""
    cluster_analysis: str = ""
    analysis_args: Mapping[str, str] = field(default_factory=dict)
    notify: tuple[Channel, ...] = ()
    may_be_empty: frozenset[str] = frozenset()
    rollback: RollbackMode = RollbackMode.MANUAL
    rollback_limit: Amount = A_QUARTER
    rollback_budget: Amount = A_QUARTER
    history_limit: int = HISTORY_LIMIT
    released_until: datetime | None = None
    override_until: datetime | None = None
    """Until then calendars close nothing to the workload, where that is at most 24 hours ahead."""
    strict_tolerance: bool = False
    profile: str = ""
    health_gated: bool = False
    asked: Mapping[str, AskedBy] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    def overridden_until(self, now: datetime) -> datetime | None:
        """Until when a person lets the workload past all calendars; None where nobody does now."""
        until = self.override_until
        return until if until is not None and now < until <= now + LONGEST_OVERRIDE else None

    def past_calendars(self, now: datetime) -> str:
        """That a person lets the workload past all calendars now, until when, and who; "" where nobody does."""
        until = self.overridden_until(now)
        return f"{PAST_CALENDARS} until {rfc3339(until)}{self.who('override')}" if until else ""

    @property
    def templates(self) -> frozenset[str]:
        """The templates of analyses that are named: for gates, in the background, for each cluster."""
        gates = {gate.argument for gate in self.gates if gate.kind == ANALYSIS_GATE}
        return frozenset(gates | {self.analysis, self.cluster_analysis} - {""})

    @property
    def waits_for_analyses(self) -> bool:
        """Whether its rollout waits for some: at a gate, or of each cluster."""
        is_gate = any(gate.kind == ANALYSIS_GATE for gate in self.gates)
        return is_gate or bool(self.cluster_analysis)

    def who(self, verb: str) -> AskedBy:
        return self.asked.get(verb, NOBODY)


NO_INTENTS = Intents()


_OF_TEMPLATES = (names.UNDO, names.UNDO_TO, names.ROLLBACK, names.HISTORY_LIMIT)


def read_intents(annotations: Mapping[str, str], *, keeps_templates: bool = True) -> Intents:
    """All that these annotations ask for; never raises.

    ``keeps_templates`` is False for workloads whose older revisions are kept nowhere: there is nothing
    that could be given back, and asking for it is a problem.
    """
    problems = [
        _problem(name, annotations[name], "nothing: earlier configurations are kept nowhere")
        for name in _OF_TEMPLATES
        if not keeps_templates and name in annotations
    ]
    tolerance = _word(annotations, names.FAILURE_TOLERANCE, ("Soft", "Strict"), problems)
    health_gate = _word(annotations, names.HEALTH_GATE, (names.AVAILABLE,), problems)
    return Intents(
        paused=_word(annotations, names.PAUSED, ("false", "true"), problems) == "true",
        waivers=_waivers(annotations, problems),
        held=listed_in(annotations, names.HOLD),
        aborted=_revisions(annotations, names.ABORT, problems),
        retry=annotations.get(names.RETRY, "").strip(),
        undo=_revision(annotations, names.UNDO, problems),
        undo_to=_revision(annotations, names.UNDO_TO, problems),
        gates=_gates(annotations, problems),
        analysis=_name(annotations, names.ANALYSIS, problems),
        cluster_analysis=_name(annotations, names.CLUSTER_ANALYSIS, problems),
        analysis_args=_pairs(annotations, names.ANALYSIS_ARGS, problems),
        notify=_channels(annotations, problems),
        may_be_empty=listed_in(annotations, names.ALLOW_EMPTY_GROUPS),
        rollback=_mode(annotations, problems),
        rollback_limit=_amount(annotations, names.ROLLBACK_CONCURRENCY, problems),
        rollback_budget=_amount(annotations, names.ROLLBACK_FAILURES, problems),
        history_limit=_limit(annotations, problems),
        released_until=_instant(annotations, names.RELEASE_REMOVALS, problems),
        override_until=_instant(annotations, names.OVERRIDE_CALENDARS, problems),
        strict_tolerance=tolerance == "Strict",
        profile=_word(annotations, names.SEMANTICS, PROFILES, problems),
        health_gated=health_gate == names.AVAILABLE,
        asked=read_asked(annotations),
        problems=tuple(problems),
    )


_ASKED = (
    names.PAUSED,
    names.SKIP,
    names.HOLD,
    names.ABORT,
    names.RETRY,
    names.UNDO,
    names.ASKED,
)


def is_asked_for(annotations: Mapping[str, str]) -> bool:
    """Whether people have asked for anything during the rollout; the engine may not have heard of it yet."""
    return any(name in annotations for name in _ASKED)


def placement_problems(annotations: Mapping[str, str]) -> tuple[Problem, ...]:
    """What is asked of a Placement and cannot be read."""
    problems: list[Problem] = []
    _word(annotations, names.SEMANTICS, PROFILES, problems)
    _word(annotations, names.DECISION_ORDER, ORDERS, problems)
    return tuple(problems)


def _word(
    annotations: Mapping[str, str], name: str, words: Sequence[str], problems: list[Problem]
) -> str:
    """Which of the words is written; "" where none of them is, which is a problem if another one is."""
    value = annotations.get(name)
    if value is None or value in words:
        return value or ""
    problems.append(_problem(name, value, " or ".join(words)))
    return ""


def _instant(annotations: Mapping[str, str], name: str, problems: list[Problem]) -> datetime | None:
    value = annotations.get(name)
    found = parse_instant(value)
    if value is not None and found is None:
        problems.append(_problem(name, value, INSTANT_ACCEPTED))
    return found


def listed_in(annotations: Mapping[str, str], name: str) -> frozenset[str]:
    """The entries of an annotation that is a list with commas; empty where it is not set."""
    listed = annotations.get(name, "")
    return frozenset(part.strip() for part in listed.split(",") if part.strip())


def _waivers(annotations: Mapping[str, str], problems: list[Problem]) -> dict[str, frozenset[str]]:
    """Each entry is ``CLUSTER`` or ``CLUSTER@REVISION``."""
    found: dict[str, frozenset[str]] = {}
    for part in sorted(listed_in(annotations, names.SKIP)):
        cluster, at, revision = part.partition("@")
        if not cluster or (at and not _REVISION.match(revision)):
            accepted = "a cluster, or CLUSTER@REVISION with the hash of a revision"
            problems.append(_problem(names.SKIP, part, accepted))
        else:
            found[cluster] = found.get(cluster, frozenset()) | {revision}
    return found


_REVISION = re.compile(r"\A[0-9a-z]{6,64}\Z", re.ASCII)


def _revisions(
    annotations: Mapping[str, str], name: str, problems: list[Problem]
) -> frozenset[str]:
    found = listed_in(annotations, name)
    for value in sorted(found):
        if not _REVISION.match(value):
            accepted = "the hash of a revision, as status.updateRevision and `rollout history` show"
            problems.append(_problem(name, value, accepted))
    return found


def _revision(annotations: Mapping[str, str], name: str, problems: list[Problem]) -> str:
    found = _revisions(annotations, name, problems)
    if len(found) > 1:
        problems.append(_problem(name, annotations[name], "one revision"))
    return min(found, default="")


def _gates(annotations: Mapping[str, str], problems: list[Problem]) -> tuple[GateRef, ...]:
    value = annotations.get(names.GATES, "")
    found: dict[GateRef, None] = {}
    for part in filter(None, (part.strip() for part in value.split(","))):
        gate = parse_gate(part)
        if gate is None:
            problems.append(_problem(names.GATES, part, GATES_ACCEPTED))
        else:
            found[gate] = None
    return tuple(found)


def _channels(annotations: Mapping[str, str], problems: list[Problem]) -> tuple[Channel, ...]:
    found: dict[str, Channel] = {}
    for part in filter(None, map(str.strip, annotations.get(names.NOTIFY, "").split(";"))):
        channel = parse_channel(part)
        if channel is None or channel.name in found:
            problems.append(_problem(names.NOTIFY, part, CHANNELS_ACCEPTED))
        else:
            found[channel.name] = channel
    return tuple(found.values())


_NAME = re.compile(r"\A[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\Z", re.ASCII)


def _name(annotations: Mapping[str, str], name: str, problems: list[Problem]) -> str:
    """The name of an object; "" where none is written."""
    value = annotations.get(name, "").strip()
    if value and not _NAME.match(value):
        problems.append(_problem(name, value, "the name of an analysis template"))
        return ""
    return value


def _pairs(annotations: Mapping[str, str], name: str, problems: list[Problem]) -> dict[str, str]:
    """Each entry is ``NAME=VALUE``."""
    found: dict[str, str] = {}
    for part in sorted(listed_in(annotations, name)):
        key, equals, value = part.partition("=")
        if not equals or not key.strip():
            problems.append(_problem(name, part, "NAME=VALUE, separated by commas"))
        else:
            found[key.strip()] = value.strip()
    return found


def _mode(annotations: Mapping[str, str], problems: list[Problem]) -> RollbackMode:
    value = annotations.get(names.ROLLBACK, RollbackMode.MANUAL.value)
    try:
        return RollbackMode(value)
    except ValueError:
        accepted = ", ".join(mode.value for mode in RollbackMode)
        problems.append(_problem(names.ROLLBACK, value, f"one of {accepted}"))
        return RollbackMode.NONE


def _amount(annotations: Mapping[str, str], name: str, problems: list[Problem]) -> Amount:
    value = annotations.get(name)
    amount = A_QUARTER if value is None else parse_amount(value)
    if amount is None:
        problems.append(_problem(name, value, AMOUNT_ACCEPTED))
    return amount or Amount(0, written=True)


def _limit(annotations: Mapping[str, str], problems: list[Problem]) -> int:
    value = annotations.get(names.HISTORY_LIMIT)
    if value is None:
        return HISTORY_LIMIT
    limit = parse_digits(value, most=3)
    if limit is not None:
        return limit
    problems.append(_problem(names.HISTORY_LIMIT, value, "a whole number from 0 to 999"))
    return HISTORY_LIMIT


def _problem(name: str, value: Any, accepted: str) -> Problem:
    return Problem(f"metadata.annotations[{name}]", value, accepted)


def read_asked(annotations: Mapping[str, str]) -> dict[str, AskedBy]:
    """Who asked for what, by verb; empty where that cannot be read: it is told, never acted upon."""
    try:
        body = json.loads(annotations.get(names.ASKED, "{}"))
    except (ValueError, RecursionError):
        return {}
    if not isinstance(body, dict):
        return {}
    return {
        str(verb): AskedBy(
            str(told.get("by") or ""), parse_instant(told.get("at")), str(told.get("reason") or "")
        )
        for verb, told in body.items()
        if isinstance(told, dict)
    }


def asked_text(asked: Mapping[str, AskedBy], kept: Iterable[str]) -> str:
    """The annotation for these verbs; the inverse of `read_asked`."""
    wanted = frozenset(kept)
    return json.dumps(
        {
            verb: {
                "by": told.by,
                "at": told.at.isoformat().replace("+00:00", "Z") if told.at else None,
                "reason": told.reason,
            }
            for verb, told in sorted(asked.items())
            if verb in wanted
        }
    )
