import json
import sqlite3
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from rollout.account.states import Code, WorkloadState, state_of, worst
from rollout.cli.options import Stop
from rollout.cli.status import GRACE, look_at, wait_for
from rollout.clock import SystemClock, VirtualClock
from rollout.hub.memory import MemoryHub
from rollout.hub.sqlite import SqliteHub
from rollout.model.kinds import MANIFEST_WORK, REPLICA_SET, Obj, Ref
from tests.support.halted import HEALTHY, STRATEGY, ran
from tests.support.shapes import MIN, SEC, T0, condition, run, standing, workload, write

WEB = Ref(REPLICA_SET, "default/web")


def progressing(status: str, reason: str, generation: int = 1) -> Obj:
    return condition("Progressing", status, reason, "why", generation)


def ready(reason: str, generation: int = 1) -> Obj:
    return condition("Ready", "True", reason, "why", generation)


@pytest.mark.parametrize(
    ("conditions", "code"),
    [
        pytest.param([], Code.WAITING, id="nothing was said yet"),
        pytest.param([progressing("True", "RollingOut")], Code.WAITING, id="rolling out"),
        pytest.param([progressing("Unknown", "Paused")], Code.WAITING, id="unknown"),
        pytest.param([ready("RolledOut")], Code.DONE, id="done"),
        pytest.param(
            [progressing("False", "Complete"), ready("RolledOut")], Code.DONE, id="complete"
        ),
        pytest.param(
            [progressing("False", "CompleteWithFailures"), ready("RolledOutWithFailures")],
            Code.TOLERATED,
            id="done with tolerated failures",
        ),
        pytest.param([progressing("False", "MaxFailuresExceeded")], Code.FAILED, id="halted"),
        pytest.param([progressing("False", "Misconfigured")], Code.FAILED, id="misconfigured"),
        pytest.param([progressing("False", "Paused")], Code.PERSON, id="paused"),
        pytest.param([progressing("False", "Frozen")], Code.PERSON, id="frozen"),
        pytest.param([progressing("False", "ApprovalNeeded")], Code.PERSON, id="approval"),
        pytest.param([progressing("False", "Aborted")], Code.PERSON, id="aborted"),
        pytest.param([progressing("False", "Rejected")], Code.PERSON, id="rejected"),
        pytest.param([progressing("False", "RollingBack")], Code.WAITING, id="rolling back"),
        pytest.param([progressing("False", "RolledBack")], Code.FAILED, id="rolled back"),
        pytest.param([progressing("False", "UnknownDecisionGroup")], Code.PERSON, id="misspelt"),
        pytest.param([progressing("False", "MandatoryGroupEmptied")], Code.PERSON, id="emptied"),
        pytest.param([progressing("False", "ConcurrencyZero")], Code.PERSON, id="zero"),
        pytest.param([progressing("False", "RemovalBrake")], Code.PERSON, id="brake"),
        pytest.param([progressing("False", "NoTargets")], Code.PERSON, id="no targets"),
        pytest.param([progressing("False", "PlacementNotFound")], Code.PERSON, id="no placement"),
        pytest.param([progressing("False", "TornDecisions")], Code.WAITING, id="torn read"),
        pytest.param([ready("RolledOut", generation=0)], Code.WAITING, id="of the old generation"),
        pytest.param(
            [ready("RolledOut", generation=0), progressing("True", "RollingOut")],
            Code.WAITING,
            id="done before, rolling out now",
        ),
        pytest.param(
            [progressing("False", "MaxFailuresExceeded", generation=0)],
            Code.WAITING,
            id="halted before, not looked at since",
        ),
    ],
)
def test_the_exit_code_follows_from_the_conditions_of_this_generation(
    conditions: list[Obj], code: Code
) -> None:
    assert state_of(standing(*conditions)).code is code


def test_a_workload_that_is_being_deleted_has_failed_whatever_its_conditions_say() -> None:
    obj = standing(ready("RolledOut"), meta={"deletionTimestamp": "2026-01-01T00:00:00Z"})

    assert state_of(obj).code is Code.FAILED


