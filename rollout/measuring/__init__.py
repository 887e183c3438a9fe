"""Analyses: metrics, conditions on what was measured, and the verdict of a run. Pure."""
