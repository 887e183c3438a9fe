"""What do agents say of the manifests on the clusters that fail? One sentence for a person to begin with."""

from collections.abc import Iterable, Mapping

from rollout.planning.facts import Decided
from rollout.planning.views import Workload
from rollout.strategies.base import Health, Verdict


def fault_on(workload: Workload, clusters: Iterable[str]) -> str:
    """What the first of these says of its manifests, and how many others say something; "" for none."""
    saying = sorted(cluster for cluster in clusters if cluster in workload.faulty)
    work = workload.work(saying[0]) if saying else None
    if work is None:
        return ""
    others = len(saying) - 1
    more = f" (and {others} more clusters)" if others else ""
    return f"{work.cluster}: {'; '.join(work.faults)}{more}"


def failing(workload: Workload, decided: Mapping[str, Decided]) -> Iterable[str]:
    """The clusters among the faulty ones that fail, or have failed. Cost: O(faulty clusters).

    Args:
        decided: what is decided now, by placement.
    """
    for cluster in workload.faulty:
        owner = workload.members.get(cluster)
        standing = decided[owner].standing(cluster) if owner is not None else None
        if standing is not None and (
            standing.health is Health.FAILED or standing.verdict is Verdict.FAILED
        ):
            yield cluster
