"""What is there, and what changes? `rollout get`."""

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from itertools import groupby

import click

from rollout.account.groups import MOST_CLUSTERS
from rollout.cli.choosing import COLUMNS, JSONPATH, chosen, sorted_by
from rollout.cli.hiding import Veil, veil
from rollout.cli.naming import Target, not_found, targets
from rollout.cli.options import complain, options
from rollout.cli.patience import pauses
from rollout.cli.store import open_hub, tell_away
from rollout.cli.tables import formatted, lines, listed, table, widths
from rollout.cli.text import put, say
from rollout.clock import Clock, SystemClock
from rollout.errors import Gone, Invalid
from rollout.hub.base import EmbeddedHub
from rollout.hub.selecting import parse_labels
from rollout.hub.watching import ListWatch
from rollout.model.events import Event
from rollout.model.kinds import DEFAULT_NAMESPACE, WORKLOADS, Kind, Obj, Ref, find
from rollout.model.selectors import Selector

Pause = Callable[[], bool]


def get(
    words: tuple[str, ...],
    namespace: str,
    all_namespaces: bool,
    selector: str,
    output: str | None,
    order: str,
    watch: bool,
    timeout: timedelta | None,
    whole: bool,
    no_headers: bool,
    show_secrets: bool,
) -> int:
    """Show objects, or one workload as a tree."""
    tree = output == "tree" or (watch and output in (None, "json"))
    if _is_bare(words) and (watch or tree):
        wanted = [Target(kind, words[0]) for kind in WORKLOADS[: None if tree else 1]]
    else:
        wanted = targets(words)
        tree = output == "tree" or (tree and _is_one_workload(wanted))
    if tree:
        return _tree(wanted, namespace, output or "tree", watch, timeout=timeout, whole=whole)
    output = _form(output, order, watch=watch, of_tree=timeout is not None or whole)
    labels = _labels(wanted, selector, everywhere=all_namespaces, watch=watch)
    place = None if all_namespaces else namespace or DEFAULT_NAMESPACE
    with open_hub(options()) as (hub, clock):
        viewer = Viewer(
            hub,
            clock,
            wanted,
            place,
            labels=labels,
            output=output,
            order=order,
            headers=not no_headers,
            hide=veil(show_secrets=show_secrets),
        )
        if watch:
            return viewer.follow(pauses())
        return viewer.show()


def _labels(wanted: Sequence[Target], selector: str, *, everywhere: bool, watch: bool) -> Selector:
    """The labels that are asked for. Raises: UsageError where the words do not go together."""
    if selector and any(target.name for target in wanted):
        raise click.UsageError("give names or --selector, not both")
    if everywhere and any(target.name and target.kind.namespaced for target in wanted):
        raise click.UsageError("an object is named within its namespace: leave out -A or the name")
    kinds = {target.kind for target in wanted}
    if watch and len(kinds) > 1:
        raise click.UsageError("--watch follows one kind at a time")
    try:
        return parse_labels(selector)
    except Invalid as fault:
        raise click.UsageError(str(fault)) from fault


def _form(output: str | None, order: str, *, watch: bool, of_tree: bool) -> str:
    """How objects are printed. Raises: UsageError for what belongs to a tree, or is printed only once."""
    if of_tree:
        raise click.UsageError("--timeout and --all are for a tree: get mwrs NAME --watch")
    if watch and (order or (output or "").startswith((JSONPATH, COLUMNS))):
        raise click.UsageError("--watch prints objects as they change: as a table, yaml or json")
    return output or "table"


def _is_bare(words: tuple[str, ...]) -> bool:
    """Whether there is one word that is no kind: then it is the name of a workload."""
    return len(words) == 1 and not set("/,") & set(words[0]) and find(words[0]) is None


def _is_one_workload(wanted: Sequence[Target]) -> bool:
    return len(wanted) == 1 and bool(wanted[0].name) and wanted[0].kind in WORKLOADS


def _tree(
    wanted: Sequence[Target],
    namespace: str,
    output: str,
    watch: bool,
    timeout: timedelta | None,
    whole: bool,
) -> int:
    """Show one workload as a tree."""
    from rollout.cli.watch import Watch, screen  # noqa: PLC0415  (0.2 s that other kinds need not)

    if not all(_is_one_workload([target]) for target in wanted):
        raise click.UsageError("a tree is of one workload: get mwrs NAME, get cma NAME")
    if timeout is not None and not watch:
        raise click.UsageError("--timeout goes with --watch")
    most = None if whole else MOST_CLUSTERS
    with open_hub(options()) as (hub, clock), screen(options(), output, watch=watch) as shown:
        seen = Watch(hub, clock, _the_one(hub, wanted, namespace), most=most)
        return seen.follow(shown, SystemClock(), timeout) if watch else seen.once(shown)


def _the_one(hub: EmbeddedHub, wanted: Sequence[Target], namespace: str) -> Ref:
    """The workload that is there, of those that the words may mean; the first where none is."""
    first, *others = (target.ref(namespace) for target in wanted)
    if others and not _is_there(hub, first):
        return next((ref for ref in others if _is_there(hub, ref)), first)
    return first


def _is_there(hub: EmbeddedHub, ref: Ref) -> bool:
    try:
        hub.get(ref)
    except Gone:
        return False
    return True


