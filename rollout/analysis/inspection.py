"""Checks whether scheduler, strategies and agents would accept the objects of files.

A wire shape says nothing of an expression's grammar, nor of where a gate will stand. Those who will
read them are asked: the CEL compiler, and the strategies, with a cluster imagined for each group.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from rollout.analysis.calendars import calendar_findings
from rollout.api.analysis import decode_analysis
from rollout.api.fields import listed, mapping
from rollout.api.load import Loaded
from rollout.api.preflight import Finding, preflight
from rollout.api.preflight.findings import Item, World
from rollout.api.validation import template_of, template_path
from rollout.api.values import decode_values
from rollout.model import names
from rollout.model.analyses import ANALYSIS_GATE
from rollout.model.approvals import GateRef
from rollout.model.cluster import Cluster
from rollout.model.intents import read_intents
from rollout.model.kinds import (
    CLUSTER_VALUES,
    PLACEMENT,
    REPLICA_SET,
    ROLLOUT_ANALYSIS,
    TEMPLATES_OF_OTHERS,
    Obj,
    Ref,
)
from rollout.model.placement import Group, Placement
from rollout.model.replicaset import ReplicaSet, RolloutSpec
from rollout.model.waits import Wait
from rollout.model.wording import nearest
from rollout.placement.cel import expressions
from rollout.placement.cel.expressions import Judge
from rollout.placement.scheduler import check
from rollout.plugins import gates
from rollout.strategies.base import select
from rollout.strategies.gate_kinds import GATES
from rollout.strategies.gates import misplaced, unknown_kind
from rollout.strategies.stages import BUILT_IN
from rollout.values.faults import uncompiled, unselectable
from rollout.values.rendering import Rendering
from rollout.values.rules import EXPRESSION_ACCEPTED, ClusterValues

_SELECTOR = ".celSelector."
_UNDECLARED = re.compile(r"^ERROR: .*undeclared reference to '([^']+)'", re.MULTILINE)
_SYNTAX = re.compile(r"^ERROR: .*Syntax error: ", re.MULTILINE)
_RULE = re.compile(r"ClusterValues (?:[^ /]+/)?(?P<name>[^ :]+):? (?:spec\.)?(?P<path>rules[^ :]*)")
_AGENTS_OWN = frozenset({"hasConditions"})  # besides CEL's, and what Kubernetes adds


def inspect(
    loaded: Loaded,
    namespace: str = "default",
    context: Iterable[Obj] = (),
    *,
    more_clusters: bool = False,
) -> list[Finding]:
    """Every finding about a set of files. Arguments and order: as `preflight` has them."""
    further = (_selectors, _rules, _gates, _values, _unserved, _addresses, calendar_findings)
    return preflight(loaded, namespace, further, context, more_clusters=more_clusters)


def _selectors(world: World) -> Iterator[Finding]:
    """Expressions that select no cluster, since they cannot be compiled."""
    for item in world.of(PLACEMENT):
        placement = world.placements[item.key]
        for problem in check(placement):
            if _SELECTOR in problem.path:
                yield item.error(
                    problem.path, f"{problem.fault}: {_first_line(problem.accepted)}", _BOOLEAN
                )
        for i, predicate in enumerate(placement.predicates):
            for j, text in enumerate(predicate.cel):
                fault = _without_verdict(text, world.clusters)
                if fault:
                    yield item.warning(
                        f"spec.predicates[{i}].requiredClusterSelector.celSelector.celExpressions[{j}]",
                        f"{text!r} is neither true nor false of any cluster in these files: {fault}",
                        _BOOLEAN,
                    )


_BOOLEAN = "write a CEL expression that is true or false of each managedCluster"


def _without_verdict(text: str, clusters: Iterable[Cluster]) -> str:
    """Why an expression says nothing of every cluster; "" where it does, or where files cannot tell.

    Statuses and scores are written on the hub: expressions about them are not asked.
    """
    program = expressions.program(text)
    if not (program.run and program.boolean) or ".status" in text or expressions.score_names(text):
        return ""
    judge, fault = Judge(lambda _: {}, None), ""
    for cluster in clusters:
        verdict, _ = judge.verdict(text, cluster)
        if not isinstance(verdict, str):
            return ""
        fault = fault or verdict
    return fault


def _values(world: World) -> Iterator[Finding]:
    """Rules that cannot be followed: for no cluster, or for some of those in the files."""
    found: dict[str, list[tuple[Item, ClusterValues]]] = {}
    for item in world.known(CLUSTER_VALUES):
        values = decode_values(item.document.obj)
        if not values.problems:
            key = f"{item.namespace}/{values.workload}"
            found.setdefault(key, []).append((item, values))
    workloads = {item.key: workload for item, workload in world.replicasets}
    judged = {item.key for item in world.items if item.kind is REPLICA_SET}
    for key, several in found.items():
        if key not in judged and all(item not in world.items for item, _ in several):
            continue
        workload = workloads.get(key)
        if workload is not None:
            yield from _rendered(world, several, workload)
        for item, values in several if workload is None else ():
            yield from _compiled(item, values)
            text = (
                f"ManifestWorkReplicaSet {key} is not in these files: its template is not looked at"
            )
            yield item.info("spec.workload.name", text, "give its file, too")


def _compiled(item: Item, values: ClusterValues) -> Iterator[Finding]:
    for i, rule in enumerate(values.rules):
        found: list[tuple[str, str | None]] = [*unselectable(rule)]
        found += [(f"set[{j}].value", uncompiled(each)) for j, each in enumerate(rule.settings)]
        for path, problem in found:
            if problem is not None:
                at = f"spec.rules[{i}].{path}"
                yield item.error(at, _first_line(problem), _remedy(at))


def _remedy(path: str) -> str:
    """What to write at a field of ClusterValues that cannot be followed."""
    if path.endswith(".value"):
        return f"write {EXPRESSION_ACCEPTED}"
    if ".celExpressions[" in path:
        return _BOOLEAN
    return "name a manifest and a field that the template has"


def _rendered(
    world: World, several: list[tuple[Item, ClusterValues]], workload: ReplicaSet
) -> Iterator[Finding]:
    about = {
        "name": workload.name,
        "namespace": workload.namespace,
        "labels": dict(workload.labels),
    }
    template, item = workload.template, several[0][0]
    rendering = Rendering(template.spec, template.content, about, [values for _, values in several])
    for problem in rendering.problems:
        at, path = _rule_in(problem, several)
        said = problem.rpartition(f"{path}: ")[2]
        yield at.error(path, _first_line(said), _remedy(path))
    if rendering.problems:
        return
    held = [
        found
        for cluster in world.clusters
        if isinstance(found := rendering.render(cluster)[0], Wait)
    ]
    for wait in held[:_MOST_HELD]:
        at, path = _rule_in(wait.message, several)
        said = f"{wait.reason}: {wait.message}"
        yield at.warning(path, said, "the cluster is held until this is corrected")
    if len(held) > _MOST_HELD:
        more = len(held) - _MOST_HELD
        yield item.warning("spec.rules", f"{more} more clusters are held", "correct these first")


def _rule_in(message: str, several: list[tuple[Item, ClusterValues]]) -> tuple[Item, str]:
    """The ClusterValues, and the field of it, that a message about values begins with."""
    found = _RULE.search(message)
    items = {item.name: item for item, _ in several}
    if found is None or found["name"] not in items:
        return several[0][0], "spec.rules"
    return items[found["name"]], f"spec.{found['path']}"


_MOST_HELD = 10


def _first_line(text: str) -> str:
    """Without the lines that draw where it is; the column is in the first."""
    return text.partition("\n")[0].removeprefix("ERROR: <input>:")


def _rules(world: World) -> Iterator[Finding]:
    """Condition rules: OCM's agents take an expression that fails for False, which may mean success."""
    for item in world.items:
        path = template_path(item.kind)
        if path is None:
            continue
        template = template_of(item.kind, item.document.obj)
        for i, config in enumerate(map(mapping, listed(template.get("manifestConfigs")))):
            for j, rule in enumerate(map(mapping, listed(config.get("conditionRules")))):
                at = f"{path}.manifestConfigs[{i}].conditionRules[{j}]"
                for k, text in enumerate(listed(rule.get("celExpressions"))):
                    where = f"{at}.celExpressions[{k}]"
                    yield from _syntax(item, where, text) or _strangers(item, where, text)
                yield from _syntax(item, f"{at}.messageExpression", rule.get("messageExpression"))


