"""How does an explanation read? Lines of text; nothing is looked up here."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from rollout.analysis.clusters import ClusterAccount, ConditionAccount, ShareAccount
from rollout.analysis.placements import Candidate, PlacementAccount
from rollout.analysis.rollouts import RolloutAccount, StageAccount
from rollout.analysis.waits import Wait
from rollout.analysis.wishes import GateAccount, RollbackAccount
from rollout.cli.ages import age
from rollout.cli.figures import HALTED, SIGNS
from rollout.cli.tables import Table, lines, widths
from rollout.cli.wording import (
    at_and_in,
    counted,
    effective,
    facts,
    hanging,
    many,
    since,
    waiting,
)
from rollout.model.kinds import CLUSTER_MANAGEMENT_ADDON
from rollout.strategies.base import Phase

MOST_CANDIDATES = 20
_USUAL = frozenset({"Due", "InFlight", "SlotsFull", "WaitingForStage", "FailureTolerance"})
"""What a stage waits for in the usual course of things."""


def rollout_lines(account: RolloutAccount) -> Iterator[str]:
    """Why a rollout stands where it stands."""
    revision = account.revision
    yield from facts(
        [
            ("Name", account.key),
            ("Revision", f"{account.number} ({revision})" if account.number else revision),
            ("Clusters", str(account.total)),
            *waiting(account.wait, account.now),
            ("Message", account.message),
            *(("Asked", text) for text in map(str, account.wishes) if text not in account.message),
            *(("Gate", _gate(gate, account)) for gate in account.gates),
            *(("Rollback", _rollback(each, account.now)) for each in account.rollbacks),
        ]
    )
    if account.stages:
        yield ""
        yield from stage_lines(account.stages, account.now, account.wait)
    if account.troubled:
        yield ""
        yield from _troubled(account)


def _gate(gate: GateAccount, account: RolloutAccount) -> str:
    """``before:rest, at the rest: shut``."""
    several = len({each.placement for each in account.gates}) > 1
    where = f"{gate.placement} {gate.stage}" if several else gate.stage
    by = f" by {gate.by} (as they say)" if gate.by else ""
    state = {
        "open": f"open, approved{by}" if by else "open",
        "approved": f"approved{by}; it opens when the rollout gets there",
        "passed": "the rollout had passed it before it was asked for",
        "shut": "shut, nobody has approved it",
    }[gate.state]
    return f"{gate.gate} ({where}): {state}"


def _rollback(back: RollbackAccount, now: datetime) -> str:
    began = f"began {age(now - back.began)} ago"
    if back.total is None:
        return f"{began}; nothing moves now"
    counts = [
        f"{back.back} of {back.total} back",
        f"{back.in_flight} on their way (at most {back.limit} at once)",
        f"{back.waiting} to go",
        f"{back.failed} failed on the way",
        f"{len(back.stuck)} have nothing to go back to",
    ]
    shown = [counts[0], *(each for each in counts[1:] if not each.startswith("0 "))]
    return f"{began}: {', '.join(shown)}"


def _troubled(account: RolloutAccount) -> Iterator[str]:
    """The clusters that failed; what would end that is said once where it is the same for all."""
    ends = {_ends(t.wait, account.now) for t in account.troubled}
    rows = [
        (
            t.cluster,
            f"{SIGNS[t.phase]} {t.phase.value}",
            t.wait.reason,
            age(account.now - t.wait.since) if t.wait.since else "",
            *([_ends(t.wait, account.now)] if len(ends) > 1 else []),
        )
        for t in account.troubled
    ]
    header = ("CLUSTER", "PHASE", "REASON", "SINCE", *(["ENDS WHEN"] if len(ends) > 1 else []))
    yield from _table(header, rows)
    more = account.failing - len(account.troubled)
    if more > 0:
        yield f"... and {more} more"
    if len(ends) == 1:
        yield from hanging("  until ", *ends)


def stage_lines(stages: tuple[StageAccount, ...], now: datetime, whole: Wait) -> list[str]:
    """Every stage with what it waits for; what the ``whole`` waits for was said already."""
    several = len({stage.placement for stage in stages}) > 1
    rows = [
        (
            f"{stage.placement} {stage.title}" if several else stage.title,
            _standing(stage),
            str(stage.members),
            effective(stage.asked_limit, stage.members, stage.limit),
            "any" if stage.budget is None else str(stage.budget),
            counted(stage.phases),
        )
        for stage in stages
    ]
    found = _table(("STAGE", "STATUS", "CLUSTERS", "AT ONCE", "MAY FAIL", "NOW"), rows)
    for stage in stages:
        if stage.wait is not None and not stage.passed and stage.wait.reason != whole.reason:
            title = f"{stage.placement} {stage.title}" if several else stage.title
            found += ["", f"{title} waits: {stage.wait.reason}"]
            found += hanging("  until ", _ends(stage.wait, now))
    return found


def _standing(stage: StageAccount) -> str:
    if stage.passed:
        return "✔ passed"
    if stage.halted or (stage.wait is not None and stage.wait.reason == HALTED):
        return "✖ halted"
    if stage.wait is not None and stage.wait.reason not in _USUAL:
        return "॥ held"
    return "• waiting" if stage.began is None else "◌ open"


def _ends(wait: Wait, now: datetime) -> str:
    at = f"; {at_and_in(wait.until, now)}" if wait.until is not None else ""
    return wait.ends + at


def cluster_lines(account: ClusterAccount) -> Iterator[str]:
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


def _share_facts(share: ShareAccount, now: datetime) -> list[tuple[str, str]]:
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
        told += waiting(share.wait, now)
    elif share.phase is Phase.SKIPPED:
        told.append(("Reason", "Skipped"))
    if share.wish is not None:
        told.append(("Asked", f"{share.wish.what}{share.wish.asked}"))
    told.append(("Touched for", share.cause))
    label = "Add-on" if share.kind == CLUSTER_MANAGEMENT_ADDON.name else "Work"
    if share.work is None:
        return [*told, (label, "none")]
    return [*told, (label, f"{share.work.name} {_carries(share.work.carries, share.wanted)}")]


def _carries(revision: str, wanted: str) -> str:
    if revision == wanted:
        return "carries this revision"
    instead = f", not {wanted}" if wanted else ""
    return f"carries {revision}{instead}" if revision else "is not configured yet"


def _condition(condition: ConditionAccount, now: datetime) -> str:
    stale = "" if condition.current else " (of an older generation: does not count)"
    because = f" {condition.reason}: {condition.message}" if condition.message else ""
    held = since(condition.since, now)
    return f"{condition.type}={condition.status} {held}{because}{stale}".replace("  ", " ")


def placement_lines(account: PlacementAccount, *, whole: bool = False) -> Iterator[str]:
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
        yield from _table(
            ("CLUSTER", "RANK", "TOTAL", "VERDICT"), [_candidate(c, account.now) for c in shown]
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


def _table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    shown = Table(header, tuple(rows))
    return lines(shown, widths(shown))
