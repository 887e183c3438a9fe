"""OCM's own acceptance tables for ManifestWorkReplicaSets, on the embedded hub in profile strict.

Sections are those of the ManifestWorkReplicaSet spec, 9: the controller, deploying, conditions, status,
finalizer. Where strict differs from OCM the strict answer is asserted, and the row of the semantics
that asks for it is named.
"""

import pytest

from rollout.model import names
from rollout.model.kinds import MANIFEST_WORK, Obj, ref_of
from tests.stories.acceptance import GRACE, MWRS, QUIET, RULES, available, mwrs, story, theirs
from tests.support import make
from tests.support.story import MIN, SEC, T0

DONE = [make.condition(kind, "True", 1) for kind in ("Applied", "Available")] + [
    make.condition("Progressing", "False", 1)
]
TEMPLATE = make.template(rules=RULES)


def made(cluster: str, placement: str = "p", *, done: bool = True, spec: Obj = TEMPLATE) -> Obj:
    """A work that OCM made."""
    return make.work(cluster, placement=placement, spec=spec, conditions=DONE if done else [])


# -- 9.1 the controller ------------------------------------------------------------------------


def test_the_finalizer_is_added_once_and_those_of_others_stay() -> None:
    workload = mwrs()
    workload["metadata"]["finalizers"] = ["example.com/theirs"]
    s = story(*theirs("p", ["c1"]), workload).settle()

    assert s.mwrs()["metadata"]["finalizers"] == ["example.com/theirs", names.REPLICASET_FINALIZER]
    version = s.mwrs()["metadata"]["resourceVersion"]
    s.restart().settle()
    assert s.mwrs()["metadata"]["resourceVersion"] == version


def test_a_placement_that_is_not_there_is_not_verified() -> None:
    s = story(*theirs("another", ["c1"]), mwrs()).settle()

    assert s.said(names.PLACEMENT_VERIFIED) == ("False", "PlacementDecisionNotFound")
    assert s.works() == {}


def test_a_decision_of_another_placement_is_no_decision_of_this_one() -> None:
    s = story(*theirs("p"), make.decision(["c1"], "another"), mwrs()).settle()

    assert s.said(names.MANIFESTWORK_APPLIED) == ("False", "PlacementDecisionEmpty")
    assert s.works() == {}


def test_two_clusters_get_two_works() -> None:
    s = story(*theirs("p", ["c1", "c2"]), mwrs()).settle()

    assert [(line.change, line.cluster) for line in s.lines] == [("ADDED", "c1"), ("ADDED", "c2")]
    assert s.summary()["total"] == 2
    assert s.said(names.MANIFESTWORK_APPLIED) == ("False", "NotAsExpected")


def test_works_that_are_as_they_should_be_are_not_written_to() -> None:
    s = story(*theirs("p", ["c1", "c2"]), made("c1"), made("c2"), mwrs())
    before = {c: obj["spec"] for c, obj in s.works().items()}
    s.settle()

    assert len(s.lines) == 2
    assert {c: obj["spec"] for c, obj in s.works().items()} == before
    assert {obj["metadata"]["name"] for obj in s.works().values()} == {"webx7k2p"}
    assert s.summary()["applied"] == 2
    assert s.said(names.MANIFESTWORK_APPLIED) == ("True", "AsExpected")


def test_clusters_are_added_at_once_and_removed_once_decisions_are_still() -> None:
    """Row 15: OCM removes at once."""
    s = story(*theirs("p", ["c2", "c3", "c4"]), made("c1"), made("c2"), mwrs()).settle()
    assert sorted(s.works()) == ["c1", "c2", "c3", "c4"]
    assert s.summary()["total"] == 3
    assert s.said(names.MANIFESTWORK_APPLIED)[0] == "False"

    s.to(QUIET)
    assert sorted(s.works()) == ["c2", "c3", "c4"]


# -- 9.2 deploying -----------------------------------------------------------------------------


def test_a_work_that_is_there_counts() -> None:
    s = story(*theirs("p", ["c1", "c2"]), made("c1", done=False), mwrs()).settle()

    assert s.summary()["total"] == 2
    assert s.said(names.PLACEMENT_VERIFIED) == ("True", "AsExpected")


def test_no_clusters_are_no_verified_placement() -> None:
    s = story(*theirs("p"), mwrs()).settle()

    assert s.summary()["total"] == 0
    assert s.said(names.PLACEMENT_VERIFIED) == ("False", "PlacementDecisionEmpty")


GROUPS = (["c1", "c2", "c3"], ["c4", "c5"])


def test_groups_one_after_another() -> None:
    s = story(*theirs("p", *GROUPS), made("c1"), mwrs(strategy=make.per_group())).to(QUIET)
    assert (available(s), s.summary()["total"]) == ("2 (3 / 5 clusters applied)", 3)
    assert s.said(names.PLACEMENT_ROLLED_OUT) == ("False", "Progressing")

    s.done("c2", "c3")
    assert (available(s), s.summary()["total"]) == ("2 (5 / 5 clusters applied)", 5)
    assert s.said(names.PLACEMENT_ROLLED_OUT) == ("False", "Progressing")

    s.done("c4", "c5")
    assert s.said(names.PLACEMENT_ROLLED_OUT) == ("True", "Complete")


