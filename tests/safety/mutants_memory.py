"""Faults in what is known and remembered: observations, terms, the record, outages, selections."""

from tests.safety.mutating import Mutant, fault

LIVE, TERMS, STANDINGS, RECORD, HEAD, OBSERVED = (
    f"rollouts.{name}" for name in ("live", "terms", "standings", "record", "head", "observations")
)
SELECTED, SHARED = "rollouts.selections", "rollouts.workload"

_OF_THE_RECORD: tuple[Mutant, ...] = (
    fault(
        "S1",
        "a restart forgets who is in flight",
        ("rollouts.share", "    live.restore(shelf.record, now)\n", ""),
        (OBSERVED, "return rebuilt(cluster, seen, revision, now)", "return None"),
        focus="restarts",
    ),
    fault(
        "S1",
        "what nobody wrote down has not been touched",
        (
            LIVE,
            "for line in carried_over(before, terms, was.timing, self.lines, head=head, now=now):",
            "for line in ():",
        ),
        focus="restarts",
    ),
    fault(
        "R1",
        "no record",
        (
            "rollouts.book",
            "        pages = [(number, self._pages[number]) for number in sorted(self.differing().union(others))]\n",
            "        pages = list[tuple[int, _RecordPage]]()\n",
        ),
    ),
    fault(
        "R5",
        "verdicts are not read back",
        (
            RECORD,
            'verdict=Verdict(body["verdict"]) if body.get("verdict") else None',
            "verdict=None",
        ),
    ),
    fault(
        "R5",
        "stages that have passed are not written down",
        (RECORD, '"passed": sorted(head.passed),', '"passed": [],'),
    ),
    fault(
        "S11",
        "a restart forgets what was removed lately",
        (
            RECORD,
            'removals=_counts(body.get("removals")),',
            "removals=(),",
        ),
        focus="exodus",
    ),
    fault(
        "S18",
        "what somebody wrote into the record stays",
        (
            "rollouts.book",
            "page.stored, page.version = data, version\n        if data is None:",
            "page.stored, page.version = page.rendered or data, version\n        if data is None:",
        ),
        focus="meddling",
    ),
    fault(
        "S18",
        "an earlier revision that somebody edited stays as it is",
        (
            "fleet.records",
            "self._edited[ref], revision = known, None",
            "revision = None",
        ),
        kinds=("replicaset",),
        focus="tenants",
    ),
    fault(
        "R8",
        "one page for all",
        (RECORD, "PAGE_SIZE = 100", "PAGE_SIZE = 10**9"),
        kinds=("replicaset",),
        look="sizes",
    ),
    fault(
        "S13",
        "success that broke while nobody lived goes on",
        (
            "rollouts.handover",
            "if known.health in (Health.SUCCEEDED, Health.FAILED):",
            "if False:",
        ),
        ("rollouts.handover", "if known.health is Health.SUCCEEDED:", "if False:"),
        (
            "rollouts.handover",
            "elif is_broken(known, seen):",
            "elif False:",
        ),
        focus="flapping",
    ),
)

_OF_OBSERVATIONS: tuple[Mutant, ...] = (
    fault(
        "S13",
        "what is found has soaked",
        (
            OBSERVED,
            "replace(standing, verdict=Verdict.SOAKED) if is_settled else standing",
            "replace(standing, verdict=Verdict.SOAKED) if seen.content else standing",
        ),
        focus="restarts",
    ),
    fault(
        "S13",
        "what is found succeeding may have timed out",
        (
            OBSERVED,
            "        touched = now  # when it succeeded nobody knows any more: that is no time-out\n",
            "        pass\n",
        ),
        focus="flapping",
    ),
    fault(
        "S13",
        "a health stands since the one before it",
        (
            OBSERVED,
            "since = standing.since if is_the_same else now",
            "since = standing.since",
        ),
    ),
    fault(
        "S6",
        "any generation counts",
        (
            "strategies.states",
            "if condition is None or condition.observed_generation != generation:",
            "if condition is None:",
        ),
        kinds=("replicaset",),
    ),
)

