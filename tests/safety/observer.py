"""Are the promises kept? The judge of one history: it sees every plan and every write."""

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from random import Random

from rollout.errors import Gone
from rollout.fleet.fleet import Fleet
from rollout.hub.base import Hub
from rollout.model import names
from rollout.model.events import Change, Event
from rollout.model.kinds import (
    MANIFEST_WORK,
    PLACEMENT_DECISION,
    ROLLOUT_RECORD,
    ROLLOUT_REVISION,
    Kind,
    Obj,
    Ref,
)
from rollout.planning.plan import Plan
from tests.safety import objects
from tests.safety.allowed import allow
from tests.safety.installs import InstallsJudge
from tests.safety.judging import PlanJudge
from tests.safety.model import Rollout
from tests.safety.openings import OpeningsJudge
from tests.safety.questions import Questions
from tests.safety.repairs import RepairsJudge
from tests.safety.replay import decision, difference, read_anew
from tests.safety.subject import Subject
from tests.safety.terms import QUIET, Waits, clusters_on
from tests.safety.told import Told
from tests.safety.waiting import waits
from tests.safety.written import WrittenDown

LEAST_PAUSE = timedelta(seconds=1)
"""What was refused is tried again no sooner than this."""
_BY_MEMORY = ("TornDecisions", "NotDecided", "PlacementNotFound", "NoTargets")
"""Holds under which the selection is the one before, which a new process cannot know."""


class Violation(AssertionError):
    """A promise was broken."""

    def __init__(self, promise: str, message: str) -> None:
        super().__init__(f"{promise}: {message}")
        self.promise = promise


