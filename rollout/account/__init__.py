"""The account of a rollout: one tree of values that every view renders.

`build.workload_account` works the tree out for one workload, `build.fleet_account` for all of them:
workload, placement, stage, decision group, cluster, each with its counts, with what it waits for and
with the next instant at which time alone changes something. `rollout run`, `get`, `list`, `explain`
and `describe` draw it; ``-o json`` is this tree (`wire.as_json`).

It is worked out from a fleet whose workloads have been planned, be it a running engine's or one that
was read from a hub (`rollout.analysis.snapshot`), and it changes neither.
"""
