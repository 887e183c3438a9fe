"""The pages of clusters, of placements, and of calendars, freezes and approvals."""

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.responses import Response

from rollout.account.states import Code
from rollout.analysis.calendars import Day, ZoneStanding, concerns, week, zone_standings
from rollout.analysis.clusters import ClusterShare, ExplainedCluster, explain_cluster
from rollout.analysis.placements import ExplainedPlacement, explain_placement
from rollout.analysis.sentences import (
    condition_line,
    placement_facts,
    share_facts,
    standing_line,
    value_line,
)
from rollout.analysis.snapshot import stored
from rollout.api.calendar import decode_calendar
from rollout.api.own import decode_approval, decode_freeze
from rollout.calendars.calendar import Calendar
from rollout.calendars.zones import find_zone
from rollout.dashboard.actions import address
from rollout.dashboard.answers import PageRequest
from rollout.dashboard.render import path_of
from rollout.dashboard.verbs import OF_HUB, VERBS
from rollout.dashboard.view import HubReading, WorkloadRow
from rollout.errors import Gone, Invalid
from rollout.hub.selecting import parse_labels
from rollout.model.approvals import Approval, Freeze
from rollout.model.cluster import Cluster, Score
from rollout.model.kinds import (
    APPROVAL,
    CALENDAR,
    CLUSTER_CALENDAR,
    FREEZE,
    KINDS,
    MANAGED_CLUSTER,
    PLACEMENT,
    SCORE,
    Kind,
    Ref,
    key_of,
)

PAGE = 50
MOST_ZONES_DRAWN = 3
MOST_DECIDED = 20_000
"""Where more (workload, cluster) pairs would be decided, it is said of one workload alone why it does not
select a cluster: everybody else waits meanwhile."""


