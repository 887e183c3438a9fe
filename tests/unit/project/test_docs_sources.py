"""What docstrings name as their source can be looked up."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
CITED = re.compile(r"\b(?:W-?[0-9]{1,2}|A-[0-9]{1,2})\b(?!-)")


def test_every_weakness_of_ocm_that_the_code_speaks_of_is_told_of_and_no_other() -> None:
    cited = {
        found
        for path in (ROOT / "rollout").rglob("*.py")
        for found in CITED.findall(path.read_text().replace("SHA-256", ""))
    }
    page = (ROOT / "docs" / "ocm.md").read_text()
    told = re.findall(r"^\| ([WA]-?[0-9]+) \|", page, re.MULTILINE)
    assert sorted(told) == sorted(cited)
