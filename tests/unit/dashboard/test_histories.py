"""Holds the pages of one rollout to what they say of its past and its future."""

import json
import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from rollout.analysis.histories import kept_pair
from rollout.clock import VirtualClock
from rollout.dashboard.analysis_pages import number_in, thresholds
from rollout.dashboard.app import application
from rollout.hub.base import Listing, StateKey
from rollout.hub.memory import MemoryHub
from rollout.measuring.values import AnalysisMetric
from rollout.model.kinds import CLUSTER_VALUES, REPLICA_SET, ROLLOUT_REVISION, Kind, Obj, Ref
from rollout.runtime.events import EVENT
from tests.support import make
from tests.support.dashboards import CANARIES, HOST, TOKEN, browsing, office_on, story_on
from tests.support.story import MIN, T0

WEB = "/rollouts/mwrs/default/web"


def test_the_timeline_says_what_happened_newest_first(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    kind, other = "ManifestWorkReplicaSet", "default/other"
    told = [
        ["2026-01-01T00:00:00Z", kind, "default/web", "RolloutStarted", "it begins"],
        ["2026-01-01T00:00:30Z", kind, other, "Else", "of another one"],
        ["2026-01-01T00:01:00Z", kind, "default/web", "StagePassed", "canaries <b>passed</b>"],
    ]
    with story_on(path) as story, browsing(path, story.clock) as client:
        story.hub.put_state(StateKey.TOLD, json.dumps(told).encode())
        page = client.get(WEB).text.partition('id="timeline"')[2]

    assert page.index("StagePassed") < page.index("it begins")
    assert "canaries &lt;b&gt;passed" in page
    assert "of another one" not in page
    assert 'datetime="2026-01-01T00:01:00Z"' in page


def test_a_revision_says_what_it_changed(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with story_on(path) as story, browsing(path, story.clock) as client:
        body = make.workload("cron", strategy=make.everywhere(), version="9")
        story.hub.patch(Ref(REPLICA_SET, "default/cron"), {"spec": body["spec"]})
        story.on(10 * MIN)
        second = _until(client, "/rollouts/mwrs/default/cron/revisions/2", "Compared with").text
        first = client.get("/rollouts/mwrs/default/cron/revisions/1").text

        assert client.get("/rollouts/mwrs/default/cron/revisions/7").status_code == 404
    assert 'class="minus">-' in second
    assert 'class="plus">+' in second
    assert "It is the first that is recorded" in first


class _Listing:
    """Lists revisions, and counts how often it is asked to."""

    def __init__(self, objects: Sequence[Obj]) -> None:
        self.objects, self.asked = tuple(objects), 0

    def list(self, kind: Kind, namespace: str | None = None) -> Listing:
        self.asked += 1
        return Listing(self.objects, 0)


def test_the_revision_before_a_large_number_is_found_by_one_look(tmp_path: Path) -> None:
    with story_on(tmp_path / "state.db") as story:
        spec = make.workload("cron", strategy=make.everywhere(), version="9")["spec"]
        story.hub.patch(Ref(REPLICA_SET, "default/cron"), {"spec": spec})
        story.on(10 * MIN)
        kept = story.hub.list(ROLLOUT_REVISION, "default").items
    late = [{**obj, "revision": 100_000 if obj["revision"] == 2 else 1} for obj in kept]
    hub = _Listing(late)

    new, old = kept_pair(hub, Ref(REPLICA_SET, "default/cron"), "100000")  # type: ignore[arg-type]  # it only lists

    assert new is not None
    assert old is not None
    assert (new.number, old.number, hub.asked) == (100_000, 1, 1)


class _Events(MemoryHub):
    """A server that has Events, and counts who asks for them."""

    def __init__(self) -> None:
        super().__init__(VirtualClock(T0))
        self.asked: list[str] = []

    def list(self, kind: Kind, *_: Any, **__: Any) -> Listing:
        assert kind is EVENT
        self.asked.append(threading.current_thread().name)
        regarding = {"kind": "ManifestWorkReplicaSet", "namespace": "default", "name": "web"}
        event = {"regarding": regarding, "reason": "Begun", "note": "it begins",
                 "reportingController": "rollout-controller", "eventTime": "2026-01-01T00:00:00Z"}  # fmt: skip
        return Listing((event,), 0)


def test_a_server_is_asked_for_events_by_whoever_looks_and_not_by_the_observer(
    tmp_path: Path,
) -> None:
    path, events = tmp_path / "state.db", _Events()
    with story_on(path) as story, office_on(path, story.clock) as (office, _):
        app = application(office, {HOST}, events=events)
        with TestClient(app, base_url=f"http://{HOST}") as client:
            client.get(f"/login?token={TOKEN}")
            pages = [client.get(WEB).text for _ in range(3)]

    assert all("it begins" in page for page in pages)
    assert len(events.asked) == 1  # and not again for five seconds
    assert "observer" not in events.asked[0]


def test_a_revision_of_other_values_says_which_rule_changed(tmp_path: Path) -> None:
    path, values = tmp_path / "state.db", Ref(CLUSTER_VALUES, "default/tiers")
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {}}
    told = make.workload("told", strategy=make.everywhere())
    told["spec"]["manifestWorkTemplate"]["workload"]["manifests"].append(secret)

    def rules(text: str) -> Obj:
        token = {
            "target": {"kind": "Secret"},
            "path": "/stringData/token",
            "literal": f"hush-{text}",
        }
        tier = {"target": {"kind": "ConfigMap"}, "path": "/data/tier", "value": f"'{text}'"}
        return {"workload": {"name": "told"}, "rules": [{"set": [tier, token]}]}

    obj = {"apiVersion": values.kind.api_version, "kind": values.kind.name, "spec": rules("one"),
           "metadata": {"name": "tiers", "namespace": "default"}}  # fmt: skip
    with story_on(path, obj, told, after=600) as story, browsing(path, story.clock) as client:
        story.hub.patch(values, {"spec": rules("two")})
        story.on(10 * MIN)
        page = _until(client, "/rollouts/mwrs/default/told/revisions/2", "Compared with").text
        cluster = client.get("/clusters/c00").text

    assert re.search(r'class="minus">- .*one', page)
    assert re.search(r'class="plus">\+ .*two', page)
    assert "hush-" not in page + cluster
    assert "Secret s /stringData/token" in cluster


def _until(client: TestClient, address: str, text: str) -> Any:
    for _ in range(2_400):
        answer = client.get(address)
        if text in answer.text:
            return answer
        threading.Event().wait(0.1)
    raise AssertionError(answer.text)


def test_the_outlook_says_when_half_and_nine_of_ten_runs_have_how_many_clusters(
    tmp_path: Path,
) -> None:
    path = tmp_path / "state.db"
    slow = make.workload("slow", strategy=CANARIES)
    with story_on(path, slow) as story, browsing(path, story.clock) as client:
        found = _until(client, "/rollouts/mwrs/default/slow/outlook", '"ended":true').json()

    assert found["p50"][-1][1] == found["p90"][-1][1] == 12
    assert found["p50"][0][0] <= found["p50"][-1][0]
    assert found["p50"][-1][0] <= found["p90"][-1][0]


@pytest.mark.parametrize(
    ("text", "number"),
    [("0.98", 0.98), ("[0.5, 1]", 0.5), ('"x"', None), ("[]", None), ("true", None), ("{", None)],
)
def test_a_measurement_is_drawn_where_it_is_a_number(text: str, number: float | None) -> None:
    assert number_in(text) == number


def test_thresholds_are_the_numbers_that_conditions_compare_with() -> None:
    metric = AnalysisMetric(
        name="m", provider={}, success="result[0] >= 0.99", failure="result[0] < -1.5e2 || x > 3"
    )

    assert thresholds(metric) == (("success", 0.99), ("failure", -150.0), ("failure", 3.0))
    assert thresholds(None) == ()
