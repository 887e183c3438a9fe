"""Whom do taints keep away, which tolerations let them in again, and until when?"""

from dataclasses import replace
from datetime import timedelta

import pytest

from rollout.model.cluster import Cluster, Taint
from rollout.model.placement import Placement, Toleration
from rollout.placement.filters import TaintToleration
from rollout.placement.framework import Cycle
from rollout.placement.index import Pool
from rollout.placement.scheduler import select
from tests.support.scheduling import SECOND, T0, TICK, placed

TAINT = Taint("key1", "value1", "NoSelect", T0)


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        (Toleration("key1", "Equal", value="value1"), True),
        (Toleration("key1", "", value="value1"), True),
        (Toleration("key1", "Equal", value=""), False),
        (Toleration("key2", "Equal", value="value1"), False),
        (Toleration("key1", "Exists"), True),
        (Toleration("key2", "Exists"), False),
        (Toleration("", "Exists"), True),
        (Toleration("key1", "Like"), False),
        (Toleration("key1", "Exists", effect="NoSelect"), True),
        (Toleration("key1", "Exists", effect="NoSelectIfNew"), False),
        (Toleration("key1", "Exists", seconds=0), False),
        (Toleration("key1", "Exists", seconds=-1), False),
        (Toleration("key1", "Exists", seconds=2**62), True),
    ],
)
def test_a_toleration_matches_by_key_operator_value_effect_and_time(
    toleration: Toleration, tolerated: bool
) -> None:
    placement = Placement("ns", "p", tolerations=(toleration,))
    rejection = TaintToleration().admit(Cycle(placement, T0), Cluster("c", taints=(TAINT,)))

    assert (rejection is None) is tolerated


@pytest.mark.parametrize(
    ("effect", "decided", "passes"),
    [
        ("NoSelect", False, False),
        ("NoSelect", True, False),
        ("NoSelectIfNew", False, False),
        ("NoSelectIfNew", True, True),
        ("PreferNoSelect", False, True),
        ("PreferNoSelect", True, True),
    ],
)
def test_an_effect_keeps_away_new_clusters_all_or_none(
    effect: str, decided: bool, passes: bool
) -> None:
    cycle = Cycle(placed(), T0, previous=frozenset({"c"} if decided else ()))
    rejection = TaintToleration().admit(cycle, Cluster("c", taints=(Taint("k", effect=effect),)))

    assert (rejection is None) is passes


@pytest.mark.parametrize(
    ("at", "selected", "recheck"),
    [
        (10 * SECOND - TICK, True, 10 * SECOND),
        (10 * SECOND, False, None),
        (10 * SECOND + TICK, False, None),
    ],
)
def test_a_limited_toleration_ends_at_its_very_instant(
    at: timedelta, selected: bool, recheck: timedelta | None
) -> None:
    placement = Placement("ns", "p", tolerations=(Toleration("key1", "Exists", seconds=10),))
    found = select(Cycle(placement, T0 + at), Pool.of([Cluster("c", taints=(TAINT,))]))

    assert found.chosen == (("c",) if selected else ())
    assert found.recheck_at == (T0 + recheck if recheck else None)


def test_a_limited_toleration_beside_an_unlimited_one_needs_no_recheck() -> None:
    tolerations = (Toleration("key1", "Exists", seconds=10), Toleration("key1", "Exists"))
    placement = Placement("ns", "p", tolerations=tolerations)

    found = select(Cycle(placement, T0), Pool.of([Cluster("c", taints=(TAINT,))]))

    assert (found.chosen, found.recheck_at) == (("c",), None)


def test_a_taint_without_a_time_is_older_than_any_limit() -> None:
    placement = Placement("ns", "p", tolerations=(Toleration("k", "Exists", seconds=10**9),))

    assert select(Cycle(placement, T0), Pool.of([Cluster("c", taints=(Taint("k"),))])).chosen == ()


def test_prefer_no_select_costs_100_points_unless_it_is_tolerated() -> None:
    avoided = Cluster("a", taints=(Taint("k", effect="PreferNoSelect"),))
    pool = Pool.of([avoided, Cluster("b")])
    tolerant = replace(placed(1), tolerations=(Toleration("k", "Exists"),))

    assert select(Cycle(placed(1), T0), pool).chosen == ("b",)
    assert select(Cycle(placed(1), T0), pool).total_by_cluster() == {"a": 0, "b": 100}
    assert select(Cycle(tolerant, T0), pool).chosen == ("a",)


def test_thousands_of_tolerations_cost_no_more_than_those_of_the_taints_key() -> None:
    many = tuple(Toleration(f"k{i}", "Exists") for i in range(5000))
    clusters = [Cluster(f"c{i}", taints=(Taint(f"k{i}", added=T0),)) for i in range(2000)]

    assert (
        len(select(Cycle(Placement("ns", "p", tolerations=many), T0), Pool.of(clusters)).chosen)
        == 2000
    )
