"""Is what somebody wrote that was not his put back, and told? Promise S18."""

from collections import Counter
from collections.abc import Callable

from rollout.model import names
from rollout.model.events import Change, Event
from rollout.model.kinds import Obj, Ref
from rollout.model.writes import Create, Patch
from rollout.planning.plan import Plan
from tests.safety.allowed import allow
from tests.safety.told import Told

Blame = Callable[[str, str], None]
KEYS = ("head.json", "clusters.json")


class RepairsJudge:
    """Knows each page of the record as the engine wrote it last."""

    def __init__(self, told: Told, counts: Counter[str], blame: Blame) -> None:
        self.told, self.counts, self.blame = told, counts, blame
        self._ours: dict[Ref, Obj] = {}
        self._there: dict[Ref, Obj] = {}

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

    def planned(self, plan: Plan) -> None:
        """Whoever puts something right also says so."""
        said = {note.reason: "" for note in plan.notes}
        for note in plan.notes:
            said[note.reason] += f" {note.message}"
        for write in plan.writes:
            known = self.told.objects.get(write.ref)
            if self._is_edited(write.ref, known):
                self.counts["S18.pages_repaired"] += 1
                if write.ref.name not in said.get("RecordRepaired", ""):
                    self.blame("S18", f"{write.ref} was edited, and is repaired without a word")
            if write.ref.kind is self.told.subject.carrier and isinstance(write, Patch | Create):
                self._work(write.ref, known, said.get("WorkRepaired", ""))

    def _is_edited(self, ref: Ref, known: Obj | None) -> bool:
        """Whether the engine has heard that somebody else wrote a page after it did, or deleted it."""
        ours = self._ours.get(ref)
        if ours is None:
            return False
        if known is None:
            return ref not in self._there
        return _version(known) > _version(ours) and bool(_amiss(ours, known))

    def _work(self, ref: Ref, known: Obj | None, said: str) -> None:
        owner = self.told.owner(ref.namespace)
        if known is None or owner is None or "deletionTimestamp" in known["metadata"]:
            return
        wrong = self.told.subject.disowned(known, owner.name)
        labels = known["metadata"].get("labels") or {}
        if wrong == names.WORK_OWNER_LABEL and wrong not in labels:
            allow(self.counts, "label_taken_off")
        elif names.OWNER in wrong or names.WORK_OWNER_LABEL in wrong:
            self.counts["S18.works_repaired"] += 1
            if f"cluster {ref.namespace} " not in said:
                self.blame("S18", f"{ref} named another owner, and is repaired without a word")

    def rested(self) -> None:
        """The engine has nothing more to do: all is as it wrote it."""
        self.counts["S18.pages_judged"] += len(self._ours)
        for ref, ours in self._ours.items():
            wrong = _amiss(ours, self._there.get(ref))
            if wrong:
                self.blame("S18", f"{ref} is not put back: {wrong}")
        for ref, page in self._there.items():
            if ref not in self._ours and (page.get("data") or {}).keys() & set(KEYS):
                self.blame("S18", f"{ref} was planted, and stays")
        if not self.told.paused and not self.told.frozen:
            self._works()

    def _works(self) -> None:
        kept = self.told.held() | self.told.closed(self.told.now())
        for rollout in self.told.rollouts.values():
            for cluster in rollout.selected - kept if not rollout.hold else ():
                for carrier in self.told.carriers(cluster)[:1]:
                    wrong = self.told.subject.disowned(carrier, rollout.name)
                    if wrong:
                        self.blame("S18", f"the work of {cluster} keeps {wrong} of somebody else")
            if self.told.subject.keeps_revisions and rollout.selected and not rollout.bad:
                self.counts["S18.revisions_judged"] += 1
                if rollout.fingerprint not in self.told.kept():
                    self.blame("S18", f"revision {rollout.fingerprint} is not kept")


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
