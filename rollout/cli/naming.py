"""Which objects does `mwrs web`, `placements,mwrs` or `mwrs/web` mean?"""

from collections.abc import Sequence
from dataclasses import dataclass

import click

from rollout.cli.options import known_kinds
from rollout.model.kinds import Kind, Ref, find, key_of

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
                f"{plain!r} stands beside {slashed[0]!r}: write KIND/NAME for each"
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
        raise click.UsageError(f"there is no kind {word!r}; {known_kinds()}")
    return kind


def not_found(ref: Ref) -> str:
    """That an object is not there, as kubectl says it, and where it was looked for."""
    group = f".{ref.kind.group}" if ref.kind.group else ""
    where = f" in namespace {ref.namespace}" if ref.kind.namespaced else ""
    return f'{ref.kind.plural}{group} "{ref.name}" not found{where}'
