"""How do commands made for a state file work on an API server? A `KubeHub` with the manners of both.

What a runner keeps for itself there is none of, but whose rules the controller goes by: nobody
simulates on an API server.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext

from rollout.errors import ConfigError, Denied, Invalid
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


class RemoteHub(KubeHub):
    """Implements `rollout.hub.base.EmbeddedHub` for commands. Each write is a transaction of its own."""

    def __init__(self, access: Access) -> None:
        """Raises: ConfigError where the kubeconfig cannot be used."""
        super().__init__(access, patience=PATIENCE_SECONDS, only=OLD)

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

    def poll(self) -> int:
        """Watches tell by themselves."""
        return 0

    def put_state(self, key: str, value: bytes) -> None:
        raise ConfigError("an API server keeps no state of a run: use --state FILE")

    def get_state(self, key: str) -> bytes | None:
        return self._profile().encode() if key == StateKey.PROFILE else None

    def _profile(self) -> str:
        """Whose rules the controller goes by: its Lease says so. Several: the one heard of last.

        Returns "" where no Lease says so, or none may be read.
        """
        found: list[tuple[str, str]] = []
        for profile in PROFILES:
            try:
                leases = self.list(LEASE, None, {PROFILE_LABEL: profile}).items
            except Denied:
                return ""
            found += [(str((each.get("spec") or {}).get("renewTime")), profile) for each in leases]
        return max(found, default=("", ""))[1]


def _merge(changes: Changes) -> Obj:
    if isinstance(changes, list):
        raise Invalid("operations of a JSON patch are not sent to an API server: use a merge patch")
    return changes
