"""What random histories once found, each as the shortest history that shows it."""

from dataclasses import replace
from datetime import timedelta

from rollout.model.amounts import Amount
from rollout.model.kinds import MANIFEST_WORK, PLACEMENT, REPLICA_SET, Obj, Ref
from rollout.model.names import HOLD
from rollout.model.placement import Group
from rollout.model.replicaset import RolloutSpec
from rollout.rollouts.live import LiveRollout
from rollout.rollouts.observations import Observation
from rollout.rollouts.terms import Terms
from rollout.sim.scenario import Scenario
from rollout.strategies.base import Health, select
from rollout.strategies.stages import Progressive
from tests.safety.setting import Setting
from tests.safety.suite import run
from tests.safety.world import T0, History
from tests.support.faults import Rates

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
SLOW_SOAK: Obj = {
    "type": "Progressive",
    "progressive": {"minSuccessTime": "2m", "progressDeadline": "3m", "maxFailures": 0},
}
EVERYTHING: Obj = {"type": "All", "all": {}}


def begin(*, foreign: bool = False, **strategies: Obj) -> History:
    """A fleet of four, all well, one of them in the ring that only a second placement selects."""
    clusters = tuple(f"c{n:02d}" for n in range(4))
    setting = Setting(
        seed=1,
        clusters=clusters,
        rings={c: "early" if c == "c03" else "rest" for c in clusters},
        refs=tuple(strategies),
        strategies=strategies,
        rules=True,
        strict=False,
        foreign=foreign,
        told=True,
        latency=timedelta(0),
        faults=Rates(),
        scenario=Scenario(),
        script=(),
    )
    history = History(setting)
    history.hands.set_up()
    history.start()
    return history


def wait(history: History, span: timedelta) -> None:
    history.until(history.clock.now() + span)
    assert not history.violations


def verdicts(history: History, placement: str) -> dict[str, str]:
    """What the record says of each cluster."""
    return {
        c: line.get("verdict", "") for c, line in history.judge.written_down.of(placement).items()
    }


def test_a_restart_before_the_placement_is_decided_again_forgets_nothing() -> None:
    history = begin(p=SLOW_SOAK)
    wait(history, 5 * MINUTE)
    before = verdicts(history, "p")
    history.die(SECOND)
    history.hub.delete(Ref(PLACEMENT, "default/p"))
    wait(history, MINUTE)
    assert verdicts(history, "p") == before == dict.fromkeys(history.setting.clusters, "Soaked")


def test_a_restart_amid_a_torn_write_of_decisions_forgets_nothing() -> None:
    history = begin(foreign=True, p=SLOW_SOAK)
    wait(history, 6 * MINUTE)
    before = verdicts(history, "p")
    history.hub.patch_status(Ref(PLACEMENT, "default/p"), {"status": {"decisionGroups": []}})
    history.die(SECOND)
    wait(history, MINUTE)
    assert verdicts(history, "p") == before == dict.fromkeys(history.setting.clusters, "Soaked")


def test_a_restart_amid_a_torn_write_gives_no_cluster_to_a_later_placement() -> None:
    history = begin(foreign=True, p=SLOW_SOAK, q=SLOW_SOAK)
    wait(history, 6 * MINUTE)
    before = verdicts(history, "p"), verdicts(history, "q")
    placement = Ref(PLACEMENT, "default/p")
    told = history.hub.get(placement)["status"]
    history.hub.patch_status(placement, {"status": {"decisionGroups": []}})
    history.die(SECOND)
    wait(history, MINUTE)
    assert (verdicts(history, "p"), verdicts(history, "q")) == before
    history.hub.patch_status(placement, {"status": told})
    wait(history, MINUTE)
    assert (verdicts(history, "p"), verdicts(history, "q")) == before


def test_the_tally_adds_up_when_clusters_come_while_the_strategy_is_misconfigured() -> None:
    history = begin(p=EVERYTHING)
    wait(history, 2 * MINUTE)
    bad = {"type": "All", "all": {"progressDeadline": "10x"}}
    spec = {"placementRefs": [{"name": "p", "rolloutStrategy": bad}]}
    history.hub.patch(history.subject.ref, {"spec": spec})
    wait(history, SECOND)
    history.hands.do_cluster_new()
    wait(history, MINUTE)


def test_what_succeeded_before_its_record_was_lost_has_not_timed_out() -> None:
    history = begin(p=SLOW_SOAK)
    wait(history, 5 * MINUTE)
    history.forget(SECOND)
    wait(history, 10 * SECOND)
    assert set(verdicts(history, "p").values()) == {""}
    wait(history, 3 * MINUTE)
    assert set(verdicts(history, "p").values()) == {"Soaked"}


def test_a_work_that_is_found_is_recorded_with_a_cause() -> None:
    history = begin(p=EVERYTHING)
    wait(history, MINUTE)
    history.forget(SECOND)
    wait(history, MINUTE)
    assert all(line["cause"] for line in history.judge.written_down.of("p").values())


def test_a_change_of_owner_and_of_revision_at_once_is_one_write_for_each_cluster() -> None:
    history = begin(p=EVERYTHING, q=EVERYTHING)
    wait(history, 2 * MINUTE)
    history.hands.do_overlap()
    history.hands.do_new_revision()
    wait(history, MINUTE)
    works = [work for cluster in ("c00", "c03") for work in history.judge.carriers(cluster)]
    assert {work["metadata"]["generation"] for work in works} == {2}


