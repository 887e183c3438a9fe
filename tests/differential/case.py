"""One input for both profiles, and what the semantics' rows make of it.

`Case.strict` and `Case.ocm` ask the profiles; the rest is an answer of its own, from the rows alone.
"""

import math
from dataclasses import dataclass, field
from itertools import chain

from rollout.model.placement import Group
from rollout.strategies import ocm
from rollout.strategies.base import Phase, Rollout, Standing, Step, Timing, Verdict, select
from rollout.strategies.stages import BUILT_IN, soak_of
from rollout.strategies.step import decide
from tests.support.fleets import FAILED, NEW, OLD, PROGRESSING, SEC, SILENT, SUCCEEDED, T0, spec_of

GRACE = 60
HEALTH = {"A": SILENT, "P": PROGRESSING, "S": SUCCEEDED, "F": FAILED}
STATUS = {
    "A": ocm.Status.TO_APPLY,
    "P": ocm.Status.PROGRESSING,
    "S": ocm.Status.SUCCEEDED,
    "F": ocm.Status.FAILED,
}


@dataclass(frozen=True, slots=True)
class Known:
    """A touched cluster: its report, and how many seconds ago it was touched and reported that."""

    letter: str
    touched: int
    since: int
    soaked: bool = False  # the verdict is recorded
    old: bool = False  # on an older revision


