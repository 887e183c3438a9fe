"""Simulates a whole rollout in memory, from documents to the end."""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta

from rollout.account.tree import FleetAccount
from rollout.clock import Clock, VirtualClock
from rollout.errors import ConfigError
from rollout.hub.admission import admit
from rollout.hub.memory import MemoryHub
from rollout.model.kinds import KINDS, Obj, ref_of
from rollout.model.problems import joined
from rollout.rollouts.witness import Witness
from rollout.sim.drives import Drive, Jump
from rollout.sim.local import LocalRun, RunMoment
from rollout.sim.scenario import Scenario
from rollout.sim.scenario_file import is_scenario, parse_scenario, read_scenario

START = datetime(2026, 1, 1, tzinfo=UTC)
HEALTHY = "apiVersion: rollout-engine.io/v1alpha1\nkind: AgentScenario\nspec: {}\n"


class Simulation:
    """A hub in memory, the engine and simulated agents, on a clock of their own.

    Args:
        documents: the objects, as YAML has them; a status among them is taken over. An
            AgentScenario among them counts where no ``scenario`` is given.
        scenario: how the agents behave; where there is none, all succeed at once.
        clock, drive: another clock, and what moves it; by default virtual time from `START`.
        seed: of all chance, instead of the scenario's.
        witness: is told of every decision; a `rollout.sim.history.RunHistory` keeps them.
        gather: how long news of a workload are gathered before it is planned again.

    Raises: ConfigError for what is no object, or of an unknown kind, Invalid for a bad one.
    """

    def __init__(
        self,
        documents: Iterable[Obj],
        scenario: Scenario | None = None,
        *,
        clock: Clock | None = None,
        drive: Drive | None = None,
        seed: int | None = None,
        witness: Witness | None = None,
        gather: timedelta = timedelta(0),
    ) -> None:
        virtual = VirtualClock(START)
        self.clock = clock or virtual
        self.hub = MemoryHub(self.clock, admit=admit)
        for document in _objects(documents):
            if not is_scenario(document):
                self.add(document)
                continue
            found, problems = read_scenario(document)
            if problems:
                raise ConfigError(joined(problems))
            scenario = scenario or found
        self._run = LocalRun(
            self.hub,
            self.clock,
            None,
            scenario or parse_scenario(HEALTHY),
            seed=seed,
            keep=False,
            gather=gather,
            witness=witness,
            drive=drive or Jump(virtual),
        )

    def add(self, document: Obj) -> None:
        """Create an object, with its status."""
        kind = KINDS.get(str(document.get("kind")))
        if kind is None:
            known = ", ".join(sorted(KINDS))
            raise ConfigError(f"kind {document.get('kind')!r} is not known; there are: {known}")
        ref = ref_of(kind, document)
        self.hub.create(ref, document)
        if document.get("status") and kind.has_status:
            self.hub.patch_status(ref, {"status": document["status"]})

    def run(self, on_change: Callable[[RunMoment], None] | None = None) -> FleetAccount:
        """Run until every workload is rolled out, or nothing can happen any more.

        Args:
            on_change: is called at each instant at which something was planned; what it is given says when,
                and, as ``account()``, how all workloads stand then.
        """
        return self._run.run(on_change).last


def _objects(documents: object) -> Iterator[Obj]:
    """The documents one by one. Raises: ConfigError where these are no objects."""
    each_of = documents if isinstance(documents, Iterable) else (documents,)
    for each in each_of:
        if not isinstance(each, dict):
            given = type(documents).__name__
            raise ConfigError(f"documents: {given} is not valid: objects, as load(PATH).objects")
        yield each
