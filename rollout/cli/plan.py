"""What would happen if these files were applied now? `rollout plan`."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from rollout.analysis.cautions import Caution
from rollout.analysis.copies import Change
from rollout.analysis.forecast import Warn, forecast
from rollout.analysis.inspection import inspect
from rollout.analysis.seals import seal
from rollout.api.load import Document as Read
from rollout.api.load import Loaded
from rollout.api.preflight import Severity
from rollout.cli.applying import apply_documents
from rollout.cli.documents import Document, good_documents
from rollout.cli.kept_plans import fingerprint_of, keep
from rollout.cli.naming import DEFAULT_NAMESPACE
from rollout.cli.options import Stop, files_option, namespace_option, options, output_option, shared
from rollout.cli.render_plan import plan_lines
from rollout.cli.store import open_hub, show
from rollout.hub.base import EmbeddedHub
from rollout.model.kinds import Obj

CHANGES = 10
PLAN_HELP = """Show what would happen if files were applied now; nothing is changed.

Clusters added, updated and removed by stage and in order, with the numbers that limits come to; how
the manifests of one cluster change; the earliest finish; what to be careful about. Without a state
file or server: against nothing.

\b
Exit codes:
   0  nothing would change
  10  something would
   1  the files could not be applied
"""


@click.command(help=PLAN_HELP, short_help="Show what would happen if files were applied now.")
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
    """Show what would happen if files were applied now."""
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
        mine = [Read(obj=d.obj, source=d.source, index=i) for i, d in enumerate(documents)]
        others = [
            Read(obj=obj, source="", index=i)
            for i, obj in enumerate(objects)
            if _key(obj) not in own
        ]
        findings = inspect(Loaded((*mine, *others)), namespace or DEFAULT_NAMESPACE)
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
