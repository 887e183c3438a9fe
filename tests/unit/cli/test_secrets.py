"""Whatever is typed, and whatever comes of it: no Secret's data is printed, logged or written down."""

import base64
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from rollout.clock import SystemClock
from rollout.hub.sqlite import SqliteHub
from rollout.model.kinds import CLUSTER_VALUES, KINDS, MANIFEST_WORK, Obj, Ref
from tests.support.halted import SILENT, STRATEGY
from tests.support.shapes import binding, cluster, cluster_set, placement, run, workload, write

PLAIN = "hunter2-canary"
CODED = base64.b64encode(PLAIN.encode()).decode()
OTHER = "xyzzy3-canary"
OTHER_CODED = base64.b64encode(OTHER.encode()).decode()
LEAKS = (PLAIN, CODED, CODED.rstrip("="), OTHER, OTHER_CODED.rstrip("="))
CHANGES = 10


def secret(name: str, plain: str) -> Obj:
    coded = base64.b64encode(plain.encode()).decode()
    found: Obj = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": "default"},
        "data": {"password": coded},
        "stringData": {"token": plain},
    }
    copy = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(found)}
    return {**found, "metadata": {**found["metadata"], "annotations": copy}}


def secretive(plain: str = PLAIN, **annotations: str) -> Obj:
    """A workload with a Secret, one in a List, and a feedback rule on the first."""
    obj = workload(strategy=STRATEGY)
    template = obj["spec"]["manifestWorkTemplate"]
    nested = {"apiVersion": "v1", "kind": "List", "items": [secret("two", plain)]}
    template["workload"]["manifests"] += [secret("one", plain), nested]
    rule = {"type": "JSONPaths", "jsonPaths": [{"name": "p", "path": ".data.password"}]}
    which = {"group": "", "resource": "secrets", "name": "one", "namespace": "default"}
    template["manifestConfigs"] = [{"resourceIdentifier": which, "feedbackRules": [rule]}]
    copy = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(obj), **annotations}
    return {**obj, "metadata": {**obj["metadata"], "annotations": copy}}


def values_for_it(**setting: str) -> Obj:
    """ClusterValues that set a field of the first Secret."""
    target = {"kind": "Secret", "name": "one"}
    rule = {"set": [{"target": target, "path": "/stringData/token", **setting}]}
    return {
        "apiVersion": CLUSTER_VALUES.api_version,
        "kind": CLUSTER_VALUES.name,
        "metadata": {"name": "tokens", "namespace": "default"},
        "spec": {"workload": {"name": "web"}, "rules": [rule]},
    }


class Told:
    """Everything that the commands of a test have printed, logged, and written to files."""

    def __init__(self, place: Path, caplog: pytest.LogCaptureFixture) -> None:
        self.place, self.state = place / "out", place / "state.db"
        self.place.mkdir()
        self._caplog = caplog
        caplog.set_level(logging.DEBUG)
        self.texts: list[tuple[str, str]] = []

    def run(self, *words: str, code: int | None = None, stdin: str | None = None) -> Result:
        found = run(*words, "-vv", state=self.state, stdin=stdin)
        assert code is None or found.exit_code == code, found.output
        assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
        if "--show-secrets" not in words:
            self.texts.append((" ".join(words), found.stdout + found.stderr))
        return found

    def leaks(self) -> list[str]:
        """Who told: the command, log line, or file."""
        files = [(path.name, path.read_text()) for path in self.place.iterdir()]
        logs = [("log", record.getMessage()) for record in self._caplog.records]
        everything = [*self.texts, *files, *logs]
        return [who for who, text in everything if any(leak in text for leak in LEAKS)]

    def of(self, command: str) -> str:
        """All that a command has printed."""
        return "".join(text for who, text in self.texts if who == command)


@pytest.fixture
def told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Told:
    return Told(tmp_path, caplog)


