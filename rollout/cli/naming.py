"""Which objects do words mean, such as `mwrs web`, `placements,mwrs` or `mwrs/web`? What may stand next?"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import click
from click.shell_completion import CompletionItem

from rollout.api.fields import mapping
from rollout.cli.options import F, Options, Stop, known_kinds, options
from rollout.cli.store import open_hub
from rollout.errors import NotServed, RolloutError
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
    """One object of a kind, or (no name) all of them."""

    kind: Kind
    name: str = ""

    def ref(self, namespace: str) -> Ref:
        """The object's reference; ``namespace`` counts for kinds that have one."""
        spot = (namespace or DEFAULT_NAMESPACE) if self.kind.namespaced else ""
        return Ref(self.kind, key_of(spot, self.name))


def targets(words: Sequence[str]) -> list[Target]:
    """What the words after a verb mean: ``KIND[,KIND...] [NAME...]``, or ``KIND/NAME...``.

    Raises: UsageError for an unknown kind, or both forms at once.
    """
    if not words:
        raise click.UsageError(f"name a kind; {known_kinds()}")
    slashed = [word for word in words if "/" in word]
    if slashed:
        if len(slashed) < len(words):
            plain = next(word for word in words if "/" not in word)
            raise click.UsageError(
                f"{plain!r} stands beside {slashed[0]!r}: write KIND/NAME for each, and a namespace"
                " with -n"
            )
        return [_pair(word) for word in slashed]
    kinds = list(dict.fromkeys(kind_named(word) for word in words[0].split(",")))
    names = words[1:]
    return [Target(kind, name) for kind in kinds for name in names or ("",)]


def _pair(word: str) -> Target:
    kind, _, name = word.partition("/")
    if not name or "/" in name:
        raise click.UsageError(f"{word!r} is not KIND/NAME")
    return Target(kind_named(kind), name)


def kind_named(word: str) -> Kind:
    """The kind of this name; its group may follow, as in ``placements.cluster.open-cluster-...``."""
    kind = find(word.partition(".")[0])
    if kind is None:
        names = [name for kind in KINDS.values() for name in (*kind.short, kind.plural)]
        whole = (name for name in names if name.endswith(word.rstrip("s") + "s"))  # clusters
        meant = next(whole, "") or nearest(word, names)
        more = f"did you mean {meant}?" if meant else known_kinds()
        raise click.UsageError(f"there is no kind {word!r}; {more}")
    return kind


def ref_named(kind: Kind, name: str, namespace: str) -> Ref:
    """The object of a kind that ``NAME``, ``NAMESPACE/NAME`` or ``KIND/NAME`` means.

    Args:
        namespace: that of ``-n``; "" where none was given.

    Raises: UsageError where the two namespaces, or the two kinds, differ.
    """
    before, slash, rest = name.rpartition("/")
    if not slash:
        return Target(kind, name).ref(namespace)
    if not before or not rest or "/" in before:
        raise click.UsageError(f"{name!r} is neither NAME nor NAMESPACE/NAME")
    if find(before) is kind:
        return Target(kind, rest).ref(namespace)
    other = find(before)
    if other is not None:
        raise click.UsageError(f"{name!r} is a {other.name}: a {kind.name} is meant here")
    if not kind.namespaced:
        raise click.UsageError(f"a {kind.name} has no namespace: write {rest} in place of {name}")
    if namespace not in ("", before):
        raise click.UsageError(
            f"{name!r} is not in namespace {namespace}: leave out one of the two"
        )
    return Target(kind, rest).ref(before)


def not_found(ref: Ref) -> str:
    """That an object is not there, as kubectl says it, and where it was looked for."""
    group = f".{ref.kind.group}" if ref.kind.group else ""
    where = f" in namespace {ref.namespace}" if ref.kind.namespaced else ""
    return f'{ref.kind.plural}{group} "{ref.name}" not found{where}'


# -- workloads ------------------------------------------------------------------------------------

NAME_ONE = "name one workload: NAME, NAMESPACE/NAME, mwrs NAME, or cma NAME"


