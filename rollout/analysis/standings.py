"""How does a workload stand, as its stored status says? One condition for a workload of any kind."""

from collections.abc import Iterator

from rollout.model.conditions import Condition, read_condition, read_conditions
from rollout.model.kinds import CLUSTER_MANAGEMENT_ADDON, Obj
from rollout.model.names import ADDON_LIFECYCLE, PROGRESSING, READY, ROLLOUT_HALTED
from rollout.model.waits import Grade, Reason, reason_of

DONE: frozenset[str] = frozenset(reason for reason in Reason if reason.is_done)


def stopped(reason: str) -> Grade:
    """The grade of something that stands still for this reason."""
    known = reason_of(reason)
    return known.grade if known is not None else Grade.WAITING


def standing_of(obj: Obj) -> Condition:
    """A ManifestWorkReplicaSet's Ready where it is True, else its Progressing; of a
    ClusterManagementAddOn the worst of its placements' RolloutHalted.
    """
    if obj.get("kind") == CLUSTER_MANAGEMENT_ADDON.name:
        return addon_standing(obj)[0]
    conditions = read_conditions((obj.get("status") or {}).get("conditions"))
    ready = conditions.get(READY)
    if ready is not None and ready.is_true:
        return ready
    return conditions.get(PROGRESSING) or Condition(
        PROGRESSING, "Unknown", "Waiting", "no engine has looked at it yet"
    )


def addon_standing(obj: Obj) -> tuple[Condition, Grade]:
    """The worst of an add-on's placements; what no placement installs has nothing to wait for."""
    meta = obj["metadata"]
    install = (obj.get("spec") or {}).get("installStrategy") or {}
    if meta.get("deletionTimestamp"):
        return _said("Deleting", "the add-on is being deleted")
    if (meta.get("annotations") or {}).get(ADDON_LIFECYCLE) not in (None, "", "addon-manager"):
        return _said("NotManaged", f"annotation {ADDON_LIFECYCLE} says otherwise")
    if install.get("type") != "Placements":
        return _said("Manual", "installed by hand, configured at once", stands="False")
    told = {(p.get("namespace"), p.get("name")): p for p in _progressions(obj)}
    found = [
        _placement(told.get((p.get("namespace"), p.get("name"))) or {}, p, meta)
        for p in install.get("placements") or []
    ]
    if not found:
        return _said("NoTargets", "the install strategy has no placements")
    return min(found, key=lambda each: each[1])


def _said(reason: str, message: str, stands: str = "True") -> tuple[Condition, Grade]:
    condition = Condition(ROLLOUT_HALTED, stands, reason, message)
    return condition, _grade(condition)


def _grade(halted: Condition) -> Grade:
    if halted.is_true:
        return stopped(halted.reason)
    if halted.reason not in DONE:
        return Grade.WAITING
    return Grade.TOLERATED if halted.reason == "CompleteWithFailures" else Grade.DONE


def _placement(progression: Obj, placement: Obj, meta: Obj) -> tuple[Condition, Grade]:
    conditions = read_conditions(progression.get("conditions"))
    halted, progressing = conditions.get(ROLLOUT_HALTED), conditions.get(PROGRESSING)
    where = f"placement {placement.get('namespace')}/{placement.get('name')}"
    if halted is None or halted.observed_generation != meta.get("generation"):
        return _said("Waiting", f"{where} has not been looked at yet", stands="Unknown")
    words = halted.message or (progressing.message if progressing else "")
    message = words if words.startswith(where) else f"{where}: {words}"
    found = Condition(
        ROLLOUT_HALTED,
        halted.status,
        halted.reason,
        message,
        halted.observed_generation,
        halted.since,
    )
    return found, _grade(found)


def conditions_of(obj: Obj) -> Iterator[tuple[str, Condition]]:
    """Every condition that is said of a workload, with the placement it is said of ("": all)."""
    for raw in (obj.get("status") or {}).get("conditions") or []:
        if (found := read_condition(raw)) is not None:
            yield "", found
    for progression in _progressions(obj):
        placement = f"{progression.get('namespace')}/{progression.get('name')}"
        for raw in progression.get("conditions") or []:
            if (found := read_condition(raw)) is not None:
                yield placement, found


def _progressions(obj: Obj) -> list[Obj]:
    return (obj.get("status") or {}).get("installProgressions") or []
