"""Which address leads to which page? The application that a server answers with."""

import mimetypes
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import Route

from rollout.dashboard import actions, fleet_pages, pages
from rollout.dashboard.answers import NotAllowed, Office, PageRequest
from rollout.dashboard.pictures import pictures
from rollout.dashboard.security import COOKIE, FORGERY_FIELD, Guard, form_of, is_ours
from rollout.dashboard.stream import Streams
from rollout.errors import HubError

STATIC = Path(__file__).parent / "static"
_FILES = {
    path.relative_to(STATIC).as_posix(): path
    for path in STATIC.rglob("*")
    if path.suffix in (".js", ".css", ".svg")
}
_LEAST_ZIPPED = 1024


def application(
    office: Office,
    hosts: Collection[str],
    ready: Callable[[], object] = lambda: None,
    *,
    secure: bool = False,
) -> Starlette:
    """All of it.

    Args:
        hosts: what the Host header may say; empty: anything.
        ready: is called when it begins to answer.
        secure: send the cookie over TLS alone.
    """
    streams = Streams(office)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        ready()
        yield
        streams.close()

    middleware = [
        Middleware(Guard, hosts=hosts),
        Middleware(GZipMiddleware, minimum_size=_LEAST_ZIPPED),
    ]
    routes = _routes(office, streams, Login(office, secure=secure))
    return Starlette(routes=routes, middleware=middleware, lifespan=lifespan)


def _routes(office: Office, streams: Streams, login: "Login") -> list[Route]:
    inside = office.behind_login
    return [
        Route("/login", login.answer, methods=["GET", "POST"]),
        Route("/logout", office.posted(login.leave), methods=["POST"]),
        Route("/healthz", _healthy),
        Route("/events", streams.answer),
        Route("/static/{name:path}", _static),
        Route("/", inside(pages.rollouts), name="rollouts"),
        Route("/act/{verb}", inside(actions.confirm), methods=["GET"]),
        Route("/act/{verb}", office.posted(actions.press), methods=["POST"]),
        Route("/rollouts/{kind}/{namespace}/{name}", inside(pages.rollout)),
        Route("/rollouts/{kind}/{namespace}/{name}/yaml", inside(pages.manifest)),
        Route("/rollouts/{kind}/{namespace}/{name}/pictures", inside(pictures)),
        Route("/clusters", inside(fleet_pages.clusters)),
        Route("/clusters/{name}", inside(fleet_pages.cluster)),
        Route("/placements", inside(fleet_pages.placements)),
        Route("/placements/{namespace}/{name}", inside(fleet_pages.placement)),
        Route("/consents", inside(fleet_pages.consents)),
    ]


class Login:
    """How somebody gets a session: by the token in the address, or in the form."""

    def __init__(self, office: Office, *, secure: bool) -> None:
        self._office, self._secure = office, secure

    async def answer(self, request: Request) -> Response:
        back = _inside(request.query_params.get("back", "/"))
        token = request.query_params.get("token", "")
        if request.method == "POST":
            token = form_of(await request.body()).get("token", "").strip()
        if not token:
            return HTMLResponse(self._office.render("login.html", fault="", back=back))
        return await run_in_threadpool(self._let_in, token, back)

    def _let_in(self, token: str, back: str) -> Response:
        fault, status = "this token is not accepted", 403
        try:
            session = self._office.authority.login(token)
        except HubError as problem:
            session, fault, status = None, str(problem), 503
        if session is None:
            return HTMLResponse(self._office.render("login.html", fault=fault, back=back), status)
        answer = RedirectResponse(back, 303)
        answer.set_cookie(COOKIE, session, httponly=True, samesite="strict", secure=self._secure)
        return answer

    def leave(self, asked: PageRequest, body: bytes) -> Response:
        """End the session. Raises: NotAllowed for a form that is not ours."""
        if not is_ours(asked.person, form_of(body).get(FORGERY_FIELD, "")):
            raise NotAllowed("this form does not come from your session")
        self._office.authority.logout(asked.request.cookies.get(COOKIE, ""))
        answer = RedirectResponse("/login", 303)
        answer.delete_cookie(COOKIE)
        return answer


def _inside(back: str) -> str:
    """An address of this dashboard; anything else is its first page."""
    is_ours = back.startswith("/") and not back.startswith(("//", "/\\"))
    return back if is_ours and "\\" not in back and back.isprintable() else "/"


def _healthy(_: Request) -> Response:
    return PlainTextResponse("ok")


def _static(request: Request) -> Response:
    """A file by its exact name: no path is put together from what was sent."""
    path = _FILES.get(request.path_params["name"])
    if path is None:
        return PlainTextResponse("there is nothing here", 404)
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return FileResponse(path, media_type=kind, headers={"Cache-Control": "private, max-age=300"})
