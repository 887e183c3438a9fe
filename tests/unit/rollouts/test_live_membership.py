"""Clusters join a rollout, leave it, come back and move: what becomes of their standing, and of gates."""

from dataclasses import replace

import pytest

from rollout.model.intents import Intents
from rollout.model.placement import Group
from rollout.rollouts.terms import Terms
from rollout.strategies.base import Phase, select
from rollout.strategies.stages import BUILT_IN
from tests.support.fleets import (
    DEADLINE,
    FAILED,
    GRACE,
    MIN,
    PROGRESSING,
    SOAK,
    SUCCEEDED,
    US,
    spec_of,
)
from tests.support.live import A, B, Hub, begun, soaked


def test_a_cluster_that_joins_waits_for_a_slot() -> None:
    hub = begun()

    hub.clusters = "0abcd"
    hub.agree()

    assert hub.turn().touch == ()
    assert hub.phase("0") is Phase.WAITING


@pytest.mark.parametrize(
    ("story", "lost"),
    [
        pytest.param("", False, id="never touched"),
        pytest.param("silent", True, id="not acknowledged"),
        pytest.param("progressing", True, id="progressing"),
        pytest.param("failing", True, id="failing"),
        pytest.param("soaking", True, id="soaking"),
        pytest.param("timed out", True, id="finally failed"),
        pytest.param("soaked", False, id="soaked"),
        pytest.param("superseded", False, id="in flight on an older revision"),
    ],
)
@pytest.mark.parametrize("available", [True, False], ids=["available", "unavailable"])
def test_a_cluster_that_leaves_is_lost_where_it_left_something_open_and_could_not_be_reached(
    story: str, lost: bool, available: bool
) -> None:
    """Row 17, S17."""
    hub = Hub(spec_of(limit=1, budget=9))
    if story:
        hub.turn()
    match story:
        case "progressing":
            hub.report("a", PROGRESSING)
        case "failing":
            hub.report("a", FAILED)
            hub.later(2 * GRACE)
        case "soaking" | "soaked":
            hub.report("a", SUCCEEDED)
            hub.later(SOAK if story == "soaked" else SOAK - US)
        case "timed out":
            hub.later(DEADLINE)
        case "superseded":
            hub.revision = B
    hub.agree()

    hub.clusters, hub.unreachable = "bcd", set() if available else {"a"}
    hub.agree()

    is_lost = lost and not available
    assert dict(hub.live.lost) == ({"a": "rest"} if is_lost else {})
    assert ("a" in hub.remembered()) == is_lost
    assert hub.turn().count(Phase.LOST) == is_lost


def test_losing_clusters_never_opens_a_gate() -> None:
    """S17: both canaries vanish in flight; the rest is not touched."""
    hub = begun(spec_of(limit=2, mandatory=["m"], budget=9), canaries="xy")

    hub.canaries, hub.unreachable = "", {"x", "y"}
    hub.agree()
    for _ in range(3):
        step = hub.turn()
        assert step.touch == ()
        hub.later(DEADLINE)
        hub.restart()

    assert step.hold is not None
    assert step.hold.reason == "MandatoryGroupEmptied"
    assert step.count(Phase.LOST) == 2


def test_a_lost_cluster_that_comes_back_is_lost_no_more() -> None:
    hub = begun(spec_of(limit=1, budget=0))
    hub.clusters, hub.unreachable = "bcd", {"a"}
    hub.agree()
    assert hub.turn().halt is not None

    hub.clusters, hub.unreachable = "abcd", set()
    hub.live.look({**hub.live.observations, "a": hub.works["a"]})
    hub.agree()
    step = hub.turn()

    assert (step.halt, step.touch, dict(hub.live.lost)) == (None, (), {})
    assert hub.phase("a") is Phase.PROGRESSING
    assert hub.remembered() == "a"


