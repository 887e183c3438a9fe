"""Which clusters are touched now? The state machine, to be used with or without a hub."""

from rollout.model.amounts import Amount
from rollout.model.placement import Group
from rollout.model.replicaset import GroupRef, RolloutSpec
from rollout.strategies.base import (
    Health,
    Hold,
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
    "Hold",
    "Ledger",
    "Phase",
    "Rollout",
    "RolloutSpec",
    "Stage",
    "StageReport",
    "Standing",
    "Step",
    "Timing",
    "Verdict",
    "decide",
    "rollout_of",
]
