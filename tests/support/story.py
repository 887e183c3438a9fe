"""How does a day go? The engine, agents and people on one hub, in virtual time, told as a trace.

A story moves on to an instant, then the test does what a person or an accident would do, and so on.
What happened is read from the hub: works, statuses, and the trace of every write of a work's spec.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from rollout.account.states import WorkloadState, state_of
from rollout.clock import Clock, VirtualClock
from rollout.errors import Denied, Gone, HubError
from rollout.fleet.fleet import Fleet
from rollout.hub.admission import admit
from rollout.hub.base import EmbeddedHub
from rollout.hub.memory import MemoryHub
from rollout.hub.patching import same
from rollout.model import names
from rollout.model.conditions import Condition, read_conditions
from rollout.model.events import Change, Event
from rollout.model.kinds import (
    KINDS,
    MANAGED_CLUSTER,
    MANIFEST_WORK,
    PLACEMENT_DECISION,
    REPLICA_SET,
    ROLLOUT_RECORD,
    Kind,
    Obj,
    Ref,
    ref_of,
)
from rollout.model.policy import DEFAULT, Policy
from rollout.planning.plan import Note, Planner
from rollout.runtime.analysis_io import Measurer
from rollout.runtime.engine import Engine
from rollout.runtime.notification_io import Deliverer
from rollout.runtime.pace import Pace
from rollout.runtime.planners import planners
from rollout.sim.agents import Agents
from rollout.sim.drives import Drive, Jump
from rollout.sim.scenario import Scenario
from rollout.sim.surroundings import SIMULATED, simulated_io
from tests.support import make

T0 = datetime(2026, 1, 1, tzinfo=UTC)
SEC, MIN, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
US = timedelta(microseconds=1)

APPLIED, READY, SETTLED = 2 * SEC, 12 * SEC, 27 * SEC
"""After a touch: a healthy agent has applied, is ready; success has stood for the 15 s settle time."""


@dataclass(frozen=True, slots=True)
class Line:
    """One write of a work's spec, or its deletion (``version`` "")."""

    after: timedelta
    change: str
    cluster: str
    version: str


def version_of(work: Obj) -> str:
    """Which version of the template of `tests.support.make` a work carries."""
    return str(work["spec"]["workload"]["manifests"][0]["data"]["version"])


