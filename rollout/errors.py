"""The errors of this project, split by who must act.

Expected refusals are values (a rejected cluster, a held rollout, a note); only faults are exceptions.
Messages start in lower case, say what was attempted and what to do, and never carry object bodies.
"""

from datetime import timedelta


class RolloutError(Exception):
    """Root of all errors raised on purpose."""


class ConfigError(RolloutError):
    """The user must act: an input cannot be honoured. Not retried; wait for an edit."""


class PluginError(ConfigError):
    """The plugin's author must act: it raised, or broke its contract."""


class HubError(RolloutError):
    """The API server, its store, or the way there."""


class Conflict(HubError):
    """Someone wrote first. Plan again when the newer object has arrived."""


class AlreadyExists(Conflict):
    """A create met an object of that name. Read it, then plan again."""


class Gone(HubError):
    """The object (or its namespace) is not there. Treat as deleted; plan again."""


class Throttled(HubError):
    """The server asks to wait. No failure is counted."""

    def __init__(self, message: str, after: timedelta = timedelta(seconds=1)) -> None:
        super().__init__(message)
        self.after = after


class Denied(HubError):
    """403: permissions must be granted."""


class Unauthenticated(Denied):
    """401: the server does not know who asks. It says nothing of the object, so a write is tried again."""


class Invalid(HubError):
    """422, or a terminating namespace: the server refuses this object; its words are kept."""


class Expired(HubError):
    """410 on a watch: the version is too old. List again."""


class Unavailable(HubError):
    """5xx, a time-out, a cut connection: retried with backoff. The outcome of a write is unknown."""


class Silent(Unavailable):
    """An open watch said nothing for long: nothing happens there, or the line is dead. Watch again."""


class NotServed(Unavailable):
    """The server does not have this kind: its definition must be installed. Asking again soon is of
    no use.
    """


class Fenced(RolloutError):
    """Leadership is lost: stop writing now and exit."""
