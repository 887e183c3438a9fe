"""Pauses, aborts, retries and undoes rollouts, and leaves clusters out of them."""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from datetime import datetime

from rollout.errors import ConfigError, Denied, Gone
from rollout.hub.base import EmbeddedHub, Hub
from rollout.model import names
from rollout.model.instants import rfc3339, rfc3339_micro
from rollout.model.intents import LONGEST_OVERRIDE, RollbackMode, listed_in, read_intents
from rollout.model.kinds import (
    MANAGED_CLUSTER,
    ROLLOUT_REVISION,
    Obj,
    Ref,
    traits_of,
)
from rollout.operate.edits import (
    Annotations,
    Edit,
    OptionError,
    VerbResult,
    Who,
    annotate,
    refuse_ocm,
)
from rollout.operate.given import NONE, refuse_others, refuse_rejected, revisions
from rollout.planning.revisions import read_revision


def pause(hub: Hub, ref: Ref, who: Who) -> VerbResult:
    """Stop touching and removing clusters. What is in flight continues (semantics row 25).

    Raises: Gone, HubError.
    """

    def decide(_: Obj, known: Annotations) -> Edit | str:
        if known.get(names.PAUSED) == "true":
            return f"paused already{read_intents(known).who('pause')}"
        return Edit({names.PAUSED: "true"}, "paused", "pause", ("resume",))

    return annotate(hub, ref, who, decide)


def resume(hub: Hub, ref: Ref, who: Who) -> VerbResult:
    """Continue a paused rollout. Raises: Gone, HubError."""

    def decide(_: Obj, known: Annotations) -> Edit | str:
        if names.PAUSED not in known or known[names.PAUSED] == "false":
            return "it is not paused"
        return Edit({names.PAUSED: None}, "resumed", "resume", ("pause",))

    return annotate(hub, ref, who, decide)


def override_calendars(hub: Hub, ref: Ref, until: datetime | None, who: Who) -> VerbResult:
    """Let calendars close nothing to this workload until an instant, or (None) let them count again.

    Raises: ConfigError for an instant that has passed or is more than 24 hours ahead, Gone, HubError.
    """
    if until is not None and not who.at < until <= who.at + LONGEST_OVERRIDE:
        raise ConfigError(f"{ref}: an override ends at most 24 hours ahead, not {rfc3339(until)}")

    def decide(_: Obj, known: Annotations) -> Edit | str:
        if until is None:
            if names.OVERRIDE_CALENDARS not in known:
                return "calendars count already"
            words = "calendars count again"
            return Edit({names.OVERRIDE_CALENDARS: None}, words, "end-override", ("override",))
        text = rfc3339(until)
        words = f"no calendar closes anything to it until {text}"
        return Edit({names.OVERRIDE_CALENDARS: text}, words, "override", ("end-override",))

    return annotate(hub, ref, who, decide)


def abort(hub: Hub, ref: Ref, who: Who, *, shown: Set[str] = NONE) -> VerbResult:
    """Stop rolling out the present revision until it is retried. Where the template changes and comes back
    to it, it is still aborted, unless the annotation is gone by then.

    With rollback Automatic its clusters get back what soaked there. ``shown``: as of `refuse_others`.
    Raises: ConfigError where nothing, or another revision, is being rolled out, Gone, HubError.
    """

    def decide(obj: Obj, known: Annotations) -> Edit | str:
        present = revisions(hub, ref, obj)
        refuse_others(ref, present, shown)
        if not present:
            raise ConfigError(f"{ref}: nothing is rolled out yet that could be aborted")
        if present <= read_intents(known).aborted:
            return f"aborted already{read_intents(known).who('abort')}"
        listed = ",".join(sorted(present))
        words = f"aborted: revision {listed} is rolled out to no more clusters"
        if _is_complete(obj):
            words += "; all of them have it"
            if traits_of(ref.kind.name).keeps_templates:
                words += ", and `rollout undo` takes it back"
        return Edit({names.ABORT: listed}, words, "abort", ("retry",))

    return annotate(hub, ref, who, decide)


def retry(hub: Hub, ref: Ref, who: Who, *, shown: Set[str] = NONE) -> VerbResult:
    """Retry failed clusters within all limits; take back an abort and an undo, and lift
    the bar of a rollback. Each is another one: on virtual time, much may happen at one instant.
    ``shown``: as of `refuse_others`.

    Raises: ConfigError where the revision is rejected, or another one is rolled out, Gone, HubError.
    """

    def decide(obj: Obj, known: Annotations) -> Edit | str:
        if shown:  # else nobody has to be able to tell which revision it is
            refuse_others(ref, revisions(hub, ref, obj), shown)
        rejected = refuse_rejected(hub, ref, obj, who.at)
        token = _other_token(known.get(names.RETRY, ""), rfc3339_micro(who.at))
        stale = {n: None for n in (names.ABORT, names.UNDO, names.UNDO_TO) if n in known}
        words = "retried: each cluster that has failed gets another attempt"
        if not stale and _is_complete(obj):
            words = "retried, though nothing has failed: no cluster gets another attempt"
        words += f"; but {rejected}" if rejected else ""
        return Edit({names.RETRY: token, **stale}, words, "retry", ("abort", "undo"))

    return annotate(hub, ref, who, decide)


