"""The configurations of an add-on: what they refer to, their wire form, and how far a cluster is.

The configReferences of a ManagedClusterAddOn, its Progressing condition, and what both say of its
health. Source: OCM add-on spec 2.4, 2.5, weaknesses A-1, A-2, A-7; semantics rows 7-9, 23.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from rollout.model import names
from rollout.model.addon import (
    AddOn,
    ClusterAddOn,
    Config,
    ConfigRef,
    Configs,
    Reference,
    by_resource,
)
from rollout.model.cluster_reasons import AnyReason, ClusterReason, any_reason
from rollout.model.conditions import Condition
from rollout.model.kinds import Obj
from rollout.strategies.base import Health
from rollout.strategies.ocm import Status
from rollout.strategies.ocm_step import Reported
from rollout.strategies.states import Report, token_of

NOT_READY = "progressing... work is not ready"
MISMATCH = "progressing... mca and work configs mismatch"
NO_WORKS = "progressing... no addon works"
COMPLETED = "completed with no errors."

CONFIGURED = Condition(
    names.CONFIGURED, "True", "ConfigurationsConfigured", "Configurations configured"
)
NOT_CONFIGURED = Condition(
    names.CONFIGURED,
    "False",
    "ConfigurationsNotConfigured",
    "Configurations updated and not configured yet",
)
_APPLY_FAILURES = ("AddonManifestAppliedFailed", "ManifestWorkApplyFailed")


class Known(NamedTuple):
    """A configuration object that exists: the hash of its content, and its generation."""

    spec_hash: str
    generation: int


class ConfigsToTell(NamedTuple):
    """What a cluster's add-on is to be told: its configurations, and whether they are the newest."""

    configs: Configs
    configured: bool


@lru_cache(maxsize=16_384)  # most clusters of a fleet have the same ones
def content_of(configs: Configs) -> str:
    """The hash of configurations in their order: the revision that they make together."""
    text = json.dumps([[*c.ref.resource, *c.ref[1:], c.spec_hash] for c in configs])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def in_order(configs: Iterable[Config]) -> Configs:
    """Sorted by resource; within one the order is kept, for it counts."""
    return tuple(sorted(configs, key=lambda config: config.ref.resource))


# -- on the wire ---------------------------------------------------------------------------------


def config_wire(config: Config) -> Obj:
    wire: Obj = {"name": config.ref.name, "specHash": config.spec_hash}
    return {"namespace": config.ref.namespace, **wire} if config.ref.namespace else wire


def reference_of(config: Config) -> Obj:
    """An entry of configReferences as far as it says what is to be applied."""
    group, resource = config.ref.resource
    return {"group": group, "resource": resource, "desiredConfig": config_wire(config)}


def body_of(configs: Iterable[Config]) -> Obj:
    """What a cluster is told to apply, and nothing else of its status."""
    return {"configReferences": [reference_of(config) for config in in_order(configs)]}


def references(
    addon: ClusterAddOn, configs: Configs, known: Mapping[ConfigRef, Known]
) -> tuple[Reference, ...]:
    """What a cluster is told to apply. What was applied of another object is forgotten."""
    before = {r.desired.ref: r for r in addon.references if r.desired is not None}
    found: list[Reference] = []
    for config in configs:
        old = before.get(config.ref)
        applied = old.applied if old and old.applied and old.applied.ref == config.ref else None
        there = known.get(config.ref)
        generation = there.generation if there else (old.generation if old else 0)
        found.append(Reference(config.ref.resource, config, applied, generation))
    return tuple(found)


def reference_wire(reference: Reference) -> Obj:
    """As v1alpha1 has it, which wants the object's name twice."""
    assert reference.desired is not None
    ref = reference.desired.ref
    wire: Obj = {
        "group": ref.resource.group,
        "resource": ref.resource.resource,
        "namespace": ref.namespace,
        "name": ref.name,
        "desiredConfig": config_wire(reference.desired),
        "lastObservedGeneration": reference.generation,
    }
    if reference.applied is not None:
        wire["lastAppliedConfig"] = config_wire(reference.applied)
    return wire


# -- how far it has come -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class AddOnWork:
    """A ManifestWork that deploys a cluster's add-on. ``hashes`` None: it does not say of what.

    ``is_hosted``: it lives in the namespace of another cluster, ``cluster``.
    """

    cluster: str
    name: str
    is_ready: bool
    hashes: Mapping[str, str] | None
    is_hosted: bool = False


