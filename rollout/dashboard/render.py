"""Turns values into HTML: one environment of templates; every text is made harmless and escaped."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from secrets import token_bytes
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from rollout.account import figures, sentences
from rollout.account.finish import NOT_WORKED_OUT
from rollout.account.roster import PHASES
from rollout.account.states import Code
from rollout.account.words import age, at_and_in, effective, harmless, many
from rollout.model.instants import rfc3339
from rollout.model.kinds import KINDS, Ref
from rollout.model.secrets import KEY_BYTES, Masks
from rollout.strategies.base import Phase

TEMPLATES = Path(__file__).parent / "templates"
MASKS = Masks(token_bytes(KEY_BYTES))
"""Those of this process: one value keeps one mask for as long as it runs, and no longer."""
CODE_CLASSES = {
    Code.DONE: "done",
    Code.FAILED: "failed",
    Code.WAITING: "going",
    Code.PERSON: "person",
    Code.TOLERATED: "tolerated",
}


def path_of(ref: Ref) -> str:
    """Where the page of a workload is."""
    return f"/rollouts{hub_path(ref)}"


def hub_path(ref: Ref) -> str:
    """``/mwrs/default/web``; what has no namespace has ``-`` in its place."""
    name = ref.key.rpartition("/")[2]
    return f"/{ref.kind.typed}/{quote(ref.namespace or '-')}/{quote(name)}"


def segments(phases: Mapping[Phase, int], members: int) -> Iterator[tuple[str, float, float, str]]:
    """The parts of a bar as (phase, left, width, words), left and width in percent."""
    total = max(members, sum(phases.values()), 1)
    left = 0.0
    for sign, count, word in figures.counted(phases):
        width = 100.0 * count / total
        yield word, left, width, f"{sign} {count} {word}"
        left += width


def instant(at: datetime | None, now: datetime) -> str:
    """How long ago something was, or how long it is until then; "" where it is not known."""
    if at is None:
        return ""
    return f"in {age(at - now)}" if at > now else f"{age(now - at)} ago"


def linked(query: Mapping[str, str], **changes: object) -> str:
    """The query string with some values changed; empty ones are left out."""
    asked = {**query, **{key: str(value) for key, value in changes.items()}}
    kept = {key: value for key, value in asked.items() if value}
    return f"?{urlencode(kept)}" if kept else "?"


def lines(text: str) -> Markup:
    """A text of several lines, each made harmless."""
    return Markup("\n").join(harmless(line) for line in text.splitlines())


_INSTANT = re.compile(r"(\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d+)?Z| \d\d:\d\d))")


def dated(text: str) -> Markup:
    """A sentence, made harmless, whose instants stand on one line each. It is no value of an attribute."""
    at = Markup('<span class="at">{}</span>')
    parts = _INSTANT.split(harmless(text))  # every second one is an instant
    line = Markup("").join(at.format(part) if i % 2 else part for i, part in enumerate(parts))
    if len(parts) == 1:
        return line
    return Markup("<span>{}</span>").format(line)  # a cell lays out each of its children by itself


def _shown(value: Any) -> Any:
    """What an expression of a template comes to. Markup was made by a template."""
    if value is None:
        return ""
    return harmless(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def environment() -> Environment:
    """The templates of this package with all that they may call."""
    found = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters.update(age=age, dated=dated, lines=lines, many=many, rfc3339=rfc3339)
    found.globals.update(
        phase_words=json.dumps([phase.value.lower() for phase in PHASES]),
        SIGNS=figures.SIGNS,
        STATE_SIGNS=figures.STATE_SIGNS,
        CODE_SIGNS=figures.CODE_SIGNS,
        CODE_CLASSES=CODE_CLASSES,
        NOT_WORKED_OUT=NOT_WORKED_OUT,
        counted=figures.counted,
        in_flight=figures.in_flight,
        result=figures.result,
        stage_info=sentences.stage_info,
        gate_state=sentences.gate_state,
        ends_line=sentences.ends_line,
        finish_line=sentences.finish_line,
        rollout_facts=sentences.rollout_facts,
        at_and_in=at_and_in,
        effective=effective,
        instant=instant,
        linked=linked,
        path_of=path_of,
        segments=segments,
        short_kind=lambda kind: KINDS[kind].typed,
        cluster_path=lambda name: f"/clusters/{quote(name)}",
    )
    return found


FOOT = "<footer"
"""From here on a page tells when it was made, which makes it no other page."""


def content_tag(text: str) -> str:
    """A weak validator of a page that says this."""
    return f'W/"{hashlib.sha256(text.encode()).hexdigest()[:20]}"'


def etag(*parts: object) -> str:
    """A weak validator of a page that depends on nothing but these."""
    return 'W/"' + "-".join(quote(str(part), safe="") for part in parts) + '"'