def _is_complete(obj: Obj) -> bool:
    """Whether the status says of the present spec, in every placement, that all clusters have succeeded."""
    status = obj.get("status") or {}
    parts = [status, *(status.get("installProgressions") or [])]
    said = [c for part in parts for c in part.get("conditions") or []]
    found = [c for c in said if c.get("type") == names.PROGRESSING]
    generation = obj["metadata"].get("generation")
    return bool(found) and all(
        c.get("reason") == names.COMPLETE and c.get("observedGeneration") in (None, generation)
        for c in found
    )


def _other_token(last: str, at: str) -> str:
    """The instant, with a number behind it where the last retry was at the same one."""
    instant, _, number = last.partition("#")
    if instant != at:
        return at
    return f"{at}#{int(number) + 1 if number.isdecimal() and len(number) < 10 else 2}"


def undo(
    hub: Hub, ref: Ref, who: Who, to: int | None = None, *, shown: Set[str] = NONE
) -> VerbResult:
    """Take the present revision back from the clusters that got it: each gets what soaked there last,
    or revision number ``to`` where that has soaked. The spec is not edited. The revision is barred until the
    template changes or somebody retries, and again when the template comes back to it, unless the
    annotation is gone by then: a retry takes it away, another undo overwrites it. ``shown``: as of `refuse_others`.

    Raises: ConfigError where it cannot be undone, Gone, HubError.
    """

    def decide(obj: Obj, known: Annotations) -> Edit | str:
        if not traits_of(ref.kind.name).keeps_templates:
            raise ConfigError(
                f"{ref}: earlier configurations are kept nowhere; edit the configuration back"
            )
        if read_intents(known).rollback is RollbackMode.NONE:
            raise ConfigError(f"{ref}: annotation {names.ROLLBACK} is None; set it to Manual first")
        (present,) = revisions(hub, ref, obj)
        refuse_others(ref, {present}, shown)
        kept = _kept(hub, ref)
        if not set(kept.values()) - {present}:
            raise ConfigError(
                f"{ref}: there is no earlier revision to go back to; abort this one, or roll out a fix"
            )
        target = _numbered(ref, kept, to) if to is not None else None
        if target == present:
            raise ConfigError(f"{ref}: revision {to} is the present one; name an earlier one")
        if (known.get(names.UNDO), known.get(names.UNDO_TO)) == (present, target):
            return f"undone already{read_intents(known).who('undo')}"
        words = f"undone: revision {present} is rolled back" + (f", to {target}" if target else "")
        return Edit({names.UNDO: present, names.UNDO_TO: target}, words, "undo", ("retry",))

    return annotate(hub, ref, who, decide)


def _kept(hub: Hub, ref: Ref) -> dict[int, str]:
    """The revisions that are kept, by number."""
    return {
        found.number: found.content
        for obj in hub.list(ROLLOUT_REVISION, ref.namespace).items
        if (found := read_revision(obj)) is not None
        and found.owner == ref
        and not found.base  # contents of single clusters are no revisions to go back to
    }


def _numbered(ref: Ref, kept: Mapping[int, str], number: int) -> str:
    """The revision of this number. Raises: ConfigError where it is not kept."""
    if number not in kept:
        listed = ", ".join(map(str, sorted(kept)))
        raise ConfigError(f"{ref}: there is no revision {number}; kept are {listed}")
    return kept[number]


def skip(
    hub: EmbeddedHub,
    ref: Ref,
    clusters: Iterable[str],
    who: Who,
    *,
    force: bool = False,
    shown: Set[str] = NONE,
) -> VerbResult:
    """Waive clusters for the present revision: they are no members of their stages any more, and no
    failures. A later revision asks for them again (safety contract S20).

    Args:
        force: also names of clusters that do not exist (yet).
        shown: as of `refuse_others`.

    Raises: ConfigError where profile ``ocm`` decides, a cluster does not exist or another revision is
    rolled out, Gone, HubError.
    """
    return _include(hub, ref, _SKIP, frozenset(clusters), who=who, force=force, shown=shown)


