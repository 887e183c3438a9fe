"""Does anything that a controller says carry the data of a Secret manifest? Nothing may."""

import json
import logging
from typing import Any

import pytest

from rollout.clock import Clock
from rollout.errors import Denied, Invalid
from rollout.hub.kube_answers import error_of
from rollout.model.kinds import MANIFEST_WORK, PLACEMENT, REPLICA_SET, ROLLOUT_RECORD, Obj, Ref
from rollout.model.secrets import secret_texts
from rollout.planning.plan import Plan
from rollout.runtime.debug import Debug
from rollout.runtime.events import EVENT
from rollout.runtime.health import Request, Response
from rollout.runtime.logs import JsonFormatter
from rollout.runtime.measured import MeasuredPlanner, News
from rollout.runtime.reviews import Reviews
from tests.support import make
from tests.support.processes import Process, World
from tests.unit.runtime.test_debug import Judge

PLAIN, ENCODED = "hunter2hunter2", "aHVudGVyMmh1bnRlcjI="
SECRET: Obj = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "token", "namespace": "default"},
    "type": "Opaque",
    "data": {"password": ENCODED},
    "stringData": {"other": PLAIN},
}


class Broken:
    """A planner with a defect."""

    kind = REPLICA_SET

    def plan(self, key: str, view: Any, now: Any) -> Plan:
        raise ZeroDivisionError


def told(text: str) -> bool:
    return PLAIN in text or ENCODED in text


def documents() -> list[Obj]:
    template = make.template("1")
    template["workload"]["manifests"].append(SECRET)
    strategy = make.progressive(maxConcurrency="50%", maxFailures=6, progressDeadline="1m")
    return [*make.fleet(8), make.workload(strategy=strategy, spec=template)]


def refuse_some(world: World) -> None:
    """Works of two clusters cannot be created."""
    real = world.hub.create

    def refusing(ref: Ref, obj: Obj) -> Obj:
        if ref.kind is MANIFEST_WORK and ref.namespace == "c05":
            raise Denied(f"create {ref}: forbidden")
        if ref.kind is MANIFEST_WORK and ref.namespace == "c06":
            raise Invalid(f"create {ref}: refused")
        return real(ref, obj)

    world.hub.create = refusing  # type: ignore[method-assign]  # a server that refuses some


def break_planner(process: Process, clock: Clock) -> None:
    engine = process.controller.engine
    broken = MeasuredPlanner(Broken(), process.parts.metrics, clock, News())
    engine._planners = {**engine._planners, REPLICA_SET: broken}


def debugged(process: Process, clock: Clock) -> Response:
    """What the debug endpoint answers of a placement."""
    debug = Debug(
        Reviews(Judge(), clock),  # type: ignore[arg-type]  # it only creates
        process.controller.engine.fleet, process.parts.debug._planner, clock,
        ask=lambda job, seconds: job(), ready=lambda: True,
    )  # fmt: skip
    return debug(
        Request(
            method="GET", path="/debug/placements/default/p", query={}, authorization="Bearer good"
        )
    )


def test_no_log_event_status_metric_record_or_debug_answer_carries_it(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    world = World(documents(), rules=[{"clusters": {"names": ["c00"]},
                                       "behaviour": {"outcome": "fail"}}])  # fmt: skip
    process = world.start("p0")
    refuse_some(world)
    world.on(200)
    ref = Ref(REPLICA_SET, "default/web")
    world.hub.patch(ref, {"spec": {"manifestWorkTemplate": {"workload": {"manifests": [
        {**SECRET, "data": "not a map " + PLAIN}, make.manifest("2")]}}}})  # fmt: skip
    world.on(200)
    break_planner(process, world.clock)
    world.hub.patch(ref, {"metadata": {"annotations": {"rollout-engine.io/paused": "true"}}})
    world.on(10)
    process.parts.events.start()  # only now: a hub in memory is for one thread at a time
    process.parts.events.stop(30)

    answer = debugged(process, world.clock)
    assert answer.status == 200

    events = [json.dumps(obj) for obj in world.hub.list(EVENT).items]
    statuses = [
        json.dumps(obj.get("status")) for kind in (REPLICA_SET, PLACEMENT)
        for obj in world.hub.list(kind).items
    ]  # fmt: skip
    records = [json.dumps(obj) for obj in world.hub.list(ROLLOUT_RECORD).items]
    formatter = JsonFormatter()
    logs = [formatter.format(record) for record in caplog.records]
    assert any("was refused" in line for line in logs)
    assert any("ZeroDivisionError" in line for line in logs)
    assert len(events) > 3
    assert records
    for text in (*logs, *events, *statuses, *records, answer.body.decode(),
                 process.parts.metrics.text().decode(), *capsys.readouterr()):  # fmt: skip
        assert not told(text), text
    assert any(told(json.dumps(work)) for work in world.works().values())  # it is where it belongs


@pytest.mark.parametrize(
    "message",
    [
        f'admission webhook "policy" denied the request: password {PLAIN} is too weak',
        f'admission webhook "policy" denied the request: password {ENCODED} is too weak',
        f'ControllerRevision.apps "x" is invalid: data: Invalid value: {{"p":"{ENCODED}"}}: immutable',
        f'cannot decode: ReadString: expects ", error found in #10 byte of ...|"p":"{PLAIN[:9]}|...',
        f"Secret in version v1 cannot be handled as a Secret: {PLAIN}",
    ],
)
@pytest.mark.parametrize("status", [400, 403, 422, 500])
def test_whatever_a_server_quotes_of_what_it_was_sent_is_not_told(
    message: str, status: int
) -> None:
    body = {"kind": "Status", "status": "Failure", "reason": "Invalid", "message": message}

    error = error_of(
        "create it", status, json.dumps(body).encode(), secrets=secret_texts(documents())
    )

    assert not told(str(error))
    assert PLAIN[:9] not in str(error)
    assert str(error).startswith("create it: ")


@pytest.mark.parametrize("status", [400, 422])
def test_a_servers_refusal_is_told_without_the_values_it_is_about(status: int) -> None:
    field = "spec.workload.manifests[1].data"
    body = {
        "kind": "Status", "status": "Failure", "reason": "Invalid", "code": status,
        "message": f'ManifestWork "web" is invalid: {field}: Invalid value: "{ENCODED}": no',
        "details": {"causes": [{"reason": "FieldValueInvalid", "field": field,
                                "message": f'Invalid value: "{ENCODED}": no'}]},
    }  # fmt: skip
    error = error_of("create ManifestWork c1/web", status, json.dumps(body).encode())
    assert not told(str(error))
    assert "create ManifestWork c1/web" in str(error)
