"""Tells the day of an add-on: the engine, an add-on manager and agents on one hub, in virtual time.

A version is an AddOnDeploymentConfig of that name; a cluster has it from when it is told to apply it.
"""

from collections.abc import Mapping

from rollout.account.states import WorkloadState, state_of
from rollout.fleet.fleet import Fleet
from rollout.model.events import Change, Event
from rollout.model.kinds import (
    ADDON_DEPLOYMENT_CONFIG,
    MANAGED_CLUSTER_ADDON,
    Kind,
    Obj,
    Ref,
)
from rollout.planning.plan import Planner
from rollout.runtime.planners import planners, trackers
from rollout.sim.addon_agents import AddOnManager
from tests.support import make
from tests.support.addons import CMA, addon, config, installed_at, refer
from tests.support.story import T0, Line, Story

HOME = "rollout-system"
"""Where runs and notifications of add-ons are, and the templates that they name."""


def addon_documents(
    size: int, *, canary: int = 0, strategy: Obj | None = None, annotations: Mapping[str, str]
) -> list[Obj]:
    """A fleet with an add-on of version 1, which is Available, or it is not done."""
    placed = installed_at("p", refer("v1"), strategy=strategy)
    return [
        *make.fleet(size, canary=canary),
        config("v1", "v1"),
        addon(placements=[placed], annotations=annotations),
    ]


class AddOnStory(Story):
    """See the module. Its workload is the add-on of `tests.support.addons`."""

    subject = CMA
    carries = MANAGED_CLUSTER_ADDON
    manager: AddOnManager | None = None

    def planners(self) -> dict[Kind, Planner[Fleet]]:
        return planners(rolls_addons=True)

    def fleet(self) -> Fleet:
        return Fleet(self._policy, trackers=trackers(rolls_addons=True))

    def _boot(self) -> None:
        super()._boot()
        if self.manager is None:  # it is another process, and goes on
            self.manager = AddOnManager(self.hub, self.clock)
            self.manager.start()

    def act(self) -> bool:
        assert self.manager is not None
        return super().act() | bool(self.manager.run_due())

    def _heard(self, event: Event) -> None:
        cluster = event.ref.namespace
        gone = event.change is Change.DELETED
        told = (event.obj.get("status") or {}).get("configReferences") or []
        found = (
            {} if gone else {r["desiredConfig"]["name"]: r for r in told if r.get("desiredConfig")}
        )
        version = ",".join(sorted(found)).removeprefix("v")
        before = self._specs.get(cluster, {}).get("version", "")
        if version == before:
            return
        self._specs[cluster] = {"version": version}
        self.lines.append(Line(self.clock.now() - T0, event.change.value, cluster, version))

    # -- doing and reading ---------------------------------------------------------------------

    def release(self, version: str) -> None:
        """Have this version from now on."""
        ref = Ref(ADDON_DEPLOYMENT_CONFIG, f"default/v{version}")
        if not self.exists(ref):
            self.add(config(f"v{version}", f"v{version}"))
        obj = self.hub.get(CMA)
        (placed,) = obj["spec"]["installStrategy"]["placements"]
        install = {
            "type": "Placements",
            "placements": [{**placed, "configs": [refer(f"v{version}")]}],
        }
        self.hub.patch(CMA, {"spec": {"installStrategy": install}})

    def state(self, name: str = "web") -> WorkloadState:
        return state_of(self.hub.get(CMA))

    @property
    def reason(self) -> str:
        return self.state().reason

    @property
    def message(self) -> str:
        return self.state().message

    def versions(self, name: str = "web") -> dict[str, str]:
        return {
            cluster: told["version"] for cluster, told in self._specs.items() if told["version"]
        }
