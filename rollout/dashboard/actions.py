"""Answers a pressed button: first with a page that says what it will do, then by calling the verb."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from starlette.responses import HTMLResponse, Response

from rollout.account.tree import WorkloadAccount
from rollout.dashboard.answers import NotAllowed, PageRequest, workload_named
from rollout.dashboard.bounded import BoundedProcesses
from rollout.dashboard.foreseeing import Reply, VerbQuery
from rollout.dashboard.preview import Preview, named
from rollout.dashboard.security import FORGERY_FIELD, form_of, is_ours
from rollout.dashboard.verbs import OF_HUB, VERBS, Verb, VerbCall
from rollout.errors import Gone, RolloutError
from rollout.model.effects import EFFECTS
from rollout.model.kinds import FREEZE, Ref, traits_of
from rollout.operate import Who
from rollout.operate.edits import plain

MOST_PLANNED = 20
"""Workloads of which a verb about the whole hub tells what becomes of them."""
_EXAMPLES = {
    "clusters": "eu-1, eu-2",
    "gate": "the gate, * for all, or cluster/NAME for its analysis",
    "number": "its number, such as 3",
    "until": "2h, or 2030-01-01T12:00:00Z",
    "name": "its name",
}
_TITLES = {
    "clusters": "Clusters",
    "gate": "Gate",
    "number": "Back to revision",
    "until": "Until",
    "name": "Freeze",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """A field of the form. ``empty`` is what it means to leave it empty; "": it must be filled in."""

    name: str
    title: str
    example: str
    value: str
    empty: str


class ActionPages:
    """The pages of all verbs.

    Args:
        processes: where it is worked out what a verb would do.
    """

    def __init__(self, processes: BoundedProcesses) -> None:
        self._processes = processes

    def confirm(self, asked: PageRequest) -> Response:
        """What a verb would do, with a form to have it done."""
        fields = asked.request.query_params
        verb, call = _call(asked, fields)
        if verb.asks and "shown" not in fields:
            return _form(asked, verb, call, fields, asks_first=True)
        lacking = _lacking(verb, fields)
        if lacking:
            return _form(asked, verb, call, fields, asks_first=True, fault=lacking, status=400)
        concerned = _concerned(asked, call)
        query = VerbQuery(
            verb=verb.name,
            call=call,
            who=Who(asked.person.name, asked.view.now, "REASON"),
            place=asked.office.options,
            workloads=tuple(concerned[:MOST_PLANNED]),
            may_see_freezes=asked.may("list", FREEZE),
        )
        told: list[Reply] = []
        fault = self._processes.answer(query, told.append, lambda _: "", threading.Event())
        found = next((each for each in told if isinstance(each, Preview)), None)
        unplanned = len(concerned) - len(query.workloads)
        return _form(asked, verb, call, fields, preview=found, fault=fault, unplanned=unplanned)


def _concerned(asked: PageRequest, call: VerbCall) -> list[Ref]:
    """The workload of the verb; of one about the hub all that somebody may see and that are not done."""
    if call.ref is not None:
        return [call.ref]
    rows = (row for row in asked.rows if not row.account.done)
    return [row.account.ref for row in rows if asked.may_see(row)]


def press(asked: PageRequest, body: bytes) -> Response:
    """Do it. Raises: NotAllowed for a form that is not ours."""
    fields = form_of(body)
    if not is_ours(asked.person, fields.get(FORGERY_FIELD, "")):
        raise NotAllowed("this form does not come from your session: open the page again")
    verb, call = _call(asked, fields)
    lacking = _lacking(verb, fields)
    if lacking:
        return _form(asked, verb, call, fields, asks_first=True, fault=lacking, status=400)
    reason = fields.get("reason", "").strip()
    if not reason:
        return _form(
            asked,
            verb,
            call,
            fields,
            fault="say why: whoever reads it later wants to know",
            status=400,
        )
    person = asked.person
    try:
        told = asked.office.authority.write(
            person,
            lambda hub, clock: list(verb.does(hub, call, Who(person.name, clock.now(), reason))),
        )
    except RolloutError as fault:
        return _form(asked, verb, call, fields, fault=plain(fault), status=409)
    return _page(asked, verb, call, told=told)


def _call(asked: PageRequest, fields: Mapping[str, str]) -> tuple[Verb, VerbCall]:
    """The verb of the path, as somebody filled it in. Raises: Gone, NotAllowed."""
    verb = VERBS.get(str(asked.request.path_params["verb"]))
    if verb is None:
        raise Gone(f"no verb is called {asked.request.path_params['verb']}")
    ref: Ref | None = None
    if verb.name not in OF_HUB:
        kind, namespace, name = (fields.get(key, "") for key in ("kind", "namespace", "workload"))
        ref = workload_named(asked, kind, namespace or "-", name)
    what, kind_written = verb.writes[0], verb.kind(ref)
    asked.require(what, kind_written, ref.namespace if ref is not None else "")
    return verb, VerbCall(
        ref=ref,
        clusters=named(fields.get("clusters", "")),
        gate=fields.get("gate", ""),
        shown=frozenset(named(_seen(asked, verb, ref, fields))),
        number=fields.get("number", ""),
        until=fields.get("until", "").strip(),
        name=fields.get("name", ""),
    )


def _seen(asked: PageRequest, verb: Verb, ref: Ref | None, fields: Mapping[str, str]) -> str:
    """The revisions that were looked at; who comes here by no button looks at those of now."""
    if not verb.of_revision or ref is None:
        return ""
    return fields.get("seen", "") or revisions_of(asked.view.by_ref[ref].account)


def _lacking(verb: Verb, fields: Mapping[str, str]) -> str:
    """What must be filled in first; "": all is."""
    for name, empty in verb.asks.items():
        if not empty and not fields.get(name, "").replace(",", " ").strip():
            return f"{_TITLES[name]} is empty: fill in {_EXAMPLES[name]}, for example"
    return ""


def _form(
    asked: PageRequest, verb: Verb, call: VerbCall, fields: Mapping[str, str], **shown: Any
) -> Response:
    shown["fields"] = [
        FormField(
            name=name,
            title=_TITLES[name],
            example=_EXAMPLES[name],
            value=fields.get(name, ""),
            empty=empty,
        )
        for name, empty in verb.asks.items()
    ]
    return _page(asked, verb, call, reason=fields.get("reason", ""), **shown)


def _page(
    asked: PageRequest, verb: Verb, call: VerbCall, *, status: int = 200, **shown: Any
) -> Response:
    values = {**_NOTHING, **asked.office.frame(asked), **shown}
    effect = EFFECTS.get(verb.name, EFFECTS["skip"])
    text = asked.office.render("act.html", verb=verb, call=call, effect=effect, **values)
    return HTMLResponse(text, status, headers={"Cache-Control": "no-store"})


_NOTHING: Mapping[str, Any] = {
    "preview": None, "fields": (), "fault": "", "reason": "", "asks_first": False, "told": None,
    "unplanned": 0,
}  # fmt: skip
"""What a page of a verb shows where nothing else is given."""


def offered(asked: PageRequest, ref: Ref, names: tuple[str, ...]) -> list[Verb]:
    """The verbs of these that this person may call on a workload."""
    return [
        verb
        for name in names
        if asked.may((verb := VERBS[name]).writes[0], verb.kind(ref), ref.namespace)
    ]


def approval_at(asked: PageRequest, ref: Ref, account: WorkloadAccount, gate: str) -> str:
    """Where this person approves a gate of a workload; "" where there is none, or they may not."""
    if not gate or not offered(asked, ref, ("approve",)):
        return ""
    return address(VERBS["approve"], ref, revisions_of(account), gate=gate, shown="1")


def revisions_of(account: WorkloadAccount) -> str:
    """The revisions that are asked for, as a form carries what was looked at.

    Of an add-on those that its records tell; a ManifestWorkReplicaSet asks for one, also while its
    placements are still about an earlier one, since the new one cannot be followed.
    """
    if traits_of(account.kind).has_one_revision:
        return account.revision
    return ",".join(sorted({each.revision for each in account.placements if each.revision}))


def address(verb: Verb, ref: Ref | None, seen: str = "", **fields: str) -> str:
    """Where the form of a verb is. ``seen`` are the revisions that are looked at."""
    where = {}
    if seen and verb.of_revision:
        fields["seen"] = seen
    if ref is not None:
        where = {
            "kind": ref.kind.typed,
            "namespace": ref.namespace,
            "workload": ref.key.rpartition("/")[2],
        }
    return f"/act/{verb.name}?{urlencode({**where, **fields})}"
