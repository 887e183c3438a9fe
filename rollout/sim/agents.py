"""Simulated work agents of all clusters of a hub.

They watch the works, wait as their scenario says, and write status as OCM's agents do, with the errors
of OCM's agents where the scenario asks for them. They have no threads: the caller asks when they act
next (`next_at`) and lets them act (`run_due`). What is pending can be saved and restored (`dump`,
`restore`); restored agents act as if they had never stopped.
"""

from collections import deque
from collections.abc import Iterator
from datetime import datetime

from rollout.api.fields import listed, mapping, text, version_of
from rollout.clock import Clock
from rollout.errors import Conflict, Denied, Gone, HubError, Invalid, Throttled
from rollout.hub.base import Hub, StateKey
from rollout.hub.watching import ListWatch
from rollout.model.events import Change, Event
from rollout.model.instants import earliest, rfc3339
from rollout.model.kinds import MANAGED_CLUSTER, MANIFEST_WORK, Obj, Ref
from rollout.model.names import REVISION
from rollout.sim.due import DueQueue
from rollout.sim.fleet_events import PATIENCE, FleetEvents, is_ours
from rollout.sim.members import FOREVER, Members
from rollout.sim.reports import AgentReport, Statuses, said_of
from rollout.sim.scenario import Scenario
from rollout.sim.template import Templates
from rollout.sim.timeline import draws, following, leaving
from rollout.sim.work import (
    SavedAgents,
    SavedWork,
    WorkInHand,
    WorksInHand,
    decode_saved,
    encode_saved,
    recalled,
)

FINALIZER = "cluster.open-cluster-management.io/manifest-work-cleanup"
_ATTEMPTS = 5
_MOST_NOTES = 100


