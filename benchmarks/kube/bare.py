"""How fast can the engine's client write ManifestWorks at all? A loop that does nothing else.

``python -m benchmarks.kube.bare KUBECONFIG NAME COUNT AT_ONCE VERSION [watching]``, a process of its own
like the controller. The first version is created, each later one is patched into the works that are
there. ``watching``: it also has the watch of works open that no controller can do without, and reads
what comes, for nothing.
"""

import json
import sys
import time

from benchmarks.kube import fleet
from benchmarks.kube.client import each
from rollout.hub.kube import KubeHub
from rollout.hub.kube_access import Access
from rollout.model.kinds import MANIFEST_WORK, Ref

PATIENCE_SECONDS = 600.0
TURN_SECONDS = 0.01


def run(
    kubeconfig: str, name: str, count: int, at_once: int, version: str, *, watching: bool
) -> dict[str, float]:
    """Returns: when it began, on `time.perf_counter`; the seconds and CPU seconds that it took."""
    hub = KubeHub(Access(kubeconfig))
    if watching:
        hub.watch(MANIFEST_WORK, hub.list(MANIFEST_WORK).version, lambda _: None)
        while not hub.is_watching():
            time.sleep(TURN_SECONDS)

    async def create(cluster: str) -> None:
        work = fleet.bare_work(cluster, name)
        await hub.calls.create(Ref(MANIFEST_WORK, f"{cluster}/{name}"), work)

    async def change(cluster: str) -> None:
        patch = {"spec": fleet.template(version)}
        await hub.calls.patch(Ref(MANIFEST_WORK, f"{cluster}/{name}"), patch)

    loop = each(fleet.cluster_names(count), create if version == "1" else change, at_once)
    began = time.perf_counter(), time.process_time()
    hub.session.run(loop, PATIENCE_SECONDS)
    ended = time.perf_counter(), time.process_time()
    hub.close()
    return {"began": began[0], "seconds": ended[0] - began[0], "cpu": ended[1] - began[1]}


if __name__ == "__main__":
    where, what, how_many, parallel, template, *more = sys.argv[1:]
    watches = more == ["watching"]
    found = run(where, what, int(how_many), int(parallel), template, watching=watches)
    print(json.dumps(found))
