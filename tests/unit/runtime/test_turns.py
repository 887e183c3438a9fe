"""One namespace never stops another (contract L6): whose plan is made, and whose writes are sent, next?"""

from rollout.model.kinds import REPLICA_SET, Ref
from rollout.planning.plan import Plan
from rollout.runtime.workqueue import Places
from tests.support import make
from tests.support.engines import SEC, T0, Rig, note

BUSY = [Ref(REPLICA_SET, f"busy/w{n:03d}") for n in range(500)]
QUIET = Ref(REPLICA_SET, "quiet/web")


def start(rig: Rig, *refs: Ref) -> Rig:
    for ref in refs:
        rig.store.create(ref, make.workload(ref.name, ref.namespace))
    rig.engine.start()
    return rig.run()


def test_l6_news_of_one_namespace_are_planned_before_the_second_of_another() -> None:
    """However many wait there, and however often they are edited meanwhile."""
    rig = start(Rig(), *BUSY, QUIET)
    rig.script.asked.clear()
    for ref in BUSY:
        rig.poke(ref)
    for n in range(100):  # the busy one never comes to an end
        rig.engine.turn()
        rig.poke(BUSY[n], "again")
    rig.poke(QUIET)
    before = len(rig.script.asked)
    for _ in range(2):
        rig.engine.turn()

    assert QUIET.key in [key for _, key in rig.script.asked[before:]]
    rig.run()
    assert {key for _, key in rig.script.asked} == {ref.key for ref in (*BUSY, QUIET)}


def test_l6_what_fails_in_one_namespace_is_tried_again_at_a_rate() -> None:
    """Five hundred workloads that all fail are not five hundred plans in one moment, and those of
    others are tried again as soon as ever.
    """

    def broken() -> Plan:
        raise RuntimeError("no")

    rig = Rig(strict=False)
    rig.script.answers = {ref.key: broken for ref in (*BUSY, QUIET)}
    start(rig, *BUSY, QUIET)
    rig.script.asked.clear()
    rig.to(10 * SEC)

    again = [at - T0 for at, key in rig.script.asked if key != QUIET.key]
    assert (
        max(sum(1 for at in again if second <= at / SEC < second + 1) for second in range(10)) <= 51
    )
    first = min(at - T0 for at, key in rig.script.asked if key == QUIET.key)
    assert first <= 0.5 * SEC


def test_l6_a_namespace_that_carries_nothing_out_does_not_wait_for_a_place() -> None:
    """Sixty plans of one wait for their writes; two of them at a time are let out."""
    rig = Rig(holding=True, most_out=2)
    for ref in (*BUSY[:60], QUIET):
        rig.script.once(ref, [note(f"{ref.namespace}-{ref.name}")])
    start(rig, *BUSY[:60])
    rig.store.create(QUIET, make.workload(QUIET.name, QUIET.namespace))
    rig.run()

    assert sorted(rig.io.sent) == ["busy-w000", "busy-w001", "quiet-web"]
    for _ in range(61):
        rig.io.release()
        rig.run()
    assert len(set(rig.io.sent)) == 61
    assert rig.engine.waiting == 0


def test_those_that_wait_for_a_place_are_let_in_by_namespace_in_turn() -> None:
    places = Places({REPLICA_SET: 2})
    out = [Ref(REPLICA_SET, f"{ns}/first") for ns in "ab"]
    waiting = [Ref(REPLICA_SET, f"{ns}/{n}") for ns in "ab" for n in range(3)]
    for ref in out:
        places.take(ref)
    for ref in waiting:
        assert not places.is_open(ref)
        places.wait(ref)
    order: list[str] = []
    while out:
        ended = out.pop(0)
        places.leave(ended)
        entered = places.next(ended)
        if entered is not None:
            order.append(entered.key)
            places.take(entered)
            out.append(entered)

    assert order == ["a/0", "b/0", "a/1", "b/1", "a/2", "b/2"]
    assert len(places) == 0
