"""Add-ons in tests: objects in a few words, and a hub with engine and add-on manager, without agents.

The test decides whom placements select, and says how works do.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from rollout.clock import Clock, VirtualClock
from rollout.errors import Denied
from rollout.fleet.fleet import Fleet
from rollout.hub.admission import admit
from rollout.hub.base import Hub
from rollout.hub.memory import MemoryHub
from rollout.model import names
from rollout.model.instants import rfc3339
from rollout.model.kinds import (
    ADDON_DEPLOYMENT_CONFIG,
    CLUSTER_MANAGEMENT_ADDON,
    KINDS,
    MANAGED_CLUSTER_ADDON,
    MANIFEST_WORK,
    PLACEMENT,
    PLACEMENT_DECISION,
    Kind,
    Obj,
    Ref,
    ref_of,
)
from rollout.model.policy import DEFAULT, Policy
from rollout.planning.plan import Note
from rollout.runtime.engine import Engine
from rollout.runtime.pace import Pace
from rollout.runtime.planners import planners, trackers
from rollout.runtime.timers import VirtualTimers
from rollout.sim.addon_agents import AddOnManager
from tests.support import make

T0 = datetime(2026, 1, 1, tzinfo=UTC)
SEC, MIN = timedelta(seconds=1), timedelta(minutes=1)
ADDON_API = "addon.open-cluster-management.io/v1alpha1"
GROUP = "addon.open-cluster-management.io"
NAME = "hello"
CMA = Ref(CLUSTER_MANAGEMENT_ADDON, NAME)
NO_GRACE = Policy(failure_grace=timedelta(0))

TEST = "ea4e6089e8b2f584c1cd8b86e16a15df3186b30744f433ede7436091c93a4cc7"
TEST1 = "b746cc98936955dd2168640f0011a14f2a74be306c747bc8ba829328cc772690"
TEST2 = "3e6348b0c0f0a341ce28d0a2f99bc41fc63fb17d947eb5a45284729fbeb63b32"
TEST3 = "9b3c6d09731ed254589fa4fc2936e6fb00537de92da5e035183da313eb98d27e"

COMPLETED = ("False", "Completed", "completed with no errors.")
NOT_READY = ("True", "Progressing", "progressing... work is not ready")
CONFIGURED = ("True", "ConfigurationsConfigured", "Configurations configured")
WAITING = (
    "False",
    "ConfigurationsNotConfigured",
    "Configurations updated and not configured yet",
)
ALL_DONE = (
    "selected clusters 4. configured addons 4/4 completed with no errors, 0 failed 0 timeout."
)
CLUSTERS = ["c0", "c1", "c2", "c3"]


def config(name: str = "default", value: str = "test", namespace: str = "default") -> Obj:
    """An AddOnDeploymentConfig with one variable."""
    return {
        "apiVersion": ADDON_API,
        "kind": "AddOnDeploymentConfig",
        "metadata": make.meta(name, namespace),
        "spec": {"customizedVariables": [{"name": value, "value": value}]},
    }


def typed(name: str = "default", value: str = "test") -> Obj:
    """As OCM's typed client writes it."""
    obj = config(name, value)
    return {**obj, "spec": {**obj["spec"], "proxyConfig": {}}}


def going(part: int, whole: int = 4, failed: int = 0, late: int = 0, selected: int = 4) -> str:
    return (
        f"selected clusters {selected}. configured addons {part}/{whole} progressing..., "
        f"{failed} failed {late} timeout."
    )


def refer(name: str, resource: str = "addondeploymentconfigs", group: str = GROUP) -> Obj:
    return {"group": group, "resource": resource, "namespace": "default", "name": name}


def addon(
    default: str = "",
    *,
    placements: Sequence[Obj] | None = None,
    supported: Sequence[str] = ("addondeploymentconfigs",),
    annotations: Mapping[str, str] | None = None,
) -> Obj:
    """A ClusterManagementAddOn; without placements it is installed by hand."""
    configs: list[Obj] = [{"group": GROUP, "resource": resource} for resource in supported]
    if default:
        configs[0]["defaultConfig"] = {"namespace": "default", "name": default}
    install: Obj = {"type": "Manual"}
    if placements is not None:
        install = {"type": "Placements", "placements": list(placements)}
    return {
        "apiVersion": ADDON_API,
        "kind": "ClusterManagementAddOn",
        "metadata": make.meta(NAME, annotations=dict(annotations or {})),
        "spec": {"supportedConfigs": configs, "installStrategy": install},
    }


def installed_at(placement: str = "p", *configs: Obj, strategy: Obj | None = None) -> Obj:
    """An entry of an install strategy."""
    found: Obj = {"namespace": "default", "name": placement}
    if configs:
        found["configs"] = list(configs)
    if strategy is not None:
        found["rolloutStrategy"] = strategy
    return found


