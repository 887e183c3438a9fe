"""Keeps what is known of add-ons that are made of AddOnTemplates, cluster by cluster.

Follows their ManagedClusterAddOns, the works of these, templates and configurations with the hashes of
what they are now, and what clusters say of image registries. Whoever plans a ManagedClusterAddOn reads
it here.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct

from rollout.api.decoding import decode, decoder
from rollout.api.fields import listed, mapping, strings, text
from rollout.fleet.addons import known_of
from rollout.fleet.tracker import Around, Tracker
from rollout.model import names
from rollout.model.addon import AddOn, ClusterAddOn, ConfigRef, Resource
from rollout.model.addon_template import (
    DEPLOYMENT_CONFIGS,
    TEMPLATES,
    AddOnTemplate,
    DeploymentConfig,
)
from rollout.model.conditions import read_conditions
from rollout.model.events import Change, Event
from rollout.model.intents import NO_INTENTS
from rollout.model.kinds import (
    ADDON_DEPLOYMENT_CONFIG,
    ADDON_TEMPLATE,
    CLUSTER_MANAGEMENT_ADDON,
    FREEZE,
    MANAGED_CLUSTER,
    MANAGED_CLUSTER_ADDON,
    MANIFEST_WORK,
    Kind,
    Obj,
    Ref,
)
from rollout.model.waits import Wait
from rollout.planning.plan import Write
from rollout.planning.templates.deploy import DeployInput
from rollout.rollouts.holds import workload_hold, workload_problems
from rollout.rollouts.rejections import RefusedWrite, refusal

_RESOURCES: dict[Kind, Resource] = {
    ADDON_TEMPLATE: TEMPLATES,
    ADDON_DEPLOYMENT_CONFIG: DEPLOYMENT_CONFIGS,
}


class _TemplateCluster(Struct, frozen=True, gc=False):
    """What counts of a ManagedCluster."""

    registries: str
    deleting: bool
    is_silent: bool


class _KeptTemplate(NamedTuple):
    """A template or configuration as it is now; ``spec_hash`` "" where it cannot be hashed."""

    spec_hash: str
    content: AddOnTemplate | DeploymentConfig


class AddOnTemplates(Tracker):
    """All add-ons that are made of templates. None is a workload: what is rolled out is the add-on as a
    whole.
    """

    planned = (MANAGED_CLUSTER_ADDON,)
    kinds = (CLUSTER_MANAGEMENT_ADDON, MANAGED_CLUSTER_ADDON)

    def __init__(self, fleet: Around) -> None:
        super().__init__(fleet)
        self._profile = fleet.policy.profile
        self._addons: dict[str, AddOn] = {}
        self._installed: dict[str, ClusterAddOn] = {}  # those made of a template, by key
        self._clusters: dict[str, Obj] = {}  # read when asked for: most fleets have no templates
        self._works: dict[str, dict[str, Obj]] = {}  # key of a ManagedClusterAddOn -> key -> work
        self._homes: dict[str, str] = {}  # key of a work -> key of its ManagedClusterAddOn
        self._kept: dict[ConfigRef, _KeptTemplate] = {}
        self._missed: set[Kind] = set()
        self._refused: dict[str, tuple[str, RefusedWrite]] = {}  # by ManagedClusterAddOn: work, why
        self.wanted = frozenset(self.kinds)

    # -- what happened -------------------------------------------------------------------------

    def take(self, event: Event, now: datetime) -> Iterable[Ref]:
        """Take in an event; the ManagedClusterAddOns that are planned anew for it."""
        kind = event.ref.kind
        if kind is MANAGED_CLUSTER_ADDON:
            return self._on_installed(event)
        if kind is MANIFEST_WORK:
            return self._on_work(event)
        if kind is MANAGED_CLUSTER:
            return self._on_cluster(event)
        if kind is CLUSTER_MANAGEMENT_ADDON:
            return self._on_addon(event)
        if kind in _RESOURCES:
            return self._on_content(event)
        return self._refs(self._installed) if kind is FREEZE else ()

    @staticmethod
    def _refs(keys: Iterable[str]) -> list[Ref]:
        return [Ref(MANAGED_CLUSTER_ADDON, key) for key in keys]

    def _on_installed(self, event: Event) -> Iterable[Ref]:
        key = event.ref.key
        before = self._installed.pop(key, None)
        if event.change is not Change.DELETED and _is_templated(event.obj):
            found = decode(MANAGED_CLUSTER_ADDON, event.obj, before)
            assert isinstance(found, ClusterAddOn)
            self._installed[key] = found
        after = self._installed.get(key)
        if before is None and after is None:
            return ()
        if before is None or after is None or before.references != after.references:
            self._refused.pop(key, None)
        wanted = self.kinds + (tuple(_RESOURCES) if self._installed else ())
        if len(wanted) != len(self.wanted):
            self.wanted = frozenset(wanted)
        return (event.ref,)

    def _on_work(self, event: Event) -> Iterable[Ref]:
        key = event.ref.key
        labels = mapping(event.obj["metadata"].get("labels"))
        if names.ADDON_NAME_LABEL not in labels and key not in self._homes:
            return ()  # nearly all works are of no add-on
        name = text(labels.get(names.ADDON_NAME_LABEL))
        home = f"{event.ref.namespace}/{name}" if name else ""
        if names.ADDON_NAMESPACE_LABEL in labels or event.change is Change.DELETED:
            home = ""
        if not home and key not in self._homes:
            return ()
        before = self._homes.pop(key, "")
        if self._refused.get(home, ("",))[0] == key:
            del self._refused[home]
        if before:
            self._works[before].pop(key, None)
            if not self._works[before]:
                del self._works[before]
        if home:
            self._homes[key] = home
            self._works.setdefault(home, {})[key] = event.obj
        return self._refs(each for each in {before, home} if each in self._installed)

    def _on_cluster(self, event: Event) -> Iterable[Ref]:
        cluster = event.ref.key
        before = self._clusters.pop(cluster, None)
        if event.change is not Change.DELETED:
            self._clusters[cluster] = event.obj
        if not self._installed or self._cluster(cluster) == _cluster_of(before):
            return ()
        return self._refs(key for key, a in self._installed.items() if a.cluster == cluster)

    def _on_addon(self, event: Event) -> Iterable[Ref]:
        name = event.ref.key
        before = self._addons.pop(name, None)
        if event.change is not Change.DELETED:
            found = decode(CLUSTER_MANAGEMENT_ADDON, event.obj, before)
            assert isinstance(found, AddOn)
            self._addons[name] = found
        after = self._addons.get(name)
        if before is not None and after is not None and _asks(before) == _asks(after):
            return ()
        return self._refs(key for key, a in self._installed.items() if a.name == name)

    def _on_content(self, event: Event) -> Iterable[Ref]:
        ref = ConfigRef(_RESOURCES[event.ref.kind], event.ref.namespace, event.ref.name)
        before = self._kept.pop(ref, None)
        if event.change is not Change.DELETED:
            found: AddOnTemplate | DeploymentConfig = decoder(event.ref.kind.name)(event.obj)
            known = known_of(event.obj)
            self._kept[ref] = _KeptTemplate(known.spec_hash if known else "", found)
        after = self._kept.get(ref)
        if before is not None and after is not None and before.spec_hash == after.spec_hash:
            return ()
        return self._refs(
            key
            for key, addon in self._installed.items()
            if any(desired.ref == ref for desired in addon.desired)
        )

    # -- what the planner reads ----------------------------------------------------------------

    def subject(self, key: str, now: datetime) -> DeployInput | None:
        """A ManagedClusterAddOn as its pass looks at it; None where there is nothing to do."""
        from rollout.api.addon_template import decode_agent_work  # noqa: PLC0415  (few hubs need it)

        addon = self._installed.get(key)
        cluster = self._cluster(addon.cluster) if addon is not None else None
        if addon is None:
            return None
        whole = self._addons.get(addon.name)
        strict = ((whole.intents.profile if whole else "") or self._profile) != "ocm"
        if cluster is None and not (strict and addon.deleting):
            return None
        refused = self._refused.get(key)
        if whole is not None and not whole.is_managed:
            return None
        hold = self._hold(whole, now, as_ocm=not strict)
        return DeployInput(
            addon=addon,
            works=[decode_agent_work(work) for _, work in sorted(self._of(key))],
            sources=self,
            strict=strict,
            default_template=self._default(whole),
            cluster_deleting=cluster is None or cluster.deleting,
            cluster_is_silent=cluster is None or cluster.is_silent,
            is_held=cluster is None or hold is not None or (strict and _is_held(addon, whole)),
            held_until=hold.until if hold is not None else None,
            is_current=self._is_current(addon),
            refused=refused[1].message if refused else "",
            retry_at=refused[1].retry_at if refused and refused[1].retry_at > now else None,
        )

    def _of(self, key: str) -> Iterator[tuple[str, Obj]]:
        yield from self._works.get(key, {}).items()

    def _default(self, whole: AddOn | None) -> AddOnTemplate | None:
        refs = whole.defaults if whole is not None else ()
        name = next((ref.name for ref in refs if ref.resource == TEMPLATES), "")
        return self.template(name) if name else None

    def _hold(self, whole: AddOn | None, now: datetime, *, as_ocm: bool) -> Wait | None:
        """Why works of this add-on stay as they are on all clusters: what holds its rollout, too."""
        problems = workload_problems(whole, as_ocm=as_ocm) if whole is not None else ()
        intents = whole.intents if whole is not None else NO_INTENTS
        return workload_hold(problems, intents, self._fleet.freeze(now), None, now=now)

    def _is_current(self, addon: ClusterAddOn) -> bool:
        """Whether everything that it refers to can be read, and is of the revision that it names."""
        if self._missed:
            return False
        return all(
            kept.spec_hash == desired.spec_hash
            for desired in addon.desired
            if (kept := self._kept.get(desired.ref)) is not None
        )

    def template(self, name: str) -> AddOnTemplate | None:
        kept = self._kept.get(ConfigRef(TEMPLATES, "", name))
        return kept.content if kept and isinstance(kept.content, AddOnTemplate) else None

    def deployment_config(self, ref: ConfigRef) -> DeploymentConfig | None:
        kept = self._kept.get(ref)
        return kept.content if kept and isinstance(kept.content, DeploymentConfig) else None

    def registries(self, cluster: str) -> str:
        known = self._cluster(cluster)
        return known.registries if known else ""

    def _cluster(self, name: str) -> _TemplateCluster | None:
        return _cluster_of(self._clusters.get(name))

    # -- what the fleet asks -------------------------------------------------------------------

    def missed(self, kind: Kind, why: str) -> Iterable[Ref]:
        if kind not in _RESOURCES:
            return ()
        (self._missed.add if why else self._missed.discard)(kind)
        return self._refs(self._installed)

    def forget(self, kind: Kind) -> None:
        self._missed.discard(kind)
        resource = _RESOURCES.get(kind)
        self._kept = {ref: kept for ref, kept in self._kept.items() if ref.resource != resource}

    def refused(self, write: Write, owner: Ref, message: str, now: datetime) -> datetime | None:
        """A work that the server will not have is said at once, and tried again later (row 19)."""
        if owner.key not in self._installed or write.ref.kind is not MANIFEST_WORK:
            return None
        known = self._refused.get(owner.key)
        text = f"{write.ref.name}: {message}"
        self._refused[owner.key] = write.ref.key, refusal(known[1] if known else None, text, now)
        return now


def _is_templated(obj: Obj) -> bool:
    """Whether the status of a ManagedClusterAddOn names a template."""
    references = listed(mapping(obj.get("status")).get("configReferences"))
    return any(
        mapping(item).get("resource") == TEMPLATES.resource
        and mapping(item).get("group") == TEMPLATES.group
        for item in references
    )


def _cluster_of(obj: Obj | None) -> _TemplateCluster | None:
    if obj is None:
        return None
    meta = obj["metadata"]
    said = read_conditions(mapping(obj.get("status")).get("conditions"))
    available = said.get(names.CLUSTER_AVAILABLE)
    return _TemplateCluster(
        strings(meta.get("annotations")).get(names.IMAGE_REGISTRIES, ""),
        meta.get("deletionTimestamp") is not None,
        available is not None and available.status == "Unknown",
    )


def _is_held(addon: ClusterAddOn, whole: AddOn | None) -> bool:
    """Whether people hold this one cluster."""
    return whole is not None and addon.cluster in whole.intents.held


def _asks(addon: AddOn) -> tuple[object, ...]:
    """The parts of an add-on that its works depend on."""
    asked = addon.placement_names, addon.problems  # these say whether it is held
    return addon.defaults, addon.intents, addon.is_managed, *asked
