"""What profile strict writes for an add-on that is made of a template, where OCM's answer is a weakness.

What both profiles share is held by the suite `addon_template` of the conformance vectors.
"""

import json
from typing import Any

import pytest

from rollout.model import names
from rollout.model.kinds import Obj
from rollout.planning.templates.hooks import FINALIZER
from tests.support.templates import (
    APPLIED,
    THERE,
    World,
    cluster_addon,
    condition,
    config_map,
    contents,
    hook,
    settings,
    specs,
    tells,
    template,
    told,
    variables,
    work,
    workload,
)

MANIFEST_APPLIED = condition(names.MANIFEST_APPLIED)
LARGE = "x" * 300_000


def applied(*works: Obj) -> str:
    """What is said of works with these objects being applied."""
    world = World(template(config_map("a"), config_map("b")))
    return told(world.deploy(*works))[names.MANIFEST_APPLIED][1]


def test_the_worst_of_several_works_counts_whatever_their_order() -> None:
    bad = condition(names.APPLIED, "False")
    works = [
        work(config_map("a"), conditions=[APPLIED]),
        work(config_map("b"), name="addon-hello-deploy-1", conditions=[bad]),
    ]

    assert applied(*works) == applied(*reversed(works)) == "AddonManifestAppliedFailed"


def test_works_go_when_the_template_has_nothing_left() -> None:
    outcome = World(template()).deploy(work(config_map()))

    assert [str(w.ref) for w in outcome.gone] == ["ManifestWork c1/addon-hello-deploy-0"]
    assert World(template()).deploy(work(config_map()), strict=False).gone == []


def test_a_new_work_gets_a_name_that_is_free() -> None:
    world = World(template(config_map("a", k=LARGE), config_map("b", k=LARGE)))
    outcome = world.deploy(work(config_map("a", k=LARGE), name="addon-hello-deploy-1"))

    assert contents(outcome) == {"addon-hello-deploy-0": ["b"]}


def test_an_object_that_no_work_can_hold_is_an_error_that_names_it() -> None:
    outcome = World(template(config_map("a", k=LARGE * 2))).deploy()
    (status, reason, message) = told(outcome)[names.MANIFEST_APPLIED]

    assert outcome.works == []
    assert (status, reason) == ("False", "ManifestWorkApplyFailed")
    assert message.startswith("failed to build manifestwork: ConfigMap app/a is 600")


def test_a_work_that_has_grown_too_large_is_shared_out_again() -> None:
    world = World(template(config_map("a", k=LARGE), config_map("b", k=LARGE)))
    outcome = world.deploy(work(config_map("a"), config_map("b")))

    assert contents(outcome) == {"addon-hello-deploy-0": ["a"], "addon-hello-deploy-1": ["b"]}


ORPHAN = {"addon.open-cluster-management.io/deletion-orphan": ""}


def gateway(**annotations: str) -> Obj:
    return {
        "apiVersion": "gateway.example.org/v1",
        "kind": "Gateway",
        "metadata": {"name": "g", "namespace": "app", "annotations": annotations},
    }


def test_an_object_that_stays_is_named_by_the_plural_that_the_template_defines() -> None:
    definition: Obj = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gateways.gateway.example.org"},
        "spec": {
            "group": "gateway.example.org",
            "names": {"kind": "Gateway", "plural": "gateways"},
        },
    }
    outcome = World(template(definition, gateway(**ORPHAN))).deploy()
    (spec,) = specs(outcome).values()

    assert spec["deleteOption"]["selectivelyOrphans"]["orphaningRules"] == [
        {"group": "gateway.example.org", "resource": "gateways", "namespace": "app", "name": "g"}
    ]


def test_an_object_that_stays_and_whose_plural_is_unknown_is_an_error_not_a_deletion() -> None:
    outcome = World(template(gateway(**ORPHAN))).deploy()

    assert outcome.works == []
    assert "is called in the plural is not known" in outcome.error


def test_an_object_marked_false_does_not_stay() -> None:
    outcome = World(template(gateway(**dict.fromkeys(ORPHAN, "false")))).deploy()
    (spec,) = specs(outcome).values()

    assert "deleteOption" not in spec


def test_executor_and_delete_option_of_the_template_are_honoured() -> None:
    executor = {"subject": {"type": "ServiceAccount"}}
    option = {"propagationPolicy": "Orphan"}
    world = World(template(config_map(), executor=executor, deleteOption=option))

    (spec,) = specs(world.deploy()).values()
    assert (spec["executor"], spec["deleteOption"]) == (executor, option)
    (spec,) = specs(world.deploy(strict=False)).values()
    assert spec.keys() == {"workload"}


def test_what_is_asked_about_objects_follows_their_names_and_namespace() -> None:
    about = {"group": "", "resource": "configmaps", "namespace": "app", "name": "{{A}}"}
    config: Obj = {"resourceIdentifier": about, "updateStrategy": {"type": "CreateOnly"}}
    more: Any = {"customizedVariables": [{"name": "A", "value": "cm"}]}
    world = World(
        template(config_map(), manifestConfigs=[config]),
        settings(agentInstallNamespace="agents", **more),
    )

    (spec,) = specs(world.deploy()).values()
    assert spec["manifestConfigs"] == [
        {**config, "resourceIdentifier": {**about, "namespace": "agents", "name": "cm"}}
    ]


