"""Would these files do what their author wants? Every error and warning at once, without a hub.

Only what stands in the files is known: what may exist elsewhere is a warning, never an error.
"""

from collections.abc import Iterable

from rollout.api.load import Loaded
from rollout.api.preflight.findings import Finding, Severity, World
from rollout.api.preflight.manifests import manifest_findings
from rollout.api.preflight.objects import object_findings
from rollout.api.preflight.placements import placement_findings
from rollout.api.preflight.progress import progress_findings
from rollout.api.preflight.rollouts import rollout_findings

_CHECKS = (
    object_findings,
    manifest_findings,
    progress_findings,
    rollout_findings,
    placement_findings,
)


def preflight(loaded: Loaded, namespace: str = "default") -> list[Finding]:
    """Every finding about a set of files: first what could not be read, then by object.

    Args:
        loaded: what `rollout.api.load` gave.
        namespace: the one of objects that name none.
    """
    world = World(loaded.documents, namespace)
    unread = [
        Finding(Severity.ERROR, e.source, "", "", e.message, "correct the text", -1)
        for e in loaded.errors
    ]
    return sorted(unread + list(_found(world)), key=lambda f: (f.index, f.severity.value))


def _found(world: World) -> Iterable[Finding]:
    for check in _CHECKS:
        yield from check(world)


__all__ = ["Finding", "Severity", "preflight"]
