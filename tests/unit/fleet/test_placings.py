"""When did decisions last change, as far as the engine can know?"""

from datetime import datetime, timedelta

import pytest

from rollout.fleet.clusters import ClusterStore
from rollout.fleet.placings import Placings
from rollout.model.events import Change, Event
from rollout.model.kinds import PLACEMENT_DECISION, Obj, Ref
from tests.support import make
from tests.support.stage import T0

KEY = "default/p"
LATER = T0 + timedelta(minutes=3)


def page(clusters: list[str], version: int, score: int | None = None) -> Obj:
    found = make.decision(clusters)
    found["metadata"]["resourceVersion"] = str(version)
    for entry in found["status"]["decisions"] if score is not None else []:
        entry["score"] = score
    return found


def last_change(before: Obj, after: Obj) -> datetime:
    placings = Placings(ClusterStore(), lambda _: ())
    for obj, now in ((before, T0), (after, LATER)):
        metadata = obj["metadata"]
        ref = Ref(PLACEMENT_DECISION, f"{metadata['namespace']}/{metadata['name']}")
        event = Event(ref, Change.MODIFIED, obj, int(metadata["resourceVersion"]))
        placings.take_decision(event, now)
    return placings.changed_at(KEY, LATER)


@pytest.mark.parametrize(
    ("after", "changed_at"),
    [
        (page(["c1", "c3"], 8), LATER),
        (page(["c1", "c2"], 8), LATER),  # changed, and changed back while nobody watched
        (page(["c1", "c2"], 8, score=7), T0),  # scores alone
        (page(["c1", "c2"], 7), T0),  # the same version, told twice
    ],
    ids=["other clusters", "there and back", "scores", "repeated"],
)
def test_decisions_changed_last_when_a_page_came_that_somebody_wrote(
    after: Obj, changed_at: datetime
) -> None:
    assert last_change(page(["c1", "c2"], 7), after) == changed_at
