"""Does this text have the form of a name, a label, a URI, a UUID, a date?

Source: the Kubernetes documentation of the CEL format library; the rules for names are those of
Kubernetes' API conventions.
"""

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from urllib.parse import urlsplit

from rollout.model.instants import parse_instant
from rollout.model.selectors import is_label_key, is_label_value

_LABEL_1123 = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_SUBDOMAIN = re.compile(
    r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII
)
_LABEL_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_UUID = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Format:
    """A named format; ``accepted`` says what it wants."""

    name: str
    accepted: str
    fits: Callable[[str], bool]

    def complaints(self, text: str) -> list[str]:
        """What is wrong with the text; empty where it fits."""
        return [] if self.fits(text) else [f"Invalid value: {self.accepted}"]


def _within(pattern: re.Pattern[str], most: int, *, prefix: bool = False) -> Callable[[str], bool]:
    """``prefix``: a trailing dash is cut off, since something will be put behind it."""

    def fits(text: str) -> bool:
        body = text.removesuffix("-") if prefix else text
        return len(text) <= most and pattern.fullmatch(body) is not None

    return fits


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return len(text) == 10


def _is_uri(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme) or text.startswith("/")


def _is_instant(text: str) -> bool:
    return "T" in text and parse_instant(text) is not None


FORMATS: dict[str, Format] = {
    each.name: each
    for each in (
        Format("dns1123Label", "a lowercase RFC 1123 label", _within(_LABEL_1123, 63)),
        Format("dns1123Subdomain", "a lowercase RFC 1123 subdomain", _within(_SUBDOMAIN, 253)),
        Format("dns1035Label", "an RFC 1035 label", _within(_LABEL_1035, 63)),
        Format(
            "dns1123LabelPrefix",
            "the beginning of a lowercase RFC 1123 label",
            _within(_LABEL_1123, 63, prefix=True),
        ),
        Format(
            "dns1123SubdomainPrefix",
            "the beginning of a lowercase RFC 1123 subdomain",
            _within(_SUBDOMAIN, 253, prefix=True),
        ),
        Format(
            "dns1035LabelPrefix",
            "the beginning of an RFC 1035 label",
            _within(_LABEL_1035, 63, prefix=True),
        ),
        Format("qualifiedName", "a label key: [prefix/]name", is_label_key),
        Format("labelValue", "a label value", is_label_value),
        Format("uri", "a URI", _is_uri),
        Format("uuid", "a UUID", lambda text: _UUID.fullmatch(text) is not None),
        Format("byte", "base64", _is_base64),
        Format("date", "a date such as 2026-01-31", _is_date),
        Format("datetime", "an instant such as 2026-01-31T12:00:00Z", _is_instant),
    )
}
