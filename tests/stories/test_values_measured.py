"""Where values differ from cluster to cluster, an analysis is made of what is touched."""

from rollout.model import names
from tests.stories.test_analyses import BAD, GOOD, gives, runs, template
from tests.stories.test_calendars import calendar
from tests.stories.test_values import rules, setting, story, values
from tests.support import make
from tests.support.story import HOUR, MIN


def test_a_rule_is_measured_from_its_first_touch_and_not_while_the_cluster_is_closed() -> None:
    """Clusters that the rule does not change have soaked from the start: nothing was touched with them."""
    closed = {
        "action": "Deny",
        "name": "x",
        "from": "2026-01-01T01:00",
        "until": "2026-01-01T03:00",
    }
    asked = {names.ANALYSIS: "slo", names.NOTIFY: "team"}
    strategy = make.progressive(maxConcurrency=1, minSuccessTime="10m")
    told = story(
        values(),
        template(),
        make.workload(strategy=strategy, annotations=asked),
        calendar(closed, name="c", timeZoneFrom=None, timeZone="UTC"),
        agents={"measurements": [gives(GOOD), gives(BAD, **{"from": "3h"})]},
    ).to(HOUR + MIN)
    before = len(runs(told))
    rules(told, setting("cluster.labels['tier']=='a' ? current+'-a' : 'new'"))

    told.on(HOUR)
    assert len(runs(told)) == before

    told.on(3 * HOUR)
    assert len(runs(told)) == before + 1
    assert told.reason == "AnalysisFailed"
