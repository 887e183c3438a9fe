"""Fields that OCM has proposed for going back: read where a hub stores them, and answered as proposed."""

import pytest

from rollout.model import names
from rollout.model.instants import parse_instant
from rollout.model.kinds import ROLLOUT_REVISION
from tests.stories.operating import TWO_AT_ONCE, rolled_out
from tests.support import make
from tests.support.story import T0, Story

ABORT_ALL = {**TWO_AT_ONCE, "failureStrategy": "AbortAll"}


def hashes(story: Story) -> set[str | None]:
    return {
        work["metadata"]["labels"].get(names.WORK_CONTROLLER_HASH)
        for work in story.works().values()
    }


def test_abort_all_takes_a_failed_revision_back_and_says_since_when() -> None:
    story = rolled_out(strategy=ABORT_ALL)
    good, began = story.mwrs()["status"]["currentRevision"], story.now
    assert "abortedTime" not in story.mwrs()["status"]
    story.template(make.template("2"))
    story.end()

    status = story.mwrs()["status"]
    assert (story.reason, set(story.versions().values())) == ("RolledBack", {"1"})
    assert status["collisionCount"] == 0
    aborted = parse_instant(status["abortedTime"])
    assert aborted is not None
    assert T0 + began <= aborted <= T0 + story.now
    assert hashes(story) == {good}


def test_the_next_revision_was_not_aborted() -> None:
    story = rolled_out(strategy=ABORT_ALL)
    story.template(make.template("2"))
    story.end()
    story.template(make.template("3"))
    story.end()

    assert story.reason == "Complete"
    assert not story.mwrs()["status"].get("abortedTime")
    assert hashes(story) == {story.mwrs()["status"]["updateRevision"]}


def test_an_annotation_wins_over_the_field() -> None:
    story = rolled_out(strategy=ABORT_ALL, annotations={names.ROLLBACK: "Manual"})
    story.template(make.template("2"))
    story.end()

    assert story.reason == "MaxFailuresExceeded"


@pytest.mark.parametrize("limit", [1, 3])
def test_the_field_limits_the_history_as_the_annotation_does(limit: int) -> None:
    by_field, by_annotation = rolled_out(clusters=1), rolled_out(clusters=1)
    by_field.edit({"spec": {"revisionHistoryLimit": limit}})
    by_annotation.annotate(names.HISTORY_LIMIT, str(limit))
    for story in (by_field, by_annotation):
        for version in ("3", "4", "5"):
            story.template(make.template(version))
            story.end()

    kept = [len(story.hub.list(ROLLOUT_REVISION).items) for story in (by_field, by_annotation)]
    assert kept[0] == kept[1] < len({"1", "3", "4", "5"})


def test_where_the_fields_are_not_nothing_is_written_of_them() -> None:
    story = rolled_out()

    assert not {"collisionCount", "abortedTime"} & set(story.mwrs()["status"])
    assert hashes(story) == {None}
