"""`rollout explain`: why a rollout waits, and why a cluster was chosen."""

from collections.abc import Iterator
from datetime import datetime

from rollout.account.figures import SIGNS, STATE_SIGNS, counted
from rollout.account.sentences import ends_line, rollout_facts
from rollout.account.tree import WorkloadAccount
from rollout.account.words import age, at_and_in, effective, many
from rollout.analysis.clusters import ExplainedCluster, explain_cluster
from rollout.analysis.placements import Candidate, ExplainedPlacement, explain_placement
from rollout.analysis.sentences import condition_line, placement_facts, share_facts, value_line
from rollout.cli.naming import Named, Target, missing, only_workload, target_named
from rollout.cli.store import show, snapshotted
from rollout.cli.tables import text_table
from rollout.cli.text import facts, hanging
from rollout.model.kinds import MANAGED_CLUSTER, PLACEMENT, WORKLOADS, Kind, Ref


def explain(
    kind: Kind | None,
    name: str,
    workload: str,
    cluster: str,
    whole: bool,
    namespace: str,
    output: str,
) -> None:
    """Explain the present state of a rollout, an add-on, a cluster or a placement.

    Args:
        kind: None for a workload of any kind.
    """
    named = _meant(kind, name, namespace)
    about = only_workload((workload,), namespace) if workload else None
    with snapshotted() as (hub, snapshot):
        ref = named.on(hub) if isinstance(named, Named) else named.ref(namespace)
        if ref.kind in WORKLOADS:
            rollout = snapshot.account(ref)
            if rollout is None:
                raise missing(ref)
            show(rollout, output, rollout_lines(rollout))
        elif ref.kind is PLACEMENT:
            placement = explain_placement(snapshot, ref.key)
            if placement is None:
                raise missing(ref)
            if cluster and snapshot.fleet.clusters.cluster(cluster) is None:
                raise missing(Ref(MANAGED_CLUSTER, cluster))
            account = placement.of(cluster) if cluster else placement
            show(account, output, placement_lines(account, whole=whole or bool(cluster)))
        else:
            only = about.on(hub) if about is not None else None
            if only is not None and only not in snapshot.workloads():
                raise missing(only)
            member = explain_cluster(snapshot, ref.name, only)
            if member is None:
                raise missing(ref)
            show(member, output, cluster_lines(member))


def _meant(kind: Kind | None, name: str, namespace: str) -> Named | Target:
    """The object; a workload that is named by its name alone is looked for in every namespace."""
    if kind is None:
        return only_workload((name,), namespace)
    if kind in WORKLOADS:
        return only_workload((kind.typed, name), namespace)
    return target_named(kind, name, namespace)


# -- in words ------------------------------------------------------------------------------------

MOST_CANDIDATES = 20
MOST_TROUBLED = 10


def rollout_lines(account: WorkloadAccount) -> Iterator[str]:
    """Why a rollout stands where it stands."""
    yield from facts(rollout_facts(account))
    if account.stages:
        yield ""
        yield from stage_lines(account)
    if account.failed:
        yield ""
        yield from _troubled(account)


def _troubled(account: WorkloadAccount) -> Iterator[str]:
    """The clusters that failed; what would end that is said once where it is the same for all."""
    found = account.troubled[:MOST_TROUBLED]
    waits = {each.name: each.wait for each in found if each.wait is not None}
    ends = {ends_line(wait, account.now) for wait in waits.values()}
    yield from text_table(
        ("CLUSTER", "PHASE", "REASON", "FOR", *(["UNTIL"] if len(ends) > 1 else [])),
        (
            (
                each.name,
                f"{SIGNS[each.phase]} {each.phase.value}",
                each.wait.reason,
                age(lasts) if (lasts := each.wait.lasts(account.now)) is not None else "",
                *([ends_line(each.wait, account.now)] if len(ends) > 1 else []),
            )
            for each in found
            if each.wait is not None
        ),
    )
    more = account.failed - len(found)
    if more > 0:
        yield f"... and {more} more"
    if len(ends) == 1:
        yield from hanging("  until ", *ends)


def stage_lines(account: WorkloadAccount) -> Iterator[str]:
    """Every stage with what it waits for; what the whole waits for was said already."""
    stages = account.stages
    yield from text_table(
        ("STAGE", "STATUS", "CLUSTERS", "AT ONCE", "MAY FAIL", "NOW"),
        (
            (
                title,
                f"{STATE_SIGNS[stage.state]} {stage.state.value}",
                str(stage.members),
                effective(stage.asked_limit, stage.members, stage.limit),
                "any" if stage.budget is None else str(stage.budget),
                "  ".join(f"{sign} {n} {word}" for sign, n, word in counted(stage.phases)),
            )
            for title, stage in stages
        ),
    )
    for title, stage in stages:
        if stage.wait is not None and not stage.passed and stage.wait.reason != account.reason:
            yield ""
            yield f"{title} waits: {stage.wait.reason}"
            yield from hanging("  until ", ends_line(stage.wait, account.now))


def cluster_lines(account: ExplainedCluster) -> Iterator[str]:
    """Why a cluster has what it has."""
    known = {None: "unknown", True: "yes", False: "no"}[account.available]
    yield from facts(
        [
            ("Name", account.name),
            ("Available", known if account.known else "no ManagedCluster of this name"),
        ]
    )
    for share in account.shares:
        yield ""
        yield f"{share.kind} {share.workload}"
        yield from facts(share_facts(share, account.now), "  ")
        for value in share.values:
            yield f"    {value_line(value)}"
        for condition in share.work.conditions if share.work else ():
            yield f"    {condition_line(condition, account.now)}"
        for fault in share.work.faults if share.work else ():
            yield f"    ✖ {fault}"
    if not account.shares:
        yield ""
        yield "There is no workload."


def placement_lines(account: ExplainedPlacement, *, whole: bool = False) -> Iterator[str]:
    """Why a Placement selects these clusters."""
    yield from facts(placement_facts(account))
    if account.reasons:
        yield ""
        yield "Refused:"
        for reason, count in sorted(account.reasons.items(), key=lambda pair: (-pair[1], pair[0])):
            yield f"  {many(count, 'cluster')}: {reason}"
    if account.candidates:
        yield ""
        shown = account.candidates if whole else account.candidates[:MOST_CANDIDATES]
        yield from text_table(
            ("CLUSTER", "RANK", "TOTAL", "VERDICT"), (_candidate(c, account.now) for c in shown)
        )
        if len(shown) < len(account.candidates):
            yield f"... and {len(account.candidates) - len(shown)} more (--all)"


def _candidate(candidate: Candidate, now: datetime) -> tuple[str, ...]:
    if candidate.refused:
        until = f"; until {at_and_in(candidate.until, now)}" if candidate.until else ""
        return candidate.cluster, "", "", f"✖ {candidate.refused}{until}"
    scores = ", ".join(
        f"{name} {score} x {weight}" for name, (weight, score) in (candidate.scores or {}).items()
    )
    verdict = "✔ selected" if candidate.selected else "• behind the cut"
    told = f"{verdict}  ({scores})" if scores else verdict
    return candidate.cluster, str(candidate.rank), str(candidate.total), told
