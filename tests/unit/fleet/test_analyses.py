"""Templates of another tool are watched only while somebody needs them, and knowing that costs nothing."""

from time import perf_counter

import pytest

from rollout.fleet.analyses import Analyses
from rollout.fleet.clusters import ClusterStore
from rollout.model.events import Change, Event
from rollout.model.intents import Intents
from rollout.model.kinds import REPLICA_SET, ROLLOUT_ANALYSIS, TEMPLATES_OF_OTHERS, Ref
from tests.support.fleets import T0


@pytest.fixture
def known() -> Analyses:
    return Analyses("home", ClusterStore(), lambda _: ())


def named(known: Analyses, workload: str, *templates: str) -> None:
    first, second, *_ = (*templates, "", "")
    intents = Intents(cluster_analysis=first, analysis=second)
    known.follow(Ref(REPLICA_SET, workload), "uid", intents)


def template(known: Analyses, key: str, change: Change = Change.MODIFIED) -> set[Ref]:
    namespace, _, name = key.partition("/")
    obj = {"metadata": {"namespace": namespace, "name": name}, "spec": {"metrics": []}}
    return known.take(Event(Ref(ROLLOUT_ANALYSIS, key), change, obj, 1), T0)


def test_templates_of_another_tool_are_wanted_while_a_name_is_none_of_ours(known: Analyses) -> None:
    assert not known.wanted
    named(known, "apps/web", "slo", "smoke")
    named(known, "apps/api", "slo")
    template(known, "apps/slo")
    assert known.wanted == TEMPLATES_OF_OTHERS
    template(known, "other/smoke")
    assert known.wanted == TEMPLATES_OF_OTHERS

    template(known, "apps/smoke")
    assert not known.wanted
    template(known, "apps/slo", Change.DELETED)
    assert known.wanted == TEMPLATES_OF_OTHERS
    named(known, "apps/web", "smoke")
    assert known.wanted == TEMPLATES_OF_OTHERS, "apps/api still names it"
    named(known, "apps/api")
    assert not known.wanted


def test_a_template_is_news_for_the_workloads_that_name_it_now(known: Analyses) -> None:
    named(known, "apps/web", "slo")
    named(known, "apps/api", "slo")
    named(known, "other/web", "slo")
    named(known, "apps/api", "smoke")
    told = template(known, "apps/slo")
    assert told == {Ref(ROLLOUT_ANALYSIS, "apps/slo"), Ref(REPLICA_SET, "apps/web")}


def test_which_kinds_are_wanted_costs_the_same_however_many_workloads_there_are(
    known: Analyses,
) -> None:
    template(known, "apps/slo")
    for number in range(5_000):
        named(known, f"apps/w{number}", "slo")
    start = perf_counter()
    for _ in range(1_000):  # as often as there are turns
        assert not known.wanted
    assert perf_counter() - start < 1
