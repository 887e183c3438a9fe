"""No expression and no value of a cluster makes an evaluation raise, or run for long."""

import math
import re
from datetime import UTC, datetime, timedelta
from itertools import product
from time import process_time
from typing import Any

import pytest

from rollout.model.cluster import Cluster
from rollout.placement.cel import bounds, expressions
from rollout.placement.cel.addresses import ADDRESSES
from rollout.placement.cel.kubernetes import FORMATS, KUBERNETES
from rollout.placement.cel.standard import ANY, STANDARD, Function
from rollout.placement.cel.text import MATCHES, TEXT
from rollout.placement.cel.values import INT_MAX, INT_MIN, NONE, CelError, CelType, Optional, Uint

DIGITS = "9" * 5000
ANNOTATIONS = {"long": DIGITS, "q": "9" * 400, "v": f"1.0.0-{DIGITS}", "zone": "1²:00"}
ODD = Cluster("odd", raw={"metadata": {"name": "odd", "annotations": ANNOTATIONS}})
A = "managedCluster.metadata.annotations"
YEAR_1, YEAR_9999 = "timestamp('0001-01-01T00:00:00Z')", "timestamp('9999-12-31T23:59:59Z')"


def verdict(text: str, cluster: Cluster = ODD) -> bool | str:
    return expressions.Judge(lambda _: {}, None).verdict(text, cluster)[0]


WITHOUT_A_VALUE = {
    f"int({A}.long) > 1": "integer overflow",
    f"uint({A}.long) > 1u": "unsigned integer overflow",
    "uint(-0.5) == 0u": "unsigned integer overflow",
    "int('--5') == 5": "type conversion error from 'string' to 'int': '--5'",
    "int('²') == 2": "type conversion error from 'string' to 'int': '²'",
    "double(' 1 ') == 1.0": "type conversion error from 'string' to 'double': ' 1 '",
    f"quantity({A}.long).isInteger()": "is not a quantity",
    f"quantity({A}.q).asApproximateFloat() > 1.0": "is not a quantity",
    f"{YEAR_1}.getHours('-10:00') == 14": "timestamp overflow",
    f"{YEAR_9999}.getHours('Asia/Tokyo') == 8": "timestamp overflow",
    f"{YEAR_1}.getHours({A}.zone) == 1": "unknown time zone '1²:00'",
    "timestamp(1700000000000) > timestamp(0)": "timestamp overflow",
    "timestamp(9223372036854775807) > timestamp(0)": "timestamp overflow",
    f"{YEAR_9999} - {YEAR_1} > duration('1s')": "duration overflow",
    "[1, 2][dyn(double('inf'))] == 1": "index out of bounds: inf",
    "[1, 2][dyn(double('nan'))] == 1": "index out of bounds: nan",
    "{'a': 1}[dyn([1])] == 1": "no such key: a list",
    "{'a': 1}[dyn(optional.of([1]))] == 1": "no such key: a optional_type",
    f"[{YEAR_1}, {YEAR_1}].map(x, dyn(x)).sum() == 1": "no such overload: sum",
    "'[null, null]'.parseJSON().sum() == 1": "no such overload: sum",
    "'%.9999999999d'.format([1.5]) == ''": "no such overload: format",
}


@pytest.mark.parametrize("text", WITHOUT_A_VALUE)
def test_an_odd_value_is_no_match_and_says_why(text: str) -> None:
    found = verdict(text)

    assert isinstance(found, str)
    assert WITHOUT_A_VALUE[text] in found
    assert len(found) <= bounds.LONGEST_FAILURE


@pytest.mark.parametrize("text", WITHOUT_A_VALUE)
def test_the_other_side_of_an_or_hides_an_odd_value(text: str) -> None:
    assert verdict(f"{text} || true") is True


