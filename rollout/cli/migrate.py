"""`rollout migrate`: takes over the records of the first edition."""

import json
from typing import TYPE_CHECKING, Any

import click

from rollout.cli.options import complain, options, output_option, shared
from rollout.cli.store import open_hub
from rollout.cli.text import put, say
from rollout.errors import HubError
from rollout.model.policy import DEFAULT

if TYPE_CHECKING:
    from rollout.operate.migration import MigrationStep

MIGRATE_HELP = """Take over what the first edition kept in ConfigMaps and ControllerRevisions.

Run it once, while no controller runs, as a user who may read and delete these in all namespaces (the
controller itself may not). An object whose owner, namespace, name and content agree becomes a
RolloutRecord or a RolloutRevision. The others are listed; the controller rebuilds their records from the
works, so soaks begin again and gates ask again. You can run it again.

\b
Exit codes:
  0  everything was taken over, or would be
  1  something could not be read, written or deleted; run it again
  2  usage error
"""


@click.command(help=MIGRATE_HELP)
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@click.option(
    "--home",
    metavar="NS",
    default=DEFAULT.namespace,
    help=f"The controller's namespace: records of add-ons lie there.  [default: {DEFAULT.namespace}]",
)
@output_option
@shared
def migrate(*, dry_run: bool, home: str, output: str) -> int:
    """Take over, step by step."""
    # Here, since nobody who asks for help should wait for the models of all kinds.
    from rollout.operate.migration import migration, perform  # noqa: PLC0415

    failed = 0
    told: list[dict[str, Any]] = []
    with open_hub(options()) as (hub, _):
        for step in list(migration(hub, home)):
            fault = ""
            if not dry_run:
                try:
                    perform(hub, step)
                except HubError as error:
                    fault = str(error)
                    failed += 1
            told.append(_as_json(step, fault))
            if output != "json":
                _say(step, fault, dry_run=dry_run)
    if output == "json":
        put(json.dumps({"dryRun": dry_run, "failed": failed, "steps": told}, indent=2))
    elif not told:
        say("nothing of the first edition is here")
    return int(failed > 0)


def _as_json(step: "MigrationStep", fault: str) -> dict[str, Any]:
    return {
        "workload": step.workload,
        "what": step.what,
        "written": [str(ref) for ref, _ in step.writes],
        "deleted": [f"{o['metadata']['namespace']}/{o['metadata']['name']}" for o in step.old],
        "notBelieved": step.doubts,
        "error": fault,
    }


def _say(step: "MigrationStep", fault: str, *, dry_run: bool) -> None:
    would = "would be " if dry_run else ""
    counts = f"{len(step.writes)} {would}written, {len(step.old)} {would}deleted"
    if fault:
        complain(f"{step.workload}: {step.what}: {fault}")
    else:
        say(f"{step.workload}: {step.what}: {counts}")
    for doubt in step.doubts:
        say(f"    not believed: {doubt}" if step.old else f"    {doubt}")
