"""What a cluster can go back to: the revisions that soaked there, the latest first."""

import pytest

from rollout.fleet.rollbacks import SOAKED_KEPT, Soaked
from rollout.strategies.base import Health, Standing, Verdict
from tests.support.fleets import FAILED, PROGRESSING, SILENT, SUCCEEDED, T0, TIMING, standing


def on(
    revision: str, verdict: Verdict | None = Verdict.SOAKED, health: Health = SUCCEEDED
) -> Standing:
    return standing("a", health, T0, verdict=verdict, revision=revision)


def left(soaked: Soaked, *standings: Standing, undone: str = "") -> tuple[str, ...]:
    """What can be gone back to once these were left, one after the other."""
    for known in standings:
        soaked.note(known, TIMING, T0, undone)
    return soaked.of("a")


def test_what_soaked_is_kept_the_latest_first() -> None:
    assert left(Soaked(), on("r1"), on("r2"), on("r3")) == ("r3", "r2", "r1")
    assert left(Soaked(), on("r1"), on("r2"), on("r1")) == ("r1", "r2")


def test_success_that_has_stood_for_long_enough_has_soaked_whether_noted_or_not() -> None:
    soaked = Soaked()
    soaked.note(on("r1", None), TIMING, T0 + TIMING.soak)

    assert soaked.of("a") == ("r1",)


@pytest.mark.parametrize("health", [SILENT, PROGRESSING, SUCCEEDED])
def test_what_has_not_soaked_is_nothing_to_go_back_to(health: Health) -> None:
    assert left(Soaked(), on("r1", None, health)) == ()
    assert left(Soaked(), on("r1", Verdict.RETRY, health)) == ()


@pytest.mark.parametrize("health", [SILENT, PROGRESSING, FAILED, SUCCEEDED])
def test_what_was_given_back_is_not_lost_before_anything_has_come_of_it(health: Health) -> None:
    assert left(Soaked(), on("r0"), on("r1"), on("r1", None, health)) == ("r1", "r0")


def test_what_has_failed_the_second_time_is_not_good_any_more() -> None:
    failed = on("r1", Verdict.FAILED, FAILED)

    assert left(Soaked(), on("r0"), on("r1"), failed) == ("r0",)


def test_what_was_undone_is_not_gone_back_to_though_it_soaked() -> None:
    assert left(Soaked(), on("r1"), on("r2"), on("r3"), undone="r2") == ("r3", "r1")
    assert left(Soaked(), on("r1"), undone="r1") == ()


def test_only_so_many_are_kept() -> None:
    many = [on(f"r{n}") for n in range(SOAKED_KEPT + 3)]

    assert left(Soaked(), *many) == tuple(f"r{n}" for n in range(SOAKED_KEPT + 2, 2, -1))


def test_a_cluster_goes_back_to_the_latest_whose_template_is_kept() -> None:
    soaked = Soaked()
    left(soaked, on("r1"), on("r2"), on("r3"))
    bad, other = standing("a", revision="r4"), standing("b", revision="r4")
    known = {"a": bad, "b": other}

    assert soaked.targets(known, "r4", "", {"r1", "r2", "r3", "r4"}) == {"a": "r3"}
    assert soaked.targets(known, "r4", "", {"r1"}) == {"a": "r1"}
    assert soaked.targets(known, "r4", "r2", {"r1", "r2", "r3"}) == {"a": "r2"}
    assert soaked.targets(known, "r4", "r9", {"r1", "r2", "r9"}) == {}
    assert soaked.targets(known, "r4", "", set()) == {}
    assert soaked.targets(known, "r5", "", {"r1"}) == {}, "they are not on it"


def test_what_somebody_would_get_back_is_known_so_that_its_template_is_kept() -> None:
    soaked = Soaked()
    left(soaked, on("r1"), on("r2"))
    soaked.restore("b", ("r7", "r6"))

    assert soaked.newest() == {"r2", "r7"}
    soaked.forget("b")
    assert soaked.newest() == {"r2"}


def test_a_record_that_says_too_much_is_cut() -> None:
    soaked = Soaked()
    soaked.restore("a", tuple(f"r{n}" for n in range(99)))

    assert len(soaked.of("a")) == SOAKED_KEPT