@pytest.mark.parametrize(
    "status", [None, {"conditions": None}, {"conditions": ["x"]}, {"conditions": {"a": 1}}]
)
def test_a_status_of_any_shape_has_a_verdict(status: object) -> None:
    assert state_of({**standing(), "status": status}).code is Code.WAITING


@pytest.mark.parametrize(
    ("codes", "code"),
    [
        ([], Code.DONE),
        ([Code.DONE, Code.TOLERATED], Code.TOLERATED),
        ([Code.TOLERATED, Code.WAITING, Code.DONE], Code.WAITING),
        ([Code.WAITING, Code.PERSON], Code.PERSON),
        ([Code.PERSON, Code.FAILED, Code.DONE], Code.FAILED),
    ],
)
def test_several_workloads_together_are_as_bad_as_the_worst(codes: list[Code], code: Code) -> None:
    assert worst(codes) is code


class Waiting:
    """Somebody waits for a workload while its status is changed, a minute between two looks."""

    def __init__(
        self, *steps: list[Obj], first: list[Obj] | None = None, each: timedelta = MIN
    ) -> None:
        self.clock = VirtualClock(T0)
        self.hub = MemoryHub(self.clock)
        self.hub.create(WEB, workload())
        if first is not None:
            self._say(first)
        self._steps: Iterator[list[Obj]] = iter(steps)
        self._each = each

    def _say(self, conditions: list[Obj]) -> None:
        self.hub.patch_status(WEB, {"status": {"conditions": conditions}})

    def pause(self, longest: timedelta) -> None:
        """As long as it may be, where nothing more is going to happen."""
        for conditions in self._steps:
            self.clock.advance(self._each)
            self._say(conditions)
            return
        self.clock.advance(longest)

    def look(self) -> WorkloadState:
        return look_at(self.hub, WEB, self.clock)

    def wait(self, timeout: timedelta, grace: timedelta = GRACE) -> int:
        return wait_for(WEB, self.look, timeout, self.clock, pause=self.pause, grace=grace)


def test_waiting_ends_when_the_rollout_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    rolling = [progressing("True", "RollingOut")]

    assert Waiting(rolling, rolling, [ready("RolledOut")]).wait(10 * MIN) == 0
    assert capsys.readouterr().out.splitlines() == [
        "◌ default/web: Waiting: generation 1 has not been looked at yet",
        "◌ default/web: RollingOut: why",
        "✔ default/web: RolledOut: why",
    ]


def test_waiting_ends_at_once_where_only_a_person_can_help() -> None:
    assert Waiting([progressing("False", "Paused")]).wait(10 * MIN) == 4


@pytest.mark.parametrize(
    ("before", "code"),
    [
        pytest.param([progressing("False", "Paused")], 4, id="resume"),
        pytest.param([progressing("False", "ApprovalNeeded")], 4, id="approve"),
        pytest.param([progressing("False", "MaxFailuresExceeded")], 1, id="retry"),
        pytest.param([ready("RolledOut")], 0, id="undo"),
    ],
)
def test_what_stands_there_from_before_a_person_acted_is_no_end_for_a_few_seconds(
    before: list[Obj], code: int
) -> None:
    """An annotation changes no generation: the engine may not have heard of it."""
    rolling, done = [progressing("True", "RollingOut")], [ready("RolledOutWithFailures")]
    heard = Waiting(rolling, done, first=before, each=SEC)
    still_so = Waiting(first=before)
    repeated = Waiting(before, before, first=before, each=SEC)

    assert heard.wait(10 * MIN) == 5
    assert still_so.wait(10 * MIN) == repeated.wait(10 * MIN) == code
    assert still_so.clock.now() == repeated.clock.now() == T0 + 3 * SEC


def test_an_end_that_comes_while_one_waits_is_not_doubted() -> None:
    paused, rolling = [progressing("False", "Paused")], [progressing("True", "RollingOut")]
    new, again = (Waiting(paused, first=rolling, each=SEC),
                  Waiting(rolling, paused, first=paused, each=SEC))  # fmt: skip

    assert (new.wait(10 * MIN), new.clock.now()) == (4, T0 + SEC)
    assert (again.wait(10 * MIN), again.clock.now()) == (4, T0 + 2 * SEC)


