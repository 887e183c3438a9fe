"""Holds each button to what it says, to whom it is given, and to what it may cost."""

import html
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from starlette.testclient import TestClient

from rollout.dashboard import actions, app
from rollout.dashboard.verbs import VERBS
from rollout.model import names
from rollout.model.kinds import (
    APPROVAL,
    FREEZE,
    REPLICA_SET,
    ROLLOUT_ANALYSIS,
    Kind,
    Obj,
    Ref,
)
from tests.stories.operating import freeze
from tests.stories.test_values import setting, values
from tests.support import make
from tests.support.dashboards import CANARIES, browsing, story_on
from tests.support.operated import asked, notes
from tests.support.story import MIN, Story

WEB = Ref(REPLICA_SET, "default/web")
IDLE = Ref(REPLICA_SET, "default/idle")
FORM = {"kind": "mwrs", "namespace": "default", "workload": "web", "shown": "1"}
FILLED = {
    "approve": {"gate": "before:rest"},
    "skip": {"clusters": "c05 c06"},
    "hold": {"clusters": "c05,c06"},
    "override": {"until": "1h"},
}


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    with story_on(tmp_path / "state.db") as story:
        yield story


@pytest.fixture
def client(story: Story, tmp_path: Path) -> Iterator[TestClient]:
    with browsing(tmp_path / "state.db", story.clock) as client:
        yield client


def forgery(client: TestClient) -> str:
    """The token of the session, as every form has it."""
    page = client.get("/act/freeze?shown=1").text
    found = re.search(r'name="forgery" value="([0-9a-f]+)"', page)
    assert found is not None, page
    return found[1]


def press(client: TestClient, verb: str, **fields: str) -> str:
    """Press it. Returns: the page that says what came of it."""
    filled = {**FORM, **FILLED.get(verb, {}), "reason": "lunch", **fields}
    answer = client.post(f"/act/{verb}", data={"forgery": forgery(client), **filled})
    assert answer.status_code == 200, answer.text
    return answer.text


@pytest.mark.parametrize(
    ("verb", "annotation", "value"),
    [
        pytest.param("pause", names.PAUSED, "true", id="pause"),
        pytest.param("skip", names.SKIP, "c05@", id="skip"),
        pytest.param("hold", names.HOLD, "c05,c06", id="hold"),
        pytest.param("override", names.OVERRIDE_CALENDARS, "2026-01-01T01:02:00Z", id="override"),
        pytest.param("retry", names.RETRY, "2026-01-01T00:02:00", id="retry"),
        pytest.param("abort", names.ABORT, "", id="abort"),
    ],
)
def test_a_button_sets_the_annotation_of_its_verb_with_who_and_why(
    story: Story, client: TestClient, verb: str, annotation: str, value: str
) -> None:
    press(client, verb)

    assert notes(story.hub, WEB)[annotation].startswith(value)
    assert "ann lunch" in asked(story.hub, WEB).values()


@pytest.mark.parametrize(
    ("verb", "before", "annotation"),
    [("resume", "pause", names.PAUSED), ("release", "hold", names.HOLD), ("unskip", "skip", names.SKIP)],
)  # fmt: skip
def test_a_button_takes_back_what_another_one_asked(
    story: Story, client: TestClient, verb: str, before: str, annotation: str
) -> None:
    press(client, before)
    press(client, verb)

    assert annotation not in notes(story.hub, WEB)


@pytest.mark.parametrize(("verb", "decision"), [("approve", "Approve"), ("reject", "Reject")])
def test_approving_and_rejecting_write_an_approval(
    story: Story, client: TestClient, verb: str, decision: str
) -> None:
    press(client, verb)

    (found,) = story.hub.list(APPROVAL).items
    spec = found["spec"]
    assert (spec["decision"], spec["actor"], spec["reason"]) == (decision, "ann", "lunch")
    assert spec["workload"]["name"] == "web"


def test_the_hub_is_frozen_and_runs_again(story: Story, client: TestClient) -> None:
    press(client, "freeze", until="2h")
    (found,) = story.hub.list(FREEZE).items
    assert found["spec"]["until"] == "2026-01-01T02:02:00Z"

    press(client, "unfreeze")
    (found,) = story.hub.list(FREEZE).items
    assert found["spec"]["until"] == "2026-01-01T00:02:00Z"


