"""What a cluster can go back to: the revisions that soaked there, the latest first."""

import pytest
from msgspec.structs import replace

from rollout.rollouts.line import SOAKED_KEPT, KeptContent, Line, soaked_after, targets_of
from rollout.strategies.base import Health, Rollout, Staging, Standing, Verdict
from tests.support.fleets import FAILED, PROGRESSING, SILENT, SUCCEEDED, T0, TIMING, standing


def on(
    revision: str, verdict: Verdict | None = Verdict.SOAKED, health: Health = SUCCEEDED
) -> Standing:
    return standing("a", health, T0, verdict=verdict, revision=revision)


def kept_as(made_for: dict[str, str]) -> dict[str, KeptContent]:
    """Contents with the revisions that they were made for, which are called r1, r2, ..."""
    return {content: KeptContent(of, int(of[1:])) for content, of in made_for.items()}


def left(*standings: Standing, undone: str = "") -> Line:
    """What is known of a cluster once it left these, one after the other."""
    line = Line(cluster="a")
    for known in standings:
        line = replace(line, soaked=soaked_after(line, known, TIMING, T0, undone))
    return line


def test_what_soaked_is_kept_the_latest_first() -> None:
    assert left(on("r1"), on("r2"), on("r3")).soaked == ("r3", "r2", "r1")
    assert left(on("r1"), on("r2"), on("r1")).soaked == ("r1", "r2")


def test_success_that_has_stood_for_long_enough_has_soaked_whether_noted_or_not() -> None:
    soaked = soaked_after(Line(cluster="a"), on("r1", None), TIMING, T0 + TIMING.soak)

    assert soaked == ("r1",)


@pytest.mark.parametrize("health", [SILENT, PROGRESSING, SUCCEEDED])
def test_what_has_not_soaked_is_nothing_to_go_back_to(health: Health) -> None:
    assert left(on("r1", None, health)).soaked == ()
    assert left(on("r1", Verdict.RETRY, health)).soaked == ()


@pytest.mark.parametrize("health", [SILENT, PROGRESSING, FAILED, SUCCEEDED])
def test_what_was_given_back_is_not_lost_before_anything_has_come_of_it(health: Health) -> None:
    assert left(on("r0"), on("r1"), on("r1", None, health)).soaked == ("r1", "r0")


def test_what_has_failed_the_second_time_is_not_good_any_more() -> None:
    failed = on("r1", Verdict.FAILED, FAILED)

    assert left(on("r0"), on("r1"), failed).soaked == ("r0",)


def test_what_was_undone_is_not_gone_back_to_though_it_soaked() -> None:
    assert left(on("r1"), on("r2"), on("r3"), undone="r2").soaked == ("r3", "r1")
    assert left(on("r1"), undone="r1").soaked == ()


def test_only_so_many_are_kept() -> None:
    many = [on(f"r{n}") for n in range(SOAKED_KEPT + 3)]

    assert left(*many).soaked == tuple(f"r{n}" for n in range(SOAKED_KEPT + 2, 2, -1))


def test_a_cluster_goes_back_to_the_latest_whose_template_is_kept() -> None:
    lines = {"a": left(on("r1"), on("r2"), on("r3"))}
    known = {"a": standing("a", revision="r4"), "b": standing("b", revision="r4")}
    taken_back = Rollout(revision="r4", staging=Staging(), standings=known)

    def targets(to: str, *kept: str) -> dict[str, str]:
        return targets_of(taken_back, lines, to, kept_as({each: each for each in kept}))

    assert targets("", "r1", "r2", "r3", "r4") == {"a": "r3"}
    assert targets("", "r1") == {"a": "r1"}
    assert targets("r2", "r1", "r2", "r3") == {"a": "r2"}
    assert targets("r9", "r1", "r2", "r9") == {}
    assert targets("") == {}
    other = Rollout(revision="r5", staging=Staging(), standings=known)
    assert targets_of(other, lines, "", kept_as({"r1": "r1"})) == {}, "not on it"


def test_what_was_made_for_the_revision_that_is_taken_back_is_nothing_to_go_back_to() -> None:
    lines = {"a": left(on("old"), on("before-the-label"), on("now"))}
    now = replace(standing("a", revision="now"), made_for="r2")
    made_for = kept_as({"old": "r1", "before-the-label": "r2", "now": "r2"})

    taken_back = Rollout(
        revision="r2", staging=Staging(), standings={"a": now}, contents={"a": "now"}
    )

    assert targets_of(taken_back, lines, "", made_for) == {"a": "old"}
    assert targets_of(taken_back, lines, "r1", made_for) == {"a": "old"}, "asked for by revision"


def test_a_cluster_that_had_the_content_before_the_revision_came_keeps_it() -> None:
    lines = {"a": left(on("old"), on("same"))}
    same = replace(standing("a", revision="same"), made_for="r1")

    taken_back = Rollout(
        revision="r2", staging=Staging(), standings={"a": same}, contents={"a": "same"}
    )

    assert targets_of(taken_back, lines, "", kept_as({"old": "r0", "same": "r1"})) == {}


def test_a_content_that_later_revisions_left_alone_is_that_of_each_of_them() -> None:
    """Asked for by number of a revision that changed nothing there: what the cluster had meanwhile."""
    lines = {"a": left(on("first"), on("second"), on("now"))}
    now = replace(standing("a", revision="now"), made_for="r4")
    kept = kept_as({"first": "r1", "second": "r3", "r1": "r1", "r2": "r2", "r3": "r3", "now": "r4"})

    taken_back = Rollout(
        revision="r4", staging=Staging(), standings={"a": now}, contents={"a": "now"}
    )

    assert targets_of(taken_back, lines, "r1", kept) == {"a": "first"}
    assert targets_of(taken_back, lines, "r2", kept) == {"a": "first"}
    assert targets_of(taken_back, lines, "r3", kept) == {"a": "second"}


def test_a_template_that_never_soaked_there_is_not_replaced_by_an_older_one() -> None:
    lines = {"a": left(on("r1"), on("r3"))}
    known = {"a": standing("a", revision="r3")}
    kept = kept_as({"r1": "r1", "r2": "r2", "r3": "r3"})

    assert (
        targets_of(Rollout(revision="r3", staging=Staging(), standings=known), lines, "r2", kept)
        == {}
    )
