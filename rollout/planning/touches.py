"""Why is this cluster touched? The word that the record keeps of every touch (O1)."""

from rollout.strategies.base import Standing, Verdict


def cause_of(before: Standing | None, revision: str) -> str:
    """The cause of a touch with ``revision``, from what was known of the cluster before."""
    if before is None:
        return "SlotFree"
    if before.revision == revision and before.verdict is Verdict.RETRY:
        return "Retry"
    return "Supersede"
