"""What do values of single clusters cost? 10,000 clusters, ten rules, 50 distinct contents.

``once`` is the time until every cluster is rendered for the first time and the rollout has agreed on what each
is to carry; ``relabel`` that from the event of one cluster with another label to the same; ``memory`` how much
more the process holds for it, of what it held without values.
"""

import gc
import tracemalloc
from collections.abc import Iterator
from typing import Any

from benchmarks.figures import Figure, fastest
from benchmarks.terms import NOW, WEB, Hub
from rollout.fleet.replicasets import ReplicaSets
from rollout.model.kinds import CLUSTER_VALUES, MANAGED_CLUSTER

SIZE, RULES, CONTENTS = 10_000, 10, 50
ONCE, RELABEL, MEMORY = 1_000.0, 5.0, 20.0  # ms, ms, percent


def cluster(number: int, tier: int) -> dict[str, Any]:
    return {
        "apiVersion": MANAGED_CLUSTER.api_version,
        "kind": MANAGED_CLUSTER.name,
        "metadata": {"name": f"cluster-{number:06d}", "labels": {"tier": f"t{tier}"}},
        "spec": {"hubAcceptsClient": True},
    }


def values(edition: int) -> dict[str, Any]:
    """Rules of which each sets a field of its own; ``edition`` makes them others."""
    target = {"kind": "ConfigMap"}
    sets = [
        {
            "target": target,
            "path": f"/data/v{n}",
            "value": f"'e{edition}-{n}-' + cluster.labels['tier'] + workload.name",
        }
        for n in range(RULES)
    ]
    return {
        "apiVersion": CLUSTER_VALUES.api_version,
        "kind": CLUSTER_VALUES.name,
        "metadata": {"namespace": "default", "name": "values"},
        "spec": {"workload": {"name": "web"}, "rules": [{"set": [each]} for each in sets]},
    }


def agree(hub: Hub) -> None:
    """Bring the workload up to date, slice by slice, as the engine does."""
    hub.fleet.refresh(WEB, NOW)
    known = hub.fleet.tracker(ReplicaSets).workload(WEB.key)
    assert known is not None
    while known.is_unrendered:
        hub.fleet.refresh(WEB, NOW)


def run() -> Iterator[Figure]:
    hub = Hub(SIZE)
    for number in range(SIZE):
        hub.tell(MANAGED_CLUSTER, cluster(number, number % CONTENTS), NOW)

    def once() -> None:
        hub.tell(CLUSTER_VALUES, values(hub.version), NOW)
        agree(hub)

    yield Figure("values_once_10k", fastest(once, 3) * 1e3, "ms", ONCE)

    def relabel() -> None:
        hub.tell(MANAGED_CLUSTER, cluster(7, hub.version % CONTENTS), NOW)
        agree(hub)

    yield Figure("values_relabel_10k", fastest(relabel) * 1e3, "ms", RELABEL)
    yield Figure("values_memory_10k", _growth(), "%", MEMORY)


def _growth() -> float:
    """How much more is held with values, in percent of what is held without."""
    tracemalloc.start()
    hub = Hub(SIZE)
    for number in range(SIZE):
        hub.tell(MANAGED_CLUSTER, cluster(number, number % CONTENTS), NOW)
    gc.collect()
    before, _ = tracemalloc.get_traced_memory()
    hub.tell(CLUSTER_VALUES, values(0), NOW)
    agree(hub)
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return (after - before) / before * 100
