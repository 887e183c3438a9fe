"""`rollout get`: shows objects, and follows their changes."""

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from itertools import groupby

import click

from rollout.account.groups import MOST_CLUSTERS
from rollout.cli.choosing import COLUMNS, JSONPATH, chosen, sorted_by
from rollout.cli.hiding import Veil, veil
from rollout.cli.naming import (
    Named,
    Target,
    is_name,
    kind_meant,
    kind_named,
    not_found,
    only_workload,
    targets,
)
from rollout.cli.options import Stop, complain, options
from rollout.cli.patience import pauses
from rollout.cli.store import open_hub, tell_away, tell_idle
from rollout.cli.tables import formatted, lines, listed, table, widths
from rollout.cli.text import put, say
from rollout.clock import Clock, SystemClock
from rollout.errors import Gone, Invalid
from rollout.hub.base import EmbeddedHub, away_since
from rollout.hub.selecting import parse_labels
from rollout.hub.watching import ListWatch
from rollout.model.events import Event
from rollout.model.kinds import DEFAULT_NAMESPACE, WORKLOADS, Kind, Obj, ref_of
from rollout.model.selectors import Selector


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
    wanted = _wanted(words, namespace)
    one = wanted if isinstance(wanted, Named) else _one_workload(wanted, namespace)
    if output == "tree" or (watch and output in (None, "json") and one is not None):
        return _tree(one, output or "tree", watch, timeout=timeout, whole=whole)
    output = _form(output, order, watch=watch, of_tree=timeout is not None or whole)
    labels = _labels(wanted, selector, everywhere=all_namespaces, watch=watch)
    place = None if all_namespaces else namespace or DEFAULT_NAMESPACE
    with open_hub(options()) as (hub, clock):
        found, missing = _on(hub, wanted, namespace)
        viewer = Viewer(
            hub,
            clock,
            found,
            place,
            labels=labels,
            output=output,
            order=order,
            headers=not no_headers,
            hide=veil(show_secrets=show_secrets),
            missing=missing,
        )
        if watch:
            return viewer.follow(pauses())
        return viewer.show()


def _wanted(words: tuple[str, ...], namespace: str) -> Named | list[Target]:
    """What is to be shown; a word that is no kind is the name of a workload. Raises: UsageError."""
    if len(words) == 1 and is_name(words) and "," not in words[0]:
        return only_workload(words, namespace)
    return targets(words, namespace)


def _one_workload(wanted: Sequence[Target], namespace: str) -> Named | None:
    """The one workload that is named; None where it is something else."""
    if len(wanted) != 1 or not wanted[0].name or wanted[0].kind not in WORKLOADS:
        return None
    return Named(wanted[0].name, wanted[0].kind, wanted[0].namespace or namespace)


def _on(
    hub: EmbeddedHub, wanted: Named | Sequence[Target], namespace: str
) -> tuple[list[Target], list[str]]:
    """Each object as it is called on the hub, and what is to be said of those that are not there."""
    if isinstance(wanted, Named):
        try:
            ref = wanted.on(hub)
        except Stop as stop:
            if kind_meant(wanted.name):
                kind_named(wanted.name)  # which says what it may be
            raise Stop(stop.code, f"{stop.args[0]}; `rollout get --help` lists all kinds") from None
        return [Target(ref.kind, ref.name, ref.namespace)], []
    found, missing = [], []
    for target in wanted:
        if not target.name:
            found.append(target)
            continue
        try:
            ref = target.on(hub, namespace)
            found.append(Target(ref.kind, ref.name, ref.namespace))
        except Stop as stop:
            missing.append(str(stop.args[0]))
    return found, missing


def _labels(
    wanted: Named | Sequence[Target], selector: str, *, everywhere: bool, watch: bool
) -> Selector:
    """The labels that are asked for. Raises: UsageError where the words do not go together."""
    found = [] if isinstance(wanted, Named) else wanted
    is_named = isinstance(wanted, Named) or any(target.name for target in found)
    if selector and is_named:
        raise click.UsageError("give names or --selector, not both")
    if everywhere and is_named and not all(t.name and not t.kind.namespaced for t in found):
        raise click.UsageError("an object is named within its namespace: leave out -A or the name")
    kinds = {target.kind for target in found}
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


def _tree(
    named: Named | None,
    output: str,
    watch: bool,
    timeout: timedelta | None,
    whole: bool,
) -> int:
    """Show one workload as a tree."""
    from rollout.cli.watch import Watch, screen  # noqa: PLC0415  (0.2 s that other kinds need not)

    if named is None:
        raise click.UsageError("a tree is of one workload: get mwrs NAME, get cma NAME")
    if timeout is not None and not watch:
        raise click.UsageError("--timeout goes with --watch")
    most = None if whole else MOST_CLUSTERS
    with open_hub(options()) as (hub, clock):
        if away_since(hub, clock.now()) is None:  # else the picture says it
            tell_idle(hub)
        with screen(options(), output, watch=watch) as shown:
            seen = Watch(hub, clock, named.on(hub), most=most)
            return seen.follow(shown, SystemClock(), timeout) if watch else seen.once(shown)


class Viewer:
    """What one `get` looks at, and how it prints it.

    Args:
        place: the namespace; None for all of them.
        order: the field by which they are sorted ("": as the hub lists them).
        missing: what is said of those that are not there.
        hide: what objects are put through before they are printed.
    """

    def __init__(
        self,
        hub: EmbeddedHub,
        clock: Clock,
        wanted: Sequence[Target],
        place: str | None,
        *,
        labels: Selector,
        output: str,
        order: str = "",
        headers: bool = True,
        hide: Veil,
        missing: Sequence[str] = (),
    ) -> None:
        self._hub, self._clock, self._wanted = hub, clock, wanted
        self._place, self._labels, self._output = place, labels, output
        self._order, self._headers, self._hide = order, headers, hide
        self._several = len({target.kind for target in wanted}) > 1
        self._missing = missing
        self._sizes: tuple[int, ...] = ()

    def show(self) -> int:
        """Print what there is now. Returns: 1 where something named is not there."""
        missing = list(self._missing)
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

    def follow(self, pause: Callable[[], bool]) -> int:
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
        meta, named = obj["metadata"], [target for target in self._wanted if target.name]
        if named:
            found = ref_of(named[0].kind, obj)
            return any(target.ref(self._place or "") == found for target in named)
        is_here = self._place in (None, meta.get("namespace")) or "namespace" not in meta
        return is_here and self._labels.matches(meta.get("labels") or {})


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
