"""Asks the API server who a user is and what they may do, and remembers the answers for a while."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from rollout.clock import Clock
from rollout.hub.base import Hub
from rollout.model.kinds import Kind, Obj, Ref

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
MOST_TOKENS = 4_000
MOST_ANSWERS = 20_000
"""A person who looks at a page with workloads of 1,000 namespaces asks for that many rights."""


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
        self._hub = hub
        self._users = RememberedAnswers[User](clock, REMEMBERED, MOST_TOKENS)
        self._verdicts = RememberedAnswers[AccessVerdict](clock, REMEMBERED, MOST_ANSWERS)

    def user(self, token: str) -> User | None:
        """Whom the token stands for; None where it stands for nobody. Raises: HubError.

        Only of good tokens it is remembered: whoever forges many displaces nobody's answer.
        """
        known = self.known_user(token)
        if known is not None:
            return known
        found = self._review_token(token)
        if found is not None:
            self._users.keep(_digest(token), found)
        return found

    def known_user(self, token: str) -> User | None:
        """Whom the token stands for, as far as that needs no question; else None."""
        return self._users.find(_digest(token))

    def may(
        self, user: User, attributes: tuple[tuple[str, str], ...], *, path: str = ""
    ) -> AccessVerdict:
        """Whether the user may do it: a request on a resource, or with ``path`` on a URL.

        Raises: HubError.
        """
        key = (user, attributes, path)
        known = self._verdicts.find(key)
        if known is not None:
            return known
        found = self._review_access(user, dict(attributes), path)
        self._verdicts.keep(key, found)
        return found

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


def _digest(token: str) -> bytes:
    """What a token is known by: tokens themselves are never kept."""
    return hashlib.sha256(token.encode()).digest()


class RememberedAnswers(Generic[T]):
    """Answers that are good for a while. For any thread.

    Args:
        lasts: how long.
        most: answers; of more that one goes which was kept the longest ago.
    """

    def __init__(self, clock: Clock, lasts: timedelta, most: int) -> None:
        self._clock, self._lasts, self._most = clock, lasts, most
        self._answers: OrderedDict[Hashable, tuple[datetime, T]] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, key: Hashable) -> T | None:
        """The answer, None where none is good any more."""
        with self._lock:
            known = self._answers.get(key)
        return (
            known[1] if known is not None and self._clock.now() < known[0] + self._lasts else None
        )

    def keep(self, key: Hashable, answer: T) -> None:
        with self._lock:
            self._answers[key] = (self._clock.now(), answer)
            self._answers.move_to_end(key)
            if len(self._answers) > self._most:
                self._answers.popitem(last=False)
