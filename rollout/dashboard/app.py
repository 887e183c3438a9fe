"""Leads each address to its page: the application that a server answers with."""

import gzip
import hashlib
import mimetypes
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import Route
from starlette.types import ASGIApp

from rollout.dashboard import actions, analysis_pages, consent_pages, fleet_pages, histories, pages
from rollout.dashboard.answers import NotAllowed, Office, PageRequest
from rollout.dashboard.bounded import BoundedProcesses, warm
from rollout.dashboard.histories import Timelines
from rollout.dashboard.outlooks import Outlooks
from rollout.dashboard.pictures import pictures
from rollout.dashboard.replay_pages import ReplayPages
from rollout.dashboard.security import FORGERY_FIELD, HEALTH, Guard, form_of, is_ours
from rollout.dashboard.stream import Streams
from rollout.dashboard.what_if import WhatIfs
from rollout.dashboard.what_if_pages import WhatIfPages
from rollout.errors import ConfigError, Gone, HubError
from rollout.hub.base import EmbeddedHub

STATIC = Path(__file__).parent / "static"


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticFile:
    """A file of the package, in memory, as it is sent."""

    body: bytes
    zipped: bytes
    kind: str
    tag: str


def _read(path: Path) -> StaticFile:
    body = path.read_bytes() if path.parent.name == "vendor" else _bare(path.read_text())
    return StaticFile(
        body=body,
        zipped=gzip.compress(body),
        kind=mimetypes.guess_type(path.name)[0] or "application/octet-stream",
        tag=f'"{hashlib.sha256(body).hexdigest()[:16]}"',
    )


def _bare(text: str) -> bytes:
    """A file of ours without indentation, and without lines that are remarks: a browser reads neither."""
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//")).encode()


FILES = {
    path.relative_to(STATIC).as_posix(): _read(path)
    for path in STATIC.rglob("*")
    if path.suffix in (".js", ".css", ".svg")
}
_LEAST_ZIPPED = 1024
CONFIRMED_AT_ONCE, CONFIRMATION_SECONDS, CONFIRMATION_MEGABYTES = 2, 20, 256
"""Pages that say what a verb will do: so many at once, each with so much in a process of its own."""


def application(
    office: Office,
    hosts: Collection[str],
    ready: Callable[[], object] = lambda: None,
    *,
    decision_log: Path | None = None,
    events: EmbeddedHub | None = None,
) -> ASGIApp:
    """All of it.

    Args:
        hosts: what the Host header may say; empty: anything.
        ready: is called when it begins to answer.
        decision_log: what page Replay shows.
        events: as of `Timelines`.
    """
    streams, what_ifs = Streams(office), WhatIfs(office.observer)
    outlooks, replays = Outlooks(office.observer), ReplayPages(decision_log)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await run_in_threadpool(warm)
        ready()
        yield
        for each in (streams, what_ifs, outlooks):
            each.close()

    routes = [
        *_routes(office, streams, Login(office, streams)),
        *_rollout_routes(office, outlooks, Timelines(replays, events, office.wall)),
        *_what_if_routes(office, WhatIfPages(what_ifs)),
        *_replay_routes(office, replays),
    ]
    app = Starlette(
        routes=routes,
        middleware=[Middleware(GZipMiddleware, minimum_size=_LEAST_ZIPPED)],
        lifespan=lifespan,
        exception_handlers={404: _lost(office)},
    )
    return Guard(app, hosts)  # around all of it: what fails carries the same headers


def _routes(office: Office, streams: Streams, login: "Login") -> list[Route]:
    inside = office.behind_login
    verbs = actions.ActionPages(
        BoundedProcesses(
            office.observer, seconds=CONFIRMATION_SECONDS, megabytes=CONFIRMATION_MEGABYTES
        )
    )
    return [
        Route("/login", login.answer, methods=["GET", "POST"]),
        Route("/logout", login.leave, methods=["POST"]),
        Route(HEALTH, _healthy),
        Route("/events", streams.answer),
        Route("/static/{name:path}", _static),
        Route("/", inside(pages.rollouts), name="rollouts"),
        Route("/act/{verb}", office.in_turn(verbs.confirm, CONFIRMED_AT_ONCE), methods=["GET"]),
        Route("/act/{verb}", office.posted(actions.press), methods=["POST"]),
        Route("/clusters", inside(fleet_pages.clusters)),
        Route("/clusters/{name}", inside(fleet_pages.cluster)),
        Route("/placements", inside(fleet_pages.placements)),
        Route("/placements/{namespace}/{name}", inside(fleet_pages.placement)),
        Route("/consents", inside(consent_pages.consents)),
        Route("/analyses", inside(analysis_pages.analyses)),
        Route("/analyses/{namespace}/{name}", inside(analysis_pages.analysis)),
    ]


