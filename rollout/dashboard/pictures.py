"""The data of a rollout's two pictures: a byte for each cluster, and phases over time."""

import base64
import hashlib
from typing import Any

from starlette.responses import JSONResponse, Response

from rollout.account.course import CoursePoint, course
from rollout.account.roster import StageRoster, roster
from rollout.dashboard.answers import PageRequest
from rollout.dashboard.render import etag
from rollout.dashboard.view import HubReading
from rollout.errors import Gone
from rollout.model.kinds import Ref
from rollout.rollouts.workload import lives_of
from rollout.strategies.base import Phase


def pictures(asked: PageRequest) -> Response:
    """The map and the curves as JSON; names of clusters only where the browser has others.

    They are sent once for each layout: a fleet has many names and few changes of them.
    """
    ref = asked.workload()
    known = asked.request.query_params.get("layout", "")
    tag = etag(asked.view.number, asked.person.name, ref, known)
    headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
    if asked.request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    stages, points = asked.office.observer.ask(
        lambda reading: _drawn(reading, ref), ("pictures", ref)
    )
    return JSONResponse(drawn(stages, points, known), headers=headers)


def drawn(
    stages: tuple[StageRoster, ...], points: tuple[CoursePoint, ...], known: str
) -> dict[str, Any]:
    """Both pictures. ``known`` is the layout that the browser has the names of."""
    layout = _layout(stages)
    return {
        "layout": layout,
        "stages": [_stage(stage, named=layout != known) for stage in stages],
        "course": _course(points, sum(len(stage.phases) for stage in stages)),
    }


def _drawn(
    reading: HubReading, ref: Ref
) -> tuple[tuple[StageRoster, ...], tuple[CoursePoint, ...]]:
    workload = reading.snapshot.workload(ref)
    if workload is None:
        raise Gone(f"there is no {ref}")
    return roster(lives_of(workload)), course(lives_of(workload), reading.snapshot.now)


def _layout(stages: tuple[StageRoster, ...]) -> str:
    digest = hashlib.sha256()
    for stage in stages:
        digest.update("\n".join((stage.title, *stage.clusters, "")).encode())
    return digest.hexdigest()[:16]


def _stage(stage: StageRoster, *, named: bool) -> dict[str, Any]:
    found: dict[str, Any] = {
        "title": stage.title,
        "phases": base64.b64encode(stage.phases).decode(),
    }
    return {**found, "clusters": stage.clusters} if named else found


def _course(points: tuple[CoursePoint, ...], members: int) -> dict[str, Any]:
    shown = [phase for phase in Phase if any(phase in point.phases for point in points)]
    return {
        "members": members,
        "at": [point.at.timestamp() for point in points],
        "phases": [
            {
                "phase": phase.value.lower(),
                "counts": [point.phases.get(phase, 0) for point in points],
            }
            for phase in shown
        ],
    }
