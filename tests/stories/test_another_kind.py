"""A workload of a kind that the package does not know is rolled out by the same engine."""

from typing import Any

from rollout.account.states import Code, WorkloadState, state_of
from rollout.fleet.fleet import Fleet
from rollout.fleet.replicasets import ReplicaSets
from rollout.model import names
from rollout.model.events import Change, Event
from rollout.model.kinds import PLACEMENT_DECISION, REPLICA_SET, ROLLOUT_RECORD, Kind, Obj, Ref
from rollout.model.waits import Reason
from rollout.planning.plan import Planner
from rollout.runtime.planners import tracked
from tests.support import make
from tests.support.bulletins import BULLETIN, NOTICE, BulletinPlanner, Bulletins
from tests.support.story import HOUR, MIN, T0, Line, Story

WEB = Ref(BULLETIN, "default/web")
FIRST, SECOND = ["c00", "c01"], ["c02", "c03", "c04"]


def bulletin(text: str, strategy: Obj) -> Obj:
    """A Bulletin for the clusters of placement p."""
    return {
        "apiVersion": BULLETIN.api_version,
        "kind": BULLETIN.name,
        "metadata": {"name": WEB.name, "namespace": "default"},
        "spec": {
            "text": text,
            "placementRefs": [{"name": "p", "rolloutStrategy": strategy}],
        },
    }


class BulletinStory(Story):
    """A fleet of five with canaries c00 and c01, and a Bulletin that goes to them first."""

    subject = WEB
    carries = NOTICE

    def __init__(self, *torn: str, **asked: Any) -> None:
        self.torn = set(torn)  # clusters where nothing stays posted
        super().__init__(make.fleet(5, canary=2))
        strategy = make.per_group(minSuccessTime="10m", **asked)
        self.hub.create(WEB, bulletin("1", strategy))

    def planners(self) -> dict[Kind, Planner[Fleet]]:
        return {**super().planners(), BULLETIN: tracked(Bulletins, BulletinPlanner).planner()}

    def fleet(self) -> Fleet:
        return Fleet(self._policy, trackers=(ReplicaSets, Bulletins))

    def _admit(self, ref: Ref, new: Obj, old: Obj | None) -> Obj:
        return new if ref.kind in (BULLETIN, NOTICE) else super()._admit(ref, new, old)

    def act(self) -> bool:
        """The clusters' agents post what they are given, at once."""
        found = [
            obj
            for obj in self.hub.list(NOTICE).items
            if (obj.get("status") or {}).get("observedGeneration") != obj["metadata"]["generation"]
        ]
        for obj in found:
            meta = obj["metadata"]
            status = {
                "observedGeneration": meta["generation"],
                "phase": "Torn" if meta["namespace"] in self.torn else "Posted",
            }
            where = Ref(NOTICE, f"{meta['namespace']}/{meta['name']}")
            self.hub.patch_status(where, {"status": status})
        return super().act() or bool(found)

    def _heard(self, event: Event) -> None:
        cluster = event.ref.namespace
        text = "" if event.change is Change.DELETED else event.obj["spec"]["text"]
        if self._specs.get(cluster, {}).get("text", "") != text:
            self._specs[cluster] = {"text": text}
            after = self.clock.now() - T0
            self.lines.append(Line(after, event.change.value, cluster, text))

    def state(self, name: str = "web") -> WorkloadState:
        return state_of(self.hub.get(Ref(BULLETIN, f"default/{name}")))

    def decide(self, *pages: Obj) -> None:
        (page,) = self.hub.list(PLACEMENT_DECISION).items
        where = Ref(PLACEMENT_DECISION, f"default/{page['metadata']['name']}")
        self.hub.patch_status(where, {"status": pages[0]})


def test_canaries_go_first_and_soak_before_the_others_follow() -> None:
    story = BulletinStory()

    story.end()

    assert story.waves() == [(0 * MIN, FIRST), (10 * MIN, SECOND)]
    assert story.state().code is Code.DONE


def test_a_canary_that_fails_stops_it_and_a_retry_goes_on() -> None:
    story = BulletinStory("c01")
    story.to(HOUR)
    assert list(story.touched()) == FIRST
    assert story.state().reason == Reason.MAX_FAILURES_EXCEEDED
    assert story.state().code is Code.FAILED

    story.torn.clear()
    story.annotate(names.RETRY, "again")
    story.hub.patch_status(Ref(NOTICE, "c01/web"), {"status": {"phase": "Posted"}})
    story.end()

    assert sorted(story.touched()) == [*FIRST, *SECOND]


