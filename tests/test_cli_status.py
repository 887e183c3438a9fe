from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from rollout.cli.options import Stop
from rollout.cli.status import wait_for
from rollout.cli.verdict import Code, overall, verdict
from rollout.clock import VirtualClock
from rollout.hub.memory import MemoryHub
from rollout.model.kinds import REPLICA_SET, Obj, Ref
from tests.cli.shapes import MIN, T0, condition, run, standing, workload, write

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
    assert verdict(standing(*conditions)).code is code


def test_a_workload_that_is_being_deleted_has_failed_whatever_its_conditions_say() -> None:
    obj = standing(ready("RolledOut"), meta={"deletionTimestamp": "2026-01-01T00:00:00Z"})

    assert verdict(obj).code is Code.FAILED


@pytest.mark.parametrize(
    "status", [None, {"conditions": None}, {"conditions": ["x"]}, {"conditions": {"a": 1}}]
)
def test_a_status_of_any_shape_has_a_verdict(status: object) -> None:
    assert verdict({**standing(), "status": status}).code is Code.WAITING


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
    assert overall(codes) is code


class Waiting:
    """Somebody waits for a workload while its status is changed, a minute between two looks."""

    def __init__(self, *steps: list[Obj]) -> None:
        self.clock = VirtualClock(T0)
        self.hub = MemoryHub(self.clock)
        self.hub.create(WEB, workload())
        self._steps: Iterator[list[Obj]] = iter(steps)

    def pause(self) -> bool:
        self.clock.advance(MIN)
        for conditions in self._steps:
            self.hub.patch_status(WEB, {"status": {"conditions": conditions}})
            break
        return True

    def wait(self, timeout: timedelta) -> int:
        return wait_for(self.hub, WEB, timeout, self.clock, self.pause)


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


def test_waiting_ends_when_the_time_is_up_and_not_a_look_before(
    capsys: pytest.CaptureFixture[str],
) -> None:
    late = Waiting([], [], [ready("RolledOut")])
    just_in_time = Waiting([], [], [ready("RolledOut")])

    assert late.wait(2 * MIN) == 3
    assert just_in_time.wait(3 * MIN) == 0
    assert "error: default/web is not done after 2m;" in capsys.readouterr().err


def test_waiting_for_a_workload_that_is_deleted_meanwhile_fails() -> None:
    waiting = Waiting()

    def pause() -> bool:
        waiting.hub.delete(WEB)
        return True

    with pytest.raises(Stop, match="not found") as stop:
        wait_for(waiting.hub, WEB, 10 * MIN, waiting.clock, pause)
    assert stop.value.code == 1


@pytest.fixture
def state(tmp_path: Path) -> Path:
    path = tmp_path / "state.db"
    run("apply", "-f", write(tmp_path / "a.yaml", workload()), state=path)
    return path


def test_status_without_wait_looks_once(state: Path) -> None:
    result = run("status", "mwrs", "web", state=state)

    assert (result.exit_code, result.stderr) == (3, "")
    assert result.stdout == "◌ default/web: Waiting: generation 1 has not been looked at yet\n"


def test_a_workload_that_is_not_there_has_failed(state: Path) -> None:
    result = run("status", "mwrs/nope", "--wait", state=state)

    assert result.exit_code == 1
    assert '"nope" not found in namespace default' in result.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["placement", "fleet"], "only a ManifestWorkReplicaSet has a status"),
        (["mwrs"], "name one workload"),
        (["mwrs", "a", "b"], "name one workload"),
        (["mwrs", "web", "--timeout", "soon"], "'soon' is not a duration"),
    ],
)
def test_status_typed_wrongly_is_exit_code_2(state: Path, words: list[str], said: str) -> None:
    result = run("status", *words, state=state)

    assert result.exit_code == 2
    assert said in result.stderr