# -- rendering that fails ------------------------------------------------------------------------


def test_a_template_that_cannot_be_rendered_says_for_which_revision() -> None:
    bad = World(template(config_map(k="{{TYPO}}")))
    good = World(template(config_map()))
    (status, reason, message) = told(bad.deploy())[names.RENDERED]

    assert (status, reason) == ("False", "RenderFailed")
    assert message.startswith(f"{told(good.deploy())[names.RENDERED][2]}: ")


def test_nothing_is_written_while_the_objects_are_of_another_revision() -> None:
    outcome = World(template(config_map())).deploy(is_current=False)

    assert (outcome.works, outcome.gone) == ([], [])


def test_nothing_is_written_or_removed_while_somebody_holds_it() -> None:
    outcome = World(template()).deploy(work(config_map()), is_held=True)

    assert (outcome.works, outcome.gone) == ([], [])


# -- hooks ---------------------------------------------------------------------------------------


def going(**more: Any) -> World:
    made = template(config_map(), hook())
    return World(made, addon=cluster_addon(deleting=True, finalizers=[FINALIZER], **more))


def test_a_hook_runs_even_where_the_cluster_waits_for_its_turn() -> None:
    outcome = going(configured=False).deploy()

    assert contents(outcome) == {"addon-hello-pre-delete": ["cleanup"]}
    assert outcome.finalizers is None
    assert going(configured=False).deploy(strict=False).finalizers == []


def test_an_add_on_whose_template_is_gone_stays_until_somebody_lets_it_go() -> None:
    stuck = cluster_addon(deleting=True, finalizers=[FINALIZER])
    released = cluster_addon(
        deleting=True, finalizers=[FINALIZER], annotations={names.SKIP_PRE_DELETE: "true"}
    )

    assert World(None, addon=stuck).deploy().finalizers is None
    assert World(None, addon=released).deploy().finalizers == []


def test_a_finalizer_is_not_added_to_what_is_being_deleted() -> None:
    world = World(template(hook()), addon=cluster_addon(deleting=True))

    assert world.deploy().finalizers is None
    assert world.deploy(strict=False).finalizers == [FINALIZER]


def test_the_add_on_goes_once_its_hook_has_run() -> None:
    ran = work(
        hook(),
        name="addon-hello-pre-delete",
        conditions=[THERE],
        feedback=[tells("jobs", "cleanup", JobComplete="True")],
    )

    assert going().deploy(ran).finalizers == []


# -- health --------------------------------------------------------------------------------------


def health(*works: Obj, made: Obj | None = None, **addon: Any) -> tuple[str, str]:
    """Status and reason of Available."""
    world = World(
        made or template(workload(replicas=4)),
        addon=cluster_addon(conditions=[MANIFEST_APPLIED], **addon),
    )
    return told(world.deploy(*works))[names.AVAILABLE][:2]


def deployed(*feedback: Obj, generation: int = 1) -> Obj:
    seen = condition(names.AVAILABLE, observedGeneration=generation)
    return work(workload(replicas=4), conditions=[APPLIED, seen], feedback=feedback)


@pytest.mark.parametrize(("ready", "is_well"), [(1, False), (2, False), (3, True), (4, True)])
def test_a_deployment_is_well_while_no_more_are_missing_than_may_be(
    ready: int, is_well: bool
) -> None:
    found = health(deployed(tells("deployments", "agent", Replicas=4, ReadyReplicas=ready)))

    assert found == (("True", "ProbeAvailable") if is_well else ("False", "ProbeUnavailable"))


def test_health_waits_for_all_workloads() -> None:
    two = template(workload(), workload("DaemonSet", "nodes"))
    one = deployed(tells("deployments", "agent", Replicas=1, ReadyReplicas=1))

    assert health(one, made=two) == ("Unknown", "NoProbeResult")


def test_health_waits_for_news_of_the_present_generation() -> None:
    old = deployed(tells("deployments", "agent", Replicas=4, ReadyReplicas=4), generation=0)

    assert health(old) == ("Unknown", "WorkNotApplied")


def test_a_value_that_is_no_number_is_none() -> None:
    text = deployed(tells("deployments", "agent", Replicas=4, ReadyReplicas="4"))

    assert health(text) == ("False", "ProbeUnavailable")


def test_a_hosting_annotation_does_not_hide_the_works_that_there_are() -> None:
    found = health(
        deployed(tells("deployments", "agent", Replicas=4, ReadyReplicas=4)),
        annotations={names.ADDON_HOSTING_CLUSTER: "host"},
    )

    assert found == ("True", "ProbeAvailable")


def test_works_say_which_revision_of_which_configuration_they_are_made_of() -> None:
    outcome = World(template(config_map()), variables(A="1")).deploy()
    (write,) = outcome.works
    annotations = getattr(write, "obj")["metadata"]["annotations"]  # noqa: B009

    assert json.loads(annotations[names.CONFIG_SPEC_HASH]) == {
        "addondeploymentconfigs.addon.open-cluster-management.io/cfg/adc": "h",
        "addontemplates.addon.open-cluster-management.io//tpl": "h",
    }
