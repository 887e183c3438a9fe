"""Holds the page What if to its answers, to who may have them, and to what a question may cost."""

import html
import json
import multiprocessing
import re
import threading
from pathlib import Path

import pytest
import yaml
from starlette.testclient import TestClient

from rollout.analysis.outcomes import outlook
from rollout.dashboard.foreseeing import WhatIfQuery, foresee
from rollout.dashboard.what_if import WhatIfRun, WhatIfs
from rollout.errors import Unavailable
from rollout.model.kinds import REPLICA_SET, Kind, Ref
from tests.support import make
from tests.support.dashboards import CANARIES, browsing, office_on, story_on
from tests.support.story import MIN, T0

WEB = {"workload": "mwrs/default/web"}
FRESH = yaml.safe_dump(make.workload("fresh", strategy=CANARIES))
ANOTHER = yaml.safe_dump(make.workload("fresh", strategy=make.everywhere()))
BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(20)
)


def _asked(client: TestClient, **fields: str) -> str:
    """The answer, once there is all of it."""
    form = client.get("/what-if").text
    forgery = form.partition('name="forgery" value="')[2].partition('"')[0]
    answer = client.post("/what-if", data={"forgery": forgery, "runs": "10", **fields})
    for _ in range(2_400):
        if "data-soon" not in answer.text:
            return answer.text
        threading.Event().wait(0.1)
        answer = client.get(answer.url)
    raise AssertionError("no answer")


def test_a_workload_as_it_stands_is_simulated_from_now_on(client: TestClient) -> None:
    page = _asked(client, **WEB)

    assert "10 runs" in page
    assert "held</dt><dd>100.0 %" in page  # at its gate
    assert "Right away" not in page


def test_what_is_pasted_is_planned_and_simulated(client: TestClient) -> None:
    page = _asked(client, a=FRESH, failing="0")

    assert re.search(r"Chance of halting</dt><dd[^>]*>0.0 %", page)
    assert "time to finish" in page
    assert "2 clusters written to right away, 12 clusters in all" in page
    assert "<rect" in page
    assert 'class="plus">+' in page
    assert FRESH.strip() in html.unescape(page), "what was asked can be asked again"


def test_where_clusters_fail_it_says_how_likely_it_halts_and_how_many_are_touched_then(
    client: TestClient,
) -> None:
    page = _asked(client, a=FRESH, failing="100")

    assert re.search(r"Chance of halting</dt><dd[^>]*>100.0 %", page)
    assert "Clusters touched before it halts" in page


def test_two_strategies_are_compared(client: TestClient) -> None:
    page = _asked(client, a=FRESH, b=ANOTHER, failing="0")

    assert "Compared" in page
    assert "time to finish, p50" in page
    assert "12 clusters written to right away" in page


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"a": "kind: [", **WEB}, "text 1:"),
        ({"a": "kind: ManifestWorkReplicaSet\nmetadata: {name: x}"}, "apiVersion is missing"),
        ({}, "name a workload"),
        ({"workload": "web"}, "is not written as mwrs/NAMESPACE/NAME"),
        ({**WEB, "runs": "0"}, "is not a number from 1 to"),
        ({**WEB, "failing": "120"}, "is not a share of clusters"),
        ({**WEB, "a": "x" * 70_000}, "characters: at most"),
        ({**WEB, "a": BOMB}, "text 1"),
    ],
)
def test_what_cannot_be_answered_is_refused_in_words(
    client: TestClient, fields: dict[str, str], said: str
) -> None:
    assert said in _asked(client, **fields)


def test_a_plan_hands_over_no_more_of_its_diff_than_a_page_shows(client: TestClient) -> None:
    lines = json.dumps("\n".join(f"line {n} of many" for n in range(1_000)))
    aliases = "".join(f"          a{n}: *a\n" for n in range(100))
    bomb = f"""apiVersion: work.open-cluster-management.io/v1alpha1
kind: ManifestWorkReplicaSet
metadata: {{namespace: default, name: bomb}}
spec:
  placementRefs: [{{name: p, rolloutStrategy: {{type: All}}}}]
  manifestWorkTemplate:
    workload:
      manifests:
      - apiVersion: v1
        kind: ConfigMap
        metadata: {{name: x, namespace: default}}
        data:
          a: &a {lines}
{aliases}"""
    page = _asked(client, a=bomb, runs="1")

    assert "12 clusters written to right away" in page
    assert "more characters" in page
    assert len(page) < 500_000


