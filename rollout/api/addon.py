"""The wire form of a ClusterManagementAddOn.

Both served versions are read; v1alpha1 is what hubs store. Source: OCM add-on spec 1, 2.2 and
weaknesses A-13, A-22.
"""

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, model_validator

from rollout.api.fields import listed, mapping, strings, text, version_of, whole
from rollout.api.reading import read, read_each
from rollout.api.strategy import RolloutStrategyShape, read_strategy
from rollout.api.wire import (
    BLANK,
    UNREAD,
    Conditions,
    Inside,
    Name,
    RawObject,
    RuledShape,
    Shape,
    WireObject,
    accepted,
    list_map,
    only_chosen,
)
from rollout.model import names
from rollout.model.addon import AddOn, ConfigRef, InstallPlacement, Resource
from rollout.model.intents import read_intents
from rollout.model.kinds import Obj
from rollout.model.problems import Problem

AGENT_NAMESPACE = "open-cluster-management-agent-addon"
ADDON_RESOURCE = list_map("group", "resource")
NO_DEFAULT = "__reserved_no_default__"
"""Stands in v1beta1 for "supported, without a default"."""
_MANAGED = (None, "", "addon-manager")


class AddOnMetaShape(Shape):
    """Display texts."""

    display_name: str | None = None
    description: str | None = None


class ConfigReferentShape(Shape):
    """Names a configuration object."""

    namespace: str | None = None
    name: Name


class ConfigResourceShape(Shape):
    """A kind of configuration objects."""

    group: str | None = ""
    resource: Annotated[Name, accepted('the plural of a kind such as "addondeploymentconfigs"')]

    def kind(self) -> Resource:
        """The kind."""
        return Resource(self.group or "", self.resource)


class SupportedConfigShape(ConfigResourceShape):
    """A kind of configuration objects, and the one that counts where no other is named."""

    default_config: ConfigReferentShape | None = None


class AddOnConfigShape(ConfigResourceShape):
    """One configuration object, with its kind."""

    namespace: str | None = None
    name: Annotated[Name, accepted("the name of a configuration object")]

    def to_model(self) -> ConfigRef:
        """The configuration object."""
        return ConfigRef(self.kind(), self.namespace or "", self.name)


class SpecHashShape(Shape):
    """A revision of a configuration object."""

    namespace: str | None = None
    name: str | None = None
    spec_hash: str | None = None


class InstallPlacementShape(Shape):
    """A Placement, what configures the add-on there, and how a change is rolled out."""

    namespace: Annotated[Name, accepted("the namespace of a Placement")]
    name: Annotated[Name, accepted("the name of a Placement")]
    configs: list[AddOnConfigShape] | None = None
    rollout_strategy: Annotated[Any, Inside(RolloutStrategyShape | None, object)] = Field(
        default=None, json_schema_extra={"default": {"type": "All"}}
    )

    def to_model(self, at: str) -> InstallPlacement:
        """The placement; ``at`` is where it stands."""
        strategy = self.rollout_strategy
        rollout, problems = read_strategy(strategy, f"{at}.rolloutStrategy")
        configs = tuple(each.to_model() for each in self.configs or ())
        return InstallPlacement(
            namespace=self.namespace,
            name=self.name,
            configs=configs,
            rollout=rollout,
            problems=problems,
            raw=mapping(strategy),
        )


class InstallStrategyShape(RuledShape):
    """Where the add-on is installed."""

    type: Annotated[Literal["Manual", "Placements"] | None, BLANK] = "Manual"
    placements: (
        Annotated[
            list[Any],
            Inside(
                Annotated[
                    list[InstallPlacementShape],
                    Field(json_schema_extra=list_map("namespace", "name")),
                ],
                list,
            ),
        ]
        | None
    ) = None

    @model_validator(mode="before")
    @classmethod
    def _chosen(cls, value: Any, info: ValidationInfo) -> Any:
        kind = value.get("type") if isinstance(value, dict) else None
        return only_chosen(value, info, () if kind == "Placements" else ("placements",))

    @classmethod
    def broken_rules(cls, written: Obj) -> Iterable[Problem]:
        if written.get("type") == "Placements":
            for i, key in _listed_before(written.get("placements")):
                words = f"each placement once; {key} is listed before"
                yield Problem(f"placements[{i}].name", key.partition("/")[2], words)

    def to_model(self, at: str) -> tuple[tuple[InstallPlacement, ...] | None, tuple[Problem, ...]]:
        """The placements that can be read, None for Manual; and what is wrong with the others."""
        if self.type != "Placements":
            return None, ()
        found: dict[str, InstallPlacement] = {}
        problems: list[Problem] = []
        items = self.placements or ()
        for path, placement, bad in read_each(InstallPlacementShape, items, f"{at}.placements"):
            problems += bad
            if placement is not None:
                value = placement.to_model(path)
                found.setdefault(value.key, value)
        return tuple(found.values()), tuple(problems)


