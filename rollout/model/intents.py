"""What does a person ask for by annotation, besides the spec?"""

from collections.abc import Mapping
from datetime import datetime

from rollout.model import names
from rollout.model.instants import parse_instant


def skipped_clusters(annotations: Mapping[str, str]) -> frozenset[str]:
    """The clusters that a person waived, from the annotation."""
    listed = annotations.get(names.SKIP, "")
    return frozenset(part.strip() for part in listed.split(",") if part.strip())


def is_paused(annotations: Mapping[str, str]) -> bool:
    return annotations.get(names.PAUSED) == "true"


def released_until(annotations: Mapping[str, str]) -> datetime | None:
    """Until when a person has released the removals that the brake would hold."""
    return parse_instant(annotations.get(names.RELEASE_REMOVALS))
