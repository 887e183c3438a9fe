"""How long does it take to read what an API server sends? Ten thousand ManifestWorks of about 2 KB."""

import gc
import json
from collections.abc import Iterator
from typing import Any

from benchmarks.figures import Figure, fastest
from benchmarks.virtual import _workload
from rollout.api.work import decode_work
from rollout.hub.kube_objects import ObjectDecoder
from rollout.model.kinds import MANIFEST_WORK
from rollout.model.work import Work

SIZE = 10_000


def _works() -> Iterator[dict[str, Any]]:
    spec = _workload()["spec"]["manifestWorkTemplate"]
    for i in range(SIZE):
        conditions = [
            {
                "type": kind,
                "status": "True",
                "reason": "Reason",
                "message": "a message",
                "observedGeneration": 2,
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
            for kind in ("Applied", "Available")
        ]
        yield {
            "apiVersion": "work.open-cluster-management.io/v1",
            "kind": "ManifestWork",
            "metadata": {
                "name": "web-0123456789",
                "namespace": f"cluster-{i:06d}",
                "uid": f"uid-{i}",
                "resourceVersion": str(i + 1),
                "generation": 2,
                "labels": {"work.open-cluster-management.io/manifestworkreplicaset": "default.web"},
            },
            "spec": spec,
            "status": {"conditions": conditions},
        }


def _read(payload: bytes) -> list[Work]:
    """As a controller that starts does: a page of a list becomes objects, and these values."""
    page = ObjectDecoder().page(MANIFEST_WORK, payload)
    return [decode_work(obj) for obj in page.objects()]


def run() -> Iterator[Figure]:
    payload = json.dumps({"metadata": {"resourceVersion": "1"}, "items": list(_works())}).encode()
    gc.set_threshold(50_000, 20, 100)
    yield Figure("decode.works.10k", fastest(lambda: _read(payload), 3) * 1e3, "ms")
