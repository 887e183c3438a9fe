from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cel_expr_python import cel as library
from cel_expr_python.ext import ext_optional

from rollout.model.cluster import Cluster, Score
from rollout.model.placement import Placement, Predicate
from rollout.model.selectors import EVERYTHING
from rollout.placement.cel import bounds, expressions
from rollout.placement.framework import Cycle
from rollout.placement.index import Pool
from rollout.placement.scheduler import select

T0 = datetime(2026, 1, 1, tzinfo=UTC)
TICK = timedelta(microseconds=1)

RAW: dict[str, Any] = {
    "apiVersion": "cluster.open-cluster-management.io/v1",
    "kind": "ManagedCluster",
    "metadata": {
        "name": "alpha",
        "labels": {"env": "prod"},
        "annotations": {"cfg": '{"n": 3, "l": [1, 2], "b": true, "z": null}', "ip": "10.1.2.3"},
    },
    "spec": {"hubAcceptsClient": True, "leaseDurationSeconds": 60},
    "status": {
        "version": {"kubernetes": "v1.30.1"},
        "allocatable": {"cpu": "7500m"},
        "clusterClaims": [{"name": "id", "value": "1"}, {"name": "platform", "value": "AWS"}],
        "conditions": None,
    },
}
ALPHA = Cluster("alpha", labels={"env": "prod"}, raw=RAW)


def no_scores(name: str) -> Mapping[str, Score]:
    return {}


def verdict(
    text: str, now: datetime | None = T0, scores: expressions.Scores = no_scores
) -> bool | str:
    return expressions.Judge(scores, now).verdict(text, ALPHA)[0]


