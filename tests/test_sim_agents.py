"""What simulated agents write and when, on the embedded hub in virtual time.

Traces are lists of (microseconds since the start, conditions that were written). A condition is
``TypeStatus@generation``, such as ``Applied+@1``.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rollout.clock import VirtualClock
from rollout.errors import Conflict, Denied, HubError, Throttled, Unavailable
from rollout.hub.memory import MemoryHub
from rollout.model.events import Change, Event
from rollout.model.kinds import MANAGED_CLUSTER, MANIFEST_WORK, Obj, Ref
from rollout.sim.agents import FINALIZER, Agents
from rollout.sim.scenario import Scenario

T0 = datetime(2026, 1, 1, tzinfo=UTC)
MS = 1000
S = 1_000_000
SIGNS = {"True": "+", "False": "-", "Unknown": "?"}
WORK = Ref(MANIFEST_WORK, "c1/web")
HEALTHY = {"applyAfter": "2s", "readyAfter": "10s", "deleteAfter": "1s"}


def deployment(image: str = "web:1") -> Obj:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default", "labels": {"version": image}},
        "spec": {"template": {"spec": {"containers": [{"name": "web", "image": image}]}}},
    }


def template(*rules: str, image: str = "web:1", resource: str = "deployments") -> Obj:
    config = {
        "resourceIdentifier": {
            "group": "apps",
            "resource": resource,
            "name": "w*",
            "namespace": "default",
        },
        "conditionRules": [{"condition": rule, "type": "CEL"} for rule in rules],
    }
    spec: Obj = {"workload": {"manifests": [deployment(image)]}}
    return {**spec, "manifestConfigs": [config]} if rules else spec


RULES = template("Progressing", "Degraded")


class Stage:
    """A memory hub, a virtual clock, the agents, and a trace of what they wrote to works."""

    def __init__(self, hub: MemoryHub | None = None, **spec: Any) -> None:
        self.clock = VirtualClock(T0)
        self.hub = hub or MemoryHub(self.clock)
        self.scenario = Scenario.model_validate({"spec": spec})
        self.agents = Agents(self.hub, self.clock, self.scenario)
        self.trace: list[tuple[int, str]] = []
        self.hub.watch(MANIFEST_WORK, 0, self._heard)
        self._last: dict[str, str] = {}

    def _heard(self, event: Event) -> None:
        shown = "gone" if event.change is Change.DELETED else shown_of(event.obj)
        if shown and self._last.get(event.ref.key) != shown:
            self._last[event.ref.key] = shown
            self.trace.append((self.now, shown))

    @property
    def now(self) -> int:
        return (self.clock.now() - T0) // timedelta(microseconds=1)

    def play(self, until: int = 3600 * S) -> list[tuple[int, str]]:
        """Run the agents up to an instant (microseconds), jumping from one to the next."""
        end = T0 + timedelta(microseconds=until)
        while (at := self.agents.next_at()) is not None and at <= end:
            self.clock.advance(max(at - self.clock.now(), timedelta(0)))
            self.agents.run_due()
        self.clock.advance(end - self.clock.now())
        return self.trace

    def create(self, spec: Obj = RULES, ref: Ref = WORK, **meta: Any) -> None:
        self.hub.create(ref, {"metadata": meta, "spec": spec})

    def change(self, spec: Obj) -> None:
        self.hub.patch(WORK, {"spec": {"workload": spec["workload"]}})

    def condition(self, kind: str, ref: Ref = WORK) -> Obj:
        conditions = self.hub.get(ref)["status"]["conditions"]
        return next(c for c in conditions if c["type"] == kind)


def shown_of(obj: Obj) -> str:
    conditions = (obj.get("status") or {}).get("conditions") or []
    return " ".join(
        f"{c['type']}{SIGNS[c['status']]}@{c.get('observedGeneration')}"
        for c in sorted(conditions, key=lambda c: str(c["type"]))
    )


def staged(behaviour: Obj, spec: Obj = RULES, **more: Any) -> Stage:
    stage = Stage(defaults={**HEALTHY, **behaviour}, **more)
    stage.agents.start()
    stage.create(spec)
    return stage


APPLIED = "Applied+@1 Degraded-@1 Progressing+@1"
READY = "Applied+@1 Available+@1 Degraded-@1 Progressing-@1"
DEGRADED = "Applied+@1 Available+@1 Degraded+@1 Progressing+@1"
FAILED = "Applied-@1"


@pytest.mark.parametrize(
    ("behaviour", "expected"),
    [
        pytest.param({}, [(2 * S, APPLIED), (12 * S, READY)], id="success"),
        pytest.param({"readyAfter": "0s"}, [(2 * S, READY)], id="ready at once"),
        pytest.param(
            {"applyAfter": "0s", "readyAfter": "0s"}, [(0, READY)], id="ready before a look"
        ),
        pytest.param({"outcome": "fail"}, [(2 * S, APPLIED), (12 * S, DEGRADED)], id="fail"),
        pytest.param(
            {"outcome": "fail", "recoverAfter": "30s"},
            [(2 * S, APPLIED), (12 * S, DEGRADED), (42 * S, READY)],
            id="fail and recover",
        ),
        pytest.param({"outcome": "failApply"}, [(2 * S, FAILED)], id="apply fails"),
        pytest.param(
            {"outcome": "failApply", "recoverAfter": "5s"},
            [(2 * S, FAILED), (7 * S, READY)],
            id="apply fails and recovers",
        ),
        pytest.param({"outcome": "hang"}, [(2 * S, APPLIED)], id="hang"),
        pytest.param(
            {"outcome": "hang", "recoverAfter": "1m"},
            [(2 * S, APPLIED), (62 * S, READY)],
            id="hang and recover",
        ),
        pytest.param({"outcome": "silent"}, [], id="silent"),
        pytest.param(
            {"outcome": "silent", "recoverAfter": "1m"}, [(60 * S, READY)], id="wakes up late"
        ),
        pytest.param(
            {"alternative": {"probability": 1.0, "outcome": "failApply"}},
            [(2 * S, FAILED)],
            id="certain alternative",
        ),
        pytest.param(
            {"alternative": {"probability": 0.0, "outcome": "failApply"}},
            [(2 * S, APPLIED), (12 * S, READY)],
            id="impossible alternative",
        ),
        pytest.param(
            {"flapping": {"period": "5s", "count": 2}},
            [
                (2 * S, APPLIED),
                (12 * S, READY),
                (17 * S, DEGRADED),
                (22 * S, READY),
                (27 * S, DEGRADED),
                (32 * S, READY),
            ],
            id="flapping",
        ),
        pytest.param(
            {"offline": [{"from": "0s", "to": "1m"}]},
            [(62 * S, APPLIED), (72 * S, READY)],
            id="out of touch when the work comes",
        ),
        pytest.param(
            {"offline": [{"from": "1s", "to": "20s"}]},
            [(20 * S, READY)],
            id="catches up with the latest only",
        ),
        pytest.param(
            {"offline": [{"from": "5s", "to": "12s"}]},
            [(2 * S, APPLIED), (12 * S, READY)],
            id="back at the very instant",
        ),
        pytest.param(
            {"offline": [{"from": "12s", "to": "15s"}, {"from": "15s", "to": "18s"}]},
            [(2 * S, APPLIED), (18 * S, READY)],
            id="two windows that touch",
        ),
        pytest.param(
            {"offline": [{"from": "2026-01-01T00:00:05Z"}]}, [(2 * S, APPLIED)], id="never back"
        ),
        pytest.param(
            {"applyAfter": "1500us", "readyAfter": "1us"},
            [(1500, APPLIED), (1501, READY)],
            id="microseconds",
        ),
    ],
)
def test_an_agent_reports_what_its_behaviour_says_at_the_instant(
    behaviour: Obj, expected: list[tuple[int, str]]
) -> None:
    assert staged(behaviour).play() == expected


@pytest.mark.parametrize(
    ("spec", "behaviour", "expected"),
    [
        (template(), {}, [(2 * S, "Applied+@1"), (12 * S, "Applied+@1 Available+@1")]),
        (template(), {"outcome": "fail"}, [(2 * S, "Applied-@1")]),
        (
            template("Progressing"),
            {},
            [
                (2 * S, "Applied+@1 Progressing+@1"),
                (12 * S, "Applied+@1 Available+@1 Progressing-@1"),
            ],
        ),
        (template("Progressing"), {"outcome": "fail"}, [(2 * S, "Applied-@1")]),
        (
            template("Complete"),
            {},
            [(2 * S, "Applied+@1 Complete-@1"), (12 * S, "Applied+@1 Available+@1 Complete+@1")],
        ),
        (
            template("Progressing", resource="statefulsets"),
            {},
            [(2 * S, "Applied+@1"), (12 * S, "Applied+@1 Available+@1")],
        ),
        (
            template(),
            {"flapping": {"period": "1s"}, "readyAfter": "0s"},
            [
                (2 * S, "Applied+@1 Available+@1"),
                (3 * S, "Applied+@1 Available-@1"),
                (4 * S, "Applied+@1 Available+@1"),
            ],
        ),
    ],
    ids=[
        "no rules",
        "no rule can say degraded",
        "progressing alone",
        "progressing alone cannot say degraded",
        "complete",
        "a rule that matches no manifest",
        "flapping without rules",
    ],
)
def test_only_conditions_that_rules_define_are_written(
    spec: Obj, behaviour: Obj, expected: list[tuple[int, str]]
) -> None:
    assert staged(behaviour, spec).play() == expected


def test_words_are_those_of_the_agents() -> None:
    stage = staged({})
    stage.play()

    said = {
        c["type"]: (c["reason"], c["message"]) for c in stage.hub.get(WORK)["status"]["conditions"]
    }

    assert said == {
        "Applied": ("AppliedManifestWorkComplete", "Apply manifest work complete"),
        "Available": ("ResourcesAvailable", "All resources are available"),
        "Progressing": ("ConditionRulesAggregated", "Manifest is not Progressing"),
        "Degraded": ("ConditionRulesAggregated", "Manifest is not Degraded"),
    }


def test_an_update_is_reported_at_its_generation_and_moves_times_only_with_the_status() -> None:
    stage = staged({})
    stage.play(60 * S)
    stage.change(template(image="web:2"))

    trace = stage.play()

    assert trace[2:] == [
        (62 * S, "Applied+@2 Available+@1 Degraded-@2 Progressing+@2"),
        (72 * S, "Applied+@2 Available+@2 Degraded-@2 Progressing-@2"),
    ]
    times = {
        kind: stage.condition(kind)["lastTransitionTime"][-3:-1]
        for kind in ("Applied", "Available", "Degraded", "Progressing")
    }
    assert times == {"Applied": "02", "Available": "12", "Degraded": "02", "Progressing": "12"}
    assert stage.condition("Progressing")["lastTransitionTime"] == "2026-01-01T00:01:12Z"


def test_a_change_in_the_middle_replaces_what_was_pending() -> None:
    stage = staged({})
    stage.play(7 * S)
    stage.change(template(image="web:2"))

    assert stage.play()[1:] == [
        (9 * S, "Applied+@2 Degraded-@2 Progressing+@2"),
        (19 * S, "Applied+@2 Available+@2 Degraded-@2 Progressing-@2"),
    ]


def test_a_change_of_labels_alone_starts_nothing() -> None:
    stage = staged({})
    stage.play(60 * S)
    stage.hub.patch(WORK, {"metadata": {"labels": {"a": "b"}}})

    assert stage.agents.next_at() is None


def test_at_most_two_status_writes_for_a_revision_that_goes_well() -> None:
    stage = staged({}, finalizers=False)
    before = stage.hub.list(MANIFEST_WORK).version
    stage.play()

    assert stage.hub.list(MANIFEST_WORK).version - before == 2


def test_the_flaw_of_stale_evaluation_claims_success_for_what_is_not_applied() -> None:
    stage = staged({"flaws": {"staleEvaluation": True}, "readyAfter": "20s"})
    stage.play(60 * S)
    stage.change(template(image="web:2"))

    assert stage.play()[2:] == [
        (60 * S, "Applied+@1 Available+@2 Degraded-@2 Progressing-@2"),
        (62 * S, "Applied+@2 Available+@2 Degraded-@2 Progressing-@2"),
        (72 * S, "Applied+@2 Available+@2 Degraded-@2 Progressing+@2"),
        (82 * S, "Applied+@2 Available+@2 Degraded-@2 Progressing-@2"),
    ]


def test_the_flaw_of_missed_progress_keeps_the_transition_time_of_the_first_install() -> None:
    stage = staged({"flaws": {"missedProgress": True}})
    stage.play(60 * S)
    stage.change(template(image="web:2"))

    assert stage.play()[2:] == [
        (62 * S, "Applied+@2 Available+@1 Degraded-@1 Progressing-@1"),
        (72 * S, "Applied+@2 Available+@2 Degraded-@2 Progressing-@2"),
    ]
    assert stage.condition("Progressing")["lastTransitionTime"] == "2026-01-01T00:00:12Z"


def test_flaws_concern_updates_alone() -> None:
    stage = staged({"flaws": {"staleEvaluation": True, "missedProgress": True}})

    assert stage.play() == [(2 * S, APPLIED), (12 * S, READY)]


def test_a_complete_work_is_never_applied_again() -> None:
    stage = staged({}, template("Complete"))
    stage.play(60 * S)
    stage.change(template(image="web:2"))

    assert stage.play()[2:] == [(60 * S, "Applied+@1 Available+@2 Complete+@2")]


@pytest.mark.parametrize(("skew", "shown"), [("90s", "00:01:32"), ("-1h", "23:00:02")])
def test_transition_times_are_the_agents_own_clock_in_whole_seconds(skew: str, shown: str) -> None:
    stage = staged({"clockSkew": skew, "applyAfter": "2750ms"})

    assert stage.play(5 * S) == [(2750 * MS, APPLIED)]
    assert stage.condition("Applied")["lastTransitionTime"].endswith(f"T{shown}Z")


def test_the_finalizer_is_set_with_the_first_word_and_goes_with_the_resources() -> None:
    stage = staged({"deleteAfter": "3s"})
    stage.play(20 * S)
    assert stage.hub.get(WORK)["metadata"]["finalizers"] == [FINALIZER]

    stage.hub.delete(WORK)

    assert [(at, shown.split()[-2:]) for at, shown in stage.play()[2:]] == [
        (20 * S, ["Deleting+@2", "Progressing-@1"]),
        (23 * S, ["gone"]),
    ]


def test_finalizers_of_others_are_left_alone() -> None:
    stage = Stage(defaults=HEALTHY)
    stage.agents.start()
    stage.create(finalizers=["example.com/other"])
    stage.play(20 * S)
    stage.hub.delete(WORK)
    stage.play(40 * S)

    assert stage.hub.get(WORK)["metadata"]["finalizers"] == ["example.com/other"]


def test_without_finalizers_a_work_is_gone_at_once() -> None:
    stage = staged({}, finalizers=False)
    stage.play(20 * S)
    stage.hub.delete(WORK)

    assert stage.play()[2:] == [(20 * S, "gone")]


def test_an_agent_out_of_touch_deletes_when_it_is_back() -> None:
    stage = staged({"offline": [{"from": "15s", "to": "1m"}], "deleteAfter": "0s"})
    stage.play(20 * S)
    stage.hub.delete(WORK)

    assert stage.play()[2:] == [(60 * S, "gone")]


def test_a_work_made_anew_is_dealt_other_cards() -> None:
    stage = staged({"readyAfter": {"min": "0s", "max": "1h"}, "deleteAfter": "0s"})
    stage.play(10 * S)
    stage.hub.delete(WORK)
    stage.play(20 * S)
    stage.create()
    stage.play(4000 * S)
    first, second = stage.trace[0][0], stage.trace[-1][0] - 20 * S

    assert stage.trace[-1][1] == READY
    assert second != first


@pytest.mark.parametrize(
    ("rule", "applies"),
    [
        ({"clusters": {"names": ["c1"]}}, True),
        ({"clusters": {"names": ["x", "c*"]}}, True),
        ({"clusters": {"names": ["c2"]}}, False),
        ({"clusters": {"matchLabels": {"region": "eu"}}}, True),
        ({"clusters": {"matchLabels": {"region": "us"}}}, False),
        ({"clusters": {"names": ["c1"], "matchLabels": {"region": "us"}}}, False),
        ({"manifests": {"image": "web:1"}}, True),
        ({"manifests": {"image": "web:2"}}, False),
        ({"manifests": {"kind": "Deployment", "name": "we*"}}, True),
        ({"manifests": {"kind": "ConfigMap"}}, False),
        ({"manifests": {"matchLabels": {"version": "web:1"}}}, True),
        ({"manifests": {"matchLabels": {"version": "web:2"}}}, False),
        (
            {"manifests": {"path": "spec.template.spec.containers[0].name", "equals": "web"}},
            True,
        ),
        ({"manifests": {"path": "spec.replicas", "equals": None}}, False),
        ({"revision": "r1*"}, True),
        ({"revision": "r2"}, False),
    ],
)
def test_a_rule_counts_only_for_what_it_selects(rule: Obj, applies: bool) -> None:
    stage = Stage(defaults=HEALTHY, rules=[{**rule, "behaviour": {"outcome": "failApply"}}])
    stage.hub.create(Ref(MANAGED_CLUSTER, "c1"), {"metadata": {"labels": {"region": "eu"}}})
    stage.agents.start()
    stage.create(annotations={"rollout-engine.io/revision": "r1abc"})

    assert stage.play()[0] == (2 * S, FAILED if applies else APPLIED)


def test_the_first_rule_that_matches_wins() -> None:
    stage = Stage(
        defaults=HEALTHY,
        rules=[
            {"clusters": {"names": ["c1"]}, "behaviour": {"outcome": "hang"}},
            {"behaviour": {"outcome": "failApply"}},
        ],
    )
    stage.agents.start()
    stage.create()
    stage.create(ref=Ref(MANIFEST_WORK, "c2/web"))

    assert stage.play() == [(2 * S, APPLIED), (2 * S, FAILED)]


def test_a_bad_release_is_bad_and_the_fix_is_good() -> None:
    stage = Stage(
        defaults=HEALTHY,
        rules=[{"manifests": {"image": "*:2"}, "behaviour": {"outcome": "fail"}}],
    )
    stage.agents.start()
    stage.create(template("Degraded", image="web:1"))
    for at, image in ((60, "web:2"), (120, "web:3")):
        stage.play(at * S)
        stage.change(template(image=image))

    assert [shown for _, shown in stage.play()][1::2] == [
        "Applied+@1 Available+@1 Degraded-@1",
        "Applied+@2 Available+@2 Degraded+@2",
        "Applied+@3 Available+@3 Degraded-@3",
    ]


def test_manifests_are_told_where_asked_for() -> None:
    stage = staged({}, resourceStatus=True)
    stage.play(5 * S)
    (applied,) = stage.hub.get(WORK)["status"]["resourceStatus"]["manifests"]
    stage.play(20 * S)
    (ready,) = stage.hub.get(WORK)["status"]["resourceStatus"]["manifests"]

    assert ready["resourceMeta"] == {
        "ordinal": 0,
        "group": "apps",
        "version": "v1",
        "kind": "Deployment",
        "resource": "deployments",
        "name": "web",
        "namespace": "default",
    }
    assert [c["type"] for c in applied["conditions"]] == ["Applied"]
    assert [(c["type"], c["reason"]) for c in ready["conditions"]] == [
        ("Applied", "AppliedManifestComplete"),
        ("Available", "ResourceAvailable"),
    ]
    assert ready["conditions"][0]["lastTransitionTime"] == "2026-01-01T00:00:02Z"


def test_a_manifests_applied_has_a_new_transition_time_for_every_generation() -> None:
    stage = staged({}, resourceStatus=True)
    stage.play(60 * S)
    stage.change(template(image="web:2"))
    stage.play()
    (entry,) = stage.hub.get(WORK)["status"]["resourceStatus"]["manifests"]

    assert [c["lastTransitionTime"][11:19] for c in entry["conditions"]] == ["00:01:02", "00:00:12"]


def test_conditions_of_others_stay_and_those_of_dropped_rules_go() -> None:
    stage = staged({})
    stage.play(60 * S)
    foreign = {"type": "Audited", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    conditions = [foreign, *stage.hub.get(WORK)["status"]["conditions"]]
    stage.hub.patch_status(WORK, {"status": {"conditions": conditions}})
    stage.hub.patch(WORK, {"spec": {"manifestConfigs": None}})

    assert stage.play()[-1][1] == "Applied+@2 Audited+@None Available+@2"


def test_many_clusters_share_equal_conditions() -> None:
    stage = Stage(defaults=HEALTHY)
    stage.agents.start()
    refs = [Ref(MANIFEST_WORK, f"c{number}/web") for number in range(20)]
    for ref in refs:
        stage.create(ref=ref)
    stage.play()

    assert len({id(stage.hub.get(ref)["status"]["conditions"]) for ref in refs}) == 1


class Faulty(MemoryHub):
    """A hub that fails status writes as told, after or instead of doing them."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__(clock)
        self.faults: list[HubError] = []
        self.meanwhile: Callable[[], None] | None = None

    def patch_status(self, ref: Ref, changes: Any, version: int | None = None) -> Obj:
        if self.meanwhile is not None:
            act, self.meanwhile = self.meanwhile, None
            act()
        if self.faults:
            raise self.faults.pop(0)
        return super().patch_status(ref, changes, version)


