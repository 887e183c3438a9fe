"""``python -m tests.ui.screenshots FOLDER``: every page, light and dark, wide and 320 pixels, to be looked at."""

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.stories.operating import freeze
from tests.support.dashboards import story_on
from tests.ui.conftest import ARGUMENTS
from tests.ui.serving import page_on, serving

PAGES = {
    "rollouts": "/",
    "nothing": "/?q=nothing-matches",
    "rollout": "/rollouts/mwrs/default/web",
    "failed": "/rollouts/mwrs/default/api",
    "yaml": "/rollouts/mwrs/default/web/yaml",
    "clusters": "/clusters",
    "cluster": "/clusters/c05",
    "placements": "/placements",
    "placement": "/placements/default/p",
    "consents": "/consents",
    "approve": "/act/approve?kind=mwrs&namespace=default&workload=web&gate=before:rest&shown=1",
    "hold": "/act/hold?kind=mwrs&namespace=default&workload=web",
    "not-found": "/rollouts/mwrs/default/nobody",
}
WIDTHS = (1360, 320)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, sync_playwright() as play:
        path = Path(place) / "state.db"
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        stop = freeze("weekend", reason="nobody is here", until="2026-01-01T00:01:00Z")
        with story_on(path, stop) as story, serving(path, story.clock) as served:
            for scheme in ("light", "dark"):
                with page_on(browser, served, complains=True, color_scheme=scheme) as page:
                    for width in WIDTHS:
                        page.set_viewport_size({"width": width, "height": 860})
                        for name, address in PAGES.items():
                            page.goto(served.address + address)
                            page.wait_for_timeout(300)
                            page.screenshot(
                                path=folder / f"{name}-{scheme}-{width}.png", full_page=True
                            )
    print(f"{len(PAGES) * 4} screenshots in {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