class Agents:
    """The agents of all clusters of one hub.

    Args:
        hub: holds the works, and takes their status.
        scenario: how the agents behave.
        seed: of all chance; None takes ``scenario.spec.seed``.
        kept: whether the caller saves `changes`; without, none are collected.
    """

    def __init__(
        self,
        hub: Hub,
        clock: Clock,
        scenario: Scenario,
        seed: int | None = None,
        *,
        kept: bool = False,
    ) -> None:
        self.notes: list[str] = []
        self._hub, self._clock, self._scenario = hub, clock, scenario
        self._seed = scenario.spec.seed if seed is None else seed
        self._saved = SavedAgents()
        self._works = WorksInHand(kept=kept)
        self._templates = Templates()
        self._statuses = Statuses(with_manifests=scenario.spec.resource_status)
        self._inbox: deque[tuple[datetime, Event]] = deque()
        self._watches = [
            ListWatch(hub, kind, self._heard, self._broke)
            for kind in (MANAGED_CLUSTER, MANIFEST_WORK)
        ]
        self._expired = False
        self._list_at: datetime | None = None  # when what could not be listed is tried again
        self._head_changed = True
        self._set_up(clock.now())

    def start(self) -> None:
        """List everything, then watch. Goes on from what was restored, if anything was."""
        saved, now = self._saved, self._clock.now()
        self._set_up(saved.started_at or now)
        self._works.recall_gone(saved.attempts)
        for name in saved.gone:
            self._members.of(name).gone = True
        for entry in saved.works:
            self._recall(entry)
        self._list(now)
        self._drain()

    def _set_up(self, started_at: datetime) -> None:
        self._started_at = started_at
        self._due = DueQueue()
        self._members = Members(self._scenario, started_at)
        self._events = FleetEvents(
            self._hub,
            self._members,
            self._due,
            self._scenario.spec.fleet_events,
            start=started_at,
            done=self._saved.events_done,
            note=self._note,
        )

    def next_at(self) -> datetime | None:
        """The next instant at which an agent acts; None where only an event can make one act."""
        self._drain()
        return earliest(self._due.next_at(), self._list_at)

    def awaits_events(self) -> bool:
        """Whether fleet events of the scenario are still to come."""
        return len(self._events.done) < len(self._scenario.spec.fleet_events)

    def run_due(self) -> int:
        """Do everything that is due now. Returns: the number of actions."""
        acted = 0
        self._drain()
        now = self._clock.now()
        while (key := self._due.take(now)) is not None:
            if is_ours(key):
                self._head_changed = True
                self._events.act(key, now)
            else:
                self._act(self._works[key], now)
            acted += 1
            self._drain()
        return acted

    def close(self) -> None:
        """Stop watching. What is pending can still be saved."""
        for watch in self._watches:
            watch.end()

    def changes(self) -> Iterator[tuple[str, bytes | None]]:
        """What of it has changed since the last call, for `rollout.sim.work.kept_agents`: key and value,
        as `EmbeddedHub.put_state` takes them.

        Cost: O(works that have changed).
        """
        self._drain()
        if self._head_changed:
            self._head_changed = False
            yield StateKey.AGENTS.value, encode_saved(self._head())
        yield from self._works.changes(self._due.at)

    def _head(self) -> SavedAgents:
        """What is saved besides works."""
        return SavedAgents(
            started_at=self._started_at,
            events_done=sorted(self._events.done),
            gone=[member.name for member in self._members if member.gone],
        )

    def restore(self, saved: bytes) -> None:
        """Take up what another process left. Before `start`. Raises: ConfigError for foreign bytes."""
        self._saved = decode_saved(saved)

    # Seeing

    def _list(self, now: datetime) -> None:
        """List everything and watch from there; also after a watch broke."""
        self._inbox.clear()
        self._expired = False
        clusters = [Ref(MANAGED_CLUSTER, m.name) for m in self._members if m.joined]
        works = [work.ref for work in self._works.all()]
        for watch, known in zip(self._watches, (clusters, works), strict=True):
            self._inbox.extend((now, event) for event in watch.again(known))

    def _heard(self, event: Event) -> None:
        """Called from any thread, also during our own writes; so it only notes the event."""
        self._inbox.append((self._clock.now(), event))

    def _broke(self) -> None:
        self._expired = True

    def _list_anew(self, now: datetime) -> None:
        """List again after a watch broke; where the server cannot answer, once more after a while."""
        if self._list_at is not None and now < self._list_at:
            return
        try:
            self._list(now)
            self._list_at = None
        except HubError as fault:
            self._expired, self._list_at = True, now + PATIENCE
            self._note(str(fault))

    def _drain(self) -> None:
        if self._expired:
            self._list_anew(self._clock.now())
        inbox, works = self._inbox, self._works
        while inbox:
            at, event = inbox.popleft()
            if event.ref.kind is MANIFEST_WORK:
                if event.change is Change.DELETED:
                    self._gone(event)
                    continue
                work = works.get(event.ref.key)
                if work is None or event.version > work.version:
                    self._saw_work(event.ref, event.obj, event.version, at)
            elif event.change is Change.DELETED:
                self._members.of(event.ref.name).gone = self._head_changed = True
            else:
                self._saw_cluster(event.ref.name, event.obj, at)

    def _saw_cluster(self, name: str, obj: Obj, at: datetime) -> None:
        member, version = self._members.of(name), version_of(obj["metadata"])
        was_gone, had_joined = member.gone, member.joined
        if not was_gone and version <= member.version:
            return
        self._members.saw(name, obj, version)
        self._events.watch_over(member, at)
        if not had_joined:
            for work in self._works.on(name):
                self._works.changed(work.ref.key)
        if was_gone:
            self._head_changed = True
            for work in self._works.on(name):
                self._works.changed(work.ref.key)
                self._notice(work, at)
                if work.steps and self._due.at(work.ref.key) is None:
                    self._arm(work)

    def _saw_work(self, ref: Ref, obj: Obj, version: int, at: datetime) -> None:
        work = self._works.get(ref.key)
        if work is not None and version <= work.version:
            return  # what this agent wrote itself, or older
        uid = obj["metadata"]["uid"]
        if work is None or work.uid != uid:
            if work is not None:
                self._forget(ref.key)
            member = self._members.of(ref.namespace)
            work = self._works.begin(ref, uid, member)
        work.obj, work.version = obj, version
        self._works.changed(ref.key)
        self._notice(work, at)

    def _gone(self, event: Event) -> None:
        work = self._works.get(event.ref.key)
        if work is not None and event.obj["metadata"].get("uid") in (work.uid, None):
            self._forget(event.ref.key)

    def _forget(self, key: str) -> None:
        self._works.forget(key)
        self._due.cancel(key)

    def _notice(self, work: WorkInHand, at: datetime) -> None:
        """A work has changed: begin with it, or wait until its cluster is in contact again."""
        if not work.is_news():
            if work.template is None:  # restored
                work.template = self._templates.of(mapping(work.obj.get("spec")))
                work.labels = mapping(work.obj["metadata"].get("labels"))
            return
        member = work.member
        if member.gone and "deletionTimestamp" not in work.obj["metadata"]:
            return
        back_at = member.back_at(at)
        if back_at is not None:
            self._postpone(work, back_at)
        else:
            self._begin(work, at)

    def _postpone(self, work: WorkInHand, until: datetime) -> None:
        if until == FOREVER:
            self._due.cancel(work.ref.key)
        else:
            self._due.arm(work.ref.key, until)

    # Deciding

    def _begin(self, work: WorkInHand, at: datetime) -> None:
        """The agent sees a new generation, or that the work is being deleted."""
        obj, key = work.obj, work.ref.key
        meta = obj["metadata"]
        work.leaving = "deletionTimestamp" in meta
        work.generation, work.labels = meta["generation"], mapping(meta.get("labels"))
        work.attempt += not work.leaving
        work.template = template = self._templates.of(mapping(obj.get("spec")))
        drawn = draws(self._seed, key, work.generation, work.attempt)
        revision = text(mapping(meta.get("annotations")).get(REVISION))
        behaviour = self._members.behaviour(work.member, template, revision)
        if not work.leaving:
            work.steps = following(
                behaviour,
                template,
                drawn,
                at,
                generation=work.generation,
                said=said_of(obj),
            )
        elif FINALIZER in listed(meta.get("finalizers")):
            work.steps = leaving(behaviour, drawn, at)
        else:
            work.steps = ()
        self._arm(work)

    def _arm(self, work: WorkInHand) -> None:
        if work.steps:
            self._due.arm(work.ref.key, work.steps[0].at)
        else:
            self._due.cancel(work.ref.key)

    def _recall(self, entry: SavedWork) -> None:
        ref = Ref(MANIFEST_WORK, entry.key)
        self._works.put(recalled(ref, entry, self._members.of(ref.namespace)))
        if entry.due is not None:
            self._due.arm(entry.key, entry.due)

    # Acting

    def _act(self, work: WorkInHand, now: datetime) -> None:
        self._works.changed(work.ref.key)
        member = work.member
        if member.gone and not work.leaving:
            return
        back_at = member.back_at(now) if member.windows else None
        if back_at is not None:
            self._postpone(work, back_at)
            return
        if work.is_news():
            self._begin(work, now)
            return
        due = 0
        for step in work.steps:
            if step.at > now:
                break
            due += 1
        if not due:
            self._arm(work)
            return
        try:
            if self._perform(work, work.steps[due - 1].report, now + member.skew):
                work.steps = work.steps[due:]
                self._arm(work)
        except HubError as fault:
            self._failed(work, fault, due, now)

    def _failed(self, work: WorkInHand, fault: HubError, due: int, now: datetime) -> None:
        match fault:
            case Gone():
                self._forget(work.ref.key)
                return
            case Denied() | Invalid():  # the same again would be refused again
                work.steps = work.steps[due:]
                self._arm(work)
            case Throttled():
                self._due.arm(work.ref.key, now + max(fault.after, PATIENCE))
            case _:
                self._due.arm(work.ref.key, now + PATIENCE)
        self._note(str(fault))

    def _perform(self, work: WorkInHand, report: AgentReport, clock: datetime) -> bool:
        """Write, again after each conflict. Returns False where the work has changed meanwhile.

        Raises: HubError; Conflict where others kept writing.
        """
        for attempt in range(_ATTEMPTS):
            try:
                self._write(work, report, clock)
            except Conflict:
                if attempt == _ATTEMPTS - 1:
                    raise
                steps = work.steps
                fresh = self._hub.get(work.ref)
                self._saw_work(work.ref, fresh, version_of(fresh["metadata"]), self._clock.now())
                if self._works.get(work.ref.key) is not work or work.steps is not steps:
                    return False
            else:
                return True
        return False

    def _write(self, work: WorkInHand, report: AgentReport, clock: datetime) -> None:
        assert work.template is not None
        finalizers = listed(work.obj["metadata"].get("finalizers"))
        if report is AgentReport.REMOVE:
            self._set_finalizers(work, [name for name in finalizers if name != FINALIZER])
            return
        if self._scenario.spec.finalizers and not work.leaving and FINALIZER not in finalizers:
            self._set_finalizers(work, [*finalizers, FINALIZER])
        changes = self._statuses.of(
            work.obj.get("status"),
            report,
            work.template,
            generation=work.generation,
            now=rfc3339(clock),
        )
        self._put(work, self._hub.patch_status(work.ref, changes, work.version))

    def _set_finalizers(self, work: WorkInHand, names: list[str]) -> None:
        changes = {"metadata": {"finalizers": names}}
        self._put(work, self._hub.patch(work.ref, changes, work.version))

    def _put(self, work: WorkInHand, stored: Obj) -> None:
        work.obj, work.version = stored, int(stored["metadata"]["resourceVersion"])
        work.labels = mapping(stored["metadata"].get("labels"))

    def _note(self, words: str) -> None:
        if len(self.notes) < _MOST_NOTES:
            self.notes.append(words)