def progressive(**options: Any) -> Obj:
    return {"type": "Progressive", "progressive": options}


def cluster_addon(cluster: str, *configs: Obj) -> Obj:
    """A ManagedClusterAddOn that a person made."""
    return {
        "apiVersion": ADDON_API,
        "kind": "ManagedClusterAddOn",
        "metadata": make.meta(NAME, cluster),
        "spec": {"configs": list(configs)} if configs else {},
    }


class Desk:
    """Whoever decides and edits, and says how works do; and what can be seen of it all on a hub."""

    hub: Hub
    clock: Clock

    def settle(self) -> Self:
        """Wait until what was done has had its effect, where that can be waited for."""
        return self

    # -- doing ---------------------------------------------------------------------------------

    def add(self, *documents: Obj) -> None:
        for document in documents:
            ref = ref_of(KINDS[document["kind"]], document)
            self.hub.create(ref, document)
            if document.get("status"):
                self.hub.patch_status(ref, {"status": document["status"]})

    def decide(self, *groups: Sequence[str], placement: str = "p") -> Self:
        """Another scheduler selects these clusters, group by group, and is done with it."""
        key = f"default/{placement}"
        pages = [f"{placement}-{n}" for n in range(len(groups))]
        told = make.told(*(("", len(c), [page]) for c, page in zip(groups, pages, strict=True)))
        listed = {o["metadata"]["name"]: o for o in self.hub.list(PLACEMENT_DECISION).items}
        for n, (clusters, page) in enumerate(zip(groups, pages, strict=True)):
            document = make.decision(clusters, placement, index=n)
            document["metadata"]["name"] = page
            if page in listed:
                ref = Ref(PLACEMENT_DECISION, f"default/{page}")
                self.hub.patch_status(ref, {"status": document["status"]})
            else:
                self.add(document)
        self.hub.patch_status(Ref(PLACEMENT, key), {"status": told})
        return self.settle()

    def edit(self, ref: Ref, changes: Obj) -> Self:
        self.hub.patch(ref, changes)
        return self.settle()

    def set_config(self, value: str, name: str = "default") -> Self:
        spec = {"customizedVariables": [{"name": value, "value": value}]}
        return self.edit(Ref(ADDON_DEPLOYMENT_CONFIG, f"default/{name}"), {"spec": spec})

    def set_addon(self, document: Obj) -> Self:
        spec = document["spec"]
        install = {"placements": None, **spec["installStrategy"]}
        return self.edit(CMA, {"spec": {**spec, "installStrategy": install}})

    def works_do(
        self,
        clusters: Iterable[str],
        *,
        ready: bool = True,
        applied: bool = True,
        degraded: bool = False,
    ) -> Self:
        """The work agents say Applied, Available and Degraded of what is there now."""
        for cluster in clusters:
            ref = Ref(MANIFEST_WORK, f"{cluster}/addon-{NAME}-deploy-0")
            generation = self.hub.get(ref)["metadata"]["generation"]
            told = {names.APPLIED: applied, names.AVAILABLE: ready and applied}
            told[names.DEGRADED] = degraded
            said = [
                make.condition(kind, str(is_so), generation, since=rfc3339(self.clock.now()))
                for kind, is_so in told.items()
            ]
            self.hub.patch_status(ref, {"status": {"conditions": said}})
        return self.settle()

    # -- looking -------------------------------------------------------------------------------

    def installed(self) -> list[str]:
        return [o["metadata"]["namespace"] for o in self.hub.list(MANAGED_CLUSTER_ADDON).items]

    def cluster(self, cluster: str) -> Obj:
        return self.hub.get(Ref(MANAGED_CLUSTER_ADDON, f"{cluster}/{NAME}"))

    def says(self, cluster: str, kind: str) -> tuple[str, str, str]:
        """A condition of a cluster's add-on: status, reason, message."""
        return said(self.cluster(cluster).get("status") or {}, kind)

    def references(self, cluster: str) -> list[Obj]:
        return list((self.cluster(cluster).get("status") or {}).get("configReferences") or [])

    def carries(self, cluster: str) -> list[tuple[str, str, str, int]]:
        """Name, desired and applied hash, and generation of each configuration of a cluster."""
        return [
            (
                r["desiredConfig"]["name"],
                r["desiredConfig"]["specHash"],
                (r.get("lastAppliedConfig") or {}).get("specHash", ""),
                r["lastObservedGeneration"],
            )
            for r in self.references(cluster)
        ]

    def progression(self, placement: str = "p") -> Obj:
        status = self.hub.get(CMA).get("status") or {}
        found = [p for p in status.get("installProgressions") or [] if p["name"] == placement]
        return dict(found[0]) if found else {}

    def message(self, placement: str = "p") -> str:
        return said(self.progression(placement), names.PROGRESSING)[2]

    def halted(self, placement: str = "p") -> tuple[str, str]:
        return said(self.progression(placement), names.ROLLOUT_HALTED)[:2]

    def hashes(self, placement: str = "p") -> list[tuple[str, str, str]]:
        """Desired, applied and good hash of each configuration of a placement."""
        fields = ("desiredConfig", "lastAppliedConfig", "lastKnownGoodConfig")
        return [
            tuple((r.get(field) or {}).get("specHash", "") for field in fields)
            for r in self.progression(placement)["configReferences"]
        ]