def faulty() -> tuple[Stage, Faulty]:
    stage = Stage(defaults=HEALTHY)
    hub = Faulty(stage.clock)
    stage.hub = hub
    hub.watch(MANIFEST_WORK, 0, stage._heard)
    stage.agents = Agents(hub, stage.clock, stage.scenario)
    stage.agents.start()
    stage.create()
    return stage, hub


@pytest.mark.parametrize(
    ("faults", "expected"),
    [
        ([Unavailable("cut")], [(3 * S, APPLIED), (12 * S, READY)]),
        ([Throttled("slow", timedelta(seconds=4))], [(6 * S, APPLIED), (12 * S, READY)]),
        ([Conflict("twice"), Conflict("twice")], [(2 * S, APPLIED), (12 * S, READY)]),
        ([Conflict("again")] * 5, [(3 * S, APPLIED), (12 * S, READY)]),
        ([Denied("no")], [(12 * S, READY)]),
    ],
    ids=["unavailable", "throttled", "conflict", "conflict without end", "denied"],
)
def test_a_failed_write_is_made_good(faults: list[HubError], expected: list[Any]) -> None:
    stage, hub = faulty()
    hub.faults = list(faults)

    assert stage.play() == expected


def test_a_conflict_is_read_again_and_others_changes_survive() -> None:
    stage, hub = faulty()

    def label() -> None:
        hub.patch(WORK, {"metadata": {"labels": {"a": "b"}}})

    hub.meanwhile = label

    assert stage.play() == [(2 * S, APPLIED), (12 * S, READY)]
    assert hub.get(WORK)["metadata"]["labels"] == {"a": "b"}


