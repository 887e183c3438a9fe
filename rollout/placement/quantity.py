"""Kubernetes quantities such as 500m, 32Gi and 1e3, read exactly.

A quantity is mantissa * 10**exponent with whole numbers, so it is exact until somebody asks for a
float. The float is computed in a fixed order of steps, because scores must be OCM's to the last bit.
Longer texts than 64 characters and numbers beyond 10**99 are refused: every quantity has a finite float.
Source: Kubernetes' serialisation format of quantities; OCM placement spec 2.9.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

_FORM = re.compile(
    r"\A([+-]?)([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:([EPTGMK]i|[numkMGTPE]?)|[eE]([+-]?[0-9]{1,3}))\Z",
    re.ASCII,
)
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_FINEST = -9
_LARGEST = 2**63 - 1
_LONGEST = 64
_GREATEST_POWER = 99
"""Far beyond what Kubernetes keeps, and far within what a float can hold."""


@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """``mantissa * 10**exponent``; compares by value, whatever the form."""

    mantissa: int
    exponent: int = 0

    def _aligned(self, other: "Quantity") -> tuple[int, int, int]:
        low = min(self.exponent, other.exponent)
        return (
            self.mantissa * 10 ** (self.exponent - low),
            other.mantissa * 10 ** (other.exponent - low),
            low,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.compare(other) == 0

    def __hash__(self) -> int:
        nano = self.mantissa * 10 ** (self.exponent - _FINEST)
        return hash(nano)

    def compare(self, other: "Quantity") -> int:
        """-1, 0 or 1."""
        mine, theirs, _ = self._aligned(other)
        return (mine > theirs) - (mine < theirs)

    def plus(self, other: "Quantity") -> "Quantity":
        mine, theirs, low = self._aligned(other)
        return Quantity(mine + theirs, low)

    def minus(self, other: "Quantity") -> "Quantity":
        return self.plus(Quantity(-other.mantissa, other.exponent))

    def as_float(self) -> float:
        return float(self.mantissa) * float(f"1e{self.exponent}")

    def as_integer(self) -> int | None:
        """The whole number, or None where it is none or needs more than 64 bits."""
        if self.exponent >= 0:
            whole, rest = self.mantissa * 10**self.exponent, 0
        else:
            whole, rest = divmod(self.mantissa, 10**-self.exponent)
        return whole if rest == 0 and -_LARGEST - 1 <= whole <= _LARGEST else None

    @property
    def sign(self) -> int:
        return (self.mantissa > 0) - (self.mantissa < 0)


def parse_quantity(text: str) -> Quantity | None:
    """None where ``text`` is not a quantity. Finer than 1n is rounded up, away from zero."""
    return _parsed(text) if len(text) <= _LONGEST else None


@lru_cache(maxsize=16_384)
def _parsed(text: str) -> Quantity | None:
    match = _FORM.match(text)
    if match is None:
        return None
    sign, digits, suffix, power = match.groups()
    whole, _, fraction = digits.partition(".")
    mantissa = int(whole + fraction)
    exponent = -len(fraction)
    if power is not None:
        exponent += int(power)
    elif suffix in _BINARY:
        mantissa <<= _BINARY[suffix]
    else:
        exponent += _DECIMAL[suffix]
    if exponent > _GREATEST_POWER:
        return None
    if exponent < _FINEST:
        mantissa = -(-mantissa // 10 ** (_FINEST - exponent))
        exponent = _FINEST
    return Quantity(-mantissa if sign == "-" else mantissa, exponent)


def as_float(text: str) -> float | None:
    """The quantity as a 64-bit float, or None where ``text`` is none."""
    quantity = parse_quantity(text)
    return None if quantity is None else quantity.as_float()
