"""Finds the labels and claims of a cluster that an expression reads.

Clusters are many, and the labels that a rule reads have few values: what an expression gave for one cluster
it gives for each other one in which it reads the same.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from rollout.placement.cel import parsing as tree

Read = tuple[str, str]
"""``labels`` or ``claims``, and the key in it."""

_MAPS = frozenset({"labels", "claims"})
"""Maps of a cluster that hold strings alone: what is equal there is the same."""
_AT = frozenset({"_[_]", "_[?_]", "_?._"})
"""Calls that read one element of a map."""


def reads_of(root: tree.Node) -> tuple[Read, ...] | None:
    """All that the expression may read of the variable ``cluster``; None where it may read other things,
    such as its name, a whole map of it, or a key that the expression makes.
    """
    found: set[Read] = set()
    for read in _reads(root):
        if read is None:
            return None
        found.add(read)
    return tuple(sorted(found))


def read_from(cluster: Mapping[str, Any], reads: tuple[Read, ...]) -> tuple[str | None, ...]:
    """The values of these labels or claims, in this order; None where the cluster lacks one.

    Args: cluster: as expressions see it.
    """
    return tuple([cluster[which].get(key) for which, key in reads])


def _reads(node: tree.Node) -> Iterator[Read | None]:
    read = _one(node)
    if read is not None:
        yield read
    elif isinstance(node, tree.Ident) and node.name == "cluster":
        yield None
    else:
        for child in tree.children(node):
            yield from _reads(child)


def _one(node: tree.Node) -> Read | None:
    """The label or the claim, where the node reads nothing else."""
    match node:
        case tree.Select(tree.Select(tree.Ident("cluster"), which, False), key):
            pass
        case tree.Call(
            function, (tree.Select(tree.Ident("cluster"), which, False), tree.Const(key))
        ) if function in _AT:
            pass
        case tree.Call("@in", (tree.Const(key), tree.Select(tree.Ident("cluster"), which, False))):
            pass
        case _:
            return None
    return (which, key) if which in _MAPS and isinstance(key, str) else None
