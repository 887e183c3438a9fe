"""What do people do to a ManifestWorkReplicaSet and its works? One method per verb of a script."""

from collections.abc import Callable, Mapping
from random import Random

from rollout.hub.base import Hub
from rollout.model import names
from rollout.model.kinds import MANIFEST_WORK, Obj, Ref
from tests.safety.replicasets import (
    NAME,
    WORKLOAD,
    fingerprint,
    refs,
    replica_set,
    revision_of,
    template,
)
from tests.safety.setting import Setting


class ReplicaSetHands:
    """Implements `tests.safety.subject.Editor`. ``soon`` calls a function after a random span."""

    def __init__(
        self,
        setting: Setting,
        hub: Hub,
        dice: Random,
        soon: Callable[[Callable[[], None]], None],
    ) -> None:
        self._setting, self._hub, self._dice, self._soon = setting, hub, dice, soon

    def create(self, strategies: Mapping[str, Obj], notes: Mapping[str, str]) -> None:
        self._hub.create(WORKLOAD, replica_set("r1", self._setting.rules, strategies, notes))

    def edit(
        self, *, strategies: Mapping[str, Obj] | None = None, notes: Obj | None = None
    ) -> None:
        self._edit({} if strategies is None else {"placementRefs": refs(strategies)}, notes)

    def strategies(self) -> dict[str, Obj]:
        listed = self._hub.get(WORKLOAD)["spec"]["placementRefs"]
        return {ref["name"]: ref.get("rolloutStrategy") or {"type": "All"} for ref in listed}

    def roll_out(self, revision: str) -> None:
        self._edit({"manifestWorkTemplate": template(revision, self._setting.rules)})

    def asked(self) -> str:
        return revision_of(self._hub.get(WORKLOAD)["spec"]["manifestWorkTemplate"])

    @property
    def ref(self) -> Ref:
        return WORKLOAD

    def fingerprints(self, revision: str = "") -> tuple[str, ...]:
        return (fingerprint(revision or self.asked(), rules=self._setting.rules),)

    def overlap(self) -> None:
        listed = self._hub.get(WORKLOAD)["spec"]["placementRefs"]
        self._edit({"placementRefs": list(reversed(listed))})

    def heal(self, revision: str, strategies: Mapping[str, Obj], notes: Obj) -> None:
        asked = template(revision, self._setting.rules)
        self._edit({"placementRefs": refs(strategies), "manifestWorkTemplate": asked}, notes)

    def do_misconfigure(self) -> None:
        """A deadline that is none, for a while."""
        before = self._hub.get(WORKLOAD)["spec"]["placementRefs"]
        listed = [dict(ref) for ref in before]
        listed[0]["rolloutStrategy"] = {"type": "All", "all": {"progressDeadline": "10x"}}
        self._edit({"placementRefs": listed})
        self._soon(lambda: self._edit({"placementRefs": before}))

    def do_relabel_workload(self) -> None:
        self._hub.patch(WORKLOAD, {"metadata": {"labels": {"team": self._dice.choice("abc")}}})

    def do_meddle(self) -> None:
        """Someone edits works by hand."""
        for ref in self._works(2):
            spec = self._hub.get(ref)["spec"]
            manifest = dict(spec["workload"]["manifests"][0])
            manifest["data"] = {"v": "by hand"}
            self._hub.patch(ref, {"spec": {"workload": {"manifests": [manifest]}}})

    def do_delete_work(self) -> None:
        for ref in self._works(2):
            self._hub.delete(ref)

    def do_relabel_works(self) -> None:
        """Agents write another owner into works, or none."""
        other: Obj = {"labels": {names.WORK_OWNER_LABEL: "other.thing"}}
        none: Obj = {"labels": None, "annotations": None}
        for ref in self._works(3):
            if ref.name != NAME:
                continue
            changes = self._dice.choice(
                (
                    other,
                    none,
                    {**other, "annotations": {names.OWNER: "other/thing"}},
                    {"annotations": {names.OWNER: "other/thing"}},
                    {"annotations": {names.OWNER: None}},
                    {"labels": {names.WORK_OWNER_LABEL: None}},
                    {"labels": {names.WORK_PLACEMENT_LABEL: None}},
                    {
                        "annotations": {
                            names.REVISION: "x",
                            names.STARTED_AT: "2020-01-01T00:00:00Z",
                        }
                    },
                )
            )
            self._hub.patch(ref, {"metadata": changes})

    def do_bring_back(self) -> None:
        """Someone puts by hand into works what is asked for, whatever they are supposed to have."""
        asked = template(self.asked(), self._setting.rules)
        for ref in self._works(2):
            self._hub.patch(ref, {"spec": {"workload": asked["workload"]}})

    def do_twin(self) -> None:
        """Someone else made a work for the same workload, as OCM names them."""
        for ref in self._works(1):
            obj = self._hub.get(ref)
            meta = {
                "name": "web-twin",
                "namespace": ref.namespace,
                "labels": obj["metadata"].get("labels", {}),  # somebody may have taken them off
            }
            twin = {**obj, "metadata": meta}
            self._hub.create(Ref(MANIFEST_WORK, f"{ref.namespace}/web-twin"), twin)

    def _edit(self, spec: Obj, notes: Obj | None = None) -> None:
        changes: Obj = {"spec": spec} if spec else {}
        if notes:
            changes["metadata"] = {"annotations": notes}
        self._hub.patch(WORKLOAD, changes)

    def _works(self, most: int) -> list[Ref]:
        keys = [
            f"{o['metadata']['namespace']}/{o['metadata']['name']}"
            for o in self._hub.list(MANIFEST_WORK).items
            if "deletionTimestamp" not in o["metadata"]
        ]
        chosen = self._dice.sample(keys, min(len(keys), most))
        return [Ref(MANIFEST_WORK, key) for key in chosen]
