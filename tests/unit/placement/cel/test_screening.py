"""Is what all expressions of a Placement take bounded, cut into slices, kept, and told the same always?"""

import random
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rollout.model.cluster import Cluster, Score
from rollout.model.placement import Placement, Predicate
from rollout.model.selectors import EVERYTHING
from rollout.placement.cel import bounds, expressions
from rollout.placement.cel.screening import Screening, Unfinished
from rollout.placement.framework import Cycle, EvaluationCode, PlacementSelection
from rollout.placement.index import ClusterIndex, Pool
from rollout.placement.scheduler import check, select

T0 = datetime(2026, 1, 1, tzinfo=UTC)
TEN = "[1,2,3,4,5,6,7,8,9,10]"
LARGER = f"managedCluster.status.n > 3 && {TEN}.all(a, {TEN}.all(b, a + b > 1))"


def cluster(name: str, n: int) -> Cluster:
    return Cluster(name, raw={"metadata": {"name": name}, "status": {"n": n}})


def many(count: int) -> list[Cluster]:
    return [cluster(f"c{i:03}", i) for i in range(count)]


def placement(*texts: str) -> Placement:
    return Placement("ns", "p", predicates=(Predicate(EVERYTHING, EVERYTHING, texts),))


def cycle(*texts: str, known: Screening | None = None, **rest: Any) -> Cycle:
    return Cycle(placement(*texts), **{"now": T0, **rest}, screening=known)


def in_slices(wanted: Cycle, pool: Pool, steps: int) -> tuple[PlacementSelection, int]:
    """The selection, and in how many slices it was made."""
    assert wanted.screening is not None
    for slices in range(1, 10_000):
        wanted.screening.begin(steps)
        try:
            return select(wanted, pool), slices
        except Unfinished:
            continue
    raise AssertionError("it never ends")


def outcome(found: PlacementSelection) -> object:
    return found.status, found.chosen, found.remarks, found.recheck_at


FAILING = "managedCluster.status.n / (managedCluster.status.n - 2) > -10"


@pytest.mark.parametrize("steps", [1, 7, 500, 5_000])
def test_slices_of_any_size_come_to_what_one_pass_comes_to(steps: int) -> None:
    pool = Pool.of(many(12))
    texts = (FAILING, LARGER, "managedCluster.metadata.name != 'c007'")

    found, slices = in_slices(cycle(*texts, known=Screening()), pool, steps)

    assert outcome(found) == outcome(select(cycle(*texts), pool))
    assert found.chosen == tuple(f"c{n:03}" for n in (4, 5, 6, 8, 9, 10, 11))
    assert slices > 1 or steps == 5_000


def test_a_slice_takes_little_more_than_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    once = expressions.Judge(lambda _: {}, T0).verdict(LARGER, cluster("c", 9))[1]
    real = expressions.Judge.run

    def counted(self: expressions.Judge, *args: Any) -> tuple[bool | str, int]:
        found = real(self, *args)
        taken[-1] += found[1]
        return found

    monkeypatch.setattr(expressions.Judge, "run", counted)
    known, pool = Screening(), Pool.of(many(20))
    for text in (LARGER, "true"):
        known.program(text)
    for _ in range(100):
        taken.append(0)
        known.begin(1_000)
        try:
            select(cycle(LARGER, "true", known=known), pool)
            break
        except Unfinished:
            continue

    assert len(taken) > 3
    assert max(taken) <= 1_000 + once


def test_a_cluster_that_changes_between_two_slices_is_looked_at_again() -> None:
    index = ClusterIndex(many(12))
    known = Screening()
    wanted = cycle(LARGER, known=known)
    known.program(LARGER)
    known.begin(500)
    with pytest.raises(Unfinished):
        select(wanted, index.pool())
    index.put(cluster("c000", 99))
    index.put(cluster("c011", 0))
    index.remove("c005")

    found, _ = in_slices(wanted, index.pool(), 500)

    assert found.chosen == ("c000", "c004", "c006", "c007", "c008", "c009", "c010")


def test_a_score_that_expires_amid_a_cluster_is_read_again_in_the_next_slice() -> None:
    pool, known = Pool.of(many(1)), Screening()
    texts = ("managedCluster.scores('s').all(s, s.value > 1)", "managedCluster.status.n == 0")
    scores = {"c000": Score("c000", "s", {"a": 3}, T0)}
    for text in texts:
        known.program(text)
    known.begin(1)  # enough for one expression
    with pytest.raises(Unfinished):
        select(cycle(*texts, known=known, scores=lambda _: scores), pool)
    after = T0 + timedelta(seconds=1)

    found, _ = in_slices(cycle(*texts, known=known, now=after, scores=lambda _: scores), pool, 1)

    assert found.chosen == ()
    assert "expired" in found.remarks[0]


def test_a_second_pass_asks_only_about_clusters_that_changed() -> None:
    index, known = ClusterIndex(many(50)), Screening()
    select(cycle(LARGER, known=known), index.pool())
    index.put(cluster("c000", 99))
    known.begin(200)  # enough for one cluster

    assert select(cycle(LARGER, known=known), index.pool()).chosen[0] == "c000"


