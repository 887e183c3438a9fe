"""A story in which the test plays the agents, and another scheduler.

Nobody's agents report here: the tests do. Placements and their decisions are written by hand.
"""

from typing import Any

from rollout.model.kinds import REPLICA_SET, Obj, Ref
from tests.support import make
from tests.support.story import SEC, Story

SETTLE, QUIET, GRACE = 15 * SEC, 10 * SEC, 60 * SEC
RULES = ("Progressing",)

MWRS = Ref(REPLICA_SET, "default/web")
NOBODY = {"finalizers": False, "defaults": {"outcome": "silent"}}


def story(*documents: Obj) -> Story:
    return Story(documents, NOBODY)


def mwrs(**fields: Any) -> Obj:
    return make.workload(**{"rules": RULES, **fields})


def theirs(name: str = "p", *groups: list[str]) -> list[Obj]:
    """A placement that others decide, and its decisions by group."""
    pages = [make.decision(clusters, name, index=n) for n, clusters in enumerate(groups)]
    return [make.placement(name, ours=False), *pages]


def available(s: Story, placement: str = "p") -> str:
    found = {e["name"]: e for e in s.mwrs()["status"]["placementSummary"]}
    return str(found[placement]["availableDecisionGroups"])
