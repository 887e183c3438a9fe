"""Clusters with values of their own, through the whole engine: what is rendered, and when it goes where."""

from typing import Any

from rollout.model import names
from rollout.model.kinds import (
    CLUSTER_VALUES,
    MANAGED_CLUSTER,
    MANIFEST_WORK,
    REPLICA_SET,
    ROLLOUT_RECORD,
    ROLLOUT_REVISION,
    Obj,
    Ref,
)
from tests.support import make
from tests.support.story import MIN, SEC, SETTLED, Story

CONFIG = {"kind": "ConfigMap"}
BY_LABEL = "current + '-' + cluster.labels['tier']"
BAD = {"manifests": {"path": "data.version", "equals": "bad"}, "behaviour": {"outcome": "fail"}}
CANARY = make.progressive(mandatoryDecisionGroups=[{"groupName": "canary"}])


def setting(value: str = BY_LABEL, path: str = "/data/version", **more: Any) -> Obj:
    return {"target": CONFIG, "path": path, "value": value, **more}


def values(*settings: Obj, name: str = "tiers", **rule: Any) -> Obj:
    return {
        "apiVersion": CLUSTER_VALUES.api_version,
        "kind": CLUSTER_VALUES.name,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "workload": {"name": "web"},
            "rules": [{"set": list(settings or (setting(),)), **rule}],
        },
    }


def story(*documents: Obj, tiers: str = "aab", canary: int = 0, **options: Any) -> Story:
    fleet = make.fleet(len(tiers), canary=canary) if canary else make.fleet(len(tiers))
    for obj in fleet:
        if obj["kind"] == "ManagedCluster":
            tier = tiers[int(obj["metadata"]["name"][1:])]
            obj["metadata"]["labels"] |= {"tier": tier} if tier != "-" else {}
    return Story([*fleet, *documents], **options)


def relabel(told: Story, cluster: str, tier: str | None) -> None:
    told.hub.patch(Ref(MANAGED_CLUSTER, cluster), {"metadata": {"labels": {"tier": tier}}})


def rules(told: Story, *settings: Obj, name: str = "tiers", **rule: Any) -> None:
    told.hub.patch(
        Ref(CLUSTER_VALUES, f"default/{name}"), {"spec": values(*settings, **rule)["spec"]}
    )


def kept(told: Story) -> list[Obj]:
    return list(told.hub.list(ROLLOUT_REVISION).items)


def test_each_cluster_gets_its_own_value() -> None:
    told = story(values(), make.workload()).end()

    assert told.versions() == {"c00": "1-a", "c01": "1-a", "c02": "1-b"}
    assert told.reason == "Complete"
    assert told.summary()["updated"] == 3


def test_a_cluster_that_lacks_the_label_is_held_and_says_so_and_nobody_else_waits() -> None:
    told = story(values(), make.workload(strategy=make.progressive(maxConcurrency=1)), tiers="a-b")
    told.on(10 * MIN)

    assert told.versions() == {"c00": "1-a", "c02": "1-b"}
    assert told.reason == "ValuesMissing"
    assert "c01: ClusterValues tiers rules[0].set[0]" in told.message
    assert "no such key: tier" in told.message

    relabel(told, "c01", "c")
    told.end()
    assert told.versions()["c01"] == "1-c"
    assert told.reason == "Complete"


def test_a_canary_that_cannot_be_rendered_is_not_passed_by() -> None:
    told = story(values(), make.workload(strategy=CANARY), tiers="-ab", canary=1).on(10 * MIN)

    assert told.versions() == {}
    assert told.reason == "ValuesMissing"


def test_two_rules_that_set_one_field_differently_hold_the_cluster() -> None:
    other = values(
        setting("'x'"), name="zulu", clusters={"labelSelector": {"matchLabels": {"tier": "b"}}}
    )
    told = story(values(), other, make.workload()).on(10 * MIN)

    assert told.versions() == {"c00": "1-a", "c01": "1-a"}
    assert told.reason == "ValuesConflict"
    assert "tiers rules[0].set[0]" in told.message
    assert "zulu rules[0].set[0]" in told.message