_OF_TERMS: tuple[Mutant, ...] = (
    fault(
        "S5",
        "what one revision has passed, the next has passed",
        (
            HEAD,
            "begun = self._begun_anew()",
            "begun = replace(self, opened=none, completed=False)",
        ),
    ),
    fault(
        "L2",
        "a stage that has passed shuts again",
        (
            HEAD,
            "passed=self.passed | set(passed), opened=",
            "passed=self.passed, opened=",
        ),
    ),
    fault(
        "S17",
        "the lost are not missed",
        (STANDINGS, "if at_stake and not available(cluster):", "if False:"),
    ),
    fault(
        "S17",
        "who has failed and leaves out of reach is not lost",
        (STANDINGS, "and (phase.holds_slot or phase.is_failure)", "and phase.holds_slot"),
        focus="lost",
    ),
    fault(
        "S17",
        "a retry forgets the lost",
        (
            LIVE,
            "        still = revision_hold(",
            "        self.forget(list(self._lost), now)\n        self.ledger.reset(structs.replace(self.ledger.rollout, lost={}), now)\n        still = revision_hold(",
        ),
        focus="lost",
    ),
    fault(
        "L2",
        "the lost that come back are missed for ever",
        (STANDINGS, "for cluster in self._lost & members.keys():", "for cluster in ():"),
        focus="lost",
    ),
    fault(
        "S13",
        "outages are forgotten at once",
        (
            LIVE,
            "outages = relevant_outages(head, terms.outages, open_, now)",
            "outages = ()",
        ),
        focus="outages",
    ),
    fault(
        "S13",
        "a restart forgets outages",
        (TERMS, "in {*head.outages, *news}", "in {*news}"),
        focus="outages",
    ),
    fault(
        "S13",
        "time runs on while news is missing",
        (
            "rollouts.outages",
            "self.blind_since = min(self._open.values(), default=None)",
            "self.blind_since = None",
        ),
        focus="outages",
    ),
)

_OF_SELECTIONS: tuple[Mutant, ...] = (
    fault(
        "S11",
        "torn decisions are used",
        (SELECTED, "torn = contradiction(placement, decisions)", 'torn = ""'),
    ),
    fault(
        "S11",
        "nothing is quiet",
        (SELECTED, "return policy.schedules_here and not disabled", "return True"),
    ),
    fault(
        "S17",
        "in the quiet period nobody is kept",
        (
            SELECTED,
            "kept = [group for group in before.selection.without(selected).groups if group.clusters]",
            "kept = []",
        ),
    ),
    fault(
        "S11",
        "a missing placement selects nobody",
        (
            SELECTED,
            "return Reading(before.selection, hold=Wait(Reason.PLACEMENT_NOT_FOUND, message))",
            "return Reading(Selection())",
        ),
    ),
    fault(
        "S9",
        "what an unread placement may select goes to the next",
        ("rollouts.overlaps", "elif share.may_select_more:", "elif False:"),
        focus="pairs",
    ),
)

_OF_CLOCKS: tuple[Mutant, ...] = (
    fault(
        "S13",
        "a process goes by its own clock",
        ("clock", "zero = self._settled or self._server_zero() or self._zero", "zero = self._zero"),
        focus="restarts",
    ),
)

_OF_AGENTS: tuple[Mutant, ...] = (
    fault(
        "S6",
        "agents that look rarely are not waited for",
        (
            SHARED,
            "around.policy.settle if settles else timedelta(0)",
            "timedelta(seconds=15 if settles else 0)",
        ),
        focus="agents",
    ),
    fault(
        "S6",
        "what was ill before fails after a minute",
        (
            SHARED,
            "grace=around.policy.failure_grace",
            "grace=timedelta(seconds=60)",
        ),
        focus="agents",
    ),
    fault(
        "L1",
        "another attempt is an annotation alone",
        (
            "planning.replicasets",
            "**(attempt_label(started_at) if is_again else {})",
            "**{}",
        ),
        kinds=("replicaset",),
        focus="agents",
    ),
    fault(
        "S13",
        "a failure that ended while nobody lived goes on",
        (
            OBSERVED,
            "return bool(seen.token and standing.token) and seen.token != standing.token",
            "return False",
        ),
        focus="flapping",
    ),
    fault(
        "S13",
        "a long outage begins with a short one that ended before",
        (
            "rollouts.outages",
            "since, until = min(since, known[0]), max(until, known[1])",
            "since, until = known[0], max(until, known[1])",
        ),
        focus="outages",
    ),
)

OF_MEMORY = (
    *_OF_CLOCKS,
    *_OF_AGENTS,
    *_OF_THE_RECORD,
    *_OF_OBSERVATIONS,
    *_OF_TERMS,
    *_OF_SELECTIONS,
)
