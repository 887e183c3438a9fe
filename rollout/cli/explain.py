"""Why does it not go on, and why was this cluster chosen? `rollout explain`."""

from collections.abc import Iterator
from datetime import datetime

from rollout.account.figures import SIGNS, STATE_SIGNS, counted
from rollout.account.sentences import (
    ends_line,
    rollout_facts,
)
from rollout.account.tree import WorkloadAccount
from rollout.account.waits import WaitAccount
from rollout.account.words import age, at_and_in, effective, many
from rollout.analysis.clusters import (
    ClusterShare,
    ConditionAccount,
    ExplainedCluster,
    explain_cluster,
)
from rollout.analysis.placements import Candidate, ExplainedPlacement, explain_placement
from rollout.cli.naming import only_workload, ref_named
from rollout.cli.store import missing, show, snapshotted
from rollout.cli.tables import text_table
from rollout.cli.text import facts, hanging
from rollout.model.kinds import (
    CLUSTER_MANAGEMENT_ADDON,
    MANAGED_CLUSTER,
    PLACEMENT,
    WORKLOADS,
    Kind,
    Ref,
)
from rollout.strategies.base import Phase


def explain(
    kind: Kind,
    name: str,
    workload: str,
    cluster: str,
    whole: bool,
    namespace: str,
    output: str,
) -> None:
    """Explain the present state of a rollout, an add-on, a cluster or a placement."""
    ref = ref_named(kind, name, namespace)
    with snapshotted() as (_, snapshot):
        if kind in WORKLOADS:
            rollout = snapshot.account(ref)
            if rollout is None:
                raise missing(ref)
            show(rollout, output, rollout_lines(rollout))
        elif kind is PLACEMENT:
            placement = explain_placement(snapshot, ref.key)
            if placement is None:
                raise missing(ref)
            if cluster and snapshot.fleet.clusters.cluster(cluster) is None:
                raise missing(Ref(MANAGED_CLUSTER, cluster))
            account = placement.of(cluster) if cluster else placement
            show(account, output, placement_lines(account, whole=whole or bool(cluster)))
        else:
            only = only_workload((workload,), namespace) if workload else None
            if only is not None and only not in snapshot.workloads():
                raise missing(only)
            member = explain_cluster(snapshot, ref.name, only)
            if member is None:
                raise missing(ref)
            show(member, output, cluster_lines(member))


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


def _waiting(wait: WaitAccount, now: datetime) -> list[tuple[str, str]]:
    """What is waited for, and until when at most, as (key, text)."""
    until = at_and_in(wait.until, now) if wait.until is not None else ""
    return [("Waiting for", wait.ends), ("Next timer", until)]


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
                age(account.now - each.wait.since) if each.wait.since else "",
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
        yield from facts(_share_facts(share, account.now), "  ")
        for condition in share.work.conditions if share.work else ():
            yield f"    {_condition(condition, account.now)}"
        for fault in share.work.faults if share.work else ():
            yield f"    ✖ {fault}"
    if not account.shares:
        yield ""
        yield "There is no workload."


def _share_facts(share: ClusterShare, now: datetime) -> list[tuple[str, str]]:
    told: list[tuple[str, str]] = []
    if share.placement:
        told.append(("Selected by", f"placement {share.placement}"))
    for placement, why in (share.refused or {}).items():
        told.append(("Not selected", f"placement {placement}: {why}"))
    if share.phase is not None:
        place = f", number {share.place} in line" if share.place else ""
        told.append(("Stage", share.stage + place))
        told.append(("Phase", f"{SIGNS[share.phase]} {share.phase.value}"))
    if share.wait is not None:
        told += [("Reason", _reason(share.wait, now)), *_waiting(share.wait, now)]
    elif share.phase is Phase.SKIPPED:
        told.append(("Reason", "Skipped"))
    if share.asked is not None:
        told.append(("Asked", f"{share.asked.what}{share.asked.asked}"))
    told.append(("Touched for", share.cause))
    label = "Add-on" if share.kind == CLUSTER_MANAGEMENT_ADDON.name else "Work"
    if share.work is None:
        return [*told, (label, "none")]
    return [*told, (label, f"{share.work.name} {_carries(share.work.carries, share.wanted)}")]


def _reason(wait: WaitAccount, now: datetime) -> str:
    held = f" for {age(now - wait.since)}" if wait.since is not None else ""
    return wait.reason + held


def _carries(revision: str, wanted: str) -> str:
    if revision == wanted:
        return "carries this revision"
    instead = f", not {wanted}" if wanted else ""
    return f"carries {revision}{instead}" if revision else "is not configured yet"


def _condition(condition: ConditionAccount, now: datetime) -> str:
    stale = "" if condition.current else " (of an older generation: does not count)"
    because = f" {condition.reason}: {condition.message}" if condition.message else ""
    held = f"for {age(now - condition.since)}" if condition.since is not None else ""
    return f"{condition.type}={condition.status} {held}{because}{stale}".replace("  ", " ")


def placement_lines(account: ExplainedPlacement, *, whole: bool = False) -> Iterator[str]:
    """Why a Placement selects these clusters."""
    wanted = "all" if account.wanted is None else str(account.wanted)
    yield from facts(
        [
            ("Name", account.key),
            ("Status", " ".join(part for part in (account.status, account.message) if part)),
            ("Sets", ", ".join(account.sets) or "none is bound to the namespace and asked for"),
            ("Candidates", str(account.competing)),
            ("Selected", f"{account.selected} of {wanted} wanted; {account.decided} decided now"),
            ("Next look", at_and_in(account.recheck_at, account.now) if account.recheck_at else ""),
        ]
    )
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