def test_what_is_wrong_for_every_cluster_holds_the_workload_as_it_is() -> None:
    told = story(make.workload()).end()
    for wrong, said in (
        (setting("'"), "rules[0].set[0].value"),
        (setting(path="/data/version/deep"), "/data/version/deep"),
        (
            {**setting(), "target": {"kind": "Deployment"}},
            "no manifest of the template is Deployment",
        ),
    ):
        told.add(values(wrong))
        told.on(5 * MIN)
        assert told.reason == "Misconfigured", said
        assert said in told.message
        assert set(told.versions().values()) == {"1"}
        told.hub.delete(Ref(CLUSTER_VALUES, "default/tiers"))
        told.end()
        assert told.reason == "Complete"


def test_a_rule_that_changes_is_rolled_out_to_the_clusters_that_it_changes_alone() -> None:
    told = story(values(), make.workload(strategy=make.progressive(maxConcurrency=1))).end()
    before = len(told.lines)
    rules(told, setting("cluster.labels['tier'] == 'b' ? 'new' : current + '-a'"))
    told.end()

    assert [(line.cluster, line.version) for line in told.lines[before:]] == [("c02", "new")]
    assert told.reason == "Complete"
    assert told.summary()["updated"] == 3


def test_a_rule_that_changes_goes_in_the_order_of_the_stages() -> None:
    told = story(values(), make.workload(strategy=CANARY), canary=1).end()
    start = told.now
    rules(told, setting("'2-' + cluster.labels['tier']"))
    told.end()

    first = told.touched("2-a")["c00"]
    assert first == start
    assert told.touched("2-b")["c02"] - first >= SETTLED - 2 * SEC
    assert told.reason == "Complete"


def test_a_relabelled_cluster_waits_until_its_label_stands_still() -> None:
    told = story(values(), make.workload()).end()
    start = told.now
    for tier in "xyxy":
        relabel(told, "c00", tier)
        told.on(30 * SEC)
    assert told.reason == "ValuesSettling"
    told.end()

    assert told.touched("1-y") == {"c00": start + 150 * SEC}
    assert told.touched("1-x") == {}
    assert told.reason == "Complete"


def test_a_label_that_comes_back_in_time_changes_nothing() -> None:
    told = story(values(), make.workload()).end()
    before = len(told.lines)
    relabel(told, "c00", "x")
    told.on(30 * SEC)
    relabel(told, "c00", "a")
    told.end()

    assert told.lines[before:] == []


def test_relabelled_clusters_go_in_the_order_of_the_stages() -> None:
    told = story(values(), make.workload(strategy=CANARY), canary=1).end()
    start = told.now
    for cluster in ("c00", "c01", "c02"):
        relabel(told, cluster, "z")
    told.end()

    touched = told.touched("1-z")
    assert touched["c00"] == start + 60 * SEC
    assert min(touched["c01"], touched["c02"]) - touched["c00"] >= SETTLED - 2 * SEC


def test_a_cluster_whose_label_goes_keeps_what_it_has_and_is_repaired_to_it() -> None:
    told = story(values(), make.workload()).end()
    relabel(told, "c00", None)
    told.on(5 * MIN)
    assert told.versions()["c00"] == "1-a"
    assert told.reason == "ValuesMissing"

    work = told.works()["c00"]
    spec = {"workload": {"manifests": [make.manifest("drift")]}}
    told.hub.patch(Ref(MANIFEST_WORK, f"c00/{work['metadata']['name']}"), {"spec": spec})
    told.on(5 * MIN)
    assert told.versions()["c00"] == "1-a"


def test_drift_is_measured_against_what_was_rendered_for_the_cluster() -> None:
    told = story(values(), make.workload()).end()
    name = told.works()["c02"]["metadata"]["name"]
    plain = {"workload": {"manifests": [make.manifest("1")]}}
    told.hub.patch(Ref(MANIFEST_WORK, f"c02/{name}"), {"spec": plain})
    told.end()

    assert told.versions()["c02"] == "1-b"