def test_what_cannot_be_done_is_said_and_nothing_is_written(
    story: Story, client: TestClient
) -> None:
    before = story.hub.get(WEB)
    fields = {**FORM, "reason": "no", "forgery": forgery(client)}

    answer = client.post("/act/undo", data=fields)

    assert answer.status_code == 409
    assert "there is no earlier revision to go back to" in answer.text
    assert story.hub.get(WEB) == before


@pytest.mark.parametrize("sent", ["", "0" * 64, "x"])
def test_a_form_without_the_token_of_the_session_does_nothing(
    story: Story, client: TestClient, sent: str
) -> None:
    answer = client.post("/act/pause", data={**FORM, "reason": "x", "forgery": sent})

    assert answer.status_code == 403
    assert names.PAUSED not in notes(story.hub, WEB)


def test_a_form_of_another_site_does_nothing(story: Story, client: TestClient) -> None:
    fields = {**FORM, "reason": "x", "forgery": forgery(client)}

    answer = client.post("/act/pause", data=fields, headers={"Sec-Fetch-Site": "cross-site"})

    assert answer.status_code == 403
    assert names.PAUSED not in notes(story.hub, WEB)


def test_nobody_acts_without_saying_why(story: Story, client: TestClient) -> None:
    answer = client.post("/act/pause", data={**FORM, "reason": " ", "forgery": forgery(client)})

    assert answer.status_code == 400
    assert "say why" in answer.text
    assert names.PAUSED not in notes(story.hub, WEB)


def test_looking_at_what_a_button_does_changes_nothing(story: Story, client: TestClient) -> None:
    before = story.hub.get(WEB), story.hub.list(APPROVAL).items, story.hub.list(FREEZE).items
    for verb in VERBS:
        fields = {**FORM, **FILLED.get(verb, {})}
        assert client.get(f"/act/{verb}", params=fields).status_code == 200

    after = story.hub.get(WEB), story.hub.list(APPROVAL).items, story.hub.list(FREEZE).items
    assert after == before


def test_a_confirmation_says_how_many_clusters_it_concerns_and_how_to_type_it(
    client: TestClient,
) -> None:
    page = client.get("/act/resume", params={**FORM, "workload": "idle"}).text

    assert "2 clusters written to right away, 12 clusters in all" in page
    assert "rollout resume mwrs idle -n default --by ann --reason REASON" in page
    assert "kubectl annotate manifestworkreplicasets idle -n default --overwrite" in page
    assert f"{names.PAUSED}-" in page


def test_what_a_button_stops_is_not_said_to_be_written_later(client: TestClient) -> None:
    page = client.get("/act/abort", params={**FORM, "workload": "idle"}).text

    assert "0 clusters written to right away, 12 clusters wait for as long as it is held" in page


def test_a_confirmation_that_costs_too_much_says_so_and_the_button_works_all_the_same(
    story: Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "CONFIRMATION_MEGABYTES", 20)
    for at in range(2_000):  # more than fits into what the process has free already
        story.add(make.cluster(f"more-{at:04}"))
    with browsing(tmp_path / "state.db", story.clock) as client:
        page = client.get("/act/pause", params=FORM).text
        press(client, "pause")

    assert "this takes more than the 20 MB" in page
    assert "What it will do" not in page
    assert notes(story.hub, WEB)[names.PAUSED] == "true"


