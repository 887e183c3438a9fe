"""What half of a record, or a record that comes back, cannot tell was seen by nobody."""

from datetime import datetime

import pytest

from rollout.model import names
from rollout.model.kinds import ROLLOUT_RECORD, ref_of
from rollout.runtime.messages import Woken
from tests.stories.test_out_of_touch import report
from tests.support import make
from tests.support.story import MIN, SEC, Story

PAGES = pytest.mark.parametrize("page", [None, 0, 1], ids=["all is there", "no head", "no lines"])


def out_of_touch(story: Story, minutes: int) -> None:
    """Nothing is heard for so long, and this process says so when it is over."""
    fleet, since = story.engine.fleet, story.clock.now()
    fleet.blind("watches", since)
    story.on(minutes * MIN)
    fleet.blind("watches", None)
    fleet.out_of_touch(since, story.clock.now())
    story.engine.inbox.put(Woken(story.subject))
    story.settle()


def begin_anew(story: Story, page: int | None) -> None:
    """The process ends, a page of the record goes, and another process begins."""
    story.engine.stop()
    last: datetime = story.clock.now()
    for obj in story.hub.list(ROLLOUT_RECORD).items:
        if obj["metadata"]["name"].endswith(f"-{page}"):
            story.hub.delete(ref_of(ROLLOUT_RECORD, obj))
    story.restart()
    story.engine.fleet.began(last, story.clock.now())
    story.settle()


@PAGES
def test_an_outage_that_the_record_has_lost_makes_no_deadline_pass(page: int | None) -> None:
    strategy = make.progressive(maxConcurrency=4, maxFailures=0, progressDeadline="5m")
    workload = make.workload(strategy=strategy, annotations={names.ROLLBACK: "Automatic"})
    story = Story([*make.fleet(4), workload], {"defaults": {"readyAfter": "22m"}})
    story.to(1 * MIN)
    out_of_touch(story, 20)
    story.on(30 * SEC)

    begin_anew(story, page)

    assert story.on(20 * SEC).reason == "RollingOut"
    assert story.on(10 * MIN).reason == "Complete"


@PAGES
def test_an_outage_that_the_record_has_lost_makes_no_soak_end(page: int | None) -> None:
    strategy = make.progressive(maxConcurrency=1, minSuccessTime="10m")
    workload = make.workload(strategy=strategy)
    story = Story([*make.fleet(4), workload], {"defaults": {"outcome": "silent"}})
    (first,) = story.to(30 * SEC).touched()
    report(story, first, degraded="False")
    story.to(1 * MIN)
    out_of_touch(story, 20)
    story.on(30 * SEC)

    begin_anew(story, page)

    assert list(story.on(1 * MIN).touched()) == [first]


def test_nobody_looked_after_a_placement_while_the_workload_did_not_name_it() -> None:
    strategy = make.progressive(maxConcurrency=4, maxFailures=0, progressDeadline="5m")
    workload = make.workload(strategy=strategy, annotations={names.ROLLBACK: "Automatic"})
    story = Story([*make.fleet(4), workload], {"defaults": {"outcome": "silent"}})
    story.to(1 * MIN).annotate(names.PAUSED, "true")
    story.settle()
    named = story.mwrs()["spec"]["placementRefs"]
    story.edit({"spec": {"placementRefs": [{**named[0], "name": "other"}]}})
    story.settle()
    for cluster in sorted(story.touched()):
        report(story, cluster, degraded="False")
    story.to(10 * MIN)

    story.edit({"spec": {"placementRefs": named}})
    story.settle()
    story.annotate(names.PAUSED, None)
    story.end()

    assert story.reason == "Complete"
