"""Asks the API server, with each user's token, who a user of the dashboard is and what they may do.

The dashboard's own account reads what is shown; what of it somebody sees is decided by the rights of that
person. Whatever is written is written with the person's token, so the server decides again.
"""

import hmac
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import TypeVar

from rollout.clock import Clock
from rollout.dashboard.people import Person
from rollout.errors import Unavailable
from rollout.hub.base import EmbeddedHub, Hub
from rollout.model.kinds import Kind, Ref
from rollout.runtime.reviews import MOST_ANSWERS, REMEMBERED, RememberedAnswers, Reviews, User

T = TypeVar("T")

OpenAs = Callable[[str], AbstractContextManager[EmbeddedHub]]
"""Opens the hub with somebody's token, and closes it."""

LASTS = timedelta(hours=8)
MOST_SESSIONS = 2_000
MOST_OF_ONE = 16
"""Sessions of one user; of more the oldest one ends."""
_STRANGERS_AT_ONCE = 4
_PATIENCE_SECONDS = 5.0
_SESSION_BYTES = 32
SELF_REVIEW = Kind(
    "SelfSubjectAccessReview",
    "selfsubjectaccessreviews",
    "authorization.k8s.io",
    "v1",
    namespaced=False,
    has_status=False,
)


def attributes(verb: str, kind: Kind, namespace: str) -> tuple[tuple[str, str], ...]:
    """What is asked about, as a review has it."""
    found = {"group": kind.group, "resource": kind.plural, "verb": verb, "namespace": namespace}
    return tuple((key, value) for key, value in found.items() if value)


@dataclass(frozen=True, slots=True)
class _LoginSession:
    """Somebody who has logged in, until it ends."""

    user: str
    token: str
    end: datetime


class ReviewedAuthority:
    """Implements `rollout.dashboard.people.Authority` with TokenReviews and SubjectAccessReviews.

    Sessions are kept in memory: whoever was logged in logs in again when the process is a new one. A
    token that is not good any more ends its session within `REMEMBERED`.

    Args:
        hub: for the reviews.
        open_as: opens the hub for the writes of a person.
    """

    def __init__(self, hub: Hub, open_as: OpenAs, clock: Clock) -> None:
        self._reviews, self._open_as, self._clock = Reviews(hub, clock), open_as, clock
        self._sessions: OrderedDict[str, _LoginSession] = OrderedDict()
        self._lock = threading.Lock()
        self._asking = threading.BoundedSemaphore(_STRANGERS_AT_ONCE)
        self._secret = secrets.token_bytes(_SESSION_BYTES)

    def login(self, token: str) -> str | None:
        user = self._stranger(token)
        if user is None:
            return None
        session = secrets.token_urlsafe(_SESSION_BYTES)
        begun = _LoginSession(user.name, token, self._clock.now() + LASTS)
        with self._lock:
            self._sessions[session] = begun
            mine = [key for key, each in self._sessions.items() if each.user == user.name]
            for key in mine[:-MOST_OF_ONE]:
                del self._sessions[key]
            if len(self._sessions) > MOST_SESSIONS:
                self._sessions.popitem(last=False)
        return session

    def person(self, session: str) -> Person | None:
        with self._lock:
            known = self._sessions.get(session)
        if known is None:
            return None
        user = self._reviews.user(known.token) if self._clock.now() < known.end else None
        if user is None:
            self.logout(session)
            return None
        return Person(name=user.name, forgery=self._forgery(session), token=known.token)

    def bearer(self, token: str) -> Person | None:
        user = self._reviews.known_user(token) or self._stranger(token)
        if user is None:
            return None
        forgery = self._forgery(user.name)
        return Person(name=user.name, forgery=forgery, token=token, has_session=False)

    def _stranger(self, token: str) -> User | None:
        """Whom a token stands for that nobody has shown yet: few are asked about at once."""
        if not self._asking.acquire(timeout=_PATIENCE_SECONDS):
            raise Unavailable("too many people log in at this moment; try again")
        try:
            return self._reviews.user(token)
        finally:
            self._asking.release()

    def _forgery(self, whose: str) -> str:
        return hmac.new(self._secret, whose.encode(), sha256).hexdigest()

    def logout(self, session: str) -> None:
        with self._lock:
            self._sessions.pop(session, None)

    def may(self, person: Person, verb: str, kind: Kind, namespace: str) -> bool:
        user = self._reviews.user(person.token)
        return user is not None and (
            self._allowed(user, verb, kind, "")
            or (bool(namespace) and self._allowed(user, verb, kind, namespace))
        )

    def _allowed(self, user: User, verb: str, kind: Kind, namespace: str) -> bool:
        return self._reviews.may(user, attributes(verb, kind, namespace)).allowed

    def write(self, person: Person, doing: Callable[[EmbeddedHub, Clock], T]) -> T:
        with self._open_as(person.token) as hub:
            return doing(hub, self._clock)


class OwnAccess:
    """What the person of a kubeconfig may do; asked once in `REMEMBERED` for the same thing."""

    def __init__(self, hub: Hub, clock: Clock) -> None:
        self._hub = hub
        self._known = RememberedAnswers[bool](clock, REMEMBERED, MOST_ANSWERS)

    def may(self, verb: str, kind: Kind, namespace: str) -> bool:
        """Whether it is allowed. Raises: HubError."""
        asked = attributes(verb, kind, namespace)
        known = self._known.find(asked)
        if known is not None:
            return known
        question = {
            "apiVersion": SELF_REVIEW.api_version,
            "kind": SELF_REVIEW.name,
            "metadata": {},
            "spec": {"resourceAttributes": dict(asked)},
        }
        status = self._hub.create(Ref(SELF_REVIEW, ""), question).get("status") or {}
        found = bool(status.get("allowed"))
        self._known.keep(asked, found)
        return found
