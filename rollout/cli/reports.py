"""Prints findings for other programs: JSON, the annotations of GitHub workflows, and SARIF."""

import json
from collections.abc import Iterable

from rollout import __version__
from rollout.api.preflight import Finding, Severity

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
    place: dict[str, object] = {"artifactLocation": {"uri": file}}
    if line is not None:
        place["region"] = {"startLine": line}
    return place


def _said(finding: Finding) -> str:
    path = f"{finding.path}: " if finding.path else ""
    return f"{path}{finding.message}; {finding.remedy}"


def _file_and_line(finding: Finding) -> tuple[str, int | None]:
    file, _, line = finding.source.rpartition(":")
    return (file, int(line)) if file and line.isdecimal() else (finding.source, None)
