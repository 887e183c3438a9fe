"""Which signs can be written here? Those of Unicode, or for each of them one of ASCII."""

import codecs
import os
import sys
from io import TextIOWrapper
from typing import TextIO

ASCII_VARIABLE = "ROLLOUT_ASCII"
_SIGNS = "✔✖◌◷॥‖⚠•⟳□▫├└│─…█░▁▂▃▄▅▆▇"
_PLAIN = str.maketrans(_SIGNS, "+xo~==!.@#:|`|-.#..,:;-=*")
_HANDLER = "rollout.signs"


def in_ascii(text: str) -> str:
    """The text with our signs in ASCII, one for one, so that columns stay."""
    return text.translate(_PLAIN)


def is_ascii(stream: TextIO) -> bool:
    """Whether signs must be ASCII: where it is asked for, or the stream cannot write others."""
    if os.environ.get(ASCII_VARIABLE):
        return True
    try:
        _SIGNS.encode(getattr(stream, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return True
    return False


def fit(*streams: TextIO) -> None:
    """Let streams write ASCII for what their encoding lacks, rather than fail."""
    codecs.register_error(_HANDLER, _replaced)
    for stream in streams:
        if isinstance(stream, TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors=_HANDLER)


def _replaced(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    wanted = in_ascii(error.object[error.start : error.end])
    return "".join(sign if sign.isascii() else "?" for sign in wanted), error.end


def fit_output() -> None:
    """As `fit`, for what this process prints."""
    fit(sys.stdout, sys.stderr)