def test_freezing_the_hub_tells_of_the_workloads_that_one_may_see_and_of_no_more_than_some(
    story: Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def may(verb: str, kind: Kind, namespace: str) -> bool:
        return kind is FREEZE or namespace == "other"

    asked = {"shown": "1", "until": "2h"}
    with browsing(tmp_path / "state.db", story.clock) as owner:
        every = owner.get("/act/freeze", params=asked).text
        monkeypatch.setattr(actions, "MOST_PLANNED", 1)
        some = owner.get("/act/freeze", params=asked).text
    with browsing(tmp_path / "state.db", story.clock, may=may) as stranger:
        none = stranger.get("/act/freeze", params=asked).text

    assert set(re.findall(r"<bdi>default/(\w+)</bdi></b>:", every)) == {"web", "api", "idle"}
    assert "And 2 workloads more that are not done" in some
    assert "default/" not in none


def test_an_approval_is_shown_as_the_object_that_kubectl_would_create(client: TestClient) -> None:
    page = client.get("/act/approve", params={**FORM, "gate": "before:rest"}).text

    assert "kubectl create -f -" in page
    assert "kind: Approval" in page


@pytest.mark.parametrize("verb", ["approve", "reject", "abort", "undo", "retry", "skip"])
def test_nobody_acts_on_a_revision_that_they_have_not_seen(
    story: Story, client: TestClient, verb: str
) -> None:
    page = html.unescape(client.get("/rollouts/mwrs/default/web").text)
    (link,) = re.findall(rf'id="act-{verb}" data-act href="([^"]*)"', page)
    shown = parse_qs(urlsplit(link).query)["seen"][0]
    form = {**FORM, **FILLED.get(verb, {}), "seen": shown, "reason": "it looks well"}
    assert f'name="seen" value="{shown}"' in client.get(f"/act/{verb}", params=form).text
    token = forgery(client)
    story.hub.patch(WEB, {"spec": make.workload("web", strategy=CANARIES, version="9")["spec"]})
    before = notes(story.hub, WEB)

    answer = client.post(f"/act/{verb}", data={**form, "forgery": token})

    assert answer.status_code == 409
    assert f"revision {shown} was shown, and now " in answer.text
    assert notes(story.hub, WEB) == before
    assert story.hub.list(APPROVAL).items == ()


def test_a_button_is_about_what_is_asked_for_though_its_values_cannot_be_followed(
    tmp_path: Path,
) -> None:
    """What was agreed before is still on the clusters; that was taken for what one looked at."""
    wrong = values({**setting(), "target": {"kind": "Deployment"}})
    with story_on(tmp_path / "state.db") as story:
        story.add(wrong)
        story.on(MIN)
        assert story.reason == "Misconfigured"
        with browsing(tmp_path / "state.db", story.clock) as client:
            press(client, "retry")

        assert names.RETRY in notes(story.hub, WEB)


@pytest.mark.parametrize("verb", ["hold", "skip"])
def test_a_verb_about_clusters_is_refused_where_none_is_named(
    story: Story, client: TestClient, verb: str
) -> None:
    before, form = notes(story.hub, WEB), {**FORM, "clusters": " , ", "reason": "x"}
    for answer in (
        client.get(f"/act/{verb}", params=form),
        client.post(f"/act/{verb}", data={**form, "forgery": forgery(client)}),
    ):
        assert answer.status_code == 400
        assert "Clusters is empty: fill in eu-1, eu-2, for example" in answer.text
        assert 'name="clusters"' in answer.text
    assert notes(story.hub, WEB) == before


def test_a_form_says_what_it_means_to_leave_a_field_empty(client: TestClient) -> None:
    asked = {key: FORM[key] for key in ("kind", "namespace", "workload")}

    assert "(empty: the override ends)" in client.get("/act/override", params=asked).text
    assert "empty: the override ends" in client.get("/act/override", params=FORM).text
    assert "(empty: all of them)" in client.get("/act/release", params=asked).text


@pytest.mark.parametrize(
    ("verb", "fields", "said"),
    [
        pytest.param("approve", {"workload": "gated"}, "has 2 gates: choose one: ", id="gate"),
        pytest.param("approve", {"workload": "measured"}, "as gate: cluster/NAME", id="cluster"),
        pytest.param(
            "hold", {"clusters": "nosuch"}, "is called nosuch; correct the name", id="name"
        ),
        pytest.param("freeze", {"until": "1h"}, "once somebody has ended it", id="shorter"),
        pytest.param(
            "undo", {"number": "x"}, "back to revision &#39;x&#39;: that is no", id="number"
        ),
        pytest.param("override", {"until": "soon"}, "until &#39;soon&#39; is neither", id="until"),
    ],
)
def test_a_refusal_names_no_option_of_the_command_line(
    tmp_path: Path, verb: str, fields: dict[str, str], said: str
) -> None:
    gated = make.workload(
        "gated", strategy=CANARIES, annotations={names.GATES: "before:rest,after:rest"}
    )
    measured = _measured(names.CLUSTER_ANALYSIS)
    path, stop = tmp_path / "state.db", freeze("stop-the-line", until="2026-01-02T00:00:00Z")
    form = {**FORM, **fields, "reason": "x"}
    with story_on(path, gated, stop, *measured) as story, browsing(path, story.clock) as client:
        seen = client.get(f"/act/{verb}", params=form)
        pressed = client.post(f"/act/{verb}", data={**form, "forgery": forgery(client)})

    assert (seen.status_code, pressed.status_code) == (200, 409)
    for answer in (seen, pressed):
        fault = answer.text.partition('class="fault"')[2].partition("</p>")[0]
        assert said in fault
        assert "--" not in fault


def _viewer(verb: str, kind: Kind, namespace: str) -> bool:
    return verb in ("get", "list", "watch")


@pytest.mark.parametrize("verb", list(VERBS))
def test_a_viewer_may_press_no_button(story: Story, tmp_path: Path, verb: str) -> None:
    fields = {**FORM, **FILLED.get(verb, {}), "reason": "x"}
    before = story.hub.get(WEB), story.hub.list(APPROVAL).items, story.hub.list(FREEZE).items
    with browsing(tmp_path / "state.db", story.clock) as owner:
        token = forgery(owner)
    with browsing(tmp_path / "state.db", story.clock, may=_viewer) as viewer:
        assert viewer.get(f"/act/{verb}", params=fields).status_code == 403
        sent = viewer.post(f"/act/{verb}", data={**fields, "forgery": token})

        assert sent.status_code == 403
        assert "data-act" not in viewer.get("/rollouts/mwrs/default/web").text
    assert before == (
        story.hub.get(WEB),
        story.hub.list(APPROVAL).items,
        story.hub.list(FREEZE).items,
    )


def _elsewhere(verb: str, kind: Kind, namespace: str) -> bool:
    return namespace == "other"


def test_what_somebody_may_not_see_is_not_on_the_list_and_has_no_page(
    story: Story, tmp_path: Path
) -> None:
    with browsing(tmp_path / "state.db", story.clock, may=_elsewhere) as stranger:
        assert "web" not in stranger.get("/").text.partition("<main")[2]
        assert stranger.get("/rollouts/mwrs/default/web").status_code == 403


def _measured(annotation: str) -> list[Obj]:
    """A workload of which a metric is measured that cannot be reached."""
    metric = {
        "name": "rate",
        "interval": "1m",
        "count": 3,
        "successCondition": "result > 0.9",
        "provider": {"prometheus": {"address": "http://p", "query": "rate"}},
    }
    template = {
        "apiVersion": ROLLOUT_ANALYSIS.api_version,
        "kind": ROLLOUT_ANALYSIS.name,
        "metadata": {"name": "slo", "namespace": "default"},
        "spec": {"metrics": [metric]},
    }
    return [
        template,
        make.workload("measured", strategy=CANARIES, annotations={annotation: "slo"}),
    ]


def _button(page: str, name: str) -> dict[str, str]:
    """What the button of this name fills in."""
    found = re.search(rf'id="{name}" data-act href="([^"]+)"', page)
    assert found is not None, page
    return {
        key: values[0] for key, values in parse_qs(urlsplit(html.unescape(found[1])).query).items()
    }


@pytest.mark.parametrize(
    ("page", "button"),
    [
        pytest.param("/rollouts/mwrs/default/measured", "approve-c00", id="rollout"),
        pytest.param("/clusters/c00", "approve-mwrs/default/measured", id="cluster"),
    ],
)
def test_what_is_measured_of_a_cluster_is_approved_where_the_cluster_waits_for_it(
    tmp_path: Path, page: str, button: str
) -> None:
    path, measured = tmp_path / "state.db", _measured(names.CLUSTER_ANALYSIS)
    with story_on(path, *measured, after=1800) as story, browsing(path, story.clock) as client:
        filled = _button(client.get(page).text, button)
        told = press(client, "approve", **filled)
        story.on(10 * MIN)
        with browsing(path, story.clock, may=_viewer) as viewer:
            assert "data-act" not in viewer.get(page).text
        [approval] = [obj["spec"] for obj in story.hub.list(APPROVAL).items]

    assert "what is measured of cluster c00 of revision" in told
    assert approval["gate"] == "cluster/c00"
    assert filled["seen"] == approval["revision"]


def test_what_is_measured_in_the_background_is_approved_with_a_button(tmp_path: Path) -> None:
    path, measured = tmp_path / "state.db", _measured(names.ANALYSIS)
    with story_on(path, *measured, after=1800) as story, browsing(path, story.clock) as client:
        filled = _button(client.get("/rollouts/mwrs/default/measured").text, "act-approve")
        told = press(client, "approve", **{**filled, "gate": ""})

    assert "every gate of revision" in told
