"""What is wrong with these files, before anything is written anywhere? `rollout validate`."""

from collections import Counter

from rollout.account.words import many
from rollout.analysis.inspection import inspect
from rollout.api.load import Document, Loaded, load
from rollout.api.preflight import Finding, Severity
from rollout.cli.documents import SCENARIO
from rollout.cli.naming import DEFAULT_NAMESPACE
from rollout.cli.options import Stop, complain, was_typed
from rollout.cli.reports import as_github, as_json, as_sarif
from rollout.cli.text import put, say

_REPORTS = {"json": as_json, "github": as_github, "sarif": as_sarif}


def validate(paths: tuple[str, ...], namespace: str, strict: bool, output: str) -> int:
    """Check files, without a hub.

    Every error and warning is told at once; exit code 1 where there is an error. Only the files are looked at: what may exist on the hub is
    a warning, never an error.
    """
    for name in ("state", "context", "kubeconfig"):
        if was_typed(name):
            raise Stop(
                2, f"files alone are checked: leave out --{name}; `rollout plan` looks at a hub"
            )
    loaded = load(paths)
    scenarios = [d for d in loaded.documents if d.obj.get("kind") == SCENARIO]
    objects = tuple(d for d in loaded.documents if d not in scenarios)
    findings = inspect(Loaded(objects, loaded.errors), namespace or DEFAULT_NAMESPACE)
    for document in scenarios:
        findings += _of_scenario(document)
    if output != "text":
        put(_REPORTS[output](findings))
    else:
        for finding in findings:
            say(str(finding))
    if not loaded.documents and not findings:
        complain(f"no objects were found in {', '.join(paths)}")
        return 1
    counted = Counter(finding.severity for finding in findings)
    if output == "text":
        say(_summed(len(loaded.documents), counted))
    failing = counted[Severity.ERROR] + (counted[Severity.WARNING] if strict else 0)
    return int(failing > 0)


def _of_scenario(document: Document) -> list[Finding]:
    from rollout.sim.scenario_file import read_scenario  # noqa: PLC0415  # rarely there

    _, problems = read_scenario(document.obj)
    return [
        Finding(
            severity=Severity.ERROR,
            source=document.source_of(problem.path),
            object=SCENARIO,
            path=problem.path,
            message=f"{problem.value!r} is not valid",
            remedy=f"accepted: {problem.accepted}",
        )
        for problem in problems
    ]


def _summed(documents: int, counted: Counter[Severity]) -> str:
    errors, warnings = counted[Severity.ERROR], counted[Severity.WARNING]
    return f"{many(documents, 'object')}: {many(errors, 'error')}, {many(warnings, 'warning')}"
