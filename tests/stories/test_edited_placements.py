"""A person edits a Placement and then releases a version: nobody gets it by decisions of the earlier spec.

Row 15. Every write of decisions takes a moment on the server, while other news comes in.
"""

from collections.abc import Sequence
from typing import Any

from rollout.model.kinds import PLACEMENT, PLACEMENT_DECISION, Obj, Ref
from rollout.planning.plan import Write
from rollout.runtime.io import Done, Io
from tests.support import make
from tests.support.story import MIN, Story

P = Ref(PLACEMENT, "default/p")
OF_PLACEMENTS = (PLACEMENT, PLACEMENT_DECISION)


class SlowDecisions:
    """Passes writes on; those of placements and their decisions only ``turns`` turns later."""

    def __init__(self, io: Io) -> None:
        self.turns = 0
        self._io = io
        self._held: list[tuple[int, Sequence[Write], Done, str]] = []

    def send(self, writes: Sequence[Write], done: Done, turn: str = "") -> None:
        if self.turns and any(write.ref.kind in OF_PLACEMENTS for write in writes):
            self._held.append((self.turns, writes, done, turn))
        else:
            self._io.send(writes, done, turn)

    def pass_on(self) -> bool:
        """One turn goes by. Whether anything is still held."""
        held, self._held = self._held, []
        for turns, writes, done, turn in held:
            if turns <= 1:
                self._io.send(writes, done, turn)
            else:
                self._held.append((turns - 1, writes, done, turn))
        return bool(held)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._io, name)


class SlowStory(Story):
    """From `slow` on, decisions take a moment to be written."""

    def _boot(self) -> None:
        self.decisions = SlowDecisions(self._io)
        self._io = self.decisions
        super()._boot()

    def slow(self) -> None:
        self.decisions.turns = 3

    def act(self) -> bool:
        return self.decisions.pass_on() | super().act()


def fleet(strategy: Obj, placement: Obj) -> SlowStory:
    """Six clusters that all have version 1: two are of ring a, c0 is the old canary, and c5 the new one."""
    labels = [{"ring": "a" if n < 2 else "b", "canary": f"c{n}"} for n in range(6)]
    clusters = [make.cluster(f"c{n}", each) for n, each in enumerate(labels)]
    around = [make.cluster_set(), make.binding(), placement]
    story = SlowStory([*clusters, *around, make.workload(strategy=strategy)])
    story.end()
    return story


def predicate(**labels: str) -> Obj:
    required = {"requiredClusterSelector": {"labelSelector": {"matchLabels": labels}}}
    return {"spec": {"predicates": [required]}}


def canary(cluster: str) -> Obj:
    selector = {"labelSelector": {"matchLabels": {"canary": cluster}}}
    groups = [{"groupName": "canary", "groupClusterSelector": selector}]
    return {"spec": {"decisionStrategy": {"groupStrategy": {"decisionGroups": groups}}}}


def changed(placement: Obj, changes: Obj) -> Obj:
    return {**placement, "spec": {**placement["spec"], **changes["spec"]}}


def test_a_version_goes_to_none_of_the_clusters_that_the_placement_was_edited_to_leave_out() -> (
    None
):
    story = fleet(make.everywhere(), make.placement())
    story.slow()
    story.hub.patch(P, predicate(ring="a"))
    story.template(make.template("2"))

    story.end()

    assert sorted(story.touched("2")) == ["c0", "c1"]
    assert sorted(story.works()) == ["c0", "c1"]


def test_a_version_goes_to_the_canary_of_now_first_and_not_to_the_one_of_the_earlier_spec() -> None:
    strategy = make.progressive(mandatory=["canary"], minSuccessTime="5m")
    story = fleet(strategy, changed(make.placement(), canary("c0")))
    story.slow()
    story.hub.patch(P, canary("c5"))
    story.template(make.template("2"))

    assert story.on(MIN).touched("2").keys() == {"c5"}


def test_a_process_that_begins_acts_on_no_decisions_of_an_earlier_spec() -> None:
    story = fleet(make.everywhere(), make.placement())
    story.engine.stop()
    story.hub.patch(P, predicate(ring="a"))
    story.template(make.template("2"))
    story.restart()
    story.slow()

    assert sorted(story.end().touched("2")) == ["c0", "c1"]


def test_an_edited_placement_that_selects_the_same_clusters_holds_nothing_up() -> None:
    story = fleet(make.everywhere(), make.placement())
    story.hub.patch(P, {"spec": {"tolerations": [{"key": "slow"}]}})
    story.template(make.template("2"))

    assert len(story.end().touched("2")) == 6