def test_a_cluster_is_not_restored_to_what_is_superseded_in_the_same_pass() -> None:
    history = begin(p=EVERYTHING)
    history.hands.refusing.add("c00")
    wait(history, 2 * MINUTE)
    history.hands.refusing.clear()
    history.hands.do_new_revision()
    wait(history, SECOND)
    assert history.carried()["c00"] == ("r2",)
    assert [work["metadata"]["generation"] for work in history.judge.carriers("c00")] == [1]


def test_what_soaked_on_an_older_revision_takes_no_slot_when_it_fails_there_later() -> None:
    """The limit is one, a newcomer holds it, and the cluster on the old revision falls ill."""
    live = LiveRollout(Ref(REPLICA_SET, "default/web"), "p", "uid", T0)
    terms = Terms(
        revision="r1",
        spec=RolloutSpec("Progressive", concurrency=Amount(1)),
        strategy=Progressive(),
        selection=select([Group(0, "", ("c00", "c01"))]),
        soak=MINUTE,
        grace=MINUTE,
    )
    live.agree(terms, lambda _: True, T0)
    assert live.step(None, T0).touch == ("c00",)
    live.attempt("c00", "SlotFree", T0)
    live.observe("c00", Observation(content="r1", health=Health.SUCCEEDED), T0)
    live.agree(replace(terms, revision="r2"), lambda _: True, T0 + SECOND)
    after = T0 + 2 * MINUTE  # c00 has soaked on r1
    live.attempt("c01", "SlotFree", after)
    live.observe("c00", Observation(content="r1", health=Health.PROGRESSING), after)
    assert live.step(None, after).touch == ()


def test_a_held_cluster_keeps_its_labels_and_its_second_work_until_it_is_released() -> None:
    history = begin(p=EVERYTHING)
    wait(history, 2 * MINUTE)
    history.hands.editor.edit(notes={HOLD: "c00,c01,c02,c03"})
    history.hands.act("twin")
    history.hands.act("relabel_workload")
    wait(history, MINUTE)
    works = history.hub.list(MANIFEST_WORK).items
    assert len(works) == 5
    assert not any("team" in work["metadata"]["labels"] for work in works)
    history.hands.editor.edit(notes={HOLD: None})
    wait(history, MINUTE)
    works = history.hub.list(MANIFEST_WORK).items
    assert len(works) == 4
    assert all("team" in work["metadata"]["labels"] for work in works)


def test_a_restart_under_a_misconfigured_strategy_goes_on_watching() -> None:
    """A success that nobody noted until the strategy was mended came too late for its deadline."""
    assert run([5732]).broken == []


def test_histories_that_broke_a_promise_once_keep_it() -> None:
    """Late successes that broke, or outages, while nobody lived; refusals; gates and unquiet decisions;
    a soak of nothing while news is missing; a held cluster that comes back and lacks its add-on; one that
    another placement has taken from one that is half written; one that a placement selected until it was
    deleted; a failure that ended while nobody lived; refusals on the way back; half of a record;
    an outage that only the record tells of, and a long one around a short one; decisions that others still
    write when all is foreseen; a breach in another group; a failed cluster that another placement takes;
    refused words about what is carried already; a success that is heard while other news is missing; a failure
    to apply that goes on while something else changes; a record that goes while nothing can be agreed on;
    a retry amid a deadline; a content that somebody wrote, found by a new process; what is given back once more
    while decisions are torn; another revision to go back to; removals whose answers are lost; a configuration
    that is missing while slots are free; a success heard by a process that knows no selection yet;
    a deadline that ends for the engine later than for the first plan of its touch; a plan beside a placement that
    is gone; a new revision over one that was refused, at a lower limit; a failure that
    is well again, and soaks by the outages that were told only; a success that ends between
    the reading of a new process without a record and its first look; removals that somebody releases
    without an edit; lost clusters that are skipped no more; clusters that
    go, come back and go again while the brake looks; what is changed by hand before a gate; a soak that
    the record does not say yet, and that is broken while nobody lives; a deadline that is taken away when only
    the earliest reading calls it over; a window that closes while there is no room for one more failure;
    an earlier revision to go back to, of a cluster that was not selected for a while;
    a cluster that goes unwell while its soak is in doubt; decisions that may have changed between two outages;
    a cluster that fails for what it lacks before anything was brought to it; one that is changed and then
    gone while nobody lives, and whose soak ended in an outage that nobody wrote down; a stage that was done
    while it had no cluster, in a record that is lost; a cluster that was lost when the process died before it
    wrote that down; one that is selected again while its work is being deleted; a soak that broke while nobody
    lived, of a cluster that the next process knows as selected only later, or that carries other content by then;
    removals on their way when the ten minutes after an edit end; two labels that are taken off one work;
    clusters that were lost of an earlier revision, where the process died between two pages of its record.
    """
    seeds = [280, 843, 1030, 1454, 1462, 2051, 3062, 3659, 3687, 500210, 457770440]
    seeds += [700000010, 700000024]
    seeds += [730000243, 730000300, 730000392, 730000440, 730000595, 730000604]
    seeds += [800000471, 800000710, 748726679, 748726818, 748726903]
    seeds += [464, 6089, 66767960, 158022088, 158022749, 273126012, 253511920, 253512193, 253512420]
    seeds += [205613780, 614816354, 600553973, 336725214, 673787227, 506515296, 534148444]
    seeds += [910000283, 701713964, 166566713, 472912783, 892395947, 892395959, 500674921]
    assert run(seeds).broken == []
    addons = [1140, 1279, 1415, 665746438, 879868512, 975281533, 748726928, 748726937]
    addons += [339210272, 339210778, 141293054, 141293662, 253512155, 600553899, 336725081]
    addons += [673787104, 70358598, 460132203, 835110300, 496857909, 494071913, 415533384]
    addons += [375449428, 571181549]
    assert run(addons, "addon").broken == []