@pytest.mark.parametrize(
    "text",
    [
        f"!isQuantity({A}.long) && !isCIDR('1.1.1.1/' + {A}.long)",
        f"semver('1.0.0-99').isLessThan(semver({A}.v))",
        "int('+5') == 5 && int('-0005') == -5 && uint('18446744073709551615') > 1u",
        "int('-9223372036854775808') < 0 && uint(1e19) > 1u",
        f"string({YEAR_1}) == '0001-01-01T00:00:00Z'",
        "[1u, 2u, 3u].sum() == 6u && [duration('1s'), duration('2s')].sum() == duration('3s')",
        "!{'a': 1}[?dyn([1])].hasValue() && !(dyn(optional.of([1])) in {'a': 1})",
        "'%.00002f'.format([1.0]) == '1.00'",
        "'abc'.indexOf('', 9) == 9 && 'abc'.lastIndexOf('', 9) == 9",
        "' \\t\\u00a0\\u001fa\\u2003'.trim() == '\\u001fa'",
        "['2026-W05-6', '20260131', '2026-02-30'].all(d, format.date().validate(d).hasValue())",
    ],
)
def test_what_is_odd_and_has_a_value_gives_it(text: str) -> None:
    assert verdict(text) is True


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[1].first().value() == 1", "there is no function first"),
        ("google.protobuf.Any{} == null", "it makes a google.protobuf.Any"),
        (
            "google.protobuf.Duration{seconds: 1} == duration('1s')",
            "it makes a google.protobuf.Duration",
        ),
    ],
)
def test_what_compiles_and_cannot_be_evaluated_is_a_problem(text: str, problem: str) -> None:
    assert str(expressions.program(text).problem).startswith(problem)


def test_a_fault_of_a_function_is_no_match_and_is_told_with_its_kind() -> None:
    cluster = Cluster("c", raw={"metadata": {"name": "\ud800"}})

    assert str(verdict("bytes(managedCluster.metadata.name) == b''", cluster)).startswith(
        "UnicodeEncodeError: "
    )


def test_the_words_of_a_failure_are_few_however_long_the_value() -> None:
    cluster = Cluster("c", raw={"metadata": {"annotations": {"x" * 100_000: "y" * 100_000}}})
    text = "managedCluster.metadata.annotations.all(k, int(managedCluster.metadata.annotations[k]) > 1)"

    assert len(str(verdict(text, cluster))) <= bounds.LONGEST_FAILURE


# Every function, with odd values of the types that it is declared for.

VALUES: dict[str, list[Any]] = {
    "string": [
        "", "--5", "²", "٣", DIGITS, "1_0", "inf", "1e999", "0x1p3", "-1", "9" * 30 + "h", "%d",
        "%.99999999999f", "%", "(", "\\", f"1.2.3-{DIGITS}", f"1.1.1.1/{DIGITS}", "::/129",
        "fe80::1%eth0", "http://[::1", "http://a:99999999/", "/a?b=%zz", "[1,", "[" * 5_000,
        "\x00", "+25:00", "-10:00", "../../etc/passwd", "a" * 300, "9999-12-31T23:59:59-01:00",
    ],
    "int": [0, -1, 5, INT_MAX, INT_MIN],
    "uint": [Uint(0), Uint(2**64 - 1)],
    "double": [0.0, -1.5, math.inf, math.nan, 9.3e18],
    "bool": [True],
    "bytes": [b"", b"\xff"],
    "timestamp": [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)],
    "duration": [timedelta(days=106751), timedelta(days=-106751), timedelta(microseconds=-1)],
    "optional": [NONE, Optional(True, [1])],
    "type": [CelType("int")],
    "list": [
        [], [1, 2], [math.nan], ["a", "b"], [None, None], [{}, {}], [True, True], [Uint(1)] * 3,
        [1, "a"], [timedelta(days=106751)] * 3, [datetime.min.replace(tzinfo=UTC)] * 2, [b"a"],
        [INT_MAX, 1], [NONE], [[1], [2]],
    ],
    "map": [{}, {"a": 1}],
    "kubernetes.NamedFormat": list(FORMATS.values())[:3],
}  # fmt: skip
MADE = {
    "kubernetes.Quantity": ("quantity", ["0", "9" * 61 + "e99", "-1n"]),
    "net.IP": ("ip", ["1.2.3.4", "::1"]),
    "net.CIDR": ("cidr", ["0.0.0.0/0", "::1/128"]),
    "kubernetes.URL": ("url", ["/a?b=%20", "http://[::1]:8/", "//"]),
    "kubernetes.Semver": ("semver", [f"1.2.3-{DIGITS}", "1.2.3-a.1", "0.0.0"]),
}
for kind, (function, texts) in MADE.items():
    VALUES[kind] = [expressions.TABLE[function][(str,)](text) for text in texts]
VALUES[ANY] = [values[0] for values in VALUES.values()]


ROWS = (*STANDARD, MATCHES, *TEXT, *KUBERNETES, *ADDRESSES)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_no_function_fails_but_with_an_error_of_cel(row: Function) -> None:
    choices = [VALUES[param.partition("(")[0]] for param in row.params]
    for values in product(*choices):
        try:
            row.run(*values)
        except CelError:
            continue


