"""What the command line's tests share: files to apply, and snapshots to draw."""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner
from click.testing import Result as Answer

from rollout.account.build import stage_state, strategy_line
from rollout.account.states import state_of
from rollout.account.tree import (
    FleetAccount,
    NoteAccount,
    PlacementAccount,
    StageAccount,
    WorkloadAccount,
    added_up,
)
from rollout.account.waits import NextChange, WaitAccount
from rollout.cli.main import cli
from rollout.model.cluster_reasons import any_reason
from rollout.model.kinds import Obj
from rollout.model.waits import reason_of
from rollout.sim.local import RunResult
from rollout.strategies.base import Phase, StageReport

T0 = datetime(2026, 1, 1, tzinfo=UTC)
SEC, MIN = timedelta(seconds=1), timedelta(minutes=1)

CLUSTER_API = "cluster.open-cluster-management.io"
WORK_API = "work.open-cluster-management.io"
PLACEMENTS = f"placement.{CLUSTER_API}"


def run(*words: str, state: Path | str | None = None, stdin: str | None = None) -> Answer:
    """One command line, with the given state file."""
    env = {"ROLLOUT_STATE": "" if state is None else str(state), "NO_COLOR": None}
    level = logging.getLogger().level  # -v sets it, for a process that is ours alone
    try:
        return CliRunner().invoke(cli, list(words), input=stdin, env=env, prog_name="rollout")
    finally:
        logging.getLogger().setLevel(level)


def write(path: Path, *objects: Obj) -> str:
    """A YAML file of these objects. Returns: its path, as one types it."""
    path.write_text(yaml.safe_dump_all(objects))
    return str(path)


def placement(name: str = "fleet", **spec: Any) -> Obj:
    return {
        "apiVersion": f"{CLUSTER_API}/v1beta1",
        "kind": "Placement",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


def cluster(name: str, labels: Mapping[str, str] | None = None, **status: Any) -> Obj:
    obj: Obj = {
        "apiVersion": f"{CLUSTER_API}/v1",
        "kind": "ManagedCluster",
        "metadata": {"name": name, "labels": dict(labels or {})},
        "spec": {"hubAcceptsClient": True},
    }
    return {**obj, "status": status} if status else obj


def workload(name: str = "web", strategy: Obj | None = None, value: str = "1") -> Obj:
    manifest = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings", "namespace": "default"},
        "data": {"value": value},
    }
    reference: Obj = {"name": "fleet"}
    if strategy:
        reference["rolloutStrategy"] = strategy
    return {
        "apiVersion": f"{WORK_API}/v1alpha1",
        "kind": "ManifestWorkReplicaSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "manifestWorkTemplate": {"workload": {"manifests": [manifest]}},
            "placementRefs": [reference],
        },
    }


def binding(name: str = "global") -> Obj:
    return {
        "apiVersion": f"{CLUSTER_API}/v1beta2",
        "kind": "ManagedClusterSetBinding",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"clusterSet": name},
    }


def cluster_set(name: str = "global") -> Obj:
    return {
        "apiVersion": f"{CLUSTER_API}/v1beta2",
        "kind": "ManagedClusterSet",
        "metadata": {"name": name},
        "spec": {"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {}}},
    }


def condition(kind: str, status: str, reason: str, message: str = "", generation: int = 1) -> Obj:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": generation,
        "lastTransitionTime": "2026-01-01T00:31:12Z",
    }


def stored(state: Path, *words: str) -> Any:
    """What `get -o json` shows."""
    return json.loads(run("get", *words, "-o", "json", state=state).stdout)