def read_addon_work(obj: Obj) -> AddOnWork:
    """An add-on's ManifestWork. Ready: Available and Applied, both at its generation."""
    meta = obj["metadata"]
    labels = meta.get("labels") or {}
    text = (meta.get("annotations") or {}).get(names.CONFIG_SPEC_HASH)
    true = {
        c.get("type")
        for c in (obj.get("status") or {}).get("conditions") or []
        if c.get("status") == "True" and c.get("observedGeneration") == meta.get("generation")
    }
    return AddOnWork(
        cluster=meta.get("namespace", ""),
        name=meta["name"],
        is_ready={names.APPLIED, names.AVAILABLE} <= true,
        hashes=None if text is None else _hashes(text),
        is_hosted=bool(labels.get(names.ADDON_NAMESPACE_LABEL)),
    )


def _hashes(text: object) -> dict[str, str]:
    try:
        found = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not all(isinstance(v, str) and v for v in found.values()):
        return {"": ""}  # matches nothing
    return found


def hashes_of(references: Iterable[Reference]) -> dict[str, str]:
    """The map that works of these references carry: configuration to hash."""
    return {
        str(reference.desired.ref): reference.desired.spec_hash
        for reference in references
        if reference.desired is not None
    }


def progress(
    addon: ClusterAddOn, refs: tuple[Reference, ...], works: Iterable[AddOnWork]
) -> tuple[Condition, bool]:
    """The Progressing condition of one cluster's add-on, and whether its references are applied."""
    host = addon.annotations.get(names.ADDON_HOSTING_CLUSTER, "")
    unsupported = [ref for ref in addon.configs if ref.resource not in addon.supported]
    if unsupported:
        resource = unsupported[0].resource
        return _stopped(
            "ConfigurationUnsupported",
            f"Configuration with gvr {resource.group}/{resource.resource} is not supported "
            "for this addon",
        )
    for kind in (names.MANIFEST_APPLIED, *([names.HOSTING_MANIFEST_APPLIED] if host else [])):
        if kind not in addon.conditions:
            return _stopped(
                f"WaitingFor{kind}", f"Waiting for ManagedClusterAddOn {kind} condition"
            )
    pre_delete = f"addon-{addon.name}-pre-delete"
    mine = [w for w in works if not w.is_hosted or w.cluster == host]
    if not mine:
        return _going(NO_WORKS)
    mine = [w for w in mine if not w.name.startswith(pre_delete)]
    wanted = hashes_of(refs)
    if not all(_matches(work.hashes, wanted) for work in mine):
        return _going(MISMATCH)
    if not all(work.is_ready for work in mine):
        return _going(NOT_READY)
    return Condition(names.PROGRESSING, "False", "Completed", COMPLETED), True


def _matches(hashes: Mapping[str, str] | None, wanted: Mapping[str, str]) -> bool:
    if hashes is None:
        return not wanted
    return hashes == wanted and all(wanted.values())


def _stopped(reason: str, message: str) -> tuple[Condition, bool]:
    return Condition(names.PROGRESSING, "False", reason, message), False


def _going(message: str) -> tuple[Condition, bool]:
    return Condition(names.PROGRESSING, "True", "Progressing", message), False


# -- what that says of its health ----------------------------------------------------------------


def is_applied(addon: ClusterAddOn) -> bool:
    """Whether everything that it is told to apply was applied."""
    return all(r.desired is None or r.applied == r.desired for r in addon.references)


def read_health(addon: ClusterAddOn, *, gate: bool) -> Report:
    """How a cluster does with what it carries.

    ``gate``: success also wants the agent itself to be Available. Failures of applying count once
    the works carry what they should; before, they are those of an older revision. So does success:
    what was applied last may be asked for again while something else is deployed.
    """
    progressing = addon.conditions.get(names.PROGRESSING)
    reason = progressing.reason if progressing else ""
    message = progressing.message if progressing else ""
    degraded = addon.conditions.get(names.DEGRADED)
    if not addon.references:
        return Report(Health.SUCCEEDED)
    if is_applied(addon) and message not in (NOT_READY, MISMATCH, NO_WORKS):
        if degraded is not None and degraded.is_true:
            return _failed(addon, ClusterReason.DEGRADED)
        return _gated(addon) if gate else Report(Health.SUCCEEDED, token=_token(addon))
    if reason in ("Failed", "ConfigurationUnsupported"):
        return _failed(addon, any_reason(reason))
    rendered = addon.conditions.get(names.RENDERED)
    if rendered is not None and _is_unrenderable(addon, rendered):
        return _failed(addon, any_reason(rendered.reason))
    if reason != "Progressing" or message in (MISMATCH, NO_WORKS):
        return Report(Health.SILENT)
    applied = addon.conditions.get(names.MANIFEST_APPLIED)
    if applied is not None and applied.status == "False" and applied.reason in _APPLY_FAILURES:
        return _failed(addon, ClusterReason.APPLY_FAILED)
    if degraded is not None and degraded.is_true:
        return _failed(addon, ClusterReason.DEGRADED)
    return Report(Health.PROGRESSING)


