"""What happens when somebody presses a button? First a page that says what it will do, then the verb."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from urllib.parse import urlencode

from starlette.responses import HTMLResponse, Response

from rollout.dashboard.answers import NotAllowed, PageRequest, workload_named
from rollout.dashboard.preview import Preview, named, preview
from rollout.dashboard.security import FORGERY_FIELD, form_of, is_ours
from rollout.dashboard.verbs import OF_HUB, VERBS, Verb, VerbCall
from rollout.errors import Gone, RolloutError
from rollout.model.effects import EFFECTS
from rollout.model.kinds import Ref
from rollout.operate import VerbResult, Who

_EXAMPLES = {
    "clusters": "eu-1, eu-2",
    "gate": "the gate, or * for all",
    "number": "its number; empty: what soaked last",
    "until": "2h, or 2030-01-01T12:00:00Z",
    "name": "which, where there are several",
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
    """A field of the form."""

    name: str
    title: str
    example: str
    value: str
    is_needed: bool


def confirm(asked: PageRequest) -> Response:
    """What a verb would do, with a form to have it done."""
    verb, call = _call(asked, asked.request.query_params)
    return _form(asked, verb, call, asked.request.query_params)


def press(asked: PageRequest, body: bytes) -> Response:
    """Do it. Raises: NotAllowed for a form that is not ours."""
    fields = form_of(body)
    if not is_ours(asked.person, fields.get(FORGERY_FIELD, "")):
        raise NotAllowed("this form does not come from your session: open the page again")
    verb, call = _call(asked, fields)
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
        return _form(asked, verb, call, fields, fault=str(fault), status=409)
    return _page(asked, 200, verb=verb, call=call, told=told)


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
        revision=fields.get("revision", ""),
        number=fields.get("number", ""),
        until=fields.get("until", "").strip(),
        name=fields.get("name", ""),
    )


def _form(
    asked: PageRequest,
    verb: Verb,
    call: VerbCall,
    fields: Mapping[str, str],
    fault: str = "",
    status: int = 200,
) -> Response:
    found: Preview | None = None
    asks_first = bool(verb.asks) and "shown" not in fields and status == HTTPStatus.OK
    if not asks_first:
        who = Who(asked.person.name, asked.view.now, fields.get("reason", "") or "REASON")
        try:
            found = asked.office.observer.ask(
                lambda reading: preview(
                    reading,
                    verb,
                    call,
                    replace(who, at=reading.snapshot.now),
                    place=asked.office.options,
                )
            )
        except RolloutError as problem:
            fault = fault or str(problem)
    shown = [
        FormField(
            name=name,
            title=_TITLES[name],
            example=_EXAMPLES[name],
            value=fields.get(name, ""),
            is_needed=name in verb.needs,
        )
        for name in verb.asks
    ]
    return _page(
        asked, status, verb=verb, call=call, preview=found, fields=shown, fault=fault,
        reason=fields.get("reason", ""), asks_first=asks_first,
    )  # fmt: skip


def _page(
    asked: PageRequest,
    status: int,
    *,
    verb: Verb,
    call: VerbCall,
    preview: Preview | None = None,
    fields: list[FormField] | None = None,
    fault: str = "",
    reason: str = "",
    asks_first: bool = False,
    told: list[VerbResult] | None = None,
) -> Response:
    text = asked.office.render(
        "act.html",
        **asked.office.frame(asked),
        verb=verb,
        effect=EFFECTS.get(verb.name, EFFECTS["skip"]),
        call=call,
        preview=preview,
        fields=fields or [],
        fault=fault,
        reason=reason,
        asks_first=asks_first,
        told=told,
    )
    return HTMLResponse(text, status, headers={"Cache-Control": "no-store"})


def offered(asked: PageRequest, ref: Ref, names: tuple[str, ...]) -> list[Verb]:
    """The verbs of these that this person may call on a workload."""
    return [
        verb
        for name in names
        if asked.may((verb := VERBS[name]).writes[0], verb.kind(ref), ref.namespace)
    ]


def address(verb: Verb, ref: Ref | None, **fields: str) -> str:
    """Where the form of a verb is."""
    where = {}
    if ref is not None:
        where = {
            "kind": ref.kind.short[0],
            "namespace": ref.namespace,
            "workload": ref.key.rpartition("/")[2],
        }
    return f"/act/{verb.name}?{urlencode({**where, **fields})}"
