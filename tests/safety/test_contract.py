"""The safety contract on random histories: each promise kept, and its guarded states reached."""

import re
from functools import cache
from pathlib import Path

import pytest

from tests.safety.kinds import SUBJECTS
from tests.safety.mutants import MUTANTS, cases
from tests.safety.promises import Promise, promises_of, short
from tests.safety.suite import Tally, run_all
from tests.safety.table import Row, heads_in

ROOT = Path(__file__).parents[2]
HISTORIES = {"replicaset": 160, "addon": 100}


BY_HISTORIES = [(kind, promise) for kind in sorted(SUBJECTS) for promise in promises_of(kind)]
BY_NAME = re.compile(r"^def test_((?:[a-z]\d+_)+)", re.MULTILINE | re.IGNORECASE)
"""The ids of the contract at the beginning of the name of a test of its own, or of several promises."""


@cache
def tally(kind: str) -> Tally:
    """Run once for all promises."""
    return run_all(0, HISTORIES[kind], jobs=1, kind=kind)


@pytest.mark.parametrize(
    ("kind", "promise"), BY_HISTORIES, ids=[f"{p.key}-{kind}" for kind, p in BY_HISTORIES]
)
def test_a_promise_is_kept_and_put_to_the_test_often_enough(kind: str, promise: Promise) -> None:
    found = tally(kind)
    assert not (broken := found.again(promise.key)), "\n".join(broken)
    assert not short(promise, found.counts, HISTORIES[kind])


@pytest.mark.parametrize("kind", sorted(SUBJECTS))
def test_no_history_breaks_anything_that_is_no_promise_of_the_list(kind: str) -> None:
    assert not (broken := tally(kind).again()), "\n".join(broken)


def test_every_promise_on_the_page_has_a_test_with_its_id() -> None:
    page = (ROOT / "docs" / "safety-contract.md").read_text()
    promised = set(re.findall(r"^\| ([SLRO]\d+) \|", page, re.MULTILINE))
    named = {
        key.upper()
        for path in (ROOT / "tests").rglob("test_*.py")
        for keys in BY_NAME.findall(path.read_text())
        for key in keys.strip("_").split("_")
    }
    assert promised
    assert promised <= named | {promise.key for _, promise in BY_HISTORIES}


def test_every_promise_has_a_kept_fault() -> None:
    for kind in SUBJECTS:
        kept = {mutant.promise for mutant in MUTANTS if kind in mutant.kinds}
        assert kept >= {promise.key for promise in promises_of(kind)}, kind


def test_the_page_of_the_contract_lists_every_kept_fault() -> None:
    assert heads_in() == [Row(mutant, kind, None).head for mutant, kind in cases()]
