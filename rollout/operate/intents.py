"""How is a rollout paused, aborted, retried, undone, and how are clusters left out of it?"""

from collections.abc import Iterable

from rollout.errors import ConfigError
from rollout.hub.base import Hub
from rollout.model import names
from rollout.model.intents import RollbackMode, read_intents
from rollout.model.kinds import CLUSTER_MANAGEMENT_ADDON, CONTROLLER_REVISION, Obj, Ref
from rollout.operate.revisions import revisions
from rollout.operate.told import Annotations, Edit, Told, Who, annotate
from rollout.planning.revisions import read_revision


def pause(hub: Hub, ref: Ref, who: Who) -> Told:
    """Touch and remove nothing from now on; what is in flight goes on (semantics row 25).

    Raises: Gone, HubError.
    """

    def decide(_: Obj, known: Annotations) -> Edit | str:
        if known.get(names.PAUSED) == "true":
            return f"is paused already{read_intents(known).who('pause')}"
        return Edit({names.PAUSED: "true"}, "paused", "pause", ("resume",))

    return annotate(hub, ref, who, decide)


def resume(hub: Hub, ref: Ref, who: Who) -> Told:
    """Go on. Raises: Gone, HubError."""

    def decide(_: Obj, known: Annotations) -> Edit | str:
        if names.PAUSED not in known or known[names.PAUSED] == "false":
            return "is not paused"
        return Edit({names.PAUSED: None}, "resumed", "resume", ("pause",))

    return annotate(hub, ref, who, decide)


def abort(hub: Hub, ref: Ref, who: Who) -> Told:
    """Bring the present revision to no further cluster, until it is retried or another one comes.

    With rollback Automatic its clusters get back what soaked there. Raises: ConfigError where nothing
    is being rolled out, Gone, HubError.
    """

    def decide(obj: Obj, known: Annotations) -> Edit | str:
        present = revisions(hub, ref, obj)
        if not present:
            raise ConfigError(f"{ref}: nothing is rolled out yet that could be aborted")
        if present <= read_intents(known).aborted:
            return f"is aborted already{read_intents(known).who('abort')}"
        listed = ",".join(sorted(present))
        return Edit({names.ABORT: listed}, f"aborted: revision {listed}", "abort", ("retry",))

    return annotate(hub, ref, who, decide)


def retry(hub: Hub, ref: Ref, who: Who) -> Told:
    """Give what failed another attempt, within all limits; take back an abort and an undo, and lift
    the bar of a rollback. Raises: Gone, HubError.
    """

    def decide(_: Obj, known: Annotations) -> Edit | str:
        token = who.at.isoformat().replace("+00:00", "Z")
        stale = {n: None for n in (names.ABORT, names.UNDO, names.UNDO_TO) if n in known}
        return Edit(
            {names.RETRY: token, **stale}, "what failed is tried again", "retry", ("abort", "undo")
        )

    return annotate(hub, ref, who, decide)


def undo(hub: Hub, ref: Ref, who: Who, to: int | None = None) -> Told:
    """Take the present revision back from the clusters that got it: each gets what soaked there last,
    or revision number ``to`` where that has soaked. The spec is not edited; the revision is barred
    until the template changes or somebody retries.

    Raises: ConfigError where it cannot be undone, Gone, HubError.
    """

    def decide(obj: Obj, known: Annotations) -> Edit | str:
        if ref.kind is CLUSTER_MANAGEMENT_ADDON:
            raise ConfigError(
                f"{ref}: earlier configurations are kept nowhere; edit the configuration back"
            )
        if read_intents(known).rollback is RollbackMode.NONE:
            raise ConfigError(f"{ref}: annotation {names.ROLLBACK} is None; set it to Manual first")
        (present,) = revisions(hub, ref, obj)
        target = _numbered(hub, ref, to) if to is not None else None
        if target == present:
            raise ConfigError(f"{ref}: revision {to} is the present one; name an earlier one")
        if (known.get(names.UNDO), known.get(names.UNDO_TO)) == (present, target):
            return f"is being undone already{read_intents(known).who('undo')}"
        words = f"revision {present} is taken back" + (f", to {target}" if target else "")
        return Edit({names.UNDO: present, names.UNDO_TO: target}, words, "undo", ("retry",))

    return annotate(hub, ref, who, decide)


def _numbered(hub: Hub, ref: Ref, number: int) -> str:
    """The revision of this number. Raises: ConfigError where it is not kept."""
    kept = {
        found.number: found.content
        for obj in hub.list(CONTROLLER_REVISION, ref.namespace).items
        if (found := read_revision(obj)) is not None and found.owner == ref.key
    }
    if number not in kept:
        listed = ", ".join(map(str, sorted(kept))) or "none"
        raise ConfigError(f"{ref}: there is no revision {number}; kept are {listed}")
    return kept[number]


def skip(hub: Hub, ref: Ref, clusters: Iterable[str], who: Who) -> Told:
    """Waive clusters: they are no members of their stages any more, and no failures.

    Raises: Gone, HubError.
    """
    return _include(hub, ref, names.SKIP, "skip", frozenset(clusters), who, "skipped")


def unskip(hub: Hub, ref: Ref, clusters: Iterable[str], who: Who) -> Told:
    """Make waived clusters members again. Raises: Gone, HubError."""
    return _exclude(hub, ref, names.SKIP, "skip", frozenset(clusters), who, "no longer skipped")


def hold(hub: Hub, ref: Ref, clusters: Iterable[str], who: Who) -> Told:
    """Hands off these clusters for now: nothing is written to or removed from them; their stage waits.

    Raises: Gone, HubError.
    """
    return _include(hub, ref, names.HOLD, "hold", frozenset(clusters), who, "held")


def release(hub: Hub, ref: Ref, clusters: Iterable[str], who: Who) -> Told:
    """Let held clusters take part again; none named are all of them. Raises: Gone, HubError."""
    return _exclude(hub, ref, names.HOLD, "hold", frozenset(clusters), who, "released")


def _include(
    hub: Hub, ref: Ref, name: str, verb: str, clusters: frozenset[str], who: Who, words: str
) -> Told:
    def decide(_: Obj, known: Annotations) -> Edit | str:
        listed = _members(known, name)
        added = clusters - listed
        if not added:
            return f"{_names(clusters)} {words} already"
        keys = ",".join(f"{verb}/{cluster}" for cluster in sorted(added))
        return Edit({name: _joined(listed | added)}, f"{_names(added)} {words}", keys)

    return annotate(hub, ref, who, decide)


def _exclude(
    hub: Hub, ref: Ref, name: str, verb: str, clusters: frozenset[str], who: Who, words: str
) -> Told:
    def decide(_: Obj, known: Annotations) -> Edit | str:
        listed = _members(known, name)
        gone = (clusters or listed) & listed
        if not gone:
            return f"{_names(clusters) or 'no cluster'}: nothing to take back"
        left = listed - gone
        return Edit(
            {name: _joined(left) if left else None},
            f"{_names(gone)} {words}",
            f"un{verb}",
            tuple(f"{verb}/{cluster}" for cluster in gone),
        )

    return annotate(hub, ref, who, decide)


def _members(known: Annotations, name: str) -> frozenset[str]:
    intents = read_intents({name: known.get(name, "")})
    return intents.skipped if name == names.SKIP else intents.held


def _joined(clusters: Iterable[str]) -> str:
    return ",".join(sorted(clusters))


def _names(clusters: Iterable[str]) -> str:
    return ", ".join(sorted(clusters))
