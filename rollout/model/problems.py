"""What is wrong with an input: the field, the value, and what is accepted there."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


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
        if self.value is None:
            return "is missing"
        shown = repr(self.value)
        return f"{shown[:77] + '...' if len(shown) > 80 else shown} is not valid"

    def __str__(self) -> str:
        colon = "" if self.value is None else ":"
        return f"{self.path}{colon} {self.fault}: {self.accepted}"


def joined(problems: Sequence[Problem], most: int = 5) -> str:
    """All problems in one line, the first ``most`` in full."""
    text = "; ".join(str(p) for p in problems[:most])
    return f"{text}; and {len(problems) - most} more" if len(problems) > most else text