@dataclass(frozen=True, slots=True)
class Case:
    """One input, in the words that both profiles can be asked in."""

    kind: str
    groups: tuple[Group, ...]
    known: dict[str, Known]
    limit: int | str | None = None
    budget: int | str = 0
    mandatory: tuple[str | int, ...] = ()
    soak: int = 0
    deadline: int | None = None
    outage: tuple[int, int] | None = None  # from, to: seconds ago
    lost: dict[str, str] = field(default_factory=dict)
    named: tuple[str, ...] = ()  # groups that the placement's spec names

    # -- asked in both profiles

    def strict(self) -> Step:
        spec = spec_of(
            self.kind,
            limit=self.limit,
            budget=self.budget,
            mandatory=self.mandatory,
            soak=self.soak * SEC,
            deadline=None if self.deadline is None else self.deadline * SEC,
        )
        outages = ((T0 - self.outage[0] * SEC, T0 - self.outage[1] * SEC),) if self.outage else ()
        staging = BUILT_IN[self.kind].stages(spec, select(self.groups, self.named))
        timing = Timing(
            soak=soak_of(spec), deadline=spec.deadline, grace=GRACE * SEC, outages=outages
        )
        standings = {
            name: Standing(
                name,
                OLD if k.old else NEW,
                touched=T0 - k.touched * SEC,
                health=HEALTH[k.letter],
                since=T0 - k.since * SEC,
                verdict=Verdict.SOAKED if k.soaked else None,
            )
            for name, k in self.known.items()
        }
        return decide(
            Rollout(
                revision=NEW, staging=staging, standings=standings, timing=timing, lost=self.lost
            ),
            T0,
        )

    def ocm(self) -> ocm.Answer:
        member: dict[str, object] = {
            "minSuccessTime": f"{self.soak}s",
            "progressDeadline": "None" if self.deadline is None else f"{self.deadline}s",
            "maxFailures": self.budget,
            "mandatoryDecisionGroups": [
                {"groupName": m} if isinstance(m, str) else {"groupIndex": m}
                for m in self.mandatory
            ],
        }
        if self.limit is not None:
            member["maxConcurrency"] = self.limit
        key = self.kind[0].lower() + self.kind[1:]
        records = [
            ocm.ClusterRolloutStatus(
                name, STATUS[k.letter], since=None if k.letter == "A" else T0 - k.since * SEC
            )
            for name, k in self.known.items()
            if not k.old
        ]
        return ocm.decide({"type": self.kind, key: member}, self.groups, records, T0)

    # -- what the input means

    @property
    def clusters(self) -> set[str]:
        return {cluster for group in self.groups for cluster in group.clusters}

    def seconds_left(self, known: Known) -> float:
        """To the deadline, from the first attempt; less than the outage's share of it has run."""
        if self.deadline is None:
            return math.inf
        left = self.deadline - known.touched
        if self.outage and self.outage[1] < known.touched:
            begin, end = min(self.outage[0], known.touched), self.outage[1]
            if begin > known.touched - self.deadline:
                left += begin - end
        return left

    def seen_for(self, seconds: int) -> int:
        """How many of the last ``seconds`` the hub was in touch."""
        if self.outage is None:
            return seconds
        begin, end = self.outage
        return seconds - max(0, min(begin, seconds) - end)

    def phase(self, cluster: str) -> Phase:
        known = self.known.get(cluster)
        if known is None:
            return Phase.WAITING
        phase = self._phase_on_its_revision(known)
        if known.old:
            return Phase.OUTDATED if phase.holds_slot else Phase.WAITING
        return phase

    def _phase_on_its_revision(self, known: Known) -> Phase:
        soak = 0 if self.kind == "All" else self.soak
        left = self.seconds_left(known)
        if known.soaked or (known.letter == "S" and self.seen_for(known.since) >= soak):
            return Phase.SOAKED
        if known.letter == "S":
            return Phase.FAILED if left < -known.since else Phase.SOAKING
        if left <= 0:
            return Phase.FAILED
        if known.letter != "F" or known.since < GRACE:
            return Phase.PROGRESSING
        return Phase.FAILED if self.deadline is None else Phase.FAILING

    def members(self) -> dict[tuple[int, str], list[str]]:
        """By group, in order. A cluster named twice is in the first group that names it."""
        taken: set[str] = set()
        groups: dict[tuple[int, str], list[str]] = {}
        for group in sorted(self.groups, key=lambda g: (g.index, g.name)):
            own = groups.setdefault((group.index, group.name), [])
            own += sorted(set(group.clusters) - taken)
            taken |= set(group.clusters)
        return groups

    def stages(self) -> list[tuple[str, list[str]]]:
        """(mandatory | rest | group, members) in the order of the stages."""
        groups = self.members()
        if self.kind == "All":
            return [("rest", list(chain(*groups.values())))]
        first = [
            key for ref in self.mandatory for key in groups if key[isinstance(ref, str)] == ref
        ]
        stages = [("mandatory", groups[key]) for key in dict.fromkeys(first)]
        rest = [members for key, members in groups.items() if key not in first]
        if self.kind == "Progressive":
            return [*stages, ("rest", list(chain(*rest)))]
        return stages + [("group", members) for members in rest]

    def budget_of(self, total: int) -> int:
        return whole(self.budget, total)

    def breached(self) -> bool:
        """Rows 2 and 3: more failures than tolerated in any scope."""
        if self.kind == "All":
            return False
        stages = self.stages()
        failures = [sum(self.phase(c).is_failure for c in members) for _, members in stages]
        lost = len(self.lost)  # cases lose clusters from the last stage
        failures[-1] += lost if stages else 0
        for (role, members), n in zip(stages, failures, strict=True):
            if role == "mandatory" and n:
                return True
            if role == "group" and n > self.budget_of(len(members)):
                return True
        if self.kind == "ProgressivePerGroup":
            return False
        return sum(failures) > self.budget_of(len(self.clusters))

    def is_held(self) -> bool:
        """Row 13: a mandatory group without a cluster; row 22."""
        if not self.clusters:
            return True
        if self.kind == "All":
            return False
        present = {part for key, members in self.members().items() if members for part in key}
        return any(ref not in present for ref in self.mandatory)

    def wanted(self) -> list[str]:
        """The clusters to touch, by rows 1, 2, 4, 5, 12, 13 and 18."""
        found: list[str] = []
        if self.breached() or self.is_held():
            return found
        for role, members in self.stages():
            phases = {c: self.phase(c) for c in members}
            limit = len(members)
            if role == "rest" and self.kind == "Progressive" and self.limit not in (None, 0):
                limit = whole(self.limit or 0, len(members))
            if limit or self.limit not in ("0", "0%"):
                held = sum(phase.holds_slot for phase in phases.values())
                waiting = [c for c in members if phases[c] is Phase.WAITING]
                found += [c for c in members if phases[c] is Phase.OUTDATED]
                found += waiting[: max(0, limit - held)]
            done = {Phase.SOAKED} if role == "mandatory" else {Phase.SOAKED, Phase.FAILED}
            if not set(phases.values()) <= done:
                break
        return found

    def finally_failed(self) -> set[str]:
        """Clusters whose verdict is due, by rows 6, 7, 11 and 20."""
        return {
            c
            for c in self.clusters
            if c in self.known and not self.known[c].old and self.phase(c) is Phase.FAILED
        }


def whole(value: int | str, total: int) -> int:
    """A count or share in whole numbers, at most ``total``."""
    text = str(value)
    wanted = -(-int(text[:-1]) * total // 100) if text.endswith("%") else int(text)
    return min(wanted, total)
