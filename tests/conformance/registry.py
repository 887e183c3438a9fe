"""Which suites are there? Each one listed is required: a directory without its file fails."""

from collections.abc import Sequence

from tests.conformance.addon_config import AddOnConfigSuite
from tests.conformance.addon_template import AddOnTemplateSuite
from tests.conformance.calendar import CalendarSuite
from tests.conformance.grouping import GroupingSuite
from tests.conformance.mwrs_sync import MwrsSyncSuite
from tests.conformance.mwrs_work_status import WorkStatusSuite
from tests.conformance.placement_sync import PlacementSyncSuite
from tests.conformance.rollout import RolloutSuite
from tests.conformance.rollout_walk import RolloutWalkSuite
from tests.conformance.schedule import ScheduleSuite
from tests.conformance.spec_hash import SpecHashSuite
from tests.conformance.suite import Suite

SUITES: Sequence[Suite] = (
    RolloutSuite(),
    RolloutWalkSuite(),
    GroupingSuite(),
    ScheduleSuite(),
    PlacementSyncSuite(),
    WorkStatusSuite(),
    MwrsSyncSuite(),
    SpecHashSuite(),
    AddOnConfigSuite(),
    AddOnTemplateSuite(),
    CalendarSuite(),
)

NOT_YET: frozenset[str] = frozenset()
"""Files of vectors that nothing here answers yet: named in the output, not failed."""
