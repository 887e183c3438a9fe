"""How is one controller measured at one size? On a fresh API server that ends with the run."""

import asyncio
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.figures import Figure, calibrate
from benchmarks.kube.audit import CONTROLLER, Audit
from benchmarks.kube.client import Client
from benchmarks.kube.controller import Controller
from benchmarks.kube.field import Field
from benchmarks.kube.lines import Bench
from benchmarks.kube.probe import Probe
from benchmarks.kube.receipt import Run
from benchmarks.machine import Others
from rollout.hub.kube import KubeHub
from rollout.hub.kube_access import Access
from tests.kube.cluster import Cluster
from tests.kube.setting import install_crds


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is measured, and how patiently."""

    lines: frozenset[str]
    repeat: int
    patience: float  # seconds
    idle_seconds: float
    keep: Path | None = None
    """Where logs are kept."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """Who is told meanwhile: of progress, and of each figure."""

    say: Callable[[str], None]
    show: Callable[[Figure], None]


async def measure(run: Run, command: str, wanted: Wanted, spoken: Spoken) -> None:
    """Fill ``run``; what was taken before a failure stays in it.

    Raises: Ended, TooLong, Refused, NotLogged, TimeoutError, tests.kube.cluster.Missing.
    """
    began, others = time.perf_counter(), Others()
    run.began_at = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    _take(run, spoken, before := calibrate())
    run.calibration["before"] = before.value
    try:
        with tempfile.TemporaryDirectory(prefix="rollout-bench-") as made:
            await _on_a_server(run, command, wanted, spoken, Path(made))
    finally:
        run.calibration["after"] = calibrate().value
        run.seconds, run.others = time.perf_counter() - began, others.cores()


def _take(run: Run, spoken: Spoken, figure: Figure) -> None:
    run.figures.append(figure)
    spoken.show(figure)


async def _on_a_server(
    run: Run, command: str, wanted: Wanted, spoken: Spoken, folder: Path
) -> None:
    if wanted.keep:
        wanted.keep.mkdir(parents=True, exist_ok=True)
        prefix = f"{run.clusters}-{run.side}-"
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=wanted.keep))
    audit = Audit(folder)
    server = Cluster(folder, flags=audit.flags())
    kubeconfig = server.user(CONTROLLER, "system:masters")
    controller = Controller(command, kubeconfig, folder)
    try:
        spoken.say(f"{run.side}: an API server starts for {run.clusters} clusters")
        server.start()
        await asyncio.to_thread(_install, server.kubeconfig)
        client = await Client.open(server.kubeconfig)
        field = Field(client, controller.check)
        await field.start()
        bench = Bench(
            clusters=run.clusters,
            wanted=wanted.lines,
            client=client,
            seen=field,
            controller=controller,
            probe=Probe(controller, audit, server.pids, run.requests, run.taken),
            kubeconfig=kubeconfig,
            repeat=wanted.repeat,
            patience=wanted.patience,
            idle_seconds=wanted.idle_seconds,
            say=spoken.say,
        )
        async for figure in bench.run():
            _take(run, spoken, figure)
        await field.stop()
        await client.close()
    finally:
        controller.stop()
        server.stop()


def _install(kubeconfig: Path) -> None:
    hub = KubeHub(Access(str(kubeconfig)))
    install_crds(hub)
    hub.close()
