"""An add-on that is made of an AddOnTemplate, from its first cluster to its end, on the embedded hub."""

from typing import Any

import pytest

from rollout.errors import Gone
from rollout.model import names
from rollout.model.instants import rfc3339
from rollout.model.kinds import (
    ADDON_TEMPLATE,
    FREEZE,
    MANAGED_CLUSTER,
    MANAGED_CLUSTER_ADDON,
    MANIFEST_WORK,
    Obj,
    Ref,
)
from rollout.model.waits import Reason
from rollout.planning.templates.hooks import FINALIZER
from tests.support import make
from tests.support.addons import (
    ADDON_API,
    CMA,
    CONFIGURED,
    GROUP,
    MIN,
    NAME,
    NO_GRACE,
    SEC,
    WAITING,
    Rig,
    addon,
    config,
    fleet,
    installed_at,
    progressive,
)
from tests.support.templates import THERE, config_map, hook, tells, workload

TEMPLATE = Ref(ADDON_TEMPLATE, "tpl")
KINDS = ("addontemplates", "addondeploymentconfigs")
USES = {"group": GROUP, "resource": "addontemplates", "name": "tpl"}
ONE_BY_ONE = progressive(maxConcurrency=1)


def template(*manifests: Obj, **spec: Any) -> Obj:
    return {
        "apiVersion": ADDON_API,
        "kind": "AddOnTemplate",
        "metadata": make.meta("tpl"),
        "spec": {
            "addonName": NAME,
            "agentSpec": {"workload": {"manifests": list(manifests)}},
            **spec,
        },
    }


def settled(*manifests: Obj, **policy: Any) -> Rig:
    """Two clusters, one after another, with an add-on of these manifests."""
    rig = Rig(
        [
            *fleet("c0", "c1"),
            template(*manifests),
            addon(placements=[installed_at("p", USES, strategy=ONE_BY_ONE)], supported=KINDS),
        ],
        **policy,
    )
    return rig.decide(["c0", "c1"])


def manifests(rig: Rig, cluster: str, name: str = "deploy-0") -> list[Obj]:
    """What the work carries; nothing where there is none."""
    try:
        work = rig.hub.get(Ref(MANIFEST_WORK, f"{cluster}/addon-{NAME}-{name}"))
    except Gone:
        return []
    return list(work["spec"]["workload"]["manifests"])


def data(rig: Rig, cluster: str) -> list[Obj]:
    return [manifest["data"] for manifest in manifests(rig, cluster)]


def edit(rig: Rig, *changed: Obj) -> Rig:
    return rig.edit(TEMPLATE, {"spec": {"agentSpec": {"workload": {"manifests": list(changed)}}}})


def test_a_template_goes_from_cluster_to_cluster_as_its_rollout_says() -> None:
    rig = settled(config_map(cluster="{{CLUSTER_NAME}}", v="1"))

    assert (data(rig, "c0"), data(rig, "c1")) == ([{"cluster": "c0", "v": "1"}], [])
    assert (rig.says("c0", names.CONFIGURED), rig.says("c1", names.CONFIGURED)) == (
        CONFIGURED,
        WAITING,
    )

    rig.works_do(["c0"])
    assert data(rig, "c1") == [{"cluster": "c1", "v": "1"}]
    assert rig.says("c0", names.MANIFEST_APPLIED)[:2] == ("True", "AddonManifestApplied")
    assert rig.says("c0", names.AVAILABLE)[:2] == ("True", "ProbeAvailable")

    rig.works_do(["c1"])
    assert rig.message().startswith("selected clusters 2. configured addons 2/2 completed")


def test_an_edit_of_the_template_changes_the_canary_alone_until_that_is_done() -> None:
    rig = settled(config_map(v="1")).works_do(["c0"]).works_do(["c1"])

    edit(rig, config_map(v="2"))
    assert (data(rig, "c0"), data(rig, "c1")) == ([{"v": "2"}], [{"v": "1"}])
    assert rig.says("c1", names.CONFIGURED) == WAITING

    rig.works_do(["c0"])
    assert data(rig, "c1") == [{"v": "2"}]


def test_what_a_waiting_cluster_has_stays_whatever_happens_to_it() -> None:
    rig = settled(config_map(v="1")).works_do(["c0"]).works_do(["c1"])
    edit(rig, config_map(v="2"))

    registries = '{"registries": [{"source": "a", "mirror": "b"}]}'
    rig.edit(
        Ref(MANAGED_CLUSTER, "c1"),
        {"metadata": {"annotations": {names.IMAGE_REGISTRIES: registries}}},
    )
    rig.restart()

    assert data(rig, "c1") == [{"v": "1"}]


