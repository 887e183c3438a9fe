"""What does one add-on say of its configurations? Progress, hashes, readiness, health, revisions."""

from dataclasses import replace
from typing import Any

import pytest

from rollout.model import names
from rollout.model.addon import ClusterAddOn, Config, ConfigRef, Reference, Resource
from rollout.model.conditions import Condition
from rollout.rollouts.addon_configs import (
    AddOnWork,
    content_of,
    hashes_of,
    progress,
    read_addon_work,
    read_health,
)
from rollout.rollouts.mirror import Mirror
from rollout.strategies.base import Health
from tests.support import make
from tests.support.addons import GROUP, NAME

ADC = Resource(GROUP, "addondeploymentconfigs")
D1, D2 = (ConfigRef(ADC, "default", name) for name in ("d1", "d2"))
KEY = "addondeploymentconfigs.addon.open-cluster-management.io/default/d1"

# -- one cluster's progress -----------------------------------------------------------------------


def installed(
    *conditions: str, desired: str = "v2", applied: str = "v1", **more: Any
) -> ClusterAddOn:
    """Told to apply d1 at ``desired``; conditions by type, all True."""
    reference = Reference(ADC, Config(D1, desired), Config(D1, applied), 1)
    said = {kind: Condition(kind, "True") for kind in conditions}
    found = ClusterAddOn(
        cluster="c0",
        name=NAME,
        uid="u",
        generation=1,
        version=1,
        references=(reference,),
        conditions=said,
    )
    return replace(found, **more)


def work(hashes: dict[str, str] | None, *, ready: bool = True, **more: Any) -> AddOnWork:
    return AddOnWork(**{"cluster": "c0", "name": "w", "is_ready": ready, "hashes": hashes, **more})


NEW = {KEY: "v2"}
HOST = {names.ADDON_HOSTING_CLUSTER: "h"}
BOTH = (names.MANIFEST_APPLIED, names.HOSTING_MANIFEST_APPLIED)


@pytest.mark.parametrize(
    ("cluster", "works", "reason", "message"),
    [
        (
            installed(names.MANIFEST_APPLIED, configs=(D2,)),
            [work(NEW)],
            "ConfigurationUnsupported",
            f"Configuration with gvr {GROUP}/addondeploymentconfigs is not supported for this addon",
        ),
        (
            installed(),
            [],
            "WaitingForManifestApplied",
            "Waiting for ManagedClusterAddOn ManifestApplied condition",
        ),
        (
            installed(names.MANIFEST_APPLIED, annotations=HOST),
            [],
            "WaitingForHostingManifestApplied",
            "Waiting for ManagedClusterAddOn HostingManifestApplied condition",
        ),
        (
            installed(names.MANIFEST_APPLIED),
            [],
            "Progressing",
            "progressing... no addon works",
        ),
        (
            installed(names.MANIFEST_APPLIED),
            [work({KEY: "v1"})],
            "Progressing",
            "progressing... mca and work configs mismatch",
        ),
        (
            installed(names.MANIFEST_APPLIED),
            [work(None)],
            "Progressing",
            "progressing... mca and work configs mismatch",
        ),
        (
            installed(names.MANIFEST_APPLIED, desired=""),
            [work({KEY: ""})],
            "Progressing",
            "progressing... mca and work configs mismatch",
        ),
        (
            installed(names.MANIFEST_APPLIED),
            [work(NEW), work(NEW, ready=False)],
            "Progressing",
            "progressing... work is not ready",
        ),
        (installed(names.MANIFEST_APPLIED), [work(NEW)], "Completed", "completed with no errors."),
        (
            installed(names.MANIFEST_APPLIED),
            [work(NEW), work({}, ready=False, name=f"addon-{NAME}-pre-delete")],
            "Completed",
            "completed with no errors.",
        ),
        (
            installed(names.MANIFEST_APPLIED, references=()),
            [work(None)],
            "Completed",
            "completed with no errors.",
        ),
        (
            installed(*BOTH, annotations=HOST),
            [work(NEW), work(NEW, ready=False, cluster="h", is_hosted=True)],
            "Progressing",
            "progressing... work is not ready",
        ),
        (
            installed(*BOTH, annotations=HOST),
            [work(NEW), work(NEW, ready=False, cluster="other", is_hosted=True)],
            "Completed",
            "completed with no errors.",
        ),
    ],
)
def test_progress_is_told_in_ocms_words(
    cluster: ClusterAddOn, works: list[AddOnWork], reason: str, message: str
) -> None:
    condition, applied = progress(cluster, cluster.references, works)

    assert (condition.reason, condition.message) == (reason, message)
    assert condition.status == ("True" if reason == "Progressing" else "False")
    assert applied is (reason == "Completed")


def test_hashes_are_named_by_resource_namespace_and_name() -> None:
    assert hashes_of(installed().references) == NEW


