"""The rules of ClusterValues: which fields are set on which clusters."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rollout.model.content import json_hash
from rollout.model.kinds import Obj
from rollout.model.placement import Predicate
from rollout.model.problems import Problem
from rollout.values.paths import ValuePath

MOST_RULES = 32
MOST_SETTINGS = 32
"""Fields that one rule sets."""
MOST_EXPRESSIONS = 64
"""Expressions of all ClusterValues of one workload together."""
MOST_FIELDS = 256
"""Fields that all ClusterValues of one workload set together."""
LONGEST_VALUE_EXPRESSION = 1_024
TARGET_ACCEPTED = (
    "the kind of a manifest, and no List: write each of its items as a manifest of its own, as a "
    "ManifestWork carries them"
)
EXPRESSION_ACCEPTED = "a CEL expression over cluster, workload and current"


@dataclass(frozen=True, slots=True)
class ManifestTarget:
    """Manifests of the template: those of which all that is set here is true."""

    kind: str
    name: str = ""
    namespace: str = ""
    api_version: str = ""

    def matches(self, manifest: Obj) -> bool:
        meta = manifest.get("metadata")
        meta = meta if isinstance(meta, dict) else {}
        pairs = (
            (self.kind, manifest.get("kind")),
            (self.name, meta.get("name")),
            (self.namespace, meta.get("namespace")),
            (self.api_version, manifest.get("apiVersion")),
        )
        return all(asked in ("", found) for asked, found in pairs)

    def __str__(self) -> str:
        parts = (self.api_version, self.kind, self.namespace, self.name)
        return " ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueSetting:
    """One field that is set: to what ``expression`` gives or, where that is "", to ``literal``."""

    target: ManifestTarget
    path: ValuePath
    expression: str = ""
    literal: Any = None


@dataclass(frozen=True, slots=True)
class ValueRule:
    """Fields that are set on some clusters; ``clusters`` None: on all."""

    settings: tuple[ValueSetting, ...]
    clusters: Predicate | None = None

    @property
    def selecting(self) -> tuple[str, ...]:
        """The expressions that say which clusters it concerns: they may read any part of a cluster."""
        return self.clusters.cel if self.clusters is not None else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterValues:
    """One object. With ``problems`` none of its rules is to be followed. ``raw`` are the rules as written."""

    namespace: str
    name: str
    workload: str = ""
    rules: tuple[ValueRule, ...] = ()
    problems: tuple[Problem, ...] = ()
    raw: Any = field(default=None, compare=False, repr=False)

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


def written_rules(several: Iterable[ClusterValues]) -> list[Obj]:
    """The rules as they were written, each with the name of its object, by name."""
    return [
        {"name": each.name, "rules": each.raw} for each in sorted(several, key=lambda v: v.name)
    ]


def revision_of(content: str, written: Sequence[Obj]) -> str:
    """The revision of a workload: of its template alone, or of the template and the rules over it.

    Args:
        content: the hash of the template.
        written: see `written_rules`.
    """
    return json_hash([content, written]) if written else content
