"""What the pages of how-tos in docs show is what happens."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from rollout.account.states import Code
from rollout.api.own import decode_approval
from rollout.clock import SystemClock
from rollout.fleet.watched import WATCHED
from rollout.hub.admission import admit
from rollout.hub.memory import MemoryHub
from rollout.model.effects import EFFECTS
from rollout.model.intents import read_intents
from rollout.model.kinds import APPROVAL, Obj, ref_of
from tests.support.shapes import run

ROOT = Path(__file__).parents[3]
ELLIPSIS = "..."


def commands(page: str) -> list[tuple[str, list[str]]]:
    """Each command of a page with the lines that it is said to print."""
    text = (ROOT / "docs" / page).read_text()
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ rollout "):
                found.append((line.removeprefix("$ rollout "), []))
            else:
                found[-1][1].append(line)
    return found


def _state(word: str, place: Path) -> str:
    """A page's state files lie where nobody else's do."""
    return str(place / word) if word.endswith(".db") else word


def matches(shown: list[str], printed: list[str]) -> bool:
    """Whether the lines are the same; ``...`` stands for any number of them."""
    pattern = "\n".join(".*?" if line == ELLIPSIS else re.escape(line) for line in shown)
    return (
        re.fullmatch(pattern.rstrip("\n"), "\n".join(printed).rstrip("\n"), re.DOTALL) is not None
    )


@pytest.mark.parametrize(
    "page",
    ["operating.md", "addons.md", "calendars.md", "analyses.md", "notifications.md", "values.md"],
)
def test_every_command_prints_what_the_page_shows(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "100")
    for words, shown in commands(page):
        found = run(*(_state(word, tmp_path) for word in shlex.split(words)))

        assert found.exit_code in (*Code, 10), found.output
        assert matches(shown, found.stdout.splitlines()), f"{words}\n{found.output}"


def test_the_page_shows_every_verb_that_only_asks_and_a_day_of_those_that_act() -> None:
    verbs = {words.split()[0] for words, _ in commands("operating.md")}

    assert verbs >= {"plan", "simulate", "explain", "history", "list", "describe"}
    assert verbs >= {"apply", "pause", "resume", "approve"}


def _yaml(page: str) -> list[Obj]:
    blocks = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / page).read_text(), re.DOTALL)
    return [obj for block in blocks for obj in yaml.safe_load_all(block)]


def test_the_viewer_of_the_examples_may_read_every_kind_that_is_watched() -> None:
    path = ROOT / "examples" / "operate" / "roles.yaml"
    roles = {obj["metadata"]["name"]: obj for obj in yaml.safe_load_all(path.read_text())}
    read = {
        (group, resource)
        for rule in roles["rollout-viewer"]["rules"]
        if {"get", "list", "watch"} <= set(rule["verbs"])
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }

    assert {(kind.group, kind.plural) for kind in WATCHED} <= read


def test_the_role_that_the_page_shows_is_the_one_of_the_examples() -> None:
    path = ROOT / "examples" / "operate" / "roles.yaml"
    roles = {obj["metadata"]["name"]: obj for obj in yaml.safe_load_all(path.read_text())}

    shown = [obj for obj in _yaml("operating.md") if obj.get("kind") == "ClusterRole"]

    assert shown == [roles["rollout-approver"]]


def test_the_approval_and_the_gates_that_the_page_shows_are_understood() -> None:
    found = _yaml("operating.md")
    (approval,) = (obj for obj in found if obj.get("kind") == "Approval")
    (annotations,) = (obj["metadata"]["annotations"] for obj in found if list(obj) == ["metadata"])

    hub = MemoryHub(SystemClock(), admit=admit)
    stored = decode_approval(hub.create(ref_of(APPROVAL, approval), approval))
    intents = read_intents(annotations)

    assert (stored.revision, stored.gate) == ("a590164b8be9531d", "before:rest")
    assert [str(gate) for gate in intents.gates] == ["after:prod-canary-west", "before:rest"]
    assert intents.problems == ()


def test_the_releases_of_the_walk_differ_in_their_version_alone() -> None:
    """So what happens to the one and not to the other is the release's own doing."""
    folder = ROOT / "examples" / "operate"
    bad, good = (
        yaml.safe_load((folder / f"storefront-{version}.yaml").read_text().replace(version, "V"))
        for version in ("1.5.0", "1.5.1")
    )

    assert bad == good


def test_the_table_of_verbs_has_each_verb_and_no_other() -> None:
    page = (ROOT / "docs" / "operating.md").read_text()
    table = page.split("| verb | what happens | annotation, or object |\n")[1].split("\n\n")[0]

    assert set(re.findall(r"^\| `([a-z]+)", table, re.MULTILINE)) == set(EFFECTS)
