"""What is wrong with an input: the field, the value, and what is accepted there."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

TOO_DEEP = "nested too deeply to be read: write it with fewer levels"
"""Stands for a field of a stored object that cannot be read, where an object is expected."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One bad field. ``path`` is as in ``spec.placementRefs[0].rolloutStrategy.progressive.maxFailures``.

    ``value`` is None where the field is absent or null.
    """

    path: str
    value: Any
    accepted: str

    @property
    def fault(self) -> str:
        """What is wrong, without the field and what is accepted."""
        return (
            "is missing" if self.value is None else f"{_shown(self.path, self.value)} is not valid"
        )

    def __str__(self) -> str:
        colon = "" if self.value is None else ":"
        return f"{self.path}{colon} {self.fault}: {self.accepted}"


def _shown(path: str, value: Any) -> str:
    """The value, cut to 80 characters; what may hold the data of a Secret is only named."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        return "a list"
    if "workload.manifests" in path or path.endswith("workload") or path == "(document)":
        return "a string" if isinstance(value, str) else "a value"
    shown = repr(value)
    return shown[:77] + "..." if len(shown) > 80 else shown


def joined(problems: Sequence[Problem], most: int = 5) -> str:
    """All problems in one line, the first ``most`` in full."""
    text = "; ".join(str(p) for p in problems[:most])
    return f"{text}; and {len(problems) - most} more" if len(problems) > most else text
