"""Who looks at a hub's dashboard, and what may they do? The API server is asked, with their own token.

The dashboard's own account reads what is shown; what of it somebody sees is decided by the rights of that
person. Whatever is written is written with the person's token, so the server decides again.
"""

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import TypeVar

from rollout.clock import Clock
from rollout.dashboard.people import Person
from rollout.errors import Unavailable
from rollout.hub.base import EmbeddedHub, Hub
from rollout.model.kinds import Kind, Ref
from rollout.runtime.health import REMEMBERED, Reviews, User

T = TypeVar("T")

OpenAs = Callable[[str], AbstractContextManager[EmbeddedHub]]
"""Opens the hub with somebody's token, and closes it."""

LASTS = timedelta(hours=8)
MOST_SESSIONS = 2_000
_LOGINS_AT_ONCE = 4
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
        self._sessions: OrderedDict[str, tuple[datetime, str, str]] = OrderedDict()
        self._lock = threading.Lock()
        self._logins = threading.BoundedSemaphore(_LOGINS_AT_ONCE)

    def login(self, token: str) -> str | None:
        if not self._logins.acquire(blocking=False):
            raise Unavailable("too many people log in at this moment; try again")
        try:
            if self._reviews.user(token) is None:
                return None
        finally:
            self._logins.release()
        session, forgery = (secrets.token_urlsafe(_SESSION_BYTES) for _ in range(2))
        with self._lock:
            self._sessions[session] = (self._clock.now() + LASTS, token, forgery)
            if len(self._sessions) > MOST_SESSIONS:
                self._sessions.popitem(last=False)
        return session

    def person(self, session: str) -> Person | None:
        with self._lock:
            known = self._sessions.get(session)
        if known is None:
            return None
        end, token, forgery = known
        user = self._reviews.user(token) if self._clock.now() < end else None
        if user is None:
            self.logout(session)
            return None
        return Person(name=user.name, forgery=forgery, token=token)

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
        self._hub, self._clock = hub, clock
        self._known: dict[Hashable, tuple[datetime, bool]] = {}

    def may(self, verb: str, kind: Kind, namespace: str) -> bool:
        """Whether it is allowed. Raises: HubError."""
        asked, now = attributes(verb, kind, namespace), self._clock.now()
        known = self._known.get(asked)
        if known is not None and now < known[0] + REMEMBERED:
            return known[1]
        question = {
            "apiVersion": SELF_REVIEW.api_version,
            "kind": SELF_REVIEW.name,
            "metadata": {},
            "spec": {"resourceAttributes": dict(asked)},
        }
        status = self._hub.create(Ref(SELF_REVIEW, ""), question).get("status") or {}
        self._known[asked] = (now, bool(status.get("allowed")))
        return self._known[asked][1]