@pytest.mark.parametrize(
    "text",
    ["no json", "[]", '{"a": 1}', '{"a": ""}', "[" * 200_000, f'{{"a": {"9" * 5000}}}'],
    ids=lambda text: text[:8],
)
def test_a_hash_annotation_that_says_nothing_matches_nothing(text: str) -> None:
    found = read_addon_work(
        {"metadata": {"name": "w", "annotations": {names.CONFIG_SPEC_HASH: text}}}
    )

    assert progress(installed(names.MANIFEST_APPLIED, references=()), (), [found])[1] is False


@pytest.mark.parametrize(
    ("kinds", "generation", "ready"),
    [
        (["Applied", "Available"], 2, True),
        (["Applied", "Available"], 1, False),
        (["Applied"], 2, False),
        ([], 2, False),
    ],
)
def test_a_work_is_ready_when_both_conditions_are_of_its_generation(
    kinds: list[str], generation: int, ready: bool
) -> None:
    conditions = [make.condition(kind, "True", generation) for kind in kinds]
    obj = {"metadata": {"name": "w", "generation": 2}, "status": {"conditions": conditions}}

    assert read_addon_work(obj).is_ready is ready


# -- health ---------------------------------------------------------------------------------------


def reporting(reason: str, message: str = "", applied: str = "v1", **others: str) -> ClusterAddOn:
    """With a Progressing condition; others by type, their status or ``status/reason``."""
    said = {names.PROGRESSING: Condition(names.PROGRESSING, "True", reason, message)}
    for kind, told in others.items():
        status, _, why = told.partition("/")
        said[kind] = Condition(kind, status, why)
    return replace(installed(applied=applied), conditions=said)


NOT_READY = "progressing... work is not ready"
FAILED = "False/AddonManifestAppliedFailed"


@pytest.mark.parametrize(
    ("cluster", "health", "reason"),
    [
        (replace(installed(), references=()), Health.SUCCEEDED, ""),
        (reporting("Completed", applied="v2"), Health.SUCCEEDED, ""),
        (reporting("Progressing", NOT_READY, applied="v2"), Health.PROGRESSING, ""),
        (reporting("Completed", applied="v2", Degraded="True"), Health.FAILED, "Degraded"),
        (reporting("Completed"), Health.SILENT, ""),
        (reporting("WaitingForManifestApplied"), Health.SILENT, ""),
        (reporting("Progressing", "progressing... no addon works"), Health.SILENT, ""),
        (
            reporting(
                "Progressing",
                "progressing... mca and work configs mismatch",
                ManifestApplied=FAILED,
            ),
            Health.SILENT,
            "",
        ),
        (reporting("Progressing", NOT_READY), Health.PROGRESSING, ""),
        (reporting("Progressing", NOT_READY, ManifestApplied=FAILED), Health.FAILED, "ApplyFailed"),
        (
            reporting("Progressing", NOT_READY, ManifestApplied="False/ManifestWorkApplyFailed"),
            Health.FAILED,
            "ApplyFailed",
        ),
        (reporting("Progressing", NOT_READY, Degraded="True"), Health.FAILED, "Degraded"),
        (reporting("Failed"), Health.FAILED, "Failed"),
        (reporting("ConfigurationUnsupported"), Health.FAILED, "ConfigurationUnsupported"),
    ],
)
def test_health_follows_from_configurations_and_conditions(
    cluster: ClusterAddOn, health: Health, reason: str
) -> None:
    found = read_health(cluster, gate=False)
    assert (found.health, found.reason) == (health, reason)


@pytest.mark.parametrize(
    ("available", "health"),
    [
        ("True", Health.SUCCEEDED),
        ("Unknown", Health.PROGRESSING),
        ("", Health.PROGRESSING),
        ("False", Health.FAILED),
    ],
)
def test_with_the_gate_the_agent_itself_has_to_be_available(available: str, health: Health) -> None:
    others = {names.AVAILABLE: available} if available else {}
    cluster = reporting("Completed", applied="v2", **others)

    assert read_health(cluster, gate=True).health is health
    assert read_health(cluster, gate=False).health is Health.SUCCEEDED


# -- revisions ------------------------------------------------------------------------------------


def test_a_revision_is_every_configuration_with_its_hash_in_its_order() -> None:
    one, other = Config(D1, "v1"), Config(D2, "v1")
    found = {
        content_of(configs)
        for configs in ((), (one,), (other,), (one, other), (other, one), (Config(D1, "v2"),))
    }

    assert len(found) == 6


def test_annotations_that_a_cluster_never_had_are_not_taken_from_its_addons() -> None:
    mirror = Mirror()
    key = f"{names.ADDON_PREFIX}/a"

    assert mirror.put("c0", {"other": "x"})
    assert mirror.of("c0") == {}
    assert mirror.put("c0", {key: "1"})
    assert not mirror.put("c0", {key: "1", "other": "y"})
    assert mirror.put("c0", {})
    assert mirror.of("c0") == {key: None}
