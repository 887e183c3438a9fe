"""A ClusterManagementAddOn from its first configuration to its last, step by step as OCM tests it.

Hashes are those of OCM's own tests: the objects are written as its typed client does.
"""

from datetime import timedelta

import pytest

from rollout.model import names
from rollout.model.instants import rfc3339
from rollout.model.kinds import (
    ADDON_DEPLOYMENT_CONFIG,
    CLUSTER_MANAGEMENT_ADDON,
    MANAGED_CLUSTER_ADDON,
    Obj,
    Ref,
)
from tests.stories.operating import freeze
from tests.support.addons import (
    ALL_DONE,
    CLUSTERS,
    CMA,
    COMPLETED,
    CONFIGURED,
    MIN,
    NO_GRACE,
    NOT_READY,
    SEC,
    TEST,
    TEST1,
    TEST2,
    TEST3,
    WAITING,
    Rig,
    addon,
    cluster_addon,
    fleet,
    going,
    installed_at,
    kinds_watched,
    progressive,
    refer,
    typed,
)

# -- the upgrade table ----------------------------------------------------------------------------


def upgraded() -> Rig:
    """Rows 1 to 3: installed everywhere with the first configuration."""
    documents = [
        *fleet(*CLUSTERS),
        typed(),
        typed("update", "test2"),
        addon("default", placements=[installed_at()]),
    ]
    return Rig(documents, NO_GRACE).decide(["c0", "c1"], ["c2", "c3"]).works_do(CLUSTERS)


def test_installed_with_its_first_configuration_everything_says_so() -> None:
    rig = upgraded()

    for cluster in CLUSTERS:
        assert rig.carries(cluster) == [("default", TEST, TEST, 1)]
        assert rig.says(cluster, names.PROGRESSING) == COMPLETED
        assert rig.says(cluster, names.CONFIGURED) == CONFIGURED
    assert rig.hashes() == [(TEST, TEST, TEST)]
    assert rig.message() == ALL_DONE
    assert rig.halted() == ("False", "Complete")


def test_an_edit_reaches_all_at_once_without_a_strategy() -> None:
    rig = upgraded().set_config("test1").works_do(CLUSTERS)

    for cluster in CLUSTERS:
        assert rig.carries(cluster) == [("default", TEST1, TEST1, 2)]
        assert rig.says(cluster, names.PROGRESSING) == COMPLETED
    assert rig.message() == ALL_DONE


def replaced() -> Rig:
    """Row 5: another object, two at a time, at most one failure, five seconds."""
    rig = upgraded().set_config("test1").works_do(CLUSTERS)
    rig.take_touched()
    strategy = progressive(maxConcurrency=2, progressDeadline="5s", maxFailures=1)
    placed = installed_at("p", refer("update"), strategy=strategy)
    return rig.set_addon(addon("default", placements=[placed])).works_do(["c0", "c1"], ready=False)


def test_another_configuration_reaches_as_many_as_there_are_slots() -> None:
    rig = replaced()

    assert rig.take_touched() == ["c0", "c1"]
    for cluster in ("c0", "c1"):
        assert rig.carries(cluster) == [("update", TEST2, "", 1)]
        assert rig.says(cluster, names.PROGRESSING) == NOT_READY
        assert rig.says(cluster, names.CONFIGURED) == CONFIGURED
    for cluster in ("c2", "c3"):
        assert rig.carries(cluster) == [("default", TEST1, TEST1, 2)]
        assert rig.says(cluster, names.PROGRESSING) == COMPLETED
        assert rig.says(cluster, names.CONFIGURED) == WAITING
    assert rig.hashes() == [(TEST2, "", "")]
    assert rig.message() == going(2)


def test_two_that_are_late_stop_the_rollout_at_the_deadline_and_not_before() -> None:
    rig = replaced()

    assert rig.later(5 * SEC - timedelta(microseconds=1)).message() == going(2)
    assert rig.later(timedelta(microseconds=1)).message() == going(0, late=2)
    assert rig.halted() == ("True", "MaxFailuresExceeded")


def test_people_are_told_once_of_what_passed_and_of_the_clusters_that_failed() -> None:
    rig = replaced().later(5 * SEC).later(5 * SEC)

    told = [(note.ref, note.reason, note.message) for note in rig.notes]
    assert (CMA, "StagePassed", "placement default/p: all clusters passed") in told
    failed = "placement default/p: c0 (TimedOut), c1 (TimedOut) failed"
    assert [message for _, reason, message in told if reason == "ClusterFailed"] == [failed]
    rig.take_touched()
    assert rig.later(60 * MIN).take_touched() == []


