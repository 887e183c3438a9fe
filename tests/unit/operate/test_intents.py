"""Verbs that annotate a workload: what they write, and what becomes of what others write meanwhile."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from rollout import operate
from rollout.errors import ConfigError, Conflict, Gone
from rollout.hub.memory import MemoryHub
from rollout.model import names
from rollout.model.instants import rfc3339_micro
from rollout.model.kinds import CLUSTER_MANAGEMENT_ADDON, REPLICA_SET, Obj, Ref
from rollout.operate import VerbResult, Who
from rollout.operate.edits import TRIES, Annotations, Edit, annotate
from rollout.operate.given import revisions
from tests.support import make
from tests.support.addons import CMA
from tests.support.operated import (
    ANN,
    BEN,
    BOTH,
    NOON,
    WEB,
    asked,
    hub_with,
    notes,
    rolled_out,
    two_placements,
)

Verb = Callable[[MemoryHub, Ref, Who], VerbResult]


# -- pause and resume --------------------------------------------------------------------------


@BOTH
def test_a_pause_is_written_with_who_asked_and_a_second_one_changes_nothing(ref: Ref) -> None:
    hub = hub_with()

    assert operate.pause(hub, ref, ANN) == VerbResult(ref, True, "paused")
    version = hub.get(ref)["metadata"]["resourceVersion"]
    again = operate.pause(hub, ref, BEN)

    assert not again.changed
    assert again.message == "paused already by ann (unverified) at 2026-01-01T12:00:00Z: lunch"
    assert hub.get(ref)["metadata"]["resourceVersion"] == version
    assert notes(hub, ref) == {names.PAUSED: "true"}
    assert asked(hub, ref) == {"pause": "ann lunch"}


@BOTH
def test_a_resume_takes_the_pause_away_and_is_remembered_in_its_place(ref: Ref) -> None:
    hub = hub_with()
    operate.pause(hub, ref, ANN)

    assert operate.resume(hub, ref, BEN) == VerbResult(ref, True, "resumed")
    assert operate.resume(hub, ref, BEN) == VerbResult(ref, False, "it is not paused")
    assert notes(hub, ref) == {}
    assert asked(hub, ref) == {"resume": "ben"}


@pytest.mark.parametrize("value", ["yes", "TRUE", ""])
def test_a_pause_that_could_not_be_read_can_be_resumed(value: str) -> None:
    """Such an annotation holds the workload as misconfigured, so there is something to end."""
    hub = hub_with({names.PAUSED: value})

    assert operate.resume(hub, WEB, ANN).changed
    assert notes(hub) == {}


def test_a_pause_that_somebody_switched_off_by_hand_is_none() -> None:
    hub = hub_with({names.PAUSED: "false"})

    assert not operate.resume(hub, WEB, ANN).changed
    assert operate.pause(hub, WEB, ANN).changed
    assert notes(hub) == {names.PAUSED: "true"}


# -- abort, retry, undo ------------------------------------------------------------------------


def test_an_abort_names_the_revision_and_is_the_same_when_asked_again() -> None:
    story = rolled_out("1", "2")
    (revision,) = revisions(story.hub, WEB, story.mwrs())

    told = operate.abort(story.hub, WEB, ANN)
    again = operate.abort(story.hub, WEB, BEN)

    assert told.message.startswith(
        f"aborted: revision {revision} is rolled out to no more clusters"
    )
    assert again.message.startswith("aborted already by ann (unverified)")
    assert notes(story.hub) == {names.ABORT: revision}


def test_an_abort_of_an_addon_names_what_each_of_its_placements_rolls_out() -> None:
    rig = two_placements()

    operate.abort(rig.hub, CMA, ANN)

    found = revisions(rig.hub, CMA, rig.hub.get(CMA))
    assert len(found) == 2
    assert set(notes(rig.hub, CMA)[names.ABORT].split(",")) == found


def test_what_rolls_nothing_out_cannot_be_aborted() -> None:
    hub = hub_with()

    with pytest.raises(ConfigError, match="nothing is rolled out yet"):
        operate.abort(hub, CMA, ANN)
    assert notes(hub, CMA) == {}


def test_an_abort_of_an_earlier_revision_does_not_stand_in_the_way_of_a_new_one() -> None:
    story = rolled_out("1")
    operate.abort(story.hub, WEB, ANN)
    before = notes(story.hub)[names.ABORT]
    story.template(make.template("2"))
    story.end()

    assert story.reason == "Complete"
    assert operate.abort(story.hub, WEB, BEN).changed
    assert notes(story.hub)[names.ABORT] != before


def test_who_aborts_or_retries_what_is_done_is_told_that_it_is() -> None:
    story = rolled_out("1", "2")
    assert story.reason == "Complete"

    retried = operate.retry(story.hub, WEB, ANN)
    aborted = operate.abort(story.hub, WEB, ANN)

    assert retried.message == "retried, though nothing has failed: no cluster gets another attempt"
    assert aborted.message.endswith("; all of them have it, and `rollout undo` takes it back")


def test_a_retry_takes_back_an_abort_and_an_undo_and_forgets_who_asked_for_them() -> None:
    story = rolled_out("1", "2")
    operate.abort(story.hub, WEB, ANN)
    operate.undo(story.hub, WEB, ANN, to=1)
    assert set(asked(story.hub)) == {"abort", "undo"}

    told = operate.retry(story.hub, WEB, BEN)

    assert told == VerbResult(
        WEB, True, "retried: each cluster that has failed gets another attempt"
    )
    assert notes(story.hub) == {names.RETRY: rfc3339_micro(BEN.at)}
    assert asked(story.hub) == {"retry": "ben"}


def test_an_undo_names_what_is_taken_back_and_what_is_given_for_it() -> None:
    story = rolled_out("1", "2")
    (revision,) = revisions(story.hub, WEB, story.mwrs())

    told = operate.undo(story.hub, WEB, ANN)
    again = operate.undo(story.hub, WEB, BEN)
    numbered = operate.undo(story.hub, WEB, BEN, to=1)

    assert told.message == f"undone: revision {revision} is rolled back"
    assert again.message.startswith("undone already by ann (unverified)")
    assert numbered.changed
    found = notes(story.hub)
    assert found[names.UNDO] == revision
    assert (
        numbered.message == f"undone: revision {revision} is rolled back, to {found[names.UNDO_TO]}"
    )


@pytest.mark.parametrize(
    ("to", "words"),
    [(2, "revision 2 is the present one"), (7, "there is no revision 7; kept are 1, 2")],
)
def test_an_undo_to_what_cannot_be_given_back_is_refused(to: int, words: str) -> None:
    story = rolled_out("1", "2")

    with pytest.raises(ConfigError, match=words):
        operate.undo(story.hub, WEB, ANN, to=to)
    assert notes(story.hub) == {}


def test_a_first_revision_cannot_be_undone() -> None:
    story = rolled_out("1")

    with pytest.raises(ConfigError, match="no earlier revision to go back to; abort this one"):
        operate.undo(story.hub, WEB, ANN)


def test_configurations_of_addons_cannot_be_undone() -> None:
    with pytest.raises(ConfigError, match="kept nowhere; edit the configuration back"):
        operate.undo(two_placements().hub, CMA, ANN)


def test_where_rollbacks_are_switched_off_an_undo_says_how_to_allow_it() -> None:
    with pytest.raises(ConfigError, match="set it to Manual first"):
        operate.undo(hub_with({names.ROLLBACK: "None"}), WEB, ANN)


def test_an_undo_that_was_retried_is_rolled_out_again() -> None:
    story = rolled_out("1", "2")
    operate.undo(story.hub, WEB, ANN)
    story.end()
    assert set(story.versions().values()) == {"1"}

    operate.retry(story.hub, WEB, BEN)
    story.end()

    assert set(story.versions().values()) == {"2"}
    assert story.reason == "Complete"


# -- clusters ----------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize(
    ("verb", "back", "annotation", "on", "off"),
    [
        (operate.skip, operate.unskip, names.SKIP, "skipped", "no longer skipped"),
        (operate.hold, operate.release, names.HOLD, "held", "released"),
    ],
    ids=["skip", "hold"],
)
def test_clusters_are_put_on_a_list_and_taken_off_it(
    verb: Callable[..., VerbResult],
    back: Callable[..., VerbResult],
    annotation: str,
    on: str,
    off: str,
    ref: Ref,
) -> None:
    hub = hub_with({annotation: "c9"})
    name = annotation.rpartition("/")[2]
    present = revisions(hub, ref, hub.get(ref)) if name == "skip" else frozenset()
    only = "".join(f" (for revision {r}; a later one asks for them again)" for r in present)
    at = "".join(f"@{revision}" for revision in present)

    assert verb(hub, ref, ["c2", "c1"], ANN).message == f"{on}: c1, c2{only}"
    assert verb(hub, ref, ["c1", "c3"], BEN).message == f"{on}: c3{only}"
    assert verb(hub, ref, ["c1"], BEN) == VerbResult(ref, False, f"{on} already: c1")
    assert notes(hub, ref) == {annotation: f"c1{at},c2{at},c3{at},c9"}
    assert asked(hub, ref) == {
        f"{name}/c1": "ann lunch",
        f"{name}/c2": "ann lunch",
        f"{name}/c3": "ben",
    }

    assert back(hub, ref, ["c1", "c8"], ANN).message == f"{off}: c1"
    assert back(hub, ref, ["c8"], ANN) == VerbResult(ref, False, f"not {on}: c8")
    assert notes(hub, ref) == {annotation: f"c2{at},c3{at},c9"}
    assert back(hub, ref, [], ANN).message == f"{off}: c2, c3, c9"
    assert back(hub, ref, [], ANN) == VerbResult(ref, False, f"none is {on}")
    assert notes(hub, ref) == {}
    assert set(asked(hub, ref)) == {"unskip" if name == "skip" else "release"}


@BOTH
@pytest.mark.parametrize("verb", [operate.skip, operate.hold])
def test_names_that_no_cluster_has_are_refused_unless_forced(
    verb: Callable[..., VerbResult], ref: Ref
) -> None:
    hub = hub_with()

    with pytest.raises(ConfigError, match="no cluster is called c77, d1; correct the name"):
        verb(hub, ref, ["c77", "c1", "d1"], ANN)
    assert notes(hub, ref) == {}
    assert verb(hub, ref, ["c77"], ANN, force=True).changed


def test_a_cluster_skipped_again_is_skipped_for_the_present_revision_alone() -> None:
    hub = hub_with({names.SKIP: "c1@0123456789ab,c2@0123456789ab"})

    operate.skip(hub, WEB, ["c1"], ANN)

    (present,) = revisions(hub, WEB, hub.get(WEB))
    assert notes(hub) == {names.SKIP: f"c1@{present},c2@0123456789ab"}


def test_a_skip_that_was_meant_for_an_earlier_revision_waives_nothing() -> None:
    story = rolled_out("1")
    shown = revisions(story.hub, WEB, story.mwrs())
    story.template(make.template("2"))

    with pytest.raises(
        ConfigError, match=r"was shown, and now \w+ is rolled out: look at it first"
    ):
        operate.skip(story.hub, WEB, ["c01"], ANN, shown=shown)

    assert notes(story.hub) == {}
    assert (story.end().reason, set(story.versions().values())) == ("Complete", {"2"})


@pytest.mark.parametrize("verb", [operate.skip, operate.hold])
def test_nobody_is_left_to_believe_that_profile_ocm_holds_a_cluster(
    verb: Callable[..., VerbResult],
) -> None:
    hub = hub_with({names.SEMANTICS: "ocm"})

    with pytest.raises(ConfigError, match="does nothing; pause it"):
        verb(hub, WEB, ["c1"], ANN)
    assert operate.pause(hub, WEB, ANN).changed


# -- every verb --------------------------------------------------------------------------------

VERBS: dict[str, Verb] = {
    "pause": operate.pause,
    "resume": operate.resume,
    "abort": operate.abort,
    "retry": operate.retry,
    "undo": operate.undo,
    "skip": lambda hub, ref, who: operate.skip(hub, ref, ["c0"], who, force=True),
    "unskip": lambda hub, ref, who: operate.unskip(hub, ref, ["c1"], who),
    "hold": lambda hub, ref, who: operate.hold(hub, ref, ["c0"], who, force=True),
    "release": lambda hub, ref, who: operate.release(hub, ref, ["c2"], who),
}


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
@pytest.mark.parametrize("kind", [REPLICA_SET, CLUSTER_MANAGEMENT_ADDON], ids=lambda k: k.short[0])
def test_a_workload_that_is_not_there_is_gone(verb: Verb, kind: object) -> None:
    ref = Ref(REPLICA_SET, "default/nope") if kind is REPLICA_SET else Ref(CMA.kind, "nope")

    with pytest.raises(Gone):
        verb(hub_with(), ref, ANN)


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_what_is_written_can_be_read_and_what_others_wrote_stays(verb: Verb) -> None:
    """No verb makes a workload one that cannot be honoured, and none edits the spec."""
    story = rolled_out("1", "2")
    others = {names.SKIP: "c1", names.HOLD: "c2", names.PAUSED: "true", "example.com/team": "shop"}
    story.hub.patch(WEB, {"metadata": {"annotations": others}})
    before: Obj = story.hub.get(WEB)

    verb(story.hub, WEB, ANN)
    story.settle()

    after = story.hub.get(WEB)
    assert after["spec"] == before["spec"]
    assert after["metadata"]["generation"] == before["metadata"]["generation"]
    assert after["metadata"]["annotations"]["example.com/team"] == "shop"
    assert story.reason != "Misconfigured"


@pytest.mark.parametrize("memory", ["no json", "[1]", '{"pause": 3}'])
def test_a_memory_that_cannot_be_read_is_begun_anew(memory: str) -> None:
    hub = hub_with({names.ASKED: memory})

    operate.pause(hub, WEB, ANN)

    assert asked(hub) == {"pause": "ann lunch"}


# -- others who write --------------------------------------------------------------------------


def test_what_another_writes_between_reading_and_writing_is_read_again_and_kept() -> None:
    hub = hub_with()
    seen: list[str] = []

    def decide(_: Obj, known: Annotations) -> Edit | str:
        seen.append(known.get(names.HOLD, ""))
        if len(seen) == 1:
            operate.hold(hub, WEB, ["c1"], BEN)
        return Edit({names.PAUSED: "true"}, "paused", "pause")

    told = annotate(hub, WEB, ANN, decide)

    assert told.changed
    assert seen == ["", "c1"]
    assert notes(hub) == {names.PAUSED: "true", names.HOLD: "c1"}
    assert asked(hub) == {"pause": "ann lunch", "hold/c1": "ben"}


def test_after_so_many_conflicts_it_gives_up_and_says_so() -> None:
    hub = hub_with()
    tries: list[int] = []

    def decide(_: Obj, known: Annotations) -> Edit | str:
        tries.append(len(tries))
        hub.patch(WEB, {"metadata": {"labels": {"try": str(len(tries))}}})
        return Edit({names.PAUSED: "true"}, "paused", "pause")

    with pytest.raises(Conflict):
        annotate(hub, WEB, ANN, decide)
    assert len(tries) == TRIES
    assert notes(hub) == {}


def test_people_who_hold_clusters_at_the_same_time_lose_no_cluster() -> None:
    hub = hub_with()
    clusters = [f"c{n}" for n in range(TRIES)]

    def hold(cluster: str) -> VerbResult:
        return operate.hold(hub, WEB, [cluster], Who(f"of {cluster}", NOON))

    with ThreadPoolExecutor(4) as pool:
        told = list(pool.map(hold, clusters))

    assert all(each.changed for each in told)
    assert notes(hub) == {names.HOLD: ",".join(clusters)}
    assert asked(hub) == {f"hold/{cluster}": f"of {cluster}" for cluster in clusters}


# -- calendars ---------------------------------------------------------------------------------


@BOTH
def test_an_override_lasts_until_its_instant_and_can_be_ended(ref: Ref) -> None:
    hub = hub_with()

    told = operate.override_calendars(hub, ref, NOON + timedelta(hours=2), ANN)
    assert told.message == "no calendar closes anything to it until 2026-01-01T14:00:00Z"
    assert notes(hub, ref) == {names.OVERRIDE_CALENDARS: "2026-01-01T14:00:00Z"}
    assert asked(hub, ref) == {"override": "ann lunch"}

    assert operate.override_calendars(hub, ref, None, BEN).message == "calendars count again"
    assert not operate.override_calendars(hub, ref, None, BEN).changed
    assert notes(hub, ref) == {}


@pytest.mark.parametrize("hours", [-1, 0, 25])
def test_an_override_ends_in_the_next_24_hours(hours: int) -> None:
    hub = hub_with()

    with pytest.raises(ConfigError, match="at most 24 hours ahead"):
        operate.override_calendars(hub, WEB, NOON + timedelta(hours=hours), ANN)