TRUE = (
    'managedCluster.metadata.name == "alpha"',
    'managedCluster.metadata.labels["env"] in ["dev", "prod"]',
    "has(managedCluster.metadata.labels.env) && !has(managedCluster.metadata.labels.tier)",
    '!("kind" in managedCluster)',
    'managedCluster.all(k, k in ["metadata", "spec", "status"])',
    'managedCluster.status.clusterClaims.exists(c, c.name == "platform" && c.value == "AWS")',
    'managedCluster.status.clusterClaims.exists_one(c, c.value == "1")',
    'managedCluster.status.clusterClaims.map(c, c.name) == ["id", "platform"]',
    'managedCluster.status.clusterClaims.filter(c, c.name == "id").size() == 1',
    "managedCluster.status.conditions == null",
    'managedCluster.metadata.?labels.?tier.orValue("none") == "none"',
    'managedCluster.metadata.?labels[?"env"].hasValue()',
    "optional.none().or(optional.of(1)).value() == 1",
    '[?optional.none(), ?optional.of(1)] == [1] && {?"a": optional.none()} == {}',
    "optional.of(2).optMap(x, x * 2).value() == 4",
    # errors that another side absorbs
    "managedCluster.nothere == 1 || true",
    "!(managedCluster.nothere == 1 && false)",
    '[{"v": 1}, {"w": 2}].exists(x, x.w == 2)',
    '![{"v": 1}, {"w": 2}].all(x, x.w == 3)',
    # numbers
    "dyn(1) == 1.0 && dyn(1u) == 1 && dyn(2) > 1.5",
    "7 / -2 == -3 && -7 % 3 == -1 && 7.0 / 2.0 == 3.5",
    'int("42") == 42 && double("1.5") < 2.0 && uint(3) == 3u && int(3.9) == 3',
    'string(1.0) == "1" && string(1.5e20) == "150000000000000000000" && string(true) == "true"',
    "{true: 2}[true] == 2 && !(dyn(1) in {true: 2}) && dyn({true: 1}) != {1: 1}",
    "{true: 2, 1: 3}.exists(k, k == dyn(true)) && size({false: 1, 0: 1}) == 2",
    "'%s'.format([{true: [1]}]) == '{true: [1]}'",
    "{1: 2}[dyn(1.0)] == 2 && dyn(1u) in {1: 2} && {0: 1}.exists(k, k == 0)",
    # strings
    '"a,b,c".split(",").size() == 3 && "a,b,c".split(",", 2) == ["a", "b,c"]',
    '"Hello".lowerAscii() == "hello" && "ab".reverse() == "ba" && " x ".trim() == "x"',
    '"tacocat".substring(1, 3) == "ac" && "tacocat".charAt(0) == "t"',
    '"tacocat".indexOf("a") == 1 && "tacocat".lastIndexOf("a") == 5 && "x".indexOf("y") == -1',
    '"aba".replace("a", "c", 1) == "cba" && ["x", "y"].join("-") == "x-y"',
    '"%s %d %.2f %x".format(["a", 7, 1.0, 255]) == "a 7 1.00 ff"',
    'strings.quote("a\\"b") == "\\"a\\\\\\"b\\""',
    'size("日本") == 2 && "abc".contains("b") && "abc".startsWith("a") && "abc".endsWith("c")',
    'managedCluster.status.version.kubernetes.matches("^v1\\\\.(30|31)\\\\.")',
    '"abcab".find("b.") == "bc" && "abcab".findAll("a") == ["a", "a"] && "x".find("y") == ""',
    # instants and spans
    'timestamp("2026-01-01T00:00:00Z").getFullYear() == 2026',
    'timestamp("2026-01-01T23:30:00Z").getHours("+01:00") == 0',
    'timestamp("2026-01-01T00:00:00Z") + duration("90m") == timestamp("2026-01-01T01:30:00Z")',
    'duration("90m").getMinutes() == 90 && string(duration("1h30m")) == "5400s"',
    'duration("90m").getMilliseconds() == 5400000 && duration("-1.5s").getMilliseconds() == -1500',
    # types
    "type(1) == int && type([]) == list && type({}) == map && type(null) == null_type",
    "type(type(1)) == type && type(1u) == uint",
    # Kubernetes' libraries
    'quantity("1Gi") == quantity("1024Mi") && quantity("1500m").compareTo(quantity("1.5")) == 0',
    'quantity(managedCluster.status.allocatable.cpu).isGreaterThan(quantity("7"))',
    'quantity("4").add(quantity("500m")).sub(1).asApproximateFloat() == 3.5',
    'quantity("4").isInteger() && quantity("4").asInteger() == 4 && sign(quantity("-1")) == -1',
    'isQuantity("1Ki") && !isQuantity("1K")',
    'semver("1.2.3-rc.1").isLessThan(semver("1.2.3")) && semver("1.10.0").minor() == 10',
    'semver("1.0.0-alpha.2").compareTo(semver("1.0.0-alpha.10")) == -1 && !isSemver("v1.2.3")',
    'ip("::1").isLoopback() && ip("10.0.0.1").family() == 4 && ip.isCanonical("::1")',
    'ip("fe80::1").isLinkLocalUnicast() && ip("224.0.0.1").isLinkLocalMulticast()',
    'ip("8.8.8.8").isGlobalUnicast() && ip("0.0.0.0").isUnspecified() && !isIP("1.2.3")',
    'cidr("10.0.0.0/8").containsIP(managedCluster.metadata.annotations.ip)',
    'cidr("10.0.0.0/8").containsCIDR("10.1.0.0/16") && cidr("10.1.2.3/8").prefixLength() == 8',
    'cidr("10.1.2.3/8").masked() == cidr("10.0.0.0/8") && cidr("10.1.2.3/8").ip() == ip("10.1.2.3")',
    'url("https://u@a.example:6443/p%20q?x=1&x=2").getHost() == "a.example:6443"',
    'url("https://a:6443/p%20q").getEscapedPath() == "/p%20q" && url("https://[::1]:8/").getHostname() == "::1"',
    'url("https://a/?x=1&x=2").getQuery()["x"] == ["1", "2"] && url("https://a/").getPort() == ""',
    'isURL("/path") && !isURL("not a url")',
    "[3, 1, 2].max() == 3 && ![3, 1].isSorted() && [1, 2].sum() == 3 && [1, 2, 1].lastIndexOf(1) == 2",
    'format.dns1123Label().validate("a.b").hasValue() && !format.named("uuid").value().validate("123e4567-e89b-12d3-a456-426614174000").hasValue()',
    # OCM's own
    'managedCluster.metadata.annotations["cfg"].parseJSON().n == 3.0',
    'managedCluster.metadata.annotations["cfg"].parseJSON().l == [1, 2]',
    'managedCluster.metadata.annotations["cfg"].parseJSON().z == null',
)