def paused(value: str) -> Obj:
    return {"metadata": {"annotations": {names.PAUSED: value}}}


def test_what_goes_on_after_a_hold_is_resumed_and_another_configuration_starts() -> None:
    rig = replaced().edit(CMA, paused("true")).edit(CMA, paused("false"))
    rig.hub.delete(Ref(ADDON_DEPLOYMENT_CONFIG, "default/update"))
    rig.settle().add(typed("update", "test2"))
    rig.settle().edit(CMA, paused("true")).set_config("test3", "update").edit(CMA, paused("false"))

    told = [note.reason.removeprefix("Rollout") for note in rig.notes]
    expected = ["Started", "Paused", "Resumed", "Held", "Resumed", "Paused", "Started"]
    assert told[-7:] == expected


def test_what_cannot_be_applied_counts_as_failed_before_any_deadline() -> None:
    """OCM never counts a failure (add-on weakness A-2; row 7)."""
    rig = replaced().works_do(["c0", "c1"], applied=False)

    assert rig.says("c0", names.PROGRESSING) == NOT_READY
    assert rig.message() == going(2)
    assert rig.halted() == ("True", "MaxFailuresExceeded")
    assert rig.later(5 * SEC).message() == going(0, failed=2)


def test_when_the_late_ones_recover_the_rollout_goes_on_to_its_end() -> None:
    rig = replaced().later(10 * SEC).works_do(["c0", "c1"])

    assert rig.says("c0", names.PROGRESSING) == COMPLETED
    assert rig.works_do(["c2", "c3"], ready=False).message() == going(4)
    rig.works_do(["c2", "c3"])
    assert rig.message() == ALL_DONE
    assert rig.hashes() == [(TEST2, TEST2, TEST2)]
    assert [rig.carries(c) for c in CLUSTERS] == [[("update", TEST2, TEST2, 1)]] * 4


def grouped() -> Rig:
    """Row 9: one decision group after the other, well for three seconds, the object edited."""
    rig = replaced().works_do(["c0", "c1"])
    rig.works_do(["c2", "c3"]).later(10 * SEC)  # the decisions, which others write, are still
    strategy = {"type": "ProgressivePerGroup", "progressivePerGroup": {"minSuccessTime": "3s"}}
    placed = installed_at("p", refer("update"), strategy=strategy)
    rig.set_addon(addon("default", placements=[placed])).take_touched()
    return rig.set_config("test3", "update").works_do(["c0", "c1"], ready=False)


def test_group_by_group_the_second_group_keeps_what_it_has() -> None:
    rig = grouped()

    assert rig.take_touched() == ["c0", "c1"]
    for cluster in ("c0", "c1"):
        assert rig.carries(cluster) == [("update", TEST3, TEST2, 2)]
        assert rig.says(cluster, names.PROGRESSING) == NOT_READY
    for cluster in ("c2", "c3"):
        assert rig.carries(cluster) == [("update", TEST2, TEST2, 2)]
        assert rig.says(cluster, names.PROGRESSING) == COMPLETED
        assert rig.says(cluster, names.CONFIGURED) == WAITING
    assert rig.hashes() == [(TEST3, TEST2, TEST2)]
    assert rig.message() == going(2)


def test_the_second_group_starts_when_the_first_has_soaked_and_the_end_is_told_after_its_soak() -> (
    None
):
    rig = grouped().works_do(["c0", "c1"])

    assert rig.later(3 * SEC - timedelta(microseconds=1)).message() == going(2)
    rig.later(timedelta(microseconds=1)).works_do(["c2", "c3"], ready=False)
    assert rig.message() == going(4)
    assert rig.carries("c0") == [("update", TEST3, TEST3, 2)]
    assert rig.hashes() == [(TEST3, TEST2, TEST2)]
    rig.works_do(["c2", "c3"])
    assert rig.later(2 * SEC).message() == going(4)
    assert rig.later(SEC).message() == ALL_DONE
    assert rig.hashes() == [(TEST3, TEST3, TEST3)]


# -- the configuration table ----------------------------------------------------------------------


def manual(*documents: Obj, own: tuple[Obj, ...] = (), default: str = "default") -> Rig:
    return Rig([*fleet("c0"), *documents, addon(default), cluster_addon("c0", *own)])


def test_an_addon_installed_by_hand_gets_the_default_configuration_at_once() -> None:
    rig = manual(typed())

    assert rig.carries("c0") == [("default", TEST, "", 1)]
    status = rig.hub.get(CMA)["status"]
    assert [r["desiredConfig"]["specHash"] for r in status["defaultconfigReferences"]] == [TEST]
    assert status.get("installProgressions", []) == []
    assert rig.says("c0", names.CONFIGURED) == CONFIGURED


