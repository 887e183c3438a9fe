"""Lets commands that were made for a state file work on an API server.

A server keeps no state of a runner. Two parts of it are read from the controller's Lease: the profile,
and when the controller was last alive. Agents are not simulated on an API server.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime, timedelta

from rollout.cli.leases import leader
from rollout.cli.server_clock import VERSION_PATH, ServerClock
from rollout.clock import SystemClock
from rollout.errors import ConfigError, Denied, HubError, Invalid
from rollout.hub.base import Changes, Listing, StateKey
from rollout.hub.kube import KubeHub
from rollout.hub.kube_access import Access
from rollout.hub.kube_objects import object_path, precondition
from rollout.hub.selecting import parse_fields, parse_labels
from rollout.model.intents import PROFILES
from rollout.model.kinds import LEASE, Kind, Obj, Ref
from rollout.model.names import PROFILE_LABEL
from rollout.operate.migration import OLD

PATIENCE_SECONDS = 1.0
"""A person waits: reads are not repeated for longer."""
LEASES_REST = timedelta(seconds=10)
"""The Leases are read again after so long, not for each picture of a watch."""


class RemoteHub(KubeHub):
    """Implements `rollout.hub.base.EmbeddedHub` for commands. Each write is a transaction of its own.

    ``clock`` is the time there.
    """

    def __init__(self, access: Access) -> None:
        """Raises: ConfigError where the kubeconfig cannot be used."""
        self.clock = ServerClock(lambda: self.send("GET", VERSION_PATH))
        super().__init__(access, patience=PATIENCE_SECONDS, only=OLD, heard=self.clock.heard)
        self._wall = SystemClock()
        self._leases: list[tuple[str, Obj]] = []
        self._leases_until: datetime | None = None

    def list(
        self,
        kind: Kind,
        namespace: str | None = None,
        labels: Mapping[str, str] | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
    ) -> Listing:
        found = super().list(kind, namespace, labels)
        selector, fields = parse_labels(label_selector), parse_fields(field_selector)
        items = tuple(
            obj
            for obj in found.items
            if selector.matches(obj["metadata"].get("labels") or {}) and fields(obj)
        )
        return Listing(items, found.version)

    def patch(self, ref: Ref, changes: Changes, version: int | None = None) -> Obj:
        return super().patch(ref, _merge(changes), version)

    def patch_status(self, ref: Ref, changes: Changes, version: int | None = None) -> Obj:
        return super().patch_status(ref, _merge(changes), version)

    def replace(self, ref: Ref, obj: Obj, version: int | None = None) -> Obj:
        self.send("PUT", object_path(ref), precondition(obj, version))
        return self.get(ref)

    def batch(self) -> AbstractContextManager[None]:
        return nullcontext()

    def written_since(self, version: int) -> None:
        """A server does not tell."""

    def poll(self) -> int:
        """Watches tell by themselves."""
        return 0

    def put_state(self, key: str, value: bytes | None) -> None:
        raise ConfigError("an API server keeps no state of a run: use --state FILE")

    def get_state(self, key: str) -> bytes | None:
        if key == StateKey.PROFILE:
            return self._profile().encode()
        return self._last_alive().encode() if key == StateKey.ALIVE else None

    def get_states(self, prefix: str) -> dict[str, bytes]:
        """An API server keeps none."""
        return {}

    def _profile(self) -> str:
        """Whose rules the controller goes by: its Lease says so. Several: the one heard of last.

        Returns "" where no Lease says so, or none may be read.
        """
        told = [(_renewed(lease), profile) for profile, lease in self._controllers()]
        return max(told, default=("", ""))[1]

    def _last_alive(self) -> str:
        """When a controller was last heard of, where none leads now.

        Returns "" where one leads, or where no Lease says so, or none may be read.
        """
        try:
            leases = [lease for _, lease in self._controllers()]
        except HubError:
            return ""
        now = self.clock.now()
        led = any(leader(lease, now) for lease in leases)
        return "" if led else max(map(_renewed, leases), default="")

    def _controllers(self) -> Sequence[tuple[str, Obj]]:
        """The Leases of controllers, each with whose rules these go by; none where they may not be read."""
        now = self._wall.now()
        if self._leases_until is not None and now < self._leases_until:
            return self._leases
        try:
            self._leases = [
                (profile, lease)
                for profile in PROFILES
                for lease in self.list(LEASE, None, {PROFILE_LABEL: profile}).items
            ]
        except Denied:
            self._leases = []
        self._leases_until = now + LEASES_REST
        return self._leases


def _renewed(lease: Obj) -> str:
    return str((lease.get("spec") or {}).get("renewTime") or "")


def _merge(changes: Changes) -> Obj:
    if isinstance(changes, list):
        raise Invalid("operations of a JSON patch are not sent to an API server: use a merge patch")
    return changes
