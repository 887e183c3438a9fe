"""Add-ons in a whole simulation: the documented example, and the add-on manager it stands on."""

from collections import defaultdict
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from rollout.api.load import load
from rollout.clock import VirtualClock
from rollout.hub.admission import admit
from rollout.hub.base import StateKey
from rollout.hub.sqlite import SqliteHub
from rollout.model import names
from rollout.model.instants import parse_instant, rfc3339
from rollout.model.kinds import (
    CLUSTER_MANAGEMENT_ADDON,
    MANAGED_CLUSTER_ADDON,
    MANIFEST_WORK,
    Obj,
    Ref,
)
from rollout.model.spec_hash import spec_hash
from rollout.sim import fleet_events
from rollout.sim.local import LocalRun
from rollout.sim.scenario_file import is_scenario, read_scenario
from rollout.sim.simulate import START, Simulation
from tests.support.addons import CMA, NAME, Rig, addon, config, fleet, installed_at, refer, said

EXAMPLE = Path(__file__).parents[3] / "examples" / "addon-canary"
MINUTE = timedelta(minutes=1)

WEST = {f"aws-west-{n}" for n in range(1, 5)}
EAST = {f"aws-east-{n}" for n in range(1, 5)}
REST = [f"aws-prod-{n:02d}" for n in range(1, 33)]
QUARTERS = [set(REST[n : n + 8]) for n in range(0, 32, 8)]
HELLO = Ref(CLUSTER_MANAGEMENT_ADDON, "helloworld")

# A cluster is applied after 5 s, ready 30 s later, and well for five minutes before it counts: every
# stage takes 5 min 35 s. So do the quarters, since all of one start together.
GOOD = {0: WEST, 5: EAST, 11: QUARTERS[0], 16: QUARTERS[1], 22: QUARTERS[2], 27: QUARTERS[3]}


class Watched:
    """The example's simulation, with every touch by minute and release."""

    def __init__(self) -> None:
        self.simulation = Simulation(load([EXAMPLE]).objects)
        self.touched: dict[tuple[int, str], set[str]] = defaultdict(set)
        self.releases: dict[str, str] = {}
        self._told: dict[str, Any] = {}
        hub = self.simulation.hub
        for obj in load([EXAMPLE]).objects:
            if obj["kind"] == "AddOnDeploymentConfig":
                for release in ("1.0", "1.1", "1.2"):
                    image = f"quay.io/example/helloworld:{release}"
                    variables = [{"name": "IMAGE", "value": image}]
                    spec = {**obj["spec"], "customizedVariables": variables}
                    self.releases[spec_hash({"spec": spec})] = release
        hub.watch(MANAGED_CLUSTER_ADDON, 0, self._hear)

    def _hear(self, event: Any) -> None:
        references = (event.obj.get("status") or {}).get("configReferences") or []
        told = [reference["desiredConfig"]["specHash"] for reference in references]
        if told and self._told.get(event.ref.key) != told:
            self._told[event.ref.key] = told
            minute = (self.simulation.clock.now() - START) // MINUTE
            self.touched[minute, self.releases[told[0]]].add(event.ref.namespace)


@pytest.fixture(scope="module")
def example() -> Watched:
    watched = Watched()
    watched.simulation.run()
    return watched


def test_the_example_touches_exactly_these_clusters_at_every_minute(example: Watched) -> None:
    expected = {(minute, "1.0"): clusters for minute, clusters in GOOD.items()}
    expected |= {(60 + minute, "1.1"): clusters for minute, clusters in GOOD.items()}
    expected |= {(120, "1.2"): WEST}

    assert dict(example.touched) == expected


def test_in_the_example_the_bad_release_stops_at_the_first_canary_group(example: Watched) -> None:
    (progression,) = example.simulation.hub.get(HELLO)["status"]["installProgressions"]

    assert said(progression, names.ROLLOUT_HALTED)[:2] == ("True", "MaxFailuresExceeded")
    assert said(progression, names.PROGRESSING)[2] == (
        "selected clusters 40. configured addons 0/40 progressing..., 4 failed 0 timeout."
    )
    (reference,) = progression["configReferences"]
    found = [
        example.releases[reference[field]["specHash"]]
        for field in ("desiredConfig", "lastAppliedConfig", "lastKnownGoodConfig")
    ]
    assert found == ["1.2", "1.1", "1.1"]


def test_in_the_example_all_others_stay_at_the_good_release(example: Watched) -> None:
    carried: dict[str, set[str]] = defaultdict(set)
    for obj in example.simulation.hub.list(MANIFEST_WORK).items:
        container = obj["spec"]["workload"]["manifests"][0]["spec"]["template"]["spec"]
        carried[container["containers"][0]["image"]].add(obj["metadata"]["namespace"])

    image = "quay.io/example/helloworld:{}".format
    assert carried == {image("1.2"): WEST, image("1.1"): EAST | set(REST)}


