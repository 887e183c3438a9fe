"""What is known of one cluster in one rollout, as one value with one transition.

A line is all that is remembered of a cluster: how it stands, what it carries, what the server refused, what
it can go back to, where it was lost. `next_line` is its only transition: pure, total, and for one cluster.
All instants are the hub's. Source: semantics rows 5-12, 17-20, 27.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from rollout.model.cluster_reasons import ClusterReason
from rollout.rollouts.head import Rollback
from rollout.rollouts.observations import Observation, is_broken, rebuilt, silenced, stand
from rollout.rollouts.rejections import RefusedWrite, refusal
from rollout.strategies.base import Health, Rollout, Standing, Timing, Verdict
from rollout.strategies.judge import NEVER_MEASURED, concluded

NOT_BROUGHT = "NotBrought"
"""The cause of a standing that no touch led to: the cluster can be brought nothing, for what it lacks."""
SOAKED_KEPT = 5
"""Revisions remembered for a cluster. The templates themselves are kept as RolloutRevisions."""


class Line(Struct, frozen=True, gc=False, kw_only=True):
    """Everything that is known of one cluster in one rollout.

    ``standing``: how it stands since it was touched last; None where it never was. ``cause``: why it was
    touched, in one word. ``seen``: what it carries, as the hub shows it. ``refusal``: the server refused
    that write, and nothing has landed since. ``soaked``: the contents that soaked there before the one it is on, the newest first.
    ``lost_from``: the key of the stage that it left while it was in flight and out of reach ("": it is not
    lost); the standing is then the one it left with. ``is_lent``: another placement selects it now, and what
    was lost is not held against this one meanwhile. ``before``: standing and cause from before it turned out
    that nothing can be brought to it (None: nobody knows; the standing in it is None where it was never touched).
    """

    cluster: str
    standing: Standing | None = None
    cause: str = ""
    lost_from: str = ""
    soaked: tuple[str, ...] = ()
    seen: Observation | None = None
    refusal: RefusedWrite | None = None
    is_lent: bool = False
    before: tuple[Standing | None, str] | None = None

    @property
    def present(self) -> Standing | None:
        """How it stands, where it is a cluster of this rollout; what was lost is none."""
        return None if self.lost_from else self.standing

    @property
    def supposed(self) -> str:
        """The content that it is supposed to carry, "" where it was never touched."""
        return "" if self.present is None else self.present.revision

    @property
    def carried(self) -> str:
        """The content that it carries, "" where it carries none."""
        return "" if self.seen is None else self.seen.content

    def refused(self, wanted: str) -> RefusedWrite | None:
        """The refused write of what it is supposed to carry, or of ``wanted`` where it was never touched."""
        known = self.refusal
        return known if known is not None and known.content == (self.supposed or wanted) else None

    @property
    def is_astray(self) -> bool:
        """Whether it does not carry what it is supposed to, or its agent never heard of this attempt."""
        if self.standing is None or self.lost_from or not (supposed := self.standing.revision):
            return False
        if self.seen is None or self.seen.content != supposed:
            return True
        return (refused := self.refused(supposed)) is not None and refused.is_attempt

    @property
    def is_remembered(self) -> bool:
        """Whether the record has something to say of it."""
        return self.standing is not None or bool(self.lost_from)

    @property
    def is_blank(self) -> bool:
        """Whether nothing is known of the cluster."""
        return self.seen is None and self.standing is None and self == Line(cluster=self.cluster)

    def is_told_as(self, other: "Line") -> bool:
        """Whether the record says the same of both."""
        mine = self.standing, self.cause, self.lost_from, self.soaked, self.before
        return mine == (other.standing, other.cause, other.lost_from, other.soaked, other.before)


class Course(Struct, frozen=True, gc=False, kw_only=True):
    """What a line is measured against.

    ``revision`` is the workload's present one, ``content`` what this cluster is to carry of it,
    ``rollback`` the one that is going on. ``is_missed``: news may have been missed since the last
    observation (the timing says since when); then success or failure counts as unbroken only where the agent
    stamps it as before.
    """

    revision: str
    content: str
    timing: Timing
    rollback: Rollback | None = None
    is_missed: bool = False

    def gave(self, standing: Standing) -> bool:
        """Whether a rollback that is going on gave the cluster what it is on."""
        return self.rollback is not None and self.rollback.gave(standing)

    def given_at(self, now: datetime) -> datetime:
        """The instant of a give-back: none was before the rollback began, though the process that began it
        may have gone by a server with a later clock.
        """
        return now if self.rollback is None else max(now, self.rollback.began)

    @property
    def made_for(self) -> str:
        """The revision that a touch with the content is made for, where the content does not say it."""
        return "" if self.content == self.revision else self.revision


class Seen(Struct, frozen=True, gc=False):
    """The hub shows what the cluster carries now (None: nothing)."""

    observation: Observation | None


class Touched(Struct, frozen=True, gc=False):
    """A write is about to go out. ``back``: the content that it gives back ("": it brings the present one)."""

    cause: str
    back: str = ""


class Refused(Struct, frozen=True, gc=False):
    """The server refused a write (row 19). ``fails``: the cluster goes without what it is supposed to have.
    ``is_attempt``: it was the first one of an attempt.
    """

    message: str
    fails: bool = True
    is_attempt: bool = False


class VerdictFound(Struct, frozen=True, gc=False):
    """A decision found the verdict that stands in this standing."""

    standing: Standing


class Retried(Struct, frozen=True):
    """A person asked to try again what failed."""


class Lost(Struct, frozen=True):
    """It is selected no more, left in flight, and was out of reach when it did. It counts as a failure of
    ``revision``.
    """

    stage: str
    revision: str


class Forgotten(Struct, frozen=True):
    """It is no cluster of this rollout, and nothing is held against it."""


class CameBack(Struct, frozen=True):
    """It was lost, and is selected again."""


LineEvent = Seen | Touched | Refused | VerdictFound | Retried | Lost | Forgotten | CameBack


def next_line(line: Line, event: LineEvent, course: Course, now: datetime) -> Line:
    """The line after an event."""
    match event:
        case Seen():
            return _seen(line, event.observation, course, now)
        case Touched():
            return _touched(line, event, course, now)
        case Refused():
            return _refused(line, event, course, now)
        case VerdictFound():
            return replace(line, standing=event.standing)
        case Retried():
            known = line.standing
            again = None if known is None else replace(known, verdict=Verdict.RETRY)
            return replace(line, standing=again, refusal=None)
        case Lost():
            return _left(line, event)
        case Forgotten():
            return Line(cluster=line.cluster, seen=line.seen)
        case CameBack():
            return Line(cluster=line.cluster, seen=line.seen, soaked=line.soaked)


def _left(line: Line, event: Lost) -> Line:
    """The standing says of which revision it was lost: a record may tell of it under a later one."""
    known = line.standing
    if known is not None and known.of_revision != event.revision:
        known = replace(known, made_for=event.revision)
    return replace(line, standing=known, cause="Lost", lost_from=event.stage, refusal=None)


def _seen(line: Line, seen: Observation | None, course: Course, now: datetime) -> Line:
    line = _brought_again(replace(line, seen=seen), course.content, now)
    before = line.standing
    # A content that was rolled back is not adopted again: it is drift.
    wanted = "" if before is not None and course.gave(before) else course.content
    missed = course.is_missed
    after = stand(line.cluster, before, seen, wanted, now=now, missed=missed)
    if before is not None and after != before and before.revision != course.content:
        # The verdict on an older revision stays: later trouble there takes no slot again.
        known = concluded(before, course.timing, now)
        after = stand(line.cluster, known, seen, wanted, now=now, missed=missed)
    if after is None or after == before:
        return line
    if before is not None and before.revision == after.revision:
        return replace(line, standing=after)
    if after.revision == course.content:
        after = replace(after, made_for=course.made_for)
    if seen is not None and not seen.is_brought:
        line = _not_brought(line)
    elif before is None:
        line = replace(line, cause=line.cause or "Found")  # who touched it nobody wrote down
    return replace(line, standing=after, soaked=soaked_after(line, before, course.timing, now))


def _not_brought(line: Line) -> Line:
    """Nothing can be written to the cluster, so it fails without having been touched.

    As soon as something can be written to it, it waits for its turn as others do. What was known of it is
    kept until then: otherwise a cluster that had finally failed on an older revision would be in flight
    again, and its touch would need no slot.
    """
    if line.cause == NOT_BROUGHT:
        return line
    return replace(line, cause=NOT_BROUGHT, before=(line.standing, line.cause))


def _brought_again(line: Line, wanted: str, now: datetime) -> Line:
    """Where it can be brought something again, it stands as it did before.

    Records of earlier versions do not tell how that was. Then a failure on another content than ``wanted``
    is taken for final, so that the touch of this cluster needs a slot, as that of others does.
    """
    seen = line.seen
    if line.cause != NOT_BROUGHT or (seen is not None and not seen.is_brought):
        return line
    standing, cause = line.before or (None, "")
    has_failed = seen is not None and seen.content != wanted and seen.health is Health.FAILED
    if line.before is None and seen is not None and has_failed:
        found = rebuilt(line.cluster, seen, wanted, now)
        standing, cause = replace(found, verdict=Verdict.FAILED), "Found"
    if standing is not None and standing.verdict is None and _may_have_ended(standing, seen):
        standing = silenced(standing, now)  # nobody looked meanwhile (S13)
    return replace(line, standing=standing, cause=cause, before=None)


def _may_have_ended(standing: Standing, seen: Observation | None) -> bool:
    """Whether what a cluster did when it was looked at last may have ended since."""
    return seen is None or seen.content != standing.revision or is_broken(standing, seen)


def _touched(line: Line, event: Touched, course: Course, now: datetime) -> Line:
    known, content = line.standing, event.back or course.content
    soaked = line.soaked
    if known is None or known.revision != content:
        undone = course.content if content != course.content else ""
        soaked = soaked_after(line, known, course.timing, now, undone=undone)
    elif known.verdict is not Verdict.RETRY:
        return line
    made_for = "" if event.back else course.made_for
    standing = Standing(
        cluster=line.cluster,
        revision=content,
        touched=course.given_at(now) if event.back else now,
        health=Health.SILENT,
        since=now,
        made_for=made_for,
    )
    touched = replace(line, standing=standing, cause=event.cause, soaked=soaked, before=None)
    if line.seen is not None and line.seen.content == content:
        return _seen(touched, line.seen, course, now)  # no news may come of what is there already
    return touched


def _refused(line: Line, event: Refused, course: Course, now: datetime) -> Line:
    content = line.supposed or course.content
    refused = refusal(line.refusal, event.message, now, content, is_attempt=event.is_attempt)
    line = replace(line, refusal=refused)
    known = line.standing
    if not event.fails or known is None:
        return line
    if known.revision != course.content and not course.gave(known):
        return line
    if line.seen is not None and line.seen.content == known.revision:
        return line  # it carries that already: what was refused says only when, or how often
    if known.health is Health.FAILED or known.verdict is Verdict.SOAKED:
        return line
    failed = replace(
        known, health=Health.FAILED, since=now, reason=ClusterReason.WRITE_REJECTED.value
    )
    return replace(line, standing=failed)


def soaked_after(
    line: Line, left: Standing | None, timing: Timing, now: datetime, undone: str = ""
) -> tuple[str, ...]:
    """What can be gone back to once the cluster leaves a content for another one.

    What soaked there once is still good where it was given back, and nothing has come of it yet.

    Args:
        left: how it stood until now; None: it was never touched.
        undone: a content not to go back to.
    """
    if left is None:
        return line.soaked
    kept = [each for each in line.soaked if each != undone]
    is_unproved = left.reason == NEVER_MEASURED
    verdict = None if is_unproved else concluded(left, timing, now).verdict
    if verdict in (Verdict.SOAKED, Verdict.FAILED):
        kept = [each for each in kept if each != left.revision]
    if verdict is Verdict.SOAKED and left.revision != undone:
        kept.insert(0, left.revision)
    return tuple(kept[:SOAKED_KEPT])


def cause_of(before: Standing | None, revision: str) -> str:
    """The cause of a touch with ``revision``, from what was known of the cluster before."""
    if before is None:
        return "SlotFree"
    if before.revision == revision and before.verdict is Verdict.RETRY:
        return "Retry"
    return "Supersede"


class KeptContent(NamedTuple):
    """A content that can be given back: the revision that it was made for first, and that one's number."""

    revision: str
    number: int


def targets_of(
    rollout: Rollout, lines: Mapping[str, Line], to: str, kept: Mapping[str, KeptContent]
) -> dict[str, str]:
    """What each cluster that was touched for the present revision gets back, where that is still kept.

    Args:
        to: the revision that clusters are to go back to; "": the last one that soaked there.
        kept: what can be given back, by content.
    """
    last = kept[to].number if to in kept else 0

    def is_of(content: str, made_for: KeptContent) -> bool:
        if to in ("", content, made_for.revision):
            return True
        # A content of its own stays the same where later revisions change nothing there.
        return content != made_for.revision and made_for.number <= last

    found: dict[str, str] = {}
    for cluster, standing in rollout.standings.items():
        line = lines.get(cluster)
        if line is None or not rollout.is_on_it(standing):
            continue
        for each in line.soaked:
            made_for = kept.get(each)
            if made_for is None or each == standing.revision:
                continue  # what is kept no more cannot be given back
            if made_for.revision != rollout.revision and is_of(each, made_for):
                found[cluster] = each
                break
    return found
