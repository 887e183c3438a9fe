"""Judges an add-on's agent by the status of its works.

Source: OCM add-on template spec 4.7, semantics rows T1, T19, T20.
"""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from rollout.model import names
from rollout.model.addon import ClusterAddOn
from rollout.model.addon_template import AgentWork, Feedback
from rollout.model.conditions import Condition
from rollout.model.kinds import Obj
from rollout.planning.templates import Fatal
from rollout.planning.templates.render import WORKLOADS, group_of, name_of

_NUMBERS = ("Replicas", "ReadyReplicas", "NumberReady", "DesiredNumberScheduled")
_DEFAULT_UNAVAILABLE = "25%"


def _unknown(reason: str, message: str) -> Condition:
    return Condition(names.AVAILABLE, "Unknown", reason, message)


def _unwell(message: str) -> Condition:
    text = f"Probe addon unavailable with err {message}"
    return Condition(names.AVAILABLE, "False", "ProbeUnavailable", text)


def of_works(works: Sequence[AgentWork], *, strict: bool) -> Condition | None:
    """What the conditions of the works say; None where all objects are available.

    ``strict`` ignores a condition of an earlier generation.
    """
    if not works:
        return _unknown("WorkNotFound", "Addon manifestWork is not found")
    for work in works:
        said = work.conditions.get(names.AVAILABLE)
        seen = said.observed_generation if said is not None else None
        if said is None or (strict and seen is not None and seen < work.generation):
            return _unknown("WorkNotApplied", "Addon manifestWork is not applied yet")
        if said.status == "False":
            return Condition(names.AVAILABLE, "False", "WorkNotApplied", said.message)
    return None


def of_workloads(
    addon: ClusterAddOn, workloads: Sequence[Obj], works: Sequence[AgentWork], *, strict: bool
) -> Condition:
    """What the feedback on the workloads says. Raises: Fatal in ``ocm`` for a value of a wrong type."""
    probed = [obj for obj in workloads if not _is_scaled_down(obj)]
    told = [feedback for work in works for feedback in work.feedback]
    found = [(obj, values) for obj in probed if (values := _values(obj, told)) is not None]
    if probed and (not found or (strict and len(found) < len(probed))):
        return _unknown("NoProbeResult", "Probe results are not returned")
    for obj, values in found:
        fault = _fault(obj, _numbers(values, strict=strict), strict=strict)
        if fault:
            return _unwell(fault)
    text = f"{addon.name} add-on is available."
    return Condition(names.AVAILABLE, "True", "ProbeAvailable", text)


def _is_scaled_down(obj: Obj) -> bool:
    return obj["kind"] == "Deployment" and bool(obj["spec"].get("replicas") == 0)


def _values(obj: Obj, told: Sequence[Feedback]) -> Mapping[str, object] | None:
    """The feedback on an object; None where there is none."""
    about = (group_of(obj), WORKLOADS[str(obj["kind"])])
    namespace, name = name_of(obj)
    for feedback in told:
        if (feedback.group, feedback.resource) != about or not feedback.values:
            continue
        if _is(namespace, feedback.namespace) and _is(name, feedback.name):
            return feedback.values
    return None


def _is(wanted: str, told: str) -> bool:
    """Whether the feedback names this object; ``*`` in the template's name matches any text."""
    pattern = wanted.replace("[", "[[]").replace("?", "[?]")
    return fnmatchcase(told, pattern)


def _numbers(values: Mapping[str, object], *, strict: bool) -> dict[str, int]:
    found: dict[str, int] = {}
    for name in _NUMBERS:
        value = values.get(name)
        if type(value) is int:
            found[name] = value
        elif name in values and not strict:
            raise Fatal("runtime error: invalid memory address or nil pointer dereference")
    return found


def _fault(obj: Obj, told: Mapping[str, int], *, strict: bool) -> str:
    """What is wrong with a workload, as the condition says it; "" where it is healthy."""
    is_deployment = obj["kind"] == "Deployment"
    desired = told.get("Replicas" if is_deployment else "DesiredNumberScheduled")
    ready = told.get("ReadyReplicas" if is_deployment else "NumberReady")
    if desired is None:
        return "desiredNumberReplicas is not probed"
    if ready is None:
        return "readyReplica is not probed"
    is_well: bool
    if is_deployment:
        is_well = ready >= (_least(obj, desired) if strict else min(desired, 1))
    else:
        is_well = ready >= desired if strict else ready == desired
    if is_well:
        return ""
    namespace, name = name_of(obj)
    return (
        f"desiredNumberReplicas is {desired} but readyReplica is {ready} "
        f"for {WORKLOADS[str(obj['kind'])]} {namespace}/{name}"
    )


def _least(obj: Obj, desired: int) -> int:
    """How many replicas of a Deployment must be ready: all but ``maxUnavailable``, and at least one."""
    rolling: Obj = (obj["spec"].get("strategy") or {}).get("rollingUpdate") or {}
    given: object = rolling.get("maxUnavailable", _DEFAULT_UNAVAILABLE)
    if isinstance(given, str):
        share = given.removesuffix("%")
        missing = desired * int(share) // 100 if share.isdecimal() else 0
    else:
        missing = given if type(given) is int else 0
    return max(desired - missing, min(desired, 1))