def test_in_the_example_what_waits_is_told_to_render_nothing(example: Watched) -> None:
    waiting = {
        obj["metadata"]["namespace"]
        for obj in example.simulation.hub.list(MANAGED_CLUSTER_ADDON).items
        if said(obj["status"], names.CONFIGURED)[0] == "False"
    }

    assert waiting == EAST | set(REST)


# -- the add-on manager ---------------------------------------------------------------------------


def one(document: Obj | None = None, *configs: Obj) -> Rig:
    placed = installed_at("p", *configs) if configs else installed_at()
    return Rig([*fleet("c0"), document or config(), addon("default", placements=[placed])])


def work(rig: Rig) -> Obj:
    return rig.hub.get(Ref(MANIFEST_WORK, f"c0/addon-{NAME}-deploy-0"))


def test_a_work_says_which_configuration_it_was_rendered_from() -> None:
    rig = one().decide(["c0"])
    told = rig.references("c0")[0]["desiredConfig"]["specHash"]

    found = work(rig)["metadata"]
    key = "addondeploymentconfigs.addon.open-cluster-management.io/default/default"
    assert found["annotations"][names.CONFIG_SPEC_HASH] == f'{{"{key}":"{told}"}}'
    assert found["labels"] == {names.ADDON_NAME_LABEL: NAME}


def test_nothing_is_rendered_before_the_cluster_is_configured() -> None:
    rig = one(None, refer("missing")).decide(["c0"])

    assert rig.installed() == []
    assert rig.hub.list(MANIFEST_WORK).items == ()


def test_a_work_goes_with_its_addon() -> None:
    rig = one().decide(["c0"])
    release = {names.RELEASE_REMOVALS: rfc3339(rig.clock.now() + 10 * MINUTE)}
    rig.edit(
        CMA, {"metadata": {"annotations": release}}
    )  # the last one goes by nobody's hand alone

    rig.decide([]).later(MINUTE)

    assert rig.installed() == []
    assert rig.hub.list(MANIFEST_WORK).items == ()


@pytest.mark.parametrize(
    ("says", "condition"),
    [
        pytest.param({}, "True", id="applied and available"),
        pytest.param({"ready": False}, "True", id="applied, not available"),
        pytest.param({"applied": False}, "False", id="not applied"),
    ],
)
def test_what_the_work_says_becomes_manifest_applied(says: Any, condition: str) -> None:
    rig = one().decide(["c0"])
    assert rig.says("c0", names.MANIFEST_APPLIED) == ("", "", "")

    assert rig.works_do(["c0"], **says).says("c0", names.MANIFEST_APPLIED)[0] == condition


def test_the_agent_is_available_as_long_as_its_work_is_not_degraded() -> None:
    rig = one().decide(["c0"]).works_do(["c0"])
    assert rig.says("c0", names.AVAILABLE)[0] == "True"

    assert rig.works_do(["c0"], degraded=True).says("c0", names.AVAILABLE)[0] == "False"


# -- killed and taken up again --------------------------------------------------------------------


def kept(path: Path, stop_at: timedelta | None = None) -> None:
    """Run the example on a state file, or go on with it; to the end, or until ``stop_at``."""
    clock = VirtualClock(START)
    hub = SqliteHub(path, clock, admit=admit)
    resumed = hub.get_state(StateKey.CLOCK)
    documents = load([EXAMPLE]).objects
    if resumed:
        clock.advance(parse_instant(resumed.decode()) - START)  # type: ignore[operator]  # it was written by us
    else:
        for document in documents:
            if not is_scenario(document):
                fleet_events.create(hub, document)
    scenario, _ = read_scenario(next(d for d in documents if is_scenario(d)))
    assert scenario is not None
    running = LocalRun(hub, clock, None, scenario, seed=0)

    def look(snapshot: Any) -> None:
        if stop_at is not None and snapshot.now >= START + stop_at:
            raise KeyboardInterrupt

    assert running.run(look).interrupted is (stop_at is not None)
    hub.close()


def outcome(path: Path) -> list[tuple[str, Any]]:
    """What each cluster carries and says, and what the add-on does."""
    hub = SqliteHub(path, VirtualClock(START), admit=admit)
    found = [
        (o["metadata"].get("namespace", ""), o["status"])
        for kind in (CLUSTER_MANAGEMENT_ADDON, MANAGED_CLUSTER_ADDON)
        for o in hub.list(kind).items
    ]
    hub.close()
    return found


def test_a_run_that_is_killed_again_and_again_ends_as_one_that_is_not(tmp_path: Path) -> None:
    kept(tmp_path / "whole.db")
    for minutes in (3, 17, 61, 66, 80, 121):
        kept(tmp_path / "parts.db", timedelta(minutes=minutes))
    kept(tmp_path / "parts.db")

    assert outcome(tmp_path / "parts.db") == outcome(tmp_path / "whole.db")