def stage(
    title: str,
    members: int,
    phases: Mapping[str, int],
    limit: int | None = None,
    budget: int | None = 0,
    *,
    passed: bool = False,
    blocked: str = "",
) -> StageAccount:
    """A stage, with its clusters counted by the word of their phase."""
    counts = {Phase(word): count for word, count in phases.items()}
    most = members if limit is None else limit
    report = StageReport(
        key=title,
        title=title,
        members=members,
        limit=most,
        budget=budget,
        passed=passed,
        phases=counts,
        blocked=reason_of(blocked),
    )
    return StageAccount(
        title=title,
        members=members,
        phases=counts,
        state=stage_state(report, blocked, halted=False),
        limit=most,
        budget=budget,
        failures=report.failures,
        passed=passed,
        wait=WaitAccount(any_reason(blocked), None, "") if blocked else None,
    )


def account(
    obj: Obj,
    *stages: StageAccount,
    notes: Sequence[NoteAccount] = (),
    next_at: datetime | None = None,
    next_what: str = "",
    now: datetime = T0,
) -> WorkloadAccount:
    """A workload with one placement that has these stages."""
    state, phases = state_of(obj), added_up(each.phases for each in stages)
    current = next((each for each in stages if not each.passed), None)
    change = NextChange(next_at, "", next_what) if next_at is not None else None
    since = T0 + 31 * MIN + 12 * SEC if state.is_final else None
    one = PlacementAccount(
        placement="fleet", strategy="All", revision="r1", selected=0, updated=0, stages=stages
    )
    meta = obj["metadata"]
    return WorkloadAccount(
        kind=obj["kind"],
        namespace=meta["namespace"],
        name=meta["name"],
        key=f"{meta['namespace']}/{meta['name']}",
        now=now,
        created=None,
        generation=1,
        strategy=strategy_line(obj),
        revision="r1",
        number=None,
        began=None,
        code=state.code,
        reason=state.reason,
        message=state.message,
        condition="",
        done=state.is_done,
        wait=WaitAccount(any_reason(state.reason), since, ""),
        next=change,
        finish=None,
        members=sum(each.members for each in stages),
        updated=0,
        failed=sum(n for phase, n in phases.items() if phase.is_failure),
        phases=phases,
        stage=current.title if current else "",
        budget=current.budget if current else None,
        placements=(one,),
        notes=tuple(notes),
    )


def shot(now: datetime, *workloads: WorkloadAccount) -> FleetAccount:
    """All of a run that began at `T0`."""
    return FleetAccount(T0, now, workloads)


PROGRESSIVE: Obj = {
    "type": "Progressive",
    "progressive": {
        "maxConcurrency": "25%",
        "minSuccessTime": "5m",
        "progressDeadline": "10m",
        "maxFailures": 2,
    },
}


def standing(*conditions: Obj, name: str = "web", meta: Obj | None = None) -> Obj:
    """A stored workload of generation 1 with these conditions."""
    obj = workload(name, PROGRESSIVE)
    return {
        **obj,
        "metadata": {**obj["metadata"], "generation": 1, **(meta or {})},
        "status": {"conditions": list(conditions)},
    }


ROLLING = standing(condition("Progressing", "True", "RollingOut", "stage the rest: 3 in flight"))
DONE = standing(
    condition("Progressing", "False", "Complete"),
    condition("Ready", "True", "RolledOut", "20 clusters succeeded"),
)


@dataclass
class Fake:
    """A run that shows the accounts it was given and ends."""

    shots: Sequence[FleetAccount]
    interrupted: bool = False

    def run(self, on_change: Any) -> RunResult:
        for each in self.shots:
            on_change(each)
        return RunResult(self.shots[-1], self.interrupted)


AVAILABLE = [condition("ManagedClusterConditionAvailable", "True", "Available")]


def fleet(path: Path, size: int = 3, *more: Obj, strategy: Obj | None = None) -> str:
    """A file with a fleet of this size, all of it selected, and a workload."""
    clusters = [cluster(f"c{i}", conditions=AVAILABLE) for i in range(size)]
    return write(
        path, cluster_set(), binding(), placement(), *clusters, workload(strategy=strategy), *more
    )