def _listed_before(placements: object) -> Iterator[tuple[int, str]]:
    """The entries that name a placement which an earlier one has named."""
    seen: set[str] = set()
    for i, item in enumerate(map(mapping, listed(placements))):
        namespace, name = text(item.get("namespace")), text(item.get("name"))
        key = f"{namespace}/{name}"
        if namespace and name and key in seen:
            yield i, key
        seen.add(key)


class AddOnSpec(Shape):
    """What the add-on is."""

    add_on_meta: Annotated[AddOnMetaShape | None, UNREAD] = None
    add_on_configuration: Annotated[RawObject | None, UNREAD] = None
    supported_configs: (
        Annotated[list[SupportedConfigShape], Field(json_schema_extra=ADDON_RESOURCE)] | None
    ) = None
    install_strategy: InstallStrategyShape | None = Field(
        default=None, json_schema_extra={"default": {"type": "Manual"}}
    )


class DefaultReferenceShape(ConfigResourceShape):
    """A default configuration, with its hash."""

    desired_config: SpecHashShape | None = None


class ProgressReferenceShape(DefaultReferenceShape):
    """A configuration of a placement: what is wanted, applied, and known to be good."""

    last_applied_config: SpecHashShape | None = None
    last_known_good_config: SpecHashShape | None = None


class InstallProgressionShape(Shape):
    """How one placement's rollout stands."""

    namespace: str
    name: str
    config_references: list[ProgressReferenceShape] | None = None
    conditions: Conditions | None = None


class AddOnStatus(Shape):
    """How the rollouts stand."""

    default_config_references: Annotated[
        list[DefaultReferenceShape] | None, Field(alias="defaultconfigReferences")
    ] = None
    install_progressions: list[InstallProgressionShape] | None = None


class AddOnObject(WireObject):
    """An add-on for many clusters: its configurations, where it goes and how."""

    spec: AddOnSpec
    status: AddOnStatus | None = None


def decode_addon(obj: Obj, previous: AddOn | None = None) -> AddOn:
    """A ClusterManagementAddOn. ``previous``: as for `rollout.api.decode`."""
    meta = mapping(obj.get("metadata"))
    uid, generation = text(meta.get("uid")), whole(meta.get("generation"))
    annotations = strings(meta.get("annotations"))
    same = previous is not None and generation and uid and previous.uid == uid
    if previous is not None and same and previous.generation == generation:
        supported, defaults = previous.supported, previous.defaults
        placements, problems = previous.placements, previous.problems
    else:
        supported, defaults, placements, problems = _parsed(supporting(obj.get("spec")))
    return AddOn(
        name=text(meta.get("name")),
        uid=uid,
        generation=generation,
        version=version_of(meta),
        supported=supported,
        defaults=defaults,
        placements=placements,
        is_managed=annotations.get(names.ADDON_LIFECYCLE) in _MANAGED,
        deleting=meta.get("deletionTimestamp") is not None,
        annotations=annotations,
        problems=problems,
        raw=obj,
        intents=read_intents(annotations, keeps_templates=False),
    )


def _parsed(
    raw: object,
) -> tuple[
    tuple[Resource, ...],
    tuple[ConfigRef, ...],
    tuple[InstallPlacement, ...] | None,
    tuple[Problem, ...],
]:
    found, problems = read(AddOnSpec, raw, "spec")
    spec = found or AddOnSpec()
    configs = [(each.kind(), each.default_config) for each in spec.supported_configs or ()]
    defaults = tuple(
        ConfigRef(kind, default.namespace or "", default.name)
        for kind, default in configs
        if default is not None and default.name != NO_DEFAULT
    )
    install = spec.install_strategy or InstallStrategyShape()
    placements, wrong = install.to_model("spec.installStrategy")
    supported = tuple(dict.fromkeys(kind for kind, _ in configs))
    return supported, defaults, placements, (*problems, *wrong)


def supporting(spec: object) -> object:
    """A spec as v1alpha1 has it; that of v1beta1 says defaultConfigs instead of supportedConfigs."""
    if not isinstance(spec, dict) or "defaultConfigs" not in spec:
        return spec
    kept = {key: value for key, value in spec.items() if key != "defaultConfigs"}
    supported = [_supported(item) for item in listed(spec["defaultConfigs"])]
    return {**kept, "supportedConfigs": [*listed(kept.get("supportedConfigs")), *supported]}


def _supported(item: object) -> Obj:
    at = mapping(item)
    found = {key: value for key, value in at.items() if key not in ("name", "namespace")}
    if at.get("name") not in (None, "", NO_DEFAULT):
        keys = [key for key in ("namespace", "name") if key in at]
        found["defaultConfig"] = {key: at[key] for key in keys}
    return found
