"""What does it cost that people, or the hub, change the terms of a rollout that 100,000 clusters are on?

The rollout is at its end but for a hundred clusters in flight. Each figure is the time from the event to the
terms that follow from it: taking it in and bringing the workload up to date, without the plan after it.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from benchmarks.figures import Figure, fastest
from benchmarks.virtual import documents
from rollout.fleet.fleet import Fleet
from rollout.fleet.replicasets import ReplicaSets
from rollout.model import names
from rollout.model.events import Change, Event
from rollout.model.kinds import (
    APPROVAL,
    MANIFEST_WORK,
    PLACEMENT,
    PLACEMENT_DECISION,
    REPLICA_SET,
    Kind,
    Ref,
    ref_of,
)
from rollout.model.policy import Policy
from rollout.model.work import work_labels
from rollout.planning.documents import new_work

SIZE, IN_FLIGHT, ON_PAGE = 100_000, 100, 100
TARGET = 10.0  # ms
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
NOW = BEGAN + timedelta(minutes=5)  # after the soak, before the deadline
WEB = Ref(REPLICA_SET, "default/web")


class Hub:
    """A fleet that is told what a hub holds, object by object."""

    def __init__(self, size: int) -> None:
        self.fleet = Fleet(Policy(schedules_here=False))
        self.version = 0
        self.works: list[dict[str, Any]] = []
        clusters = [f"cluster-{n:06d}" for n in range(size)]
        self.is_paused = False
        *_, placement, self.workload = documents(0)
        self.workload["metadata"]["uid"] = "uid-web"
        self.tell(PLACEMENT, placement, BEGAN)
        for page in range(0, size, ON_PAGE):
            self.tell(PLACEMENT_DECISION, _page(page, clusters[page : page + ON_PAGE]), BEGAN)
        self.tell(REPLICA_SET, self.workload, BEGAN)
        known = self.fleet.tracker(ReplicaSets).workload(WEB.key)
        assert known is not None
        assert known.replicaset is not None
        template = known.replicaset.template
        labels = work_labels(known.replicaset, "all")
        for place, cluster in enumerate(clusters):
            _, work = new_work(
                known.replicaset,
                labels,
                cluster,
                template.spec,
                revision=template.content,
                started_at=BEGAN,
            )
            done = place >= IN_FLIGHT
            work["status"] = {"conditions": conditions(done)}
            self.tell(MANIFEST_WORK, work, BEGAN)
            self.works.append(work)
        self.fleet.refresh(WEB, BEGAN)
        self.fleet.refresh(WEB, NOW)
        known.shares["all"].live.step(None, NOW)  # whoever has soaked is settled

    def tell(self, kind: Kind, obj: dict[str, Any], now: datetime) -> None:
        self.version += 1
        meta = {"uid": f"uid-{self.version}", "generation": 1, **obj["metadata"]}
        meta["resourceVersion"] = str(self.version)
        stored = {**obj, "metadata": meta}
        event = Event(ref_of(kind, stored), Change.ADDED, stored, self.version)
        self.fleet.apply(event, now)


def _page(number: int, clusters: list[str]) -> dict[str, Any]:
    return {
        "apiVersion": PLACEMENT_DECISION.api_version,
        "kind": PLACEMENT_DECISION.name,
        "metadata": {
            "namespace": "default",
            "name": f"all-{number}",
            "labels": {names.PLACEMENT_LABEL: "all", names.GROUP_INDEX_LABEL: "0"},
        },
        "status": {"decisions": [{"clusterName": each, "reason": ""} for each in clusters]},
    }


def conditions(done: bool) -> list[dict[str, Any]]:
    said = {"Applied": "True", "Progressing": "False" if done else "True", "Degraded": "False"}
    return [
        {"type": kind, "status": status, "reason": "", "observedGeneration": 1}
        for kind, status in said.items()
    ]


def run() -> Iterator[Figure]:
    hub = Hub(SIZE)
    changes: dict[str, Callable[[], None]] = {
        "pause": lambda: _paused(hub),
        "approval": lambda: _approved(hub),
        "outage": lambda: hub.fleet.out_of_touch(NOW, NOW + timedelta(seconds=hub.version % 50)),
    }
    for name, change in changes.items():

        def react(change: Callable[[], None] = change) -> None:
            hub.version += 1
            change()
            hub.fleet.refresh(WEB, NOW)

        yield Figure(f"terms_{name}_{SIZE // 1000}k", fastest(react) * 1e3, "ms", TARGET)


def _paused(hub: Hub) -> None:
    hub.is_paused = not hub.is_paused
    value = "true" if hub.is_paused else "false"
    meta = {**hub.workload["metadata"], "annotations": {names.PAUSED: value}}
    hub.tell(REPLICA_SET, {**hub.workload, "metadata": meta}, NOW)


def _approved(hub: Hub) -> None:
    approval = {
        "apiVersion": APPROVAL.api_version,
        "kind": APPROVAL.name,
        "metadata": {"namespace": "default", "name": f"said-{hub.version}"},
        "spec": {
            "workload": {"kind": REPLICA_SET.name, "name": "web"},
            "revision": "0123456789abcdef",
            "gate": "*",
            "decision": "Approve",
        },
    }
    hub.tell(APPROVAL, approval, NOW)
