"""Explains a Placement's selection over HTTP, to whom the API server allows it.

GET evaluates the stored Placement, POST the one in the body, which is not stored. Differences from
OCM's: permission is looked at first, nothing is answered before everything is read, a body gets the
defaults of the API and is validated, and status, conditions and selection are told.
Source: OCM placement spec 5.1, weakness W39.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Protocol, TypeVar

from rollout.api.decoding import decode
from rollout.api.defaults import with_defaults
from rollout.api.validation import validate
from rollout.clock import Clock
from rollout.errors import HubError
from rollout.fleet.fleet import Fleet
from rollout.model.kinds import PLACEMENT, Obj
from rollout.model.placement import Decision, Placement, owned
from rollout.model.problems import joined
from rollout.placement.cel.bounds import SLICE_STEPS
from rollout.placement.cel.screening import Screening, Unfinished
from rollout.placement.explain import debug_json
from rollout.planning.decisions import misconfigured, satisfied
from rollout.planning.placements import PlacementPlanner
from rollout.runtime.health import LARGEST_BODY, Request, Response, bearer_token, in_json
from rollout.runtime.reviews import Reviews, User

PREFIX = "/debug/placements/"
VERBS = {"GET": "get", "POST": "create"}
"""Of a request, the verb on placements that it takes."""
ASK_SECONDS = 5.0
"""To wait for one turn of the engine."""
EVALUATION = timedelta(seconds=20)
"""To wait for a whole evaluation."""
NO_USER = "user information not found in request context"

T = TypeVar("T")


class AskEngine(Protocol):
    """Does something on the engine's thread, within so many seconds. Raises: TimeoutError."""

    def __call__(self, job: Callable[[], T], seconds: float) -> T: ...