def page_of(asked: PageRequest, total: int) -> tuple[int, int]:
    """Which page is asked for, and how many there are."""
    text = asked.request.query_params.get("page", "1")
    pages = max(-(-total // PAGE), 1)
    return min(max(int(text), 1) if text.isdecimal() and len(text) < 7 else 1, pages), pages


# -- clusters ----------------------------------------------------------------------------------


def clusters(asked: PageRequest) -> Response:
    """Every ManagedCluster."""
    asked.require("list", MANAGED_CLUSTER)
    text = asked.request.query_params.get("q", "").strip()
    labels = asked.request.query_params.get("labels", "").strip()
    fault = ""
    try:
        selector = parse_labels(labels)
    except Invalid as problem:
        selector, fault = parse_labels(""), str(problem)
    known = asked.office.observer.ask(_clusters, "clusters")
    found = [c for c in known if text in c.name and selector.matches(c.labels)]
    page, pages = page_of(asked, len(found))
    return asked.page(
        "clusters.html", clusters=found[(page - 1) * PAGE : page * PAGE], total=len(found),
        page=page, pages=pages, text=text, labels=labels, fault=fault,
    )  # fmt: skip


def _clusters(reading: HubReading) -> list[Cluster]:
    """All clusters, as the snapshot has them decoded already."""
    known = reading.snapshot.fleet.clusters
    names = (obj["metadata"]["name"] for obj in reading.objects.list(MANAGED_CLUSTER).items)
    return [found for name in names if (found := known.cluster(name)) is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPage:
    """One cluster and what concerns it. ``known`` None: the hub has no such ManagedCluster."""

    explained: ExplainedCluster
    known: Cluster | None
    sets: Sequence[str]
    scores: Sequence[Score]
    calendars: Sequence[tuple[Calendar, ZoneStanding]]


def cluster(asked: PageRequest) -> Response:
    """One cluster in every workload that this person may see."""
    asked.require("get", MANAGED_CLUSTER)
    name = str(asked.request.path_params["name"])
    about = asked.request.query_params.get("why", "")
    found = asked.office.observer.ask(
        lambda reading: _cluster(reading, name, about), ("cluster", name, about)
    )
    visible = {row.account.key for row in asked.rows if asked.may_see(row)}
    shares = [share for share in found.explained.shares if share.workload in visible]
    shares.sort(key=lambda share: share.phase is None)
    return asked.page(
        "cluster.html",
        cluster={
            "name": found.explained.name,
            "available": found.explained.available,
            "shares": shares,
            "now": found.explained.now,
        },
        known=found.known,
        sets=found.sets,
        scores=found.scores,
        calendars=[
            (calendar, standing)
            for calendar, standing in found.calendars
            if asked.may(
                "list", CALENDAR if calendar.namespace else CLUSTER_CALENDAR, calendar.namespace
            )
        ],
        share_facts=share_facts,
        share_path=_share_path,
        share_name=_share_name,
        most_named=PAGE,
        condition_line=condition_line,
        value_line=value_line,
        standing_line=standing_line,
    )


def _share_path(share: ClusterShare) -> str:
    return path_of(Ref(KINDS[share.kind], share.workload))


def _share_name(share: ClusterShare) -> str:
    return f"{KINDS[share.kind].short[0]}/{share.workload}"


def _cluster(reading: HubReading, name: str, about: str) -> ClusterPage:
    snapshot = reading.snapshot
    decisions = len(snapshot.workloads()) * len(reading.objects.list(MANAGED_CLUSTER).items)
    explained = explain_cluster(
        snapshot,
        name,
        refusals=lambda ref: decisions <= MOST_DECIDED or about == f"{ref.kind.short[0]}/{ref.key}",
    )
    if explained is None:
        raise Gone(f"there is no managedcluster {name}")
    view = reading.snapshot.fleet.clusters
    known = view.cluster(name)
    standings = [
        (calendar, standing)
        for calendar in _calendars(reading)
        if known is not None and not calendar.problems and concerns(calendar, known)
        for standing in zone_standings(calendar, [known], reading.snapshot.now)
        if name in standing.clusters
    ]
    scores = {
        obj["metadata"]["name"]
        for obj in stored(reading.objects, SCORE)
        if obj["metadata"].get("namespace") == name
    }
    return ClusterPage(
        explained=explained,
        known=known,
        sets=sorted(view.sets_of(known)) if known is not None else (),
        scores=[found for each in sorted(scores) if (found := view.scores(each).get(name))],
        calendars=standings,
    )


# -- placements --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementRow:
    """One Placement: how many clusters its decisions name, by group, and who uses it."""

    namespace: str
    name: str
    decided: int
    groups: Sequence[tuple[str, int]]
    used_by: Sequence[WorkloadRow]


def placements(asked: PageRequest) -> Response:
    """Every Placement in namespaces that this person may look into."""
    text = asked.request.query_params.get("q", "").strip()
    found = [
        each
        for each in asked.office.observer.ask(_placements, "placements")
        if text in f"{each[0]}/{each[1]}" and asked.may("list", PLACEMENT, each[0])
    ]
    page, pages = page_of(asked, len(found))
    users = _users(asked)
    rows = [
        PlacementRow(
            namespace=namespace,
            name=name,
            decided=sum(count for _, count in groups),
            groups=groups,
            used_by=users.get(f"{namespace}/{name}", ()),
        )
        for namespace, name, groups in found[(page - 1) * PAGE : page * PAGE]
    ]
    return asked.page(
        "placements.html", placements=rows, total=len(found), page=page, pages=pages, text=text
    )


def _placements(reading: HubReading) -> list[tuple[str, str, list[tuple[str, int]]]]:
    return [
        (meta["namespace"], meta["name"], _groups(reading, f"{meta['namespace']}/{meta['name']}"))
        for obj in reading.objects.list(PLACEMENT).items
        for meta in [obj["metadata"]]
    ]


def _groups(reading: HubReading, key: str) -> list[tuple[str, int]]:
    """The decision groups of a Placement, by index, with how many clusters each has."""
    found: dict[tuple[int, str], int] = {}
    for decision in reading.snapshot.fleet.clusters.decisions(key):
        place = (decision.group_index or 0, decision.group_name)
        found[place] = found.get(place, 0) + len(decision.clusters)
    return [
        (f"{name} #{index}" if name else f"#{index}", n)
        for (index, name), n in sorted(found.items())
    ]


def _users(asked: PageRequest) -> dict[str, list[WorkloadRow]]:
    """The workloads that this person may see, by the key of each Placement that they use."""
    visible: dict[tuple[Kind, str], bool] = {}
    found: dict[str, list[WorkloadRow]] = {}
    for row in asked.rows:
        ref = row.account.ref
        if (ref.kind, ref.namespace) not in visible:
            visible[ref.kind, ref.namespace] = asked.may_see(row)
        if visible[ref.kind, ref.namespace]:
            names = {each.placement for each in row.account.placements}
            for name in names:
                key = name if "/" in name else key_of(row.account.namespace, name)
                found.setdefault(key, []).append(row)
    return found


def placement(asked: PageRequest) -> Response:
    """One Placement: who is selected, with which scores, and who is filtered out by what."""
    namespace, name = (str(asked.request.path_params[key]) for key in ("namespace", "name"))
    asked.require("get", PLACEMENT, namespace)
    key = f"{namespace}/{name}"
    found, groups = asked.office.observer.ask(
        lambda reading: _placement(reading, key), ("placement", key)
    )
    page, pages = page_of(asked, len(found.candidates))
    shown = found.candidates[(page - 1) * PAGE : page * PAGE]
    names = dict.fromkeys(name for each in shown for name in each.scores or ())
    return asked.page(
        "placement.html", found=found, groups=groups, candidates=shown, page=page, pages=pages,
        prioritizers=list(names), used_by=_users(asked).get(key, ()), placement_facts=placement_facts,
    )  # fmt: skip


def _placement(reading: HubReading, key: str) -> tuple[ExplainedPlacement, list[tuple[str, int]]]:
    found = explain_placement(reading.snapshot, key)
    if found is None:
        raise Gone(f"there is no placement {key}")
    return found, _groups(reading, key)


# -- calendars, freezes, approvals -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ZoneWeek:
    """One zone of a calendar, and its week where it is drawn."""

    standing: ZoneStanding
    days: Sequence[Day]


@dataclass(frozen=True, slots=True)
class CalendarWeek:
    """One calendar in its zones."""

    calendar: Calendar
    zones: Sequence[ZoneWeek]


def consents(asked: PageRequest) -> Response:
    """Who keeps what back, and who has to act."""
    weeks, freezes, approvals = asked.office.observer.ask(_consents, "consents")
    waiting = [row for row in asked.rows if row.account.code is Code.PERSON and asked.may_see(row)]
    mine = [each for each in approvals if asked.may("list", APPROVAL, each.namespace)]
    page, pages = page_of(asked, len(mine))
    verbs = [
        verb
        for name in OF_HUB
        if asked.may((verb := VERBS[name]).writes[0], verb.kind(None))
        and (name == "freeze" or asked.view.frozen)
    ]
    return asked.page(
        "consents.html",
        calendars=[
            each
            for each in weeks
            if asked.may(
                "list",
                CALENDAR if each.calendar.namespace else CLUSTER_CALENDAR,
                each.calendar.namespace,
            )
        ],
        freezes=freezes if asked.may("list", FREEZE) else [],
        approvals=mine[(page - 1) * PAGE : page * PAGE],
        page=page,
        pages=pages,
        waiting=waiting[:PAGE],
        all_waiting=len(waiting),
        verbs=verbs,
        address=address,
        standing_line=standing_line,
    )


def _consents(reading: HubReading) -> tuple[list[CalendarWeek], list[Freeze], list[Approval]]:
    known = _clusters(reading)
    weeks = [_week(calendar, known, reading) for calendar in _calendars(reading)]
    freezes = [decode_freeze(obj) for obj in stored(reading.objects, FREEZE)]
    approvals = [decode_approval(obj) for obj in stored(reading.objects, APPROVAL)]
    freezes.sort(key=lambda each: (not each.stands(reading.snapshot.now), each.name))
    return weeks, freezes, approvals


def _calendars(reading: HubReading) -> list[Calendar]:
    objects = (*stored(reading.objects, CALENDAR), *stored(reading.objects, CLUSTER_CALENDAR))
    return sorted(map(decode_calendar, objects), key=lambda each: (each.namespace, each.name))


def _week(calendar: Calendar, known: Sequence[Cluster], reading: HubReading) -> CalendarWeek:
    now = reading.snapshot.now
    standings = zone_standings(calendar, known, now) if not calendar.problems else []
    zones = []
    for i, standing in enumerate(standings):
        zone = find_zone(standing.zone)
        drawn = zone is not None and i < MOST_ZONES_DRAWN
        zones.append(ZoneWeek(standing, list(week(calendar, zone, now)) if drawn and zone else []))
    return CalendarWeek(calendar, zones)