def test_after_a_template_change_the_first_group_is_the_first_again() -> None:
    s = story(*theirs("p", *GROUPS), mwrs(strategy=make.per_group())).to(QUIET)
    s.done(*GROUPS[0])
    s.done(*GROUPS[1])
    assert s.said(names.PLACEMENT_ROLLED_OUT) == ("True", "Complete")

    s.template(make.template("2", rules=RULES))
    s.settle()
    assert (available(s), s.summary()["total"]) == ("2 (3 / 5 clusters applied)", 3)
    assert s.said(names.PLACEMENT_ROLLED_OUT) == ("False", "Progressing")


def test_several_placements_are_summed() -> None:
    refs = [
        {"name": "one", "rolloutStrategy": make.everywhere()},
        {"name": "two", "rolloutStrategy": make.per_group()},
    ]
    documents = [*theirs("one", ["a", "b"]), *theirs("two", *GROUPS)]
    s = story(*documents, mwrs(refs=refs)).settle()
    assert available(s, "two") == "2 (0 / 5 clusters applied)"  # row 15: groups have an order

    s.to(QUIET)
    assert available(s, "one") == "1 (2 / 2 clusters applied)"
    assert available(s, "two") == "2 (3 / 5 clusters applied)"
    assert s.summary()["total"] == 5
    assert s.said(names.PLACEMENT_ROLLED_OUT) == ("False", "Progressing")


def test_a_deadline_is_looked_at_when_it_comes() -> None:
    strategy = make.progressive(progressDeadline="5s")
    s = story(*theirs("p", ["c1"]), mwrs(strategy=strategy)).settle()
    s.report("c1", Applied="True", Progressing="True", Degraded="True")
    s.settle()

    assert s.drive.next_at() == T0 + 5 * SEC


def test_works_of_a_placement_that_was_taken_out_go_and_others_stay() -> None:
    documents = [d for n in "123" for d in theirs(f"p{n}", [f"c{n}"])]
    works = [made(f"c{n}", f"p{n}") for n in "123"]
    s = story(*documents, *works, mwrs(placements=["p2", "p3"])).settle()
    assert sorted(s.works()) == ["c1", "c2", "c3"]  # row 15: not before decisions are still

    s.to(QUIET)
    assert sorted(s.works()) == ["c2", "c3"]
    labels = {c: w["metadata"]["labels"][names.WORK_PLACEMENT_LABEL] for c, w in s.works().items()}
    assert labels == {"c2": "p2", "c3": "p3"}


def test_not_all_succeeded_is_not_complete() -> None:
    s = story(*theirs("p", ["c1", "c2", "c3"]), mwrs()).settle()
    s.report("c1", Applied="True", Progressing="False")
    s.report("c2", Applied="True", Progressing="True")
    s.report("c3", Applied="False")
    s.on(MIN)

    assert s.summary()["total"] == 3
    assert s.said(names.PLACEMENT_ROLLED_OUT) == ("False", "Progressing")


def test_an_owner_too_long_for_a_label_is_hashed_and_rolled_out() -> None:
    """OCM stops with InvalidManifestWorkName; strict keeps the whole key in an annotation."""
    name = "n" * 60
    s = story(*theirs("p", ["c1"]), mwrs(name=name)).settle()

    (work,) = s.works(name).values()
    label = work["metadata"]["labels"][names.WORK_OWNER_LABEL]
    assert (label[:2], len(label)) == ("h-", 42)
    assert work["metadata"]["annotations"][names.OWNER] == f"default/{name}"


# -- 9.3 what a cluster's conditions mean ------------------------------------------------------

SOAKED, WAITS, FAILS = "1 of 1 soaked", "1 progressing", "1 failed"


