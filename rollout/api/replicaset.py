"""What does a ManifestWorkReplicaSet say? Wire object to model value.

Source: OCM ManifestWorkReplicaSet spec 2.
"""

from rollout.api.fields import Reader, mapping, strings, text, texts, version_of, whole
from rollout.api.rollouts import parse_rollout
from rollout.api.work import hashed
from rollout.model.intents import read_intents
from rollout.model.kinds import Obj
from rollout.model.problems import Problem
from rollout.model.replicaset import PlacementRef, ReplicaSet, Template

CASCADES = ("Background", "Foreground")


def decode_replicaset(obj: Obj, previous: ReplicaSet | None = None) -> ReplicaSet:
    """A ManifestWorkReplicaSet. A placement reference without a name is left out, with a problem.

    Args:
        obj: as a hub stores it; shared, never altered.
        previous: an earlier value of the same object. What was parsed of its spec is reused where
            uid and generation are equal.
    """
    meta = mapping(obj.get("metadata"))
    uid, generation = text(meta.get("uid")), whole(meta.get("generation"))
    same = previous is not None and generation and uid and previous.uid == uid
    if previous is not None and same and previous.generation == generation:
        template, refs = previous.template, previous.refs
        cascade, problems = previous.cascade, previous.problems
    else:
        template, refs, cascade, problems = _spec(obj.get("spec"))
    annotations = strings(meta.get("annotations"))
    asked = previous is not None and previous.annotations == annotations
    return ReplicaSet(
        text(meta.get("namespace")),
        text(meta.get("name")),
        uid,
        generation,
        version_of(meta),
        template,
        refs,
        cascade,
        meta.get("deletionTimestamp") is not None,
        texts(meta.get("finalizers")),
        strings(meta.get("labels")),
        annotations,
        problems,
        obj,
        previous.intents if previous is not None and asked else read_intents(annotations),
    )


def _spec(raw: object) -> tuple[Template, tuple[PlacementRef, ...], str, tuple[Problem, ...]]:
    problems: list[Problem] = []
    spec = Reader(raw, "spec", problems)
    template = _template(spec.inner("manifestWorkTemplate"))
    refs = tuple(ref for item in spec.items("placementRefs") if (ref := _ref(item)) is not None)
    if not refs:
        spec.refuse("placementRefs", "at least one object with the name of a Placement")
    cascade = spec.one_of("cascadeDeletionPolicy", CASCADES, "Background")
    return template, refs, cascade, tuple(problems)


def _ref(item: Reader) -> PlacementRef | None:
    name = item.obj.get("name")
    if not isinstance(name, str) or not name:
        item.refuse("name", "the name of a Placement in this namespace")
        return None
    strategy = item.obj.get("rolloutStrategy")
    rollout, problems = parse_rollout(strategy, item.path("rolloutStrategy"))
    return PlacementRef(name, rollout, problems, mapping(strategy))


def _template(template: Reader) -> Template:
    """The template as written, its hash, and the condition types that its rules set."""
    if not listed_manifests(template.obj):
        template.problems.append(
            Problem(f"{template.at}.workload.manifests", None, "at least one manifest")
        )
    rules = {
        rule["condition"]
        for config in template.items("manifestConfigs")
        for rule in (r.obj for r in config.items("conditionRules"))
        if isinstance(rule.get("condition"), str) and rule["condition"]
    }
    return Template(template.obj, hashed(template.obj), frozenset(rules))


def listed_manifests(template: Obj) -> list[Obj]:
    """The manifests of a template or of a ManifestWork spec; what is no object is left out."""
    manifests = mapping(template.get("workload")).get("manifests")
    return [m for m in manifests if isinstance(m, dict)] if isinstance(manifests, list) else []
