"""What would happen if these files were applied now? `rollout plan`."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from rollout.analysis.cautions import Caution
from rollout.analysis.copies import Change
from rollout.analysis.forecast import Forecast, Warn, forecast
from rollout.analysis.seals import fingerprint, seal
from rollout.analysis.wire import as_json
from rollout.api.load import Document as Read
from rollout.api.load import Loaded
from rollout.api.preflight import Severity, preflight
from rollout.cli.apply import files_option
from rollout.cli.applying import apply_documents
from rollout.cli.asking import output_option, show
from rollout.cli.documents import Document, read_documents
from rollout.cli.naming import DEFAULT_NAMESPACE
from rollout.cli.options import Stop, namespace_option, options, shared
from rollout.cli.render_plan import plan_lines
from rollout.cli.store import open_hub
from rollout.errors import ConfigError
from rollout.hub.base import EmbeddedHub, Hub
from rollout.model.kinds import Obj

CHANGES = 10
PLAN_HELP = """Say what would happen if files were applied now; nothing is changed.

Clusters added, updated and removed by stage and in order, with the numbers that limits come to; how
the manifests of one cluster change; the earliest finish; what to be careful about. Without a state
file or server: against nothing.

\b
Exit codes:
   0  nothing would change
  10  something would
   1  the files could not be applied
"""


@click.command(help=PLAN_HELP, short_help="Say what would happen if files were applied now.")
@files_option()
@namespace_option
@click.option("--all", "whole", is_flag=True, help="Name every cluster and every object.")
@click.option(
    "--show-secrets",
    is_flag=True,
    help="Show the data of Secrets in the diff; the plan that --out keeps never has it.",
)
@click.option(
    "--out",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Keep the plan, for `rollout apply --plan FILE`.",
)
@output_option
@shared
def plan(
    paths: tuple[str, ...],
    namespace: str,
    whole: bool,
    show_secrets: bool,
    out: Path | None,
    output: str,
) -> int:
    """Say what would happen if files were applied now."""
    documents = good_documents(paths, namespace)
    chosen = options()
    against_nothing = not (chosen.state or chosen.on_server)
    with open_hub(chosen, create=against_nothing) as (hub, clock):
        now = clock.now()
        warn = preflight_warnings(documents, namespace)
        found = forecast(hub, applying(documents), now, show_secrets=show_secrets, warn=warn)
        if out is not None:
            sealed = seal(fingerprint_of(documents, hub))
            hidden = forecast(hub, applying(documents), now, warn=warn) if show_secrets else found
            keep(out, hidden, paths, namespace, sealed)
    show(found, output, plan_lines(found, whole=whole))
    return CHANGES if found.changes else 0


def good_documents(paths: Sequence[str], namespace: str, undone: str = "planned") -> list[Document]:
    """The documents of the files. Raises: Stop where one is bad, or there is none.

    ``undone`` is the word for what is not done then.
    """
    documents = read_documents(paths, namespace)
    bad = [fault for document in documents for fault in document.complaints]
    if bad:
        raise Stop(1, *bad, f"nothing was {undone}: correct the files first")
    if not documents:
        raise Stop(1, "no objects were found in the files")
    return documents


def applying(documents: Sequence[Document], undone: str = "planned") -> Change:
    """The change that `rollout apply` of these documents makes. Raises: Stop where it is refused."""

    def change(hub: EmbeddedHub) -> None:
        refused = [done.line for done in apply_documents(hub, documents) if done.failed]
        if refused:
            raise Stop(1, *refused, f"nothing was {undone}: correct the files first")

    return change


def preflight_warnings(documents: Sequence[Document], namespace: str) -> Warn:
    """What `rollout validate` would say of these files, knowing also what there is beside them."""

    def warn(objects: Iterable[Obj]) -> list[Caution]:
        own = {str(document.ref) for document in documents}
        mine = [Read(d.obj, d.source, i) for i, d in enumerate(documents)]
        others = [Read(obj, "", i) for i, obj in enumerate(objects) if _key(obj) not in own]
        findings = preflight(Loaded((*mine, *others)), namespace or DEFAULT_NAMESPACE)
        return [
            Caution(f"{f.object} {f.path}".strip(), f.message, f.remedy)
            for f in findings
            if f.index < len(mine) and f.severity is not Severity.INFO
        ]

    return warn


def _key(obj: Obj) -> str:
    meta = obj["metadata"]
    name = f"{meta['namespace']}/{meta['name']}" if meta.get("namespace") else meta["name"]
    return f"{obj.get('kind')} {name}"


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
