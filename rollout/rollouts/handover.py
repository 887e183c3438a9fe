"""Carries what is known of clusters over when the terms of a rollout change.

The terms are those that this process agreed before, or those that an earlier one left in its record.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime

from msgspec.structs import replace

from rollout.rollouts.head import Head
from rollout.rollouts.line import Line, soaked_after
from rollout.rollouts.observations import Observation, is_broken, rebuilt, silenced
from rollout.rollouts.terms import Terms
from rollout.strategies.base import Health, Standing, Timing, Verdict
from rollout.strategies.judge import NEVER_MEASURED, concluded, is_open


def carried_over(
    before: Terms | None,
    terms: Terms,
    timing: Timing,
    lines: Mapping[str, Line],
    *,
    head: Head,
    now: datetime,
) -> list[Line]:
    """The lines that are to be others before these terms are agreed.

    ``before`` are the last ones (None: those of an earlier process), ``head`` is what the record says
    of them, ``timing`` the waits as agreed so far, with what is known by now of when nobody heard.
    """
    present = [line for line in lines.values() if line.present is not None]
    found: dict[str, Line] = {}
    if before is None:
        found = _broken(_selected(terms), lines, now)
        found |= _unwritten(terms, present, timing, head, now=now)
        found |= _lost_before(lines.values(), head)
    else:
        # Where the selection could not be read at first, this process has judged nothing of the others yet.
        judged = frozenset(_selected(before))
        if before.as_ocm is None:
            mine = [line.standing for line in present if line.cluster in judged]
            settled = ended([each for each in mine if each and is_open(each)], timing, now)
            found = {c: replace(lines[c], standing=standing) for c, standing in settled.items()}
        found |= _broken([c for c in _selected(terms) if c not in judged], lines, now)
    found |= _of_another_time(terms, present, found, head)
    for line in present:
        known = found.get(line.cluster, line)
        if (again := measured_anew(known, terms)) is not known:
            found[line.cluster] = again
    return list(found.values())


def _selected(terms: Terms) -> list[str]:
    return [c for group in terms.selection.groups for c in group.clusters]


def measured_anew(line: Line, terms: Terms) -> Line:
    """Where a content comes back that was left before it was measured, it has to be measured now."""
    known = line.standing
    if known is None or known.reason != NEVER_MEASURED or not terms.intents.cluster_analysis:
        return line
    if known.revision != terms.wanted(line.cluster):
        return line
    return replace(line, standing=replace(known, verdict=None, reason=""))


def _of_another_time(
    terms: Terms, present: Iterable[Line], found: Mapping[str, Line], head: Head
) -> dict[str, Line]:
    """Where clusters have contents of their own, and the revision is one that was left before: those that
    were touched for it then were not touched for it now, and are not to be taken back with it.
    """
    if not terms.contents or not head.revision or head.revision == terms.revision:
        return {}
    lines = (found.get(line.cluster, line) for line in present)
    return {
        line.cluster: replace(line, standing=replace(line.standing, made_for=head.revision))
        for line in lines
        if line.standing is not None and line.standing.of_revision == terms.revision
    }


def ended(standings: Iterable[Standing], timing: Timing, now: datetime) -> dict[str, Standing]:
    """What has come to its end on the terms so far stays so on others (row 11), also on an older
    revision, of which no step tells: else a longer deadline would put it in flight again.
    """
    return {s.cluster: end for s in standings if (end := concluded(s, timing, now)) is not s}


def _broken(clusters: Iterable[str], lines: Mapping[str, Line], now: datetime) -> dict[str, Line]:
    """Of these clusters, those whose success has not soaked, or whose failure is not final, and is gone or
    has another stamp than before. Nobody knows since when, so it may not have lasted long enough
    (rows 7, 8).

    The same holds for a success where the cluster carries other content. That may be what it had before, of an
    older revision with a configuration of its own, which a new process cannot tell: then it soaks no more.
    """
    found: dict[str, Line] = {}
    for cluster in clusters:
        line = lines.get(cluster)
        known, seen = (line.present, line.seen) if line is not None else (None, None)
        if line is None or known is None:
            continue
        if known.verdict not in (None, Verdict.FAILED):  # who came too late may soak all the same
            continue
        if seen is None or seen.content != known.revision:
            if known.health is Health.SUCCEEDED:
                found[cluster] = replace(line, standing=silenced(known, now))
        elif seen.health is not known.health:
            if known.health in (Health.SUCCEEDED, Health.FAILED):
                found[cluster] = replace(line, standing=silenced(known, now))
        elif is_broken(known, seen):
            begun = replace(known, since=now, token=seen.token)
            found[cluster] = replace(line, standing=begun)
    return found


def _unwritten(
    terms: Terms, present: Iterable[Line], timing: Timing, head: Head, now: datetime
) -> dict[str, Line]:
    """Touches that an earlier process made but did not record before it ended. On other terms they would
    be taken for drift, and what they were to roll back would count as still present.
    """
    found: dict[str, Line] = {}
    for line in present:
        cluster, known, seen = line.cluster, line.standing, line.seen
        last = terms.wanted(cluster) if terms.revision == head.revision else head.revision
        if known is None or seen is None or not seen.is_brought:
            continue
        if not _is_later(seen, known, last, head):
            continue
        soaked = line.soaked
        if known.verdict is not None:  # else nobody can tell what it had come to
            back = head.rollback
            is_undone = back is not None and back.revision == known.of_revision
            soaked = soaked_after(
                line, known, timing, now, undone=known.revision if is_undone else ""
            )
        standing = rebuilt(cluster, seen, last, now)
        if terms.contents and head.rollback is None:
            standing = replace(standing, made_for=head.revision)
        found[cluster] = replace(line, standing=standing, soaked=soaked)
    return found


def _lost_before(lines: Iterable[Line], head: Head) -> dict[str, Line]:
    """Clusters that were lost of an earlier revision. The process that began the present one had written the
    page with the head, and no other one before it ended: so the record still counts them as failures.
    """
    return {
        line.cluster: Line(cluster=line.cluster, seen=line.seen)
        for line in lines
        if line.lost_from
        and line.standing is not None
        # Without its head a record does not tell which revision it is of.
        and head.revision not in ("", line.standing.of_revision)
    }


def _is_later(seen: Observation, known: Standing, last: str, head: Head) -> bool:
    """Whether a cluster carries what was brought to it after what the record says of it: what was last
    to be brought to it (``last``), or what says of itself that it was begun later.
    """
    if seen.content == known.revision:
        return False
    if seen.content == seen.revision and seen.started_at and seen.started_at > known.touched:
        return True
    return seen.content == last and not head.gave(known)