@pytest.fixture
def fleet(tmp_path: Path) -> str:
    clusters = [cluster(f"c{i}") for i in range(1, 7)]
    return write(
        tmp_path / "fleet.yaml", cluster_set(), binding(), *clusters, placement(), secretive(), SILENT,
        values_for_it(literal=PLAIN),
    )  # fmt: skip


@pytest.fixture
def changed(tmp_path: Path) -> str:
    rule = values_for_it(value=f"'{OTHER}' + cluster.name")
    return write(tmp_path / "changed.yaml", secretive(OTHER), rule)


def ask_everything(told: Told, path: str) -> None:
    """Every verb that only asks, in every form."""
    for kind in KINDS.values():
        for output in ("table", "wide", "name", "json", "yaml"):
            told.run("get", kind.plural, *(["-A"] if kind.namespaced else []), "-o", output)
    for form in ("text", "json"):
        told.run("explain", "rollout", "web", "-o", form)
        told.run("explain", "placement", "fleet", "-o", form)
        told.run("explain", "cluster", "c1", "-o", form)
        told.run("explain", "cluster", "c2", "-o", form)
        told.run("describe", "mwrs", "web", "-o", form)
        told.run("render", "web", "--cluster", "c1", "-o", form)
        told.run("history", "mwrs", "web", "-o", form)
        told.run("list", "-A", "-o", form)
        told.run("validate", "-f", path, "-o", form)
        told.run("plan", "-f", path, "--all", "-o", form, code=CHANGES)
        told.run("simulate", "-f", path, "-o", form)
    told.run("simulate", "-f", path, "--svg", str(told.place / "run.svg"))
    told.run("simulate", "-f", path, "--runs", "2")
    told.run("status", "mwrs", "web")


def agent_says(told: Told, key: str) -> None:
    """An agent that quotes the Secret, in its conditions and in what it feeds back."""
    hub = SqliteHub(told.state, SystemClock())
    ref = Ref(MANIFEST_WORK, key)
    said = {"status": "False", "reason": "AppliedManifestFailed", "observedGeneration": 1,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
            "message": f'Secret "one": bad value {PLAIN}, {CODED}'}  # fmt: skip
    value = {"name": "p", "fieldValue": {"type": "String", "string": CODED}}
    manifest = {
        "resourceMeta": {"ordinal": 1, "kind": "Secret", "resource": "secrets", "name": "one"},
        "statusFeedback": {"values": [value]},
        "conditions": [{"type": "Applied", **said}],
    }
    hub.patch_status(ref, {"status": {
        "conditions": [{"type": "Applied", **said}],
        "resourceStatus": {"manifests": [manifest]},
    }})  # fmt: skip
    hub.close()


def test_no_verb_tells_it_through_halt_plan_apply_and_removal(
    told: Told, fleet: str, changed: str
) -> None:
    plan = str(told.place / "plan.json")
    told.run("plan", "-f", fleet)
    told.run("run", "-f", fleet, "--clock", "virtual", code=1)
    works = json.loads(told.run("get", "manifestworks", "-A", "-o", "json", code=0).stdout)["items"]
    agent_says(told, f"c1/{works[0]['metadata']['name']}")
    ask_everything(told, changed)
    told.run("plan", "-f", changed, "--show-secrets", "--out", plan, code=CHANGES)
    assert not any(leak in Path(plan).read_text() for leak in LEAKS)
    told.run("plan", "-f", changed, "--out", plan, code=CHANGES)
    told.run("apply", "--plan", plan, code=0)
    told.run("apply", "--plan", plan, code=1)
    told.run("run", "--clock", "virtual")
    ask_everything(told, fleet)
    told.run("delete", "-f", changed)

    assert told.leaks() == []
    assert "***" in told.of("get manifestworks -A -o yaml")
    assert "***" in told.of("explain cluster c1 -o text")


@pytest.mark.parametrize("verb", ["validate", "plan", "run"])
def test_an_expression_for_it_that_is_no_cel_is_not_quoted(
    told: Told, tmp_path: Path, fleet: str, verb: str
) -> None:
    write(tmp_path / "wrong.yaml", values_for_it(value=f"'{OTHER}"))
    clock = ("--clock", "virtual") if verb == "run" else ()
    told.run("apply", "-f", fleet, code=0)

    found = told.run(verb, "-f", str(tmp_path / "wrong.yaml"), *clock)

    assert "it is not valid CEL" in found.output
    assert told.leaks() == []


