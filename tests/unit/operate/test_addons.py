"""What people do to the rollout of an add-on's configuration: the verbs of `rollout.operate`."""

from collections.abc import Mapping
from datetime import timedelta

import pytest

from rollout import operate
from rollout.errors import ConfigError
from rollout.model import names
from rollout.model.kinds import APPROVAL, FREEZE, MANIFEST_WORK
from rollout.model.policy import Policy
from rollout.operate import Who
from tests.support.addons import (
    CMA,
    MIN,
    NO_GRACE,
    SEC,
    T0,
    Rig,
    addon,
    config,
    fleet,
    installed_at,
    progressive,
)

ANN = Who("ann", T0, "because")
CLUSTERS = ["c0", "c1", "c2", "c3"]
TWO = progressive(maxConcurrency=2, progressDeadline="5m")


def well(rig: Rig) -> Rig:
    """All agents say that all is well with what they have, until nothing changes any more."""
    for _ in range(3):
        works = {obj["metadata"]["namespace"] for obj in rig.hub.list(MANIFEST_WORK).items}
        rig.works_do(sorted(works)).later(20 * SEC)
    return rig


def rig(annotations: Mapping[str, str] | None = None) -> Rig:
    """The first configuration is everywhere; the second is on its way to the first two clusters."""
    placed = [installed_at(strategy=TWO)]
    documents = [*fleet(*CLUSTERS), config(), addon("default", placements=placed)]
    found = Rig(documents, NO_GRACE).decide(CLUSTERS)
    well(found)
    assert found.halted() == ("False", "Complete")
    if annotations:
        found.edit(CMA, {"metadata": {"annotations": dict(annotations)}})
    found.take_touched()
    return found.set_config("new")


def test_an_add_on_is_paused_and_resumed() -> None:
    found = rig()
    assert found.take_touched() == ["c0", "c1"]
    assert operate.pause(found.hub, CMA, ANN).changed
    well(found.settle())
    assert found.halted() == ("True", "Paused")
    assert found.take_touched() == []

    operate.resume(found.hub, CMA, ANN)
    assert found.settle().take_touched() == ["c2", "c3"]


def test_an_aborted_configuration_goes_no_further_and_a_retry_lets_it() -> None:
    found = rig()
    found.take_touched()
    told = operate.abort(found.hub, CMA, ANN)
    assert told.changed
    well(found.settle())
    assert found.halted() == ("True", "Aborted")
    assert not operate.abort(found.hub, CMA, ANN).changed

    operate.retry(found.hub, CMA, ANN)
    assert found.settle().take_touched() == ["c2", "c3"]


def test_a_gate_of_an_add_on_is_approved_in_the_namespace_of_its_placement() -> None:
    found = rig({names.GATES: "before:rest"})
    assert found.take_touched() == []
    assert found.halted() == ("True", "ApprovalNeeded")

    (told,) = operate.approve(found.hub, CMA, ANN)
    assert told.ref.namespace == "default"
    assert [o["spec"]["workload"]["kind"] for o in found.hub.list(APPROVAL).items] == [
        "ClusterManagementAddOn"
    ]
    assert found.settle().take_touched() == ["c0", "c1"]


def test_a_rejected_configuration_goes_no_further() -> None:
    found = rig()
    operate.reject(found.hub, CMA, ANN)
    well(found.settle())

    assert found.halted() == ("True", "Rejected")
    assert found.take_touched() == ["c0", "c1"]


def test_a_held_cluster_keeps_its_configuration_until_it_is_released() -> None:
    found = rig({names.HOLD: "c0"})
    assert found.take_touched() == ["c1", "c2"]

    operate.release(found.hub, CMA, [], ANN)
    well(found.settle())
    assert "c0" in found.take_touched()


def test_while_the_hub_is_frozen_no_add_on_is_touched() -> None:
    found = rig()
    found.take_touched()
    operate.freeze(found.hub, ANN, until=found.clock.now() + timedelta(hours=1))
    well(found.settle())
    assert found.halted() == ("True", "Frozen")
    assert found.take_touched() == []

    assert [o["metadata"]["name"] for o in found.hub.list(FREEZE).items] == ["stop-the-line"]
    found.later(timedelta(hours=1))
    assert found.take_touched() == ["c2", "c3"]


def test_a_failed_add_on_is_tried_again() -> None:
    found = rig()
    found.later(6 * MIN)
    assert found.halted() == ("True", "MaxFailuresExceeded")
    found.take_touched()

    operate.retry(found.hub, CMA, ANN)
    found.settle()
    assert found.halted() == ("False", "RollingOut")
    well(found)
    assert found.take_touched() == ["c2", "c3"]


def test_an_add_on_that_does_no_better_when_it_is_tried_again_fails_again() -> None:
    found = rig()
    found.later(6 * MIN)
    operate.retry(found.hub, CMA, ANN)
    found.settle()
    assert found.halted() == ("False", "RollingOut")
    before = found.message()

    found.later(4 * MIN)
    assert found.halted() == ("False", "RollingOut")
    found.later(2 * MIN)
    assert found.halted() == ("True", "MaxFailuresExceeded")
    assert before.endswith("0 failed 0 timeout.")
    assert found.message().endswith("0 failed 2 timeout.")


def test_and_so_does_one_that_still_cannot_be_applied_without_any_news_of_it() -> None:
    documents = [*fleet("c0"), config(), addon("default", placements=[installed_at()])]
    found = Rig(documents, Policy()).decide(["c0"]).works_do(["c0"], applied=False)
    found.later(2 * MIN)
    assert found.halted() == ("False", "CompleteWithFailures")

    operate.retry(found.hub, CMA, ANN)
    found.settle()
    assert found.halted() == ("False", "RollingOut")
    found.later(59 * SEC)
    assert found.halted() == ("False", "RollingOut")
    found.later(2 * SEC)
    assert found.halted() == ("False", "CompleteWithFailures")


def test_the_configuration_of_an_add_on_cannot_be_undone_and_that_is_said() -> None:
    found = rig()
    with pytest.raises(ConfigError, match="edit the configuration back"):
        operate.undo(found.hub, CMA, ANN)

    found.edit(CMA, {"metadata": {"annotations": {names.ROLLBACK: "Automatic"}}})
    assert found.halted() == ("True", "Misconfigured")
