"""Checks each object by itself: that it is well formed, and defined only once."""

from collections.abc import Iterator

from rollout.api.fields import mapping, text
from rollout.api.load import Document
from rollout.api.preflight.findings import Finding, Item, Severity, World
from rollout.api.validation import (
    kind_of,
    unknown_annotations,
    unknown_fields,
    unreadable,
    validate,
)

_READ_ELSEWHERE = ("rollout-engine.io/v1alpha1", "AgentScenario")  # checked by those who read it


def object_findings(world: World) -> Iterator[Finding]:
    """Unknown kinds and fields, bad ones, bad annotations of ours, and objects that are there twice."""
    for index, document in enumerate(world.documents):
        called = document.obj.get("apiVersion"), document.obj.get("kind")
        if kind_of(document.obj)[0] is None and called != _READ_ELSEWHERE:
            yield from _unknown(document, index)
    seen: dict[tuple[str, str], Item] = {}
    for item in world.items:
        for problem in validate(item.document.obj):
            yield item.error(problem.path, problem.fault, f"accepted: {problem.accepted}")
        yield from _unknown_fields(item)
        yield from _annotations(item)
        first = seen.setdefault((item.kind.name, item.key), item)
        if first is not item and text(mapping(item.document.obj.get("metadata")).get("name")):
            yield item.error(
                "",
                f"is in these files already ({first.document.source}): which one counts would depend "
                "on the order in which they are read",
                "keep one of the two",
            )


def _unknown(document: Document, index: int) -> Iterator[Finding]:
    kind = text(document.obj.get("kind")) or "(no kind)"
    name = text(mapping(document.obj.get("metadata")).get("name"))
    for problem in validate(document.obj):
        close = problem.accepted.startswith("did you mean") or problem.path == "apiVersion"
        advice = "" if close else "; what clusters should run belongs in a ManifestWorkReplicaSet"
        yield Finding(
            severity=Severity.ERROR,
            source=document.source_of(problem.path),
            object=f"{kind} {name}".strip(),
            path=problem.path,
            message=problem.fault,
            remedy=f"accepted: {problem.accepted}{advice}",
            index=index,
        )


def _unknown_fields(item: Item) -> Iterator[Finding]:
    for unknown in unknown_fields(item.document.obj):
        yield item.error(unknown.path, unknown.fault, unknown.remedy)


def _annotations(item: Item) -> Iterator[Finding]:
    for problem in unreadable(item.document.obj):
        yield item.error(problem.path, problem.fault, f"accepted: {problem.accepted}")
    for name, meant in unknown_annotations(item.document.obj):
        yield item.warning(
            f"metadata.annotations[{name}]",
            "there is no such annotation: nobody reads it",
            f"did you mean {meant}?" if meant else "docs/operating.md names those that there are",
        )
