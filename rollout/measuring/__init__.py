"""Does it do well? Metrics, conditions on what was measured, and the verdict of a run. Pure."""