@pytest.mark.parametrize(
    ("conditions", "generation", "stands"),
    [
        pytest.param("", 1, WAITS, id="no condition: silent"),
        pytest.param("P1F", 2, WAITS, id="Progressing of an older generation"),
        pytest.param("P2T D1T", 2, WAITS, id="no Applied, Degraded stale"),
        pytest.param("A2T P2T D2F", 2, WAITS, id="Progressing"),
        pytest.param("A2T P2T D2T", 2, FAILS, id="Progressing and Degraded"),
        pytest.param("A2T P2F D2F", 2, SOAKED, id="not Progressing"),
        pytest.param("A2T P2F D2T", 2, FAILS, id="row 9: Degraded is a failure, OCM: Succeeded"),
        pytest.param("A2T P2U D2F", 2, WAITS, id="Progressing unknown"),
        pytest.param("A2F P2F D2F", 2, FAILS, id="row 7: not Applied is a failure, OCM: ToApply"),
        pytest.param("A2U P2F D2F", 2, WAITS, id="Applied unknown"),
        pytest.param("A1T P2F D2F", 2, WAITS, id="row 10: Applied of an older generation"),
        pytest.param("A3T P2F D3F", 3, WAITS, id="Progressing stale, newer Applied"),
        pytest.param("A2T P2F", 2, WAITS, id="row 23: a Degraded that a rule sets, not said yet"),
    ],
)
def test_what_conditions_say_of_a_cluster(conditions: str, generation: int, stands: str) -> None:
    kinds = {"A": "Applied", "P": "Progressing", "D": "Degraded"}
    statuses = {"T": "True", "F": "False", "U": "Unknown"}
    documents = theirs("p", ["c1"])
    s = story(*documents, make.workload(strategy=make.progressive(maxFailures=1))).settle()
    ref = ref_of(MANIFEST_WORK, s.works()["c1"])
    if generation > 1:  # an edit by hand that is put back: two generations more
        s.hub.patch(ref, {"spec": make.template("by hand")})
        s.settle()
    now = s.works()["c1"]["metadata"]["generation"]
    said = [
        make.condition(kinds[text[0]], statuses[text[2]], now - generation + int(text[1]))
        for text in conditions.split()
    ]
    s.hub.patch_status(ref, {"status": {"conditions": said}})
    s.on(GRACE)

    assert stands in s.condition(names.PROGRESSING).message.replace(
        "0 clusters succeeded, 1 failed within budget", FAILS
    ).replace("1 clusters succeeded", SOAKED)


# -- 9.4 status --------------------------------------------------------------------------------

FOUR = ["c1", "c2", "c3", "c4"]
HEALTHY = {"Applied": "True", "Available": "True", "Progressing": "False", "Degraded": "False"}


@pytest.mark.parametrize(
    ("second_half", "summary", "says"),
    [
        pytest.param(HEALTHY, (4, 4, 0, 0), ("True", "AsExpected"), id="as expected"),
        pytest.param(
            {**HEALTHY, "Available": "False", "Progressing": "True"},
            (4, 2, 2, 0),
            ("False", "Processing"),
            id="half progressing",
        ),
        pytest.param(
            {**HEALTHY, "Available": "False", "Degraded": "True"},
            (4, 2, 0, 2),
            ("False", "NotAsExpected"),
            id="some degraded",
        ),
        pytest.param(
            {**HEALTHY, "Applied": "False"},
            (2, 4, 0, 0),
            ("False", "NotAsExpected"),
            id="row 10: available of old, not applied; OCM: AsExpected",
        ),
    ],
)
def test_what_works_say_is_counted(
    second_half: dict[str, str], summary: tuple[int, ...], says: tuple[str, str]
) -> None:
    s = story(*theirs("p", FOUR), mwrs()).settle()
    for cluster in FOUR:
        s.report(cluster, **(HEALTHY if cluster in FOUR[:2] else second_half))
    s.settle()

    found = s.summary()
    keys = ("applied", "available", "progressing", "degraded")
    assert tuple(found[key] for key in keys) == summary
    assert (found["total"], found["desiredTotal"], found["updated"]) == (4, 4, 4)
    assert s.said(names.MANIFESTWORK_APPLIED) == says


def test_after_a_template_change_nothing_old_is_counted() -> None:
    s = story(*theirs("p", FOUR), mwrs()).settle()
    s.done(*FOUR)
    s.template(make.template("2", rules=RULES))
    s.settle()

    found = s.summary()
    assert found == {
        "desiredTotal": 4, "total": 4, "updated": 4,
        "applied": 0, "available": 0, "progressing": 0, "degraded": 0,
    }  # fmt: skip
    assert s.said(names.MANIFESTWORK_APPLIED) == ("False", "NotAsExpected")


# -- 9.5 finalizer ------------------------------------------------------------------------------


def test_without_works_the_finalizer_goes_at_once() -> None:
    s = story(*theirs("p"), mwrs()).settle()
    s.hub.delete(MWRS)
    s.settle()

    assert not s.exists(MWRS)


@pytest.mark.parametrize("cascade", ["Foreground", "Background"])
def test_foreground_waits_until_the_works_are_gone_background_does_not(cascade: str) -> None:
    s = story(*theirs("p", ["c1", "c2"]), mwrs(cascade=cascade)).settle()
    refs = [ref_of(MANIFEST_WORK, work) for work in s.works().values()]
    for ref in refs:
        s.hub.patch(ref, {"metadata": {"finalizers": ["example.com/blocks"]}})
    s.hub.delete(MWRS)
    s.on(MIN)

    assert all("deletionTimestamp" in s.hub.get(ref)["metadata"] for ref in refs)
    for ref in refs:
        assert s.exists(MWRS) == (cascade == "Foreground")
        s.hub.patch(ref, {"metadata": {"finalizers": None}})
        s.on(MIN)
    assert not s.exists(MWRS)
    assert s.records() == []