def workload_of(
    words: tuple[str, ...], namespace: str, chosen: Options | None = None
) -> tuple[Ref, tuple[str, ...]]:
    """The workload that the first words name, and the words after it.

    A name alone is looked up on the hub that the options name (those of the command that is running,
    where ``chosen`` is None). Raises: UsageError, Stop where there is no workload of that name.
    """
    if not words:
        raise click.UsageError(NAME_ONE)
    kind_word, slash, name = words[0].partition("/")
    if _is_name(words):
        return _found_by_name(words[0], namespace, chosen or options()), words[1:]
    kind = _workload_kind(kind_word)
    if slash and (not name or "/" in name):
        raise click.UsageError(f"{words[0]!r} is not KIND/NAME; {NAME_ONE}")
    if slash:
        return ref_named(kind, name, namespace), words[1:]
    if len(words) < 2:
        raise click.UsageError(NAME_ONE)
    return ref_named(kind, words[1], namespace), words[2:]


def _is_name(words: tuple[str, ...]) -> bool:
    """Whether the first word is no kind, nor one that is nearly typed as one before a name."""
    word = words[0].partition("/")[0]
    if find(word.partition(".")[0]) is not None:
        return False
    return len(words) == 1 or "/" in words[0] or _nearest_kind(word) == ""


def _found_by_name(word: str, namespace: str, chosen: Options) -> Ref:
    """The one workload, of any kind, that is called so. Raises: UsageError, Stop."""
    before, _, name = word.rpartition("/")
    if before and namespace not in ("", before):
        raise click.UsageError(
            f"{word!r} is not in namespace {namespace}: leave out one of the two"
        )
    place = before or namespace
    with open_hub(chosen) as (hub, _):
        found = [
            ref_of(kind, obj)
            for kind in WORKLOADS
            for obj in _listed(hub, kind)
            if obj["metadata"]["name"] == name
            and (not place or obj["metadata"].get("namespace") == place)
        ]
    if len(found) > 1:
        named = " or ".join(f"{ref.kind.short[0]} {ref.key}" for ref in found)
        raise click.UsageError(f"there are several workloads {word!r}: name {named}")
    if not found:
        where = f" in namespace {place}" if place else ""
        raise Stop(1, f"there is no workload {name!r}{where}; `rollout list -A` shows all")
    return found[0]


def _listed(hub: EmbeddedHub, kind: Kind) -> tuple[Obj, ...]:
    """The objects of a kind; none where the hub does not know the kind."""
    try:
        return hub.list(kind).items
    except NotServed:
        return ()


def _nearest_kind(word: str) -> str:
    return nearest(word, (name for kind in WORKLOADS for name in (*kind.short, kind.plural))) or ""


def _workload_kind(word: str) -> Kind:
    """The kind of workload of this name. Raises: UsageError."""
    kind = find(word.partition(".")[0])
    if kind is None:
        meant = _nearest_kind(word)
        hint = f"did you mean {meant}? " if meant else ""
        raise click.UsageError(f"{word!r} is no kind of workload; {hint}{NAME_ONE}")
    if kind not in WORKLOADS:
        kinds = " or a ".join(each.name for each in WORKLOADS)
        raise click.UsageError(
            f"a {kind.name} is no workload: name a {kinds} (mwrs NAME, cma NAME)"
        )
    return kind


def only_workload(words: tuple[str, ...], namespace: str) -> Ref:
    """The workload that the words name, where they name nothing else. Raises: UsageError."""
    ref, more = workload_of(words, namespace)
    if more:
        raise click.UsageError(f"name one workload, and nothing after it: not {' '.join(more)}")
    return ref


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
        chosen = ctx.ensure_object(Options)
        ref, _ = workload_of(words, ctx.params.get("namespace") or "", chosen)
        with open_hub(chosen) as (hub, _):
            obj: Obj = hub.get(ref)
    except (RolloutError, click.UsageError):
        return None
    return read_intents(mapping(obj["metadata"].get("annotations")))