class Viewer:
    """What one `get` looks at, and how it prints it.

    Args:
        place: the namespace; None for all of them.
        order: the field by which they are sorted ("": as the hub lists them).
        hide: what objects are put through before they are printed.
    """

    def __init__(
        self,
        hub: EmbeddedHub,
        clock: Clock,
        wanted: Sequence[Target],
        place: str | None,
        labels: Selector,
        output: str,
        *,
        order: str = "",
        headers: bool = True,
        hide: Veil,
    ) -> None:
        self._hub, self._clock, self._wanted = hub, clock, wanted
        self._place, self._labels, self._output = place, labels, output
        self._order, self._headers, self._hide = order, headers, hide
        self._several = len({target.kind for target in wanted}) > 1
        self._sizes: tuple[int, ...] = ()

    def show(self) -> int:
        """Print what there is now. Returns: 1 where something named is not there."""
        missing: list[str] = []
        found = list(self._find(missing))
        if self._order:
            kinds = {id(obj): kind for kind, obj in found}
            found = [(kinds[id(o)], o) for o in sorted_by(self._order, [o for _, o in found])]
        if self._output in ("json", "yaml") or self._output.startswith((JSONPATH, COLUMNS)):
            self._documents([obj for _, obj in found])
        elif self._output == "name":
            for _, obj in found:
                say(formatted("name", obj))
        else:
            self._tables(found)
        for line in missing:
            complain(line)
        is_table = self._output in ("table", "wide", "name")
        if not found and not missing and is_table:
            say(self._nothing(), err=True)
        if any(kind in WORKLOADS for kind, _ in found):
            tell_away(self._hub, self._clock.now())
        return int(bool(missing))

    def _documents(self, objects: Sequence[Obj]) -> None:
        """Print objects as they are, or what is chosen of them; one that was named stands alone."""
        one = len(self._wanted) == 1 and self._wanted[0].name
        if one and not objects:
            return
        value = self._hide(objects[0] if one else listed(objects))
        if self._output in ("json", "yaml"):
            put(formatted(self._output, value))
        else:
            put(chosen(self._output, value, [value] if one else value["items"]))

    def _find(self, missing: list[str]) -> Iterator[tuple[Kind, Obj]]:
        for target in self._wanted:
            if target.name:
                ref = target.ref(self._place or "")
                try:
                    yield target.kind, self._hub.get(ref)
                except Gone:
                    missing.append(not_found(ref))
                continue
            place = self._place if target.kind.namespaced else None
            for obj in self._hub.list(target.kind, place).items:
                if self._labels.matches(obj["metadata"].get("labels") or {}):
                    yield target.kind, obj

    def _tables(self, found: Sequence[tuple[Kind, Obj]]) -> None:
        for i, (kind, group) in enumerate(groupby(found, key=lambda pair: pair[0])):
            if i:
                say()
            self._sizes = ()
            self._rows(kind, [obj for _, obj in group], header=self._headers)

    def _rows(self, kind: Kind, objects: Sequence[Obj], *, header: bool) -> None:
        shown = table(
            kind,
            objects,
            self._clock.now(),
            wide=self._output == "wide",
            namespaces=self._place is None,
            prefixed=self._several,
        )
        self._sizes = widths(shown, self._sizes)
        for line in lines(shown, self._sizes, header=header):
            say(line)

    def _nothing(self) -> str:
        if self._place is None or not any(target.kind.namespaced for target in self._wanted):
            return "No resources found"
        return f"No resources found in {self._place} namespace."

    def follow(self, pause: Pause) -> int:
        """Print what there is, then every object that changes, until ``pause`` says to end.

        A removed object is printed once more, as it was last. Returns: as `show`.
        """
        kind = self._wanted[0].kind
        follow = Follow(self._hub, kind)
        code = self.show()
        if code:
            return code
        header = self._headers and not self._sizes
        while True:
            for obj in follow.changed():
                if not self._is_wanted(obj):
                    continue
                if self._output in ("table", "wide"):
                    self._rows(kind, [obj], header=header)
                    header = False
                else:
                    separator = "---\n" if self._output == "yaml" else ""
                    put(separator + formatted(self._output, self._hide(obj)))
            if not pause():
                return 0

    def _is_wanted(self, obj: Obj) -> bool:
        meta = obj["metadata"]
        names = {target.name for target in self._wanted if target.name}
        return (
            (not names or meta["name"] in names)
            and (self._place in (None, meta.get("namespace")) or "namespace" not in meta)
            and self._labels.matches(meta.get("labels") or {})
        )


class Follow:
    """The objects of one kind that change from the moment this is made."""

    def __init__(self, hub: EmbeddedHub, kind: Kind) -> None:
        self._hub = hub
        self._events: list[Event] = []
        self._expired = False
        self._watch = ListWatch(hub, kind, self._events.append, self._expire)
        self._known = {event.ref: event.version for event in self._watch.again()}

    def _expire(self) -> None:
        self._expired = True

    def changed(self) -> list[Obj]:
        """Each object that changed since the last call, as it is now; of a removed one, its last state."""
        self._hub.poll()
        events = self._events[:]
        self._events.clear()
        if self._expired:
            self._expired = False
            listed = self._watch.again()
            events += [e for e in listed if self._known.get(e.ref) != e.version]
        self._known.update((event.ref, event.version) for event in events)
        return list({event.ref: event.obj for event in events}.values())
