"""`rollout render`: the manifests of one cluster, with its own values."""

import json

import click
import yaml

from rollout.cli.hiding import show_secrets_option, veil
from rollout.cli.naming import complete_kind, missing, only_workload
from rollout.cli.options import Stop, namespace_option, shared
from rollout.cli.store import snapshotted
from rollout.cli.text import put, say
from rollout.model.kinds import VALUED


@click.command(name="render")
@click.argument("words", metavar="[mwrs] NAME", nargs=-1, shell_complete=complete_kind)
@click.option("--cluster", required=True, metavar="NAME", help="The cluster to render for.")
@show_secrets_option
@namespace_option
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "yaml", "json"]),
    default="text",
    help="text prints a comment for each value and its rule, then YAML.  [default: text]",
)
@shared
def render(
    words: tuple[str, ...], cluster: str, show_secrets: bool, namespace: str, output: str
) -> None:
    """Print the manifests that a cluster is to carry, with its own values put in.

    Exits with 4 where they cannot be rendered, and says what is missing or in conflict.
    """
    named = only_workload(words, namespace)
    with snapshotted() as (hub, snapshot):
        ref = named.on(hub)
        if ref.kind not in VALUED:
            raise Stop(
                2, "add-ons have variables of their own (AddOnDeploymentConfig), and no values"
            )
        workload = snapshot.workload(ref)
        if workload is None:
            raise missing(ref)
        owner = workload.members.get(cluster)
        if owner is None:
            raise Stop(1, f"no placement of {ref} selects cluster {cluster}")
        live, wanted = workload.shares[owner].live, workload.wanted(cluster)
        wait = live.ledger.rollout.unrendered.get(cluster) or (
            live.last.hold if not wanted else None
        )
        if wait is not None:
            raise Stop(4, f"{wait.reason}: {wait.message}")
        spec = veil(show_secrets=show_secrets)(wanted or {})
        manifests = spec.get("workload", {}).get("manifests", [])
        if output == "json":
            put(json.dumps(manifests, indent=2))
            return
        for value in workload.values_at(cluster) if output == "text" else ():
            text = "(hidden)" if value.is_secret and not show_secrets else json.dumps(value.value)
            say(f"# {value.target} {value.path} = {text}  (ClusterValues {value.rule})")
        put(yaml.safe_dump_all(manifests, sort_keys=False, allow_unicode=True).rstrip())
