"""The pages of clusters and of placements."""

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.responses import Response

from rollout.account.waits import cluster_gate
from rollout.analysis.calendars import ZoneStanding, zone_standing
from rollout.analysis.clusters import ClusterShare, ExplainedCluster, explain_cluster
from rollout.analysis.placements import Candidate, ExplainedPlacement, explain_placement
from rollout.analysis.sentences import (
    condition_line,
    placement_facts,
    share_facts,
    standing_line,
    value_line,
)
from rollout.analysis.snapshot import stored
from rollout.dashboard.actions import approval_at
from rollout.dashboard.answers import PageRequest
from rollout.dashboard.render import path_of
from rollout.dashboard.tables import PagedColumn, PagedTable
from rollout.dashboard.view import HubReading, WorkloadRow
from rollout.errors import Gone, Invalid
from rollout.fleet.closings import KnownCalendar
from rollout.hub.selecting import parse_labels
from rollout.model.cluster import Cluster, Score
from rollout.model.kinds import (
    KINDS,
    MANAGED_CLUSTER,
    PLACEMENT,
    SCORE,
    Kind,
    Ref,
    key_of,
)

MOST_NAMED = 50
MOST_DECIDED = 20_000
"""Where more (workload, cluster) pairs would be decided, it is said of one workload alone why it does not
select a cluster: everybody else waits meanwhile."""


# -- clusters ----------------------------------------------------------------------------------


CLUSTERS = PagedTable[Cluster](
    PagedColumn(key="cluster", title="Cluster", by=lambda each: each.name),
    PagedColumn(
        key="available",
        title="Available",
        by=lambda each: (True, None, False).index(each.available),
    ),
    PagedColumn(key="labels", title="Labels"),
    PagedColumn(key="taints", title="Taints", by=lambda each: len(each.taints), falls=True),
    words=lambda each: (each.name,),
)


def clusters(asked: PageRequest) -> Response:
    """Every ManagedCluster."""
    asked.require("list", MANAGED_CLUSTER)
    labels = asked.request.query_params.get("labels", "").strip()
    fault = ""
    try:
        selector = parse_labels(labels)
    except Invalid as problem:
        selector, fault = parse_labels(""), str(problem)
    known = asked.office.observer.ask(clusters_of, "clusters")
    found = [each for each in known if selector.matches(each.labels)]
    table = CLUSTERS.page(found, asked.request.query_params)
    return asked.page("clusters.html", clusters=table, labels=labels, fault=fault)


def clusters_of(reading: HubReading) -> list[Cluster]:
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
    calendars: Sequence[tuple[KnownCalendar, ZoneStanding]]


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
            (calendar.shown, standing)
            for calendar, standing in found.calendars
            if may_see_calendar(asked, calendar)
        ],
        approval_of=lambda share: _approval_of(asked, name, share),
        share_facts=share_facts,
        share_path=_share_path,
        share_name=_share_name,
        most_named=MOST_NAMED,
        condition_line=condition_line,
        value_line=value_line,
        standing_line=standing_line,
    )


def _share_path(share: ClusterShare) -> str:
    return path_of(_share_ref(share))


def _share_ref(share: ClusterShare) -> Ref:
    return Ref(KINDS[share.kind], share.workload)


def _approval_of(asked: PageRequest, cluster: str, share: ClusterShare) -> str:
    """Where this person approves what is measured of the cluster; "" where there is nothing to approve."""
    ref, gate = _share_ref(share), cluster_gate(cluster, share.phase, share.wait)
    row = asked.view.by_ref.get(ref)
    return approval_at(asked, ref, row.account, gate) if row is not None else ""


def _share_name(share: ClusterShare) -> str:
    return f"{KINDS[share.kind].typed}/{share.workload}"


