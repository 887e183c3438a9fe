"""Finds the objects that words mean, such as `mwrs web`, `placements,mwrs` or `mwrs/web`, and completes words."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import click
from click.shell_completion import CompletionItem

from rollout.api.fields import mapping
from rollout.cli.options import F, Options, Stop
from rollout.cli.store import open_hub
from rollout.errors import Denied, Gone, NotServed, RolloutError
from rollout.hub.base import EmbeddedHub
from rollout.model.intents import Intents, read_intents
from rollout.model.kinds import (
    DEFAULT_NAMESPACE,
    KINDS,
    MANAGED_CLUSTER,
    WORKLOADS,
    Kind,
    Obj,
    Ref,
    find,
    key_of,
    ref_of,
)
from rollout.model.wording import nearest

Completion = list[CompletionItem[Any]]


@dataclass(frozen=True, slots=True)
class Target:
    """One object of a kind, or (no name) all of them. ``namespace`` is said with the name ("": it is not)."""

    kind: Kind
    name: str = ""
    namespace: str = ""

    def ref(self, namespace: str) -> Ref:
        """The object's reference; ``namespace`` counts for kinds that have one, where the name says none."""
        spot = (self.namespace or namespace or DEFAULT_NAMESPACE) if self.kind.namespaced else ""
        return Ref(self.kind, key_of(spot, self.name))

    def on(self, hub: EmbeddedHub, namespace: str) -> Ref:
        """The object's reference; a workload is looked for everywhere where no namespace is said."""
        if self.kind in WORKLOADS:
            return Named(self.name, self.kind, self.namespace or namespace).on(hub)
        return self.ref(namespace)


def targets(words: Sequence[str], namespace: str = "") -> list[Target]:
    """What the words after a verb mean: ``KIND[,KIND...] [NAME...]``, or ``KIND/NAME...``.

    A NAME may be NAMESPACE/NAME. ``namespace`` is that of ``-n``; "" where none was given.

    Raises: UsageError for an unknown kind, or both forms at once.
    """
    if not words:
        raise click.UsageError("name a kind, such as mwrs, mcl or placements")
    if "/" in words[0]:
        plain = next((word for word in words if "/" not in word), None)
        if plain is not None:
            raise click.UsageError(
                f"{plain!r} stands beside {words[0]!r}: do not mix KIND NAME and KIND/NAME"
            )
        return [_pair(word) for word in words]
    kinds = list(dict.fromkeys(kind_named(word) for word in words[0].split(",")))
    if not words[1:]:
        return [Target(kind) for kind in kinds]
    return [target_named(kind, name, namespace) for kind in kinds for name in words[1:]]


def _pair(word: str) -> Target:
    kind, _, name = word.partition("/")
    if not name or "/" in name:
        raise click.UsageError(f"{word!r} is not KIND/NAME")
    return Target(kind_named(kind), name)


_PART_OF_A_KIND = 4
"""So many letters of a kind's end are meant as it: clusters, work, addons."""


def kind_named(word: str) -> Kind:
    """The kind of this name; its group may follow, as in ``placements.cluster.open-cluster-...``."""
    kind = find(word.partition(".")[0])
    if kind is None:
        meant = kind_meant(word)
        more = f"did you mean {meant}?" if meant else "`rollout get --help` lists them"
        raise click.UsageError(f"there is no kind {word!r}; {more}")
    return kind


def kind_meant(word: str) -> str:
    """The kind that is perhaps meant by a word that is none; "" where that cannot be told."""
    names = [name for kind in KINDS.values() for name in (*kind.short, kind.plural)]
    whole = (name for name in names if name.endswith(word.rstrip("s") + "s"))  # clusters
    return (next(whole, "") if len(word) >= _PART_OF_A_KIND else "") or nearest(word, names)


def target_named(kind: Kind, name: str, namespace: str) -> Target:
    """The object of a kind that ``NAME``, ``NAMESPACE/NAME`` or ``KIND/NAME`` means.

    Args:
        namespace: that of ``-n``; "" where none was given.

    Raises: UsageError where the two namespaces, or the two kinds, differ.
    """
    before, slash, rest = name.rpartition("/")
    if not slash:
        return Target(kind, name)
    if not before or not rest or "/" in before:
        raise click.UsageError(f"{name!r} is neither NAME nor NAMESPACE/NAME")
    if find(before) is kind:
        return Target(kind, rest)
    other = find(before)
    if other is not None:
        raise click.UsageError(f"{name!r} is a {other.name}: a {kind.name} is meant here")
    if not kind.namespaced:
        raise click.UsageError(f"a {kind.name} has no namespace: write {rest} in place of {name}")
    check_namespace(name, before, namespace)
    return Target(kind, rest, before)


def check_namespace(word: str, said: str, namespace: str) -> None:
    """Raises: UsageError where the namespace that a word says is not that of ``-n``."""
    if said and namespace not in ("", said):
        raise click.UsageError(
            f"{word!r} is not in namespace {namespace}: leave out one of the two"
        )


