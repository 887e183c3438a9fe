"""Does whoever loses a carrier, or gets another owner, do so rightly? Promises S9 and S11."""

from collections import Counter
from collections.abc import Callable

from rollout.model import names
from rollout.model.kinds import Ref
from rollout.model.writes import Create, Delete, Patch
from rollout.planning.plan import Plan
from tests.safety.allowed import allow
from tests.safety.told import Told

Blame = Callable[[str, str], None]


class OwnersJudge:
    """Judges what a plan removes and relabels."""

    def __init__(self, told: Told, counts: Counter[str], blame: Blame) -> None:
        self.told, self.counts, self.blame = told, counts, blame
        self.subject = told.subject

    def judge(self, plan: Plan) -> None:
        self._held(plan)
        self._deletes(plan)
        self._labels(plan)

    def _held(self, plan: Plan) -> None:
        """S8: from what a person holds nothing is taken away, and nothing there is changed. In profile
        ``ocm`` OCM's rules choose who is touched and who loses it, and know of nobody who is held.
        """
        held = self.told.held()
        self.counts["S8.held_deselected"] += any(
            self.told.owner(cluster) is None and self.told.carriers(cluster) for cluster in held
        )
        for write in plan.writes:
            if write.ref.kind is not self.subject.carrier or write.ref.namespace not in held:
                continue
            brings = isinstance(write, Patch | Create) and write.touch is not None
            if self.told.is_ocm and (brings or isinstance(write, Delete)):
                allow(self.counts, "as_ocm")
                continue
            if isinstance(write, Delete | Patch | Create):
                self.blame("S8", f"{write.ref} is written to or removed, though held: {write}")

    def _deletes(self, plan: Plan) -> None:
        """S11: on a consistent and quiet read alone, and never while a placement is missing."""
        rollouts = self.told.rollouts.values()
        torn = [r.name for r in rollouts if r.hold in ("TornDecisions", "NotDecided")]
        missing = [r.name for r in rollouts if r.hold == "PlacementNotFound"]
        quiet = [r.name for r in rollouts if r.quiet_until is not None]
        if torn:
            self.counts["S11.torn"] += 1
        for write in plan.writes:
            if not isinstance(write, Delete) or write.ref.kind is not self.subject.carrier:
                continue
            cluster, carrier = write.ref.namespace, self.told.objects.get(write.ref)
            if len(self.told.carriers(cluster)) > 1 and self.told.owner(cluster):
                continue  # twins
            if torn or quiet:
                self.blame("S11", f"{write.ref} is removed; torn {torn}, not quiet {quiet}")
            if self.told.owner(cluster) is not None:
                self.blame("S11", f"{write.ref} is removed, though it is selected")
            if missing:
                self.blame(
                    "S11", f"{write.ref} is removed; {missing} may select it, if it comes back"
                )
            kept = self.subject.may_not_go(carrier) if carrier else ""
            if kept:
                self.blame("S11", f"{write.ref} is removed, but {kept}")

    def _labels(self, plan: Plan) -> None:
        """S9: a carrier is relabelled only when its cluster has another owner."""
        for write in plan.writes:
            if not isinstance(write, Patch) or write.ref.kind is not self.subject.carrier:
                continue
            labels = (write.changes.get("metadata") or {}).get("labels") or {}
            new, old = labels.get(names.WORK_PLACEMENT_LABEL), self._label(write.ref)
            if new and new != old:
                self.counts["S9.relabelled"] += 1
                owner = self.told.owner(write.ref.namespace)
                if owner is None or owner.name != new:
                    self.blame("S9", f"{write.ref} is given to {new}, its owner is {owner}")

    def _label(self, ref: Ref) -> str:
        obj = self.told.objects.get(ref)
        labels = (obj["metadata"].get("labels") or {}) if obj else {}
        return str(labels.get(names.WORK_PLACEMENT_LABEL, ""))
