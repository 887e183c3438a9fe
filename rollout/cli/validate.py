"""What is wrong with these files, before anything is written anywhere? `rollout validate`."""

import json
from collections import Counter

import click

from rollout.analysis.inspection import inspect
from rollout.api.load import Loaded, load
from rollout.api.preflight import Finding, Severity
from rollout.cli.documents import SCENARIO
from rollout.cli.naming import DEFAULT_NAMESPACE
from rollout.cli.options import complain, files_option, namespace_option, output_option, shared
from rollout.cli.text import many, put, say

_SHOWN = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "info"}


@click.command()
@files_option()
@namespace_option
@click.option("--strict", is_flag=True, help="Warnings count as errors.")
@output_option
@shared
def validate(paths: tuple[str, ...], namespace: str, strict: bool, output: str) -> int:
    """Check files, without a hub.

    Every error and warning is told at once; exit code 1 where there is an error. Only the files are looked at: what may exist on the hub is
    a warning, never an error.
    """
    loaded = load(paths)
    scenarios = [d for d in loaded.documents if d.obj.get("kind") == SCENARIO]
    objects = tuple(d for d in loaded.documents if d not in scenarios)
    findings = inspect(Loaded(objects, loaded.errors), namespace or DEFAULT_NAMESPACE)
    for document in scenarios:
        findings += _of_scenario(document.obj, document.source)
    if output == "json":
        put(json.dumps([_wire(finding) for finding in findings], indent=4))
    else:
        for finding in findings:
            say(str(finding))
    if not loaded.documents and not findings:
        complain("no objects were found in the files")
        return 1
    counted = Counter(finding.severity for finding in findings)
    if output == "text":
        say(_summed(len(loaded.documents), counted))
    failing = counted[Severity.ERROR] + (counted[Severity.WARNING] if strict else 0)
    return int(failing > 0)


def _of_scenario(obj: dict[str, object], source: str) -> list[Finding]:
    from rollout.sim.scenario_file import read_scenario  # noqa: PLC0415  # rarely there

    _, problems = read_scenario(obj)
    return [
        Finding(
            Severity.ERROR,
            source,
            SCENARIO,
            problem.path,
            f"{problem.value!r} is not valid",
            f"accepted: {problem.accepted}",
        )
        for problem in problems
    ]


def _wire(finding: Finding) -> dict[str, str]:
    return {
        "severity": _SHOWN[finding.severity],
        "source": finding.source,
        "object": finding.object,
        "path": finding.path,
        "message": finding.message,
        "remedy": finding.remedy,
    }


def _summed(documents: int, counted: Counter[Severity]) -> str:
    errors, warnings = counted[Severity.ERROR], counted[Severity.WARNING]
    return f"{many(documents, 'object')}: {many(errors, 'error')}, {many(warnings, 'warning')}"
