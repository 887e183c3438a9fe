"""Does one tenant's costly Placement, or whoever holds sockets open, stop another tenant?

On a real server, with the controller as a process. Reactions are from the change of a workload to the
change of its first work, in seconds of the controller's CPU: those of the clock tell as much of what else
the machine does (`make kube-bench` measures them).
"""

import os
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from rollout.hub.kube import KubeHub
from rollout.model import names
from rollout.model.kinds import MANAGED_CLUSTER, PLACEMENT, REPLICA_SET, Ref
from tests.kube.processes import Process
from tests.kube.setting import eventually, put
from tests.kube.tenants import TENANT, Tenant, controller, tenant
from tests.support import make

pytestmark = pytest.mark.kube

__all__ = ["controller", "tenant"]  # fixtures

CLUSTERS = 3_000
LONG = 1_800.0
"""Seconds: all of it is a minute of one CPU, of which a busy machine gives little."""
TEN = "[1,2,3,4,5,6,7,8,9,10]"


def asking(*texts: str) -> list[dict[str, object]]:
    return [
        {"requiredClusterSelector": {"celSelector": {"celExpressions": [text]}}} for text in texts
    ]


def heavy(number: int) -> str:
    return f"{TEN}.all(a, {TEN}.all(b, {TEN}.all(c, {TEN}.all(d, a + b + c + d != {number}))))"


def spent(process: Process) -> float:
    """Seconds of CPU, of all its threads."""
    told = Path(f"/proc/{process.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")


def reactions(tenant: Tenant, controller: Process, count: int) -> list[float]:
    """What it takes from a new template to the first work that has it, each time."""
    found = []
    for number in range(count):
        template = make.template(f"{tenant.name}-{number}")
        began = spent(controller)
        tenant.hub.patch(
            tenant.ref(REPLICA_SET, "web"), {"spec": {"manifestWorkTemplate": template}}
        )

        def follows(wanted: str = f"{tenant.name}-{number}") -> bool:
            return any(wanted in str(work["spec"]) for work in tenant.works().values())

        eventually("a work follows", follows)
        found.append(spent(controller) - began)
        time.sleep(0.3)  # noqa: TID251  a test watches another process
    return found


def is_refused(tenant: Tenant, placement: Ref) -> bool:
    return tenant.condition(placement, names.PLACEMENT_MISCONFIGURED)[0] == "True"


@contextmanager
def asked_all_along(controller: Process) -> Iterator[list[tuple[int, str]]]:
    """What /healthz answers, asked again and again by a thread until the end; the list grows."""
    answers: list[tuple[int, str]] = []
    is_over = threading.Event()

    def ask() -> None:
        while not is_over.wait(0.2):
            answers.append(controller.fetch("/healthz"))

    asker = threading.Thread(target=ask, name="kubelet")
    asker.start()
    try:
        yield answers
    finally:
        is_over.set()
        asker.join()


@contextmanager
def many_clusters(tenant: Tenant) -> Iterator[None]:
    """Clusters that exist for their number only."""
    clusters = [
        make.cluster(f"{tenant.name}-x{n:04d}", {TENANT: tenant.name}) for n in range(CLUSTERS)
    ]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda each: put(tenant.hub, each), clusters))
        yield
        names_ = [Ref(MANAGED_CLUSTER, each["metadata"]["name"]) for each in clusters]
        list(pool.map(tenant.hub.delete, names_))


def test_a_placement_that_costs_too_much_stops_nobody_else_and_says_so(
    tenant: Tenant, kube: KubeHub, controller: Process
) -> None:
    tenant.fleet(3)
    tenant.place()
    tenant.deploy()
    tenant.is_rolled_out()
    other = Tenant(kube, f"{tenant.name}-other")
    other.fleet(0)
    with many_clusters(other), asked_all_along(controller) as answers:
        idle = reactions(tenant, controller, 5)
        many = other.place(
            "many", predicates=asking(*(f"managedCluster != {n}" for n in range(2_600)))
        )
        costly = [
            other.place(f"costly-{k}", predicates=asking(*(heavy(10_000 + 64 * k + n) for n in range(64))))
            for k in range(10)
        ]  # fmt: skip
        before = len(answers)
        busy = reactions(tenant, controller, 20)

        for placement in (many, *costly):
            eventually(f"{placement} says so", partial(is_refused, other, placement), LONG)
        said = [other.condition(ref, names.PLACEMENT_MISCONFIGURED)[2] for ref in (many, costly[0])]
        assert "at most 64 CEL expressions in all predicates, not 2600" in said[0]
        assert f"steps for {CLUSTERS} clusters, and at most 5000000 are accepted" in said[1]
        assert len(answers) > before  # while they were evaluated
        assert set(answers) == {(200, "ok\n")}
        assert controller.leads
        for placement in (many, *costly):
            assert placement.kind is PLACEMENT
            kube.delete(placement)
    print(f"idle {max(idle):.2f} s; beside costly placements {sorted(busy)}")
    assert sorted(busy)[len(busy) * 9 // 10] <= 2


def test_slow_sockets_keep_neither_probes_nor_metrics_from_being_answered(
    controller: Process,
) -> None:
    held = []
    try:
        for port in (controller.port, controller.health_port):
            for _ in range(500):
                held.append(socket.create_connection(("127.0.0.1", port), timeout=60))
                held[-1].sendall(b"GET / HTTP/1.1\r\nX-Slow: ")
        for _ in range(5):
            assert controller.fetch("/healthz") == (200, "ok\n")
            assert controller.fetch("/readyz")[0] == 200
            assert controller.fetch("/metrics")[0] == 200
    finally:
        for each in held:
            each.close()
