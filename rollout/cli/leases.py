"""Reads from the Lease which controller leads."""

from datetime import datetime, timedelta

from rollout.model.instants import parse_instant
from rollout.model.kinds import Obj

LEASE_SECONDS = 15
"""How long a Lease lasts that does not say it."""


def leader(lease: Obj, now: datetime) -> str:
    """Who leads by it; "" where it was let go, or was renewed last longer ago than twice its length."""
    spec = lease.get("spec") or {}
    renewed = parse_instant(spec.get("renewTime"))
    length = timedelta(seconds=spec.get("leaseDurationSeconds") or LEASE_SECONDS)
    alive = renewed is not None and now < renewed + 2 * length
    return str(spec.get("holderIdentity") or "") if alive else ""
