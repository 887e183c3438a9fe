"""What a rollout remembers, written down and read back."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from rollout.model import names
from rollout.model.kinds import REPLICA_SET, ROLLOUT_RECORD, Obj, Ref
from rollout.rollouts.head import Basis, Head, Leaving, Rollback
from rollout.rollouts.line import NOT_BROUGHT, Line
from rollout.rollouts.record import (
    CLUSTERS,
    HEAD,
    PAGE_SIZE,
    Record,
    head_text,
    line_text,
    one_line,
    page_object,
    page_of,
    page_ref,
    page_text,
    read_record,
    record_id,
)
from rollout.strategies.base import Health, Standing, Verdict
from tests.support.fleets import MIN, T0

WORKLOAD = Ref(REPLICA_SET, "apps/web")
RID = record_id(WORKLOAD, "global")


def page(number: int, lines: dict[str, Line], head: Head | None = None) -> Obj:
    data = {CLUSTERS: page_text(line_text(line) for line in lines.values())}
    if head is not None:
        data[HEAD] = head_text(head)
    return page_object(RID, WORKLOAD, "uid-1", "global", page=number, data=data)


def of(standing: Standing, cause: str = "", lost_from: str = "", soaked: Any = ()) -> Line:
    return Line(
        cluster=standing.cluster,
        standing=standing,
        cause=cause,
        lost_from=lost_from,
        soaked=soaked,
    )


LOST = Line(cluster="w", cause="Lost", lost_from="m/0")


def altered(obj: Obj, **data: Any) -> Obj:
    return {**obj, "data": {**obj["data"], **data}}


INSTANTS = st.datetimes(timezones=st.just(UTC))
WORDS = st.text(max_size=12)
NAMES = st.from_regex(r"[a-z0-9][a-z0-9.-]{0,60}", fullmatch=True)
REVISIONS = st.lists(WORDS, max_size=3).map(tuple)
ROLLBACKS = st.none() | st.builds(Rollback, WORDS.filter(bool), WORDS, INSTANTS, WORDS)
STANDINGS = st.builds(
    Standing,
    cluster=st.just("?"),
    revision=WORDS,
    touched=INSTANTS,
    health=st.sampled_from(Health),
    since=st.none() | INSTANTS,
    verdict=st.none() | st.sampled_from(Verdict),
    reason=WORDS,
)
LINES = st.one_of(
    st.builds(
        Line,
        cluster=st.just("?"),
        standing=STANDINGS,
        cause=WORDS,
        soaked=REVISIONS,
    ),
    st.builds(
        Line,
        cluster=st.just("?"),
        standing=STANDINGS,
        cause=st.just(NOT_BROUGHT),
        before=st.none() | st.tuples(st.none() | STANDINGS, WORDS),
    ),
    st.builds(
        lambda cause, stage, soaked: Line(cluster="?", cause=cause, lost_from=stage, soaked=soaked),
        WORDS,
        WORDS.filter(bool),
        REVISIONS,
    ),
)
HEADS = st.builds(
    Head,
    WORDS,
    passed=st.frozensets(WORDS, max_size=4),
    seen=st.frozensets(WORDS, max_size=4),
    basis=st.builds(Basis, WORDS, st.none() | INSTANTS),
    removals=st.lists(st.tuples(INSTANTS, st.integers(0, 5000)), max_size=3).map(tuple),
    detached=st.lists(st.tuples(INSTANTS, st.integers(0, 5000)), max_size=3).map(tuple),
    leaving=st.dictionaries(WORDS, st.builds(Leaving, INSTANTS, st.booleans()), max_size=4),
    outages=st.lists(st.tuples(INSTANTS, INSTANTS), max_size=3).map(tuple),
    began=st.none() | INSTANTS,
    opened=st.frozensets(WORDS, max_size=4),
    retried=WORDS,
    rollback=ROLLBACKS,
)


def named(cluster: str, line: Line) -> Line:
    def owned(known: Standing | None) -> Standing | None:
        return None if known is None else structs.replace(known, cluster=cluster)

    before = None if line.before is None else (owned(line.before[0]), line.before[1])
    return structs.replace(line, cluster=cluster, standing=owned(line.standing), before=before)


@given(HEADS, st.lists(st.dictionaries(NAMES, LINES, max_size=4), min_size=1, max_size=3))
def test_what_is_written_is_what_is_read(head: Head, pages: list[dict[str, Line]]) -> None:
    lines: dict[str, Line] = {}
    places: dict[str, int] = {}
    for number, content in enumerate(pages, 1):
        for cluster, line in content.items():
            lines[cluster] = named(cluster, line)
            places[cluster] = number
    stored = [
        page(0, {}, head),
        *(page(n, {c: lines[c] for c in lines if places[c] == n}) for n in range(1, 4)),
    ]

    through_the_hub = json.loads(json.dumps(stored))
    assert read_record(reversed(through_the_hub)) == Record(head, lines, places)


def test_a_record_keeps_microseconds() -> None:
    at = T0 + timedelta(microseconds=1)
    known = Standing(cluster="a", revision="r", touched=at, health=Health.SUCCEEDED, since=at)

    read = read_record([page(1, {"a": of(known)})])

    assert read.lines["a"].standing == known


def test_a_page_can_be_read_by_a_person() -> None:
    soaked = Standing(
        cluster="east-1",
        revision="5f3a",
        touched=T0,
        health=Health.SUCCEEDED,
        since=T0 + MIN,
        verdict=Verdict.SOAKED,
    )
    obj = page(1, {"east-1": of(soaked, cause="SlotFree"), "w": LOST})
    head = page(0, {}, Head("5f3a"))

    assert obj["data"][CLUSTERS] == (
        "{\n"
        '"east-1": {"revision": "5f3a", "touchedAt": "2026-06-01T12:00:00.000000Z", '
        '"health": "Succeeded", "since": "2026-06-01T12:01:00.000000Z", "verdict": "Soaked", '
        '"cause": "SlotFree"},\n'
        '"w": {"cause": "Lost", "lostFrom": "m/0"}\n'
        "}"
    )
    assert json.loads(head["data"][HEAD])["revision"] == "5f3a"
    assert head["data"][HEAD].count("\n") > 5


def test_a_page_lies_beside_its_workload_and_goes_with_it() -> None:
    obj = page(3, {})

    assert (obj["kind"], obj["metadata"]["namespace"]) == ("RolloutRecord", "apps")
    assert obj["metadata"]["name"] == f"rollout-record-{RID}-3"
    assert obj["metadata"]["labels"] == {names.RECORD_LABEL: RID}
    assert obj["metadata"]["annotations"] == {
        names.OWNER: "apps/web",
        names.RECORD_PLACEMENT: "global",
    }
    [owner] = obj["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"]) == (
        "ManifestWorkReplicaSet",
        "web",
        "uid-1",
    )
    assert not owner["blockOwnerDeletion"]


def test_a_record_is_named_for_its_workload_and_placement_in_few_characters() -> None:
    long = Ref(REPLICA_SET, f"{'n' * 63}/{'w' * 253}")
    ids = {
        record_id(long, "p"),
        record_id(long, "q"),
        record_id(WORKLOAD, "p"),
        record_id(Ref(REPLICA_SET, "apps/we"), "b/p"),
        record_id(Ref(ROLLOUT_RECORD, "apps/web"), "p"),
    }

    assert len(ids) == 5
    assert {len(i) for i in ids} == {16}


@pytest.mark.parametrize("number", [0, 7, 123])
def test_a_page_is_found_by_its_name(number: int) -> None:
    assert page_of(page_ref("apps", RID, number)) == (RID, number)


@pytest.mark.parametrize(
    "name",
    [
        "kube-root-ca.crt",
        "rollout-record-",
        "rollout-record-1",
        "rollout-record-ab-x",
        "rollout-record-ab-00",
        "rollout-record-ab-²",
        "rollout-record-ab-" + "9" * 5000,
        "ab-1",
    ],
    ids=lambda name: name[:24],
)
def test_other_config_maps_are_no_pages(name: str) -> None:
    assert page_of(Ref(ROLLOUT_RECORD, f"apps/{name}")) is None


GOOD = of(Standing(cluster="a", revision="r", touched=T0, health=Health.PROGRESSING, since=T0))
HEADED = page(0, {}, Head("r", passed=frozenset({"m/0"})))
STORED = page(1, {"a": GOOD, "b": Line(cluster="b", lost_from="rest")})
UNREADABLE = [None, 7, "", "{", "[]", "null", '"a"', "[" * 200_000, "{}x", "1" * 5000, '{"a": 1e}']


@pytest.mark.parametrize("text", UNREADABLE, ids=lambda t: str(t)[:8])
def test_a_page_that_cannot_be_read_is_as_if_never_written(text: object) -> None:
    other = page(
        2, {"z": of(Standing(cluster="z", revision="r", touched=T0, health=Health.SILENT))}
    )

    read = read_record([HEADED, altered(STORED, **{CLUSTERS: text}), other])

    assert set(read.lines) == {"z"}
    assert read.head == Head("r", passed=frozenset({"m/0"}))


@pytest.mark.parametrize("text", UNREADABLE, ids=lambda t: str(t)[:8])
def test_a_head_that_cannot_be_read_is_an_empty_one_and_the_clusters_stay(text: object) -> None:
    read = read_record([altered(HEADED, **{HEAD: text}), STORED])

    assert read.head == Head()
    assert set(read.lines) == {"a", "b"}


@pytest.mark.parametrize(
    "body",
    [
        "7",
        "null",
        "{}",
        '{"revision": "r"}',
        '{"touchedAt": "yesterday", "health": "Silent"}',
        '{"touchedAt": "2026-06-01T12:00:00Z"}',
        '{"touchedAt": "2026-06-01T12:00:00Z", "health": "Fine"}',
        '{"touchedAt": "2026-06-01T12:00:00Z", "health": ["Silent"]}',
        '{"touchedAt": "2026-06-01T12:00:00Z", "health": "Silent", "verdict": "Perhaps"}',
        '{"touchedAt": "2026-06-01T12:00:00Z", "health": "Silent", "verdict": {"a": 1}}',
    ],
)
def test_a_line_that_cannot_be_read_does_not_hide_the_others(body: str) -> None:
    text = '{"a": %s, "b": {"lostFrom": "rest"}}' % body  # noqa: UP031  (braces of JSON)

    assert set(read_record([altered(STORED, **{CLUSTERS: text})]).lines) == {"b"}


def test_unknown_fields_are_passed_over() -> None:
    body = '{"revision": "r", "touchedAt": "2026-06-01T12:00:00Z", "health": "Silent", "mood": 1}'

    head = '{"new": [], "revision": "r"}'
    clusters = altered(STORED, **{CLUSTERS: f'{{"a": {body}}}'})
    read = read_record([altered(HEADED, **{HEAD: head}), clusters])

    assert read.lines["a"].standing == Standing(
        cluster="a", revision="r", touched=T0, health=Health.SILENT
    )
    assert read.head == Head("r")


FIELDS = ["revision", "passed", "basis", "removals", "since", "workload", "touchedAt", "health"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(JSON)
def test_no_text_in_a_page_makes_reading_fail(body: Any) -> None:
    text = json.dumps(body)

    read = read_record([altered(HEADED, **{HEAD: text}), altered(STORED, **{CLUSTERS: text})])

    assert isinstance(read.head.revision, str)


def test_pages_without_data_or_number_are_passed_over() -> None:
    bare = {"metadata": {"name": f"rollout-record-{RID}-0"}}
    odd = {**STORED, "metadata": {"name": "rollout-record-x-y"}}

    assert read_record([bare, odd]) == Record()
    assert read_record([]) == Record()


def test_a_full_page_of_the_longest_names_fits_into_a_config_map() -> None:
    """R8: the API server takes 1 MiB in all; a page with everything filled in stays well below."""
    at = T0 + timedelta(microseconds=123456)
    lines = {}
    for n in range(PAGE_SIZE):
        cluster = f"{n:0253}"
        known = Standing(
            cluster=cluster,
            revision="f" * 64,
            touched=at,
            health=Health.PROGRESSING,
            since=at,
            verdict=Verdict.SOAKED,
            reason="R" * 64,
        )
        lines[cluster] = of(known, cause="Supersede", lost_from="n" * 63 + "/12345")
    groups = frozenset(f"{'g' * 63}/{n}" for n in range(1000))
    head = Head(
        "f" * 64,
        passed=groups,
        seen=groups,
        basis=Basis("f" * 16, at),
        removals=((at, 1),) * 100,
        outages=((at, at),) * 100,
    )

    obj = page(0, lines, head)

    assert PAGE_SIZE <= 2000
    assert len(json.dumps(obj).encode()) < 900 * 1024


def test_clusters_on_the_page_of_the_head_are_nobodys() -> None:
    """Nothing is ever written there: whoever does would tell of clusters that nobody touched."""
    forged = altered(HEADED, **STORED["data"])

    assert read_record([forged]).lines == {}


def test_the_same_head_is_the_same_text() -> None:
    one = Head("r", passed=frozenset(["a", "b", "c"]), seen=frozenset("xyz"))
    other = Head("r", passed=frozenset(["c", "b", "a"]), seen=frozenset("zyx"))

    assert head_text(one) == head_text(other)


BACK = Rollback("r2", "Breach", T0, "r1")


@pytest.mark.parametrize(
    "rollback",
    [
        None,
        "r2",
        {},
        {"revision": "r2", "cause": "Breach", "to": "r1"},
        {"revision": "r2", "began": "yesterday"},
        {"began": "2026-06-01T12:00:00Z"},
        {"revision": "", "began": "2026-06-01T12:00:00Z"},
    ],
)
def test_a_rollback_that_cannot_be_read_is_none_and_the_rest_of_the_head_stays(
    rollback: Any,
) -> None:
    known = Head("r2", opened=frozenset({"before:west"}), retried="again", rollback=BACK)
    body = {**json.loads(head_text(known)), "rollback": rollback}

    read = read_record([altered(page(0, {}, known), **{HEAD: json.dumps(body)})]).head

    assert read == replace(known, rollback=None)


@pytest.mark.parametrize("soaked", [None, "r1", {"r1": 1}, 3])
def test_what_soaked_before_and_cannot_be_read_is_nothing_to_go_back_to(soaked: Any) -> None:
    line = of(
        Standing(cluster="a", revision="r2", touched=T0, health=Health.SILENT, since=T0),
        soaked=("r1",),
    )
    body = json.loads("{" + line_text(line) + "}")
    body["a"]["soaked"] = soaked

    read = read_record([altered(page(1, {}), **{CLUSTERS: json.dumps(body)})]).lines["a"]

    assert read == structs.replace(line, soaked=())


def test_what_people_have_not_asked_for_takes_no_room_in_the_head() -> None:
    body = json.loads(head_text(Head("r1")))

    assert {"began", "opened", "retried", "rollback"} & body.keys() == set()


@pytest.mark.parametrize(
    ("revision", "touched", "gave"),
    [("r1", T0, True), ("r1", T0 + MIN, True), ("r1", T0 - MIN, False), ("r2", T0 + MIN, False)],
)
def test_a_rollback_gave_what_was_touched_with_something_else_since_it_began(
    revision: str, touched: datetime, gave: bool
) -> None:
    assert BACK.gave(Standing(cluster="a", revision=revision, touched=touched)) == gave


ANY_TEXT = st.text(st.one_of(st.characters(), st.characters(max_codepoint=0x7F)))
"""Half of a surrogate pair and control characters among its letters."""


@given(
    st.recursive(
        ANY_TEXT, lambda inner: st.lists(inner) | st.dictionaries(ANY_TEXT, inner), max_leaves=8
    )
)
def test_one_line_is_what_json_writes(value: Any) -> None:
    assert one_line({"c1": value}) == json.dumps({"c1": value})


@pytest.mark.parametrize("letter", [chr(code) for code in range(0x100)] + ["\ud800", "\u2028"])
def test_a_letter_stands_on_a_line_as_json_writes_it(letter: str) -> None:
    assert one_line({letter: letter}) == json.dumps({letter: letter})
