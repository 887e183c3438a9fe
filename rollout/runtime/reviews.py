"""Who is asking, and may they? The API server decides; we remember its answer for a short while.

Source: Kubernetes authentication.k8s.io/v1 TokenReview, authorization.k8s.io/v1 SubjectAccessReview.
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from rollout.clock import Clock
from rollout.hub.base import Hub
from rollout.model.kinds import Kind, Obj, Ref

T = TypeVar("T")

TOKEN_REVIEW = Kind(
    "TokenReview", "tokenreviews", "authentication.k8s.io", "v1", False, has_status=False
)
ACCESS_REVIEW = Kind(
    "SubjectAccessReview",
    "subjectaccessreviews",
    "authorization.k8s.io",
    "v1",
    False,
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
class Verdict:
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
    ) -> Verdict:
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

    def _review_access(self, user: User, attributes: Obj, path: str) -> Verdict:
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
        return Verdict(bool(status.get("allowed")), str(status.get("reason") or ""))

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
