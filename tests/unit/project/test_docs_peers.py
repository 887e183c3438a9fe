"""Does every test exist that docs/ocm-issues.md and docs/ocm-suites.md name, and all that docs/coming-from.md speaks of?"""

import re
from pathlib import Path

import pytest

from rollout.cli.main import cli
from rollout.model import names

ROOT = Path(__file__).parents[3]
ISSUES = (ROOT / "docs" / "ocm-issues.md").read_text()
SUITES = (ROOT / "docs" / "ocm-suites.md").read_text()
RESTATED = {path: path.read_text() for path in (ROOT / "tests/kube/ocm_suites").glob("test_*.py")}
PEERS = (ROOT / "docs" / "coming-from.md").read_text()


@pytest.mark.parametrize(
    "named", sorted(set(re.findall(r"`(tests/[^`]+::[^`]+)`", ISSUES + SUITES)))
)
def test_a_test_that_is_named_exists(named: str) -> None:
    path, _, function = named.partition("::")

    assert re.search(rf"^def {function}\(", (ROOT / path).read_text(), re.MULTILINE)


def test_every_row_of_the_issues_names_a_test() -> None:
    rows = [line for line in ISSUES.splitlines() if line.startswith("| ") and " | " in line]

    assert [row for row in rows if "`tests/" not in row and not row.endswith("shown by |")] == []
    assert len(rows) > 20


def test_every_case_of_ocms_suites_has_its_test_and_every_such_test_its_case() -> None:
    functions = {
        found
        for text in RESTATED.values()
        for found in re.findall(r"^def (test_\w+)\(", text, re.MULTILINE)
    }

    assert set(re.findall(r"`(?:tests/kube/ocm_suites/\w+\.py::)?(test_\w+)`", SUITES)) == functions


def test_no_case_of_ocms_suites_is_left_out() -> None:
    sections = {part.partition("\n")[0]: part for part in SUITES.split("\n## ")[1:]}
    numbered = {
        title: re.findall(r"^\| (\w+) \|.*`(?:tests/\S+::)?test_", part, re.MULTILINE)
        for title, part in sections.items()
    }

    assert numbered == {
        "Placements": [str(n) for n in range(1, 31)],
        "ManifestWorkReplicaSets": [str(n) for n in range(1, 8)],
        "Add-ons": [str(n) for n in range(1, 11)],
        "What else was found": list("ABCDEFGHI"),
    }


def test_where_strict_differs_the_semantics_say_why() -> None:
    rows = set(
        re.findall(r"^\| (O\d+) \|", (ROOT / "docs" / "semantics.md").read_text(), re.MULTILINE)
    )

    assert set(re.findall(r"\bO\d+\b", SUITES)) == rows - {"O3"}  # no suite asks for that
    assert set(re.findall(r"\bO\d+\b", "".join(RESTATED.values()))) <= rows


def test_what_others_are_told_to_use_exists() -> None:
    annotations = set(re.findall(r"rollout-engine\.io/[a-z-]+", PEERS))
    commands = set(re.findall(r"`(?:kubectl )?rollouts? ([a-z]+)", PEERS))

    assert annotations <= {value for value in vars(names).values() if isinstance(value, str)}
    assert commands <= set(cli.list_commands(None))  # type: ignore[arg-type]  # it asks for no context
    assert commands >= {"pause", "hold", "approve", "undo"}
