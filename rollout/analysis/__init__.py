"""Questions to a hub that change nothing: plan, simulate, explain, replay.

Each is one call that returns a value; `wire.as_json` gives its JSON form. Import from the modules (a
question loads no more than it needs):

* `forecast.forecast(hub, change, now)`: what would follow from a change (`copies.TrialChange`).
* `simulating.simulate(question(change, scenario))`: one run and its timeline, which `pictures.svg` draws;
  `simulating.simulate_many`: a distribution.
* `snapshot.snapshot_of(hub, now)`: what an engine would know that started there now, for the following; a
  workload is named by its `Ref`, whatever its kind. `lookout.Lookout(hub)` keeps what it reads current
  by the hub's watches.
* `clusters.explain_cluster`, `placements.explain_placement`: why, since when, and what would end it. How
  a whole rollout stands, down to its clusters: `rollout.account`.
* `histories.history`: the revisions of a workload.
* `seals.fingerprint`, `seals.seal`, `seals.is_sealed`: whether a plan still holds.
"""
