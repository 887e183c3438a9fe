"""What people do to a rollout while it runs: abort, retry, hold, freeze; and what is kept of it."""

import pytest

from rollout import operate
from rollout.model import names
from rollout.model.instants import rfc3339
from rollout.model.kinds import FREEZE, MANIFEST_WORK, REPLICA_SET, ROLLOUT_RECORD, Ref
from tests.stories.operating import freeze, revision, rolled_out
from tests.support import make
from tests.support.story import HOUR, SEC, T0, Story

# -- abort, retry, hold ------------------------------------------------------------------------


def test_an_aborted_revision_goes_no_further_until_it_is_retried() -> None:
    story = rolled_out()
    story.template(make.template("3"))
    story.settle()
    story.annotate(names.ABORT, revision(story))
    story.end()
    assert sorted(story.touched("3")) == ["c00", "c01"]
    assert story.reason == "Aborted"

    story.annotate(names.ABORT, None)
    story.end()
    assert story.reason == "Complete"


def test_an_abort_of_another_revision_holds_nothing() -> None:
    story = rolled_out(annotations={names.ABORT: "0123456789abcdef"})

    assert story.reason == "Complete"


def test_an_abort_is_followed_by_an_automatic_rollback() -> None:
    story = rolled_out(annotations={names.ROLLBACK: "Automatic"})
    story.template(make.template("3"))
    story.settle()
    story.annotate(names.ABORT, revision(story))
    story.end()

    assert set(story.versions().values()) == {"1"}
    assert story.reason == "RolledBack"


def test_a_retry_gives_failed_clusters_another_attempt_within_the_limit() -> None:
    strategy = make.progressive(maxConcurrency=1, progressDeadline="5m", maxFailures=3)
    silent = {
        "rules": [{"clusters": {"names": ["c00", "c01"]}, "behaviour": {"outcome": "silent"}}]
    }
    story = Story([*make.fleet(3), make.workload(strategy=strategy)], silent).end()
    assert story.reason == "CompleteWithFailures"
    began = story.works()["c00"]["metadata"]["annotations"][names.STARTED_AT]

    story.annotate(names.RETRY, "again")
    story.settle()
    started = {c: w["metadata"]["annotations"][names.STARTED_AT] for c, w in story.works().items()}
    assert started["c00"] > began
    assert started["c01"] < started["c00"], "one at a time"
    assert story.works()["c00"]["metadata"]["generation"] == 1, "the spec is not written again"
    assert story.reason == "RollingOut"

    well = {"Applied": "True", "Available": "True", "Progressing": "False", "Degraded": "False"}
    story.report("c00", **well)
    story.end()
    assert story.message == "2 clusters succeeded, 1 failed within budget"


def test_each_attempt_after_the_first_reaches_the_agent_by_a_label() -> None:
    """OCM's agents look again where the spec or a label changes: annotations alone do not wake them."""
    strategy = make.progressive(maxConcurrency=1, progressDeadline="5m", maxFailures=3)
    refused = {"defaults": {"outcome": "failApply"}}
    story = Story([*make.fleet(1), make.workload(strategy=strategy)], refused).end()

    def attempt() -> str | None:
        found: str | None = story.works()["c00"]["metadata"]["labels"].get(names.ATTEMPT)
        return found

    assert attempt() is None
    found = []
    for token in ("1", "2"):
        story.annotate(names.RETRY, token)
        story.settle()
        found.append(attempt())
        story.end()
    assert None not in found
    assert found[0] != found[1]
    assert attempt() == found[1]

    ref = Ref(MANIFEST_WORK, f"c00/{story.works()['c00']['metadata']['name']}")
    story.hub.patch(ref, {"metadata": {"labels": {names.ATTEMPT: None}}})
    story.end()
    assert attempt() is None, "it is nothing that a work is supposed to have"


def test_a_retry_reaches_the_agent_though_somebody_edited_the_revision_of_the_work() -> None:
    strategy = make.progressive(maxConcurrency=1, progressDeadline="5m", maxFailures=3)
    refused = {"defaults": {"outcome": "failApply"}}
    story = Story([*make.fleet(1), make.workload(strategy=strategy)], refused).end()
    ref = Ref(MANIFEST_WORK, f"c00/{story.works()['c00']['metadata']['name']}")

    story.hub.patch(ref, {"metadata": {"annotations": {names.REVISION: "somebody's"}}})
    story.annotate(names.RETRY, "1")
    story.settle()

    meta = story.works()["c00"]["metadata"]
    assert meta["annotations"][names.REVISION] != "somebody's"
    assert names.ATTEMPT in meta["labels"]


def test_the_same_retry_is_not_done_twice() -> None:
    strategy = make.progressive(maxConcurrency=1, progressDeadline="5m", maxFailures=3)
    story = Story(
        [*make.fleet(1), make.workload(strategy=strategy)], {"defaults": {"outcome": "silent"}}
    ).end()
    story.annotate(names.RETRY, "again")
    story.end()
    started = story.works()["c00"]["metadata"]["annotations"][names.STARTED_AT]
    story.restart().end(48 * HOUR)

    assert story.works()["c00"]["metadata"]["annotations"][names.STARTED_AT] == started


