"""What docs/cli.md lists is what one can type."""

import re
from pathlib import Path

from rollout.cli.main import _COMMANDS

PAGE = Path(__file__).parents[3] / "docs" / "cli.md"


def test_the_page_lists_every_command_and_no_other() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| `rollout ")]
    listed: set[str] = set()
    for row in rows:
        for code in re.findall(r"`([^`]*)`", row.split(" | ")[0]):
            words = code.split()
            listed.add(words[1] if words[0] == "rollout" else words[0])
    assert listed == set(_COMMANDS)