def test_a_rule_that_breaks_clusters_is_taken_back_to_what_soaked_there() -> None:
    told = story(
        values(),
        make.workload(
            strategy=make.progressive(maxConcurrency=1, progressDeadline="60s"),
            annotations={names.ROLLBACK: "Automatic"},
        ),
        agents={"rules": [BAD]},
    ).end()
    first = told.versions()
    rules(told, setting("cluster.labels['tier'] == 'b' ? 'bad' : current + '-' + cluster.name"))
    told.end()

    assert told.reason == "RolledBack"
    assert told.touched("bad").keys() == {"c02"}
    assert told.versions() == first


def test_undo_gives_each_cluster_what_soaked_there_before_the_rules_changed() -> None:
    told = story(values(), make.workload()).end()
    first = told.versions()
    rules(told, setting("cluster.labels['tier'] == 'a' ? 'bad' : current + '-b'"))
    told.end()
    assert told.versions() == {"c00": "bad", "c01": "bad", "c02": "1-b"}
    before = len(told.lines)
    told.annotate(names.UNDO, now_revision(told))
    told.end()

    assert told.versions() == first
    assert {line.cluster for line in told.lines[before:]} == {"c00", "c01"}


def now_revision(told: Story) -> str:
    workload = told.engine.fleet.rollout(Ref(REPLICA_SET, "default/web"))
    assert workload is not None
    return workload.revisions[0]


def test_a_new_process_goes_on_and_writes_nothing_again() -> None:
    told = story(values(), make.workload(), tiers="aab").end()
    before = len(told.lines)
    told.restart().end()
    assert told.lines[before:] == []
    assert told.reason == "Complete"

    rules(told, setting("'2-' + cluster.labels['tier']"))
    told.on(1 * SEC)
    told.restart().end()
    assert told.versions() == {"c00": "2-a", "c01": "2-a", "c02": "2-b"}


def test_each_distinct_content_is_kept_once_with_what_it_differs_in() -> None:
    told = story(values(), make.workload()).end()
    revision = now_revision(told)

    by_base = {obj.get("base", ""): obj for obj in kept(told)}
    assert len(kept(told)) == 3
    assert by_base[""]["metadata"]["annotations"][names.REVISION] == revision
    assert by_base[""]["rules"] == [{"name": "tiers", "rules": values()["spec"]["rules"]}]
    place = ["data", "version"]
    contents = [obj["values"] for obj in kept(told) if obj.get("base") == revision]
    assert sorted(v[0]["value"] for v in contents) == ["1-a", "1-b"]
    assert all(v[0]["place"] == place and v[0]["manifest"] == 0 for v in contents)


def test_a_label_whose_content_fails_after_the_end_takes_nothing_from_the_others() -> None:
    """The rule works everywhere else, and works there again once the label is put back."""
    bad = {
        "manifests": {"path": "data.version", "equals": "2-bad"},
        "behaviour": {"outcome": "fail"},
    }
    strategy = make.progressive(maxConcurrency=1, progressDeadline="60s")
    workload = make.workload(strategy=strategy, annotations={names.ROLLBACK: "Automatic"})
    told = story(values(), workload, agents={"rules": [bad]}).end()
    told.template(make.template("2"))
    told.end()

    relabel(told, "c00", "bad")
    told.end()
    assert told.versions() == {"c00": "2-bad", "c01": "2-a", "c02": "2-b"}
    assert told.reason == "MaxFailuresExceeded"

    relabel(told, "c00", "a")
    told.end()
    assert told.versions() == {"c00": "2-a", "c01": "2-a", "c02": "2-b"}
    assert told.reason == "Complete"


def test_undo_to_an_older_revision_gives_each_cluster_what_it_had_then() -> None:
    """c02 keeps its content while the rule for the others changes; all go back two revisions."""
    only_a: dict[str, Any] = {"clusters": {"labelSelector": {"matchLabels": {"tier": "a"}}}}
    told = story(values(**only_a), make.workload()).end()
    first = told.mwrs()["status"]["updateRevision"]
    assert told.versions() == {"c00": "1-a", "c01": "1-a", "c02": "1"}
    rules(told, setting("'x'"), **only_a)
    told.end()
    told.template(make.template("2"))
    told.end()
    rules(told, setting("'y'"), **only_a)
    told.end()
    assert told.versions() == {"c00": "y", "c01": "y", "c02": "2"}

    current = told.mwrs()["status"]["updateRevision"]
    told.edit({"metadata": {"annotations": {names.UNDO: current, names.UNDO_TO: first}}})
    told.end()

    assert told.versions() == {"c00": "1-a", "c01": "1-a", "c02": "2"}, "c02 never got the last one"