def test_held_clusters_are_not_touched_and_keep_their_stage_open() -> None:
    story = rolled_out(annotations={names.HOLD: "c01"})
    assert "c01" not in story.versions()
    assert story.reason == "RollingOut"
    assert "1 held" in story.message

    story.annotate(names.HOLD, None)
    story.end()
    assert story.reason == "Complete"


@pytest.mark.parametrize("cascade", ["Background", "Foreground"])
def test_a_held_cluster_keeps_its_work_when_the_workload_is_deleted_until_it_is_released(
    cascade: str,
) -> None:
    story = Story([*make.fleet(4), make.workload(cascade=cascade)]).end()
    web = Ref(REPLICA_SET, "default/web")
    operate.hold(
        story.hub, web, ["c01", "c03"], operate.Who("ann", story.clock.now(), "a bank day")
    )
    story.hub.delete(web)
    story.on(HOUR)
    assert sorted(story.works()) == ["c01", "c03"]
    assert story.condition(names.PROGRESSING).reason == "Deleting"
    assert "2 stay in clusters that are held by ann (unverified)" in story.message
    assert "(c01, c03); release these (`rollout release`" in story.message

    story.annotate(names.HOLD, "c03")
    story.on(HOUR)
    assert sorted(story.works()) == ["c03"]
    assert "1 stay in clusters that are held" in story.message

    story.annotate(names.HOLD, None)
    story.end()
    assert not story.works()
    assert not story.exists(web)


def test_what_is_held_outlives_its_workload_except_where_profile_ocm_decides() -> None:
    for profile, stays in (("strict", ["c01"]), ("ocm", [])):
        story = Story([*make.fleet(2), make.workload(annotations={names.SEMANTICS: profile})]).end()
        story.annotate(names.HOLD, "c01")
        story.hub.delete(Ref(REPLICA_SET, "default/web"))
        story.on(HOUR)
        assert sorted(story.works()) == stays, profile


# -- freezes -----------------------------------------------------------------------------------


def test_what_is_deleted_while_the_hub_is_frozen_goes_when_it_thaws() -> None:
    story = Story([*make.fleet(3), make.workload()]).end()
    story.add(freeze())
    story.settle()
    story.hub.delete(Ref(REPLICA_SET, "default/web"))
    story.on(HOUR)
    assert len(story.works()) == 3
    assert story.condition(names.PROGRESSING).reason == "Frozen"

    story.hub.delete(Ref(FREEZE, "incident"))
    story.end()
    assert story.hub.list(MANIFEST_WORK).items == ()
    assert story.hub.list(REPLICA_SET).items == ()


def test_while_the_hub_is_frozen_nothing_is_touched_and_afterwards_it_goes_on() -> None:
    story = rolled_out()
    story.add(freeze(reason="incident 7", actor="ann"))
    story.settle()
    story.template(make.template("3"))
    story.end()
    assert not story.touched("3")
    assert story.reason == "Frozen"
    assert "incident 7" in story.message

    story.hub.delete(Ref(FREEZE, "incident"))
    story.end()
    assert story.reason == "Complete"


def test_a_freeze_ends_by_itself_at_its_instant() -> None:
    story = rolled_out()
    ends = story.now + HOUR
    story.add(freeze(until=rfc3339(T0 + ends)))
    story.template(make.template("3"))
    story.to(ends - SEC)
    assert not story.touched("3")
    story.end()
    assert min(story.touched("3").values()) >= ends - SEC
    assert story.reason == "Complete"


# -- what is kept ------------------------------------------------------------------------------


def test_who_asked_stands_beside_what_was_asked() -> None:
    story = rolled_out()
    asked = '{"pause": {"by": "ann", "at": "2026-01-01T09:00:00Z", "reason": "lunch"}}'
    story.annotate(names.ASKED, asked)
    story.annotate(names.PAUSED, "true")
    story.settle()

    assert "by ann (unverified) at 2026-01-01T09:00:00Z: lunch" in story.message


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (names.PAUSED, "yes"),
        (names.ROLLBACK, "automatic"),
        (names.ROLLBACK_CONCURRENCY, "lots"),
        (names.ABORT, "the last one"),
        (names.HISTORY_LIMIT, "-1"),
    ],
)
def test_an_annotation_that_cannot_be_read_holds_and_names_it(name: str, value: str) -> None:
    story = rolled_out(annotations={name: value})

    assert not story.versions()
    assert story.reason == "Misconfigured"
    assert name in story.message


def test_the_record_tells_of_the_rollback() -> None:
    story = rolled_out(annotations={names.ROLLBACK: "Automatic"})
    story.template(make.template("2"))
    story.end()

    (head,) = (
        obj["data"]["head.json"]
        for obj in story.hub.list(ROLLOUT_RECORD).items
        if "head.json" in obj["data"]
    )
    assert '"cause": "Breach"' in head