def not_found(ref: Ref) -> str:
    """That an object is not there, as kubectl says it, and where it was looked for."""
    where = f" in namespace {ref.namespace}" if ref.kind.namespaced else ""
    return _not_found(ref.kind, ref.name, where)


def missing(ref: Ref, listing: str = "") -> Stop:
    """Ends a command that was asked about what is not there.

    Args:
        listing: the command that lists those that exist; "": the one that lists this kind.
    """
    if not listing and ref.kind in WORKLOADS:
        listing = "list -A"
    elif not listing:
        listing = f"get {ref.kind.plural}{' -A' if ref.kind.namespaced else ''}"
    return Stop(1, f"{not_found(ref)}; `rollout {listing}` lists those that exist")


def _not_found(kind: Kind, name: str, where: str) -> str:
    group = f".{kind.group}" if kind.group else ""
    return f'{kind.plural}{group} "{name}" not found{where}'


# -- workloads ------------------------------------------------------------------------------------

NAME_ONE = "name one workload: NAME, NAMESPACE/NAME, mwrs NAME, or cma NAME"


@dataclass(frozen=True, slots=True)
class Named:
    """A workload as a command names it. ``kind`` None: of any kind; ``namespace`` "": of any namespace."""

    name: str
    kind: Kind | None = None
    namespace: str = ""

    def on(self, hub: EmbeddedHub) -> Ref:
        """The workload that is meant; one of a kind and a namespace need not be there.

        Where its kind is said and no namespace, it is the one in the default namespace, or the only one
        that is called so. Raises: UsageError where there are several, Stop where there is none.
        """
        if self.kind is not None:
            first = Target(self.kind, self.name).ref(self.namespace)
            if self.namespace or not self.kind.namespaced or _is_there(hub, first):
                return first
        kinds = WORKLOADS if self.kind is None else (self.kind,)
        found = [ref for kind in kinds for ref in _called(hub, kind, self.name, self.namespace)]
        if len(found) > 1:
            named = " or ".join(f"{ref.kind.typed} {ref.key}" for ref in found)
            raise click.UsageError(f"there are several workloads {self.name!r}: name {named}")
        if found:
            return found[0]
        raise Stop(1, f"{self._is_not_there()}; {self._hint(hub)}")

    def _is_not_there(self) -> str:
        if self.kind is not None:
            return _not_found(self.kind, self.name, " in any namespace")
        where = f" in namespace {self.namespace}" if self.namespace else ""
        return f"there is no workload {self.name!r}{where}"

    def _hint(self, hub: EmbeddedHub) -> str:
        """What to type instead: a workload of another kind that is called so, or what lists all."""
        others = [kind for kind in WORKLOADS if self.kind not in (None, kind)]
        for ref in (each for kind in others for each in _called(hub, kind, self.name, "")):
            return f"did you mean {ref.kind.typed} {ref.key}?"
        return "`rollout list -A` shows all"


def _is_there(hub: EmbeddedHub, ref: Ref) -> bool:
    try:
        hub.get(ref)
    except (Gone, NotServed):
        return False
    return True


def _called(hub: EmbeddedHub, kind: Kind, name: str, namespace: str) -> list[Ref]:
    """The objects of a kind that are called so, in a namespace, or in all ("")."""
    try:
        found = [ref_of(kind, obj) for obj in hub.list(kind, namespace or None).items]
    except NotServed:
        return []
    except Denied:  # one may perhaps read the one that is meant
        found = [ref for ref in [Target(kind, name).ref(namespace)] if _is_there(hub, ref)]
    return [ref for ref in found if ref.name == name and namespace in ("", ref.namespace)]


def workload_of(words: tuple[str, ...], namespace: str) -> tuple[Named, tuple[str, ...]]:
    """The workload that the first words name, and the words after it. Raises: UsageError."""
    if not words:
        raise click.UsageError(NAME_ONE)
    kind_word, slash, name = words[0].partition("/")
    if is_name(words):
        before, _, alone = words[0].rpartition("/")
        check_namespace(words[0], before, namespace)
        return Named(alone, None, before or namespace), words[1:]
    kind = _workload_kind(kind_word)
    if slash and (not name or "/" in name):
        raise click.UsageError(f"{words[0]!r} is not KIND/NAME; {NAME_ONE}")
    if slash:
        return _of_kind(kind, name, namespace), words[1:]
    if len(words) < 2:
        raise click.UsageError(NAME_ONE)
    return _of_kind(kind, words[1], namespace), words[2:]


def _of_kind(kind: Kind, name: str, namespace: str) -> Named:
    target = target_named(kind, name, namespace)
    return Named(target.name, kind, target.namespace or namespace)


def is_name(words: tuple[str, ...]) -> bool:
    """Whether the first word is no kind, nor one that is nearly typed as one before a name."""
    word = words[0].partition("/")[0]
    if not word or find(word.partition(".")[0]) is not None:
        return False
    return len(words) == 1 or "/" in words[0] or _nearest_kind(word) == ""


