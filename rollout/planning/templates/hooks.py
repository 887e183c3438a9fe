"""Finds the Jobs and Pods that run on a cluster before an add-on is removed.

Source: OCM add-on template spec 4.5, semantics row T18.
"""

from collections.abc import Sequence

from rollout.model import names
from rollout.model.addon import ClusterAddOn
from rollout.model.addon_template import AgentWork
from rollout.model.conditions import Condition
from rollout.model.kinds import Obj
from rollout.planning.plan import Write
from rollout.planning.templates.feedback import WELL_KNOWN, identifier
from rollout.planning.templates.render import group_of, name_of
from rollout.planning.templates.works import Filled, Parts, hook_name, written

FINALIZER = "addon.open-cluster-management.io/addon-pre-delete"
_MARK = FINALIZER
_KINDS = {"Job": "jobs", "Pod": "pods"}
_DEPRECATED = frozenset(
    f"cluster.open-cluster-management.io/{name}"
    for name in ("addon-pre-delete", "hosting-addon-pre-delete", "hosting-manifests-cleanup")
)
HOOK_COMPLETED = "HookManifestCompleted"


def is_hook(obj: Obj) -> bool:
    """Whether an object runs only when the add-on is removed."""
    meta = obj.get("metadata")
    if obj.get("kind") not in _KINDS or not isinstance(meta, dict):
        return False
    marks = (meta.get("annotations"), meta.get("labels"))
    return any(isinstance(found, dict) and _MARK in found for found in marks)


def finalizers_of(addon: ClusterAddOn) -> list[str]:
    """The finalizers of a ManagedClusterAddOn."""
    found = (addon.raw.get("metadata") or {}).get("finalizers") or []
    return [item for item in found if isinstance(item, str)]


def with_finalizer(finalizers: Sequence[str]) -> list[str]:
    return [*without_deprecated(finalizers), FINALIZER]


def without_finalizer(finalizers: Sequence[str]) -> list[str]:
    return [item for item in without_deprecated(finalizers) if item != FINALIZER]


def without_deprecated(finalizers: Sequence[str]) -> list[str]:
    return [item for item in finalizers if item not in _DEPRECATED]


def hook_write(hooks: Sequence[Obj], before: AgentWork | None, addon: ClusterAddOn) -> Write | None:
    """The write that brings the hooks to the cluster; None where its work has them already."""
    configs = [
        {
            "resourceIdentifier": identifier(
                group_of(obj), _KINDS[str(obj["kind"])], *name_of(obj)
            ),
            "feedbackRules": [WELL_KNOWN],
        }
        for obj in hooks
    ]
    filled = Filled(hook_name(addon.name), list(hooks), before)
    return written(filled, Parts(configs), addon, {})


def completed(addon: ClusterAddOn, hooks: Sequence[Obj], work: AgentWork | None) -> Condition:
    """Whether all hooks have run, as a condition."""
    name = hook_name(addon.name)
    if work is not None and _is_available(work) and all(_has_run(obj, work) for obj in hooks):
        text = f"hook manifestWork {name} is completed."
        return Condition(HOOK_COMPLETED, "True", "HookManifestIsCompleted", text)
    text = f"hook manifestWork {name} is not completed."
    return Condition(HOOK_COMPLETED, "False", "HookManifestIsNotCompleted", text)


def _is_available(work: AgentWork) -> bool:
    said = work.conditions.get(names.AVAILABLE)
    return said is not None and said.is_true


def _has_run(hook: Obj, work: AgentWork) -> bool:
    about = (group_of(hook), _KINDS[str(hook["kind"])], *name_of(hook))
    for feedback in work.feedback:
        if not feedback.values:
            return False  # as OCM does: feedback without values ends the search
        if feedback[:4] == about:
            if hook["kind"] == "Job":
                return feedback.values.get("JobComplete") == "True"
            return feedback.values.get("PodPhase") == "Succeeded"
    return False