@pytest.mark.parametrize("text", TRUE)
def test_expressions_that_are_true(text: str) -> None:
    assert verdict(text) is True


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("managedCluster.nothere", "no such key: nothere"),
        ("managedCluster.metadata.name", "it is a string, not a bool"),
        ("1 / 0 == 1", "division by zero"),
        ('managedCluster.spec.leaseDurationSeconds > "60"', "no such overload: _>_(int, string)"),
        ('"nul".parseJSON() == null', "parseJSON: invalid JSON"),
        ("9223372036854775807 + 1 > 0", "integer overflow"),
        ('"a".matches("(")', "invalid regular expression"),
        ("[1][3] == 1", "index out of bounds: 3"),
        ("optional.none().value() == 1", "optional.none() dereference"),
        ('ip("x") == ip("y")', "parse error"),
    ],
)
def test_an_expression_without_a_verdict_says_why(text: str, words: str) -> None:
    found = verdict(text)

    assert isinstance(found, str)
    assert words in found


@pytest.mark.parametrize(
    "text",
    [
        "",
        'nosuch.metadata.name == "x"',
        "nosuchfn(1)",
        "1 < 2.5",
        '"a".size() == "b"',
        'managedCluster.status.clusterClaims.exists(i, c, c.name == "id")',
        "'\ud800' == ''",
        "math.greatest(1, 2) == 2",
        "managedCluster.scores(1).size() > 0",
        "quantity(1) == quantity(2)",
        "(" * 300 + "true" + ")" * 300,
        "x" * 20_000,
        'optional.of("a")' + ".optMap(x, x + x)" * 40 + ".hasValue()",
    ],
)
def test_what_does_not_compile_is_a_problem_and_no_exception(text: str) -> None:
    assert expressions.program(text).problem


@pytest.mark.parametrize(
    ("text", "boolean"),
    [("1", False), ("null", False), ('"a"', False), ("true", True), ("managedCluster.x", True)],
)
def test_an_expression_that_can_never_be_a_bool_is_known_as_such(text: str, boolean: bool) -> None:
    assert expressions.program(text).boolean is boolean


PLAIN = [t for t in TRUE if "managedCluster" not in t]
STANDARD_ONLY = [
    t
    for t in PLAIN
    if not any(
        word in t
        for word in (
            "quantity", "semver", "ip(", "cidr", "url", "URL", "format", "find", "sum()", "quote",
            "split", "Ascii", "substring", "indexOf", "replace", "Quantity", "[?", "{?",
            "getMilliseconds",  # of a span, the library's is the part below a second
            "1.5e20",  # how a large double is written is up to the implementation; ours is Go's
        )
    )
]  # fmt: skip


@pytest.mark.parametrize("text", STANDARD_ONLY)
def test_our_evaluation_agrees_with_the_librarys_where_it_can_evaluate(text: str) -> None:
    environment = library.NewEnv(extensions=[ext_optional.ExtOptional()])

    assert environment.compile(text).eval(data={}).value() is verdict(text)


# Scores.


def usage(valid_until: datetime | None = None) -> expressions.Scores:
    score = Score("alpha", "usage", {"cpu": 90}, valid_until)
    return lambda name: {"alpha": score} if name == "usage" else {}


HIGH = 'managedCluster.scores("usage").exists(s, s.name == "cpu" && s.value > 80)'


