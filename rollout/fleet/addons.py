"""Keeps what is known of all add-ons, and of the configuration objects they refer to.

Follows ClusterManagementAddOns, ManagedClusterAddOns, their works, the clusters' annotations, and every
kind of configuration object that an add-on supports and refers to.
"""

from collections.abc import Callable, Iterable
from datetime import datetime

from rollout.api.decoding import decode
from rollout.api.fields import mapping, strings, text, whole
from rollout.fleet.tracker import Around, WorkloadTracker
from rollout.model import names
from rollout.model.addon import AddOn, ClusterAddOn, ConfigRef, Resource
from rollout.model.events import Change, Event
from rollout.model.intents import NO_INTENTS
from rollout.model.kinds import (
    ADDON_DEPLOYMENT_CONFIG,
    ADDON_TEMPLATE,
    CLUSTER_MANAGEMENT_ADDON,
    MANAGED_CLUSTER,
    MANAGED_CLUSTER_ADDON,
    MANIFEST_WORK,
    Kind,
    Obj,
    Ref,
    kind_by_resource,
)
from rollout.model.spec_hash import spec_hash
from rollout.rollouts.addon_configs import Known, read_addon_work
from rollout.rollouts.addon_share import NO_CONFIGURATIONS
from rollout.rollouts.addon_workload import AddOnWorkload
from rollout.rollouts.facts import Checked
from rollout.rollouts.mirror import Mirror

SHARED = frozenset({ADDON_TEMPLATE, ADDON_DEPLOYMENT_CONFIG})
"""Kinds that rendering wants too: they can be watched before anything here refers to them."""


