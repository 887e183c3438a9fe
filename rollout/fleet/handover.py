"""What becomes of what is known of the clusters when other terms are agreed?

The terms are those that this process agreed before, or those that an earlier one left in its record.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from rollout.fleet.observations import Observation, is_broken, rebuilt
from rollout.fleet.rollbacks import Soaked
from rollout.fleet.terms import Terms
from rollout.planning.record import Head
from rollout.strategies.base import Health, Rollout, Standing, Timing, Verdict
from rollout.strategies.judge import concluded, is_open


def carried_over(
    before: Terms | None,
    terms: Terms,
    rollout: Rollout,
    observations: Mapping[str, Observation],
    head: Head,
    soaked: Soaked,
    now: datetime,
) -> dict[str, Standing]:
    """Standings that are to be others before these terms are agreed.

    ``before`` are the last ones (None: those of an earlier process), ``head`` is what the record says
    of them. What had soaked where is noted in ``soaked``.
    """
    if before is None:
        broken = _broken(terms, rollout, observations, now)
        return broken | _unwritten(terms, rollout, observations, head, soaked, now)
    known = (standing for standing in rollout.standings.values() if is_open(standing))
    return ended(known, rollout.timing, now) if before.as_ocm is None else {}


def of_another_time(
    terms: Terms, standings: Mapping[str, Standing], head: Head
) -> dict[str, Standing]:
    """Where clusters have contents of their own, and the revision is one that was left before: those that
    were touched for it then were not touched for it now, and are not to be taken back with it.
    """
    if not terms.contents or not head.revision or head.revision == terms.revision:
        return {}
    return {
        cluster: replace(standing, made_for=head.revision)
        for cluster, standing in standings.items()
        if standing.of_revision == terms.revision
    }


def ended(standings: Iterable[Standing], timing: Timing, now: datetime) -> dict[str, Standing]:
    """What has come to its end on the terms so far stays so on others (row 11), also on an older
    revision, of which no step tells: else a longer deadline would put it in flight again.
    """
    return {s.cluster: end for s in standings if (end := concluded(s, timing, now)) is not s}


def _broken(
    terms: Terms, rollout: Rollout, observations: Mapping[str, Observation], now: datetime
) -> dict[str, Standing]:
    """Success that was still to soak, and is gone, or is stamped otherwise than before; failure that is
    stamped otherwise. Since when, nobody knows: it may not have been unbroken for long enough (rows 7, 8).
    Other content says nothing: an older revision with a cluster's own configurations over it cannot be told
    from others by a new process.
    """
    found: dict[str, Standing] = {}
    for cluster in (c for group in terms.selection.groups for c in group.clusters):
        known, seen = rollout.standings.get(cluster), observations.get(cluster)
        if known is None:
            continue
        if known.verdict not in (None, Verdict.FAILED):  # who came too late may soak all the same
            continue
        if seen is None or (seen.content == known.revision and seen.health is not known.health):
            if known.health is Health.SUCCEEDED:
                found[cluster] = replace(known, health=Health.SILENT, since=now)
        elif seen.content == known.revision and is_broken(known, seen):
            found[cluster] = replace(known, since=now, token=seen.token)
    return found


def _unwritten(
    terms: Terms,
    rollout: Rollout,
    observations: Mapping[str, Observation],
    head: Head,
    soaked: Soaked,
    now: datetime,
) -> dict[str, Standing]:
    """Touches that a process did not live to write down. On other terms they would be taken for drift,
    and what they were to take back would count as if it were still there.
    """
    found: dict[str, Standing] = {}
    for cluster, known in rollout.standings.items():
        seen = observations.get(cluster)
        last = terms.wanted(cluster) if terms.revision == head.revision else head.revision
        if seen is None or not seen.is_brought or not _is_later(seen, known, last, head):
            continue
        if known.verdict is not None:  # else nobody can tell what it had come to
            back = head.rollback
            is_undone = back is not None and back.revision == known.of_revision
            undone = known.revision if is_undone else ""
            soaked.note(known, rollout.timing, now, undone)
        found[cluster] = rebuilt(cluster, seen, last, now)
        if terms.contents and head.rollback is None:
            found[cluster] = replace(found[cluster], made_for=head.revision)
    return found


def _is_later(seen: Observation, known: Standing, last: str, head: Head) -> bool:
    """Whether a cluster carries what was brought to it after what the record says of it: what was last
    to be brought to it (``last``), or what says of itself that it was begun later.
    """
    if seen.content == known.revision:
        return False
    if seen.content == seen.revision and seen.started_at and seen.started_at > known.touched:
        return True
    return seen.content == last and not head.gave(known)