def test_a_lost_cluster_that_is_anothers_now_is_forgotten_with_all_that_it_left() -> None:
    """Rows 17, 21. What soaked there is its new owner's to remember, too."""
    hub = Hub(spec_of(limit=1, budget=0), clusters="ab")
    soaked(hub, "ab")
    hub.revision = B
    hub.agree()
    hub.turn()
    hub.clusters, hub.unreachable = "b", {"a"}
    hub.agree()
    halted = hub.turn()
    assert halted.halt is not None
    assert hub.remembered() == "ab"

    hub.live.settle_lost("a", "", hub.now)
    assert dict(hub.live.lost) == {}
    hub.live.settle_lost("", "", hub.now)  # it was dropped again, untouched
    assert set(hub.live.lost) == {"a"}
    assert hub.turn().halt == halted.halt
    assert hub.remembered() == "ab"

    hub.live.settle_lost("a", "a", hub.now)
    hub.agree()  # on the same terms

    assert hub.turn().touch == ("b",)
    assert (dict(hub.live.lost), hub.live.line("a").soaked) == ({}, ())
    assert [c for c, line in hub.live.lines.items() if line.cause] == ["b"]
    assert hub.remembered() == "b"


def test_a_retry_whose_write_is_lost_is_judged_by_what_is_there_already() -> None:
    """No deadline: were it taken for silent, nothing would ever end the wait."""
    hub = begun(spec_of(limit=1, budget=1, deadline=None), clusters="a")
    hub.report("a", FAILED)
    hub.later(GRACE)
    hub.turn()
    assert hub.phase("a") is Phase.FAILED

    terms = Terms(
        revision=A,
        spec=hub.spec,
        strategy=BUILT_IN[hub.spec.type],
        selection=select([Group(1, "", ("a",))]),
        soak=SOAK,
        grace=GRACE,
    )
    hub.live.agree(replace(terms, intents=Intents(retry="again")), lambda _: True, hub.now)
    assert hub.live.step(None, hub.now).touch == ("a",)
    hub.live.attempt("a", "Retry", hub.now)
    assert hub.phase("a") is Phase.PROGRESSING

    hub.later(GRACE)
    assert hub.phase("a") is Phase.FAILED


def test_what_soaked_on_a_lost_cluster_is_remembered_until_the_revision_changes() -> None:
    hub = Hub(clusters="ab")
    soaked(hub, "ab")
    hub.revision = B
    hub.agree()
    hub.turn()
    assert hub.live.line("a").soaked == (A,)

    hub.clusters, hub.unreachable = "b", {"a"}
    hub.agree()
    hub.turn()
    assert dict(hub.live.lost) == {"a": "rest"}
    hub.restart()
    assert hub.live.line("a").soaked == (A,)

    hub.revision = "revision-c"
    hub.agree()
    assert hub.live.line("a").soaked == ()


def test_a_lost_cluster_is_released_by_skipping_it() -> None:
    hub = begun(spec_of(limit=1, budget=0))
    hub.clusters, hub.unreachable = "bcd", {"a"}
    hub.agree()
    assert hub.turn().halt is not None

    hub.skipped = frozenset("a")
    hub.agree()

    assert hub.turn().touch == ("b",)
    hub.restart()
    assert hub.turn().halt is None


def test_a_cluster_that_moves_to_another_stage_keeps_its_standing() -> None:
    hub = Hub(spec_of("ProgressivePerGroup"), clusters="cd", canaries="ab")
    soaked(hub, "ab")

    hub.canaries, hub.clusters = "a", "bcd"
    hub.agree()

    assert hub.phase("b") is Phase.SOAKED
    assert hub.live.lost == {}


def test_terms_that_did_not_change_change_nothing() -> None:
    hub = begun()
    before = hub.live.ledger.standings["a"]
    hub.later(MIN)

    hub.agree()

    assert hub.live.ledger.standings["a"] is before
    assert hub.live.book.writes() == []


def test_changed_terms_keep_every_clock() -> None:
    hub = begun()
    hub.report("a", SUCCEEDED)
    hub.later(MIN)

    hub.soak = 2 * MIN
    hub.agree()
    hub.later(MIN - US)

    assert hub.phase("a") is Phase.SOAKING
    hub.later(US)
    assert hub.phase("a") is Phase.SOAKED
