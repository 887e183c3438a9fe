"""Checks that clusters can report the change at all, from what their agents will write.

Agents write Applied and Available by themselves, and a condition rule's type only for manifests
that the rule's configuration is the first to match. Source: OCM work agent spec 3.2, 3.3, 4.2, 4.3;
semantics row 23.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from rollout.api.fields import listed, mapping, text
from rollout.api.preflight.findings import Finding, Item, World
from rollout.api.preflight.manifests import Manifest, matches, read_manifests
from rollout.api.validation import template_of, template_path
from rollout.model.kinds import Obj
from rollout.model.names import COMPLETE, DEGRADED, PROGRESSING

_WELL_KNOWN = {("batch", "Job"), ("", "Pod")}  # for which WellKnownConditions gives Complete
_ROLLED_OUT = {("apps", kind) for kind in ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")}
"""Their controllers say in status.observedGeneration of which generation the status is."""
_GUARD = "object.?status.?observedGeneration.orValue(0) >= object.metadata.generation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A condition rule, where it stands, and the manifests that it really applies to."""

    path: str
    condition: str
    type: str
    expressions: tuple[str, ...]
    manifests: tuple[Manifest, ...]

    @property
    def reports(self) -> bool:
        """Whether it ever sets its condition."""
        if self.type != "WellKnownConditions":
            return bool(self.manifests)
        return self.condition == COMPLETE and any(
            (m.group, m.kind) in _WELL_KNOWN for m in self.manifests
        )


def progress_findings(world: World) -> Iterator[Finding]:
    """Rules and update strategies that make a rollout wait for ever, or succeed unseen."""
    for item in world.items:
        path = template_path(item.kind)
        if path is not None:
            template = template_of(item.kind, item.document.obj)
            rules = read_rules(template, f"{path}.manifestConfigs")
            yield from _silent(item, rules)
            yield from _progressing(item, rules)
            yield from _other_rules(item, rules)
            yield from _strategies(item, template, f"{path}.manifestConfigs")


def read_rules(template: Obj, path: str) -> list[Rule]:
    """The condition rules of a template.

    Of the configurations that match a manifest, the first with rules has it.
    """
    free = {m.index: m for m in read_manifests(template)}
    found: list[Rule] = []
    for i, config in enumerate(map(mapping, listed(template.get("manifestConfigs")))):
        rules = [mapping(rule) for rule in listed(config.get("conditionRules"))]
        if not rules:
            continue
        identifier = mapping(config.get("resourceIdentifier"))
        ours = tuple(m for m in free.values() if matches(identifier, m))
        for m in ours:
            del free[m.index]
        for j, rule in enumerate(rules):
            expressions = (text(e).strip() for e in listed(rule.get("celExpressions")))
            condition, kind = text(rule.get("condition")), text(rule.get("type"))
            at = f"{path}[{i}].conditionRules[{j}]"
            found.append(
                Rule(
                    path=at,
                    condition=condition,
                    type=kind,
                    expressions=tuple(expressions),
                    manifests=ours,
                )
            )
    return found


def _silent(item: Item, rules: list[Rule]) -> Iterator[Finding]:
    for rule in rules:
        if rule.type == "WellKnownConditions" and rule.manifests and not rule.reports:
            yield item.warning(
                rule.path,
                f"sets nothing: WellKnownConditions knows only {COMPLETE}, for Jobs and Pods",
                "write a rule of type CEL for this condition",
            )


def _progressing(item: Item, rules: list[Rule]) -> Iterator[Finding]:
    """A template with a Progressing rule succeeds where Progressing becomes False."""
    ours = [rule for rule in rules if rule.condition == PROGRESSING]
    if ours and not any(rule.reports for rule in ours):
        yield item.error(
            ours[0].path,
            "nothing can ever report progress: there is a rule for Progressing, which is therefore "
            "waited for, but no rule for it applies to any manifest",
            "make resourceIdentifier match a manifest that no earlier configuration with rules "
            "matches, with a rule of type CEL; or remove the rule, then Applied and Available count",
        )
    for rule in ours:
        if rule.expressions and all(e == "true" for e in rule.expressions) and rule.reports:
            yield item.error(
                f"{rule.path}.celExpressions",
                "nothing can ever finish: Progressing is always True, and success is its False",
                "write an expression that is false once the object is up to date",
            )
        elif "false" in rule.expressions and rule.reports:
            yield item.warning(
                f"{rule.path}.celExpressions",
                "Progressing is always False: a cluster succeeds as soon as it is applied",
                "write an expression that is true until the object is up to date",
            )


def _other_rules(item: Item, rules: list[Rule]) -> Iterator[Finding]:
    degraded = [rule for rule in rules if rule.condition == DEGRADED and rule.reports]
    if sum(len(rule.manifests) for rule in degraded) > 1:
        yield item.warning(
            degraded[-1].path,
            "Degraded is watched on several manifests: the agent reports it only when all are "
            "degraded, so one failure stays hidden",
            "watch it on the manifest that matters most, or spread the manifests over several "
            "objects",
        )
    for rule in degraded:
        if any((m.group, m.kind) in _ROLLED_OUT for m in rule.manifests) and _is_unguarded(rule):
            yield item.warning(
                f"{rule.path}.celExpressions",
                "Degraded does not ask for observedGeneration: right after a change the agent "
                "evaluates what is said of the object as it was, so a good fix can count as failed",
                f"put in front of it: {_GUARD} && ...",
            )
    for rule in rules:
        if rule.condition == COMPLETE and rule.reports:
            yield item.warning(
                rule.path,
                "once Complete is True the agent applies no later change of this template",
                "leave the rule out where the template will change",
            )


def _is_unguarded(rule: Rule) -> bool:
    return not any("observedGeneration" in expression for expression in rule.expressions)


def _strategies(item: Item, template: Obj, path: str) -> Iterator[Finding]:
    manifests = read_manifests(template)
    used = [_strategy_of(template, m) for m in manifests]
    if manifests and all(kind == "ReadOnly" for kind in used):
        yield item.warning(
            path,
            "every manifest is ReadOnly: the agent writes nothing, so the rollout changes nothing",
            "use Update or ServerSideApply for what should change",
        )
    elif manifests and all(kind in ("ReadOnly", "CreateOnly") for kind in used):
        yield item.warning(
            path,
            "every manifest is CreateOnly: a changed template changes nothing on clusters that "
            "have the objects, and still counts as success there",
            "use Update or ServerSideApply for what should change",
        )


def _strategy_of(template: Obj, manifest: Manifest) -> str:
    """The update strategy that the agent uses: the first that a matching configuration names."""
    for config in map(mapping, listed(template.get("manifestConfigs"))):
        strategy = config.get("updateStrategy")
        if strategy is not None and matches(mapping(config.get("resourceIdentifier")), manifest):
            return text(mapping(strategy).get("type")) or "Update"
    return "Update"