def test_what_is_kept_never_alters_an_answer() -> None:
    drawn = random.Random(5)
    index, known = ClusterIndex(many(10)), Screening()
    scores: dict[str, Score] = {}
    texts = (
        "managedCluster.status.n % 3 != 1",
        "managedCluster.scores('s').all(s, s.value > 1) || managedCluster.status.n > 15",
        "{'metadata': {'name': 'c003'}}.scores('s').size() > 0 || managedCluster.status.n > 2",
        FAILING,
    )
    now = T0
    for _ in range(300):
        name = f"c{drawn.randrange(12):03}"
        match drawn.randrange(5):
            case 0 | 1:
                index.put(cluster(name, drawn.randrange(20)))
            case 2:
                index.remove(name)
            case 3:
                until = drawn.choice([None, now + timedelta(seconds=drawn.randrange(9))])
                scores[name] = Score(name, "s", {"a": drawn.randrange(4)}, until)
                index.rescored(name)
            case _:
                now += timedelta(seconds=drawn.randrange(3))

        def read(asked: str, kept: dict[str, Score] = scores) -> Mapping[str, Score]:
            return kept if asked == "s" else {}

        fresh = select(cycle(*texts, now=now, scores=read), index.pool())
        kept, _ = in_slices(cycle(*texts, known=known, now=now, scores=read), index.pool(), 40)
        assert outcome(kept) == outcome(fresh)


def test_a_placement_that_takes_too_much_is_misconfigured_and_told_the_same_however_it_was_reached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bounds, "MOST_STEPS", 2_500)
    clusters = many(60)
    at_once = select(cycle(LARGER), Pool.of(clusters))
    index, known = ClusterIndex(), Screening()
    for each in reversed(clusters):
        index.put(each)
        one_by_one, _ = in_slices(cycle(LARGER, known=known), index.pool(), 100)

    assert at_once.status.code is one_by_one.status.code is EvaluationCode.MISCONFIGURED
    assert at_once.status.message == one_by_one.status.message
    assert "for 60 clusters, and at most 2500 are accepted" in at_once.status.message
    assert select(cycle(LARGER), Pool.of(clusters[:10])).status.code is EvaluationCode.SUCCESS


def test_several_simple_expressions_over_ten_thousand_clusters_are_well_within_the_bound() -> None:
    claims = [{"name": f"claim-{i}", "value": f"v{i}"} for i in range(20)]
    raw = {"metadata": {"name": "c"}, "status": {"clusterClaims": claims}}
    texts = [
        "managedCluster.status.clusterClaims.exists(c, c.name == 'claim-19' && c.value == 'v19')",
        "semver('1.30.1').isGreaterThan(semver('1.29.0'))",
        "managedCluster.metadata.name.startsWith('c') || managedCluster.metadata.name == 'x'",
        "quantity('7500m').isGreaterThan(quantity('2'))",
        "!managedCluster.status.clusterClaims.exists(c, c.name == 'claim-99')",
    ]
    judge = expressions.Judge(lambda _: {}, T0)

    steps = sum(judge.verdict(text, Cluster("c", raw=raw))[1] for text in texts)

    assert steps * 10_000 < bounds.MOST_STEPS // 2
    assert all(judge.verdict(text, Cluster("c", raw=raw))[0] is True for text in texts)


@pytest.mark.parametrize(
    ("texts", "accepted"),
    [
        (["true"] * 64, ""),
        (["true"] * 65, "at most 64 CEL expressions in all predicates, not 65"),
        (["'" + "x" * 3_300 + "' != ''"] * 4, ""),
        (["'" + "x" * 3_300 + "' != ''"] * 5, "at most 16384 characters in all CEL expressions"),
    ],
)
def test_a_placement_has_so_many_expressions_and_no_more(texts: list[str], accepted: str) -> None:
    predicates = tuple(Predicate(EVERYTHING, EVERYTHING, (text,)) for text in texts)

    problems = check(Placement("ns", "p", predicates=predicates))

    assert [p.path for p in problems] == ["spec.predicates"] * bool(accepted)
    assert all(p.accepted.startswith(accepted) for p in problems)


def test_compiling_is_paid_for_in_slices_too() -> None:
    known, texts = Screening(), [f"'{'x' * 2_000}' != '{n}'" for n in range(8)]
    wanted = placement(*texts)
    ended: list[bool] = []
    while not any(ended):
        known.begin(5_000)
        try:
            check(wanted, program=known.program)
        except Unfinished:
            ended.append(False)
        else:
            ended.append(True)

    assert len(ended) == 8


def test_an_evaluation_makes_no_more_than_so_much() -> None:
    text = "'" + "a" * 3_000 + "'.replace('a', '" + "b" * 300 + "').size() > 0"
    often = f"{TEN}.all(a, {text})"

    said = expressions.Judge(lambda _: {}, T0).verdict(often, cluster("c", 1))[0]

    assert said == "it makes more than 2000000 characters and elements"
