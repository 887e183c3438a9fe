"""Is what could not be installed tried again for another content? Promise L5, of add-ons."""

from collections import Counter
from collections.abc import Callable
from datetime import datetime

from rollout.model.kinds import Ref
from tests.safety import wishes
from tests.safety.model import Rollout
from tests.safety.told import Told


class InstallsJudge:
    """Remembers for which content the server refused to have an add-on installed.

    The pause after that is for this content alone. Installing is no touch: neither stages nor gates keep it from
    a cluster, but whatever holds the rollout does.
    """

    def __init__(self, told: Told, counts: Counter[str], blame: Callable[[str, str], None]) -> None:
        self._told, self._counts, self._blame = told, counts, blame
        self._refused: dict[Ref, str] = {}  # carrier -> the revision that it was refused for

    def refused(self, ref: Ref) -> None:
        owner = self._told.owner(ref.namespace)
        if owner is not None and ref.namespace not in owner.tracks:
            before = self._refused.get(ref, owner.terms_revision)
            self._counts["L5.installs_tried_again"] += before != owner.terms_revision
            self._refused[ref] = owner.terms_revision

    def restart(self) -> None:
        self._refused.clear()  # nobody writes refusals down

    def rested(self, now: datetime) -> None:
        """The engine has nothing more to do at this instant."""
        for ref, revision in list(self._refused.items()):
            owner = self._told.owner(ref.namespace)
            if owner is None or self._told.carriers(ref.namespace):
                del self._refused[ref]
            elif owner.terms_revision != revision and self._is_due(owner, ref.namespace, now):
                self._blame("L5", f"{ref} was refused for another content, and is not tried again")

    def _is_due(self, owner: Rollout, cluster: str, now: datetime) -> bool:
        """Whether nothing keeps it from being installed."""
        told, terms = self._told, owner.terms
        if terms is None or told.paused or told.frozen or owner.hold or wishes.stop(owner):
            return False
        return not owner.is_unquiet and cluster not in terms.asked.held | told.closed(now)
