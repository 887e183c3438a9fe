"""Plans the writes of a ClusterManagementAddOn.

The same waves as for ManifestWorks: the record, then what its clusters are told, then removals, then
the status. A touch is the write that changes the configReferences of a ManagedClusterAddOn; telling
how it stands is no touch. Source: OCM add-on spec 2; semantics rows 12-27.
"""

from collections.abc import Mapping
from datetime import datetime
from functools import partial

from rollout.model.addon import AddOn, ClusterAddOn, Configs
from rollout.model.conditions import Condition, condition_in, merge
from rollout.model.kinds import CLUSTER_MANAGEMENT_ADDON, Obj
from rollout.model.waits import Reason, Wait
from rollout.model.writes import Delete, PatchStatus, Touch
from rollout.planning.addons_install import (
    addon_ref,
    disowned_addons,
    new_addon,
    owned,
    uninstalls,
)
from rollout.planning.addons_status import (
    AddOnShareReport,
    halted,
    is_of,
    progression_of,
    status_of,
)
from rollout.planning.notes import (
    STARTED,
    calendar_notes,
    cleared_notes,
    repair_notes,
    step_notes,
    told_as,
    verdict_on,
)
from rollout.planning.passes import Pass
from rollout.planning.plan import NOTHING, Note, Plan, Write
from rollout.planning.removals import NONE, Removals, counted
from rollout.planning.views import AddOnView
from rollout.rollouts.addon_configs import (
    CONFIGURED,
    NOT_CONFIGURED,
    ConfigsToTell,
    in_order,
    progress,
    reference_wire,
    references,
)
from rollout.rollouts.addon_share import AddOnShare
from rollout.rollouts.addon_workload import AddOnWorkload
from rollout.rollouts.facts import Checked, Decided
from rollout.rollouts.line import cause_of
from rollout.strategies.base import NOTHING_CLOSED, Step


class AddOnPlanner:
    """Plans one ClusterManagementAddOn and all its ManagedClusterAddOns."""

    kind = CLUSTER_MANAGEMENT_ADDON

    def plan(self, key: str, view: AddOnView, now: datetime) -> Plan:
        """The writes that are due now; nothing where everything is as it should be."""
        workload = view.workload(key)
        if workload is None or workload.addon is None or workload.addon.deleting:
            return NOTHING
        if not workload.addon.is_managed:
            told = status_of(workload.addon, workload.ref, workload.defaults, (), halts={}, now=now)
            return Plan(((told,),)) if told else NOTHING
        return _AddOnPass(workload, workload.addon, view, now).plan()