def _syntax(item: Item, path: str, text: object) -> list[Finding]:
    if not isinstance(text, str) or not text:
        return []
    problem = expressions.program(text).problem or ""
    if not _SYNTAX.search(problem):
        return []  # what else is wrong with it may be about variables that only agents have
    message = f"{text!r} is not valid CEL: {_first_line(problem)}"
    return [item.error(path, message, "write an expression about object")]


def _strangers(item: Item, path: str, text: object) -> list[Finding]:
    """Names that agents do not know. A macro makes ``object`` a variable that our compiler knows."""
    problem = expressions.program(f"[dyn(0)].map(object, ({text}\n))").problem or ""
    strange = [name for name in _UNDECLARED.findall(problem) if name not in _AGENTS_OWN]
    if not strange:
        return []
    message = (
        f"agents know nothing called {', '.join(dict.fromkeys(strange))}: an expression that fails"
        " counts as False"
    )
    return [item.warning(path, message, "write an expression about object")]


def _gates(world: World) -> Iterator[Finding]:
    """Gates of no kind, and those that would stand nowhere, of workloads whose Placements are in the files."""
    for item, workload in world.replicasets:
        path = f"metadata.annotations[{names.GATES}]"
        refs = [ref.name for ref in workload.refs]
        intents = read_intents(workload.annotations)
        for gate in intents.gates if intents.profile != "ocm" else ():  # there it does nothing
            if gate.placement and gate.placement not in refs:
                meant = nearest(gate.placement, refs)
                listing = f"did you mean {meant}?" if meant else f"there are: {', '.join(refs)}"
                message = f"gate {gate}: no placementRef is called {gate.placement}"
                yield item.error(path, f"{message}: the workload would be held", listing)
            else:
                yield from _misplaced(world, item, workload, gate, path=path)
            yield from _of_no_kind(item, gate, path=path)
        yield from _templates(world, item, workload)


