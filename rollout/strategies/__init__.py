"""Which clusters are touched now? The state machine, to be used with or without a hub."""

from rollout.model.amounts import Amount
from rollout.model.placement import Group
from rollout.model.replicaset import GroupRef, RolloutSpec
from rollout.model.waits import Reason, Wait
from rollout.strategies.base import (
    Health,
    Phase,
    Rollout,
    Stage,
    StageReport,
    Standing,
    Step,
    Timing,
    Verdict,
)
from rollout.strategies.build import rollout_of
from rollout.strategies.ledger import Ledger
from rollout.strategies.step import decide

__all__ = [
    "Amount",
    "Group",
    "GroupRef",
    "Health",
    "Ledger",
    "Phase",
    "Reason",
    "Rollout",
    "RolloutSpec",
    "Stage",
    "StageReport",
    "Standing",
    "Step",
    "Timing",
    "Verdict",
    "Wait",
    "decide",
    "rollout_of",
]
