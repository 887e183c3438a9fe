"""The pytest plugin for a team's tests of its own policy: files in, a history out, in virtual
time.

Installed with the package (entry point ``pytest11``). docs/testing-a-policy.md shows it at work. Nothing of
the engine is loaded before a test asks for a fixture.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rollout.account.tree import FleetAccount
    from rollout.clock import Clock
    from rollout.model.kinds import Obj
    from rollout.sim.drives import Drive
    from rollout.sim.history import RunHistory
    from rollout.sim.scenario import Scenario


@dataclass(frozen=True, slots=True)
class RolloutClock:
    """The time of a test. ``drive`` makes what moves it, anew for each run."""

    clock: "Clock"
    drive: "Callable[[], Drive]"


@dataclass(frozen=True, slots=True)
class PolicyRun:
    """How a run ended (``last``), and what was decided on the way (``history``)."""

    last: "FleetAccount"
    history: "RunHistory"


@dataclass(frozen=True, slots=True)
class FleetUnderTest:
    """The objects of some files, and runs of them. Each run begins with the files, on a hub of its own."""

    objects: "tuple[Obj, ...]"
    time: RolloutClock

    def clusters(self, **labels: str) -> tuple[str, ...]:
        """The names of the clusters that carry these labels; ``_`` stands for a ``-`` in a label's name."""
        wanted = {name.replace("_", "-"): value for name, value in labels.items()}
        return tuple(
            obj["metadata"]["name"]
            for obj in self.objects
            if obj["kind"] == "ManagedCluster"
            and wanted.items() <= (obj["metadata"].get("labels") or {}).items()
        )

    def run(self, scenario: "Scenario | None" = None, *, seed: int | None = None) -> PolicyRun:
        """Roll everything out, to its end or to where only a person could go on."""
        from rollout.sim.history import RunHistory
        from rollout.sim.simulate import Simulation

        history = RunHistory()
        simulation = Simulation(
            self.objects,
            scenario,
            clock=self.time.clock,
            drive=self.time.drive(),
            seed=seed,
            witness=history,
        )
        return PolicyRun(simulation.run(), history)


@pytest.fixture
def rollout_clock(request: pytest.FixtureRequest) -> Iterator[RolloutClock]:
    """The time of the test: virtual, or frozen by freezegun where the test is parametrized so.

    @pytest.mark.parametrize("rollout_clock", ["virtual", "frozen"], indirect=True)
    """
    from rollout.clock import SystemClock, VirtualClock
    from rollout.sim.drives import Frozen, Jump
    from rollout.sim.simulate import START

    kind = getattr(request, "param", "virtual")
    if kind == "virtual":
        virtual = VirtualClock(START)
        yield RolloutClock(virtual, lambda: Jump(virtual))
    elif kind == "frozen":
        freezegun = pytest.importorskip("freezegun", reason="frozen time needs freezegun")
        with freezegun.freeze_time(START, ignore=["kubernetes", "urllib3"]) as frozen:
            clock = SystemClock()
            yield RolloutClock(clock, lambda: Frozen(frozen.move_to, clock))
    else:
        raise pytest.UsageError(f"rollout_clock: {kind!r} is not valid: virtual or frozen")


@pytest.fixture
def rollout_fleet(
    request: pytest.FixtureRequest, rollout_clock: RolloutClock
) -> Callable[..., FleetUnderTest]:
    """Reads the files of a fleet: ``rollout_fleet("fleet/", "release.yaml")``, from pytest's root folder.

    A later document of the same name stands in place of an earlier one. Raises: ConfigError for what
    `rollout validate` calls an error.
    """
    root = request.config.rootpath

    def read(*paths: str | Path) -> FleetUnderTest:
        from rollout.api.load import load
        from rollout.model.kinds import KINDS, ref_of

        found = load([root / path for path in paths])
        newest: dict[object, Obj] = {}
        for obj in found.objects:
            kind = KINDS.get(str(obj.get("kind")))
            newest[str(ref_of(kind, obj)) if kind else obj.get("kind")] = obj
        return FleetUnderTest(tuple(newest.values()), rollout_clock)

    return read


@pytest.fixture
def rollout_scenario(request: pytest.FixtureRequest) -> "Callable[..., Scenario]":
    """Says how agents behave: a file (``rollout_scenario("agents.yaml")``), or the behaviour of every agent
    (``rollout_scenario(outcome="fail", readyAfter="30s")``), with ``rules`` for some of them.
    """
    root = request.config.rootpath

    def scenario(
        path: str | Path | None = None, *, rules: Collection[Any] = (), **behaviour: Any
    ) -> "Scenario":
        from rollout.errors import ConfigError
        from rollout.model.problems import joined
        from rollout.sim.scenario import API_VERSION, KIND
        from rollout.sim.scenario_file import load_scenario, read_scenario

        if path is not None:
            return load_scenario(root / path)
        spec = {"defaults": behaviour, "rules": list(rules)}
        found, problems = read_scenario({"apiVersion": API_VERSION, "kind": KIND, "spec": spec})
        if found is None:
            raise ConfigError(f"rollout_scenario: {joined(problems)}")
        return found

    return scenario


def assert_safe(run: PolicyRun) -> None:
    """Every touch was allowed: limits, failure budgets, the order of stages, and clusters kept out."""
    __tracebackhide__ = True
    if run.history.breaches:
        pytest.fail("\n".join(run.history.breaches), pytrace=False)


def assert_touched(
    run: PolicyRun,
    *clusters: str,
    workload: str = "",
    only: bool = False,
    first: bool = False,
    at_most: int | None = None,
) -> None:
    """These clusters were touched.

    Args:
        workload: by the rollout of this one; NAME or NAMESPACE/NAME.
        only: and no other.
        first: and before any other.
        at_most: no more than so many in all.
    """
    __tracebackhide__ = True
    found, wanted = run.history.touched(workload), set(clusters)
    faults = [f"{name} was not touched" for name in clusters if name not in found]
    if only:
        faults += [f"{name} was touched" for name in found if name not in wanted]
    if first:
        early = found[: len(wanted)]
        faults += [f"{name} was touched before {clusters}" for name in early if name not in wanted]
    if at_most is not None and len(found) > at_most:
        faults.append(f"{len(found)} clusters were touched: {', '.join(found[:20])}")
    if faults:
        pytest.fail("\n".join(faults), pytrace=False)
