"""What a cluster can go back to: the revisions that soaked there, the latest first."""

from dataclasses import replace

import pytest

from rollout.fleet.rollbacks import SOAKED_KEPT, Soaked
from rollout.strategies.base import Health, Rollout, Staging, Standing, Verdict
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
    known = {"a": standing("a", revision="r4"), "b": standing("b", revision="r4")}
    taken_back = Rollout("r4", Staging(), known)

    def targets(to: str, *kept: str) -> dict[str, str]:
        return soaked.targets(taken_back, to, {each: each for each in kept})

    assert targets("", "r1", "r2", "r3", "r4") == {"a": "r3"}
    assert targets("", "r1") == {"a": "r1"}
    assert targets("r2", "r1", "r2", "r3") == {"a": "r2"}
    assert targets("r9", "r1", "r2", "r9") == {}
    assert targets("") == {}
    assert soaked.targets(Rollout("r5", Staging(), known), "", {"r1": "r1"}) == {}, "not on it"


def test_what_was_made_for_the_revision_that_is_taken_back_is_nothing_to_go_back_to() -> None:
    soaked = Soaked()
    left(soaked, on("old"), on("before-the-label"), on("now"))
    now = replace(standing("a", revision="now"), made_for="r2")
    made_for = {"old": "r1", "before-the-label": "r2", "now": "r2"}

    taken_back = Rollout("r2", Staging(), {"a": now}, contents={"a": "now"})

    assert soaked.targets(taken_back, "", made_for) == {"a": "old"}
    assert soaked.targets(taken_back, "r1", made_for) == {"a": "old"}, "asked for by revision"


def test_a_cluster_that_had_the_content_before_the_revision_came_keeps_it() -> None:
    soaked = Soaked()
    left(soaked, on("old"), on("same"))
    same = replace(standing("a", revision="same"), made_for="r1")

    taken_back = Rollout("r2", Staging(), {"a": same}, contents={"a": "same"})

    assert soaked.targets(taken_back, "", {"old": "r0", "same": "r1"}) == {}