def test_a_configuration_of_one_cluster_changes_its_works_alone() -> None:
    rig = settled(config_map(v="{{V}}"))
    assert "there is no variable 'V'" in rig.says("c0", names.MANIFEST_APPLIED)[2]

    chosen = config("mine")
    chosen["spec"]["customizedVariables"] = [{"name": "V", "value": "own"}]
    rig.add(chosen)
    mine = {**USES, "resource": "addondeploymentconfigs", "namespace": "default", "name": "mine"}
    rig.edit(Ref(MANAGED_CLUSTER_ADDON, f"c0/{NAME}"), {"spec": {"configs": [mine]}})

    assert (data(rig, "c0"), data(rig, "c1")) == ([{"v": "own"}], [])


def test_a_template_that_cannot_be_rendered_fails_its_canary_and_goes_no_further() -> None:
    rig = settled(config_map(v="1"), policy=NO_GRACE).works_do(["c0"]).works_do(["c1"])

    edit(rig, config_map(v="{{TYPO}}")).later(SEC)

    assert (data(rig, "c0"), data(rig, "c1")) == ([{"v": "1"}], [{"v": "1"}])
    assert rig.says("c0", names.RENDERED)[:2] == ("False", "RenderFailed")
    assert rig.halted() == ("True", "MaxFailuresExceeded")

    edit(rig, config_map(v="3"))
    assert (data(rig, "c0"), rig.says("c0", names.RENDERED)[0]) == ([{"v": "3"}], "True")


def test_a_work_that_somebody_edits_or_deletes_is_put_back() -> None:
    rig = settled(config_map(v="1"))
    work = Ref(MANIFEST_WORK, f"c0/addon-{NAME}-deploy-0")

    rig.edit(work, {"spec": {"workload": {"manifests": [config_map(v="mine")]}}})
    assert data(rig, "c0") == [{"v": "1"}]
    rig.hub.delete(work)
    rig.settle()
    assert data(rig, "c0") == [{"v": "1"}]


def test_nothing_is_put_back_while_the_hub_is_frozen_or_the_add_on_paused() -> None:
    rig = settled(config_map(v="1"))
    work = Ref(MANIFEST_WORK, f"c0/addon-{NAME}-deploy-0")
    changed = {"spec": {"workload": {"manifests": [config_map(v="mine")]}}}

    rig.add(
        {
            "apiVersion": FREEZE.api_version,
            "kind": FREEZE.name,
            "metadata": {"name": "stop"},
            "spec": {"reason": "a test"},
        }
    )
    rig.edit(work, changed)
    assert data(rig, "c0") == [{"v": "mine"}]
    rig.hub.delete(Ref(FREEZE, "stop"))
    rig.settle()
    assert data(rig, "c0") == [{"v": "1"}]

    rig.edit(CMA, {"metadata": {"annotations": {names.PAUSED: "true"}}}).edit(work, changed)
    assert data(rig, "c0") == [{"v": "mine"}]
    rig.edit(CMA, {"metadata": {"annotations": {names.PAUSED: "false"}}})
    assert data(rig, "c0") == [{"v": "1"}]


def test_nothing_is_put_back_while_the_add_on_asks_for_something_that_cannot_be_read() -> None:
    rig = settled(config_map(v="1"))
    work = Ref(MANIFEST_WORK, f"c0/addon-{NAME}-deploy-0")
    changed = {"spec": {"workload": {"manifests": [config_map(v="mine")]}}}

    for annotation, wrong in ((names.PAUSED, "yes"), (names.GATES, "other/before:rest")):
        rig.edit(CMA, {"metadata": {"annotations": {annotation: wrong}}}).edit(work, changed)
        assert data(rig, "c0") == [{"v": "mine"}]
        assert rig.halted()[1] == Reason.MISCONFIGURED
        rig.edit(CMA, {"metadata": {"annotations": {annotation: None}}})
        assert data(rig, "c0") == [{"v": "1"}]


def test_what_holds_an_add_on_until_an_instant_holds_its_works_until_then() -> None:
    rig = settled(config_map(v="1"))
    work = Ref(MANIFEST_WORK, f"c0/addon-{NAME}-deploy-0")
    end = rig.clock.now() + 10 * MIN
    rig.add(
        {
            "apiVersion": FREEZE.api_version,
            "kind": FREEZE.name,
            "metadata": {"name": "stop"},
            "spec": {"reason": "a test", "until": rfc3339(end)},
        }
    )
    rig.edit(work, {"spec": {"workload": {"manifests": [config_map(v="mine")]}}})
    assert data(rig, "c0") == [{"v": "mine"}]

    rig.later(11 * MIN)

    assert data(rig, "c0") == [{"v": "1"}]


@pytest.mark.parametrize(("profile", "left"), [("strict", "mine"), ("ocm", "1")])
def test_a_held_cluster_keeps_its_works_where_strict_rules_decide(profile: str, left: str) -> None:
    rig = settled(config_map(v="1"))
    work = Ref(MANIFEST_WORK, f"c0/addon-{NAME}-deploy-0")
    asked = {names.HOLD: "c0", names.SEMANTICS: profile}

    rig.edit(CMA, {"metadata": {"annotations": asked}})
    rig.edit(work, {"spec": {"workload": {"manifests": [config_map(v="mine")]}}})

    assert data(rig, "c0") == [{"v": left}]