def test_a_group_whose_clusters_cannot_be_rendered_holds_no_other_group() -> None:
    told = story(
        values(),
        make.workload(strategy={"type": "ProgressivePerGroup"}),
        tiers="-aa",
        canary=1,
    ).end()

    assert told.versions() == {"c01": "1-a", "c02": "1-a"}
    assert told.reason == "ValuesMissing"
    relabel(told, "c00", "b")
    told.end()
    assert told.versions() == {"c00": "1-b", "c01": "1-a", "c02": "1-a"}
    assert told.reason == "Complete"


def test_contents_are_kept_as_long_as_the_revisions_that_they_were_made_for() -> None:
    told = story(values(), make.workload(annotations={names.HISTORY_LIMIT: "2"})).end()
    for number in range(2, 6):
        rules(told, setting(f"'{number}-' + cluster.labels['tier']"))
        told.end()

    said = {v["value"] for obj in kept(told) for v in obj.get("values", [])}
    assert said == {"5-a", "5-b", "4-a", "4-b"}


def test_without_values_again_the_template_is_rolled_out() -> None:
    told = story(values(), make.workload()).end()
    told.hub.delete(Ref(CLUSTER_VALUES, "default/tiers"))
    told.end()

    assert set(told.versions().values()) == {"1"}
    assert told.reason == "Complete"


def test_values_that_change_nothing_touch_nothing() -> None:
    told = story(make.workload()).end()
    before = len(told.lines)
    told.add(values(setting("current")))
    told.end()

    assert told.lines[before:] == []
    assert told.reason == "Complete"


def test_the_rules_of_profile_ocm_bring_the_same_values() -> None:
    told = story(values(), make.workload(annotations={names.SEMANTICS: "ocm"})).end()

    assert told.versions() == {"c00": "1-a", "c01": "1-a", "c02": "1-b"}


def test_values_of_another_workload_concern_nobody_here() -> None:
    other = values()
    other["spec"]["workload"]["name"] = "api"
    told = story(other, make.workload()).end()

    assert set(told.versions().values()) == {"1"}


def test_a_revision_that_comes_back_takes_back_only_whom_it_touched_this_time() -> None:
    told = story(values(setting("current")), make.workload()).end()
    rules(told, setting("cluster.labels['tier'] == 'a' ? 'x' : current"))
    told.end()
    rules(told, setting("current"))  # as in the beginning: c02 has had it all the time
    told.end()
    before = len(told.lines)
    told.annotate(names.UNDO, now_revision(told))
    told.end()

    assert told.versions() == {"c00": "x", "c01": "x", "c02": "1"}
    assert {line.cluster for line in told.lines[before:]} == {"c00", "c01"}


def test_works_that_are_right_already_are_taken_over_and_none_is_written() -> None:
    told = story(values(), make.workload()).end()
    for kind in (ROLLOUT_RECORD, ROLLOUT_REVISION):
        for obj in told.hub.list(kind).items:
            told.hub.delete(Ref(kind, f"default/{obj['metadata']['name']}"))
    before = len(told.lines)
    told.restart().end()

    assert told.lines[before:] == []
    assert told.reason == "Complete"


def test_drift_is_put_right_with_what_was_agreed_while_a_new_template_fits_no_rule() -> None:
    told = story(values(), make.workload()).end()
    before = told.works()["c02"]["spec"]
    other = make.template("9")
    other["workload"]["manifests"][0] = {**make.manifest("9"), "kind": "Secret"}
    told.template(other)
    told.settle()
    assert told.reason == "Misconfigured"

    name = told.works()["c02"]["metadata"]["name"]
    plain = {"workload": {"manifests": [make.manifest("drift")]}}
    told.hub.patch(Ref(MANIFEST_WORK, f"c02/{name}"), {"spec": plain})
    told.end()

    assert told.works()["c02"]["spec"] == before