class Judge:
    """Sees every plan, attempt and write of one history. Collects violations, counts guards."""

    def __init__(
        self,
        subject: Subject,
        hub: Hub,
        now: Callable[[], datetime],
        counts: Counter[str],
        waits: Waits = Waits(),  # noqa: B008 - a constant
    ) -> None:
        self.subject, self.hub, self.now, self.counts = subject, hub, now, counts
        self.violations: list[Violation] = []
        self.pending: Callable[[], None] | None = None  # a plan that is not carried out yet
        self.is_ours = False  # the engine is writing just now
        self.hears_reads = True  # what the engine reads live is told here
        self._asked: set[str] = set()  # placements whose decisions were read since the last plan
        self.told = Told(subject, self.now, waits, self.counts)
        self.plans = PlanJudge(self.told, self.counts, self.blame)
        self.written: Counter[tuple[str, str]] = (
            Counter()
        )  # cluster, revision -> how often we brought it
        self._made: dict[str, set[str]] = {}  # cluster -> names of carriers that we created
        self._had: dict[str, str] = {}  # cluster -> revision, as the hub has it
        self._woken_by: dict[Ref, object] = {}  # the generation and labels of a carrier
        self._going: set[str] = set()  # uids of carriers that are deleted, or about to be
        # Of each cluster: when it was removed last, and whether its ManagedCluster stays.
        self._removed: dict[str, tuple[datetime, bool]] = {}
        self._brings = False  # what goes out just now brings something to a cluster
        self._brought = ""  # and what that is
        self._tells = False  # what goes out is a status of the workload
        self._refused: dict[
            Ref, tuple[str, datetime, str]
        ] = {}  # what was refused, when, of which placement
        self.lag = timedelta(0)  # so long a write may take, while which nothing else is looked at
        self._kept_back: set[Ref] = (
            set()
        )  # refused, with nothing for a cluster in it: to be tried again
        self.written_down = WrittenDown(self.told, self.counts, self.blame)
        self.repairs = RepairsJudge(self.told, self.counts, self.blame)
        self.installs = InstallsJudge(self.told, self.counts, self.blame)
        self.openings = OpeningsJudge(self.told, self.counts, self.blame)
        self.questions = Questions(self.told, self.hub, self.counts)
        self.hub.watch(subject.carrier, 0, self._saw)
        self.hub.watch(ROLLOUT_RECORD, 0, self._saw_page)
        self.hub.watch(ROLLOUT_REVISION, 0, self._saw_template)

    def blame(self, promise: str, message: str) -> None:
        self.violations.append(Violation(promise, f"at {self.now():%H:%M:%S.%f}: {message}"))

    # -- what the engine hears and tries -----------------------------------------------------------

    def heard(self, ref: Ref, obj: Obj | None, version: int) -> None:
        if obj is not None and ref.kind is MANIFEST_WORK:
            self._count_stale(obj)
        self.told.hear(ref, obj, version)

    def listed(self, kind: Kind, found: set[Ref], version: int) -> None:
        for ref in self.told.known(kind) - found:
            self.told.hear(ref, None, version)

    def asked(self, kind: Kind, labels: Mapping[str, str]) -> None:
        """Some objects of a kind were read live."""
        if kind is PLACEMENT_DECISION:
            self._asked.add(labels.get(names.PLACEMENT_LABEL, ""))

    def attempted(self, ref: Ref, changes: Obj) -> None:
        """A write goes out; it may yet fail."""
        self._tells = ref == self.subject.ref and "status" in changes
        if ref.kind is self.subject.carrier:
            before = self.told.objects.get(ref)
            revision = self.subject.brought(before, changes, self.told.objects.get)
            if not revision:
                plans = self.plans
                expected = plans.retrying if "status" in changes else plans.creating
                revision = expected.get(ref.namespace, "")
            self._brings, self._brought = bool(revision), revision
            tried, at, placement = self._refused.get(ref, ("", self.now(), ""))
            # Another placement that comes to own the cluster knows nothing of it, and tries once.
            again = tried == revision != "" and placement == self._owner(ref)
            self.counts["R4.tried_again"] += again
            if again and self.now() < at + LEAST_PAUSE:
                self.blame("R4", f"{ref} was refused {self.now() - at} ago, and is tried again")
            self._attempt(ref, revision)

    def _attempt(self, ref: Ref, revision: str) -> None:
        rollout = self.told.owner(ref.namespace)
        if rollout is None or not revision:
            return
        track = rollout.tracks.get(ref.namespace)
        again = ref.namespace in self.plans.retrying
        if track is None or track.revision != revision or again:
            self._recorded(rollout)
        rollout.attempt(ref.namespace, revision, self.now(), again=again)

    def _recorded(self, rollout: Rollout) -> None:
        """R1: what a touch depends on has been written down before."""
        if self.told.is_ocm:
            allow(self.counts, "as_ocm")  # it depends on nothing but what agents say
            return
        lines = self.written_down.thought(rollout.name)
        for stage in rollout.plan.stages:
            for cluster in stage.members:
                track = rollout.current(cluster)
                if track and track.exact and track.landed and (track.soaked or track.failed):
                    if track.maybe_soaked or rollout.may_still_soak(track, self.now()):
                        allow(self.counts, "soaks_by_outages")
                        continue
                    self.counts["R1.verdict_before_touch"] += 1
                    if not lines.get(cluster, {}).get("verdict"):
                        self.blame("R1", f"a touch goes out, but no verdict on {cluster} is kept")

    def writing(self, *, is_ours: bool) -> None:
        """Whether what the hub tells now follows from a write of the engine."""
        self.is_ours = is_ours

    def _owner(self, carrier: Ref) -> str:
        rollout = self.told.owner(carrier.namespace)
        return rollout.name if rollout else ""

    def refused(self, ref: Ref) -> None:
        self.installs.refused(ref)
        if not self._brings:
            self._kept_back.add(ref)  # it says something about the cluster, no more
            return
        self._refused[ref] = self._brought, self.now(), self._owner(ref)
        there = self.told.carries(ref.namespace)
        if there is not None and there.revision == self._brought:
            self._kept_back.add(ref)  # another attempt at what is there
        rollout = self.told.owner(ref.namespace)
        track = rollout.tracks.get(ref.namespace) if rollout else None
        if rollout is not None and track is not None:
            rollout.refuse(ref.namespace, track.revision, self.now())

    def wrote(self, ref: Ref) -> None:
        """A write was answered: the record of its plan has been written before."""
        self._kept_back.discard(ref)
        known = self.told.objects.get(ref)
        if ref.kind is MANIFEST_WORK and known and known["metadata"]["uid"] in self._going:
            self.told.going(ref, known)
        if ref.kind in (self.subject.carrier, self.subject.ref.kind):
            self.written_down.all()
        if ref == self.subject.ref and self._tells:
            self.plans.statuses.landed()

    # -- what it decides ---------------------------------------------------------------------------

    def planned(self, plan: Plan, fleet: Fleet, now: datetime) -> None:
        self.repairs.planned(plan)
        self.plans.judge(plan, fleet, now)
        self._asked.clear()
        self.written_down.plan()

    def rested(self, fleet: Fleet, next_at: datetime | None, *, closely: bool) -> None:
        """The engine has nothing more to do at this instant, and nothing went wrong on the way.

        ``next_at``: when its next timer fires. ``closely``: look at what costs time as well.
        """
        now = self.now()
        self.repairs.rested(self._kept_back)
        if self.told.is_ocm:
            allow(self.counts, "as_ocm")
            if closely:
                self._ask_again(fleet, now)
            return
        self.installs.rested(now)
        self.openings.rested(now)
        for rollout in self.told.rollouts.values():
            self._lost(rollout)
            self._forged(rollout)
            if not rollout.known_terms:
                allow(self.counts, "nothing_agreed")  # nor how long anything has to last
                continue
            change = rollout.next_change(now)
            if change is None:
                continue
            if change[1] not in rollout.selected:
                allow(self.counts, "in_no_stage")
                continue
            self._timer(f"{change[1]} changes", change[0], next_at)
        for what, at in self.told.next_ends(now):
            self.counts["L1.ends_judged"] += 1
            self._timer(what, at, next_at)
        if closely:
            self._rest_closely(fleet, now)

    def _lost(self, rollout: Rollout) -> None:
        """S17: who was lost is remembered as lost."""
        if not rollout.lost:
            return
        lines = self.written_down.of(rollout.name)
        self.counts["S17.remembered"] += 1
        mine = rollout.lost.keys() - rollout.lent  # the others are another placement's to remember
        forgotten = [c for c in mine if not lines.get(c, {}).get("lostFrom")]
        if forgotten:
            self.blame("S17", f"{forgotten} were lost, and the record does not say so")

    def _forged(self, rollout: Rollout) -> None:
        """S18: what somebody wrote into the record is put back."""
        for cluster, line in self.written_down.of(rollout.name).items():
            track = rollout.current(cluster)
            if track is None or line.get("verdict") != "Soaked":
                continue
            if line.get("revision") != rollout.fingerprint:
                continue  # of what somebody wrote into a work, where a new process found it
            self.counts["S18.verdicts"] += 1
            if not rollout.has_soaked(track, self.now()):
                self.blame("S18", f"the record says that {cluster} has soaked, and it has not")

    def _timer(self, what: str, at: datetime, next_at: datetime | None) -> None:
        """L1: the engine looks again when time alone changes something."""
        self.counts["L1.timers_judged"] += 1
        if next_at is not None and at < next_at <= at + self.lag:
            allow(self.counts, "heard_late")
        elif next_at is None or next_at > at:
            self.blame("L1", f"{what} at {at:%H:%M:%S}, the next look is {next_at}")

    def _ask_again(self, fleet: Fleet, now: datetime) -> None:
        """R5: asked again, there is nothing new to write; nor is there for whoever reads it all anew."""
        if self._kept_back:
            allow(self.counts, "kept_back")
            return
        ref = self.subject.ref
        again = self.subject.planner().plan(ref.key, fleet, now)
        self.counts["R5.asked_again"] += 1
        if again.writes:
            self.blame("R5", f"asked again, it writes {[str(w.ref) for w in again.writes]}")
        rollouts = self.told.rollouts.values()
        if any(r.hold in _BY_MEMORY or r.bad or r.quiet_until for r in rollouts) or self._pauses():
            allow(self.counts, "by_memory")
            return
        self.counts["R5.replayed_midway"] += 1
        self.replay(fleet, now)

    def _pauses(self) -> bool:
        """Whether a write that was refused waits to be tried again: a new process tries at once."""
        for ref, (revision, _, _) in self._refused.items():
            owner, there = self.told.owner(ref.namespace), self.told.carries(ref.namespace)
            track = owner.tracks.get(ref.namespace) if owner is not None else None
            lacks_it = there is None or there.revision != revision
            if track is not None and track.revision == revision and lacks_it:
                return True
        return False

    def _rest_closely(self, fleet: Fleet, now: datetime) -> None:
        """L3: who is overdue has a verdict."""
        self._ask_again(fleet, now)
        rollouts = self.told.rollouts.values()
        if any(r.hold in _BY_MEMORY or r.bad or r.quiet_until for r in rollouts):
            allow(self.counts, "by_memory")
        else:
            self.questions.ask(fleet.policy, now, self.blame)
        kept_back = {r.namespace for r in self._kept_back}
        waits(self.told, fleet, now, self.counts, self.blame, kept_back)
        for rollout in self.told.rollouts.values():
            if not rollout.known_terms:
                allow(self.counts, "nothing_agreed")  # no deadline is known yet
                continue
            lines = self.written_down.of(rollout.name)
            for cluster in rollout.selected - (rollout.terms.skip if rollout.terms else set()):
                track = rollout.current(cluster)
                if not (track and track.failed) or track.soaked:
                    continue
                self.counts["L3.silent_for_too_long"] += track.health == "silent"
                if lines.get(cluster, {}).get("verdict") != "Failed":
                    self.blame("L3", f"{cluster} is overdue, and the record does not say so")

    def replay(self, fleet: Fleet, at: datetime) -> None:
        """R5: who reads the hub anew, in whatever order, decides at that instant what we decide."""
        ours = decision(self.subject, fleet, at)
        for dice in (None, Random(0)):
            anew = read_anew(self.subject, self.hub, at - QUIET, fleet.policy, dice)
            wrong = difference(ours, decision(self.subject, anew, at))
            if wrong:
                how = "in any order" if dice else "in order"
                self.blame("R5", f"read anew {how}, it decides otherwise: {wrong}")

    def read_all(self, now: datetime) -> None:
        """A new process has read everything. Of what was before it knows what is written down."""
        self.repairs.restart()
        recorded = self.written_down.clusters()
        if None in recorded.values():
            self._removed.clear()
        self._refused.clear()  # nobody writes refusals down: each process may try once
        self._kept_back.clear()
        self.installs.restart()
        self.told.listed_all(now, recorded)

    # -- what lands --------------------------------------------------------------------------------

    def _saw(self, event: Event) -> None:
        """A change of the hub, by anybody."""
        obj, cluster = event.obj, event.ref.namespace
        if not self.subject.is_ours(obj):
            return
        if event.change is not Change.DELETED:
            found = self.subject.carried(obj, self._there)
            revision = found.revision if found else ""
            if self.is_ours and self._had.get(cluster) != revision != "":
                self.written[cluster, revision] += 1
            self._had[cluster] = revision
            for rollout in self.told.rollouts.values():
                rollout.land(cluster, revision, self.now())
        self._wakes(event)
        uid = obj["metadata"]["uid"]
        was_going = uid in self._going
        if event.change is Change.DELETED or "deletionTimestamp" in obj["metadata"]:
            self._going.add(uid)
        if not self.is_ours:
            return
        if event.change is Change.ADDED:
            self._created(event.ref)
        elif uid in self._going and not was_going:
            self._deleted(event.ref)

    def _wakes(self, event: Event) -> None:
        """L1: another attempt reaches the agent of a work, which wakes for another spec or label alone."""
        meta = event.obj["metadata"]
        before, after = self._woken_by.get(event.ref), (meta["generation"], meta.get("labels"))
        self._woken_by[event.ref] = after
        retried = self.is_ours and event.ref.namespace in self.plans.retrying
        if event.ref.kind is MANIFEST_WORK and event.change is Change.MODIFIED and retried:
            self.counts["L1.attempts"] += 1
            if before == after:
                self.blame("L1", f"no agent notices that {event.ref} is to be tried again")

    def _there(self, ref: Ref) -> Obj | None:
        try:
            return self.hub.get(ref)
        except Gone:
            return None

    def _saw_page(self, event: Event) -> None:
        self.repairs.saw(event, is_ours=self.is_ours)
        self.written_down.saw(event, is_ours=self.is_ours)

    def _saw_template(self, event: Event) -> None:
        self.repairs.saw_template(event, is_ours=self.is_ours)

    def _created(self, ref: Ref) -> None:
        made = self._made.setdefault(ref.namespace, set())
        made.add(ref.name)
        self.counts["S9.carriers_created"] += 1
        if len(made) > 1:
            self.blame("S9", f"carriers of several names were created in {ref.namespace}: {made}")
        if self.told.carriers(ref.namespace):
            self.blame("S9", f"a second carrier was created in {ref.namespace}")

    def _deleted(self, ref: Ref) -> None:
        cluster = ref.namespace
        others = [w for w in self.carriers(cluster) if w["metadata"]["name"] != ref.name]
        if others:
            self.counts["S9.twins_removed"] += 1
            return
        unasked = self.told.rollouts.keys() - self._asked
        if unasked and not self.hears_reads:
            allow(self.counts, "reads_unheard")
        elif unasked:
            self.blame("S11", f"what {cluster} has went, and nobody read {sorted(unasked)} live")
        for rollout in self.told.rollouts.values():
            pages = self.hub.list(
                PLACEMENT_DECISION, objects.NAMESPACE, {names.PLACEMENT_LABEL: rollout.name}
            ).items
            if any(cluster in clusters_on(page) for page in pages):
                self.blame("S11", f"what {cluster} has went, though {rollout.name} selects it")
        self._brake(cluster, self.told.is_there(cluster))

    def _brake(self, cluster: str, is_there: bool) -> None:
        """How many clusters went lately: one that came back meanwhile, and goes again, went once."""
        now, window = self.now(), timedelta(minutes=10)
        lately = {c: each for c, each in self._removed.items() if now < each[0] + window}
        self._removed = {**lately, cluster: (now, is_there)}
        edited, planned = self.told.edited_at, now - self.lag
        if edited is not None and planned < edited + window:
            return
        if self.told.are_removals_released(planned):
            return
        self.counts["S11.removals"] += 1
        count = len(self._removed)
        total = sum(len(r.selected) for r in self.told.rollouts.values()) + count
        if count > 10 and count * 100 > 20 * total:
            self.blame("S11", f"{count} of {total} clusters were removed within 10 minutes")
        if not is_there:
            self.counts["S11.detached"] += 1
        if not is_there or self.told.is_ocm:
            return
        count = sum(there for _, there in self._removed.values())
        left = total - len(self._removed)
        if count > left:
            self.blame("S11", f"{count} clusters were removed within 10 minutes, {left} are left")

    def carriers(self, cluster: str) -> list[Obj]:
        """Carriers of the workload there as they are, without those being deleted."""
        return [
            obj
            for obj in self.hub.list(self.subject.carrier, cluster).items
            if self.subject.is_ours(obj) and "deletionTimestamp" not in obj["metadata"]
        ]

    def carried(self, cluster: str) -> tuple[str, ...]:
        """Which revisions a cluster has, by what the hub holds."""
        found = (self.subject.carried(obj, self._there) for obj in self.carriers(cluster))
        return tuple(each.revision if each else "" for each in found)

    def _count_stale(self, obj: Obj) -> None:
        generation = obj["metadata"].get("generation")
        for condition in (obj.get("status") or {}).get("conditions") or []:
            if condition.get("observedGeneration") != generation:
                self.counts["S6.stale_statuses"] += 1
                return