class Story:
    """See the module. ``subject`` is the workload, ``carries`` the kind of what brings it to a cluster.

    Args:
        documents: as `tests.support.make` makes them, with their statuses.
        agents: the ``spec`` of an AgentScenario.
        clock, drive: another clock, and what makes the thing that moves it.
        measurer, deliverer: who is asked for metrics, and who tells people, instead of the simulation.
        wrap: puts something between the hub and the engine; agents and the test see the plain hub.
    """

    subject = Ref(REPLICA_SET, "default/web")
    carries = MANIFEST_WORK

    def __init__(
        self,
        documents: Iterable[Obj] = (),
        agents: Mapping[str, Any] | None = None,
        *,
        hub: MemoryHub | None = None,
        clock: Clock | None = None,
        drive: Callable[[], Drive] | None = None,
        wrap: Callable[[MemoryHub], EmbeddedHub] | None = None,
        policy: Policy = DEFAULT,
        gather: timedelta = timedelta(0),
        measurer: Measurer | None = None,
        deliverer: Deliverer = SIMULATED,
    ) -> None:
        virtual = clock if isinstance(clock, VirtualClock) else VirtualClock(T0)
        self.clock = clock or virtual
        self._make_drive = drive or (lambda: Jump(virtual))
        self.denied: dict[str, HubError] = {}  # namespaces that refuse every write of a spec
        self.denied_kinds: set[Kind] = set()  # of which nothing is created
        self.hub = hub or MemoryHub(self.clock, admit=self._admit)
        self.lines: list[Line] = []
        self.notes: list[Note] = []
        self._specs: dict[str, Obj] = {}
        self._policy, self._gather = policy, gather
        self._between = wrap(self.hub) if wrap else self.hub
        for document in documents:
            self.add(document)
        self._scenario = Scenario.model_validate({"spec": dict(agents or {})})
        self.agents = Agents(self.hub, self.clock, self._scenario)
        self._io = simulated_io(self._between, self.clock, self._scenario, deliverer, measurer)
        self._stop = self.hub.watch(self.carries, 0, self._heard)
        self._boot()
        self.agents.start()

    def _admit(self, ref: Ref, new: Obj, old: Obj | None) -> Obj:
        is_written = old is None or new.get("spec") is not old.get("spec")
        if ref.namespace in self.denied and is_written:
            raise self.denied[ref.namespace]
        if old is None and ref.kind in self.denied_kinds:
            raise Denied(f"{ref}: the server does not want it")
        return admit(ref, new, old)

    def _heard(self, event: Event) -> None:
        key, spec = event.ref.key, event.obj["spec"]
        if names.ANALYSIS_RUN in (event.obj["metadata"].get("labels") or {}):
            return  # it measures, and carries nothing of the workload
        gone = event.change is Change.DELETED
        if gone:
            self._specs.pop(key, None)
        elif same(self._specs.get(key), spec):  # to Python true is 1
            return
        else:
            self._specs[key] = spec
        version = "" if gone else version_of(event.obj)
        after = self.clock.now() - T0
        self.lines.append(Line(after, event.change.value, event.ref.namespace, version))

    # -- time ----------------------------------------------------------------------------------

    def _boot(self) -> None:
        self.drive = self._make_drive()
        self.engine = Engine(
            self._between,
            self.clock,
            self.drive.timers,
            self.planners(),
            self.fleet(),
            io=self._io,
            pace=Pace(least_interval={REPLICA_SET: self._gather}, strict=True),
            notes=lambda note, _: self.notes.append(note),
            seed=0,
        )
        self.engine.start()

    def planners(self) -> dict[Kind, Planner[Fleet]]:
        """Who plans in this story."""
        return planners(keeps_sets=False)

    def fleet(self) -> Fleet:
        """What a process knows that has just begun."""
        return Fleet(self._policy)

    def restart(self) -> "Story":
        """The engine's process dies and another one starts on the same hub; agents never notice."""
        self.engine.stop()
        self.drive.close()
        self._boot()
        return self

    def settle(self) -> "Story":
        """Do all that is to be done at this instant."""
        busy = True
        while busy:
            busy = self.engine.turn()
            busy = self.act() or busy
        return self

    def act(self) -> bool:
        """What others than the engine do at this instant; whether that was anything."""
        return bool(self.agents.run_due())

    def to(self, after: timedelta) -> "Story":
        """Move on to so long after the start, and settle there."""
        end = T0 + after
        self.settle()
        while (at := self._next()) is not None and at <= end:
            self.drive.go(at, lambda _: False)
            self.settle()
        self.drive.go(max(end, self.clock.now()), lambda _: False)
        return self.settle()

    def on(self, span: timedelta) -> "Story":
        return self.to(self.now + span)

    def end(self, within: timedelta = 24 * HOUR) -> "Story":
        """Move on until nothing can happen any more. Fails where that takes longer than ``within``."""
        self.settle()
        while (at := self._next()) is not None:
            assert at <= T0 + within, f"still busy after {within}: {self.state()}"
            self.drive.go(at, lambda _: False)
            self.settle()
        return self

    def _next(self) -> datetime | None:
        nexts = (self.agents.next_at(), self.drive.next_at())
        return min((at for at in nexts if at is not None), default=None)

    @property
    def now(self) -> timedelta:
        """Since the start."""
        return self.clock.now() - T0

    # -- doing ---------------------------------------------------------------------------------

    def add(self, document: Obj) -> Obj:
        """Create an object, with its status."""
        ref = ref_of(KINDS[document["kind"]], document)
        stored = self.hub.create(ref, document)
        if document.get("status"):
            stored = self.hub.patch_status(ref, {"status": document["status"]})
        return stored

    def edit(self, changes: Obj, name: str = "web", namespace: str = "default") -> None:
        """Merge-patch the ManifestWorkReplicaSet."""
        self.hub.patch(Ref(REPLICA_SET, f"{namespace}/{name}"), changes)

    def annotate(self, key: str, value: str | None, name: str = "web") -> None:
        """Annotate the workload: this one, or a ManifestWorkReplicaSet of another name."""
        ref = self.subject if name == "web" else Ref(REPLICA_SET, f"default/{name}")
        self.hub.patch(ref, {"metadata": {"annotations": {key: value}}})

    def template(self, spec: Obj) -> None:
        """Replace the template."""
        ref = Ref(REPLICA_SET, "default/web")
        obj = self.hub.get(ref)
        self.hub.replace(ref, {**obj, "spec": {**obj["spec"], "manifestWorkTemplate": spec}})

    def strategy(self, strategy: Obj) -> None:
        self.edit({"spec": {"placementRefs": [{"name": "p", "rolloutStrategy": strategy}]}})

    def decide(self, *pages: Obj) -> None:
        """Write decisions as another scheduler would: those given, and no others of theirs."""
        wanted = {page["metadata"]["name"]: page for page in pages}
        for obj in self.hub.list(PLACEMENT_DECISION).items:
            name = obj["metadata"]["name"]
            page = wanted.pop(name, None)
            if page is not None:
                self.hub.patch_status(ref_of(PLACEMENT_DECISION, obj), {"status": page["status"]})
        for page in wanted.values():
            self.add(page)

    def report(self, cluster: str, name: str = "web", /, **conditions: str) -> None:
        """The agent says this of the work's present generation; ``Progressing="False"``."""
        work = self.works(name)[cluster]
        generation = work["metadata"]["generation"]
        said = [make.condition(kind, status, generation) for kind, status in conditions.items()]
        self.hub.patch_status(ref_of(MANIFEST_WORK, work), {"status": {"conditions": said}})

    def done(self, *clusters: str) -> None:
        """The agents of these clusters say that all is well, and it stands for the settle time."""
        for cluster in clusters:
            self.report(cluster, Applied="True", Available="True", Progressing="False")
        self.on(15 * SEC)

    def lose(self, *clusters: str) -> None:
        """Delete ManagedClusters."""
        for cluster in clusters:
            self.hub.delete(Ref(MANAGED_CLUSTER, cluster))

    # -- reading -------------------------------------------------------------------------------

    def mwrs(self, name: str = "web", namespace: str = "default") -> Obj:
        return self.hub.get(Ref(REPLICA_SET, f"{namespace}/{name}"))

    def condition(self, kind: str, name: str = "web") -> Condition:
        """A condition of the workload; it must be of the present generation."""
        obj = self.mwrs(name)
        found = read_conditions(obj["status"]["conditions"])[kind]
        assert found.observed_generation == obj["metadata"]["generation"]
        return found

    def said(self, kind: str, name: str = "web") -> tuple[str, str]:
        """Status and reason of a condition."""
        found = self.condition(kind, name)
        return found.status, found.reason

    def state(self, name: str = "web") -> WorkloadState:
        """What `rollout status` would say, and its exit code."""
        return state_of(self.mwrs(name))

    @property
    def reason(self) -> str:
        return self.condition(names.PROGRESSING).reason

    @property
    def message(self) -> str:
        return self.condition(names.PROGRESSING).message

    def summary(self, name: str = "web") -> dict[str, int]:
        return dict(self.mwrs(name)["status"]["summary"])

    def works(self, name: str = "web", namespace: str = "default") -> dict[str, Obj]:
        """The works of a workload by cluster; two in one cluster are a failure."""
        found: dict[str, Obj] = {}
        for obj in self.hub.list(MANIFEST_WORK).items:
            meta = obj["metadata"]
            labels = meta.get("labels") or {}
            owner = (meta.get("annotations") or {}).get(names.OWNER) or "/".join(
                labels.get(names.WORK_OWNER_LABEL, "").split(".", 1)
            )
            if owner == f"{namespace}/{name}":
                assert meta["namespace"] not in found, f"twins in {meta['namespace']}"
                found[meta["namespace"]] = obj
        return found

    def versions(self, name: str = "web") -> dict[str, str]:
        """Which version each cluster's work carries."""
        return {cluster: version_of(obj) for cluster, obj in self.works(name).items()}

    def touched(self, version: str = "1") -> dict[str, timedelta]:
        """When each cluster first got a version."""
        found: dict[str, timedelta] = {}
        for line in self.lines:
            if line.version == version:
                found.setdefault(line.cluster, line.after)
        return found

    def waves(self, version: str = "1") -> list[tuple[timedelta, list[str]]]:
        """Which clusters first got a version together, and when."""
        found: dict[timedelta, list[str]] = {}
        for cluster, after in self.touched(version).items():
            found.setdefault(after, []).append(cluster)
        return sorted((after, sorted(clusters)) for after, clusters in found.items())

    def removed(self) -> dict[str, timedelta]:
        """When each cluster's work was gone."""
        return {line.cluster: line.after for line in self.lines if line.change == "DELETED"}

    def records(self) -> list[Obj]:
        """The pages of all records."""
        found = self.hub.list(ROLLOUT_RECORD).items
        return [obj for obj in found if names.RECORD_LABEL in (obj["metadata"].get("labels") or {})]

    def exists(self, ref: Ref) -> bool:
        try:
            self.hub.get(ref)
        except Gone:
            return False
        return True


def only(*clusters: str, **behaviour: object) -> Obj:
    """Agents of these clusters behave so; all others are healthy."""
    return {"rules": [{"clusters": {"names": list(clusters)}, "behaviour": behaviour}]}


def said(story: Story) -> tuple[str, int]:
    """The reason of Progressing and the exit code of `rollout status`."""
    return story.reason, int(story.state().code)
