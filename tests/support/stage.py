"""A memory hub with simulated agents in virtual time, and a trace of what these wrote to works.

A trace is a list of (microseconds since the start, conditions that were written). A condition is
``TypeStatus@generation``, such as ``Applied+@1``.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

from rollout.clock import VirtualClock
from rollout.hub.memory import MemoryHub
from rollout.model.events import Change, Event
from rollout.model.kinds import MANIFEST_WORK, Obj, Ref
from rollout.sim.agents import Agents
from rollout.sim.scenario import Scenario

T0 = datetime(2026, 1, 1, tzinfo=UTC)
S = 1_000_000
SIGNS = {"True": "+", "False": "-", "Unknown": "?"}
WORK = Ref(MANIFEST_WORK, "c1/web")
HEALTHY = {"applyAfter": "2s", "readyAfter": "10s", "deleteAfter": "1s"}


def deployment(image: str = "web:1") -> Obj:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default", "labels": {"version": image}},
        "spec": {"template": {"spec": {"containers": [{"name": "web", "image": image}]}}},
    }


def template(*rules: str, image: str = "web:1", resource: str = "deployments") -> Obj:
    config = {
        "resourceIdentifier": {
            "group": "apps",
            "resource": resource,
            "name": "w*",
            "namespace": "default",
        },
        "conditionRules": [{"condition": rule, "type": "CEL"} for rule in rules],
    }
    spec: Obj = {"workload": {"manifests": [deployment(image)]}}
    return {**spec, "manifestConfigs": [config]} if rules else spec


RULES = template("Progressing", "Degraded")


class Stage:
    """A memory hub, a virtual clock, the agents, and a trace of what they wrote to works."""

    def __init__(self, hub: MemoryHub | None = None, **spec: Any) -> None:
        self.clock = VirtualClock(T0)
        self.hub = hub or MemoryHub(self.clock)
        self.scenario = Scenario.model_validate({"spec": spec})
        self.agents = Agents(self.hub, self.clock, self.scenario)
        self.trace: list[tuple[int, str]] = []
        self.hub.watch(MANIFEST_WORK, 0, self._heard)
        self._last: dict[str, str] = {}

    def _heard(self, event: Event) -> None:
        shown = "gone" if event.change is Change.DELETED else shown_of(event.obj)
        if shown and self._last.get(event.ref.key) != shown:
            self._last[event.ref.key] = shown
            self.trace.append((self.now, shown))

    @property
    def now(self) -> int:
        return (self.clock.now() - T0) // timedelta(microseconds=1)

    def play(self, until: int = 3600 * S) -> list[tuple[int, str]]:
        """Run the agents up to an instant (microseconds), jumping from one to the next."""
        end = T0 + timedelta(microseconds=until)
        while (at := self.agents.next_at()) is not None and at <= end:
            self.clock.advance(max(at - self.clock.now(), timedelta(0)))
            self.agents.run_due()
        self.clock.advance(end - self.clock.now())
        return self.trace

    def create(self, spec: Obj = RULES, ref: Ref = WORK, **meta: Any) -> None:
        self.hub.create(ref, {"metadata": meta, "spec": spec})

    def change(self, spec: Obj) -> None:
        self.hub.patch(WORK, {"spec": {"workload": spec["workload"]}})

    def condition(self, kind: str, ref: Ref = WORK) -> Obj:
        conditions = self.hub.get(ref)["status"]["conditions"]
        return next(c for c in conditions if c["type"] == kind)


def shown_of(obj: Obj) -> str:
    conditions = (obj.get("status") or {}).get("conditions") or []
    return " ".join(
        f"{c['type']}{SIGNS[c['status']]}@{c.get('observedGeneration')}"
        for c in sorted(conditions, key=lambda c: str(c["type"]))
    )


def staged(behaviour: Obj, spec: Obj = RULES, **more: Any) -> Stage:
    stage = Stage(defaults={**HEALTHY, **behaviour}, **more)
    stage.agents.start()
    stage.create(spec)
    return stage


APPLIED = "Applied+@1 Degraded-@1 Progressing+@1"
READY = "Applied+@1 Available+@1 Degraded-@1 Progressing-@1"
FAILED = "Applied-@1"
