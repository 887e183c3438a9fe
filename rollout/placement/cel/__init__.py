"""CEL, the Common Expression Language, in the predicates of Placements.

An expression goes through `parsing` (a library reads and type-checks it), `evaluator` (its tree
becomes Python functions) and `expressions` (it is asked about a cluster); `screening` asks all
expressions of a Placement about all clusters, in slices. Every bound is in `bounds`. The functions
that expressions may call are rows of tables: `standard`, `text`, `kubernetes` and `addresses`.
Why we evaluate ourselves: ADR 0027.
"""
