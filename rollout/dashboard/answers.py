"""Answers requests with pages: knows who asks, what they may see, and the frame around a page."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from jinja2 import Environment
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from rollout.account.words import age
from rollout.clock import Clock
from rollout.dashboard.observer import Observer
from rollout.dashboard.people import Authority, Person
from rollout.dashboard.render import FOOT, content_tag, environment
from rollout.dashboard.security import cookie_name
from rollout.dashboard.view import DashboardView, WorkloadRow
from rollout.errors import ConfigError, Denied, Gone, HubError, RolloutError, Unavailable
from rollout.model.kinds import FREEZE, MANAGED_CLUSTER, WORKLOADS, Kind, Ref, key_of


class NotAllowed(RolloutError):
    """Whoever asks may not see this."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """One request of somebody who is let in, and what there was when it came."""

    request: Request
    person: Person
    view: DashboardView
    office: "Office"

    @property
    def rows(self) -> tuple[WorkloadRow, ...]:
        """All workloads, whoever may see them. Raises: Unavailable where the hub was never read."""
        if not self.view.is_known:
            raise Unavailable(self.view.fault)
        return self.view.rows

    def may(self, verb: str, kind: Kind, namespace: str = "") -> bool:
        return self.office.authority.may(self.person, verb, kind, namespace)

    def may_see(self, row: WorkloadRow) -> bool:
        ref = row.account.ref
        return self.may("list", ref.kind, ref.namespace)

    def require(self, verb: str, kind: Kind, namespace: str = "") -> None:
        """Raises: NotAllowed."""
        if not self.may(verb, kind, namespace):
            where = f" in namespace {namespace}" if namespace else ""
            raise NotAllowed(f"{self.person.name} may not {verb} {kind.plural}{where}")

    def workload(self) -> Ref:
        """The workload that the path names. Raises: Gone where there is none, NotAllowed."""
        path = self.request.path_params
        return workload_named(self, *(str(path[key]) for key in ("kind", "namespace", "name")))

    def page(self, template: str, **values: Any) -> Response:
        """A page in its frame, or 304 where the browser has it already."""
        return self.office.page(self, template, values)


def workload_named(asked: PageRequest, kind: str, namespace: str, name: str) -> Ref:
    """A workload by the words of a path; who may not see those of a kind is not told which there are.

    Raises: Gone where there is none, NotAllowed, Unavailable where the hub was never read.
    """
    place = "" if namespace == "-" else namespace
    known = next((each for each in WORKLOADS if kind in (*each.short, each.plural)), None)
    if known is not None:
        asked.require("list", known, place)
        for row in asked.rows:
            if row.account.ref == Ref(known, key_of(place, name)):
                return row.account.ref
    raise Gone(f"there is no {kind} {name}" + (f" in namespace {place}" if place else ""))


PageAnswer = Callable[[PageRequest], Response]
PostedPage = Callable[[PageRequest, bytes], Response]
Handler = Callable[[Request], Awaitable[Response]]


class Office:
    """Answers requests with pages: knows the hub, who may do what, and the templates.

    Args:
        place: what the hub is called at the head of each page.
        options: what names the hub on the command line.
        wall: the time that ages of the page itself are measured on.
        secure: send the cookie of a session over TLS alone.
    """

    def __init__(
        self,
        observer: Observer,
        authority: Authority,
        place: str,
        wall: Clock,
        *,
        options: str = "",
        secure: bool = False,
    ) -> None:
        self.observer, self.authority, self.wall = observer, authority, wall
        self.place, self.options, self.secure = place, options, secure
        self._templates: Environment = environment()

    def behind_login(self, page: PageAnswer) -> Handler:
        """The page for whoever has a session; others are sent to log in."""

        async def answer(request: Request) -> Response:
            return await run_in_threadpool(self.answer, request, page)

        return answer

    def in_turn(self, page: PageAnswer, most: int) -> Handler:
        """As `behind_login`, for a page that takes long: so many at once, the others wait for their turn.

        Whoever waits holds no thread, so that other pages are answered meanwhile.
        """
        turns, inside = asyncio.Semaphore(most), self.behind_login(page)

        async def answer(request: Request) -> Response:
            async with turns:
                return await inside(request)

        return answer

    def posted(self, page: PostedPage) -> Handler:
        """As `behind_login`, for a form: the page is given its body."""

        async def answer(request: Request) -> Response:
            body = await request.body()
            return await run_in_threadpool(self.answer, request, lambda asked: page(asked, body))

        return answer

    def answer(self, request: Request, page: PageAnswer) -> Response:
        """The page, or why there is none, on this thread."""
        try:
            person = self.person(request)
        except HubError as fault:
            text = f"the API server cannot say who you are: {fault}"
            return HTMLResponse(self.render("login.html", fault=text, back="/"), 503)
        if person is None:
            return self._login_first(request)
        asked = PageRequest(request, person, self.observer.view, self)
        try:
            return page(asked)
        except Gone as fault:
            return self.refusal(asked, 404, "Not found", str(fault))
        except (NotAllowed, Denied) as fault:
            return self.refusal(asked, 403, "Not allowed", str(fault))
        except ConfigError as fault:
            return self.refusal(asked, 400, "Not understood", str(fault))
        except (HubError, TimeoutError) as fault:
            words = str(fault) or "the hub did not answer in time"
            return self.refusal(asked, 503, "The hub cannot be read", words)

    def person(self, request: Request) -> Person | None:
        """Who asks: by the token that a proxy in front passes on, else by the session. Raises: HubError."""
        token = _bearer(request)
        if token:
            return self.authority.bearer(token)
        session = request.cookies.get(self.cookie(request), "")
        return self.authority.person(session) if session else None

    def cookie(self, request: Request) -> str:
        """What the cookie of this request's session is called."""
        return cookie_name(request.headers, secure=self.secure)

    def _login_first(self, request: Request) -> Response:
        if request.method == "POST" or request.headers.get("hx-request") or _bearer(request):
            fault = "this token is not accepted" if _bearer(request) else "log in first"
            return HTMLResponse(self.render("login.html", fault=fault, back="/"), 401)
        back = quote(request.url.path + (f"?{request.url.query}" if request.url.query else ""))
        return RedirectResponse(f"/login?back={back}", 303)

    def refusal(self, asked: PageRequest, status: int, title: str, message: str) -> Response:
        frame = self.frame(asked)
        text = self.render("refusal.html", title=title, message=message, **frame)
        return HTMLResponse(text, status)

    def render(self, template: str, **values: Any) -> str:
        return self._templates.get_template(template).render(values)

    def page(self, asked: PageRequest, template: str, values: Mapping[str, Any]) -> Response:
        text = self.render(template, **self.frame(asked), **values)
        tag = content_tag(text.partition(FOOT)[0])
        headers = {"ETag": tag, "Cache-Control": "private, no-cache", "Vary": "Cookie"}
        if asked.request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return HTMLResponse(text, headers=headers)

    def frame(self, asked: PageRequest) -> dict[str, Any]:
        """What the frame around every page shows."""
        view = asked.view
        return {
            "view": view,
            "now": hub_time(view, self.wall.now()),
            "person": asked.person,
            "place": self.place,
            "nav": self._nav(asked),
            "path": asked.request.url.path,
            "query": dict(asked.request.query_params),
            "read_ago": age(self.wall.now() - view.read),
            "frozen": view.frozen and (view.frozen if asked.may("list", FREEZE) else "frozen"),
        }

    def _nav(self, asked: PageRequest) -> list[tuple[str, str]]:
        """The pages that this person may open."""
        found = [("/", "Rollouts"), ("/placements", "Placements"), ("/consents", "Consents")]
        found += [("/analyses", "Analyses"), ("/what-if", "What if"), ("/replay", "Replay")]
        if asked.may("list", MANAGED_CLUSTER):
            found.insert(1, ("/clusters", "Clusters"))
        return found


def _bearer(request: Request) -> str:
    """The token that goes with the request, "" where there is none."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def hub_time(view: DashboardView, wall: datetime) -> datetime:
    """The hub's time now: on wall time that of the page, on virtual time that of the view."""
    is_virtual = abs((view.now - view.read).total_seconds()) > 60
    return view.now if is_virtual or view.fault else wall