class Rig(Desk):
    """A hub, the engine and an add-on manager on virtual time."""

    def __init__(
        self, documents: Iterable[Obj] = (), policy: Policy = DEFAULT, *, checks: bool = True
    ) -> None:
        self.clock: VirtualClock = VirtualClock(T0)
        self._refused: set[tuple[str, Kind]] = set()
        self._checks = checks
        self.hub: MemoryHub = MemoryHub(self.clock, admit=self._admit)
        self.touched: list[tuple[str, str]] = []  # cluster, what it was told to apply
        self._told: dict[str, list[Any]] = {}
        self.notes: list[Note] = []
        for document in documents:
            self.add(document)
        self.policy = policy
        self.hub.watch(MANAGED_CLUSTER_ADDON, 0, self._hear)
        self.start()

    def start(self) -> Self:
        """An engine that knows nothing yet."""
        self.engine = Engine(
            self.seen(),
            self.clock,
            self._timers,
            planners(rolls_addons=True),
            Fleet(self.policy, trackers=trackers(rolls_addons=True)),
            pace=Pace(least_interval={}, strict=True),
            notes=lambda note, _: self.notes.append(note),
            seed=0,
        )
        self.manager = AddOnManager(self.hub, self.clock)
        self.engine.start()
        self.manager.start()
        return self.settle()

    def seen(self) -> Hub:
        """The hub as the engine sees it."""
        return self.hub

    def restart(self) -> Self:
        self.engine.stop()
        self.manager.close()
        return self.start()

    def _timers(self, wake: Any) -> VirtualTimers:
        self.timers = VirtualTimers(self.clock, wake)
        return self.timers

    def _hear(self, event: Any) -> None:
        refs = (event.obj.get("status") or {}).get("configReferences") or []
        told = [(r["desiredConfig"].get("name"), r["desiredConfig"].get("specHash")) for r in refs]
        if self._told.get(event.ref.key, []) != told:
            self._told[event.ref.key] = told
            self.touched.append((event.ref.namespace, ",".join(name for name, _ in told)))

    def _admit(self, ref: Ref, new: Obj, old: Obj | None) -> Obj:
        if (ref.namespace, ref.kind) in self._refused:
            raise Denied(f"{ref}: not here")
        return admit(ref, new, old) if self._checks else new

    # -- doing ---------------------------------------------------------------------------------

    def refuse(self, cluster: str, kind: Kind = MANAGED_CLUSTER_ADDON) -> Self:
        """From now on the hub will have no add-on there, or nothing of another kind."""
        self._refused.add((cluster, kind))
        return self

    def accept(self, cluster: str) -> Self:
        """The hub has whatever is written there again."""
        self._refused = {each for each in self._refused if each[0] != cluster}
        return self

    def settle(self) -> Self:
        """Do all that is to be done at this instant."""
        for _ in range(10_000):
            if not (self.engine.turn() | bool(self.manager.run_due())):
                return self
        raise AssertionError("it never ends")

    def later(self, span: timedelta) -> Self:
        """Go on for so long, timer by timer."""
        end = self.clock.now() + span
        self.settle()
        while (at := self.timers.next_at()) is not None and at <= end:
            self.clock.advance(max(at - self.clock.now(), timedelta(0)))
            self.timers.run_due()
            self.settle()
        self.clock.advance(end - self.clock.now())
        return self.settle()

    def take_touched(self) -> list[str]:
        """Clusters that were told to apply something else since the last call, in order."""
        found = [cluster for cluster, _ in self.touched]
        self.touched.clear()
        return found


def said(holder: Obj, kind: str) -> tuple[str, str, str]:
    for condition in holder.get("conditions") or []:
        if condition["type"] == kind:
            return condition["status"], condition["reason"], condition["message"]
    return "", "", ""


def fleet(*clusters: str, placements: Sequence[str] = ("p",)) -> list[Obj]:
    """Clusters, and placements that somebody else decides."""
    return [*map(make.cluster, clusters), *(make.placement(p, ours=False) for p in placements)]


def kinds_watched(rig: Rig) -> set[Kind]:
    return set(rig.engine.fleet.wanted_kinds())
