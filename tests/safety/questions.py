"""Does bad news add anything? Promise R6, asked of documents: whoever reads a hub on which one thing is worse
touches nobody more.

Each world is the hub as it is with some documents instead of others, read by a new process and asked at some
later instant. Who is touched is read from the writes.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

from rollout.hub.base import Hub
from rollout.model import names
from rollout.model.kinds import Obj, Ref
from rollout.model.policy import Policy
from rollout.model.writes import Create, Patch, PatchStatus
from rollout.runtime.planners import plan_now
from tests.safety.allowed import allow
from tests.safety.model import Rollout
from tests.safety.replay import read_anew
from tests.safety.terms import QUIET
from tests.safety.told import Told

LATER = tuple(timedelta(seconds=n) for n in (5, 100, 400, 7200))
_HALF = {"75%": "50%", "50%": "25%", "25%": "10%", "20%": "10%"}

Worse = tuple[str, Mapping[Ref, Obj]]
"""What is worse, in words, and the documents that say so."""


@dataclass(frozen=True, slots=True)
class Touched:
    """Clusters that get what is asked for, and those that are given back something else. ``again``: those of both
    that get once more what they were given last, since somebody changed it.
    """

    forward: frozenset[str] = frozenset()
    back: frozenset[str] = frozenset()
    again: frozenset[str] = frozenset()


class Questions:
    """Asks in one history. ``policy``: what the engine goes by."""

    def __init__(self, told: Told, hub: Hub, counts: Counter[str]) -> None:
        self._told, self._hub, self._counts = told, hub, counts
        self._dice = Random(0)

    def ask(self, policy: Policy, now: datetime, blame: Callable[[str, str], None]) -> None:
        """Ask about one cluster, and about each thing that people can do to slow a rollout down."""
        workload = self._hub.list(self._told.subject.ref.kind).items
        asked = next(
            (o for o in workload if o["metadata"]["name"] == self._told.subject.ref.name), None
        )
        rollout = self._dice.choice(sorted(self._told.rollouts.values(), key=lambda r: r.name))
        if asked is None or rollout.terms is None:
            return
        at = now + self._dice.choice(LATER)

        def touched(instead: Mapping[Ref, Obj]) -> Touched:
            return self._touched(policy, now, at, instead)

        good, bad = self._news(rollout, now)
        base = touched(good)
        if bad:
            self._counts["R6.bad_news"] += 1
            is_back = bool(rollout.back.given)
            self._counts["R6.bad_news_on_the_way_back"] += is_back
            worse = touched(bad)
            more = worse.forward - base.forward
            if more:
                blame("R6", f"{min(bad, key=str)} failing adds {sorted(more)} at {at:%H:%M:%S}")
        for what, documents in slower(self._told.subject.ref, asked, self._told.subject.placements):
            self._counts["R6.slower"] += bool(base.forward or base.back)
            found = touched({**good, **documents})
            # What waits longer for the new revision is given once more what it had meanwhile (row 24).
            back = found.back - base.back - (found.again & base.forward)
            more = (found.forward - base.forward) | back
            if more:
                blame("R6", f"{what} adds {sorted(more)} at {at:%H:%M:%S}")

    def _news(self, rollout: Rollout, now: datetime) -> tuple[Mapping[Ref, Obj], Mapping[Ref, Obj]]:
        """What an agent may say next of a cluster that is in flight: that all is well, and that it is not.

        Of a cluster that failed in this very second the latter is no news: a new process knows that
        failure by its stamp, and lets its time run, while a success has to soak from when it is seen.
        """
        flying = [c for c in sorted(rollout.selected) if rollout.in_flight(c, now)]
        failing = [c for c in flying if _fails_since(rollout, c, now)]
        kept = self._told.held() | self._told.closed(now)
        allow(self._counts, "fails_now", len(failing))
        shut = [c for c in flying if c in kept and rollout.current(c) is None]
        allow(self._counts, "shut_on_older", len(shut))
        flying = [c for c in flying if c not in (*failing, *shut)]
        if not flying:
            return {}, {}
        cluster = self._dice.choice(flying)
        found = [
            self._told.subject.reported(cluster, is_well, self._hub, now)
            for is_well in (True, False)
        ]
        return found[0], found[1]

    def _touched(
        self, policy: Policy, now: datetime, at: datetime, instead: Mapping[Ref, Obj]
    ) -> Touched:
        subject = self._told.subject
        anew = read_anew(subject, self._hub, now - QUIET, policy, instead=instead)
        plan = plan_now(subject.planner(), anew, subject.ref, at)
        there = {
            ref: obj for ref, obj in self._told.objects.items() if ref.kind is not subject.carrier
        } | dict(instead)
        for obj in self._hub.list(subject.carrier).items:
            there.setdefault(Ref(subject.carrier, _key(obj)), obj)
        forward: set[str] = set()
        back: set[str] = set()
        again: set[str] = set()
        for write in plan.writes:
            if write.ref.kind is not subject.carrier:
                continue
            match write:
                case Create(_, changes) | Patch(_, changes):
                    pass
                case PatchStatus(_, status):
                    changes = {"status": status}
                case _:
                    continue
            owner, before = self._told.owner(write.ref.namespace), there.get(write.ref)
            had = subject.carried(before, there.get) if before else None
            brings = subject.brought(before, changes, there.get)
            if isinstance(write, Create) and not brings:
                forward.add(write.ref.namespace)
            elif brings and (had is None or had.revision != brings):
                is_asked = owner is not None and brings == owner.terms_revision
                (forward if is_asked else back).add(write.ref.namespace)
                track = owner.tracks.get(write.ref.namespace) if owner is not None else None
                if track is not None and track.revision == brings:
                    again.add(write.ref.namespace)
        return Touched(frozenset(forward), frozenset(back), frozenset(again))


def _fails_since(rollout: Rollout, cluster: str, now: datetime) -> bool:
    """Whether it began to fail in this second, which is what agents stamp."""
    track = rollout.current(cluster)
    if track is None or track.health != "failed" or track.since is None:
        return False
    return track.since.replace(microsecond=0) == now.replace(microsecond=0)


def _key(obj: Obj) -> str:
    meta = obj["metadata"]
    return f"{meta['namespace']}/{meta['name']}"


def slower(ref: Ref, workload: Obj, placements: Callable[[Obj], list[Obj]]) -> Iterator[Worse]:
    """What people can write into a workload that lets it go on no faster."""
    notes = workload["metadata"].get("annotations") or {}
    gates = ",".join(filter(None, (notes.get(names.GATES, ""), "before:*")))
    is_none = notes.get(names.ROLLBACK_CONCURRENCY, "").strip("%") == "0"
    asked: Mapping[str, Mapping[str, str]] = {
        "a pause": {names.PAUSED: "true"},
        "a gate before each stage": {names.GATES: gates},
        "less tolerance": {names.FAILURE_TOLERANCE: "Strict"},
        "a lower limit of a rollback": {names.ROLLBACK_CONCURRENCY: "0" if is_none else "1"},
        "a lower budget of a rollback": {names.ROLLBACK_FAILURES: "0"},
    }
    for what, more in asked.items():
        meta = {**workload["metadata"], "annotations": {**notes, **more}}
        yield what, {ref: {**workload, "metadata": meta}}
    lower, is_lower = deepcopy(workload), False
    for placement in placements(lower):
        strategy = placement.get("rolloutStrategy") or {}
        kind = strategy.get("type", "All")
        member = strategy.get(kind[:1].lower() + kind[1:]) or {}
        limit = member.get("maxConcurrency")
        if isinstance(limit, int) and limit > 1:
            member["maxConcurrency"], is_lower = limit // 2, True
        elif limit in _HALF:
            member["maxConcurrency"], is_lower = _HALF[limit], True
    if is_lower:
        yield "a lower limit", {ref: lower}
