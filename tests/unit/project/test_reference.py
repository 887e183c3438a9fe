"""docs/reference is what the code says, and has an entry for everything; links of all pages lead somewhere."""

import re
from pathlib import Path

import pytest

from rollout.cli.main import _COMMANDS
from rollout.model.waits import Reason
from rollout.settings import Settings
from tests.support import reference

ROOT = Path(__file__).parents[3]
PAGES = sorted(
    p
    for p in [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "examples").rglob("*.md"),
    ]
)


@pytest.mark.parametrize("name", reference.pages())
def test_a_page_of_the_reference_is_what_the_code_says(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")

    assert (reference.FOLDER / name).read_text() == reference.pages()[name].rstrip() + "\n"


def test_every_condition_type_has_its_entry_and_no_other() -> None:
    assert set(reference.CONDITIONS) == reference.condition_types()


def test_every_annotation_of_ours_says_what_it_is() -> None:
    assert [name for name, said in reference.written_names().items() if not said] == []


def test_every_command_setting_and_reason_has_its_entry() -> None:
    found = reference.pages()

    assert [name for name in _COMMANDS if f"## rollout {name}\n" not in found["cli.md"]] == []
    assert [
        n for n in Settings.model_fields if f"`ROLLOUT_{n.upper()}`" not in found["settings.md"]
    ] == []
    assert [reason for reason in Reason if f"| `{reason}` |" not in found["names.md"]] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_link_of_a_page_leads_to_a_file_that_is_there(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)

    away = [link for link in links if not re.match(r"https?:|mailto:", link)]
    assert [link for link in away if not (page.parent / link).exists()] == []
