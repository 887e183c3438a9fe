"""Faults in who is touched when: stages, limits, budgets, soaks and deadlines."""

from tests.safety.mutating import Mutant, fault

STEP, JUDGE, STAGES, LEDGER, BASE = (
    f"strategies.{name}" for name in ("step", "judge", "stages", "ledger", "base")
)
_FREE = "free = max(0, limit - taken)"

_OF_STEPS: tuple[Mutant, ...] = (
    fault("S1", "one more than the limit", (STEP, _FREE, "free = max(0, limit + 1 - taken)")),
    fault(
        "S1",
        "those in flight on an older revision hold no slot",
        (
            STEP,
            "if phase in HOLDS_SLOT)",
            "if phase in HOLDS_SLOT and phase is not Phase.OUTDATED)",
        ),
    ),
    fault(
        "S1",
        "a limit is a share of the whole fleet",
        (STEP, "limit = stage.limit.of(size) if", "limit = stage.limit.of(sum(sizes)) if"),
        focus="order",
    ),
    fault(
        "S2",
        "at zero, those in flight are overwritten",
        (STEP, "if stage.limit is not None and stage.limit.value == 0:", "if False:"),
        focus="zero",
    ),
    fault(
        "S3",
        "a breach halts nothing",
        (STEP, "halt = breach(rollout, fleet, scopes)", "halt = None"),
    ),
    fault(
        "S4",
        "tolerance is not strict",
        ("strategies.budget", "if not strict or self.budget is None:", "if strict is not None:"),
    ),
    fault(
        "S4",
        "stages that go on at once have the tolerance each",
        (STEP, "        fleet.unproven += len(chosen)", "        pass"),
        focus="strict",
    ),
    fault("S5", "every gate is open", (STEP, "is_open = is_open and passes", "is_open = True")),
    fault(
        "S8",
        "the held are overwritten",
        (STEP, "if c not in held and c not in rollout", "if c not in rollout"),
        focus="operations",
    ),
    fault(
        "S19",
        "an empty group is passed",
        (
            STAGES,
            "if str(ref) in selection.may_be_empty:",
            "if has_group or ref.name in selection.named:",
        ),
    ),
    fault(
        "S19",
        "every decision counts",
        ("rollouts.selections", "if self.quiet_until is None or not", "if True or not"),
    ),
    fault(
        "S16",
        "nobody is everybody",
        (
            STEP,
            "rollout.staging.hold or (None if selected else NO_TARGETS)",
            "rollout.staging.hold",
        ),
        kinds=("replicaset",),
    ),
    fault(
        "S17",
        "those lost in a stage that is gone count in the last one",
        (STAGES, "key if key in known else keys[0]", "key if key in known else keys[-1]"),
        focus="stages",
    ),
    fault(
        "S17",
        "those lost in a mandatory group are not missed at its gate",
        (STEP, " == size and scope.failures == 0", " == size"),
        focus="gone",
    ),
    fault(
        "L2",
        "whom a person waived is missed all the same",
        (STAGES, "if keys and cluster not in rollout.skipped", "if keys"),
        focus="lost",
    ),
    fault(
        "L2",
        "the budget is a share of the last stage",
        (
            STEP,
            "fleet_scope(rollout, scopes, sum(sizes))",
            "fleet_scope(rollout, scopes, sizes[-1] if sizes else 0)",
        ),
        focus="budget",
    ),
    fault(
        "L5",
        "old revisions block the fix",
        (
            STEP,
            "old = [c for c in census.outdated() if c not in held and c not in rollout.unrendered]",
            "old = []",
        ),
    ),
    fault(
        "R5",
        "the last in line comes first",
        ("strategies.ledger", "return iter(self.line)", "return iter([*self.line][::-1])"),
    ),
    fault(
        "R6",
        "each failure frees a slot",
        (STEP, _FREE, "free = max(0, limit - taken) + census.phases.get(Phase.FAILED, 0)"),
        focus="budget",
    ),
    fault(
        "O1",
        "nobody says why",
        (STEP, "return chosen, reason if len(chosen) < wanted else None", "return chosen, None"),
    ),
    fault(
        "S5",
        "a stage passes over a breach",
        (
            STEP,
            "is_through and not scope.breached and not fleet.breached",
            "is_through",
        ),
        focus="groups",
    ),
)