class _AddOnPass(Pass):
    """One look at one add-on."""

    def __init__(
        self, workload: AddOnWorkload, addon: AddOn, view: AddOnView, now: datetime
    ) -> None:
        super().__init__(now)
        self.workload, self.addon, self.view = workload, addon, view
        self.shut = NOTHING_CLOSED
        self.decided: dict[str, Decided] = {}
        self._touched: set[str] = set()
        self._says: set[str] = set()  # clusters whose ManagedClusterAddOn says what it should
        self._owned: set[str] = set()  # those with the metadata that they should have

    def plan(self) -> Plan:
        workload, addon, now = self.workload, self.addon, self.now
        freeze, as_ocm = self.view.freeze(now), workload.is_ocm
        hold = self.held(addon, freeze, workload.unwritten, as_ocm=as_ocm)
        decided = self._decide(hold)
        steps = {key: each.step for key, each in decided.items()}
        gone = self._uninstalls() if hold is None else NONE
        self.decided = decided = counted(workload, decided, gone.writes, view=self.view, now=now)
        self._touched.update(write.ref.namespace for write in gone.writes)
        writes = self._brought(steps) if hold is None else []
        writes += self._statuses(hold)
        reports = self._reports()
        halts = {
            r.share.placement.key: halted(r, hold, gone.hold, addon.generation) for r in reports
        }
        status = status_of(
            addon, workload.ref, workload.defaults, reports, halts=halts, now=now, shut=self.shut
        )
        untold_until = workload.untold_until()
        if untold_until is not None and untold_until > now:
            status, halts = None, {}
            self.recheck(untold_until)
        for at in (*(s.recheck_at for s in steps.values()), workload.next_quiet(), gone.recheck_at):
            self.recheck(at)
        waves = (
            self.told(workload.ref, addon, decided, self.view),
            *self._pages(),
            writes,
            gone.writes + self._forgotten(),
            self.analyses(workload.ref, self.addon, decided, self.view.measured),
            [status] if status else [],
        )
        return Plan(
            tuple(tuple(wave) for wave in waves if wave),
            recheck_at=min(self.rechecks, default=None),
            notes=self._notes(steps, halts, status, gone.hold),
            braked=gone.hold,
            facts=(*decided.values(), *self._checked()),
        )

    def _decide(self, hold: Wait | None) -> dict[str, Decided]:
        """What is to be done in each placement."""
        self.shut = self.closed(self.view.closed(self.workload.ref, self.now), self.addon.intents)
        self.decided = {
            key: share.live.decide(hold or share.hold, self.now, closed=self.shut)
            for key, share in self.workload.shares.items()
        }
        return self.decided

    def _reports(self) -> list[AddOnShareReport]:
        """Each placement, with how many clusters are told to change though the add-on is there."""
        installed = self.workload.installed
        return [
            AddOnShareReport(s, known, sum(installed(c) is not None for c in known.step.touch))
            for s, known in zip(self.workload.shares.values(), self.decided.values(), strict=True)
        ]

    def _uninstalls(self) -> Removals:
        return uninstalls(self.workload, self.addon, self.view, self.now, shut=self.shut.removal)

    def _brought(self, steps: Mapping[str, Step]) -> list[Write]:
        """What brings configurations to clusters, restores them, and keeps the add-on installed."""
        found: list[Write] = []
        for key, share in self.workload.shares.items():
            found += self._touches(share, key, steps[key])
            found += self._restored(share, key)
        found += self._installs()
        own = owned(self.workload, self.addon, self._touched, self._owned)
        self.notes += disowned_addons(self.workload, self.addon, own)
        return found + own

    def _pages(self) -> tuple[list[Write], list[Write]]:
        """What clears the way for pages of the record, and the pages that have changed."""
        if self.is_unwritten:
            return [], []
        books = {key: share.live.book for key, share in self.workload.shares.items()}
        clear = [write for book in books.values() for write in book.leftovers()]
        edited = [book.edited for book in books.values()]
        self.notes += cleared_notes(self.workload.ref, clear, edited)
        known = self.decided
        return [*clear], [
            write
            for key, book in books.items()
            for write in book.writes(known[key].head, known[key].lines)
        ]

    def _checked(self) -> tuple[Checked, ...]:
        """The clusters that were found to be in order, where there are any."""
        if not self._says and not self._owned:
            return ()
        ref = self.workload.ref
        return (Checked(workload=ref, says=frozenset(self._says), owned=frozenset(self._owned)),)

    # -- configurations ------------------------------------------------------------------------

    def _touches(self, share: AddOnShare, key: str, step: Step) -> list[Write]:
        found: list[Write] = []
        revision = share.live.ledger.rollout.revision
        for cluster in step.touch:
            cause = cause_of(share.live.ledger.standings.get(cluster), revision)
            touch = Touch(self.workload.ref, key, cluster, first=True, cause=cause)
            found += self._bring(cluster, revision, touch)
        return found

    def _restored(self, share: AddOnShare, key: str) -> list[Write]:
        """Clusters that do not carry what they are supposed to (row 24). What is touched in this
        pass is to have something else from now on.
        """
        if self.workload.is_ocm:
            return []  # nothing is restored where OCM decides
        found: list[Write] = []
        shut = self.shut.restore
        for cluster in sorted(share.live.astray - self.workload.held - self._touched):
            if self.workload.members.get(cluster) != key:
                continue  # another placement owns it while this one's decisions cannot be read
            if cluster in shut.waits:
                self.recheck(shut.until)
                continue
            if self.is_refused(share.live, cluster):
                continue
            revision = share.live.ledger.standings[cluster].revision
            touch = Touch(self.workload.ref, key, cluster, first=False, cause="Restore")
            found += self._bring(cluster, revision, touch)
        return found

    def _bring(self, cluster: str, revision: str, touch: Touch) -> list[Write]:
        """Bring a revision to a cluster; where nothing is installed, installing is the first step."""
        installed = self.workload.installed(cluster)
        if installed is None:
            self._touched.add(cluster)
            return [new_addon(self.workload, self.addon, cluster, touch)]
        configs = self.workload.configs_of(cluster, revision)
        if configs is None and not touch.first:
            configs = self.workload.with_its_own(cluster)
        if configs is None:
            return []  # a revision that nobody remembers, or a configuration that is missing
        is_newest = configs == self.workload.meant_for(cluster)
        write = self._status(installed, configs, configured=is_newest, touch=touch)
        self._touched.add(cluster)
        return [write] if write else []

    def _installs(self) -> list[Write]:
        """Installing is not throttled; where a configuration is missing it waits for that. What a person
        holds is left alone.
        """
        found: list[Write] = []
        for cluster in self.workload.to_install():
            if cluster in self._touched or cluster in self.workload.held:
                continue
            if cluster in self.shut.touch.waits:
                self.recheck(self.shut.touch.until)
                continue
            key = self.workload.members[cluster]
            share = self.workload.shares[key]
            if share.hold is not None and share.hold.reason != Reason.NO_TARGETS:
                continue
            if self.is_refused(share.live, cluster):
                continue
            touch = Touch(self.workload.ref, key, cluster, first=False, cause="Install")
            found.append(new_addon(self.workload, self.addon, cluster, touch))
        return found

    def _statuses(self, hold: Wait | None) -> list[Write]:
        """ManagedClusterAddOns that do not say how they stand; none is told to change that is held or shut."""
        found: list[Write] = []
        for cluster in sorted(self.workload.untold):
            if cluster in self._touched:
                continue
            installed, told = self.workload.installed(cluster), self.workload.told(cluster)
            if installed is None or told is None:
                self._says.add(cluster)
                continue
            carried = in_order(installed.desired)
            is_shut = cluster in self.shut.touch.waits
            is_held = hold is not None or cluster in self.workload.held
            is_kept = told.configs != carried and (is_held or is_shut)
            if is_kept:
                told = ConfigsToTell(carried, configured=False)
                self.recheck(self.shut.touch.until if is_shut else None)
            owner = self.workload.members.get(cluster, "")
            cause = "Status" if told.configs == carried else "Configure"
            touch = Touch(self.workload.ref, owner, cluster, first=False, cause=cause)
            write = self._status(installed, told.configs, configured=told.configured, touch=touch)
            if write is not None:
                found.append(write)
            elif not is_kept:  # what is kept back is told once nothing keeps it back any more
                self._says.add(cluster)
        return found

    def _status(
        self, installed: ClusterAddOn, configs: Configs, *, configured: bool, touch: Touch
    ) -> PatchStatus | None:
        """What a ManagedClusterAddOn is to say; None where it does.

        A touch is written even so: the attempt that a person asks for begins with its landing.
        """
        refs = references(installed, configs, self.workload.known)
        works = self.workload.works(installed.cluster)
        progressing, applied = progress(installed, refs, works)
        wires = [reference_wire(ref) for ref in refs]
        if applied:
            wires = [{**wire, "lastAppliedConfig": wire["desiredConfig"]} for wire in wires]
        said: Obj = installed.raw.get("status") or {}
        told: tuple[Condition, ...] = (CONFIGURED if configured else NOT_CONFIGURED, progressing)
        before = [c for c in said.get("conditions") or [] if isinstance(c, dict)]
        conditions = merge(before, told, self.now)
        same = refs == installed.references and (
            not applied or all(ref.applied == ref.desired for ref in refs)
        )
        if same and conditions == before and not touch.first:
            return None
        status: Obj = {"configReferences": wires, "conditions": conditions}
        ref = addon_ref(installed.cluster, installed.name)
        return PatchStatus(ref, status, installed.version, touch)

    def _forgotten(self) -> list[Write]:
        """Records of placements that are gone, once nothing of theirs is left."""
        pages = self.view.abandoned(self.workload.ref) if not self.workload.strays else []
        return [Delete(ref, uid) for ref, uid in pages]

    # -- words ---------------------------------------------------------------------------------

    def _notes(
        self,
        steps: Mapping[str, Step],
        halts: Mapping[str, Condition],
        status: PatchStatus | None,
        braked: Wait | None,
    ) -> tuple[Note, ...]:
        before = _first_progression(self.addon.raw.get("status") or {})
        after = _first_progression(status.status) if status is not None else before
        found = calendar_notes(self.workload.ref, before, after)
        for key, step in steps.items():
            found += step_notes(self.workload.ref, key, step, partial(verdict_on, self.decided))
            if key in halts:
                found += self._turn(key, halts[key])
        if braked is not None and not self.workload.shares:  # its status has no place to say so
            found += (Note(self.workload.ref, "RolloutHeld", braked.message, warning=True),)
        books = [share.live.book for share in self.workload.shares.values()]
        repaired = repair_notes(self.workload.ref, [book.edited for book in books])
        return (*found, *repaired, *self.notes)

    def _turn(self, key: str, now: Condition) -> list[Note]:
        """A change of what stands in the way."""
        share = self.workload.shares[key]
        old = progression_of(self.addon, share.placement)
        condition = condition_in(old.get("conditions"), now.type)
        before = condition.reason if condition is not None else ""
        if before == now.reason:
            return []
        had_begun = is_of(old, share.configs) and share.updated > 0
        event, warning = told_as(now.reason, before, had_begun=had_begun)
        if self.is_retry and event == STARTED:
            return []  # told when the record was refused for the first time
        text = f"placement {key}: {now.message or now.reason}"
        return [Note(self.workload.ref, event, text, warning=warning)]


def _first_progression(status: Obj) -> Obj:
    """What is said of calendars is said at every placement."""
    return next(iter(status.get("installProgressions") or []), {})
