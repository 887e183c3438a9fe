"""Bring one change to a fleet of Kubernetes clusters.

What programs may rely on can be imported from here; docs/library.md lists it.

The packages, in reading order:

* ``model``       what things are: frozen values, parsed once
* ``placement``   which clusters?
* ``strategies``  which of them now?
* ``calendars``   when may a cluster be touched?
* ``measuring``   does it do well?
* ``values``      what differs from cluster to cluster?
* ``rollouts``    what is known of one rollout, cluster by cluster?
* ``planning``    what writes follow?
* ``api``         the wire shapes: decode, validate, encode
* ``fleet``       what we know, kept current event by event
* ``account``     how does a rollout stand? the tree that every view renders
* ``hub``         where objects live: memory, a file, a Kubernetes API server
* ``providers``   what do metrics say? Prometheus, web requests, Jobs
* ``operate``     what a person does to a rollout while it runs: pause, approve, undo
* ``runtime``     who drives: work queue, timers, one engine thread
* ``sim``         simulated agents and virtual time
* ``analysis``    what would happen, how would it go, why does it wait?
* ``dashboard``   what a person sees and presses in a browser
* ``cli``         what a person types

A package imports only packages above it (``tests/test_layers.py``). Nothing in the first eight reads a clock.
"""

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rollout.account.states import Code as Code
    from rollout.account.tree import FleetAccount as FleetAccount
    from rollout.account.tree import NoteAccount as NoteAccount
    from rollout.account.tree import StageAccount as StageAccount
    from rollout.account.tree import WorkloadAccount as WorkloadAccount
    from rollout.api.load import Loaded as Loaded
    from rollout.api.load import load as load
    from rollout.clock import Clock as Clock
    from rollout.clock import SystemClock as SystemClock
    from rollout.clock import VirtualClock as VirtualClock
    from rollout.errors import ConfigError as ConfigError
    from rollout.errors import HubError as HubError
    from rollout.errors import PluginError as PluginError
    from rollout.errors import RolloutError as RolloutError
    from rollout.hub.admission import admit as admit
    from rollout.hub.kube import KubeHub as KubeHub
    from rollout.hub.kube_access import Access as Access
    from rollout.hub.memory import MemoryHub as MemoryHub
    from rollout.hub.sqlite import SqliteHub as SqliteHub
    from rollout.model.amounts import Amount as Amount
    from rollout.model.placement import Group as Group
    from rollout.model.replicaset import GroupRef as GroupRef
    from rollout.model.replicaset import RolloutSpec as RolloutSpec
    from rollout.model.waits import Reason as Reason
    from rollout.model.waits import Wait as Wait
    from rollout.sim.drives import Frozen as Frozen
    from rollout.sim.history import RunHistory as RunHistory
    from rollout.sim.history import TouchedCluster as TouchedCluster
    from rollout.sim.local import RunMoment as RunMoment
    from rollout.sim.scenario import Scenario as Scenario
    from rollout.sim.scenario_file import load_scenario as load_scenario
    from rollout.sim.scenario_file import parse_scenario as parse_scenario
    from rollout.sim.simulate import Simulation as Simulation
    from rollout.strategies.base import Health as Health
    from rollout.strategies.base import Phase as Phase
    from rollout.strategies.base import Rollout as Rollout
    from rollout.strategies.base import Stage as Stage
    from rollout.strategies.base import StageReport as StageReport
    from rollout.strategies.base import Standing as Standing
    from rollout.strategies.base import Step as Step
    from rollout.strategies.base import Timing as Timing
    from rollout.strategies.base import Verdict as Verdict
    from rollout.strategies.ledger import Ledger as Ledger
    from rollout.strategies.stages import rollout_of as rollout_of
    from rollout.strategies.step import decide as decide

__version__ = "0.1.0"


# What is stable, by the module that it comes from. docs/library.md says what each is for.
_PUBLIC = {
    "rollout.account.states": ("Code",),
    "rollout.account.tree": ("FleetAccount", "NoteAccount", "StageAccount", "WorkloadAccount"),
    "rollout.api.load": ("Loaded", "load"),
    "rollout.clock": ("Clock", "SystemClock", "VirtualClock"),
    "rollout.errors": ("ConfigError", "HubError", "PluginError", "RolloutError"),
    "rollout.hub.admission": ("admit",),
    "rollout.hub.kube": ("KubeHub",),
    "rollout.hub.kube_access": ("Access",),
    "rollout.hub.memory": ("MemoryHub",),
    "rollout.hub.sqlite": ("SqliteHub",),
    "rollout.model.amounts": ("Amount",),
    "rollout.model.placement": ("Group",),
    "rollout.model.replicaset": ("GroupRef", "RolloutSpec"),
    "rollout.model.waits": ("Reason", "Wait"),
    "rollout.sim.drives": ("Frozen",),
    "rollout.sim.history": ("RunHistory", "TouchedCluster"),
    "rollout.sim.local": ("RunMoment",),
    "rollout.sim.scenario": ("Scenario",),
    "rollout.sim.scenario_file": ("load_scenario", "parse_scenario"),
    "rollout.sim.simulate": ("Simulation",),
    "rollout.strategies.base": (
        "Health",
        "Phase",
        "Rollout",
        "Stage",
        "StageReport",
        "Standing",
        "Step",
        "Timing",
        "Verdict",
    ),
    "rollout.strategies.stages": ("rollout_of",),
    "rollout.strategies.ledger": ("Ledger",),
    "rollout.strategies.step": ("decide",),
}
__all__ = [name for names in _PUBLIC.values() for name in names]
_HOME = {name: module for module, names in _PUBLIC.items() for name in names}


if not TYPE_CHECKING:  # a type checker is to know of no other names

    def __getattr__(name: str) -> Any:
        """A stable name, loaded when it is first asked for."""
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})


# Else Python prints warnings of the engine on stderr of whoever uses it and has set up no logging.
logging.getLogger(__name__).addHandler(logging.NullHandler())
