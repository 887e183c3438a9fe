"""Why does it not go on, and why was this cluster chosen? `rollout explain`."""

from typing import Any

import click
from click.shell_completion import CompletionItem

from rollout.analysis.clusters import explain_cluster
from rollout.analysis.placements import explain_placement
from rollout.analysis.rollouts import explain_rollout
from rollout.cli.asking import missing, show, sighted
from rollout.cli.completing import complete_names
from rollout.cli.naming import DEFAULT_NAMESPACE, ref_named
from rollout.cli.options import namespace_option, output_option, shared
from rollout.cli.render_explain import cluster_lines, placement_lines, rollout_lines
from rollout.cli.workloads import only_workload
from rollout.model.kinds import (
    CLUSTER_MANAGEMENT_ADDON,
    MANAGED_CLUSTER,
    PLACEMENT,
    REPLICA_SET,
    WORKLOADS,
    Kind,
    Ref,
    find,
)

EXPLAIN_HELP = """Say why something stands where it stands, since when, and what would end that.

\b
rollout explain rollout NAME      the one reason why a workload (mwrs) is not done; its stages
rollout explain addon NAME        the same of an add-on (cma)
rollout explain cluster NAME      what each workload waits for there, or why it is not selected
rollout explain placement NAME    which clusters are selected, which refused, and why

No engine need be running: the answer is worked out anew from what is stored.
"""

_SUBJECTS = {
    "rollout": REPLICA_SET,
    "addon": CLUSTER_MANAGEMENT_ADDON,
    "cluster": MANAGED_CLUSTER,
    "placement": PLACEMENT,
}


def _kind(ctx: click.Context, param: click.Parameter, value: str) -> Kind:
    found = _SUBJECTS.get(value) or find(value)
    if found not in _SUBJECTS.values():
        raise click.BadParameter(f"{value!r} is not one of {', '.join(_SUBJECTS)}", ctx, param)
    assert found is not None
    return found


def _complete_subject(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem[Any]]:
    return [CompletionItem(word) for word in _SUBJECTS if word.startswith(incomplete)]


def _complete_name(
    ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem[Any]]:
    kind = ctx.params.get("kind")
    return complete_names(ctx, kind, incomplete) if isinstance(kind, Kind) else []


def _named(workload: str, namespace: str) -> Ref:
    """``NAME`` or ``NAMESPACE/NAME`` of a ManifestWorkReplicaSet, or ``KIND/NAME``."""
    kind, slash, _ = workload.partition("/")
    words = (workload,) if slash and find(kind) else (REPLICA_SET.plural, workload)
    return only_workload(words, namespace)


@click.command(
    help=EXPLAIN_HELP,
    short_help="Say why something stands where it stands, and what would end that.",
)
@click.argument(
    "kind", metavar="|".join(_SUBJECTS), callback=_kind, shell_complete=_complete_subject
)
@click.argument("name", metavar="NAME", shell_complete=_complete_name)
@click.option(
    "--workload",
    default="",
    metavar="NAME",
    help="Of a cluster: this workload alone (an add-on as cma/NAME).",
)
@click.option("--cluster", default="", metavar="NAME", help="Of a placement: this cluster alone.")
@click.option("--all", "whole", is_flag=True, help="Of a placement: every candidate.")
@namespace_option
@output_option
@shared
def explain(
    kind: Kind,
    name: str,
    workload: str,
    cluster: str,
    whole: bool,
    namespace: str,
    output: str,
) -> None:
    """Say why a rollout, an add-on, a cluster or a placement stands as it does."""
    place = namespace or DEFAULT_NAMESPACE
    ref = ref_named(kind, name, namespace)
    with sighted() as (_, sight):
        if kind in WORKLOADS:
            rollout = explain_rollout(sight, ref)
            if rollout is None:
                raise missing(ref)
            show(rollout, output, rollout_lines(rollout))
        elif kind is PLACEMENT:
            placement = explain_placement(sight, ref.key)
            if placement is None:
                raise missing(ref)
            if cluster and sight.fleet.clusters.cluster(cluster) is None:
                raise missing(Ref(MANAGED_CLUSTER, cluster))
            account = placement.of(cluster) if cluster else placement
            show(account, output, placement_lines(account, whole=whole or bool(cluster)))
        else:
            only = _named(workload, place) if workload else None
            if only is not None and only not in sight.workloads():
                raise missing(only)
            member = explain_cluster(sight, ref.name, only)
            if member is None:
                raise missing(ref)
            show(member, output, cluster_lines(member))
