"""Objects that tests of hubs write, and what is read back of them."""

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rollout.hub.base import EmbeddedHub
from rollout.hub.sqlite import SqliteHub
from rollout.model.kinds import CONFIG_MAP, MANIFEST_WORK, Obj, Ref

T0 = datetime(2026, 1, 1, tzinfo=UTC)
WORK = Ref(MANIFEST_WORK, "c1/web")
MAP = Ref(CONFIG_MAP, "default/page")
FINALIZER = "example.io/cleanup"
Make = Callable[..., EmbeddedHub]
Open = Callable[..., SqliteHub]
ROOT = Path(__file__).parents[2]


def work(**meta: Any) -> Obj:
    return {"metadata": meta, "spec": {"workload": {"manifests": [{"kind": "ConfigMap"}]}}}


def version_of(obj: Obj) -> int:
    return int(obj["metadata"]["resourceVersion"])


def put(hub: SqliteHub, ref: Ref, n: int, version: int | None = None) -> Obj:
    return hub.patch(ref, {"data": {"n": str(n)}}, version)


def child(script: str, *args: object) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, args)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