# Bounds in steps are bounds in time.

MANY = {f"a{i:05d}": "v" * 20 for i in range(5000)}
CLAIMS = [{"name": f"claim{i}", "value": "x" * 100} for i in range(1250)]
LARGE = Cluster("l", raw={"metadata": {"annotations": MANY}, "status": {"clusterClaims": CLAIMS}})
HUNDRED = f"[{','.join(map(str, range(100)))}]"
WHOLE, STATUS = "managedCluster", "managedCluster.status"


@pytest.mark.parametrize(
    "use",
    [
        f"{WHOLE} == {WHOLE}",
        f"![{WHOLE}].all(x, x != {WHOLE})",
        f"[[[{WHOLE}]]] == [[[{WHOLE}]]]",
        f"optional.of({WHOLE}) == optional.of({WHOLE})",
        f"{STATUS} in [{WHOLE}.metadata, {STATUS}]",
        f"[{STATUS}].indexOf({STATUS}) == 0",
        f"[{STATUS}].lastIndexOf({STATUS}) == 0",
        f"'%s'.format([{WHOLE}]) != ''",
    ],
)
def test_what_goes_down_into_a_large_value_pays_for_all_of_it(use: str) -> None:
    once, steps = expressions.Judge(lambda _: {}, None).verdict(use, LARGE)
    assert once is True
    assert steps > 200

    begun = process_time()
    often = f"{HUNDRED}.all(a, {HUNDRED}.all(b, {use}))"
    assert re.search("it (takes|makes) more than", str(verdict(often, LARGE)))
    assert process_time() - begun < 5, "it took 7 to 14 s; it takes a tenth of one now"


def test_values_that_can_be_told_apart_at_once_are_not_paid_for() -> None:
    for use in (f"{WHOLE}.metadata.annotations != {{}}", f"'a' in {WHOLE}.metadata || true"):
        answer, steps = expressions.Judge(lambda _: {}, None).verdict(use, LARGE)
        assert (answer, steps) == (True, 1)


def test_a_value_that_holds_itself_many_times_over_is_paid_for_on_the_way() -> None:
    doubled = "[[1]]" + ".map(x, [x, x])" * 28

    begun = process_time()
    assert "it takes more than" in str(verdict(f"{doubled} == {doubled}"))
    assert process_time() - begun < 5


PATTERNS = {
    "a long program": "'{text}'.matches('(a|b|c|d|e){{1000}}')",
    "a pattern made each time": "'x'.matches('[^a]{{1000}}' + string(a * 100 + b)) || true",
    "one that is too large": "'x'.matches(r'(\\pL{{30}}){{9}}' + string(a * 100 + b)) || true",
}


@pytest.mark.parametrize("name", PATTERNS)
def test_a_costly_pattern_takes_steps_for_what_it_costs(name: str) -> None:
    use = PATTERNS[name].format(text="abcde" * 400)

    begun = process_time()
    found = verdict(f"{HUNDRED}.all(a, {HUNDRED}.all(b, {use}))")

    assert "it takes more than" in str(found)
    assert process_time() - begun < 5, "it took from a minute to a quarter of an hour"


def test_a_usual_pattern_costs_next_to_nothing() -> None:
    use = "managedCluster.metadata.name.matches('^(odd|even)-?[0-9]*$')"

    assert expressions.Judge(lambda _: {}, None).verdict(use, ODD) == (True, 4)


@pytest.mark.parametrize("maker", ["split('')", "findAll('a')", "parseJSON()"])
def test_many_values_that_are_made_of_one_text_are_paid_for(maker: str) -> None:
    text = "[" + "1," * 8000 + "1]" if maker == "parseJSON()" else "a" * 16_000
    cluster = Cluster("c", raw={"metadata": {"text": text}})

    answer, steps = expressions.Judge(lambda _: {}, None).verdict(
        f"managedCluster.metadata.text.{maker}.size() > 1", cluster
    )
    assert answer is True
    assert steps > 500


def test_the_price_of_no_expression_that_is_accepted_is_all_that_it_may_take() -> None:
    """Each node of a tree has a character of its own, of what is left once macros are written out."""
    assert bounds.LONGEST_DOUBLED // bounds.NODES_PER_STEP < bounds.BUDGET
    longest = "||".join(["true"] * (bounds.LONGEST_EXPRESSION // 6))
    assert 1 < expressions.program(longest).price < bounds.BUDGET