def test_nobody_learns_of_objects_that_they_may_not_read(tmp_path: Path) -> None:
    def may(verb: str, kind: Kind, namespace: str) -> bool:
        return not (kind.name == "Placement" and verb == "get")

    path = tmp_path / "state.db"
    pasted = yaml.safe_dump_all([make.placement("p"), make.workload("web")])
    with story_on(path) as story, browsing(path, story.clock, may=may) as client:
        page = _asked(client, a=pasted)

    assert "may not get placements in namespace default" in page
    assert "Right away" not in page


def test_a_forged_form_begins_nothing(client: TestClient) -> None:
    assert client.post("/what-if", data={"forgery": "no", **WEB}).status_code == 403


def _done(run: WhatIfRun) -> WhatIfRun:
    for _ in range(2_400):
        if run.ended:
            return run
        threading.Event().wait(0.1)
    raise AssertionError("it never ends")


@pytest.mark.parametrize(("seconds", "megabytes"), [(2, 512), (60, 40)])
def test_a_question_takes_no_more_time_and_memory_than_it_may(
    tmp_path: Path, seconds: int, megabytes: int
) -> None:
    path = tmp_path / "state.db"
    with story_on(path) as story, office_on(path, story.clock) as (_, observer):
        asked = WhatIfs(observer, seconds=seconds, megabytes=megabytes)
        query = WhatIfQuery(ref=Ref(REPLICA_SET, "default/web"), runs=100_000, failing=0.5)
        run = _done(asked.start(query, "ann", lambda _: ""))

    assert "this takes more than" in run.fault


@pytest.mark.parametrize(
    ("ref", "heard"),
    [
        pytest.param(Ref(REPLICA_SET, "default/web"), 0, id="from the beginning"),
        pytest.param(Ref(REPLICA_SET, "default/web"), 1, id="when it asks for objects"),
        pytest.param(None, 0, id="when it refuses"),
    ],
)
def test_a_question_ends_quietly_where_nobody_listens_any_more(ref: Ref | None, heard: int) -> None:
    spawning = multiprocessing.get_context("spawn")
    ours, theirs = spawning.Pipe()
    query = WhatIfQuery(ref=ref, runs=1)
    process = spawning.Process(target=foresee, args=(theirs, query, 512, 60))
    if not heard:
        ours.close()
    process.start()
    theirs.close()
    if heard:
        ours.recv()
        ours.close()
    process.join(240)

    assert process.exitcode == 0


def test_a_person_has_one_question_and_all_together_few(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with story_on(path) as story, office_on(path, story.clock) as (_, observer):
        asked = WhatIfs(observer, seconds=60, most=2)
        query = WhatIfQuery(ref=Ref(REPLICA_SET, "default/web"), runs=100_000, failing=0.5)
        first = asked.start(query, "ann", lambda _: "")
        second = asked.start(query, "ann", lambda _: "")
        asked.start(query, "ben", lambda _: "")
        with pytest.raises(Unavailable, match="2 questions are being answered"):
            asked.start(query, "eve", lambda _: "")
        assert "another question" in _done(first).fault
        assert asked.find(second.name, "ben") is None
        asked.close()
        _done(second)


def test_an_outlook_says_by_when_half_and_nine_of_ten_runs_have_so_many() -> None:
    runs = [[T0 + n * MIN, T0 + 2 * n * MIN] for n in range(1, 11)]
    runs[9] = runs[9][:1]

    found = outlook(runs)

    assert [(p.clusters, p.p50, p.p90) for p in found] == [
        (1, T0 + 5 * MIN, T0 + 9 * MIN),
        (2, T0 + 10 * MIN, T0 + 18 * MIN),
    ]
    assert outlook([]) == ()