def test_a_change_found_by_a_conflict_starts_the_new_generation() -> None:
    stage, hub = faulty()
    hub.meanwhile = lambda: stage.change(template(image="web:2"))

    assert stage.play() == [
        (4 * S, "Applied+@2 Degraded-@2 Progressing+@2"),
        (14 * S, "Applied+@2 Available+@2 Degraded-@2 Progressing-@2"),
    ]


def test_a_work_that_vanishes_under_the_write_is_forgotten() -> None:
    stage, hub = faulty()

    def vanish() -> None:
        hub.patch(WORK, {"metadata": {"finalizers": None}})
        hub.delete(WORK)

    hub.meanwhile = vanish

    assert stage.play() == [(2 * S, "gone")]
    assert stage.agents.next_at() is None


def test_a_broken_watch_loses_nothing() -> None:
    stage = staged({})
    stage.play(5 * S)
    stage.agents._broke()
    stage.create(ref=Ref(MANIFEST_WORK, "c2/web"))

    assert stage.play() == [(2 * S, APPLIED), (7 * S, APPLIED), (12 * S, READY), (17 * S, READY)]


def test_closed_agents_see_nothing_more() -> None:
    stage = Stage(defaults=HEALTHY)
    stage.agents.start()
    stage.agents.close()
    stage.create()

    assert stage.agents.next_at() is None


