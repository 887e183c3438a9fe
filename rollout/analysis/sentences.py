"""Puts clusters, placements and calendars into sentences, the same in every view."""

import json
from datetime import datetime

from rollout.account.figures import SIGNS
from rollout.account.waits import WaitAccount
from rollout.account.words import age, at_and_in, many
from rollout.analysis.calendars import ZoneStanding
from rollout.analysis.clusters import ClusterShare, ConditionAccount
from rollout.analysis.placements import ExplainedPlacement
from rollout.calendars.calendar import change_text, closing_text
from rollout.calendars.zones import find_zone
from rollout.model.kinds import CLUSTER_MANAGEMENT_ADDON
from rollout.strategies.base import Phase
from rollout.values.rendering import ValueShown


def placement_facts(account: ExplainedPlacement) -> list[tuple[str, str]]:
    """How a Placement stands, as pairs of a key and a text."""
    wanted = "all" if account.wanted is None else str(account.wanted)
    return [
        ("Name", account.key),
        ("Status", " ".join(part for part in (account.status, account.message) if part)),
        ("Sets", ", ".join(account.sets) or "none is bound to the namespace and asked for"),
        ("Candidates", str(account.competing)),
        ("Selected", f"{account.selected} of {wanted} wanted; {account.decided} decided now"),
        ("Next look", at_and_in(account.recheck_at, account.now) if account.recheck_at else ""),
    ]


def share_facts(share: ClusterShare, now: datetime) -> list[tuple[str, str]]:
    """What a cluster has of a workload, or why it has nothing of it."""
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
    told.append(("Last write", share.cause))
    label = "Add-on" if share.kind == CLUSTER_MANAGEMENT_ADDON.name else "Work"
    if share.work is None:
        return [*told, (label, "none")]
    if share.work.leaving:
        then = "; it is made again once it is gone" if share.placement else ""
        return [*told, (label, f"{share.work.name} is being deleted{then}")]
    return [*told, (label, f"{share.work.name} {_carries(share.work.carries, share.wanted)}")]


def _reason(wait: WaitAccount, now: datetime) -> str:
    lasts = wait.lasts(now)
    return wait.reason + (f" for {age(lasts)}" if lasts is not None else "")


def _carries(revision: str, wanted: str) -> str:
    if revision == wanted:
        return "carries this revision"
    instead = f", not {wanted}" if wanted else ""
    return f"carries {revision}{instead}" if revision else "is not configured yet"


def value_line(value: ValueShown) -> str:
    """A value of one cluster, and the rule that gives it."""
    return f"{value.target} {value.path} = {json.dumps(value.value)}  (ClusterValues {value.rule})"


def condition_line(condition: ConditionAccount, now: datetime) -> str:
    """What an agent says, since when, and whether it counts."""
    stale = "" if condition.current else " (of an older generation: does not count)"
    because = f" {condition.reason}: {condition.message}" if condition.message else ""
    held = f"for {age(now - condition.since)}" if condition.since is not None else ""
    return f"{condition.type}={condition.status} {held}{because}{stale}".replace("  ", " ")


def _waiting(wait: WaitAccount, now: datetime) -> list[tuple[str, str]]:
    """What is waited for, and until when at most, as (key, text)."""
    until = at_and_in(wait.until, now) if wait.until is not None else ""
    return [("Waiting for", wait.ends), ("Next timer", until)]


def standing_line(standing: ZoneStanding) -> str:
    """How a calendar stands in one zone, until when, for how many clusters."""
    members = f"   {many(len(standing.clusters), 'cluster')}" if standing.clusters else ""
    zone, opening = find_zone(standing.zone), standing.opening
    if standing.unread:
        is_open = opening is not None and opening.is_open
        said = f"{'open' if is_open else 'closed'}, Misconfigured: {standing.unread}"
        return f"{standing.zone or 'all zones'}   {said}{members}"
    if zone is None or opening is None:
        named = ", ".join(standing.clusters[:3]) + (" ..." if len(standing.clusters) > 3 else "")
        said = f"{standing.zone!r} is not a time zone" if standing.zone else "no time zone is known"
        return f"UnknownTimeZone: {said}; closed: {named}"
    if opening.is_open:
        return f"{standing.zone}   open; {change_text(opening, zone)}{members}"
    return (
        f"{standing.zone}   closed, {closing_text(opening)}; {change_text(opening, zone)}{members}"
    )
