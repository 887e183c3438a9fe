"""Plans one ManagedClusterAddOn that is made of an AddOnTemplate.

Works first, then what goes, then its finalizers or its status. Registration is left to OCM's registration
controller; where nobody says anything of it, that is said, since works wait for a word.
"""

from datetime import datetime
from typing import Protocol

from rollout.model import names
from rollout.model.addon import ClusterAddOn
from rollout.model.addon_template import DEPLOYMENT_CONFIGS, TEMPLATES
from rollout.model.conditions import Condition, merge
from rollout.model.kinds import MANAGED_CLUSTER_ADDON, Obj, Ref
from rollout.model.writes import Patch, PatchStatus
from rollout.planning.plan import NOTHING, Note, Plan, Write
from rollout.planning.templates.deploy import DeployInput, DeployWrites, deploy
from rollout.planning.templates.render import uses_template

_NOTHING_TO_REGISTER = Condition(
    names.REGISTRATION_APPLIED,
    "True",
    "SetPermissionApplied",
    "Registration of the addon agent is configured",
)
_PENDING = Condition(
    names.REGISTRATION_APPLIED,
    "False",
    "PermissionConfigPending",
    "registration is left to OCM's registration controller, which has said nothing yet",
)


class AddOnTemplateView(Protocol):
    """What the planner reads."""

    def subject(self, key: str, now: datetime) -> DeployInput | None:
        """A ManagedClusterAddOn that is made of a template; None where there is nothing to do."""
        ...


class AddOnTemplatePlanner:
    """Plans one ManagedClusterAddOn that is made of a template."""

    kind = MANAGED_CLUSTER_ADDON

    def plan(self, key: str, view: AddOnTemplateView, now: datetime) -> Plan:
        """The writes that are due now; nothing where everything is as it should be."""
        subject = view.subject(key, now)
        if subject is None or uses_template(subject.addon) is None:
            return NOTHING
        addon = subject.addon
        if names.REGISTRATION_APPLIED not in addon.conditions:
            return Plan(((_registered(subject, now),),)) if not addon.deleting else NOTHING
        outcome = deploy(subject, now)
        told = _told(addon, outcome)
        waves = (outcome.works, outcome.gone, [told] if told else [])
        rechecks = (subject.held_until, subject.retry_at)
        return Plan(
            tuple(tuple(wave) for wave in waves if wave),
            recheck_at=min((at for at in rechecks if at is not None and at > now), default=None),
            notes=_notes(addon, outcome),
        )


def _ref(addon: ClusterAddOn) -> Ref:
    return Ref(MANAGED_CLUSTER_ADDON, addon.key)


def _registered(subject: DeployInput, now: datetime) -> Write:
    """What is said of registration while nobody else says anything."""
    addon = subject.addon
    template = subject.sources.template(addon_template(addon))
    entries = template.registrations if template is not None else None
    condition = _PENDING if entries or template is None else _NOTHING_TO_REGISTER
    said: Obj = addon.raw.get("status") or {}
    before = [c for c in said.get("conditions") or [] if isinstance(c, dict)]
    status: Obj = {"conditions": merge(before, [condition], now)}
    if not addon.supported:
        status["supportedConfigs"] = [
            {"group": group, "resource": resource}
            for group, resource in (DEPLOYMENT_CONFIGS, TEMPLATES)
        ]
    return PatchStatus(_ref(addon), status, addon.version)


def addon_template(addon: ClusterAddOn) -> str:
    """The name of the template that it is made of, "" where it names none."""
    named = uses_template(addon)
    return named.ref.name if named is not None else ""


def _told(addon: ClusterAddOn, outcome: DeployWrites) -> Write | None:
    if outcome.finalizers is not None:
        changes: Obj = {"metadata": {"finalizers": outcome.finalizers}}
        return Patch(_ref(addon), changes, addon.version)
    if outcome.status:
        return PatchStatus(_ref(addon), outcome.status, addon.version)
    return None


def _notes(addon: ClusterAddOn, outcome: DeployWrites) -> tuple[Note, ...]:
    """A new fault, once."""
    before = addon.conditions.get(names.MANIFEST_APPLIED)
    conditions = outcome.status.get("conditions") or ()
    after = next((c for c in conditions if c["type"] == names.MANIFEST_APPLIED), None)
    if not outcome.error or after is None or after["status"] != "False":
        return ()
    if before is not None and before.message == after["message"]:
        return ()
    return (Note(_ref(addon), "TemplateNotRendered", after["message"], warning=True),)