def _is_unrenderable(addon: ClusterAddOn, rendered: Condition) -> bool:
    """Whether it is made of a template that cannot be brought to the cluster as it is now (row T22)."""
    return rendered.status == "False" and rendered.message.startswith(
        f"{content_of(in_order(addon.desired))}: "
    )


def _gated(addon: ClusterAddOn) -> Report:
    available = addon.conditions.get(names.AVAILABLE)
    if available is None or available.status == "Unknown":
        return Report(Health.PROGRESSING)
    if not available.is_true:
        return _failed(addon, ClusterReason.UNAVAILABLE)
    return Report(Health.SUCCEEDED, token=_token(addon))


def _failed(addon: ClusterAddOn, reason: AnyReason) -> Report:
    return Report(Health.FAILED, str(reason), _token(addon))


def _token(addon: ClusterAddOn) -> str:
    kinds = (names.PROGRESSING, names.MANIFEST_APPLIED, names.DEGRADED, names.AVAILABLE)
    return token_of(*(addon.conditions.get(kind) for kind in kinds))


def read_as_ocm(addon: ClusterAddOn) -> Reported:
    """The same in OCM's words and with its times, of an add-on that carries what it should."""
    progressing = addon.conditions.get(names.PROGRESSING)
    reason = progressing.reason if progressing else ""
    since: datetime | None = progressing.since if progressing else None
    if is_applied(addon):
        return Status.SUCCEEDED, since if reason == "Completed" else None
    if reason == "Failed":
        return Status.FAILED, since
    return Status.PROGRESSING, since if reason == "Progressing" else None


# -- who refers to which ------------------------------------------------------------------------


def of_the_addon(addon: AddOn) -> set[ConfigRef]:
    """Those that the add-on itself refers to, for all clusters or for those of a placement."""
    return set(addon.defaults).union(*(p.configs for p in addon.placements or ()))


def looked_up(addon: AddOn, installed: Iterable[ClusterAddOn]) -> set[ConfigRef]:
    """Those whose kinds are to be watched: all that the add-on itself refers to, and of the clusters'
    own what the add-on, or its manager there, says to support.
    """
    found = of_the_addon(addon)
    supported = {ref.resource for ref in found}.union(addon.supported)
    for each in installed:
        here = supported.union(each.supported) if each.configs else supported
        found.update(ref for ref in each.configs if ref.resource in here)
    return found


def with_own(
    installed: ClusterAddOn, configs: Configs, known: Mapping[ConfigRef, Known], *, as_ocm: bool
) -> Configs | None:
    """These configurations with the cluster's own over them; None where one of those is missing.

    ``as_ocm``: a cluster is told of what is missing, too, with an empty hash.
    """
    if not installed.configs:
        return configs
    own = by_resource(installed.configs)
    merged = [config for config in configs if config.ref.resource not in own]
    for ref in (ref for listed in own.values() for ref in listed):
        there = known.get(ref)
        if there is None and not as_ocm:
            return None
        merged.append(Config(ref, there.spec_hash if there else ""))
    return in_order(merged)


def own_over_carried(
    installed: ClusterAddOn, shared: Configs, known: Mapping[ConfigRef, Known]
) -> Configs | None:
    """What the cluster carries with its own configurations over it; None where that is no change.

    Where a shared configuration is gone, nobody may remember what its revision was made of. What the
    cluster carries besides its own stands in for that, where it names the shared ones, each of them and
    no other: else it was not the revision that brought it.
    """
    own = {ref.resource for ref in installed.configs}
    carried = in_order(installed.desired)
    rest, asked = (
        [config for config in each if config.ref.resource not in own]
        for each in (carried, in_order(shared))
    )
    if [config.ref for config in rest] != [config.ref for config in asked]:
        return None
    found = with_own(installed, tuple(rest), known, as_ocm=False)
    return None if found == carried else found


def is_left_over(installed: ClusterAddOn, defaults: Collection[ConfigRef]) -> bool:
    """Whether a cluster that no placement selects carries more than defaults: what one that selected
    it gave it. It keeps that, so that what is left there goes on as it is.
    """
    own = {ref.resource for ref in installed.configs}
    given = {each.ref for each in installed.desired if each.ref.resource not in own}
    return not given.issubset(defaults)