class AddOns(WorkloadTracker[AddOnWorkload]):
    """All add-ons, and what their planner reads."""

    planned = (CLUSTER_MANAGEMENT_ADDON,)
    kinds = (CLUSTER_MANAGEMENT_ADDON, MANAGED_CLUSTER_ADDON)

    def __init__(self, fleet: Around) -> None:
        super().__init__(fleet)
        self.known: dict[ConfigRef, Known] = {}
        self._mirror = Mirror()
        self._homes: dict[str, tuple[str, str]] = {}  # work key -> add-on, cluster
        self.wanted = frozenset(self.kinds)
        self._configs: dict[Kind, set[ConfigRef]] = {}  # watched kind -> objects that exist
        self._missed: dict[Resource, str] = {}  # kinds that cannot be read -> why

    # -- what happened -------------------------------------------------------------------------

    def take(self, event: Event, now: datetime) -> Iterable[Ref]:
        """Take in an event; the add-ons that are planned anew for it."""
        kind = event.ref.kind
        if kind is MANAGED_CLUSTER_ADDON:
            return self._on_cluster_addon(event, now)
        if kind is MANIFEST_WORK:
            return self._on_work(event)
        if kind is MANAGED_CLUSTER:
            return self._on_cluster(event)
        if kind is CLUSTER_MANAGEMENT_ADDON:
            return self._on_addon(event, now)
        if kind in self.wanted or kind in self._configs or kind in SHARED:
            return self._on_config(event)
        return ()

    def _addon(self, name: str) -> AddOnWorkload:
        workload = self._workloads.get(name)
        if workload is None:
            workload = self._workloads[name] = AddOnWorkload(
                name, self.known, self._missed, self._mirror, profile=self.policy.profile
            )
        return workload

    def _on_addon(self, event: Event, now: datetime) -> Iterable[Ref]:
        workload = self._addon(event.ref.key)
        before = workload.addon
        if event.change is Change.DELETED:
            workload.addon = None
            runs = self.measured.follow(event.ref, "", NO_INTENTS)
            self._end_rollouts(workload, now)
            self._forget_gone(workload)
            self._look_for_kinds()
        else:
            found = decode(CLUSTER_MANAGEMENT_ADDON, event.obj, before)
            assert isinstance(found, AddOn)
            workload.addon = found
            runs = self.measured.follow(event.ref, found.uid, found.intents)
            if before is not None and before.uid != found.uid:  # its end was never heard of
                self._end_rollouts(workload, now)
            if before is None or _asks(before) != _asks(found):
                workload.stale = True
                workload.unowned.update(workload.clusters)
                self._look_for_kinds()
            elif before.annotations != found.annotations:
                workload.restated = True
        return (event.ref, *runs)

    def _on_cluster_addon(self, event: Event, now: datetime) -> Iterable[Ref]:
        cluster, name = event.ref.namespace, event.ref.name
        workload = self._addon(name)
        before = workload.installed(cluster)
        if event.change is Change.DELETED:
            workload.drop(cluster, now)
            after: object = None
            self._forget_gone(workload)
        else:
            found = decode(MANAGED_CLUSTER_ADDON, event.obj, before)
            assert isinstance(found, ClusterAddOn)
            workload.put(found, now)
            after = (found.configs, found.supported) if found.configs else None
        if after != ((before.configs, before.supported) if before and before.configs else None):
            self._look_for_kinds()
        return (workload.ref,)

    def _on_work(self, event: Event) -> Iterable[Ref]:
        labels, known = mapping(event.obj["metadata"].get("labels")), self._homes.get(event.ref.key)
        if names.ADDON_NAME_LABEL not in labels and known is None:
            return ()  # nearly all works are of no add-on
        name, gone = text(labels.get(names.ADDON_NAME_LABEL)), event.change is Change.DELETED
        home = (name, text(labels.get(names.ADDON_NAMESPACE_LABEL)) or event.ref.namespace)
        found: set[Ref] = set()
        if known is not None and (gone or known != home):
            del self._homes[event.ref.key]
            self._addon(known[0]).drop_work(known[1], event.ref.key)
            found.add(Ref(CLUSTER_MANAGEMENT_ADDON, known[0]))
        if not gone and name:
            self._homes[event.ref.key] = home
            if self._addon(name).put_work(home[1], event.ref.key, read_addon_work(event.obj)):
                found.add(Ref(CLUSTER_MANAGEMENT_ADDON, name))
        return found

    def _on_cluster(self, event: Event) -> Iterable[Ref]:
        cluster = event.ref.key
        if event.change is Change.DELETED:
            self._mirror.drop(cluster)
            return ()
        if not self._mirror.put(cluster, strings(event.obj["metadata"].get("annotations"))):
            return ()
        found = [
            w for w in self._workloads.values() if cluster in w.members or w.installed(cluster)
        ]
        for workload in found:
            workload.unowned.add(cluster)
        return [workload.ref for workload in found]

    def _on_config(self, event: Event) -> Iterable[Ref]:
        kind = event.ref.kind
        ref = ConfigRef(Resource(kind.group, kind.plural), event.ref.namespace, event.ref.name)
        before = self.known.pop(ref, None)
        self._configs.setdefault(kind, set()).discard(ref)
        if event.change is not Change.DELETED:
            self._configs[kind].add(ref)
            found = known_of(event.obj)
            if found is not None:
                self.known[ref] = found
        if self.known.get(ref) == before:
            return ()
        return self._users(lambda used: used == ref)

    def _users(self, is_meant: Callable[[ConfigRef], bool]) -> list[Ref]:
        """The add-ons that refer to such a configuration, or whose clusters still carry it: their
        terms may have changed, or what is said of it.
        """
        users = [w for w in self._workloads.values() if any(map(is_meant, w.uses | w.told_of))]
        for workload in users:
            workload.stale = True
        return [workload.ref for workload in users]

    def _look_for_kinds(self) -> None:
        """Which kinds are referred to, and looked up?

        What is known of one that no longer is stays until it is watched no more: it can be wanted
        again before anybody has asked, and would not be read again then.
        """
        wanted = set(self.kinds)
        for workload in self._workloads.values():
            wanted |= {
                kind_by_resource(*ref.resource, namespaced=bool(ref.namespace))
                for ref in workload.looked_up
                if ref.resource.group not in NO_CONFIGURATIONS
            }
        if wanted != self.wanted:
            self.wanted = frozenset(wanted)

    # -- what the fleet asks -------------------------------------------------------------------

    def missed(self, kind: Kind, why: str) -> Iterable[Ref]:
        resource = Resource(kind.group, kind.plural)
        if why:
            self._missed[resource] = why
        else:
            self._missed.pop(resource, None)
        return self._users(lambda ref: ref.resource == resource)

    def forget(self, kind: Kind) -> None:
        self._missed.pop(Resource(kind.group, kind.plural), None)
        for ref in self._configs.pop(kind, ()):
            self.known.pop(ref, None)

    def follow(self, placement: str) -> Iterable[Ref]:
        found: list[Ref] = []
        for workload in self._workloads.values():
            addon = workload.addon
            if addon is not None and any(p.key == placement for p in addon.placements or ()):
                workload.stale = True
                found.append(workload.ref)
        return found

    def refresh(self, key: str, now: datetime) -> None:
        workload = self._workloads.get(key)
        if workload is not None:
            workload.sync(self._fleet, now)
            workload.advance(now)

    def checked(self, fact: Checked) -> None:
        workload = self._workloads.get(fact.workload.key)
        if workload is not None and fact.workload == workload.ref:
            workload.untold -= fact.says
            workload.unowned -= fact.owned

    def is_done(self, workload: Ref) -> bool:
        key = workload.key
        addon = self._workloads[key].addon
        if addon is None or not addon.is_managed or addon.placements is None:
            return True
        said = {
            (p.get("namespace"), p.get("name")): _says(p, names.ROLLOUT_HALTED)
            for p in mapping(addon.raw.get("status")).get("installProgressions") or []
        }
        done = ("Complete", "CompleteWithFailures")
        return all(
            said.get((p.namespace, p.name)) in done and self._is_agreed(key, p.key)
            for p in addon.placements
        )

    def _is_agreed(self, addon: str, placement: str) -> bool:
        """Whether the last answer is about the present configurations."""
        workload = self._workloads[addon]
        share = workload.shares.get(placement)
        return share is not None and not workload.stale and share.live.last.complete


def _says(progression: Obj, kind: str) -> str:
    for condition in progression.get("conditions") or []:
        if condition.get("type") == kind:
            return text(condition.get("reason"))
    return ""


def known_of(obj: Obj) -> Known | None:
    """What there is to know of a configuration object; None where its content cannot be hashed."""
    try:
        return Known(spec_hash(obj), whole(obj["metadata"].get("generation")))
    except (TypeError, RecursionError):
        return None


def _asks(addon: AddOn) -> tuple[object, ...]:
    """The parts of an add-on on which depends to whom what is rolled out; the rest is in its annotations."""
    return (
        addon.uid,
        addon.generation,
        addon.supported,
        addon.defaults,
        addon.placements,
        addon.is_managed,
        addon.intents.profile,
        addon.intents.health_gated,
    )
