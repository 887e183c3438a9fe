"""The users of the dashboard and their rights: the server of the dashboard answers, pages ask."""

import hmac
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Protocol, TypeVar

from rollout.clock import Clock
from rollout.dashboard.observer import Observer
from rollout.hub.base import EmbeddedHub
from rollout.model.kinds import Kind

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Who looks. ``forgery`` is the token that each of their forms carries against forged requests.

    ``token`` is what the API server knows them by; "" where the dashboard is theirs alone.
    ``has_session``: they logged in here; else each request carries the token.
    """

    name: str
    forgery: str
    token: str = ""
    has_session: bool = True


class Authority(Protocol):
    """What the dashboard goes by. Each method may be called on any thread."""

    def login(self, token: str) -> str | None:
        """The session that a token opens; None where it is no good. Raises: HubError."""
        ...

    def person(self, session: str) -> Person | None:
        """Whose session this is; None where it is none, or is over."""
        ...

    def bearer(self, token: str) -> Person | None:
        """Whose token this is, which came with the request; None where it is no good. Raises: HubError."""
        ...

    def logout(self, session: str) -> None: ...

    def may(self, person: Person, verb: str, kind: Kind, namespace: str) -> bool:
        """Whether this person may do this to objects of a kind ("" : in all namespaces)."""
        ...

    def write(self, person: Person, doing: Callable[[EmbeddedHub, Clock], T]) -> T:
        """Do something to the hub with the rights of this person alone. Raises: what it raises."""
        ...


May = Callable[[str, Kind, str], bool]
"""``(verb, kind, namespace) -> whether it is allowed``."""


class OwnAuthority:
    """One person's own dashboard: whoever has its token has the rights that it was started with.

    Args:
        token: random; whoever knows it is let in.
        name: who is said to have asked.
        observer: owns the hub, and was started with the rights of that person.
        may: what those rights allow; None: everything.
    """

    def __init__(self, token: str, name: str, observer: Observer, may: May | None = None) -> None:
        self._token, self._observer, self._may = token, observer, may
        self._session = _derived(token, "session")
        self._person = Person(name=name, forgery=_derived(token, "forgery"))

    def login(self, token: str) -> str | None:
        return self._session if hmac.compare_digest(token.encode(), self._token.encode()) else None

    def person(self, session: str) -> Person | None:
        is_known = hmac.compare_digest(session.encode(), self._session.encode())
        return self._person if is_known else None

    def bearer(self, token: str) -> Person | None:
        return self._person if self.login(token) is not None else None

    def logout(self, session: str) -> None:
        """The token is good for as long as the process runs: there is nothing to end."""

    def may(self, person: Person, verb: str, kind: Kind, namespace: str) -> bool:
        return self._may is None or self._may(verb, kind, namespace)

    def write(self, person: Person, doing: Callable[[EmbeddedHub, Clock], T]) -> T:
        return self._observer.ask(lambda reading: doing(reading.hub, reading.clock))


def _derived(token: str, purpose: str) -> str:
    return hmac.new(token.encode(), purpose.encode(), sha256).hexdigest()