_OF_STAGES: tuple[Mutant, ...] = (
    fault(
        "S2",
        "zero means all",
        (STAGES, "limit.value == 0 and not limit.written:", "limit.value == 0:"),
    ),
    fault(
        "S7",
        "an unknown group holds nothing",
        (STAGES, "hold = hold or _absent(ref, bool(matched), selection)", "hold = None"),
    ),
    fault(
        "S5",
        "mandatory groups go in the placement's order",
        (
            STAGES,
            "return tuple(taken.values()), rest, hold",
            "return tuple(taken[k] for k in sorted(taken)), rest, hold",
        ),
        focus="order",
    ),
    fault(
        "S5",
        "a cluster that is named twice is in the last group",
        (BASE, "in sorted(pages.items()):", "in sorted(pages.items(), reverse=True):"),
        (BASE, "return Selection(tuple(ordered),", "return Selection(tuple(reversed(ordered)),"),
        focus="twice",
    ),
    fault(
        "L2",
        "a cluster that is done keeps its slot",
        (
            BASE,
            "HOLDS_SLOT = frozenset({",
            "HOLDS_SLOT = frozenset({Phase.FAILED, Phase.SOAKED, ",
        ),
    ),
)

_OF_WAITS: tuple[Mutant, ...] = (
    fault(
        "S13",
        "success needs no soak",
        (JUDGE, "soaked_at = _soaked_at(since, timing)", "soaked_at = since"),
    ),
    fault(
        "S13",
        "a soak runs on while nobody looks",
        (JUDGE, "soaked_at = _soaked_at(since, timing)", "soaked_at = since + timing.soak"),
        focus="outages",
    ),
    fault(
        "S13",
        "late news of an outage ends no soak",
        (
            JUDGE,
            "unseen = [span for span in timing.outages if span[1] - since > timing.lease]",
            "unseen = [(begin, end - timing.lease) for begin, end in timing.outages]",
        ),
        focus="outages",
    ),
    fault(
        "L2",
        "an outage puts off soaks that begin after it",
        (
            JUDGE,
            "if span[1] - since > timing.lease]",
            "if span[1] > since]",
        ),
        focus="outages",
    ),
    fault(
        "S13",
        "a soak begins with the touch",
        (
            JUDGE,
            "    since = standing.since or standing.touched\n",
            "    since = standing.touched\n",
        ),
    ),
    fault(
        "S13",
        "half a deadline",
        (
            JUDGE,
            "span = timing.deadline\n",
            "span = timing.deadline / 2 if timing.deadline is not None else None\n",
        ),
    ),
    fault(
        "S13",
        "a failure is final before its deadline",
        (
            JUDGE,
            "return Judgement(Phase.FAILING, limit, reason)",
            "return Judgement(Phase.FAILED, None, reason)",
        ),
    ),
    fault(
        "S13",
        "the grace of a failure begins with the touch",
        (
            JUDGE,
            "counts_at = _grace_over(standing.since or standing.touched, timing)",
            "counts_at = _grace_over(standing.touched, timing)",
        ),
    ),
    fault(
        "L3",
        "success that came too late was in time",
        (JUDGE, "if limit is not None and heard > limit:", "if False:"),
        focus="deadlines",
    ),
    fault(
        "S1",
        "who soaks on an older revision holds no slot",
        (
            JUDGE,
            "    if judged.phase.holds_slot:\n",
            "    if judged.phase.holds_slot and judged.phase is not Phase.SOAKING:\n",
        ),
    ),
    fault(
        "S1",
        "those tried again need no slot",
        (
            JUDGE,
            "if standing.verdict is _IS_RETRIED:\n        return _WAITS",
            "if standing.verdict is _IS_RETRIED:\n        return Judgement(Phase.OUTDATED)",
        ),
        focus="operations",
    ),
    fault(
        "L1",
        "nobody looks at the deadline within the grace",
        (
            JUDGE,
            "sooner = counts_at if limit is None else min(counts_at, limit)",
            "sooner = counts_at",
        ),
    ),
    fault("L1", "no timer", (LEDGER, "due_at = soonest[0] if soonest else None", "due_at = None")),
    fault(
        "L1",
        "at the very instant nothing has changed yet",
        (
            LEDGER,
            "while self._due and self._due[0][0] <= now:",
            "while self._due and self._due[0][0] < now:",
        ),
    ),
    fault(
        "L3",
        "silence has no end",
        (
            JUDGE,
            "        silent = standing.health is Health.SILENT\n",
            "        silent = standing.health is Health.SILENT\n        if silent:\n            return Judgement(Phase.PROGRESSING)\n",
        ),
    ),
    fault(
        "L3",
        "an outage before the touch puts the deadline off",
        (JUDGE, "        if end <= start:\n            continue\n", ""),
        (JUDGE, "end - max(begin, start)", "end - begin"),
        focus="outages",
    ),
    fault(
        "S8",
        "the held stand in line",
        (
            LEDGER,
            "if cluster in self._rollout.held:",
            "if False:",
        ),
        focus="operations",
    ),
)

OF_DECISIONS = (*_OF_STEPS, *_OF_STAGES, *_OF_WAITS)
