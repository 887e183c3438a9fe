"""Changes of a hub whose consequences are asked for: objects that are stored in it."""

from collections.abc import Iterable

from rollout.analysis.copies import TrialChange
from rollout.errors import ConfigError, Gone
from rollout.hub.base import EmbeddedHub
from rollout.model.kinds import KINDS, WORKLOADS, Obj, ref_of
from rollout.planning.documents import difference


def storing(objects: Iterable[Obj]) -> TrialChange:
    """The change that makes stored objects say what these say, statuses included.

    What others set in their metadata stays; a workload's status is left to the engine.

    Raises (when it is made): ConfigError for an unknown kind, HubError for an object that a hub would
    refuse.
    """
    kept = tuple(objects)

    def change(hub: EmbeddedHub) -> None:
        for obj in kept:
            _store(hub, obj)

    return change


def _store(hub: EmbeddedHub, obj: Obj) -> None:
    kind = KINDS.get(str(obj.get("kind")))
    if kind is None:
        raise ConfigError(f"kind {obj.get('kind')!r} is not known; there are: {', '.join(KINDS)}")
    ref = ref_of(kind, obj)
    try:
        old = hub.get(ref)
    except Gone:
        hub.create(ref, obj)
    else:
        asked = {key: obj["metadata"].get(key) or {} for key in ("labels", "annotations")}
        rest = ("apiVersion", "kind", "metadata", "status")
        before, after = ({k: o[k] for k in o if k not in rest} for o in (old, obj))
        hub.patch(ref, {**difference(before, after), "metadata": asked})
    if obj.get("status") and kind.has_status and kind not in WORKLOADS:
        hub.patch_status(ref, {"status": obj["status"]})