def _rollout_routes(office: Office, outlooks: Outlooks, timelines: Timelines) -> list[Route]:
    inside, one = office.behind_login, "/rollouts/{kind}/{namespace}/{name}"
    return [
        Route(one, inside(pages.RolloutPages(timelines).show)),
        Route(f"{one}/yaml", inside(pages.manifest)),
        Route(f"{one}/pictures", inside(pictures)),
        Route(f"{one}/outlook", inside(outlooks.answer)),
        Route(f"{one}/revisions/{{number}}", inside(histories.revision)),
    ]


def _what_if_routes(office: Office, found: WhatIfPages) -> list[Route]:
    return [
        Route("/what-if", office.behind_login(found.show), methods=["GET"]),
        Route("/what-if", office.posted(found.ask), methods=["POST"]),
    ]


def _replay_routes(office: Office, found: ReplayPages) -> list[Route]:
    inside, one = office.behind_login, "/replay/{kind}/{namespace}/{name}"
    return [
        Route("/replay", inside(found.listed)),
        Route(one, inside(found.show)),
        Route(f"{one}/pictures", inside(found.pictures)),
    ]


class Login:
    """How somebody gets a session: by the token in the address, or in the form.

    Whoever follows a link of another site, or of a file, is led on by a page of ours: a redirect would
    still be that site's, and gets no cookie.
    """

    def __init__(self, office: Office, streams: Streams) -> None:
        self._office, self._streams = office, streams
        self._leaves = office.posted(self._leave)

    async def answer(self, request: Request) -> Response:
        back = _inside(request.query_params.get("back", "/"))
        token = request.query_params.get("token", "")
        if request.method == "POST":
            try:
                token = form_of(await request.body()).get("token", "").strip()
            except ConfigError as fault:
                return self._page(back, str(fault), 400)
        if not token:
            return self._page(back)
        return await run_in_threadpool(self._let_in, request, token, back)

    def _page(self, back: str, fault: str = "", status: int = 200) -> Response:
        return HTMLResponse(self._office.render("login.html", fault=fault, back=back), status)

    def _let_in(self, request: Request, token: str, back: str) -> Response:
        fault, status = "this token is not accepted", 403
        try:
            session = self._office.authority.login(token)
        except HubError as problem:
            session, fault, status = None, str(problem), 503
        if session is None:
            return self._page(back, fault, status)
        name, secure = self._office.cookie(request), self._office.secure
        answer: Response = RedirectResponse(back, 303)
        if request.headers.get("sec-fetch-site") == "cross-site":
            answer = HTMLResponse(self._office.render("entered.html", back=back))
        answer.set_cookie(name, session, httponly=True, samesite="strict", secure=secure)
        return answer

    async def leave(self, request: Request) -> Response:
        """End the session, and the streams of its pages."""
        answer = await self._leaves(request)
        self._streams.look_again()
        return answer

    def _leave(self, asked: PageRequest, body: bytes) -> Response:
        """End the session. Raises: NotAllowed for a form that is not ours."""
        if not is_ours(asked.person, form_of(body).get(FORGERY_FIELD, "")):
            raise NotAllowed("this form does not come from your session")
        name = self._office.cookie(asked.request)
        self._office.authority.logout(asked.request.cookies.get(name, ""))
        answer = RedirectResponse("/login", 303)
        answer.delete_cookie(name, secure=self._office.secure, httponly=True, samesite="strict")
        return answer


def _inside(back: str) -> str:
    """An address of this dashboard; anything else is its first page."""
    is_ours = back.startswith("/") and not back.startswith(("//", "/\\"))
    return back if is_ours and "\\" not in back and back.isprintable() else "/"


def _lost(office: Office) -> Callable[[Request, Exception], Response]:
    """What is answered where no page is; strangers are told no more than that."""

    def nowhere(asked: PageRequest) -> Response:
        raise Gone(f"there is no page {asked.request.url.path}")

    def answer(request: Request, _: Exception) -> Response:
        found = office.answer(request, nowhere)
        is_told = found.status_code == HTTPStatus.NOT_FOUND
        return found if is_told else PlainTextResponse("there is nothing here", 404)

    return answer


async def _healthy(_: Request) -> Response:
    return PlainTextResponse("ok")


async def _static(request: Request) -> Response:
    """A file by its exact name: no path is put together from what was sent. It waits for no thread."""
    file = FILES.get(request.path_params["name"])
    if file is None:
        return PlainTextResponse("there is nothing here", 404)
    headers = {"Cache-Control": "private, max-age=300", "ETag": file.tag, "Vary": "Accept-Encoding"}
    if request.headers.get("if-none-match") == file.tag:
        return Response(status_code=304, headers=headers)
    zips = "gzip" in request.headers.get("accept-encoding", "")
    if zips:
        headers["Content-Encoding"] = "gzip"
    return Response(file.zipped if zips else file.body, headers=headers, media_type=file.kind)
