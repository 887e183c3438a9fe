"""Under which keys does a run keep what is no object in an embedded hub?

`EmbeddedHub.put_state`: kept in the same transaction as the objects, so that a run that was killed goes
on where it was.
"""

from typing import Literal, Protocol

STARTED = "started"
"""The instant at which the first run began."""

CLOCK = "clock"
"""The instant at which a run on a clock of its own is; absent on real time."""

ALIVE = "alive"
"""The instant at which a run on real time was last alive."""

AGENTS = "agents"
"""What the simulated agents have pending, and the state of their chance."""

PROFILE = "profile"
"""Whose rules the engine goes by where an object does not say: ``strict`` or ``ocm``. On an API server
the leader's Lease says so, by the label `rollout.model.names.PROFILE_LABEL`."""

SCENARIO = "scenario"
"""How the agents behave: the text of the scenario and its seed."""


class Kept(Protocol):
    """A hub, as far as it keeps what is no object."""

    def get_state(self, key: str) -> bytes | None: ...


def profile_of(hub: Kept) -> Literal["strict", "ocm"]:
    """Whose rules the engine of this hub goes by; ``strict`` where nobody left word."""
    return "ocm" if hub.get_state(PROFILE) == b"ocm" else "strict"
