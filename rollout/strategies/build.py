"""How does an engineer get a rollout to decide on, with no hub at all?"""

from collections.abc import Iterable, Mapping

from rollout.errors import ConfigError
from rollout.model.instants import aware
from rollout.model.placement import Group
from rollout.model.replicaset import RolloutSpec
from rollout.strategies.base import Rollout, Standing, Strategy, Timing, select
from rollout.strategies.stages import BUILT_IN, soak_of


def rollout_of(
    spec: RolloutSpec,
    groups: Iterable[Group],
    standings: Iterable[Standing] = (),
    revision: str = "1",
    *,
    passed: Iterable[str] = (),
    strategies: Mapping[str, Strategy] = BUILT_IN,
) -> Rollout:
    """A rollout of ``revision`` to these groups, as `decide` and `Ledger` take it.

    Args:
        spec: the rolloutStrategy.
        groups: decision groups in any order; a cluster named twice counts in the first.
        standings: what is known of clusters that have been touched; the others never were.
        passed: the keys of stages that have passed (`Step.passed` of earlier steps).

    Raises: ConfigError where no strategy has the name ``spec.type``, or a time has no timezone.
    """
    strategy = strategies.get(spec.type)
    if strategy is None:
        names = ", ".join(sorted(strategies))
        raise ConfigError(f"no rollout strategy is called {spec.type!r}; there are: {names}")
    selection = select(groups)
    known = {standing.cluster: standing for standing in standings}
    for cluster, standing in known.items():
        aware(f"Standing.touched of {cluster}", standing.touched)
        if standing.since is not None:
            aware(f"Standing.since of {cluster}", standing.since)
    return Rollout(
        revision,
        strategy.stages(spec, selection),
        known,
        Timing(soak_of(spec), spec.deadline),
        frozenset(passed),
    )
