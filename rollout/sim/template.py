"""Reads the parts of a work that an agent or a scenario needs.

The conditions that its rules define (an agent writes no others but Applied and Available), the
manifests with feedback, the identity of each manifest, and whether a scenario's selector matches.
Source: OCM work agent spec 3.2, 4.2 and 4.3.
"""

import fnmatch
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rollout.api.fields import listed, mapping, text
from rollout.model.kinds import Obj
from rollout.sim.paths import values_at
from rollout.sim.scenario import Manifests


@dataclass(frozen=True, slots=True)
class RuleFacts:
    """One condition that rules define: on how many manifests, and the message where one was given."""

    condition: str
    manifests: int
    message: str = ""

    def says(self, is_true: bool) -> str:
        """The message at the level of the work."""
        if self.manifests > 1:
            return f"Aggregated from {self.manifests} manifest conditions"
        return self.message or f"Manifest is {'' if is_true else 'not '}{self.condition}"


class WorkTemplate:
    """One ManifestWork spec, read once and shared by all works that carry it."""

    __slots__ = ("_matches", "asked", "conditions", "metas", "rules", "spec")

    def __init__(self, spec: Obj) -> None:
        self.spec = spec
        manifests = [mapping(m) for m in listed(mapping(spec.get("workload")).get("manifests"))]
        self.metas = tuple(_meta(ordinal, m) for ordinal, m in enumerate(manifests))
        self.rules = _rules(listed(spec.get("manifestConfigs")), self.metas)
        self.asked = _asked(listed(spec.get("manifestConfigs")), self.metas, manifests)
        self.conditions = frozenset(rule.condition for rule in self.rules)
        self._matches: dict[int, bool] = {}

    def matches(self, selector: Manifests) -> bool:
        """Whether at least one manifest meets all that the selector says."""
        known = self._matches.get(id(selector))
        if known is None:
            manifests = listed(mapping(self.spec.get("workload")).get("manifests"))
            known = any(_meets(mapping(m), selector) for m in manifests)
            self._matches[id(selector)] = known
        return known


class Templates:
    """Templates by the identity of their spec, which never changes. Bounded."""

    _MOST = 256

    def __init__(self) -> None:
        self._known: dict[int, WorkTemplate] = {}

    def of(self, spec: Obj) -> WorkTemplate:
        found = self._known.get(id(spec))
        if found is None:
            if len(self._known) >= self._MOST:
                self._known.clear()
            found = self._known[id(spec)] = WorkTemplate(spec)  # which keeps the spec alive
        return found


def _meta(ordinal: int, manifest: Obj) -> Obj:
    group, _, version = text(manifest.get("apiVersion")).rpartition("/")
    kind, meta = text(manifest.get("kind")), mapping(manifest.get("metadata"))
    return {
        "ordinal": ordinal,
        "group": group,
        "version": version,
        "kind": kind,
        "resource": plural(kind),
        "name": text(meta.get("name")),
        "namespace": text(meta.get("namespace")),
    }


def plural(kind: str) -> str:
    """The resource of a kind by the rules with which API servers guess (Policy: policies)."""
    word = kind.lower()
    if word.endswith("endpoints"):
        return word
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s" if word else ""


def _rules(configs: list[Any], metas: tuple[Obj, ...]) -> tuple[RuleFacts, ...]:
    """Per condition; for each manifest the first matching config that has rules decides."""
    found: dict[str, list[str]] = {}
    for meta in metas:
        for config in map(mapping, configs):
            rules = [mapping(rule) for rule in listed(config.get("conditionRules"))]
            if rules and _identifies(mapping(config.get("resourceIdentifier")), meta):
                for rule in rules:
                    if condition := text(rule.get("condition")):
                        found.setdefault(condition, []).append(text(rule.get("message")))
                break
    return tuple(RuleFacts(c, len(m), m[0]) for c, m in sorted(found.items()))


def _asked(
    configs: list[Any], metas: tuple[Obj, ...], manifests: list[Obj]
) -> dict[int, tuple[str, int]]:
    """Kind and replicas of the manifests with well-known feedback, by ordinal."""
    found: dict[int, tuple[str, int]] = {}
    for meta, manifest in zip(metas, manifests, strict=True):
        for config in map(mapping, configs):
            rules = [mapping(rule) for rule in listed(config.get("feedbackRules"))]
            is_asked = any(rule.get("type") == "WellKnownStatus" for rule in rules)
            if is_asked and _identifies(mapping(config.get("resourceIdentifier")), meta):
                replicas = mapping(manifest.get("spec")).get("replicas")
                count = replicas if type(replicas) is int else 1
                found[meta["ordinal"]] = (meta["kind"], count)
    return found


def _identifies(identifier: Obj, meta: Obj) -> bool:
    return all(
        text(identifier.get(field)) == meta[field] for field in ("group", "resource")
    ) and all(
        glob(text(identifier.get(field))).match(meta[field]) is not None
        for field in ("namespace", "name")
    )


@lru_cache(maxsize=1024)
def glob(pattern: str) -> re.Pattern[str]:
    """A pattern in which ``*``, ``?`` and ``[...]`` mean what they mean in a shell."""
    return re.compile(fnmatch.translate(pattern))


def contains(labels: object, wanted: Mapping[str, str]) -> bool:
    """Whether all of ``wanted`` is among the labels."""
    found = mapping(labels)
    return all(found.get(key) == value for key, value in wanted.items())


def _meets(manifest: Obj, selector: Manifests) -> bool:
    meta = mapping(manifest.get("metadata"))
    if selector.kind is not None and manifest.get("kind") != selector.kind:
        return False
    if selector.name is not None and not glob(selector.name).match(text(meta.get("name"))):
        return False
    if not contains(meta.get("labels"), selector.match_labels):
        return False
    if selector.image is not None:
        pattern = glob(selector.image)
        if not any(pattern.match(image) for image in _images(manifest)):
            return False
    if selector.path is None:
        return True
    return any(_same(value, selector.equals) for value in values_at(manifest, selector.path))


def _same(one: object, other: object) -> bool:
    """Equal as JSON, where true is not 1."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _images(value: Any) -> Iterator[str]:
    """The images of all containers, however deep a pod template lies."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key in ("containers", "initContainers", "ephemeralContainers"):
                yield from (text(mapping(c).get("image")) for c in listed(item))
            else:
                yield from _images(item)
    elif isinstance(value, list):
        for item in value:
            yield from _images(item)
