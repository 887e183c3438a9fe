"""One tenant never stops another (contract L6), on a real server: who comes first is seen by the order of
writes, not by the clock of a machine that may be busy (`make kube-bench` measures that).
"""

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from rollout.hub.kube import KubeHub
from rollout.model import names
from rollout.model.events import Change, Event
from rollout.model.kinds import MANIFEST_WORK, PLACEMENT_DECISION, REPLICA_SET, Ref
from tests.kube.contract import Ear
from tests.kube.processes import Process
from tests.kube.setting import eventually, put
from tests.kube.tenants import Tenant, controller, tenant
from tests.support import make

pytestmark = pytest.mark.kube

__all__ = ["controller", "tenant"]  # fixtures

MANY = 100
LONG = 900.0
"""Seconds in which all that the other tenant asked for is done, whatever else the machine does."""


@contextmanager
def halted(process: Process) -> Iterator[None]:
    """It stands still meanwhile."""
    process.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.signal(signal.SIGCONT)


def owners(tenant: Tenant) -> set[str]:
    """The tenant's workloads that are there."""
    return {obj["metadata"]["name"] for obj in tenant.hub.list(REPLICA_SET, tenant.name).items}


def test_l6_a_workload_reacts_while_another_namespace_edits_and_deletes_a_hundred(
    tenant: Tenant, kube: KubeHub, controller: Process
) -> None:
    """The controller hears of all of it together, however slow whoever asks is."""
    busy = Tenant(kube, f"{tenant.name}-busy")
    clusters = busy.fleet(2)
    busy.place()
    mine = tenant.fleet(2)
    tenant.place()
    tenant.deploy()
    tenant.is_rolled_out(mine)
    others = [f"w{n:03d}" for n in range(MANY)]
    ears = {kind: Ear() for kind in (MANIFEST_WORK, PLACEMENT_DECISION)}
    ends = [kube.watch(kind, kube.list(kind).version, ear) for kind, ear in ears.items()]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: put(kube, make.workload(n, busy.name)), others))
        eventually("the last is there", lambda: set(busy.works(others[-1])) == {*clusters}, LONG)
        changes = {"spec": {"manifestWorkTemplate": make.template("2")}}
        refs = [Ref(REPLICA_SET, f"{busy.name}/{n}") for n in others]
        with halted(controller):
            list(pool.map(lambda ref: kube.patch(ref, changes), refs))
            list(pool.map(kube.delete, refs))
            kube.patch(tenant.ref(REPLICA_SET, "web"), changes)
            tenant.place("q")

    tenant.decides(mine, "q")
    eventually("the others are gone", lambda: not owners(busy), LONG)
    busy.runs_on([], others[0])

    def order() -> list[str]:
        events = [event for ear in ears.values() for event in ear.events]
        found = [what_of(tenant, e) for e in sorted(events, key=lambda e: e.version)]
        assert found.count("gone") == MANY * len(clusters)
        assert {"edited", "decided"} <= {*found}
        return found

    eventually("all of it is told", order)
    told = order()
    later = {what: told[told.index(what) :].count("gone") for what in ("edited", "decided")}
    print(f"works of the other tenant that went later: {later}")
    assert min(later.values()) >= MANY // 2
    for end in ends:
        end()


def what_of(tenant: Tenant, event: Event) -> str:
    """What it is that was written: by the other tenant's deletions, or for this one."""
    meta, spec = event.obj["metadata"], event.obj.get("spec")
    if event.change is Change.DELETED:
        return "gone"
    if event.ref.namespace == tenant.name and meta["labels"][names.PLACEMENT_LABEL] == "q":
        return "decided"
    edited = spec is not None and spec["workload"] == make.template("2")["workload"]
    return "edited" if edited and event.ref.namespace.startswith(f"{tenant.name}-0") else ""