def test_a_placements_configuration_that_is_missing_holds_and_is_never_rolled_out() -> None:
    """OCM tells the add-on to apply it with an empty hash (add-on weakness A-5; row 26)."""
    placed = installed_at("p", refer("another-config"))
    rig = Rig([*fleet("c0"), typed(), cluster_addon("c0"), addon("default", placements=[placed])])
    rig.decide(["c0"])

    assert rig.hashes() == [("", "", "")]
    assert rig.carries("c0") == []
    assert rig.says("c0", names.CONFIGURED) == WAITING
    assert rig.halted() == ("True", "ConfigNotFound")

    rig.add(typed("another-config", "test1"))
    rig.settle()
    assert rig.carries("c0") == [("another-config", TEST1, "", 1)]
    assert rig.halted() == ("False", "RollingOut")


def test_a_deleted_configuration_holds_and_changes_nothing() -> None:
    rig = upgraded()
    rig.take_touched()

    rig.hub.delete(Ref(ADDON_DEPLOYMENT_CONFIG, "default/default"))
    rig.settle()

    assert rig.later(60 * MIN).take_touched() == []
    assert rig.halted() == ("True", "ConfigNotFound")
    assert [rig.carries(c)[0][:3] for c in CLUSTERS] == [("default", TEST, TEST)] * 4
    rig.add(typed())
    rig.settle()
    assert (rig.take_touched(), rig.halted()) == ([], ("False", "Complete"))


def test_an_addons_own_configuration_replaces_the_default_of_its_kind() -> None:
    rig = manual(typed(), typed("addon-config", "test1"), own=(refer("addon-config"),))

    assert rig.carries("c0") == [("addon-config", TEST1, "", 1)]
    assert rig.set_config("test2", "addon-config").carries("c0") == [("addon-config", TEST2, "", 2)]
    default = rig.hub.get(CMA)["status"]["defaultconfigReferences"]
    assert [r["desiredConfig"]["name"] for r in default] == ["default"]


def test_a_freeze_that_ends_lets_an_addon_without_placements_go_on() -> None:
    rig = manual(typed(), typed("addon-config", "test1"), own=(refer("addon-config"),))
    rig.add(freeze(until=rfc3339(rig.clock.now() + MIN)))

    assert rig.settle().set_config("test2", "addon-config").carries("c0")[0][1] == TEST1
    assert rig.later(MIN - SEC).carries("c0")[0][1] == TEST1
    assert rig.later(SEC).carries("c0")[0][1] == TEST2


def test_an_own_configuration_of_an_unsupported_kind_is_said_and_not_applied() -> None:
    """OCM lists it with an empty hash beside the default (add-on weakness A-5; row 26)."""
    own = refer("x", "addon-hello", "example.org")
    rig = manual(typed(), own=(own,))

    assert rig.carries("c0") == []
    assert rig.says("c0", names.PROGRESSING) == (
        "False",
        "ConfigurationUnsupported",
        "Configuration with gvr example.org/addon-hello is not supported for this addon",
    )


def test_several_configurations_of_one_kind_keep_their_order() -> None:
    placed = installed_at("p", refer("config-second"), refer("config-first"))
    documents = [typed("config-first", "test1"), typed("config-second", "test2")]
    rig = Rig([*fleet("c0"), *documents, addon(placements=[placed])]).decide(["c0"])

    assert [c[:2] for c in rig.carries("c0")] == [
        ("config-second", TEST2),
        ("config-first", TEST1),
    ]
    assert [h[0] for h in rig.hashes()] == [TEST2, TEST1]


def test_another_order_is_another_configuration() -> None:
    """OCM does not compare the order (add-on weakness A-15)."""
    documents = [typed("one", "test1"), typed("two", "test2")]
    placed = installed_at("p", refer("one"), refer("two"))
    rig = Rig([*fleet("c0"), *documents, addon(placements=[placed])]).decide(["c0"])
    rig.works_do(["c0"]).take_touched()

    rig.set_addon(addon(placements=[installed_at("p", refer("two"), refer("one"))]))

    assert rig.take_touched() == ["c0"]
    assert [c[0] for c in rig.carries("c0")] == ["two", "one"]


