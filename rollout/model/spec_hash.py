"""OCM's hash of a configuration object's spec, bit for bit.

SHA-256 over Go's JSON encoding of the object without ``apiVersion``, ``kind``, ``metadata`` and
``status``: keys in byte order, no blanks, ``<``, ``>``, ``&``, U+2028 and U+2029 escaped, integers of
64 bits as they are, all other numbers as Go writes a float64. Source: OCM add-on spec 2.3.
"""

import hashlib
import math
import re
from decimal import Decimal
from typing import Any

from rollout.model.kinds import Obj
from rollout.model.problems import TOO_DEEP

LEFT_OUT = frozenset({"apiVersion", "kind", "metadata", "status"})

_SHORT = {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
}
_SPECIAL = re.compile('["\\\\\x00-\x1f<>&\u2028\u2029\ud800-\udfff]')
_INT64 = 2**63


def spec_hash(obj: Obj) -> str:
    """The hash of a configuration object, in lower-case hex.

    Raises: TypeError for a value that no JSON parser makes, and where a field could not be read
    (`TOO_DEEP`); RecursionError for hundreds of levels.
    """
    content = {key: value for key, value in obj.items() if key not in LEFT_OUT}
    if TOO_DEEP in content.values():
        raise TypeError(TOO_DEEP)
    return hashlib.sha256(go_json(content).encode()).hexdigest()


def go_json(value: Any) -> str:
    """The value as Go's encoding/json writes it. Raises: TypeError, RecursionError."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return _text(value)
        case int():
            fits = -_INT64 <= value < _INT64
            return str(value) if fits else _number(float(value))
        case float():
            return _number(value)
        case list():
            return "[" + ",".join(map(go_json, value)) + "]"
        case dict():
            return _object(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def _object(value: Obj) -> str:
    # Code points sort as their UTF-8 bytes do, but for lone surrogates, which Go reads as U+FFFD.
    whole = {_without_surrogates(key): item for key, item in value.items()}
    return "{" + ",".join(f"{_text(key)}:{go_json(whole[key])}" for key in sorted(whole)) + "}"


def _without_surrogates(text: str) -> str:
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def _text(text: str) -> str:
    return f'"{_SPECIAL.sub(_escaped, text)}"'


def _escaped(match: re.Match[str]) -> str:
    char = match[0]
    if "\ud800" <= char <= "\udfff":
        return "\ufffd"
    return _SHORT.get(char) or f"\\u{ord(char):04x}"


def _number(value: float) -> str:
    """As Go's strconv does: shortest digits, an exponent below 1e-6 and from 1e21 on."""
    if not math.isfinite(value):
        raise TypeError(f"{value} is not JSON")
    size = abs(value)
    if size != 0 and (size < 1e-6 or size >= 1e21):
        digits, _, exponent = f"{value!r}".partition("e")
        if not exponent:
            digits, _, exponent = f"{Decimal(repr(value)):e}".partition("e")
        digits = digits.removesuffix(".0")
        sign, power = ("-", exponent[1:]) if exponent[0] == "-" else ("+", exponent.lstrip("+"))
        power = power.lstrip("0")
        return f"{digits}e{sign}{power if sign == '-' else power.rjust(2, '0')}"
    text = format(Decimal(repr(value)), "f")
    return text.removesuffix(".0")