def test_what_an_add_on_runs_before_it_goes_holds_it_until_that_has_run() -> None:
    rig = settled(config_map(), hook())
    mca = Ref(MANAGED_CLUSTER_ADDON, f"c0/{NAME}")
    assert rig.cluster("c0")["metadata"]["finalizers"] == [FINALIZER]
    assert manifests(rig, "c0", "pre-delete") == []

    rig.hub.delete(mca)
    rig.settle()
    assert [m["kind"] for m in manifests(rig, "c0", "pre-delete")] == ["Job"]
    assert rig.says("c0", "HookManifestCompleted")[:2] == ("False", "HookManifestIsNotCompleted")

    done = {
        "conditions": [THERE],
        "resourceStatus": {"manifests": [tells("jobs", "cleanup", JobComplete="True")]},
    }
    rig.hub.patch_status(Ref(MANIFEST_WORK, f"c0/addon-{NAME}-pre-delete"), {"status": done})
    uid = rig.cluster("c0")["metadata"]["uid"]
    rig.settle()
    assert rig.cluster("c0")["metadata"]["uid"] != uid  # still selected, it is installed anew


@pytest.mark.parametrize(
    ("ready", "available"),
    [(1, ("True", "ProbeAvailable")), (0, ("False", "ProbeUnavailable"))],
)
def test_health_of_an_agent_is_what_its_work_tells(ready: int, available: Any) -> None:
    rig = settled(workload()).works_do(["c0"])
    told = tells("deployments", "agent", Replicas=1, ReadyReplicas=ready)

    rig.hub.patch_status(
        Ref(MANIFEST_WORK, f"c0/addon-{NAME}-deploy-0"),
        {"status": {"resourceStatus": {"manifests": [told]}}},
    )
    rig.settle()

    assert rig.says("c0", names.AVAILABLE)[:2] == available


def test_an_add_on_that_is_somebody_elses_is_not_rendered() -> None:
    rig = settled(config_map(v="1"))
    rig.edit(CMA, {"metadata": {"annotations": {names.ADDON_LIFECYCLE: "self"}}})

    rig.hub.delete(Ref(MANIFEST_WORK, f"c0/addon-{NAME}-deploy-0"))
    rig.settle()

    assert data(rig, "c0") == []


def test_a_work_that_the_server_refuses_is_said_fails_its_cluster_and_is_tried_again() -> None:
    rig = settled(config_map(v="1"), policy=NO_GRACE).works_do(["c0"]).works_do(["c1"])
    rig.refuse("c0", MANIFEST_WORK)

    edit(rig, config_map(v="2")).later(SEC)
    status, reason, message = rig.says("c0", names.MANIFEST_APPLIED)
    assert (status, reason) == ("False", "ManifestWorkApplyFailed")
    assert message.startswith(f"failed to apply manifestWork: addon-{NAME}-deploy-0: ")
    assert rig.says("c0", names.RENDERED)[:2] == ("False", "WorkRefused")
    assert rig.halted() == ("True", "MaxFailuresExceeded")
    assert data(rig, "c1") == [{"v": "1"}]

    rig.accept("c0").later(30 * SEC)
    assert data(rig, "c0") == [{"v": "2"}]
    assert rig.says("c0", names.MANIFEST_APPLIED)[0] == "True"


def test_an_add_on_whose_cluster_is_gone_goes_without_its_hooks_once_a_person_says_so() -> None:
    rig = settled(config_map(), hook())
    installed = Ref(MANAGED_CLUSTER_ADDON, f"c0/{NAME}")
    rig.hub.delete(Ref(MANAGED_CLUSTER, "c0"))
    rig.decide(["c1"]).later(60 * SEC)
    assert rig.hub.get(installed)["metadata"]["finalizers"] == [FINALIZER]
    assert manifests(rig, "c0", "pre-delete") == []

    rig.hub.patch(installed, {"metadata": {"annotations": {names.SKIP_PRE_DELETE: "true"}}})
    rig.later(SEC)

    with pytest.raises(Gone):
        rig.hub.get(installed)


def test_an_add_on_goes_though_its_cluster_is_gone_once_its_template_has_no_hooks() -> None:
    rig = settled(config_map(), hook())
    installed = Ref(MANAGED_CLUSTER_ADDON, f"c0/{NAME}")
    rig.hub.delete(Ref(MANAGED_CLUSTER, "c0"))
    rig.later(SEC)

    edit(rig, config_map())
    rig.decide(["c1"]).later(60 * SEC)

    with pytest.raises(Gone):
        rig.hub.get(installed)
