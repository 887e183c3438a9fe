"""How does a rollback look to the plain model? Who may go back, to what, how many, and for what reason.

Where something is uncertain the reading is the one that favours the engine.
"""

from dataclasses import dataclass, field


@dataclass(slots=True)
class WayBack:
    """Of one placement. ``soaked``: what may ever have soaked on each cluster, the latest last.

    ``has_reason``: since this revision began, or was retried, there was a reason to take it back.
    ``barred``: the revision that is being taken back, from its first write on. ``given``: clusters
    that were given another one back.
    """

    soaked: dict[str, list[str]] = field(default_factory=dict)
    has_reason: bool = False
    barred: str = ""
    given: set[str] = field(default_factory=set)

    def note(self, cluster: str, revision: str) -> None:
        """This revision may have soaked there."""
        known = self.soaked.setdefault(cluster, [])
        if revision in known:
            known.remove(revision)
        known.append(revision)

    def begin_anew(self) -> None:
        """The template changed, somebody retried, or the record is gone."""
        self.has_reason, self.barred = False, ""
        self.given.clear()

    def give(self, cluster: str, revision: str) -> None:
        """A write that takes ``revision`` back from a cluster goes out."""
        self.barred = revision
        self.given.add(cluster)
