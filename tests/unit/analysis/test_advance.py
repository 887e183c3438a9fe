"""Does a snapshot that takes in events say what one says that reads everything?"""

from collections.abc import Iterator
from contextlib import closing

import pytest

from rollout.account.tree import WorkloadAccount
from rollout.analysis.lookout import Lookout
from rollout.analysis.snapshot import Snapshot, snapshot_of
from rollout.model import names
from rollout.model.kinds import Obj
from rollout.strategies.base import Phase
from tests.stories.operating import BAD_2, TWO_AT_ONCE
from tests.support import make
from tests.support.story import SEC, Story


def told(snapshot: Snapshot) -> Iterator[tuple[object, ...]]:
    """What a list of workloads shows."""
    for ref in snapshot.workloads():
        account = snapshot.account(ref, detail=False)
        assert account is not None
        yield account.key, account.code, account.reason, account.updated, _counts(account)


def _counts(account: WorkloadAccount) -> dict[Phase, int]:
    return {phase: count for phase, count in account.phases.items() if count}


def _paused(after: int) -> Obj:
    return {"metadata": {"annotations": {names.PAUSED: "true" if after < 100 else None}}}


@pytest.mark.parametrize(
    "annotations", [{}, {names.ROLLBACK: "Automatic"}], ids=["halts", "rolls back"]
)
def test_a_bad_release_after_a_good_one_is_told_alike(annotations: dict[str, str]) -> None:
    workload = make.workload(strategy=TWO_AT_ONCE, annotations=annotations)
    story = Story([*make.fleet(6, canary=2), workload], {"rules": [BAD_2]})
    with closing(Lookout(story.hub)) as lookout:
        kept = snapshot_of(lookout, story.clock.now())
        lookout.taken()
        for step in range(60):
            story.on(30 * SEC)
            if step == 20:
                story.template(make.template("2"))
                story.settle()
            if step in (22, 25):
                story.edit(_paused(0 if step == 22 else 100))
                story.settle()
            lookout.changed()
            events = lookout.taken()
            assert events is not None
            kept.advance(events, story.clock.now())
            kept.expire(kept.workloads())
            if kept.goes_back(kept.workloads()):
                kept = snapshot_of(lookout, story.clock.now())

            assert list(told(kept)) == list(told(snapshot_of(story.hub, story.clock.now()))), step
