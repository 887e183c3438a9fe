"""Filters: which clusters may not be selected."""

from rollout.placement.filters.predicate import Predicates
from rollout.placement.filters.taints import TaintToleration

__all__ = ["Predicates", "TaintToleration"]
