"""Do the pictures of a rollout count what the account counts?"""

from rollout.account.course import course
from rollout.account.roster import PHASES, roster, roster_page
from rollout.analysis.snapshot import snapshot_of
from rollout.model.kinds import REPLICA_SET, Ref
from rollout.rollouts.workload import lives_of
from rollout.strategies.base import Phase
from tests.stories.operating import BAD_2, TWO_AT_ONCE
from tests.support import make
from tests.support.story import SEC, Story

WEB = Ref(REPLICA_SET, "default/web")


def halfway(version: str, after: int) -> tuple[Story, dict[Phase, int]]:
    workload = make.workload(strategy=TWO_AT_ONCE, version=version)
    story = Story([*make.fleet(6), workload], {"rules": [BAD_2]}).to(after * SEC)
    account = snapshot_of(story.hub, story.clock.now()).account(WEB)
    assert account is not None
    return story, dict(account.phases)


def test_the_last_point_is_what_the_account_says() -> None:
    for version, after in (("1", 50), ("1", 130), ("2", 100), ("2", 500)):
        story, phases = halfway(version, after)
        workload = snapshot_of(story.hub, story.clock.now()).workload(WEB)
        assert workload is not None

        points = course(lives_of(workload), story.clock.now())

        assert points[-1].phases == {p: n for p, n in phases.items() if n}
        assert [sum(point.phases.values()) for point in points] == [6] * len(points)
        assert [p.at for p in points] == sorted(p.at for p in points)


def test_before_the_first_touch_there_is_no_course() -> None:
    story = Story([*make.fleet(2), make.workload(annotations={"rollout-engine.io/paused": "true"})])
    story.settle()
    workload = snapshot_of(story.hub, story.clock.now()).workload(WEB)
    assert workload is not None

    assert course(lives_of(workload), story.clock.now()) == ()


def test_the_bytes_are_the_phases_of_the_account() -> None:
    story, phases = halfway("2", 100)
    workload = snapshot_of(story.hub, story.clock.now()).workload(WEB)
    assert workload is not None

    (stage,) = roster(lives_of(workload))
    page = roster_page(lives_of(workload), phase=None, text="", start=0, most=3)

    counted = {phase: stage.phases.count(PHASES.index(phase)) for phase in phases}
    assert counted == phases
    assert (page.total, len(page.entries)) == (6, 3)
    assert page.entries[0].account.phase in (Phase.FAILING, Phase.FAILED, Phase.PROGRESSING)


def test_clusters_are_found_by_the_reason_for_which_they_wait() -> None:
    story, _ = halfway("2", 100)
    workload = snapshot_of(story.hub, story.clock.now()).workload(WEB)
    assert workload is not None

    page = roster_page(lives_of(workload), phase=None, text="degraded", start=0, most=9)

    assert page.total == len(page.entries) > 0
    assert {each.account.wait.reason for each in page.entries if each.account.wait} == {"Degraded"}