def test_one_end_after_the_other_is_still_doubted_where_it_has_not_gone_on_between() -> None:
    """`resume` and `approve` were said: the engine has heard of the first alone."""
    paused, gate = [progressing("False", "Paused")], [progressing("False", "ApprovalNeeded")]
    rolling, done = [progressing("True", "RollingOut")], [ready("RolledOut")]
    waiting = Waiting(gate, rolling, done, first=paused, each=SEC / 2)

    assert waiting.wait(10 * MIN) == 0


@pytest.mark.parametrize(("timeout", "grace"), [(10 * MIN, 0 * SEC), (0 * SEC, GRACE)])
def test_who_has_no_time_to_doubt_is_told_at_once(timeout: timedelta, grace: timedelta) -> None:
    waiting = Waiting(first=[progressing("False", "Paused")])

    assert (waiting.wait(timeout, grace), waiting.clock.now()) == (4, T0)


def test_waiting_ends_when_the_time_is_up_and_not_a_look_before() -> None:
    late = Waiting([], [], [ready("RolledOut")])
    just_in_time = Waiting([], [], [ready("RolledOut")])

    assert late.wait(2 * MIN) == 3
    assert just_in_time.wait(3 * MIN) == 0


def test_waiting_for_a_workload_that_is_deleted_meanwhile_fails() -> None:
    waiting = Waiting()

    def pause(longest: timedelta) -> None:
        waiting.hub.delete(WEB)

    with pytest.raises(Stop, match="not found") as stop:
        wait_for(WEB, waiting.look, 10 * MIN, waiting.clock, pause=pause)
    assert stop.value.code == 1


@pytest.fixture
def state(tmp_path: Path) -> Path:
    path = tmp_path / "state.db"
    run("apply", "-f", write(tmp_path / "a.yaml", workload()), state=path)
    return path


def test_status_without_wait_looks_once(state: Path) -> None:
    result = run("status", "mwrs", "web", state=state)

    told = f"no engine runs here: nothing moves until one starts (`rollout run --state {state}`)\n"
    assert (result.exit_code, result.stderr) == (3, told)
    assert result.stdout == "◌ default/web: Waiting: generation 1 has not been looked at yet\n"


def test_on_the_command_line_one_waits_for_what_comes_of_a_verb(state: Path) -> None:
    def say(*conditions: Obj) -> None:
        hub = SqliteHub(state, SystemClock())
        hub.patch_status(WEB, {"status": {"conditions": list(conditions)}})
        hub.close()

    say(progressing("False", "Paused"))
    thread = threading.Timer(0.3, lambda: say(ready("RolledOut")))
    thread.start()
    heard = run("status", "mwrs", "web", "--wait", "--grace", "20s", state=state)
    thread.join()
    say(progressing("False", "Paused"))
    unheard = run("status", "mwrs", "web", "--wait", "--grace", "0s", state=state)

    assert (heard.exit_code, unheard.exit_code) == (0, 4), heard.output + unheard.output


@pytest.mark.parametrize("waiting", [(), ("--wait", "--timeout", "1s", "--grace", "0s")])
def test_a_program_is_told_the_last_verdict_alone(state: Path, waiting: tuple[str, ...]) -> None:
    hub = SqliteHub(state, SystemClock())
    hub.patch_status(WEB, {"status": {"conditions": [progressing("False", "Paused")]}})
    hub.close()

    found = run("status", "mwrs/web", "-o", "json", *waiting, state=state)

    assert found.exit_code == 4
    assert json.loads(found.stdout) == {
        "kind": "ManifestWorkReplicaSet",
        "namespace": "default",
        "name": "web",
        "code": 4,
        "reason": "Paused",
        "message": "why",
    }


def test_a_workload_that_is_not_there_has_failed(state: Path) -> None:
    result = run("status", "mwrs/nope", "--wait", state=state)

    assert result.exit_code == 1
    assert '"nope" not found in any namespace' in result.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["placement", "fleet"], "a Placement is not a workload"),
        (["mwrs"], "name one workload"),
        (["mwrs", "a", "b"], "name one workload"),
        (["mwrs", "web", "--timeout", "soon"], "'soon' is not a duration"),
    ],
)
def test_status_typed_wrongly_is_exit_code_2(state: Path, words: list[str], said: str) -> None:
    result = run("status", *words, state=state)

    assert result.exit_code == 2
    assert said in result.stderr


