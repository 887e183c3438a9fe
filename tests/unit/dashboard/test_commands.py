"""Holds the commands that a confirmation prints to doing what its button does."""

import html
import json
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from starlette.testclient import TestClient

from rollout.clock import Clock, VirtualClock
from rollout.dashboard.app import application
from rollout.dashboard.verbs import VERBS
from rollout.hub.admission import admit
from rollout.hub.base import EmbeddedHub
from rollout.hub.sqlite import SqliteHub
from rollout.model.kinds import APPROVAL, FREEZE, KINDS, REPLICA_SET, Obj, Ref, key_of, ref_of
from tests.support import make
from tests.support.dashboards import HOST, TOKEN, office_on, story_on
from tests.support.shapes import run
from tests.support.story import MIN, T0

FORM = {"kind": "mwrs", "namespace": "default", "workload": "cron", "shown": "1"}
FILLED = {
    "skip": {"clusters": "c05 c06"},
    "hold": {"clusters": "c05,c06"},
    "override": {"until": "1h"},
    "freeze": {"until": "2h"},
    "approve": {"gate": "before:rest", "workload": "web"},
}
BEFORE = {"resume": "pause", "release": "hold", "unskip": "skip", "unfreeze": "freeze"}
"""What must have been asked for before."""


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state file on which every verb can be asked for."""
    path = tmp_path_factory.mktemp("hub") / "state.db"
    with story_on(path) as story:
        spec = make.workload("cron", strategy=make.everywhere(), version="3")["spec"]
        story.hub.patch(Ref(REPLICA_SET, "default/cron"), {"spec": spec})
        story.on(10 * MIN)
    return path


@contextmanager
def _browsing(path: Path) -> Iterator[TestClient]:
    clock = VirtualClock(T0 + 20 * MIN)
    with office_on(path, clock) as (office, _):
        office.options = f"--state {path}"
        with TestClient(application(office, {HOST}), base_url=f"http://{HOST}") as client:
            client.get(f"/login?token={TOKEN}")
            yield client


def _fields(verb: str) -> dict[str, str]:
    return {**FORM, **FILLED.get(verb, {})}


def _press(client: TestClient, verb: str, fields: Mapping[str, str]) -> list[str]:
    """Press it. Returns: the commands that its confirmation printed."""
    page = client.get(f"/act/{verb}", params=fields).text
    forgery = re.search(r'name="forgery" value="(\w+)"', page)
    assert forgery is not None, page
    sent = {**fields, "reason": "REASON", "forgery": forgery[1]}
    pressed = client.post(f"/act/{verb}", data=sent)
    assert pressed.status_code == 200, pressed.text
    return [html.unescape(each) for each in re.findall(r"<pre>(.*?)</pre>", page, re.DOTALL)]


def _type_rollout(path: Path, command: str) -> None:
    _, *words = shlex.split(command)
    done = run(*words[:-2], state=path)
    assert words[-2] == "--state"
    assert done.exit_code == 0, done.output


def _type_kubectl(hub: EmbeddedHub, command: str) -> None:
    """What kubectl would do."""
    if command.startswith("kubectl create -f - <<'END'\n"):
        obj = yaml.safe_load(command.partition("\n")[2].removesuffix("END"))
        hub.create(ref_of(KINDS[obj["kind"]], obj), obj)
        return
    words = shlex.split(command)
    assert words[0] == "kubectl"
    kind = next(each for each in KINDS.values() if each.plural == words[2])
    namespace = words[words.index("-n") + 1] if "-n" in words else ""
    ref = Ref(kind, key_of(namespace, words[3]))
    if words[1] == "patch":
        assert "--type=merge" in words
        hub.patch(ref, json.loads(words[words.index("-p") + 1]))
        return
    assert words[1] == "annotate"
    pairs = words[words.index("--overwrite") + 1 :]
    notes = {each.partition("=")[0]: each.partition("=")[2] for each in pairs if "=" in each}
    gone = {each.removesuffix("-"): None for each in pairs if "=" not in each}
    hub.patch(ref, {"metadata": {"annotations": {**notes, **gone}}})


def _written(path: Path) -> dict[str, Any]:
    """What people ask for on a hub, without when they did."""
    with closing(_opened(path)) as hub:
        found = {
            str(ref): hub.get(ref)["metadata"].get("annotations")
            for ref in (Ref(REPLICA_SET, f"default/{name}") for name in ("cron", "web"))
        }
        for kind in (APPROVAL, FREEZE):
            found[kind.name] = [_asked(obj) for obj in hub.list(kind).items]
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "AT", json.dumps(found))
    return dict(json.loads(text))


def _asked(obj: Obj) -> Obj:
    return {"spec": obj["spec"], "notes": obj["metadata"].get("annotations")}


def _opened(path: Path, clock: Clock | None = None) -> SqliteHub:
    return SqliteHub(path, clock or VirtualClock(T0 + 20 * MIN), create=False, admit=admit)


@pytest.mark.parametrize("verb", list(VERBS))
def test_what_a_confirmation_prints_does_what_its_button_does(
    hub: Path, tmp_path: Path, verb: str
) -> None:
    start, pressed, typed, by_kubectl = (
        tmp_path / name for name in ("s.db", "p.db", "t.db", "k.db")
    )
    shutil.copy(hub, start)
    if verb in BEFORE:
        with _browsing(start) as client:
            _press(client, BEFORE[verb], {**_fields(BEFORE[verb]), "until": ""})
    for each in (pressed, typed, by_kubectl):
        shutil.copy(start, each)
    before = _written(start)
    with _browsing(pressed) as client:
        ours, *others = _press(client, verb, _fields(verb))
    assert ours.endswith(f"--state {pressed}")
    _type_rollout(typed, ours)
    with closing(_opened(by_kubectl)) as file:
        for command in others:
            _type_kubectl(file, command)

    assert others
    assert _written(typed) == _written(pressed) != before
    assert _written(by_kubectl) == _written(pressed)