def test_nor_is_one_for_it_where_it_stands_in_another_manifest(told: Told, tmp_path: Path) -> None:
    obj, rule = workload(), values_for_it(value=f"'{OTHER}")
    bundle = {
        "apiVersion": "example.com/v1",
        "kind": "Bundle",
        "metadata": {"name": "b", "namespace": "default"},
        "objects": [secret("one", PLAIN)],
    }
    obj["spec"]["manifestWorkTemplate"]["workload"]["manifests"].append(bundle)
    (setting,) = rule["spec"]["rules"][0]["set"]
    setting |= {"target": {"kind": "Bundle"}, "path": "/objects[0]/stringData/token"}
    path = write(tmp_path / "bundle.yaml", obj, rule)

    assert "it is not valid CEL" in told.run("validate", "-f", path, code=1).output
    assert told.leaks() == []


@pytest.mark.parametrize(
    "manifests",
    [
        pytest.param({"kind": "Secret", "data": PLAIN}, id="no list"),
        pytest.param([CODED], id="no object"),
        pytest.param([{"kind": "Secret", "apiVersion": 1, "metadata": PLAIN}], id="no metadata"),
        pytest.param(PLAIN, id="text"),
    ],
)
@pytest.mark.parametrize("verb", ["apply", "plan", "validate", "run", "simulate"])
def test_a_refusal_does_not_quote_it(
    told: Told, tmp_path: Path, manifests: Any, verb: str
) -> None:  # fmt: skip
    obj = secretive()
    obj["spec"]["manifestWorkTemplate"]["workload"]["manifests"] = manifests
    obj["spec"]["manifestWorkTemplate"]["manifestConfigs"] = [{"feedbackRules": []}]

    found = told.run(verb, "-f", write(tmp_path / "bad.yaml", obj))

    assert found.exit_code != 0
    assert told.leaks() == []


@pytest.mark.parametrize(
    "text",
    [
        f"*{PLAIN}",
        f"!{PLAIN} x",
        f"!!int {PLAIN}",
        f"'{PLAIN}",
        f'"{PLAIN}\\q"',
        f"{{{PLAIN}: [",
        f"%{PLAIN}",
        f"{PLAIN}: {PLAIN}: x",
        f"@{PLAIN}",
    ],
)
@pytest.mark.parametrize("verb", ["apply", "validate"])
def test_text_that_cannot_be_read_is_not_quoted(
    told: Told, tmp_path: Path, text: str, verb: str
) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text(f"apiVersion: v1\nkind: Secret\nstringData:\n  password: {text}\n")

    found = told.run(verb, "-f", str(path))

    assert found.exit_code == 1
    assert told.leaks() == []


def test_it_is_shown_where_it_is_asked_for(told: Told, fleet: str, changed: str) -> None:
    told.run("apply", "-f", fleet, code=0)

    shown = told.run("get", "mwrs", "web", "-o", "yaml", "--show-secrets").stdout
    planned = told.run("plan", "-f", changed, "--show-secrets").stdout

    assert CODED in shown
    assert OTHER in planned


def test_what_was_printed_with_masks_cannot_be_applied(told: Told, fleet: str) -> None:
    told.run("apply", "-f", fleet, code=0)
    masked = told.run("get", "mwrs", "web", "-o", "yaml").stdout
    whole = told.run("get", "mwrs", "web", "-o", "yaml", "--show-secrets").stdout

    refused = told.run("apply", "-f", "-", stdin=masked, code=1)
    told.run("apply", "-f", "-", stdin=whole, code=0)

    assert "masked values" in refused.stderr
    assert "--show-secrets" in refused.stderr
    assert CODED in told.run("get", "mwrs", "web", "-o", "yaml", "--show-secrets").stdout
