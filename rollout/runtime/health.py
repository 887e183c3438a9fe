"""Answers probes and metrics of a running process, and decides who may read the metrics.

`rollout.runtime.server` brings requests here; the debug endpoint is in `rollout.runtime.debug`.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rollout.errors import HubError
from rollout.model.kinds import Obj
from rollout.runtime.metrics import CONTENT_TYPE
from rollout.runtime.process import Readiness
from rollout.runtime.reviews import Reviews

LARGEST_BODY = 1 << 20
JSON = "application/json"
TEXT = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What was asked.

    ``length`` is the body's length as announced, None where it was not. ``gone``: whether whoever
    asked waits no longer.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    authorization: str = ""
    body: bytes = b""
    length: int | None = 0
    gone: Callable[[], bool] = lambda: False


@dataclass(frozen=True, slots=True)
class Response:
    """What is answered."""

    status: int
    body: bytes
    content_type: str = TEXT
    headers: Mapping[str, str] = field(default_factory=dict)


Route = Callable[[Request], Response]


def in_json(status: int, obj: Obj) -> Response:
    return Response(status, json.dumps(obj, ensure_ascii=False).encode() + b"\n", JSON)


def in_words(status: int, text: str) -> Response:
    return Response(status, text.encode() + b"\n")


def health_routes(
    alive: Callable[[], bool], readiness: Callable[[], Readiness]
) -> dict[str, Route]:
    """What the kubelet's probes ask for."""

    def live(_: Request) -> Response:
        return in_words(200, "ok") if alive() else in_words(500, "the engine does not come round")

    def ready(_: Request) -> Response:
        found = readiness()
        return in_words(200 if found.ready else 503, found.why)

    return {"/healthz": read_only(live), "/readyz": read_only(ready)}


def metrics_routes(metrics: Callable[[], bytes], reviews: Reviews | None) -> dict[str, Route]:
    """What Prometheus asks for. ``reviews``: who may ask is reviewed; None: everybody may."""

    def measured(request: Request) -> Response:
        refusal = None if reviews is None else refused(reviews, request)
        return refusal or Response(200, metrics(), CONTENT_TYPE)

    return {"/metrics": read_only(measured)}


def read_only(route: Route) -> Route:
    """The route, for requests that cannot change anything."""

    def answer(request: Request) -> Response:
        if request.method not in ("GET", "HEAD"):
            said = f"method {request.method} is not allowed\n".encode()
            return Response(405, said, headers={"Allow": "GET, HEAD"})
        return route(request)

    return answer


def refused(reviews: Reviews, request: Request) -> Response | None:
    """Why the hub's RBAC does not let the client ``get`` this URL; None if it does."""
    token = bearer_token(request)
    try:
        user = reviews.user(token) if token else None
        if user is None:
            return in_words(401, "a token of the hub is needed (Authorization: Bearer ...)")
        verdict = reviews.may(user, (("verb", "get"),), path=request.path)
    except HubError as error:
        return in_words(503, f"who may ask cannot be reviewed: {error}")
    if verdict.allowed:
        return None
    return in_words(403, f"{user.name} may not get the URL {request.path} on the hub")


def bearer_token(request: Request) -> str:
    """The token that goes with the request, "" where there is none."""
    kind, _, token = request.authorization.partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen. ``host`` "": everywhere."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host or '*'}:{self.port}"