def test_only_the_workload_itself_is_read(state: Path) -> None:
    """A fleet may be large: nothing that belongs to single clusters is looked at."""
    hub = SqliteHub(state, SystemClock())
    hub.create(Ref(MANIFEST_WORK, "c1/web"), {"spec": {}})
    hub.close()
    sql = sqlite3.connect(state)
    sql.execute("UPDATE revision SET body = 'no JSON' WHERE kind = 'ManifestWork'")
    sql.commit()
    sql.close()

    found = [run("status", *words, state=state) for words in (["web"], ["mwrs", "web"])]

    assert [each.stdout for each in found] == [
        "◌ default/web: Waiting: generation 1 has not been looked at yet\n"
    ] * 2


@pytest.mark.parametrize(
    ("verb", "reason", "code"),
    [("pause", "Paused", 4), ("abort", "Aborted", 4), ("", "RolledOut", 0)],
)
def test_all_views_say_the_same_of_a_finished_rollout_before_an_engine_has_heard(
    tmp_path: Path, verb: str, reason: str, code: int
) -> None:
    state = ran(tmp_path, HEALTHY)
    if verb:
        assert run(verb, "web", state=state).exit_code == 0

    told = [
        run("status", "web", "-o", "json", state=state),
        run("status", "web", "--wait", "--grace", "0s", "-o", "json", state=state),
        run("get", "web", "--watch", "--timeout", "0s", "-o", "json", state=state),
        run("explain", "web", "-o", "json", state=state),
    ]
    (listed,) = json.loads(run("list", "-o", "json", state=state).stdout)
    tree = run("get", "web", "-o", "tree", state=state)
    (revision,) = json.loads(run("history", "web", "-o", "json", state=state).stdout)["revisions"]

    said = [json.loads(each.stdout) for each in told]
    assert [(each["reason"], each["code"]) for each in (*said, listed)] == [(reason, code)] * 5
    assert [each.exit_code for each in told] == [code, code, code, 0]
    assert reason in tree.stdout.splitlines()[1]
    assert revision["role"] == "current"


def test_a_pause_that_is_over_is_not_told_of_any_more(tmp_path: Path) -> None:
    state = ran(tmp_path, HEALTHY)
    run("pause", "web", state=state)
    run("run", "--clock", "virtual", state=state)
    assert run("status", "web", state=state).exit_code == 4

    run("resume", "web", state=state)

    assert run("status", "web", state=state).exit_code == 0


def test_a_skipped_cluster_counts_neither_among_those_that_are_updated_nor_among_all(
    tmp_path: Path,
) -> None:
    state = ran(tmp_path, HEALTHY)
    run("skip", "web", "c1", "c2", state=state)
    other = write(tmp_path / "api.yaml", workload("api"))
    run("apply", "-f", other, state=state)
    run("skip", "api", "c1", state=state)

    found = {
        each["name"]: each for each in json.loads(run("list", "-o", "json", state=state).stdout)
    }

    assert (found["web"]["updated"], found["web"]["members"]) == (4, 4)
    assert (found["api"]["updated"], found["api"]["members"]) == (0, 5)


def test_an_undo_that_has_succeeded_is_told_as_what_somebody_did(tmp_path: Path) -> None:
    state = ran(tmp_path, HEALTHY)
    two = write(tmp_path / "two.yaml", workload(strategy=STRATEGY, value="2"))
    run("run", "-f", two, "--clock", "virtual", state=state)
    run("undo", "web", "--by", "ana", "--reason", "wrong page", state=state)

    ended = run("run", "--clock", "virtual", state=state)

    told = run("status", "web", state=state)
    assert (ended.exit_code, told.exit_code) == (1, 1)
    assert " was undone by ana (unverified) at " in told.stdout
    assert ": wrong page; 6 of 6 clusters rolled back; it is barred until" in told.stdout
    for line in (run("list", state=state).stdout, ended.stdout):
        assert "✖ undone by ana " in line.splitlines()[-1]
    described = run("describe", "web", state=state).stdout
    assert "ManifestworkApplied=False NotAsExpected" in described
    assert "0 of 6 clusters carry the revision" in described