def _cluster(reading: HubReading, name: str, about: str) -> ClusterPage:
    snapshot = reading.snapshot
    decisions = len(snapshot.workloads()) * len(reading.objects.list(MANAGED_CLUSTER).items)
    explained = explain_cluster(
        snapshot,
        name,
        refusals=lambda ref: decisions <= MOST_DECIDED or about == f"{ref.kind.typed}/{ref.key}",
    )
    if explained is None:
        raise Gone(f"there is no managedcluster {name}")
    view = reading.snapshot.fleet.clusters
    known = view.cluster(name)
    standings = [
        (calendar, zone_standing(calendar, zone, [name], reading.snapshot.now))
        for calendar in calendars_of(reading)
        if (zone := calendar.zones.get(name)) is not None
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


PLACEMENTS = PagedTable[PlacementRow](
    PagedColumn(key="placement", title="Placement", by=lambda row: f"{row.namespace}/{row.name}"),
    PagedColumn(key="clusters", title="Clusters", by=lambda row: row.decided, falls=True),
    PagedColumn(key="groups", title="Groups", by=lambda row: len(row.groups), falls=True),
    PagedColumn(key="users", title="Used by", by=lambda row: len(row.used_by), falls=True),
    words=lambda row: (f"{row.namespace}/{row.name}",),
)


def placements(asked: PageRequest) -> Response:
    """Every Placement in namespaces that this person may look into."""
    users = _users(asked)
    rows = [
        PlacementRow(
            namespace=namespace,
            name=name,
            decided=sum(count for _, count in groups),
            groups=groups,
            used_by=users.get(f"{namespace}/{name}", ()),
        )
        for namespace, name, groups in asked.office.observer.ask(_placements, "placements")
        if asked.may("list", PLACEMENT, namespace)
    ]
    table = PLACEMENTS.page(rows, asked.request.query_params)
    return asked.page("placements.html", placements=table)


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
    scored = dict.fromkeys(name for each in found.candidates for name in each.scores or ())
    table = _candidates_by(tuple(scored)).page(found.candidates, asked.request.query_params)
    return asked.page(
        "placement.html", found=found, groups=groups, candidates=table, prioritizers=list(scored),
        used_by=_users(asked).get(key, ()), placement_facts=placement_facts,
    )  # fmt: skip


def _candidates_by(prioritizers: Sequence[str]) -> PagedTable[Candidate]:
    """The table of candidates, with a column for each prioritizer."""

    def scored(name: str) -> PagedColumn[Candidate]:
        return PagedColumn(
            key=f"score-{name}",
            title=name,
            by=lambda each: _score(each, name),
            falls=True,
        )

    return PagedTable(
        PagedColumn(key="cluster", title="Cluster", by=lambda each: each.cluster),
        PagedColumn(
            key="verdict", title="Verdict", by=lambda each: (not each.selected, each.refused)
        ),
        PagedColumn(key="rank", title="Rank", by=lambda each: each.rank or None),
        PagedColumn(
            key="total",
            title="Total",
            by=lambda each: each.total if each.scores else None,
            falls=True,
        ),
        *map(scored, prioritizers),
        words=lambda each: (each.cluster, "selected" if each.selected else each.refused),
    )


def _score(candidate: Candidate, prioritizer: str) -> int | None:
    found = (candidate.scores or {}).get(prioritizer)
    return found[1] if found is not None else None


def _placement(reading: HubReading, key: str) -> tuple[ExplainedPlacement, list[tuple[str, int]]]:
    found = explain_placement(reading.snapshot, key)
    if found is None:
        raise Gone(f"there is no placement {key}")
    return found, _groups(reading, key)


def may_see_calendar(asked: PageRequest, calendar: KnownCalendar) -> bool:
    return asked.may("list", calendar.ref.kind, calendar.ref.namespace)


def calendars_of(reading: HubReading) -> list[KnownCalendar]:
    known = reading.snapshot.fleet.calendars.known
    return sorted(known, key=lambda each: (each.ref.namespace, each.ref.name))
