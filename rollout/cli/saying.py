"""How does a line reach a person as that one line, whatever an object has in it?

Messages, reasons and names are what others wrote: an escape sequence in them could wipe out or repaint
what was printed before, a line break could forge a line (as CVE-2021-25743 of kubectl). So text passes
through here, where what steers a terminal is shown instead, sign for sign, so that columns stay. JSON
and YAML are for programs, and have ways of their own to write such characters: `put` leaves them alone.
"""

import click

_REPLACEMENT = "�"
_STEERING = {
    **{code: chr(0x2400 + code) for code in range(0x20) if code != ord("\t")},
    0x7F: "␡",
    **dict.fromkeys(range(0x80, 0xA0), _REPLACEMENT),
    **dict.fromkeys((0x2028, 0x2029), "␤"),  # line and paragraph separators
    **dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), _REPLACEMENT),  # direction
}


def harmless(text: str) -> str:
    """The text with all that steers a terminal made visible: ESC is ``␛``, a line break ``␊``."""
    return text.translate(_STEERING)


def say(line: str = "", *, err: bool = False) -> None:
    """Print one line."""
    click.echo(harmless(line), err=err)


def put(document: str) -> None:
    """Print a document as it is: JSON, YAML, a help page."""
    click.echo(document)
