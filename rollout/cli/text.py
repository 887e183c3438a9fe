"""Writes text for people: signs and lines, for every command.

Text passes through `say`, where what steers a terminal is shown instead (`harmless`), sign for sign, so
that columns stay. JSON and YAML are for programs, and have ways of their own to write such characters:
`put` leaves them alone.
"""

import codecs
import os
import shutil
import sys
import textwrap
from collections.abc import Sequence
from io import TextIOWrapper
from typing import TextIO

import click

from rollout.account.words import harmless
from rollout.cli.patience import printing

# -- lines ----------------------------------------------------------------------------------------


def say(line: str = "", *, err: bool = False) -> None:
    """Print one line."""
    printing()
    click.echo(harmless(line), err=err)


def put(document: str) -> None:
    """Print a document as it is: JSON, YAML, a help page."""
    printing()
    click.echo(document)


_NARROWEST = 20


def facts(pairs: Sequence[tuple[str, str]], indent: str = "") -> list[str]:
    """Key and value in two columns; nothing is said of an empty value."""
    told = [(key, text) for key, text in pairs if text]
    width = max((len(key) for key, _ in told), default=0) + 1
    return [line for key, text in told for line in hanging(f"{indent}{key + ':':<{width}}  ", text)]


def hanging(lead: str, text: str) -> list[str]:
    """The text behind its lead; in a terminal that is too narrow for it, on several lines."""
    room = shutil.get_terminal_size().columns - len(lead)
    if not sys.stdout.isatty() or room < _NARROWEST or len(text) <= room:
        return [lead + text]
    first, *rest = textwrap.wrap(text, room, break_on_hyphens=False)
    return [lead + first, *(" " * len(lead) + line for line in rest)]


# -- signs ----------------------------------------------------------------------------------------

ASCII_VARIABLE = "ROLLOUT_ASCII"
_SIGNS = "✔✖◌◷‖⚠•⟳□▫├└│─…█░▁▂▃▄▅▆▇"
_PLAIN = str.maketrans(_SIGNS, "+xo~=!.@#:|`|-.#..,:;-=*")
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
