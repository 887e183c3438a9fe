"""Does the engine keep its promises, whatever happens? Random histories against the safety contract.

Reading order: `promises` (what is checked, and how often it must have been put to the test), `subject`
(what differs between kinds of workloads; `replicasets` and `addons` are the two), `setting` (what a seed
stands for), `world` (how a history runs), `hands` and `operators` (what people and others
do to it), `door` (the
engine's only way to the hub), `model`, `terms` and `wishes` (the plain model that judges), `observer` (the judge),
`replay`, `pairs` and `foreseen` (promises about two processes, two runs, a plan), `sizes` (promises about growth), `mutants`
(faults that the suite must notice).
"""
