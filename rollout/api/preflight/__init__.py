"""Finds every error and warning in a set of files at once, without a hub.

Only what stands in the files is known: what may exist elsewhere is a warning, and no error. But where they
have clusters, a skip or a hold of one that they do not have is an error: it would stop, or pass, nobody.
"""

from collections.abc import Callable, Iterable

from rollout.api.load import Loaded
from rollout.api.preflight.findings import Finding, Severity, World
from rollout.api.preflight.manifests import manifest_findings
from rollout.api.preflight.objects import object_findings
from rollout.api.preflight.placements import addon_findings, placement_findings
from rollout.api.preflight.progress import progress_findings
from rollout.api.preflight.rollouts import rollout_findings
from rollout.model.kinds import Obj

Check = Callable[[World], Iterable[Finding]]
_CHECKS: tuple[Check, ...] = (
    object_findings,
    manifest_findings,
    progress_findings,
    rollout_findings,
    placement_findings,
    addon_findings,
)


def preflight(
    loaded: Loaded,
    namespace: str = "default",
    further: Iterable[Check] = (),
    context: Iterable[Obj] = (),
    *,
    more_clusters: bool = False,
) -> list[Finding]:
    """Every finding about a set of files: first what could not be read, then by object.

    Args:
        loaded: what `rollout.api.load` gave.
        namespace: the one of objects that name none.
        further: checks that take more than the wire shapes; `rollout.analysis.inspection` has them.
        context: objects that are there beside those of the files; nothing is found about these.
        more_clusters: a skip or a hold may name clusters that are known nowhere here.
    """
    world = World(loaded.documents, namespace, context, more_clusters=more_clusters)
    unread = [
        Finding(
            severity=Severity.ERROR,
            source=e.source,
            object="",
            path="",
            message=e.message,
            remedy=e.remedy,
            index=-1,
        )
        for e in loaded.errors
    ]
    found = [
        finding
        for check in (*_CHECKS, *further)
        for finding in check(world)
        if finding.index < len(loaded.documents)
    ]
    return sorted(unread + found, key=lambda f: (f.index, f.severity.value))


__all__ = ["Check", "Finding", "Severity", "preflight"]