def _of_no_kind(item: Item, gate: GateRef, *, path: str) -> Iterator[Finding]:
    """That nothing that is installed here can open the gate."""
    kinds = GATES if gate.kind in GATES else gates()
    if gate.kind not in kinds:
        meant = nearest(gate.kind, kinds)
        yield item.warning(
            path,
            f"{unknown_kind(gate, kinds).message}; a controller without it holds the workload",
            f"did you mean {meant}?"
            if meant
            else "correct the word, or install its package here, too",
        )


def _templates(world: World, item: Item, workload: ReplicaSet) -> Iterator[Finding]:
    """Templates of analyses that are in no file."""
    intents = read_intents(workload.annotations)
    measured = [gate.argument for gate in intents.gates if gate.kind == ANALYSIS_GATE]
    asked = [(names.GATES, name) for name in measured]
    asked += [
        (names.ANALYSIS, intents.analysis),
        (names.CLUSTER_ANALYSIS, intents.cluster_analysis),
    ]
    known = {
        each.name
        for kind in (ROLLOUT_ANALYSIS, *TEMPLATES_OF_OTHERS)
        for each in world.known(kind)
        if each.namespace in ("", item.namespace)
    }
    for annotation, name in asked:
        if name and name not in known:
            yield item.warning(
                f"metadata.annotations[{annotation}]",
                f"RolloutAnalysis {item.namespace}/{name} is not in these files",
                "add it, or correct the name, unless it is on the hub already: without it the "
                "rollout waits",
            )


def _unserved(world: World) -> Iterator[Finding]:
    """Fields of another tool's templates that are not served. That matters where one is named here."""
    for item in (each for kind in TEMPLATES_OF_OTHERS for each in world.of(kind)):
        naming = [
            workload.key
            for workload, replicaset in world.replicasets
            if item.namespace in ("", workload.namespace)
            and item.name in read_intents(replicaset.annotations).templates
        ]
        find = item.error if naming else item.info
        whose = f"{naming[0]} is held" if naming else "a workload that names it would be held"
        ref = Ref(item.kind, item.key)
        for problem in decode_analysis(ref, item.document.obj).problems:
            yield find(problem.path, f"{problem.fault}: {whose}", f"accepted: {problem.accepted}")


def _addresses(world: World) -> Iterator[Finding]:
    """Addresses of metrics that nobody can be asked at. One with an argument is known later."""
    for item in (
        each for kind in (ROLLOUT_ANALYSIS, *TEMPLATES_OF_OTHERS) for each in world.of(kind)
    ):
        spec = mapping(item.document.obj.get("spec"))
        for i, metric in enumerate(map(mapping, listed(spec.get("metrics")))):
            provider = mapping(metric.get("provider"))
            for kind, field in (("prometheus", "address"), ("web", "url")):
                address = mapping(provider.get(kind)).get(field)
                if isinstance(address, str) and not address.startswith(_ASKED_AT):
                    yield item.warning(
                        f"spec.metrics[{i}].provider.{kind}.{field}",
                        f"{address!r} is not an address that can be asked",
                        "begin it with http:// or https://",
                    )


_ASKED_AT = ("http://", "https://", "{{")


def _misplaced(
    world: World, item: Item, workload: ReplicaSet, gate: GateRef, path: str
) -> Iterator[Finding]:
    faults = {}
    for ref in workload.refs:
        found = world.placements.get(f"{item.namespace}/{ref.name}")
        if found is not None and ref.rollout is not None and gate.placement in ("", ref.name):
            faults[ref.name] = _nowhere(gate, ref.rollout, found)
    elsewhere = [replace(gate, placement=name) for name, fault in faults.items() if not fault]
    remedy = "name a decision group that is a stage of its own, rest, all or *"
    if elsewhere:
        remedy = f"write {', '.join(map(str, elsewhere))} where it stands"
    for name, fault in faults.items():
        if fault:
            yield item.warning(path, f"placement {name}: {fault}: the rollout is held", remedy)


def _nowhere(gate: GateRef, spec: RolloutSpec, placement: Placement) -> str:
    """Why the gate matches no stage; "" where it does, or only the clusters will tell."""
    if gate.group.isdecimal():
        return ""
    groups = dict.fromkeys(group.name for group in placement.groups)
    imagined = [Group(i, name, (f"cluster {i}",)) for i, name in enumerate((*groups, ""))]
    selection = select(imagined, groups)
    hold = misplaced([gate], BUILT_IN[spec.type].stages(spec, selection), selection)
    return hold.message if hold is not None else ""
