"""How fast can this client create ManifestWorks at all? A loop that does nothing else.

``python -m benchmarks.kube.bare KUBECONFIG COUNT AT_ONCE``, a process of its own like the controller.
"""

import asyncio
import json
import sys
import time
from pathlib import Path

from benchmarks.kube import fleet
from benchmarks.kube.client import Client, each
from rollout.hub.kube_objects import path_of
from rollout.model.kinds import MANIFEST_WORK


async def run(kubeconfig: Path, count: int, at_once: int) -> dict[str, float]:
    client = await Client.open(kubeconfig)

    async def create(cluster: str) -> None:
        await client.send("POST", path_of(MANIFEST_WORK, cluster), fleet.bare_work(cluster))

    began = time.perf_counter(), time.process_time()
    await each(fleet.cluster_names(count), create, at_once)
    ended = time.perf_counter(), time.process_time()
    await client.close()
    return {"seconds": ended[0] - began[0], "cpu": ended[1] - began[1]}


if __name__ == "__main__":
    found = run(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
    print(json.dumps(asyncio.run(found)))