def _nearest_kind(word: str) -> str:
    return nearest(word, (name for kind in WORKLOADS for name in (*kind.short, kind.plural))) or ""


def _workload_kind(word: str) -> Kind:
    """The kind of workload of this name. Raises: UsageError."""
    kind = find(word.partition(".")[0])
    if kind is None:
        meant = _nearest_kind(word)
        hint = f"did you mean {meant}? " if meant else ""
        raise click.UsageError(f"{word!r} is not a workload kind; {hint}{NAME_ONE}")
    if kind not in WORKLOADS:
        kinds = " or a ".join(each.name for each in WORKLOADS)
        raise click.UsageError(
            f"a {kind.name} is not a workload: name a {kinds} (mwrs NAME, cma NAME)"
        )
    return kind


def only_workload(words: tuple[str, ...], namespace: str) -> Named:
    """The workload that the words name, where they name nothing else. Raises: UsageError."""
    named, more = workload_of(words, namespace)
    if more:
        raise click.UsageError(f"name one workload, and nothing after it: not {' '.join(more)}")
    return named


def clusters_of(words: Iterable[str]) -> tuple[str, ...]:
    """The clusters that the words name; several may stand in one, with commas, as in annotations."""
    return tuple(name for word in words for name in word.split(",") if name)


def _length(words: tuple[str, ...]) -> int:
    """How many words name the workload: ``mwrs/web`` is one, ``mwrs web`` are two."""
    return 1 if words and "/" in words[0] else 2


# -- completion -----------------------------------------------------------------------------------


def complete_kind(ctx: click.Context, param: click.Parameter, incomplete: str) -> Completion:
    """Complete the first word after a verb, the kind, and the names of its objects after that."""
    before = ctx.params.get(str(param.name))
    if before:
        kind = find(before[0])
        return complete_names(ctx, kind, incomplete) if kind else []
    words = [word for kind in KINDS.values() for word in (*kind.short, kind.plural)]
    return [CompletionItem(word) for word in sorted(words) if word.startswith(incomplete)]


def complete_names(ctx: click.Context, kind: Kind, incomplete: str) -> Completion:
    """The names of a kind's objects on the hub that the options name; none where it cannot be read."""
    space = (ctx.params.get("namespace") or "default") if kind.namespaced else None
    try:
        with open_hub(ctx.ensure_object(Options)) as (hub, _):
            names = [obj["metadata"]["name"] for obj in hub.list(kind, space).items]
    except RolloutError:
        return []
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def workload_argument(
    metavar: str, *, clusters: bool = False, among: Callable[[Intents], Iterable[str]] | None = None
) -> Callable[[F], F]:
    """The words that name a workload and (``clusters``) some of its clusters.

    ``among`` says which clusters alone are meant, given what is asked of the workload.
    """

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> Completion:
        before: tuple[str, ...] = ctx.params.get(str(param.name)) or ()
        if len(before) < _length((*before, incomplete)):
            return _complete_workload(ctx, before, incomplete)
        if among is not None:
            intents = _intents(ctx, before)
            return _beginning(incomplete, sorted(among(intents)) if intents else ())
        return complete_names(ctx, MANAGED_CLUSTER, incomplete) if clusters else []

    return click.argument("words", metavar=metavar, nargs=-1, shell_complete=complete)


def _complete_workload(ctx: click.Context, before: tuple[str, ...], incomplete: str) -> Completion:
    """``mw`` to ``mwrs``, ``mwrs we`` to ``web``, ``mwrs/we`` to ``mwrs/web``."""
    word, slash, begun = incomplete.partition("/")
    if not before and not slash:
        return _beginning(incomplete, (w for k in WORKLOADS for w in (*k.short, k.plural)))
    kind = find(before[0] if before else word)
    if kind not in WORKLOADS or kind is None:
        return []
    if before:
        return complete_names(ctx, kind, incomplete)
    return [CompletionItem(f"{word}/{item.value}") for item in complete_names(ctx, kind, begun)]


def _beginning(incomplete: str, words: Iterable[str]) -> Completion:
    return [CompletionItem(word) for word in words if word.startswith(incomplete)]


def complete_gate(ctx: click.Context, _: click.Parameter, incomplete: str) -> Completion:
    """Complete the gates of the workload that was named before."""
    words = ctx.params.get("words") or tuple(ctx.args)  # an option without its value ends the parse
    intents = _intents(ctx, words)
    return _beginning(incomplete, map(str, intents.gates) if intents is not None else ())


def _intents(ctx: click.Context, words: tuple[str, ...]) -> Intents | None:
    """What is asked of the workload that the words name; None where that cannot be read."""
    try:
        named, _ = workload_of(words, ctx.params.get("namespace") or "")
        with open_hub(ctx.ensure_object(Options)) as (hub, _):
            obj: Obj = hub.get(named.on(hub))
    except (RolloutError, click.UsageError):
        return None
    return read_intents(mapping(obj["metadata"].get("annotations")))
