"""Instants, as the judge reads them."""

from datetime import datetime


def instant(text: object) -> datetime | None:
    """As objects say it, in UTC; None where they say none."""
    return datetime.fromisoformat(text) if isinstance(text, str) else None
