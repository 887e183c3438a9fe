"""Does the engine do what `plan` said, while nothing else changes? Promise S14, on both sides of a change."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import cast

from rollout.analysis.forecast import Forecast, forecast
from rollout.errors import Invalid
from rollout.hub.base import EmbeddedHub, Hub
from rollout.model.names import SEMANTICS
from tests.safety.allowed import allow
from tests.safety.focus import draw
from tests.safety.kinds import EDITORS
from tests.safety.model import Rollout
from tests.safety.setting import Setting
from tests.safety.world import T0, History
from tests.support.faults import Rates

Blame = Callable[[str, str], None]

UNHEARD_OF = "r9"
"""A revision that no agent has trouble with, and that was never asked for before."""


def foreseen(kind: str, seed: int, counts: Counter[str], blame: Blame) -> None:
    """A history stops at some instant; a new revision is planned, then rolled out there and then."""
    setting = _calm(draw(seed, kind))
    if setting.looks_every is not None or setting.notes.get(SEMANTICS) == "ocm":
        allow(counts, "unplanned")
        return  # a plan does not ask how often agents look, nor does it foresee OCM's library
    history = History(setting)
    history.begin()
    history.until(T0 + timedelta(seconds=Random(f"plan:{seed}").randrange(60, 1500)))
    if history.violations or history.engine is None:
        return
    rollouts = history.judge.told.rollouts.values()
    if any(_is_remembered(rollout) for rollout in rollouts):
        allow(counts, "unplanned")
        return

    def change(hub: Hub) -> None:
        EDITORS[kind](setting, hub, Random(0), lambda _: None).roll_out(UNHEARD_OF)

    try:
        said = forecast(cast(EmbeddedHub, history.hub), change, history.clock.now())
    except Invalid:
        allow(counts, "unplanned")
        return  # what was misconfigured before cannot be rolled out: a real hub lets neither in
    history.forget_the_script()
    change(history.hub)
    history.until(history.clock.now())
    at_once = _touched(history)
    history.until(history.clock.now() + timedelta(minutes=10))
    counts["S14.forecasts"] += 1
    counts["S14.foreseen_touches"] += len(at_once)
    if at_once != _at_once(said):
        blame("S14", f"planned to touch {sorted(_at_once(said))}, touched {sorted(at_once)}")
    if _touched(history) - _sooner_or_later(said):
        blame("S14", f"{_touched(history) - _sooner_or_later(said)} are touched, but not planned")


def _is_remembered(rollout: Rollout) -> bool:
    """Whether the engine goes by what it has seen and a plan cannot see: since when others write decisions, or
    whom a placement selected that is gone. The engine keeps these clusters for that placement, and a plan gives
    them to the next one.
    """
    is_gone = rollout.hold == "PlacementNotFound" and bool(rollout.selected)
    return rollout.is_unquiet or rollout.hold == "TornDecisions" or is_gone


def _calm(setting: Setting) -> Setting:
    """Nothing is out of order that only an engine remembers, which has seen more than stands there."""
    rough = ("crash", "crash_soon", "lose_record", "outage", "refuse", "torn")
    script = tuple(act for act in setting.script if act.verb not in rough)
    return replace(setting, faults=Rates(), latency=timedelta(0), script=script)


def _touched(history: History) -> set[str]:
    rollouts = history.judge.told.rollouts.values()
    return {c for r in rollouts for c, t in r.tracks.items() if t.revision == UNHEARD_OF}


def _at_once(said: Forecast) -> set[str]:
    return {
        cluster
        for workload in said.workloads
        for placement in workload.placements
        for stage in placement.stages
        for cluster in stage.at_once
    }


def _sooner_or_later(said: Forecast) -> set[str]:
    return {
        cluster
        for workload in said.workloads
        for placement in workload.placements
        for stage in placement.stages
        for cluster in (*stage.added, *stage.updated)
    }
