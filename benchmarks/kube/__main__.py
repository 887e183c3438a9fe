"""``python -m benchmarks.kube``: measure a controller on a real API server, print a table, write results.json.

``CONTROLLER='cmd'`` measures any other process, started with KUBECONFIG set, instead of ours.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

from benchmarks.figures import Figure, calibrate
from benchmarks.kube.audit import CONTROLLER, Audit
from benchmarks.kube.client import Client, Refused
from benchmarks.kube.controller import OURS, Controller, Ended
from benchmarks.kube.field import Field, TooLong
from benchmarks.kube.lines import IDLE_SECONDS, LINES, Bench
from benchmarks.kube.probe import Probe
from rollout.hub.kube import KubeHub
from rollout.hub.kube_access import Access
from tests.kube.cluster import Cluster, Missing
from tests.kube.setting import install_crds

RESULTS = Path(__file__).with_name("results.json")
SIZES = "1000,3000"
_BEGAN = time.perf_counter()


def _arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kube", description=__doc__)
    add = parser.add_argument
    add("--clusters", default=SIZES, help=f"numbers of clusters, with commas (default {SIZES})")
    add("--only", default=",".join(LINES), help=f"of {', '.join(LINES)}, with commas")
    add("--repeat", type=int, default=3, help="runs of bare loop and works: the median counts")
    add("--idle-seconds", type=float, default=IDLE_SECONDS, help="how long idle is watched")
    add("--patience", type=float, default=600.0, help="seconds after which a line has failed")
    add("--keep", type=Path, help="keep logs and the audit log in this folder")
    add("--results", type=Path, default=RESULTS, help="where the figures are written")
    found = parser.parse_args(words)
    unknown = set(found.only.split(",")) - set(LINES)
    if unknown:
        parser.error(f"no line is called {min(unknown)!r}; there are: {', '.join(LINES)}")
    return found


def say(words: str) -> None:
    """Progress, for whoever waits."""
    print(f"{time.perf_counter() - _BEGAN:6.0f} s  {words}", file=sys.stderr, flush=True)


def main(words: list[str]) -> int:
    said = _arguments(words)
    figures: list[Figure] = []
    requests: dict[str, dict[str, int]] = {}
    print(f"{'name':<26}{'value':>10}  {'unit':<4}{'OCM':>8}{'target':>10}  met", flush=True)
    try:
        asyncio.run(_all(said, figures, requests))
    except Missing as missing:
        print(missing, file=sys.stderr)
        return 2
    except (Ended, TooLong, Refused, TimeoutError) as error:
        print(str(error) or "a step took longer than --patience", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        found = {"figures": [f.as_json() for f in figures], "requests": requests}
        said.results.write_text(json.dumps(found, indent=1) + "\n")
    return 0


async def _all(
    said: argparse.Namespace, figures: list[Figure], requests: dict[str, dict[str, int]]
) -> None:
    figures.append(calibrate())
    _show(figures[0])
    for size in (int(word) for word in said.clusters.split(",")):
        counts = requests[str(size)] = {}
        async for figure in _size(said, size, counts):
            figures.append(figure)
            _show(figure)
        print(f"\nrequests with {size} clusters")
        for what, number in counts.items():
            print(f"  {number:>8}  {what}")
        print(flush=True)


async def _size(
    said: argparse.Namespace, size: int, counts: dict[str, int]
) -> AsyncIterator[Figure]:
    """One size, on a server of its own."""
    with tempfile.TemporaryDirectory(prefix="rollout-bench-") as made:
        folder = Path(made)
        if said.keep:
            said.keep.mkdir(parents=True, exist_ok=True)
            folder = Path(tempfile.mkdtemp(prefix=f"{size}-", dir=said.keep))
        audit = Audit(folder)
        server = Cluster(folder, flags=audit.flags())
        kubeconfig = server.user(CONTROLLER, "system:masters")
        controller = Controller(os.environ.get("CONTROLLER") or OURS, kubeconfig, folder)
        try:
            say(f"an API server starts for {size} clusters")
            server.start()
            await asyncio.to_thread(_install, server.kubeconfig)
            client = await Client.open(server.kubeconfig)
            field = Field(client, controller.check)
            await field.start()
            probe = Probe(controller, audit, server.pids)
            bench = _bench(said, size, client, field, controller, probe, kubeconfig)
            async for figure in bench.run():
                yield figure
            for (verb, what), number in sorted(probe.requests.items()):
                counts[f"{verb} {what}"] = number
            await field.stop()
            await client.close()
        finally:
            controller.stop()
            server.stop()


def _bench(
    said: argparse.Namespace,
    size: int,
    client: Client,
    field: Field,
    controller: Controller,
    probe: Probe,
    kubeconfig: Path,
) -> Bench:
    return Bench(
        size,
        frozenset(said.only.split(",")),
        client,
        field,
        controller,
        probe,
        kubeconfig,
        said.repeat,
        said.patience,
        said.idle_seconds,
        say,
    )


def _install(kubeconfig: Path) -> None:
    hub = KubeHub(Access(str(kubeconfig)))
    install_crds(hub)
    hub.close()


def _show(figure: Figure) -> None:
    ocm = "" if figure.reference is None else f"{figure.reference:,.2f}"
    sign = "" if figure.target is None else ">=" if figure.rising else "<="
    target = "" if figure.target is None else f"{sign} {figure.target:,.2f}"
    met = {None: "", True: "ok", False: "MISSED"}[figure.met]
    row = f"{figure.name:<26}{figure.value:>10,.2f}  {figure.unit:<4}{ocm:>8}{target:>10}  {met}"
    print(row.rstrip(), flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
