"""Keeps the log still while thousands of histories run: they tell more than anybody reads."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def silence() -> Iterator[None]:
    """No module logs anything meanwhile."""
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
