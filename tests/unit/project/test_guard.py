"""Does the admission policy of examples/security guard every annotation that moves a rollout?

Its expressions are evaluated by CEL itself. tests/kube/test_guard_policy.py asks an API server.
"""

from collections.abc import Callable
from datetime import timedelta

import pytest

from rollout.model import names
from rollout.model.kinds import Obj
from rollout.operate import intents
from rollout.operate.edits import VerbResult, Who
from tests.support import make
from tests.support.desk import T0, WEB, Desk, decided
from tests.support.guard import (
    ALL_OURS,
    CONTROLLER,
    MANAGERS,
    OPERATORS,
    OPERATORS_OWN,
    Judge,
    documents,
)

JUDGE = Judge(documents()[0]["spec"])
SPEC = "only release-managers may create workloads and change their spec"


def workload(**annotations: str) -> Obj:
    return {"metadata": {"name": "web", "annotations": annotations}, "spec": {"a": {"b": [1]}}}


def changes(name: str) -> list[tuple[Obj, Obj]]:
    """What there is before and after: the annotation is added, edited, removed."""
    without, bare = workload(other="1"), {"metadata": {"name": "web"}, "spec": {"a": {"b": [1]}}}
    one, two = workload(other="1", **{name: "1"}), workload(**{name: "2", "other": "1"})
    return [(without, one), (bare, one), (one, two), (two, without), (one, bare)]


def test_whoever_is_neither_operator_nor_release_manager_changes_no_annotation_of_ours() -> None:
    let_through = [n for n in ALL_OURS for old, new in changes(n) if not JUDGE.refusals(new, old)]

    assert let_through == []
    assert {names.RELEASE_REMOVALS, names.OVERRIDE_CALENDARS, names.GATES} < set(ALL_OURS)


@pytest.mark.parametrize("name", [*ALL_OURS, f"{names.PREFIX}of-tomorrow"])
def test_operators_change_the_annotations_of_their_verbs_and_no_other(name: str) -> None:
    answers = {not JUDGE.refusals(new, old, groups=[OPERATORS]) for old, new in changes(name)}

    assert answers == {name in OPERATORS_OWN}


@pytest.mark.parametrize(("groups", "user"), [([MANAGERS], "git"), ([], CONTROLLER)])
def test_release_managers_and_the_controller_change_everything(
    groups: list[str], user: str
) -> None:
    edited = {**workload(), "spec": {"a": {"b": [2]}}}
    asked = [pair for name in ALL_OURS for pair in changes(name)]

    for old, new in [*asked, (workload(), edited), (None, edited)]:
        assert JUDGE.refusals(new, old, groups=groups, user=user) == []


@pytest.mark.parametrize("groups", [[], [OPERATORS]])
def test_nobody_else_creates_a_workload_or_changes_its_spec(groups: list[str]) -> None:
    edited = {**workload(), "spec": {"a": {"b": [2]}}}

    assert JUDGE.refusals(edited, workload(), groups=groups) == [SPEC]
    assert JUDGE.refusals(workload(), None, groups=groups) == [SPEC]


def test_what_is_not_the_engines_is_for_everybody_who_may_patch() -> None:
    held = workload(**{names.HOLD: "a", names.GATES: "before:rest"})
    for name in (names.CHANGE_CAUSE, "example.com/owner", "rollout-engine.io.example.com/x"):
        told = {**held["metadata"]["annotations"], name: "1"}
        assert JUDGE.refusals(workload(**told), held) == []


def test_the_verbs_of_operators_are_let_through_and_an_override_is_not() -> None:
    hub = Desk([*decided("a", "b"), make.workload()]).converge().hub
    who = Who("olga", T0, "why")

    def refused(verb: Callable[[], VerbResult]) -> list[str]:
        before = hub.get(WEB)
        assert verb().changed
        return JUDGE.refusals(hub.get(WEB), before, groups=[OPERATORS])

    verbs: list[Callable[[], VerbResult]] = [
        lambda: intents.pause(hub, WEB, who),
        lambda: intents.resume(hub, WEB, who),
        lambda: intents.skip(hub, WEB, ["a"], who, force=True),
        lambda: intents.unskip(hub, WEB, ["a"], who),
        lambda: intents.hold(hub, WEB, ["b"], who, force=True),
        lambda: intents.release(hub, WEB, ["b"], who),
        lambda: intents.abort(hub, WEB, who),
        lambda: intents.retry(hub, WEB, who),
    ]
    assert [refused(verb) for verb in verbs] == [[]] * len(verbs)
    until = T0 + timedelta(hours=1)
    assert refused(lambda: intents.override_calendars(hub, WEB, until, who)) != []