def test_a_work_made_anew_behind_a_broken_watch_is_another_work() -> None:
    stage = staged({}, finalizers=False)
    stage.play(5 * S)
    stage.agents._broke()
    stage.hub.delete(WORK)
    stage.create()

    assert stage.play()[1:] == [(5 * S, "gone"), (7 * S, APPLIED), (17 * S, READY)]


def test_a_cluster_deleted_behind_a_broken_watch_is_gone() -> None:
    stage = Stage(defaults=HEALTHY)
    stage.hub.create(Ref(MANAGED_CLUSTER, "c1"), {})
    stage.agents.start()
    stage.create()
    stage.play(5 * S)
    stage.agents._broke()
    stage.hub.delete(Ref(MANAGED_CLUSTER, "c1"))

    assert stage.play() == [(2 * S, APPLIED)]


def test_a_work_for_a_deleted_cluster_is_not_taken_up() -> None:
    stage = Stage(defaults=HEALTHY)
    stage.hub.create(Ref(MANAGED_CLUSTER, "c1"), {})
    stage.agents.start()
    stage.hub.delete(Ref(MANAGED_CLUSTER, "c1"))
    stage.create()

    assert stage.play() == []


@pytest.mark.parametrize(
    ("kind", "resource"),
    [
        ("NetworkPolicy", "networkpolicies"),
        ("Ingress", "ingresses"),
        ("Gateway", "gateways"),
        ("Endpoints", "endpoints"),
        ("DaemonSet", "daemonsets"),
    ],
)
def test_a_rule_finds_its_manifest_by_the_resource_of_the_kind(kind: str, resource: str) -> None:
    spec = template("Progressing", resource=resource)
    spec["workload"]["manifests"][0]["kind"] = kind

    assert "Progressing+@1" in staged({}, spec).play()[0][1]


def test_several_manifests_with_a_rule_are_told_as_one() -> None:
    spec = template("Degraded")
    twin = {**deployment(), "metadata": {"name": "w2", "namespace": "default"}}
    spec["workload"]["manifests"].append(twin)
    stage = staged({}, spec)
    stage.play()

    assert stage.condition("Degraded")["message"] == "Aggregated from 2 manifest conditions"


def test_the_message_of_a_rule_is_told() -> None:
    spec = template("Progressing")
    spec["manifestConfigs"][0]["conditionRules"][0]["message"] = "still at it"
    stage = staged({}, spec)
    stage.play()

    assert stage.condition("Progressing")["message"] == "still at it"
