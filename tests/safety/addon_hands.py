"""What do people do to an add-on, its configurations and its clusters? One method per verb of a script."""

from collections.abc import Callable, Mapping
from random import Random

from rollout.hub.base import Hub
from rollout.model import names
from rollout.model.kinds import (
    ADDON_DEPLOYMENT_CONFIG,
    MANAGED_CLUSTER_ADDON,
    Obj,
    Ref,
)
from tests.safety import objects
from tests.safety.addons import (
    ADDON,
    BASE,
    NAME,
    OTHER,
    OWN,
    TUNING,
    carrier,
    config_asked,
    config_ref,
    content,
    deployed,
    fingerprint,
    hash_of,
    refer,
)
from tests.safety.setting import Setting


class AddOnHands:
    """Implements `tests.safety.subject.Editor`. ``soon`` calls a function after a random span.

    Placements are listed in reverse, so that of two that select a cluster the first of the setting
    owns it, as with other workloads.
    """

    def __init__(
        self,
        setting: Setting,
        hub: Hub,
        dice: Random,
        soon: Callable[[Callable[[], None]], None],
    ) -> None:
        self._setting, self._hub, self._dice, self._soon = setting, hub, dice, soon
        self._value = "r1"

    def create(self, strategies: Mapping[str, Obj], notes: Mapping[str, str]) -> None:
        self._put_configs()
        self._put(OWN, {"level": 1})
        configs = [
            {"group": ADDON_DEPLOYMENT_CONFIG.group, "resource": ADDON_DEPLOYMENT_CONFIG.plural},
            {"group": TUNING.group, "resource": TUNING.plural},
        ]
        configs[0]["defaultConfig"] = {"namespace": objects.NAMESPACE, "name": BASE}  # type: ignore[assignment]  # JSON
        gate = {names.HEALTH_GATE: names.AVAILABLE} if self._setting.rules else {}
        placements = [
            self._placement(name, strategy, other=name == "q" and self._setting.seed % 2 == 0)
            for name, strategy in reversed(list(strategies.items()))
        ]
        body: Obj = {
            "apiVersion": ADDON.kind.api_version,
            "kind": ADDON.kind.name,
            "metadata": {"name": NAME, "annotations": {**gate, **notes}},
            "spec": {
                "supportedConfigs": configs,
                "installStrategy": {"type": "Placements", "placements": placements},
            },
        }
        self._hub.create(ADDON, body)

    @staticmethod
    def _placement(name: str, strategy: Obj, *, other: bool) -> Obj:
        found: Obj = {"namespace": objects.NAMESPACE, "name": name, "rolloutStrategy": strategy}
        return {**found, "configs": [refer(config_ref(OTHER))]} if other else found

    def edit(
        self, *, strategies: Mapping[str, Obj] | None = None, notes: Obj | None = None
    ) -> None:
        if strategies is not None:
            told = self._placements()
            self._place([{**p, "rolloutStrategy": strategies[p["name"]]} for p in told])
        if notes is not None:
            self._hub.patch(ADDON, {"metadata": {"annotations": notes}})

    def strategies(self) -> dict[str, Obj]:
        return {p["name"]: p.get("rolloutStrategy") or {"type": "All"} for p in self._placements()}

    def roll_out(self, revision: str) -> None:
        """Edits what configurations say, in place. One that is missing comes back with it."""
        self._value = revision
        for name in (BASE, OTHER):
            if self._is_there(config_ref(name)):
                self._hub.patch(config_ref(name), {"spec": content(revision)})

    def asked(self) -> str:
        return self._value

    @property
    def ref(self) -> Ref:
        return ADDON

    def fingerprints(self, revision: str = "") -> tuple[str, ...]:
        spec_hash = hash_of(revision or self._value)
        asked = {config_asked(placement) for placement in self._placements()}
        return tuple(fingerprint(name, spec_hash) for name in sorted(asked))

    def overlap(self) -> None:
        self._place(list(reversed(self._placements())))

    def heal(self, revision: str, strategies: Mapping[str, Obj], notes: Obj) -> None:
        self._value = revision
        self._put_configs()
        self.roll_out(revision)
        listed = {p["name"]: p for p in self._placements()}
        self._place(
            [
                {**listed[name], "rolloutStrategy": strategy}
                for name, strategy in reversed(list(strategies.items()))
            ]
        )
        self.edit(notes=notes)

    # -- the add-on and its configurations -------------------------------------------------------

    def do_misconfigure(self) -> None:
        """A deadline that is none, for a while."""
        before = self._placements()
        bad = {"type": "All", "all": {"progressDeadline": "10x"}}
        self._place([{**before[0], "rolloutStrategy": bad}, *before[1:]])
        self._soon(lambda: self._place(before))

    def do_relabel_workload(self) -> None:
        self._hub.patch(ADDON, {"metadata": {"labels": {"team": self._dice.choice("abc")}}})

    def do_switch_config(self) -> None:
        """A placement asks for another object."""
        before = self._placements()
        at = self._dice.randrange(len(before))
        kept = {key: value for key, value in before[at].items() if key != "configs"}
        strategy = kept.pop("rolloutStrategy")
        switched = self._placement(kept["name"], strategy, other="configs" not in before[at])
        self._place([*before[:at], switched, *before[at + 1 :]])

    def do_config_deleted(self) -> None:
        """A configuration is gone for a while."""
        self._hub.delete(config_ref(self._dice.choice((BASE, BASE, OTHER))))
        self._soon(self._put_configs)

    def do_edit_own(self) -> None:
        """What single clusters have of their own changes."""
        level = self._dice.randrange(2, 9)
        self._hub.patch(OWN, {"spec": {"level": level}})

    # -- its clusters ----------------------------------------------------------------------------

    def do_own(self) -> None:
        """Clusters are given configurations of their own, or no longer."""
        for ref in self._carriers(2):
            has = (self._hub.get(ref).get("spec") or {}).get("configs")
            self._hub.patch(ref, {"spec": {"configs": None if has else [refer(OWN)]}})

    def do_meddle(self) -> None:
        """Someone edits what clusters are told to apply."""
        for ref in self._carriers(2):
            listed = (self._hub.get(ref).get("status") or {}).get("configReferences") or []
            changed = [
                {**r, "desiredConfig": {**r["desiredConfig"], "specHash": "by hand"}}
                for r in listed
            ]
            self._hub.patch_status(ref, {"status": {"configReferences": changed}})

    def do_relabel_works(self) -> None:
        """Somebody takes installations away from their add-on."""
        for ref in self._carriers(2):
            self._hub.patch(ref, {"metadata": {"ownerReferences": None}})

    def do_delete_work(self) -> None:
        """A person uninstalls, or deletes what was deployed."""
        for ref in self._carriers(2):
            target = deployed(ref.namespace) if self._dice.random() < 0.3 else ref
            if self._is_there(target):
                self._hub.delete(target)

    def do_by_hand(self) -> None:
        """A person takes an installation over: it is no longer the strategy's."""
        for ref in self._carriers(1):
            self._hub.delete(ref)
            body: Obj = {
                "apiVersion": ref.kind.api_version,
                "kind": ref.kind.name,
                "metadata": {"name": ref.name, "namespace": ref.namespace},
                "spec": {},
            }
            self._hub.create(ref, body)

    # -- how -------------------------------------------------------------------------------------

    def _placements(self) -> list[Obj]:
        return list(self._hub.get(ADDON)["spec"]["installStrategy"]["placements"])

    def _place(self, placements: list[Obj]) -> None:
        self._hub.patch(ADDON, {"spec": {"installStrategy": {"placements": placements}}})

    def _put_configs(self) -> None:
        for name in (BASE, OTHER):
            if not self._is_there(config_ref(name)):
                self._put(config_ref(name), content(self._value))

    def _put(self, ref: Ref, spec: Obj) -> None:
        meta = {"name": ref.name, "namespace": ref.namespace}
        head = {"apiVersion": ref.kind.api_version, "kind": ref.kind.name}
        self._hub.create(ref, {**head, "metadata": meta, "spec": spec})

    def _is_there(self, ref: Ref) -> bool:
        return any(
            obj["metadata"]["name"] == ref.name
            for obj in self._hub.list(ref.kind, ref.namespace).items
        )

    def _carriers(self, most: int) -> list[Ref]:
        clusters = [o["metadata"]["namespace"] for o in self._hub.list(MANAGED_CLUSTER_ADDON).items]
        chosen = self._dice.sample(clusters, min(len(clusters), most))
        return [carrier(cluster) for cluster in chosen]
