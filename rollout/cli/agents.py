"""`rollout agents simulate`: plays the agents of a hub that has none."""

import contextlib
from datetime import timedelta
from pathlib import Path

from rollout.cli.options import Stop, options
from rollout.cli.patience import pauses
from rollout.cli.store import open_hub
from rollout.cli.text import say
from rollout.clock import SystemClock
from rollout.errors import AlreadyExists
from rollout.hub.base import EmbeddedHub
from rollout.model.instants import parse_instant, rfc3339
from rollout.model.kinds import LEASE, MANAGED_CLUSTER, Kind, Obj, Ref, ref_of
from rollout.model.names import CLUSTER_ACCEPTED, CLUSTER_AVAILABLE, CLUSTER_JOINED
from rollout.sim.agents import Agents
from rollout.sim.scenario import Scenario
from rollout.sim.scenario_file import load_scenario

NAMESPACE = Kind("Namespace", "namespaces", "", "v1", namespaced=False)
AGENT_LEASE = "managed-cluster-lease"
"""What an agent renews, in the namespace of its cluster."""
LIVELY = timedelta(minutes=10)
"""An agent that renewed its lease within this span is at work."""


def simulate(agents: Path | None, seed: int | None) -> None:
    """Act for the agents of every cluster of a hub, until interrupted. Raises: Stop."""
    if not options().on_server:
        raise Stop(
            2, "name a hub with --context or --kubeconfig: `rollout run` simulates agents itself"
        )
    scenario = load_scenario(agents) if agents is not None else Scenario()
    with open_hub(options()) as (hub, _):
        clock = SystemClock()
        _refuse_real_agents(hub, clock)
        clusters = hub.list(MANAGED_CLUSTER).items
        for cluster in clusters:
            _join(hub, cluster, clock)
        simulated = Agents(hub, clock, scenario, seed)
        try:
            simulated.start()
            say(f"acting for the agents of {len(clusters)} clusters; stop with Ctrl-C")
            pause = pauses()
            while True:
                simulated.run_due()
                if not pause():
                    return
        finally:
            simulated.close()


def _refuse_real_agents(hub: EmbeddedHub, clock: SystemClock) -> None:
    """Raises: Stop where an agent is at work: two would write over each other."""
    for lease in hub.list(LEASE).items:
        renewed = parse_instant((lease.get("spec") or {}).get("renewTime"))
        is_agents = lease["metadata"]["name"] == AGENT_LEASE
        if is_agents and renewed is not None and renewed > clock.now() - LIVELY:
            raise Stop(
                1,
                f"a real agent is at work for cluster {lease['metadata']['namespace']}: agents are"
                " simulated only on a hub that has none",
            )


def _join(hub: EmbeddedHub, cluster: Obj, clock: SystemClock) -> None:
    """Let a cluster that was only created take part: its namespace, and what its agent would say."""
    name = cluster["metadata"]["name"]
    with contextlib.suppress(AlreadyExists):
        hub.create(Ref(NAMESPACE, name), {**_NAMESPACE, "metadata": {"name": name}})
    said = (cluster.get("status") or {}).get("conditions") or []
    lacking = {CLUSTER_ACCEPTED, CLUSTER_JOINED, CLUSTER_AVAILABLE} - {
        each["type"] for each in said
    }
    if lacking:
        told = [_condition(kind, clock) for kind in sorted(lacking)]
        ref = ref_of(MANAGED_CLUSTER, cluster)
        hub.patch_status(ref, {"status": {"conditions": [*said, *told]}})


_NAMESPACE = {"apiVersion": "v1", "kind": "Namespace"}


def _condition(kind: str, clock: SystemClock) -> Obj:
    return {
        "type": kind,
        "status": "True",
        "reason": "Simulated",
        "message": "said by `rollout agents simulate`",
        "lastTransitionTime": rfc3339(clock.now()),
    }
