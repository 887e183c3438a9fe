"""How fast can this client write ManifestWorks at all? A loop that does nothing else.

``python -m benchmarks.kube.bare KUBECONFIG NAME COUNT AT_ONCE VERSION``, a process of its own like the
controller. The first version is created, each later one is patched into the works that are there.
"""

import asyncio
import json
import sys
import time
from pathlib import Path

from benchmarks.kube import fleet
from benchmarks.kube.client import MERGE_PATCH, Client, each
from rollout.hub.kube_objects import path_of
from rollout.model.kinds import MANIFEST_WORK


async def run(
    kubeconfig: Path, name: str, count: int, at_once: int, version: str
) -> dict[str, float]:
    """Returns: when it began, on `time.perf_counter`; the seconds and CPU seconds that it took."""
    client = await Client.open(kubeconfig)

    async def create(cluster: str) -> None:
        await client.send("POST", path_of(MANIFEST_WORK, cluster), fleet.bare_work(cluster, name))

    async def change(cluster: str) -> None:
        patch = {"spec": fleet.template(version)}
        await client.send("PATCH", path_of(MANIFEST_WORK, cluster, name), patch, MERGE_PATCH)

    began = time.perf_counter(), time.process_time()
    await each(fleet.cluster_names(count), create if version == "1" else change, at_once)
    ended = time.perf_counter(), time.process_time()
    await client.close()
    return {"began": began[0], "seconds": ended[0] - began[0], "cpu": ended[1] - began[1]}


if __name__ == "__main__":
    where, what, how_many, parallel, template = sys.argv[1:]
    found = run(Path(where), what, int(how_many), int(parallel), template)
    print(json.dumps(asyncio.run(found)))