class Refusal(Exception):
    """An answer other than 200."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status, self.words = status, words


class Debug:
    """The route of the debug endpoint. For any thread.

    Args:
        ready: whether everything is read here.
    """

    def __init__(
        self,
        reviews: Reviews,
        fleet: Fleet,
        planner: PlacementPlanner,
        clock: Clock,
        *,
        ask: AskEngine,
        ready: Callable[[], bool],
    ) -> None:
        self._reviews, self._fleet, self._planner = reviews, fleet, planner
        self._clock, self._ask, self._ready = clock, ask, ready

    def __call__(self, request: Request) -> Response:
        try:
            return in_json(200, self._answer(request))
        except Refusal as refusal:
            return in_json(refusal.status, {"error": refusal.words})

    def _answer(self, request: Request) -> Obj:
        if request.method not in VERBS:
            raise Refusal(405, f"method {request.method} not allowed")
        user = self._user(request)
        if request.method == "GET":
            namespace, name = _key(request.path)
            obj = None
        else:
            obj = _body(request)
            namespace, name = obj["metadata"]["namespace"], obj["metadata"]["name"]
        self._permit(user, request, namespace)
        if not self._ready():
            raise Refusal(503, "not everything is read yet, or another replica leads; try again")
        return self._in_slices(request, f"{namespace}/{name}", obj)

    def _in_slices(self, request: Request, key: str, obj: Obj | None) -> Obj:
        """Evaluate a little at a time, as long as somebody waits for it."""
        screening, end = Screening(), self._clock.now() + EVALUATION
        while not request.gone() and self._clock.now() < end:
            screening.begin(SLICE_STEPS)
            try:
                return self._ask(lambda: self._evaluated(key, obj, screening), ASK_SECONDS)
            except Unfinished:
                continue
            except TimeoutError:
                break
        raise Refusal(503, "the engine is busy; try again")

    # -- may they? -----------------------------------------------------------------------------

    def _user(self, request: Request) -> User:
        token = bearer_token(request)
        if not token:
            raise Refusal(401, NO_USER)
        try:
            user = self._reviews.user(token)
        except HubError as error:
            raise Refusal(500, f"failed to check the token: {error}") from error
        if user is None:
            raise Refusal(401, NO_USER)
        return user

    def _permit(self, user: User, request: Request, namespace: str) -> None:
        verb = VERBS[request.method]
        url = (("verb", request.method.lower()),)
        resource = (
            ("group", PLACEMENT.group),
            ("version", PLACEMENT.version),
            ("resource", PLACEMENT.plural),
            ("namespace", namespace),
            ("verb", verb),
        )
        try:
            verdict = self._reviews.may(user, url, path=request.path)
            if not verdict.allowed:
                words = f"user does not have permission to {request.method.lower()} {request.path}"
                raise Refusal(403, f"{words}: {verdict.reason}")
            verdict = self._reviews.may(user, resource)
        except HubError as error:
            raise Refusal(500, f"failed to check permissions: {error}") from error
        if not verdict.allowed:
            words = f"user does not have permission to {verb} placements in namespace {namespace}"
            raise Refusal(403, f"{words}: {verdict.reason}")

    # -- on the engine's thread ----------------------------------------------------------------

    def _evaluated(self, key: str, obj: Obj | None, screening: Screening) -> Obj:
        store = self._fleet.clusters
        own: Sequence[Decision] = ()
        if obj is None:
            placement = store.placement(key)
            if placement is None:
                raise Refusal(404, f"placement '{key.rpartition('/')[2]}' not found")
            own = owned(placement, store.decisions(key))
        else:
            decoded = decode(PLACEMENT, obj)
            assert isinstance(decoded, Placement), "a Placement decodes to a Placement"
            placement = decoded
        outcome = self._planner.evaluate(
            placement, own, store, self._clock.now(), screening=screening
        )
        if outcome is None:
            raise Refusal(500, "OCM's own evaluation would end early: a set cannot be read")
        found = debug_json(placement, replace(outcome.selection, status=outcome.status))
        conditions = [misconfigured(placement, outcome), satisfied(placement, outcome)]
        return {
            **found,
            "conditions": [
                {"type": c.type, "status": c.status, "reason": c.reason, "message": c.message}
                for c in conditions
            ],
        }


def _key(path: str) -> tuple[str, str]:
    parts = path.removeprefix(PREFIX).strip("/").split("/")
    if len(parts) < 2 or not parts[0]:
        raise Refusal(400, "invalid debug path: namespace and name required")
    if len(parts) > 2 or not all(parts):
        raise Refusal(400, f'unexpected key format: "{"/".join(parts)}"')
    return parts[0], parts[1]


def _body(request: Request) -> Obj:
    """The Placement in the body, as the API server would store it."""
    if request.length is None or request.length > LARGEST_BODY:
        said = "" if request.length is None else f"{request.length} bytes "
        words = f"request body too large: {said}exceeds maximum of {LARGEST_BODY} bytes"
        raise Refusal(400, words)
    try:
        obj: Any = json.loads(request.body)
    except (ValueError, RecursionError) as error:
        said = str(error) if isinstance(error, json.JSONDecodeError) else type(error).__name__
        raise Refusal(400, f"failed to unmarshal placement JSON: {said}") from None
    if not isinstance(obj, dict):
        raise Refusal(400, "failed to unmarshal placement JSON: it is not an object")
    meta = obj.get("metadata")
    meta = meta if isinstance(meta, dict) else {}
    named = {
        "namespace": str(meta.get("namespace") or "default"),
        "name": str(meta.get("name") or "unnamed"),
        "resourceVersion": "0",
    }
    whole: Obj = {
        "spec": {},
        **obj,
        "apiVersion": PLACEMENT.api_version,
        "kind": PLACEMENT.name,
        "metadata": {**meta, **named},
    }
    filled = with_defaults(whole)
    problems = validate(filled)
    if problems:
        raise Refusal(400, f"the placement is not valid: {joined(problems)}")
    return filled
