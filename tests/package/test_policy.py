"""Does a team's own policy test work as docs/testing-a-policy.md shows it, beside the installed package?"""

import re
from pathlib import Path

import pytest

from tests.package.conftest import ROOT, Command, quietly

pytestmark = pytest.mark.package


def test_the_test_of_the_page_passes_and_is_short(
    environment: Path, installed: Command, tmp_path: Path
) -> None:
    page = (ROOT / "docs" / "testing-a-policy.md").read_text()
    (source,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    first, _ = source.split("\n\ndef test_canaries")
    assert len(first.strip().splitlines()) <= 10
    (tmp_path / "test_policy.py").write_text(source)
    pip = (environment / "python", "-m", "pip", "install", "--disable-pip-version-check")
    quietly(*pip, "-c", ROOT / "constraints.txt", "pytest", cwd=tmp_path)
    assert installed("rollout", "demo", "--files", "fleet").returncode == 0

    done = installed("pytest", "-q", "test_policy.py")

    assert done.stdout.splitlines()[0] == re.findall(r"^\.\. .*$", page, re.MULTILINE)[0], (
        done.stdout
    )
