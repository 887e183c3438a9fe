"""Changes a cluster's standing by what it carries and what its agent says of it.

All instants are the hub's: a health counts since the hub first saw it, unbroken.
"""

from collections.abc import Callable, Mapping
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from rollout.model.cluster_reasons import ClusterReason
from rollout.strategies.base import Health, Standing, Verdict
from rollout.strategies.ocm_step import Reported


class Observation(Struct, frozen=True, gc=False, kw_only=True):
    """What a cluster carries, as the hub shows it, and what its agent says of that.

    ``content`` is the hash of what is carried; ``revision`` and ``started_at`` are what the write
    that brought it said of itself ("" and None where someone else wrote it). ``reported`` is the
    same report in OCM's words, for profile ``ocm``. ``is_brought`` is False where the content can not
    be brought to the cluster at all, so that it fails without having been touched.
    """

    content: str
    health: Health
    reason: str = ""
    revision: str = ""
    started_at: datetime | None = None
    reported: Reported | None = None
    is_brought: bool = True
    token: str = ""
    """What the agent stamped success or failure with, see `Standing.token`."""


def unbrought(revision: str, reason: str) -> Observation:
    """Of a cluster that the revision cannot be brought to, for what it lacks."""
    return Observation(content=revision, health=Health.FAILED, reason=reason, is_brought=False)


def reported_of(
    observations: Mapping[str, Observation], wanted: Callable[[str], str]
) -> dict[str, Reported]:
    """What is said in OCM's words by the clusters that carry what they are to carry."""
    return {
        cluster: seen.reported
        for cluster, seen in observations.items()
        if seen.content == wanted(cluster) and seen.reported is not None
    }


def stand(
    cluster: str,
    standing: Standing | None,
    seen: Observation | None,
    revision: str,
    now: datetime,
    *,
    missed: bool = False,
) -> Standing | None:
    """The standing after an observation. None: never touched.

    ``missed``: news may have been missed since the last observation. Then success or failure counts as
    unbroken only where the agent stamps it as before.
    """
    if seen is None:
        return None if standing is None else _silent(standing, now)
    if standing is None or (seen.content != standing.revision and seen.content == revision):
        return rebuilt(cluster, seen, revision, now)
    if seen.content != standing.revision:
        return _silent(standing, now)
    if standing.verdict is Verdict.SOAKED:
        return standing
    reason = standing.reason if standing.verdict else seen.reason
    is_the_same = seen.health is standing.health and not (missed and is_broken(standing, seen))
    since = standing.since if is_the_same else now
    after = replace(standing, health=seen.health, since=since, reason=reason, token=seen.token)
    return standing if after == standing else after


def is_broken(standing: Standing, seen: Observation) -> bool:
    """Whether success, or failure, may have ended and come back between the two, as far as its stamp
    tells. Success without a stamp may have; of a failure without one nothing is known, so it goes on.
    """
    if standing.health is Health.FAILED:
        return bool(seen.token and standing.token) and seen.token != standing.token
    if standing.health is not Health.SUCCEEDED:
        return False
    return not seen.token or seen.token != standing.token


def _silent(standing: Standing, now: datetime) -> Standing:
    """What the cluster carries says nothing of what it is supposed to carry."""
    if standing.health is Health.SILENT or standing.verdict is Verdict.SOAKED:
        return standing
    if standing.reason == ClusterReason.WRITE_REJECTED and standing.health is Health.FAILED:
        return standing
    return silenced(standing, now)


def silenced(standing: Standing, now: datetime) -> Standing:
    """The standing of a cluster of which nothing is heard from now on. Of what it said before, only the
    reason of a final failure is kept.
    """
    reason = standing.reason if standing.verdict else ""
    return replace(standing, health=Health.SILENT, since=now, reason=reason)


def rebuilt(cluster: str, seen: Observation, revision: str, now: datetime) -> Standing:
    """From the work alone: soaks start again; what succeeded on an older revision is settled."""
    started = seen.started_at if seen.revision == seen.content else None
    touched = min(started, now) if started else now
    is_settled = seen.content != revision and seen.health is Health.SUCCEEDED
    if seen.health is Health.SUCCEEDED and not is_settled:
        touched = now  # when it succeeded nobody knows any more: that is no time-out
    standing = Standing(
        cluster=cluster,
        revision=seen.content,
        touched=touched,
        health=seen.health,
        since=now,
        verdict=None,
        reason=seen.reason,
        token=seen.token,
    )
    return replace(standing, verdict=Verdict.SOAKED) if is_settled else standing
