"""Which containers does a containerID mean? The one module of templates that asks RE2.

Source: OCM add-on template spec 2.9, semantics row T24.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import re2

_MEMORY = 1 << 20
"""Bytes that a compiled expression may take: compiling it is a matter of milliseconds then."""


def is_meant(wanted: str, own: Iterable[str]) -> bool:
    """Whether the container is the one that is meant: part by part, with ``*`` for any text."""
    return all(
        _pattern(".*".join(re2.escape(piece) for piece in part.split("*"))).fullmatch(text)
        for part, text in zip(wanted.split(":"), own, strict=True)
    )


def matches_as_ocm(wanted: str, own: Iterable[str]) -> bool:
    """As OCM does: the parts are an expression as they stand, and one that is none matches nothing."""
    pattern = ":".join(".+" if part == "*" else part for part in wanted.split(":"))
    try:
        return _pattern(f"^{pattern}$").search(":".join(own)) is not None
    except re2.error:
        return False


@lru_cache(maxsize=1024)
def _pattern(text: str) -> Any:
    """RE2 is linear in the text, whatever the expression is. Raises: re2.error."""
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    return re2.compile(text, options=options)
