"""`rollout validate`: finds what is wrong with files before anything is written."""

import json
from collections import Counter
from collections.abc import Iterable
from urllib.parse import quote

from rollout import __version__
from rollout.account.words import many
from rollout.analysis.inspection import inspect
from rollout.api.file_objects import SCENARIO
from rollout.api.load import Document, Loaded, load
from rollout.api.preflight import Finding, Severity
from rollout.api.words import NO_SUCH_FIELD
from rollout.cli.options import Stop, complain, was_typed
from rollout.cli.text import put, say
from rollout.model.kinds import DEFAULT_NAMESPACE

_WORDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "info"}
_GITHUB = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_SARIF = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def as_json(findings: Iterable[Finding]) -> str:
    """A list of objects."""
    rows = [
        {
            "severity": _WORDS[each.severity],
            "source": each.source,
            "object": each.object,
            "path": each.path,
            "message": each.message,
            "remedy": each.remedy,
        }
        for each in findings
    ]
    return json.dumps(rows, indent=4)


def as_github(findings: Iterable[Finding]) -> str:
    """A workflow command for each finding, which GitHub shows beside the line of the file.

    Source: GitHub's documentation of workflow commands (escapes of values and of messages).
    """
    return "\n".join(
        f"::{_GITHUB[each.severity]} {_place(each)}::{_escaped(_said(each))}" for each in findings
    )


def _place(finding: Finding) -> str:
    file, line = _file_and_line(finding)
    parts = {"file": file, "line": str(line or ""), "title": finding.object}
    return ",".join(
        f"{name}={_escaped(value).replace(':', '%3A').replace(',', '%2C')}"
        for name, value in parts.items()
        if value
    )


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def as_sarif(findings: Iterable[Finding]) -> str:
    """A log in SARIF 2.1.0 with one run, for code scanning."""
    rule = {"id": "validate", "shortDescription": {"text": "What rollout validate finds"}}
    driver = {"name": "rollout", "version": __version__, "rules": [rule]}
    results = [
        {
            "ruleId": rule["id"],
            "level": _SARIF[each.severity],
            "message": {"text": " ".join(part for part in (each.object, _said(each)) if part)},
            "locations": [{"physicalLocation": _physical(each)}],
        }
        for each in findings
    ]
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
    return json.dumps(log, indent=4)


def _physical(finding: Finding) -> dict[str, object]:
    file, line = _file_and_line(finding)
    place: dict[str, object] = {"artifactLocation": {"uri": quote(file)}}
    if line is not None:
        place["region"] = {"startLine": line}
    return place


def _said(finding: Finding) -> str:
    path = f"{finding.path}: " if finding.path else ""
    return f"{path}{finding.message}; {finding.remedy}"


def _file_and_line(finding: Finding) -> tuple[str, int | None]:
    file, _, line = finding.source.rpartition(":")
    return (file, int(line)) if file and line.isdecimal() else (finding.source, None)


_REPORTS = {"json": as_json, "github": as_github, "sarif": as_sarif}


def validate(paths: tuple[str, ...], namespace: str, strict: bool, force: bool, output: str) -> int:
    """Check files, without a hub.

    Every error and warning is told at once; exit code 1 where there is an error. Only the files are looked at: what may exist on the hub is
    a warning, and no error. But where they have clusters, annotations skip and hold may name no other one,
    unless ``force`` is given.
    """
    for name in ("state", "context", "kubeconfig"):
        if was_typed(name):
            raise Stop(
                2, f"files alone are checked: leave out --{name}; `rollout plan` looks at a hub"
            )
    loaded = load(paths)
    scenarios = [d for d in loaded.documents if d.obj.get("kind") == SCENARIO]
    objects = tuple(d for d in loaded.documents if d not in scenarios)
    files = Loaded(objects, loaded.errors)
    findings = inspect(files, namespace or DEFAULT_NAMESPACE, more_clusters=force)
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
    found = []
    for problem in problems:
        _, unknown, instead = problem.accepted.partition(f"{NO_SUCH_FIELD}; ")
        finding = Finding(
            severity=Severity.ERROR,
            source=document.source_of(problem.path),
            object=SCENARIO,
            path=problem.path,
            message=NO_SUCH_FIELD if unknown else problem.fault,
            remedy=instead if unknown else f"accepted: {problem.accepted}",
        )
        found.append(finding)
    return found


def _summed(documents: int, counted: Counter[Severity]) -> str:
    errors, warnings = counted[Severity.ERROR], counted[Severity.WARNING]
    return f"{many(documents, 'object')}: {many(errors, 'error')}, {many(warnings, 'warning')}"
