"""The safety contract on histories that nobody has seen before: they follow from the commit."""

import pytest

from tests.safety.kinds import SUBJECTS
from tests.safety.seeds import commit, fresh_from
from tests.safety.suite import run, run_asked

HISTORIES = {"replicaset": 60, "addon": 40}
ASKED = 2


@pytest.mark.parametrize("kind", sorted(SUBJECTS))
def test_no_promise_is_broken_in_fresh_histories(kind: str) -> None:
    first = fresh_from(commit())
    assert not run(range(first, first + HISTORIES[kind]), kind).again()


@pytest.mark.parametrize("kind", sorted(SUBJECTS))
def test_no_promise_is_broken_in_fresh_histories_about_rare_states(kind: str) -> None:
    first = fresh_from(commit())
    assert not run_asked(range(first, first + ASKED), kind).again()
