"""What does profile ocm answer over add-ons where profile strict is careful?"""

from typing import Any

import pytest

from rollout.model import names
from rollout.model.kinds import Obj
from tests.support.addons import (
    CLUSTERS,
    CONFIGURED,
    SEC,
    Rig,
    addon,
    cluster_addon,
    config,
    fleet,
    going,
    installed_at,
    progressive,
    refer,
)

OCM = {names.SEMANTICS: "ocm"}
STRICT = {names.SEMANTICS: "strict"}
BOTH = pytest.mark.parametrize("profile", [STRICT, OCM], ids=["strict", "ocm"])


def rig(profile: dict[str, str], *documents: Obj, default: str = "default", **more: Any) -> Rig:
    """Two clusters, one placement."""
    placed = installed_at("p", *more.pop("configs", ()), strategy=more.pop("strategy", None))
    managed = addon(default, placements=[placed], annotations=profile, **more)
    return Rig([*fleet("c0", "c1"), *documents, config(), managed]).decide(["c0", "c1"])


@BOTH
def test_a_kind_that_a_placement_names_need_not_be_among_the_supported_ones(
    profile: dict[str, str],
) -> None:
    found = rig(profile, default="", supported=(), configs=[refer("default")])
    assert [name for name, *_ in found.carries("c0")] == ["default"]
    assert found.says("c0", names.CONFIGURED) == CONFIGURED


@BOTH
def test_objects_of_the_core_group_are_no_configurations(profile: dict[str, str]) -> None:
    found = rig(profile, default="", supported=(), configs=[refer("c", "configmaps", "")])
    assert found.installed() == []
    told = {c["type"]: c["message"] for c in found.progression()["conditions"]}
    assert "objects of its group are not configurations" in told[names.ROLLOUT_HALTED]


def test_ocm_installs_with_an_empty_hash_where_the_placements_configuration_is_missing() -> None:
    found = rig(OCM, configs=[refer("gone")])
    assert found.installed() == ["c0", "c1"]
    assert [each["desiredConfig"] for each in found.references("c0")] == [
        {"namespace": "default", "name": "gone", "specHash": ""}
    ]
    assert rig(STRICT, configs=[refer("gone")]).installed() == []


def test_ocm_tells_a_cluster_of_its_own_configuration_of_an_unknown_kind_beside_the_default() -> (
    None
):
    own = refer("x", "unknowns", "example.org")
    told = {
        name: [
            (each["resource"], bool(each["desiredConfig"]["specHash"]))
            for each in rig(profile, cluster_addon("c0", own)).references("c0")
        ]
        for name, profile in (("ocm", OCM), ("strict", STRICT))
    }
    assert told == {"ocm": [("addondeploymentconfigs", True), ("unknowns", False)], "strict": []}


def test_clusters_that_are_late_are_counted_as_late_and_not_as_failed() -> None:
    strategy = progressive(maxConcurrency=2, progressDeadline="5s", maxFailures=1)
    placed = installed_at("p", strategy=strategy)
    documents = [config(), addon("default", placements=[placed], annotations=OCM)]
    found = Rig([*fleet(*CLUSTERS), *documents]).decide(CLUSTERS)
    found.works_do(["c0", "c1"], applied=False).later(6 * SEC)
    assert found.message() == going(0, late=2)


def test_ocm_gives_a_cluster_without_an_addon_no_slot_that_another_can_have() -> None:
    """Nothing can be installed at a."""
    placed = installed_at("p", strategy=progressive(maxConcurrency=1))
    documents = [config(), cluster_addon("c1"), addon(placements=[placed], annotations=OCM)]
    found = Rig([*fleet("a", "c1"), *documents]).refuse("a").decide(["a", "c1"])
    found.set_addon(addon("default", placements=[placed]))
    assert found.take_touched() == ["c1"]


@BOTH
def test_a_cluster_that_is_selected_no_more_keeps_what_it_was_told(profile: dict[str, str]) -> None:
    """What somebody else installed is not removed; emptied, its manager would render it anew."""
    found = rig(profile, cluster_addon("c0"), config("mine"), configs=[refer("mine")])
    before = found.works_do(["c0", "c1"]).references("c0")
    assert before[0]["desiredConfig"]["name"] == "mine"
    found.decide(["c1"])
    assert found.installed() == ["c0", "c1"]
    assert found.references("c0") == before
    assert found.says("c0", names.CONFIGURED) == CONFIGURED


@BOTH
def test_what_no_placement_ever_selected_goes_by_the_defaults(profile: dict[str, str]) -> None:
    """Also when these are edited."""
    found = rig(profile, cluster_addon("c2"))
    before = found.references("c2")
    found.set_config("other")
    assert found.references("c2")[0]["desiredConfig"] != before[0]["desiredConfig"]