@pytest.mark.parametrize("times", [1, 2])
def test_an_own_configuration_changes_that_cluster_alone_and_counts_as_done(times: int) -> None:
    """Named twice it is still one; OCM then never completes (add-on weakness A-13)."""
    rig = upgraded()
    rig.add(typed("own", "test3"))
    rig.take_touched()

    own = Ref(MANAGED_CLUSTER_ADDON, f"c2/{CMA.key}")
    rig.edit(own, {"spec": {"configs": [refer("own")] * times}}).works_do(CLUSTERS)

    assert rig.take_touched() == ["c2"]
    assert rig.carries("c2") == [("own", TEST3, TEST3, 1)]
    assert rig.message() == ALL_DONE
    rig.edit(own, {"spec": {"configs": None}}).works_do(CLUSTERS)
    assert rig.take_touched() == ["c2"]
    assert rig.carries("c2") == [("default", TEST, TEST, 1)]


def test_kinds_are_watched_from_their_first_reference_to_their_last() -> None:
    rig = Rig([*fleet("c0"), addon(placements=[installed_at()])]).decide(["c0"])
    assert ADDON_DEPLOYMENT_CONFIG not in kinds_watched(rig)

    rig.set_addon(addon(placements=[installed_at("p", refer("late"))]))
    assert ADDON_DEPLOYMENT_CONFIG in kinds_watched(rig)
    rig.add(typed("late"))
    assert rig.settle().carries("c0") == [("late", TEST, "", 1)]

    rig.set_addon(addon(placements=[installed_at()]))
    assert ADDON_DEPLOYMENT_CONFIG not in kinds_watched(rig)
    rig.set_config("test1", "late")
    rig.set_addon(addon(placements=[installed_at("p", refer("late"))]))
    assert rig.carries("c0") == [("late", TEST1, "", 2)]


def test_one_bad_addon_stops_no_other() -> None:
    bad = addon("default", placements=[installed_at(strategy=progressive(maxFailures="many"))])
    bad["metadata"]["name"] = "bad"
    good = addon("default", placements=[installed_at()])
    rig = Rig([*fleet("c0"), typed(), bad, good], checks=False).decide(["c0"])

    assert [name for name, *_ in rig.carries("c0")] == ["default"]
    status = rig.hub.get(Ref(CLUSTER_MANAGEMENT_ADDON, "bad"))["status"]
    conditions = status["installProgressions"][0]["conditions"]
    assert [c["reason"] for c in conditions if c["type"] == names.ROLLOUT_HALTED] == [
        "Misconfigured"
    ]


def test_what_is_edited_under_a_strategy_that_cannot_be_read_is_rendered_nowhere() -> None:
    """Whoever carries what is meant stays configured; nobody is told of an edit (row 26)."""
    rig = Rig([*fleet("c0", "c1"), typed(), addon("default", placements=[installed_at()])])
    rig._checks = False
    rig.decide(["c0", "c1"]).works_do(["c0", "c1"]).take_touched()
    bad = installed_at(strategy=progressive(maxFailures="many"))

    rig.set_addon(addon("default", placements=[bad]))
    assert [rig.says(c, names.CONFIGURED) for c in ("c0", "c1")] == [CONFIGURED] * 2
    rig.set_config("test1").restart()
    assert [rig.says(c, names.CONFIGURED) for c in ("c0", "c1")] == [WAITING] * 2
    assert rig.take_touched() == []

    rig.set_addon(addon("default", placements=[installed_at()]))
    assert rig.take_touched() == ["c0", "c1"]


def test_a_managed_addon_of_somebody_else_is_left_alone() -> None:
    other = {names.ADDON_LIFECYCLE: "self"}
    documents = [typed(), addon("default", placements=[installed_at()], annotations=other)]
    rig = Rig([*fleet("c0"), *documents]).decide(["c0"])

    assert rig.installed() == []
    assert rig.hub.get(CMA)["status"]["defaultconfigReferences"] != []


# -- overlaps -------------------------------------------------------------------------------------


def test_a_cluster_selected_twice_belongs_to_the_later_placement() -> None:
    placements = [installed_at("p", refer("one")), installed_at("q", refer("two"))]
    documents = [typed("one", "test1"), typed("two", "test2"), addon(placements=placements)]
    rig = Rig([*fleet("c0", "c1", placements=("p", "q")), *documents])
    rig.decide(["c0", "c1"]).decide(["c1"], placement="q").works_do(["c0", "c1"])

    assert [rig.carries(c)[0][0] for c in ("c0", "c1")] == ["one", "two"]
    assert rig.message("p") == (
        "selected clusters 2. configured addons 1/1 completed with no errors, 0 failed 0 timeout."
    )
    assert rig.message("q") == (
        "selected clusters 1. configured addons 1/1 completed with no errors, 0 failed 0 timeout."
    )


def test_after_a_restart_nothing_is_touched_again() -> None:
    rig = replaced()
    rig.take_touched()

    rig.restart().later(5 * SEC)

    assert rig.take_touched() == []
    assert rig.message() == going(0, late=2)
