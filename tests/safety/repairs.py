"""Is what somebody wrote that was not his put back, and told? Promise S18."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping

from rollout.model import names
from rollout.model.events import Change, Event
from rollout.model.kinds import ROLLOUT_RECORD, ROLLOUT_REVISION, Obj, Ref, ref_of
from rollout.model.writes import Create, Delete, Patch
from rollout.planning.plan import Plan
from tests.safety.allowed import allow
from tests.safety.model import Rollout
from tests.safety.told import Told

Blame = Callable[[str, str], None]
_REPAIRED = {ROLLOUT_RECORD: "RecordRepaired", ROLLOUT_REVISION: "RevisionRepaired"}
HEAD, CLUSTERS = KEYS = ("head.json", "clusters.json")


class RepairsJudge:
    """Knows each page of the record, and each revision, as the engine wrote it last."""

    def __init__(self, told: Told, counts: Counter[str], blame: Blame) -> None:
        self.told, self.counts, self.blame = told, counts, blame
        self._ours: dict[Ref, Obj] = {}
        self._there: dict[Ref, Obj] = {}
        self._templates_are_ours = True
        self._kept_by_us: set[Ref] = set()  # revisions
        self._edited: set[Ref] = set()  # of these, what was changed and is not put back yet

    def saw_template(self, event: Event, *, is_ours: bool) -> None:
        """A kept revision has changed on the hub: what somebody else took away nobody can bring back."""
        ref, gone = event.ref, event.change is Change.DELETED
        if not gone and is_ours:
            self._kept_by_us.add(ref)
            self.counts["S18.revisions_put_back"] += ref in self._edited
            self._edited.discard(ref)
        elif not gone and ref in self._kept_by_us:
            self._edited.add(ref)
        elif ref not in self._edited:
            self._kept_by_us.discard(ref)
            self._templates_are_ours = self._templates_are_ours and is_ours

    def saw(self, event: Event, *, is_ours: bool) -> None:
        """A page has changed on the hub."""
        ref, gone = event.ref, event.change is Change.DELETED
        if gone:
            self._there.pop(ref, None)
        else:
            self._there[ref] = event.obj
        if is_ours and gone:
            self._ours.pop(ref, None)
        elif is_ours:
            self._ours[ref] = event.obj

    def restart(self) -> None:
        """What a new process finds it takes for its own."""
        unlike = [ref for ref, obj in self._ours.items() if _amiss(obj, self._there.get(ref))]
        allow(self.counts, "edited_unseen", len(unlike))
        for ref in unlike:
            del self._ours[ref]
        allow(self.counts, "edited_unseen", len(self._edited))
        self._templates_are_ours = self._templates_are_ours and not self._edited
        self._kept_by_us -= self._edited
        self._edited.clear()

    def planned(self, plan: Plan) -> None:
        """Whoever puts something right also says so."""
        self._way_cleared(plan)
        said = {note.reason: "" for note in plan.notes}
        for note in plan.notes:
            said[note.reason] += f" {note.message}"
        self._makes_way_aloud(plan, said)
        for write in plan.writes:
            known = self.told.objects.get(write.ref)
            if self._is_edited(write.ref, known):
                self.counts["S18.pages_repaired"] += 1
                if write.ref.name not in said.get("RecordRepaired", ""):
                    self.blame("S18", f"{write.ref} was edited, and is repaired without a word")
            if write.ref.kind is self.told.subject.carrier and isinstance(write, Patch | Create):
                told = said.get("WorkRepaired", "") + said.get("AddOnRepaired", "")
                self._work(write.ref, known, told)

    def _way_cleared(self, plan: Plan) -> None:
        """What is in the way of a page goes, and the page comes again: without it nothing is written down."""
        made = {write.ref for write in plan.writes if isinstance(write, Create)}
        for write in plan.writes:
            ours = self._ours.get(write.ref)
            if isinstance(write, Delete) and ours is not None and self._is_live(ours):
                self.counts["S18.ways_cleared"] += 1
                if write.ref not in made:
                    self.blame("S18", f"{write.ref} was taken away, goes, and is not written again")

    def _makes_way_aloud(self, plan: Plan, said: Mapping[str, str]) -> None:
        """What goes from a name and is written anew was not ours, or not as we wrote it: that is told."""
        made = {write.ref for write in plan.writes if isinstance(write, Create)}
        for write in plan.writes:
            reason = _REPAIRED.get(write.ref.kind)
            if reason is None or not isinstance(write, Delete) or write.ref not in made:
                continue
            self.counts["S18.names_cleared"] += 1
            if write.ref.name not in said.get(reason, ""):
                self.blame("S18", f"{write.ref} was not ours, and makes way without a word")

    def _is_live(self, page: Obj) -> bool:
        """Whether a page is about a placement that the workload still has, on terms that can be read."""
        about = (page["metadata"].get("annotations") or {}).get(names.RECORD_PLACEMENT)
        return any(
            self.told.subject.share_key(rollout.name) == about and not rollout.bad
            for rollout in self.told.rollouts.values()
        )

    def _is_edited(self, ref: Ref, known: Obj | None) -> bool:
        """Whether the engine has heard that somebody else wrote a page after it did, or deleted it."""
        ours = self._ours.get(ref)
        if ours is None:
            return False
        if known is None:
            return ref not in self._there
        return _version(known) > _version(ours) and bool(_amiss(ours, known))

    def _work(self, ref: Ref, known: Obj | None, said: str) -> None:
        owner, workload = self.told.owner(ref.namespace), self.told.workload()
        if known is None or owner is None or "deletionTimestamp" in known["metadata"]:
            return
        keys = self.told.subject.disowned(workload, known, owner.name) if workload else ""
        wrong = {*filter(None, keys.split(", "))} - {names.WORK_PLACEMENT_LABEL}
        labels = known["metadata"].get("labels") or {}
        if wrong == {names.WORK_OWNER_LABEL} and not wrong & labels.keys():
            allow(self.counts, "label_taken_off")
        elif wrong:
            self.counts["S18.works_repaired"] += 1
            if f"cluster {ref.namespace} " not in said:
                self.blame("S18", f"{ref} named another owner, and is repaired without a word")

    def rested(self, kept_back: Collection[Ref]) -> None:
        """The engine has nothing more to do: all is as it wrote it.

        Args: kept_back: carriers of which the server refused the last write, which is tried again after a pause.
        """
        self.counts["S18.pages_judged"] += len(self._ours)
        for ref, ours in self._ours.items():
            wrong = _amiss(ours, self._there.get(ref))
            if wrong:
                self.blame("S18", f"{ref} is not put back: {wrong}")
        for ref, page in self._there.items():
            if ref not in self._ours and (page.get("data") or {}).keys() & set(KEYS):
                self.blame("S18", f"{ref} was planted, and stays")
        for ref, page in self._there.items():
            if HEAD in (page.get("data") or {}) and self._is_live(page):
                self._head(ref, page)
        for ref in self._edited if self.told.workload() is not None else ():
            self.blame("S18", f"{ref} was edited, and is not put back")
        if not self.told.paused and not self.told.frozen:
            self._works(kept_back)

    def _head(self, ref: Ref, page: Obj) -> None:
        """What a new process found there, it has put right, too: the first page is the head's alone."""
        self.counts["S18.heads_judged"] += 1
        workload = self.told.workload()
        owners = {each["uid"] for each in page["metadata"].get("ownerReferences") or ()}
        if CLUSTERS in page["data"]:
            self.blame("S18", f"{ref} keeps clusters that somebody wrote there")
        if workload is not None and workload["metadata"]["uid"] not in owners:
            self.blame("S18", f"{ref} is believed, and belongs to {owners or 'nobody'}")

    def _works(self, kept_back: Collection[Ref]) -> None:
        kept, workload = self.told.held() | self.told.closed(self.told.now()), self.told.workload()
        if workload is None:
            return
        for rollout in self.told.rollouts.values():
            for cluster in rollout.selected - kept if not rollout.hold else ():
                for carrier in self.told.carriers(cluster)[:1]:
                    wrong = self.told.subject.disowned(workload, carrier, rollout.name)
                    if wrong and ref_of(self.told.subject.carrier, carrier) in kept_back:
                        allow(self.counts, "repair_refused")
                    elif wrong:
                        self.blame("S18", f"the work of {cluster} keeps {wrong} of somebody else")
            if self.told.subject.keeps_revisions and rollout.selected and not rollout.bad:
                self.counts["S18.revisions_judged"] += 1
                if rollout.fingerprint not in self.told.kept():
                    self.blame("S18", f"revision {rollout.fingerprint} is not kept")
                if self._templates_are_ours:
                    self._kept(rollout)

    def _kept(self, rollout: Rollout) -> None:
        """S10: what clusters would get back is kept, however few revisions are."""
        kept = {*self.told.kept().values()}
        for cluster in rollout.back.soaked.keys() & rollout.tracks.keys():
            last, is_certain = rollout.back.last(cluster, lambda _: True)
            if not last or not is_certain:
                continue
            self.counts["S10.kept_judged"] += 1
            if last not in kept:
                self.blame("S10", f"{last} soaked last on {cluster}, and is not kept: {kept}")


def _version(obj: Obj) -> int:
    return int(obj["metadata"]["resourceVersion"])


def _amiss(ours: Obj, there: Obj | None) -> str:
    """How a page differs from what was written; keys that nobody reads say nothing."""
    if there is None:
        return "it is gone"
    said = [{key: (each.get("data") or {}).get(key) for key in KEYS} for each in (ours, there)]
    if said[0] != said[1]:
        return f"it says {said[1]}"
    wrote, has = ours["metadata"], there["metadata"]
    notes = has.get("annotations") or {}
    lost = {k: v for k, v in (wrote.get("annotations") or {}).items() if notes.get(k) != v}
    if lost:
        return f"it lacks {lost}"
    owners = [{o["uid"] for o in each.get("ownerReferences") or ()} for each in (wrote, has)]
    return "" if owners[0] <= owners[1] else "it lost its owner"