def test_scores_are_read_by_name() -> None:
    assert verdict(HIGH, scores=usage()) is True
    assert expressions.score_names(HIGH) == {"usage"}
    for text in (
        "managedCluster.scores(managedCluster.metadata.name).size() > 0",
        "managedCluster.scores('a' + 'b').size() > 0",
        r"managedCluster.scores('\x61').size() > 0",
    ):
        assert expressions.score_names(text) == {"*"}
    assert expressions.score_names("managedCluster . scores ( 'a' ).size() > 0") == {"a"}


def test_a_missing_score_is_no_verdict() -> None:
    assert "no AddOnPlacementScore usage" in str(verdict(HIGH))


@pytest.mark.parametrize(("after", "valid"), [(-TICK, True), (timedelta(0), True), (TICK, False)])
def test_a_score_is_used_until_it_expires_and_looked_at_again_right_after(
    after: timedelta, valid: bool
) -> None:
    judge = expressions.Judge(usage(valid_until=T0), T0 + after)

    found, _ = judge.verdict(HIGH, ALPHA)

    assert (found is True) is valid
    assert judge.changes == ({T0 + TICK} if valid else set())


def test_profile_ocm_does_not_look_at_the_expiry() -> None:
    assert verdict(HIGH, now=None, scores=usage(valid_until=T0 - timedelta(days=1))) is True


# Bounds.

TEN = "[1,2,3,4,5,6,7,8,9,10]"


def nested(levels: int) -> str:
    text = "true"
    for level in range(levels):
        text = f"{TEN}.all(v{level}, {text})"
    return text


def test_an_evaluation_is_bounded_in_steps_and_no_operator_hides_that() -> None:
    assert expressions.Judge(no_scores, T0).verdict(nested(4), ALPHA) == (True, 11_111)
    assert f"more than {bounds.BUDGET} steps" in str(verdict(f"{nested(7)} || true"))


def test_a_loop_that_repeats_much_pays_for_it() -> None:
    little, much = (f"{TEN}.all(v, {' || '.join(['v > 0'] * n)})" for n in (1, 400))

    assert expressions.Judge(no_scores, T0).verdict(little, ALPHA) == (True, 11)
    answer, steps = expressions.Judge(no_scores, T0).verdict(much, ALPHA)
    assert answer is True
    assert 300 < steps < 600


@pytest.mark.parametrize(
    "use", ["s.matches('x+b')", "s + 'x' == ''", "'x' in s.split('b')", "s.split('b') == []"]
)
def test_what_goes_through_a_long_value_pays_for_its_length(use: str) -> None:
    long = f"['{'ab' * 2_000}'.replace('a', 'cccccccccc')].all(s, {TEN}.all(v, !({use})))"

    answer, steps = expressions.Judge(no_scores, T0).verdict(long, ALPHA)
    assert answer is True
    assert steps > 11 + 10 * (22_000 // bounds.LENGTH_PER_STEP[str])


def test_values_cannot_grow_without_bound() -> None:
    text = '["x"]' + ".map(b, b + b)" * 25 + ".size() == 1"

    assert "grew beyond" in str(verdict(text))


def test_a_hostile_pattern_takes_no_time() -> None:
    assert verdict('"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!".matches("^(a+)+$")') is False


def placement_with(*texts: str) -> Placement:
    return Placement("ns", "p", predicates=(Predicate(EVERYTHING, EVERYTHING, texts),))


def many(count: int) -> list[Cluster]:
    return [
        Cluster(f"c{i:03}", raw={"metadata": {"name": f"c{i:03}"}, "status": {"n": i}})
        for i in range(count)
    ]


def test_failing_evaluations_are_told_with_the_expression_and_the_first_cluster() -> None:
    found = select(Cycle(placement_with("managedCluster.status.n / 0 == 1"), T0), Pool.of(many(3)))

    assert found.chosen == ()
    failed = "CEL expression 'managedCluster.status.n / 0 == 1' failed on 3 clusters"
    assert found.remarks == (f"{failed}, first on c000: division by zero",)
