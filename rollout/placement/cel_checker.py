"""Is this text a CEL expression, and of which type? The one module that asks the CEL library.

It is imported with the first expression that somebody writes: the library takes ten megabytes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from cel_expr_python import cel
from cel_expr_python.ext import ext_optional

from rollout.placement.cel_functions import Function
from rollout.placement.cel_kube import KINDS

_PLAIN = {
    "bool": cel.Type.BOOL,
    "bytes": cel.Type.BYTES,
    "double": cel.Type.DOUBLE,
    "duration": cel.Type.DURATION,
    "dyn": cel.Type.DYN,
    "int": cel.Type.INT,
    "string": cel.Type.STRING,
    "timestamp": cel.Type.TIMESTAMP,
    "uint": cel.Type.UINT,
}


@dataclass(frozen=True, slots=True)
class Checked:
    """What the library says: a problem in words, or the checked tree (its wire form).

    ``boolean`` is False where the expression can never be a bool.
    """

    problem: str | None
    tree: bytes = b""
    boolean: bool = True


class Checker:
    """The library's environment: the variable ``managedCluster``, and functions beside CEL's own."""

    def __init__(self, declared: Sequence[Function], cluster: str) -> None:
        overloads: dict[str, list[Any]] = {}
        for i, row in enumerate(declared):
            overloads.setdefault(row.name, []).append(
                cel.Overload(
                    f"{row.name}_{i}", _type(row.result), [_type(p) for p in row.params], row.member
                )
            )
        self._environment = cel.NewEnv(
            variables={"managedCluster": _type(cluster)},
            extensions=[ext_optional.ExtOptional()],
            functions=[cel.FunctionDecl(name, each) for name, each in overloads.items()],
        )

    @staticmethod
    @lru_cache(maxsize=1)
    def of(declared: tuple[Function, ...], cluster: str) -> "Checker":
        """The checker with these declarations, made once."""
        return Checker(declared, cluster)

    def check(self, text: str) -> Checked:
        try:
            expression = self._environment.compile(text)
        except (RuntimeError, ValueError) as error:
            words = str(error).removesuffix(" [INVALID_ARGUMENT]")
            return Checked(words.removeprefix("INVALID_ARGUMENT: "))
        boolean = expression.return_type() in (cel.Type.BOOL, cel.Type.DYN)
        return Checked(None, expression.serialize(), boolean)


def _type(text: str) -> Any:
    """The checker's type of a type as our tables write it."""
    if text in _PLAIN:
        return _PLAIN[text]
    if text in KINDS:
        return cel.Type.AbstractType(text)
    head, _, inner = text.removesuffix(")").partition("(")
    if head == "list":
        return cel.Type.List(_type(inner))
    key, _, value = inner.partition(", ")
    return cel.Type.Map(_type(key), _type(value))