def test_a_process_that_starts_anew_goes_on_where_the_record_stands() -> None:
    story = BulletinStory()
    story.to(4 * MIN)

    story.restart().end()

    assert [line.cluster for line in story.lines] == [*FIRST, *SECOND]
    assert story.waves()[1][0] >= 10 * MIN


def test_a_pause_holds_it_as_it_holds_every_workload() -> None:
    story = BulletinStory()
    story.annotate(names.PAUSED, "true")
    story.to(20 * MIN)
    assert story.lines == []
    assert (story.state().reason, story.state().code) == (Reason.PAUSED, Code.PERSON)

    story.annotate(names.PAUSED, None)
    story.end()

    assert story.waves() == [(20 * MIN, FIRST), (30 * MIN, SECOND)]


def test_a_gate_behind_its_canaries_waits_for_an_approval() -> None:
    story = BulletinStory()
    story.annotate(names.GATES, "after:canary")
    story.to(HOUR)
    assert list(story.touched()) == FIRST
    assert (story.state().reason, story.state().code) == (Reason.APPROVAL_NEEDED, Code.PERSON)


def test_what_a_cluster_is_supposed_to_have_is_given_back_to_it() -> None:
    story = BulletinStory()
    story.end()

    story.hub.patch(Ref(NOTICE, "c04/web"), {"spec": {"text": "scribble"}})
    story.end()

    assert [line.version for line in story.lines if line.cluster == "c04"] == ["1", "scribble", "1"]


def test_nothing_is_kept_of_a_workload_that_is_gone_with_all_that_it_brought() -> None:
    story = BulletinStory()
    story.end()
    assert story.engine.fleet.tracker(Bulletins).workload(WEB.key) is not None

    story.hub.delete(WEB)
    for cluster in (*FIRST, *SECOND):
        story.hub.delete(Ref(NOTICE, f"{cluster}/web"))
    story.end()

    assert story.engine.fleet.tracker(Bulletins).workload(WEB.key) is None


def test_what_nobody_has_brought_or_nobody_can_read_holds_nothing_up() -> None:
    story = BulletinStory()
    head = {"apiVersion": NOTICE.api_version, "kind": NOTICE.name}
    stray = {**head, "metadata": {"name": "stray"}, "spec": {"text": ""}}
    story.hub.create(Ref(NOTICE, "c00/stray"), stray)
    odd = {**bulletin("1", {}), "metadata": {"name": "odd", "namespace": "default"}, "spec": None}
    story.hub.create(Ref(BULLETIN, "default/odd"), odd)

    story.end()

    assert story.waves() == [(0 * MIN, FIRST), (10 * MIN, SECOND)]


def test_it_says_that_it_keeps_no_text_that_could_be_given_back() -> None:
    story = BulletinStory()
    story.annotate(names.UNDO, "0123456789abcdef")
    story.to(MIN)

    assert story.state().reason == Reason.MISCONFIGURED


def test_a_workload_of_another_kind_with_its_name_and_placement_keeps_its_own_record() -> None:
    story = BulletinStory()
    story.add(make.workload(strategy=make.per_group(minSuccessTime="10m")))
    story.to(MIN)
    owners = {page["metadata"]["ownerReferences"][0]["kind"] for page in story.records()}
    assert owners == {BULLETIN.name, REPLICA_SET.name}

    story.hub.delete(Ref(REPLICA_SET, "default/web"))
    story.restart().end()

    owners = {page["metadata"]["ownerReferences"][0]["kind"] for page in story.records()}
    assert owners == {BULLETIN.name}
    assert story.waves()[0] == (0 * MIN, FIRST)
    assert sorted(story.touched()) == [*FIRST, *SECOND]


def test_a_record_page_that_somebody_takes_away_is_written_again() -> None:
    story = BulletinStory()
    story.end()
    before = {page["metadata"]["name"]: page["data"] for page in story.records()}

    for name in before:
        story.hub.delete(Ref(ROLLOUT_RECORD, f"default/{name}"))
    story.end()

    assert {page["metadata"]["name"]: page["data"] for page in story.records()} == before
