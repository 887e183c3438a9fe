"""Chooses how the simulated agents of a run behave."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from rollout.api.file_objects import SCENARIO
from rollout.api.load import load, text_of
from rollout.hub.base import EmbeddedHub, StateKey
from rollout.sim.scenario import Scenario
from rollout.sim.scenario_file import load_scenario, parse_scenario, scenario_in


@dataclass(frozen=True, slots=True)
class ScenarioChoice:
    """The text of an AgentScenario ("": none was given), and the seed to take instead of its own."""

    text: str = ""
    seed: int | None = None

    def scenario(self) -> Scenario:
        """What was asked for; without a text, healthy agents. Raises: ConfigError."""
        found = parse_scenario(self.text) if self.text else Scenario()
        if self.seed is None:
            return found
        spec = found.spec.model_copy(update={"seed": self.seed})
        return found.model_copy(update={"spec": spec})


def asked(agents: Path | None, paths: Sequence[str], seed: int | None) -> ScenarioChoice:
    """What the command line asks for: the file named, else the one scenario among the files.

    Raises: ConfigError where the scenario is bad, UsageError where there are several.
    """
    if agents is not None:
        load_scenario(agents)  # says which file is bad
        return ScenarioChoice(text_of(agents), seed)
    if "-" in paths:
        return ScenarioChoice(seed=seed)  # stdin can be read only once, and the objects are there
    found = [d for d in load(paths).documents if d.obj.get("kind") == SCENARIO]
    if len(found) > 1:
        places = ", ".join(document.source for document in found)
        raise click.UsageError(f"there are several scenarios ({places}): choose with --agents")
    if not found:
        return ScenarioChoice(seed=seed)
    scenario_in(found[0])
    return ScenarioChoice(json.dumps(found[0].obj), seed)


def settled(hub: EmbeddedHub, wanted: ScenarioChoice) -> ScenarioChoice:
    """What to run with: what is asked for now, the rest as the run before; kept for the next one."""
    kept = hub.get_state(StateKey.SCENARIO)
    before = ScenarioChoice(**json.loads(kept)) if kept else ScenarioChoice()
    now = ScenarioChoice(
        wanted.text or before.text,
        before.seed if wanted.seed is None and not wanted.text else wanted.seed,
    )
    if now != before:
        hub.put_state(StateKey.SCENARIO, json.dumps({"text": now.text, "seed": now.seed}).encode())
    return now
