"""How does a rollback look to the plain model? Who may go back, to what, how many, and for what reason.

Where something is uncertain the reading is the one that favours the engine.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field


@dataclass(slots=True)
class WayBack:
    """Of one placement. ``soaked``: what may have soaked on each cluster and has not failed there since, the
    latest last; ``unsure``: of these, those that the engine may not know of, or in another order.

    ``has_reason``: since this revision began, or was retried, there was a reason to take it back.
    ``earlier``: of ``given``, those of a process that has ended: it may not have written that down.
    ``barred``: the revision that is being taken back, from its first write on. ``given``: clusters
    that were given another one back. ``is_on``: the record says that a rollback is going on, to the
    revision of the fingerprint ``to`` where one was named. ``completed``: a status said that the revision
    has reached everybody.
    """

    soaked: dict[str, list[str]] = field(default_factory=dict)
    unsure: dict[str, set[str]] = field(default_factory=dict)
    has_reason: bool = False
    barred: str = ""
    given: set[str] = field(default_factory=set)
    earlier: set[str] = field(default_factory=set)
    is_on: bool = False
    to: str = ""
    completed: bool = False

    def leave(self, cluster: str, revision: str, came_to: str) -> None:
        """The cluster leaves this revision, which ``soaked`` there, ``failed``, was under way (""), or "?":
        may have soaked.
        """
        known = self.soaked.setdefault(cluster, [])
        if came_to and revision in known:
            known.remove(revision)
            self.unsure.get(cluster, set()).discard(revision)
        if came_to in ("soaked", "?"):
            known.append(revision)
        if came_to == "?":
            self.unsure.setdefault(cluster, set()).add(revision)

    def part(self, cluster: str, *, surely: bool) -> None:
        """The cluster is selected no more, and what soaked there is ``surely`` forgotten, or may be."""
        if surely:
            self.soaked.pop(cluster, None)
            self.unsure.pop(cluster, None)
        else:
            self.doubt(cluster)

    def take_over(self, cluster: str, soaked: list[str]) -> None:
        """What soaked there while another placement had it, and may be known of it here."""
        if soaked and cluster not in self.soaked:
            self.soaked[cluster] = list(soaked)
            self.doubt(cluster)

    def restart(self, unread: Iterable[str]) -> None:
        """The engine starts anew, and may know nothing of what soaked on these clusters."""
        for cluster in unread:
            self.doubt(cluster)
        self.earlier |= self.given

    def doubt(self, cluster: str) -> None:
        """The engine may have forgotten what soaked there until now."""
        self.unsure.setdefault(cluster, set()).update(self.soaked.get(cluster, ()))

    def last(self, cluster: str, wanted: Callable[[str], bool]) -> tuple[str, bool]:
        """The last that soaked there of those that are wanted, "" if none, and whether that is certain."""
        unsure = self.unsure.get(cluster, set())
        found = next(filter(wanted, reversed(self.soaked.get(cluster, []))), "")
        return found, found not in unsure

    def begin_anew(self) -> None:
        """The template changed, somebody retried, or the record is gone."""
        self.has_reason, self.barred, self.is_on, self.to = False, "", False, ""
        self.given.clear()
        self.earlier.clear()

    def give(self, cluster: str, revision: str) -> None:
        """A write that takes ``revision`` back from a cluster goes out."""
        self.barred = revision
        self.given.add(cluster)
        self.earlier.discard(cluster)
        known = self.soaked.get(cluster, [])
        if revision in known:
            known.remove(revision)
            self.unsure.get(cluster, set()).discard(revision)
