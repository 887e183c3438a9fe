"""Tells a person on a terminal, after a second, that a command is still at work.

What it says is taken away again before anything else is printed, and goes into no pipe and no file.
"""

import contextlib
import logging
import sys
import threading
from collections.abc import Callable
from typing import TextIO

_ERASED = "\r\x1b[K"


class Patience:
    """One line on a terminal that counts the seconds, until `end`."""

    def __init__(self, command: str, out: TextIO, second: float = 1.0) -> None:
        self._command, self._out, self._second = command, out, second
        self.reached = ""
        """How far the command is, in a few words."""
        self._over = threading.Event()
        self._shown = False
        self._thread = threading.Thread(target=self._count, name="patience", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Take the line away, if there is one. Called again, it does nothing."""
        if self._over.is_set():
            return
        self._over.set()
        self._thread.join()
        if self._shown:
            self._write(_ERASED)

    def _count(self) -> None:
        seconds = 0
        while not self._over.wait(self._second):
            seconds += 1
            if logging.getLogger().isEnabledFor(logging.INFO):
                continue  # a log runs over the terminal
            self._shown = True
            so_far = f"{seconds} s, {self.reached}" if self.reached else f"{seconds} s"
            self._write(f"{_ERASED}rollout {self._command}: working ({so_far})")

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # a terminal that went away is no failure
            self._out.write(text)
            self._out.flush()


_running: list[Patience] = []
"""Of the command that runs, while it has printed nothing."""


def at_work(command: str) -> None:
    """The command begins; nothing is said where nobody watches."""
    if sys.stderr.isatty():
        _running.append(Patience(command, sys.stderr))


def reached(text: str) -> None:
    """The command has come so far: ``at 00:20:11``."""
    for patience in _running:
        patience.reached = text


def printing() -> None:
    """Something is printed now, or the command has ended."""
    while _running:
        _running.pop().end()


PAUSE_SECONDS = 0.25  # between two looks at what other processes wrote


def pauses(seconds: float = PAUSE_SECONDS) -> Callable[[], bool]:
    """A pause to call between two looks; it is always True: look again."""
    never = threading.Event()
    return lambda: not never.wait(seconds)
