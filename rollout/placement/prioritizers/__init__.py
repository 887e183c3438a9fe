"""Prioritizers: which of the feasible clusters are better."""

from rollout.placement.prioritizers.addon import AddOnScore
from rollout.placement.prioritizers.balance import Balance
from rollout.placement.prioritizers.prefer import PreferNoSelect
from rollout.placement.prioritizers.resource import ResourceAllocatable
from rollout.placement.prioritizers.steady import Steady

__all__ = ["AddOnScore", "Balance", "PreferNoSelect", "ResourceAllocatable", "Steady"]
