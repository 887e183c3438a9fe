"""How is a plan kept in a file, and read back?"""

import json
from collections.abc import Sequence
from pathlib import Path

from rollout.account.wire import as_json
from rollout.analysis.forecast import Forecast
from rollout.analysis.seals import fingerprint
from rollout.cli.documents import Document
from rollout.errors import ConfigError
from rollout.hub.base import Hub


def fingerprint_of(documents: Sequence[Document], hub: Hub) -> str:
    """The fingerprint of a plan for these documents on this hub."""
    return fingerprint([document.obj for document in documents], hub)


def keep(path: Path, found: Forecast, paths: Sequence[str], namespace: str, sealed: str) -> None:
    """Write a plan down. The files themselves are not in it, nor what their Secrets hold."""
    kept = {
        "kind": "RolloutPlan",
        "apiVersion": "rollout-engine.io/v1alpha1",
        "fingerprint": sealed,
        "paths": list(paths),
        "namespace": namespace,
        "plan": as_json(found),
    }
    path.write_text(json.dumps(kept, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def kept_plan(path: Path) -> tuple[str, tuple[str, ...], str]:
    """A plan that was written down: its seal, its files, its namespace. Raises: ConfigError."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        return str(kept["fingerprint"]), tuple(map(str, kept["paths"])), str(kept["namespace"])
    except (ValueError, KeyError, TypeError):
        raise ConfigError(
            f"{path} is no plan: `rollout plan -f PATH --out {path}` makes one"
        ) from None
