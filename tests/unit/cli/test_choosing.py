"""What `rollout get` prints with jsonpath=, custom-columns= and --sort-by."""

from pathlib import Path

import pytest

from rollout.cli.choosing import values_at
from tests.support import make
from tests.support.shapes import run, write


@pytest.fixture
def state(tmp_path: Path) -> Path:
    place = tmp_path / "s.db"
    documents = [make.placement(name) for name in "bac"]
    documents[0]["spec"]["numberOfClusters"], documents[1]["spec"]["numberOfClusters"] = 10, 9
    documents[2]["metadata"]["annotations"] = {"example.com/owner": "ana"}
    assert run("apply", "-f", write(tmp_path / "a.yaml", *documents), state=place).exit_code == 0
    return place


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        pytest.param(["a", "-o", "jsonpath={.metadata.name}"], "a\n", id="a field"),
        pytest.param(["-o", "jsonpath={.items[*].metadata.name}"], "a b c\n", id="every entry"),
        pytest.param(["-o", "jsonpath={.items[-1].metadata.name}"], "c\n", id="the last entry"),
        pytest.param(
            [
                "-o",
                'jsonpath={range .items[*]}{.metadata.name}={.spec.numberOfClusters}{"\\n"}{end}',
            ],
            "a=9\nb=10\nc=\n",
            id="a range",
        ),
        pytest.param(
            ["-o", 'jsonpath={.items[?(@.kind=="Placement")].metadata.namespace}'],
            "default default default\n",
            id="entries by value",
        ),
        pytest.param(
            ["-o", "custom-columns=NAME:.metadata.name,MOST:.spec.numberOfClusters"],
            "NAME   MOST\na      9\nb      10\nc      <none>\n",
            id="columns",
        ),
        pytest.param(
            ["c", "-o", r"jsonpath={.metadata.annotations.example\.com/owner}"],
            "ana\n",
            id="a key with dots and a slash",
        ),
        pytest.param(
            ["-o", "name", "--sort-by", ".spec.numberOfClusters"],
            "".join(f"placement.cluster.open-cluster-management.io/{n}\n" for n in "cab"),
            id="numbers in the order of numbers, and what lacks the field first",
        ),
        pytest.param(
            ["-o", "name", "--sort-by", "{.metadata.name}"],
            "".join(f"placement.cluster.open-cluster-management.io/{n}\n" for n in "abc"),
            id="a field in braces",
        ),
    ],
)
def test_what_is_chosen_is_printed(state: Path, words: list[str], printed: str) -> None:
    found = run("get", "placements", *words, state=state)

    assert (found.exit_code, found.stderr) == (0, "")
    assert found.stdout == printed


ITEMS = {
    "metadata": {"name": "web", "annotations": {"a.b/c.d": "x"}},
    "items": [
        {"name": "a", "status": {"phase": "Up", "n": 3}},
        {"name": "b", "status": {"phase": "Down", "n": 5}},
        {"name": "c.d", "status": None},
    ],
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (r".metadata.annotations.a\.b/c\.d", ["x"]),
        (r".metadata.annotations['a\.b/c\.d']", ["x"]),
        (".metadata.annotations['a.b/c.d']", ["x"]),
        ("$.metadata.name", ["web"]),
        ("metadata.name", ["web"]),
        ("..name", ["web", "a", "b", "c.d"]),
        ("..status.phase", ["Up", "Down"]),
        ("..['phase']", ["Up", "Down"]),
        (".items[-1:].name", ["c.d"]),
        (".items[0:2].name", ["a", "b"]),
        (".items[0,2].name", ["a", "c.d"]),
        (".items[*]['name', 'status.phase']", ["a", "b", "c.d", "Up", "Down"]),
        ('.items[?(@.status.phase=="Up")].name', ["a"]),
        (".items[?(@.status.n > 3)].name", ["b"]),
        (".items[?(@.name=='c.d')].name", ["c.d"]),
        (".items[?(@.status.phase)].name", ["a", "b"]),
        (".items[*].status.n", [3, 5]),
        (".items[2].status", []),
        (".nothing[0].there", []),
    ],
)
def test_paths_are_those_of_kubectl(path: str, found: list[object]) -> None:
    assert values_at(ITEMS, path) == found


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-o", "jsonpath={.a"], "cannot be read at '{.a'"),
        (["-o", "jsonpath={range .items[*]}"], "{range ...} without {end}"),
        (["-o", "jsonpath={.items[x]}"], "jsonpath '.items[x]' cannot be read: unexpected '[x]'"),
        (["-o", "custom-columns=A:.a["], "jsonpath '.a[' cannot be read: '[' is not closed"),
        (["--sort-by", ".a]"], "jsonpath '.a]' cannot be read: unexpected ']'"),
        (["-o", "jsonpath={.items[?(@.a =~ 1)]}"], "unexpected ' =~ 1'"),
        (["-o", "custom-columns=NAME"], "write custom-columns=NAME:.PATH"),
        (["-o", "tabel"], "'tabel' is not one of table"),
        (["-w", "-o", "jsonpath={.a}"], "--watch prints objects as they change"),
    ],
)
def test_what_cannot_be_chosen_is_a_usage_error(state: Path, words: list[str], said: str) -> None:
    found = run("get", "placements", *words, state=state)

    assert found.exit_code == 2
    assert said in found.stderr


def test_secrets_stay_hidden_whatever_is_chosen(tmp_path: Path) -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s"},
        "stringData": {"a": "hunter2!"},
    }
    workload = make.workload()
    workload["spec"]["manifestWorkTemplate"]["workload"]["manifests"] = [secret]
    path = write(tmp_path / "a.yaml", workload)
    run("apply", "-f", path, state=tmp_path / "s.db")

    found = run("get", "mwrs", "web", "-o", "jsonpath={.spec}", state=tmp_path / "s.db")

    assert found.exit_code == 0
    assert "hunter2!" not in found.stdout
