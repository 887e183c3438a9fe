"""Holds `rollout dashboard` as a process to how it is reached, and by whom."""

import stat
import sys
from pathlib import Path

from tests.support.dashboards import TOKEN, comes_true, process_on, story_on

BROWSER = """#!{python}
import pathlib, sys, urllib.parse
file = pathlib.Path(urllib.parse.urlsplit(sys.argv[1]).path)
seen = "\\n".join((*sys.argv[1:], oct(file.stat().st_mode), oct(file.parent.stat().st_mode), file.read_text()))
pathlib.Path("{seen}").write_text(seen)
"""


def test_a_browser_is_opened_without_the_token_in_what_it_is_started_with(tmp_path: Path) -> None:
    browser, seen = tmp_path / "browser", tmp_path / "seen"
    browser.write_text(BROWSER.format(python=sys.executable, seen=seen))
    browser.chmod(0o700)
    with story_on(tmp_path / "state.db"):
        pass
    with process_on(tmp_path / "state.db", "--open", BROWSER=str(browser)) as address:
        assert comes_true(lambda: seen.exists() and address in seen.read_text())
        started, file, folder, _ = seen.read_text().split("\n", 3)

    assert TOKEN not in started
    assert (stat.S_IMODE(int(file, 8)), stat.S_IMODE(int(folder, 8))) == (0o600, 0o700)
    assert not Path(started.removeprefix("file://")).exists()
