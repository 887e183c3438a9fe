"""Says why an analysis that a workload asks for cannot be made."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

from rollout.measuring.templates import arguments_in
from rollout.measuring.values import AnalysisArgument, AnalysisTemplate
from rollout.model import names
from rollout.model.analyses import ANALYSIS_GATE
from rollout.model.intents import Intents
from rollout.model.kinds import Ref
from rollout.model.problems import Problem
from rollout.planning.analyses import KnownAnalyses

_OF_CLUSTER = "cluster."
"""Facts of the rollout that begin so are those of one cluster."""
_ARGS = f"metadata.annotations[{names.ANALYSIS_ARGS}]"


@dataclass(frozen=True, slots=True)
class _Asked:
    """A template that a workload names. ``ends``: its run has to come to an end."""

    template: str
    where: str
    ends: bool = True
    of_cluster: bool = False


def _asked(intents: Intents) -> Iterator[_Asked]:
    for gate in intents.gates:
        if gate.kind == ANALYSIS_GATE:
            yield _Asked(gate.argument, f"gate {gate}")
    if intents.analysis:
        yield _Asked(intents.analysis, "the background", ends=False)
    if intents.cluster_analysis:
        yield _Asked(intents.cluster_analysis, "each cluster", of_cluster=True)


def unmeasurable(workload: Ref, intents: Intents, known: KnownAnalyses) -> str:
    """Why an analysis that a workload asks for cannot be made; "" where all can."""
    home = known.home(workload)
    arguments: set[str] = set()
    for asked in _asked(intents):
        what = f"analysis {asked.template!r} of {asked.where}"
        template = known.template(home, asked.template)
        if template is None:
            missing = "there is no RolloutAnalysis or AnalysisTemplate of that name in"
            return f"{what}: {missing} {home}"
        if problem := _fault(template, asked, workload, intents, known=known):
            return f"{what}: {template.ref} {problem}"
        arguments.update(each.name for each in template.arguments)
    strange = sorted(intents.analysis_args.keys() - arguments)
    if not strange or not intents.templates:
        return ""
    accepted = (
        f"an argument of the analyses named: {', '.join(sorted(arguments)) or 'there is none'}"
    )
    return str(Problem(_ARGS, strange[0], accepted))


def takes(name: str, workload: Ref, intents: Intents, known: KnownAnalyses) -> timedelta:
    """How long a run of a template takes at least, where all is well; no time where nobody can tell."""
    template = known.template(known.home(workload), name) if name else None
    if template is None or template.problems:
        return timedelta(0)
    return known.filled(template, _known_values(template, workload, intents)).takes


def _fault(
    template: AnalysisTemplate,
    asked: _Asked,
    workload: Ref,
    intents: Intents,
    *,
    known: KnownAnalyses,
) -> str:
    """Why a template cannot serve where it is named; "" where it can."""
    if template.problems:
        return f"cannot be served: {template.problems[0]}"
    if template.needs_cluster and not asked.of_cluster:
        return "runs Jobs on a cluster: cluster-analysis alone has one"
    for each in template.arguments:
        if problem := _unknown(each, intents, of_cluster=asked.of_cluster):
            return problem
    filled = known.filled(template, _known_values(template, workload, intents))
    if filled.problems:
        return f"cannot be served with its arguments: {filled.problems[0]}"
    if asked.ends and not filled.ends:
        return "has a metric without count, which never ends"
    return ""


def _known_values(template: AnalysisTemplate, workload: Ref, intents: Intents) -> Mapping[str, str]:
    """The arguments whose values are known before the rollout comes anywhere."""
    facts = {"workload.name": workload.name, "workload.namespace": workload.namespace}
    found: dict[str, str] = {}
    for each in template.arguments:
        value = intents.analysis_args.get(each.name, each.value)
        if value is None:
            value = facts.get(each.fact)
        if value is not None:
            found[each.name] = value
    return found


def _unknown(argument: AnalysisArgument, intents: Intents, *, of_cluster: bool) -> str:
    """Why nobody can tell what an argument is; "" where it is known."""
    given = intents.analysis_args.get(argument.name)
    if given is not None and argument.secret is not None:
        return f"takes argument {argument.name} from a Secret: take it out of {_ARGS}"
    if given is not None and arguments_in(given):
        return f"has argument {argument.name}, whose value names another one: correct {_ARGS}"
    if given is not None or argument.value is not None or argument.secret:
        return ""
    if not argument.fact:
        return f"asks for argument {argument.name}: annotation analysis-args"
    if argument.fact.startswith(_OF_CLUSTER) and not of_cluster:
        # A query for the cluster "" would match what has no such label, and pass.
        return (
            f"takes argument {argument.name} from {argument.fact}: cluster-analysis alone has a"
            " cluster"
        )
    return ""