def unskip(hub: Hub, ref: Ref, clusters: Iterable[str], who: Who) -> VerbResult:
    """End the skip of clusters; without names, of all of them. Raises: Gone, HubError."""
    return _exclude(hub, ref, _SKIP, frozenset(clusters), who=who)


def hold(
    hub: EmbeddedHub, ref: Ref, clusters: Iterable[str], who: Who, *, force: bool = False
) -> VerbResult:
    """Hold clusters: nothing is written to them or removed from them, and their stage waits.

    Args:
        force: also names of clusters that do not exist (yet).

    Raises: ConfigError where profile ``ocm`` decides or a cluster does not exist, Gone, HubError.
    """
    return _include(hub, ref, _HOLD, frozenset(clusters), who=who, force=force)


def release(hub: Hub, ref: Ref, clusters: Iterable[str], who: Who) -> VerbResult:
    """Release held clusters; without names, all of them. Raises: Gone, HubError."""
    return _exclude(hub, ref, _HOLD, frozenset(clusters), who=who)


@dataclass(frozen=True, slots=True, kw_only=True)
class _List:
    """An annotation that lists clusters, and what is said of those on it and of those taken off.

    ``verb`` and ``back`` are the keys under which it is kept who asked. ``for_revisions``: an entry
    is ``CLUSTER@REVISION``, for each revision that is being rolled out.
    """

    annotation: str
    verb: str
    on: str
    back: str
    off: str
    for_revisions: bool = False


_SKIP = _List(
    annotation=names.SKIP,
    verb="skip",
    on="skipped",
    back="unskip",
    off="no longer skipped",
    for_revisions=True,
)
_HOLD = _List(annotation=names.HOLD, verb="hold", on="held", back="release", off="released")


def _cluster_in(entry: str) -> str:
    return entry.partition("@")[0]


def _include(
    hub: EmbeddedHub,
    ref: Ref,
    asked: _List,
    clusters: frozenset[str],
    who: Who,
    *,
    force: bool,
    shown: Set[str] = NONE,
) -> VerbResult:
    if not force:
        _refuse_unknown(hub, ref, asked, clusters)

    def decide(obj: Obj, known: Annotations) -> Edit | str:
        refuse_ocm(hub, ref, known, f"annotation {asked.annotation}")
        listed = listed_in(known, asked.annotation)
        present = revisions(hub, ref, obj) if asked.for_revisions else frozenset()
        refuse_others(ref, present, shown)
        wanted = frozenset(f"{c}@{r}" for c in clusters for r in present) or clusters
        if wanted <= listed:
            return f"{asked.on} already: {_joined(clusters, ', ')}"
        added = {_cluster_in(entry) for entry in wanted - listed}
        others = {entry for entry in listed if _cluster_in(entry) not in clusters}
        keys = ",".join(f"{asked.verb}/{cluster}" for cluster in sorted(added))
        words = f"{asked.on}: {_joined(added, ', ')}"
        if present:
            words += f" (for revision {_joined(present, ', ')}; a later one asks for them again)"
        return Edit({asked.annotation: _joined(others | wanted)}, words, keys, (asked.back,))

    return annotate(hub, ref, who, decide)


def _refuse_unknown(hub: Hub, ref: Ref, asked: _List, clusters: frozenset[str]) -> None:
    """Raises: ConfigError where one of the names is no cluster's."""
    unknown: list[str] = []
    for cluster in sorted(clusters):
        try:
            hub.get(Ref(MANAGED_CLUSTER, cluster))
        except Gone:
            unknown.append(cluster)
        except Denied:
            return  # whoever may not look at clusters may still name them
    if unknown:
        said = f"{ref}: no cluster is called {', '.join(unknown)}; correct the name"
        typed = f"{said}, or use --force to {asked.verb} a cluster that is still to come"
        raise OptionError(typed, said)


def _exclude(hub: Hub, ref: Ref, asked: _List, clusters: frozenset[str], who: Who) -> VerbResult:
    def decide(_: Obj, known: Annotations) -> Edit | str:
        listed = listed_in(known, asked.annotation)
        on = {_cluster_in(entry) for entry in listed}
        gone = (clusters or on) & on
        if not gone:
            return (
                f"not {asked.on}: {_joined(clusters, ', ')}" if clusters else f"none is {asked.on}"
            )
        left = {entry for entry in listed if _cluster_in(entry) not in gone}
        return Edit(
            {asked.annotation: _joined(left) if left else None},
            f"{asked.off}: {_joined(gone, ', ')}",
            asked.back,
            tuple(f"{asked.verb}/{cluster}" for cluster in gone),
        )

    return annotate(hub, ref, who, decide)


def _joined(clusters: Iterable[str], comma: str = ",") -> str:
    return comma.join(sorted(clusters))
