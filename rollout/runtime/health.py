"""What can be asked of a running controller, and what is answered? Health, metrics, and who may read those.

`rollout.runtime.server` brings requests here; the debug endpoint is in `rollout.runtime.debug`.
"""

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeVar

from rollout.clock import Clock
from rollout.errors import HubError
from rollout.hub.base import Hub
from rollout.model.kinds import Kind, Obj, Ref
from rollout.runtime.metrics import CONTENT_TYPE
from rollout.runtime.process import Readiness

T = TypeVar("T")

TOKEN_REVIEW = Kind(
    "TokenReview", "tokenreviews", "authentication.k8s.io", "v1", namespaced=False, has_status=False
)
ACCESS_REVIEW = Kind(
    "SubjectAccessReview",
    "subjectaccessreviews",
    "authorization.k8s.io",
    "v1",
    namespaced=False,
    has_status=False,
)

REMEMBERED = timedelta(seconds=10)
_KEPT = 256


@dataclass(frozen=True, slots=True)
class User:
    """Who a token stands for."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class AccessVerdict:
    """Whether something is allowed, and the server's reason."""

    allowed: bool
    reason: str = ""


class Reviews:
    """Asks the hub, at most once in `REMEMBERED` for the same question. For any thread."""

    def __init__(self, hub: Hub, clock: Clock) -> None:
        self._hub, self._clock = hub, clock
        self._answers: OrderedDict[Hashable, tuple[datetime, object]] = OrderedDict()
        self._lock = threading.Lock()

    def user(self, token: str) -> User | None:
        """Whom the token stands for; None where it stands for nobody. Raises: HubError."""
        digest = hashlib.sha256(token.encode()).digest()  # tokens themselves are never kept
        return self._remembered(("token", digest), lambda: self._review_token(token))

    def may(
        self, user: User, attributes: tuple[tuple[str, str], ...], *, path: str = ""
    ) -> AccessVerdict:
        """Whether the user may do it: a request on a resource, or with ``path`` on a URL.

        Raises: HubError.
        """
        return self._remembered(
            (user, attributes, path), lambda: self._review_access(user, dict(attributes), path)
        )

    def _review_token(self, token: str) -> User | None:
        status = self._ask(TOKEN_REVIEW, {"token": token})
        said = status.get("user") or {}
        if not status.get("authenticated") or not said.get("username"):
            return None
        extra = tuple((key, tuple(values)) for key, values in (said.get("extra") or {}).items())
        groups = tuple(said.get("groups") or ())
        return User(said["username"], said.get("uid", ""), groups, extra)

    def _review_access(self, user: User, attributes: Obj, path: str) -> AccessVerdict:
        spec: Obj = {
            "user": user.name,
            "uid": user.uid,
            "groups": list(user.groups),
            "extra": {key: list(values) for key, values in user.extra},
        }
        if path:
            spec["nonResourceAttributes"] = {**attributes, "path": path}
        else:
            spec["resourceAttributes"] = attributes
        status = self._ask(ACCESS_REVIEW, spec)
        return AccessVerdict(bool(status.get("allowed")), str(status.get("reason") or ""))

    def _ask(self, kind: Kind, spec: Obj) -> Obj:
        question = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {}, "spec": spec}
        return self._hub.create(Ref(kind, ""), question).get("status") or {}

    def _remembered(self, key: Hashable, ask: Callable[[], T]) -> T:
        now = self._clock.now()
        with self._lock:
            known = self._answers.get(key)
        if known is not None and now < known[0] + REMEMBERED:
            return known[1]  # type: ignore[return-value]  # by key it is T
        answer = ask()
        with self._lock:
            self._answers[key] = (now, answer)
            self._answers.move_to_end(key)
            if len(self._answers) > _KEPT:
                self._answers.popitem(last=False)
        return answer


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
    """Why whoever asked may not ``get`` this URL, as the hub's RBAC says; None where they may."""
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
