"""The events of a scenario besides the agents' work, such as lost contact.

The availability of a ManagedCluster is written when an offline window begins or ends, as the hub's
lease controller and the cluster's agent would. Source: OCM work agent spec 8.
"""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from rollout.api.fields import listed, mapping, version_of
from rollout.errors import Conflict, Gone, HubError
from rollout.hub.base import Hub
from rollout.model.conditions import Condition, merge
from rollout.model.kinds import MANAGED_CLUSTER, Obj, Ref, find, key_of
from rollout.model.names import CLUSTER_AVAILABLE
from rollout.sim.due import DueQueue
from rollout.sim.members import Member, Members, selects
from rollout.sim.scenario import Clusters, FleetEvent

_SAID = {
    "True": ("ManagedClusterAvailable", "Managed cluster is available"),
    "False": (
        "ManagedClusterKubeAPIServerUnavailable",
        "The kube-apiserver is not ok, status code: 500, simulated",
    ),
    "Unknown": (
        "ManagedClusterLeaseUpdateStopped",
        "Registration agent stopped updating its lease.",
    ),
}
_EVENT, _CLUSTER = "!:", "#:"  # at one instant: events, then clusters, then works
_ATTEMPTS = 5
PATIENCE = timedelta(seconds=1)


def is_ours(key: str) -> bool:
    """Whether a due key belongs here; those of works begin with the name of a cluster."""
    return key[0] in "!#"


class FleetEvents:
    """The part of a scenario that is no work agent. `Agents` calls `act` for its keys.

    Args:
        due: takes the keys of this class, which `is_ours` recognises.
        start: the instant from which the scenario counts.
        done: numbers of the fleet events that have happened already.
        note: is told in words of what could not be done.
    """

    def __init__(
        self,
        hub: Hub,
        members: Members,
        due: DueQueue,
        events: tuple[FleetEvent, ...],
        *,
        start: datetime,
        done: Iterable[int],
        note: Callable[[str], None],
    ) -> None:
        self.done = set(done)
        self._due = due
        self._hub, self._members, self._events, self._note = hub, members, events, note
        for number, event in enumerate(events):
            if number not in self.done:
                self._due.arm(f"{_EVENT}{number:06d}", event.at.on(start))

    def watch_over(self, member: Member, now: datetime) -> None:
        """A ManagedCluster is new or has changed: write its availability where that differs."""
        if member.availability is not None and member.windows:
            self._due.arm(_CLUSTER + member.name, now)

    def act(self, key: str, now: datetime) -> None:
        """Do what a due key stands for."""
        try:
            if key.startswith(_EVENT):
                self._happen(int(key.removeprefix(_EVENT)))
            else:
                self._tell(self._members.of(key.removeprefix(_CLUSTER)), now)
        except HubError as fault:
            self._note(str(fault))
            if not isinstance(fault, Gone):
                self._due.arm(key, now + PATIENCE)

    def _tell(self, member: Member, now: datetime) -> None:
        if member.gone or member.obj is None or member.availability is None:
            return
        status = "True" if member.back_at(now) is None else member.availability
        ref = Ref(MANAGED_CLUSTER, member.name)
        for attempt in range(_ATTEMPTS):
            changes = _availability(member.obj, status, now)
            try:
                stored = self._hub.patch_status(ref, changes, member.version)
            except Conflict:
                if attempt == _ATTEMPTS - 1:
                    raise
                stored = self._hub.get(ref)
                member = self._members.saw(member.name, stored, version_of(stored["metadata"]))
            else:
                self._members.saw(member.name, stored, version_of(stored["metadata"]))
                break
        if (edge := member.edge_after(now)) is not None:
            self._due.arm(_CLUSTER + member.name, edge)

    def _happen(self, number: int) -> None:
        event = self._events[number]
        self.done.add(number)
        if event.delete_clusters is not None:
            for name in self._selected(event.delete_clusters):
                self._hub.delete(Ref(MANAGED_CLUSTER, name))
        elif event.relabel_clusters is not None:
            changes = {"metadata": {"labels": dict(event.relabel_clusters.labels)}}
            for name in self._selected(event.relabel_clusters):
                self._hub.patch(Ref(MANAGED_CLUSTER, name), changes)
        elif event.patch is not None:
            target = event.patch
            ref = Ref(target.kind, key_of(target.namespace, target.name))
            self._hub.patch(ref, target.patch)
        elif event.delete is not None:
            self._hub.delete(
                Ref(event.delete.kind, key_of(event.delete.namespace, event.delete.name))
            )
        elif event.create is not None:
            create(self._hub, event.create)

    def _selected(self, clusters: Clusters) -> list[str]:
        return [
            member.name
            for member in self._members
            if member.obj is not None
            and not member.gone
            and selects(clusters, member.name, member.labels)
        ]


def create(hub: Hub, obj: Obj) -> None:
    """Create an object with its status, which a create alone would drop. Raises: as the hub."""
    kind = find(obj["kind"])
    assert kind is not None
    meta = obj["metadata"]
    ref = Ref(kind, key_of(meta.get("namespace", "") if kind.namespaced else "", meta["name"]))
    hub.create(ref, obj)
    if kind.has_status and obj.get("status"):
        hub.patch_status(ref, {"status": obj["status"]})


def _availability(obj: Obj, status: str, now: datetime) -> Obj:
    old = [c for c in listed(mapping(obj.get("status")).get("conditions")) if isinstance(c, dict)]
    said = Condition(CLUSTER_AVAILABLE, status, *_SAID[status])
    return {"status": {"conditions": merge(old, [said], now)}}
