"""Plans the works of one ManagedClusterAddOn that is made of a template.

One pass in this order: the works that deploy it, the hooks that run before it is removed, its health;
then either its finalizers or its status. Source: OCM add-on template spec 4.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from rollout.model import names
from rollout.model.addon import ClusterAddOn
from rollout.model.addon_template import AddOnTemplate, AgentWork
from rollout.model.conditions import Condition, merge
from rollout.model.kinds import MANIFEST_WORK, Obj, Ref
from rollout.model.writes import Delete
from rollout.planning.plan import Write
from rollout.planning.templates import Fatal, Unrenderable, hooks
from rollout.planning.templates.feedback import manifest_configs
from rollout.planning.templates.health import of_workloads, of_works
from rollout.planning.templates.render import (
    Rendered,
    Sources,
    rendered,
    template_of,
    uses_template,
)
from rollout.planning.templates.works import (
    Filled,
    Parts,
    annotations_of,
    delete_option,
    hook_name,
    is_deploy_work,
    share_out,
    written,
)
from rollout.rollouts.addon_configs import content_of, in_order

APPLIED = Condition(
    names.MANIFEST_APPLIED,
    "True",
    "AddonManifestApplied",
    "manifests of addon are applied successfully",
)
NOT_APPLIED = Condition(
    names.MANIFEST_APPLIED,
    "False",
    "AddonManifestAppliedFailed",
    "failed to apply the manifests of addon",
)
_NOTHING = Condition(
    names.MANIFEST_APPLIED, "True", "AddonManifestApplied", "no manifest need to apply"
)
_FAILED = "ManifestWorkApplyFailed"
_CUSTOMIZED = "Customized"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployInput:
    """A ManagedClusterAddOn and what its pass reads.

    Args:
        works: all works of the add-on in its cluster's namespace.
        default_template: the template of the add-on's default configuration.
        is_held: no work is written or removed for now.
        held_until: when that ends by itself; None where it does not.
        is_current: the objects that its status names still have the revisions that it names.
        refused: what the server answered when it refused a work, "" where it refused none.
        retry_at: no work is written before this instant.
    """

    addon: ClusterAddOn
    works: Sequence[AgentWork]
    sources: Sources
    strict: bool
    default_template: AddOnTemplate | None = None
    cluster_deleting: bool = False
    cluster_is_silent: bool = False
    is_held: bool = False
    held_until: datetime | None = None
    is_current: bool = True
    refused: str = ""
    retry_at: datetime | None = None


@dataclass(slots=True, kw_only=True)
class DeployWrites:
    """What is to be written: works, then deletes, then finalizers where they change, else the status.

    ``status`` has only what changes. ``error`` says why a part of the pass failed, "" where none did.
    """

    works: list[Write] = field(default_factory=list)
    gone: list[Write] = field(default_factory=list)
    finalizers: list[str] | None = None
    status: Obj = field(default_factory=dict)
    error: str = ""


def deploy(subject: DeployInput, now: datetime) -> DeployWrites:
    """One pass; nothing where the add-on names no template yet, or its agent is not registered."""
    made = _DeployPass(subject)
    addon = subject.addon
    if uses_template(addon) is None or names.REGISTRATION_APPLIED not in addon.conditions:
        return made.outcome
    try:
        made.run()
    except Fatal as error:
        made.outcome.error = str(error)
        return made.outcome
    made.tell(now)
    return made.outcome


def _how_bad(applied: Condition | None) -> int:
    """A work that is not applied is worse than one that nobody has told of yet."""
    if applied is None:
        return 1
    return 0 if applied.is_true else 2


class _DeployPass:
    """One look at one ManagedClusterAddOn."""

    def __init__(self, subject: DeployInput) -> None:
        self.subject, self.addon = subject, subject.addon
        self.outcome = DeployWrites()
        self.changed: dict[str, Condition | None] = {}
        self.finalizers = hooks.finalizers_of(self.addon)
        self.deployed = [w for w in subject.works if is_deploy_work(w, self.addon)]

    def run(self) -> None:
        try:
            found = rendered(self.addon, self.subject.sources, strict=self.subject.strict)
        except Fatal:
            raise
        except Unrenderable as error:
            self._unrenderable(error)
            return
        self._deploy(found)
        self._hook(found)
        if self.subject.retry_at is not None:
            self.outcome.works.clear()
            self.outcome.gone.clear()
        self._probe(found)

    # -- what it says --------------------------------------------------------------------------

    def _say(self, condition: Condition) -> None:
        self.changed[condition.type] = condition

    def _unsay(self, kind: str) -> None:
        self.changed[kind] = None

    def _known(self, kind: str) -> Condition | None:
        return self.changed[kind] if kind in self.changed else self.addon.conditions.get(kind)

    def _fail(self, message: str) -> None:
        self.outcome.error = self.outcome.error or message
        self._say(Condition(names.MANIFEST_APPLIED, "False", _FAILED, message))

    def tell(self, now: datetime) -> None:
        """What is to be said after this pass."""
        if self.finalizers != hooks.finalizers_of(self.addon):
            self.outcome.finalizers = self.finalizers
        said: Obj = self.addon.raw.get("status") or {}
        before = [c for c in said.get("conditions") or [] if isinstance(c, dict)]
        conditions = self._conditions(before, now)
        if conditions != before:
            self.outcome.status["conditions"] = conditions
        if (said.get("healthCheck") or {}).get("mode") != _CUSTOMIZED:
            self.outcome.status["healthCheck"] = {"mode": _CUSTOMIZED}

    def _conditions(self, before: Sequence[Obj], now: datetime) -> list[Obj]:
        """The conditions after this pass."""
        gone = {kind for kind, condition in self.changed.items() if condition is None}
        kept = [item for item in before if item.get("type") not in gone]
        return merge(kept, [c for c in self.changed.values() if c is not None], now)

    # -- deploying -----------------------------------------------------------------------------

    @property
    def _is_configured(self) -> bool:
        said = self.addon.conditions.get(names.CONFIGURED)
        return said is not None and said.is_true

    @property
    def _is_going(self) -> bool:
        return self.addon.deleting or self.subject.cluster_deleting

    @property
    def _has_finalizer(self) -> bool:
        return hooks.FINALIZER in hooks.finalizers_of(self.addon)

    @property
    def _may_deploy(self) -> bool:
        """Whether works are written at all: it is its turn, and nobody has asked to wait."""
        if self._is_going and not self._has_finalizer:
            return False
        return self._is_configured and self.subject.is_current and not self.subject.is_held

    def _unrenderable(self, error: Unrenderable) -> None:
        text = f"failed to get manifest from agent interface: {error}"
        if self._is_configured and self.subject.is_current:
            self._fail(text)
            if self.subject.strict:
                self._say_rendered(str(error))
        self.outcome.error = str(error)
        if self._is_released or not (self._is_configured or self.subject.strict):
            self._let_go()
        found = of_works(self.deployed, strict=self.subject.strict)
        if found is not None:
            self._say_available(found)

    def _say_rendered(self, error: str, reason: str = "RenderFailed") -> None:
        """Which revision this is about: a failure counts for no other (row T22)."""
        revision = content_of(in_order(self.addon.desired))
        reason = reason if error else "Rendered"
        text = f"{revision}: {error}" if error else revision
        self._say(Condition(names.RENDERED, "False" if error else "True", reason, text))

    def _deploy(self, found: Rendered) -> None:
        if not self._may_deploy:
            return
        strict = self.subject.strict
        objects = [obj for obj in found.objects if not hooks.is_hook(obj)]
        if strict:
            self._say_rendered("")
        if not objects:
            self._say(_NOTHING)
            if strict:
                self._remove(self.deployed)
            return
        try:
            filled = share_out(objects, self.deployed, self.addon.name, strict=strict)
            parts = self._parts(found, objects)
        except Unrenderable as error:
            self._fail(f"failed to build manifestwork: {error}")
            if strict:
                self._say_rendered(str(error))
            return
        self._remove([f.before for f in filled if f.before is not None and not f.manifests])
        kept = [each for each in filled if each.manifests or each.before is None]
        self._apply(kept, parts, annotations_of(self.addon))

    def _parts(self, found: Rendered, objects: list[Obj]) -> Parts:
        strict = self.subject.strict
        template = (
            template_of(self.addon, self.subject.sources)
            if strict
            else self.subject.default_template
        )
        configs = manifest_configs(found, template, strict=strict)
        own = template if strict else None
        option = delete_option(objects, own.delete_option if own else None, strict=strict)
        return Parts(configs, option, own.executor if own else None)

    def _remove(self, works: Sequence[AgentWork]) -> None:
        for work in works:
            ref = Ref(MANIFEST_WORK, work.key)
            if not work.deleting:
                self.outcome.gone.append(Delete(ref, work.uid, cluster=work.cluster))

    def _apply(self, filled: Sequence[Filled], parts: Parts, annotations: dict[str, str]) -> None:
        for each in filled:
            write = written(each, parts, self.addon, annotations)
            if write is not None:
                self.outcome.works.append(write)
        self._applied([each.before for each in filled])
        refused = self.subject.refused
        if refused:
            self._fail(f"failed to apply manifestWork: {refused}")
            if self.subject.strict:
                self._say_rendered(refused, "WorkRefused")

    def _applied(self, works: Sequence[AgentWork | None]) -> None:
        """What the works say of having been applied: the last one in ``ocm``, else the worst (row T11)."""
        said = [work.conditions.get(names.APPLIED) if work is not None else None for work in works]
        if self.subject.strict:
            said = sorted(said, key=_how_bad)[-1:]
        for condition in said:
            if condition is not None:
                self._say(APPLIED if condition.is_true else NOT_APPLIED)
                continue
            before = self._known(names.MANIFEST_APPLIED)
            if before is not None and before.status == "False":
                self._unsay(names.MANIFEST_APPLIED)

    # -- before it goes ------------------------------------------------------------------------

    def _hook(self, found: Rendered) -> None:
        subject, strict = self.subject, self.subject.strict
        marked = [obj for obj in found.objects if hooks.is_hook(obj)]
        if not marked or not (self._is_configured or strict) or self._is_released:
            self._let_go()
            return
        if not self._has_finalizer:
            if not (strict and self.addon.deleting):
                self.finalizers = hooks.with_finalizer(self.finalizers)
            return
        if not self.addon.deleting or subject.is_held:
            return
        name = hook_name(self.addon.name)
        before = next((w for w in subject.works if w.name == name), None)
        write = hooks.hook_write(marked, before, self.addon)
        if write is not None:
            self.outcome.works.append(write)
        self._applied([before])
        condition = hooks.completed(self.addon, marked, before)
        self._say(condition)
        if condition.is_true:
            self._let_go()

    def _let_go(self) -> None:
        self.finalizers = hooks.without_finalizer(self.finalizers)

    @property
    def _is_released(self) -> bool:
        """Whether a person has asked to let the add-on go without its hooks (row T18)."""
        return self.subject.strict and self.addon.annotations.get(names.SKIP_PRE_DELETE) == "true"

    # -- health --------------------------------------------------------------------------------

    def _say_available(self, condition: Condition) -> None:
        """Judged once the manifests are applied, and while the cluster's agents are heard of."""
        if self._known(names.MANIFEST_APPLIED) is not None and not self.subject.cluster_is_silent:
            self._say(condition)

    def _probe(self, found: Rendered) -> None:
        strict = self.subject.strict
        is_hosted = names.ADDON_HOSTING_CLUSTER in self.addon.annotations
        works = [] if is_hosted and not strict else self.deployed
        if self._known(names.MANIFEST_APPLIED) is None or self.subject.cluster_is_silent:
            return
        condition = of_works(works, strict=strict)
        self._say(condition or of_workloads(self.addon, found.workloads, works, strict=strict))
