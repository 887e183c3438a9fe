"""Which objects does `mwrs web`, `placements,mwrs` or `mwrs/web` mean?"""

from collections.abc import Sequence
from dataclasses import dataclass

import click

from rollout.cli.options import known_kinds
from rollout.model.kinds import KINDS, Kind, Ref, find, key_of
from rollout.model.spelling import nearest

DEFAULT_NAMESPACE = "default"


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
        meant = nearest(word, names)
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
