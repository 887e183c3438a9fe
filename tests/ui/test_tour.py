"""Does every page show, and every button do, what it says, on a state file?"""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from rollout.model.kinds import REPLICA_SET, Ref
from tests.support import make
from tests.support.dashboards import serving, story_on
from tests.support.story import MIN
from tests.ui.serving import page_on
from tests.ui.touring import Tour, ask_what_if, look_at_every_page, press_every_button

pytestmark = pytest.mark.ui


def test_every_page_shows_and_every_button_does_what_it_says(
    browser: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "state.db"
    with story_on(path, after=1200) as story, serving(path, story.clock) as served:
        spec = make.workload("cron", strategy=make.everywhere(), version="3")["spec"]
        story.hub.patch(Ref(REPLICA_SET, "default/cron"), {"spec": spec})
        story.on(10 * MIN)
        with page_on(browser, served, complains=True) as page:
            tour = Tour(
                page=page, address=served.address, hub=story.hub, name="ann", settle=story.settle
            )
            look_at_every_page(tour)
            ask_what_if(tour)
            press_every_button(tour)
