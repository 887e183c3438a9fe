"""Faults in what the engine does when people step in: holds, gates, approvals, retries, rollbacks."""

from dataclasses import replace

from tests.safety.mutating import Mutant, fault

LIVE, TERMS = "rollouts.live", "rollouts.terms"
BACK, SOAKED, HOLDS, GATES = (
    "strategies.retreat",
    "rollouts.line",
    "rollouts.holds",
    "strategies.gates",
)
RS = ("replicaset",)

_OF_HOLDS: tuple[Mutant, ...] = (
    fault("S8", "a pause is ignored", (HOLDS, "    if intents.paused:\n", "    if False:\n")),
    fault(
        "S8",
        "nobody looks whether it is frozen",
        (
            "fleet.consents",
            "standing = [each for each in self._freezes.values() if each.stands(now)]",
            "standing = []",
        ),
        focus="operations",
    ),
    fault(
        "S8",
        "nobody listens to who aborts",
        (
            TERMS,
            "asked = revision_hold(terms.revision, terms.intents, terms.approvals, given.now)",
            "asked = None",
        ),
        focus="operations",
    ),
)

_OF_WAIVERS: tuple[Mutant, ...] = (
    fault(
        "S20",
        "a waiver is for ever",
        (
            "rollouts.head",
            "mine = self.revision\n        return frozenset(",
            "return frozenset(waivers)\n        return frozenset(",
        ),
    ),
)

_OF_GATES: tuple[Mutant, ...] = (
    fault(
        "S14",
        "an approval is of any revision",
        (GATES, "            and each.revision == self.revision\n", ""),
        (GATES, "each.counts(self.revision, now)", "each.counts(each.revision, now)"),
        focus="gates",
    ),
    fault(
        "S14",
        "an approval never ends",
        (
            "model.approvals",
            "return self.revision == revision and (self.expires is None or now < self.expires)",
            "return self.revision == revision",
        ),
        focus="gates",
    ),
    fault(
        "S14",
        "a gate stays open",
        (
            "rollouts.head",
            "begun = self._begun_anew()",
            "begun = replace(self, passed=none, completed=False)",
        ),
        focus="gates",
    ),
    fault(
        "L2",
        "a gate that has opened shuts when its approval ends",
        (GATES, "stands_at(ref, stage) and key not in opened", "stands_at(ref, stage)"),
        focus="early",
    ),
    fault(
        "L1",
        "nobody looks when an approval ends",
        (
            TERMS,
            "recheck_at = min(ends, default=step.recheck_at)",
            "recheck_at = step.recheck_at",
        ),
        focus="gates",
    ),
    fault(
        "S14",
        "a plan says all at once",
        (
            "analysis.forecast",
            "tuple(cluster for cluster in live.last.touch if cluster in members & first)",
            "tuple(due)",
        ),
        kinds=RS,
        look="foreseen",
    ),
    fault(
        "O1",
        "all wait for a slot",
        (
            "account.waits",
            "    match stage.blocked:\n",
            '    return WaitAccount("SlotsFull", None, "x")\n    match stage.blocked:\n',
        ),
        kinds=RS,
        focus="operations",
    ),
)

_OF_ROLLBACKS: tuple[Mutant, ...] = tuple(
    replace(mutant, kinds=RS, focus="back")
    for mutant in (
        fault(
            "S10",
            "any older revision will do",
            (SOAKED, "for each in line.soaked:", "for each in sorted(kept):"),
        ),
        fault(
            "S10",
            "what is up has soaked",
            (
                "rollouts.line",
                "if verdict is Verdict.SOAKED and left.revision != undone:",
                'if left.health.value == "Succeeded" and left.revision != undone:',
            ),
        ),
        fault(
            "S10",
            "all go back at once",
            (
                BACK,
                "free = 0 if hold else max(0, limit - in_flight)",
                "free = 0 if hold else len(waiting)",
            ),
        ),
        fault(
            "S10",
            "failures on the way back do not count",
            (
                BACK,
                "    if failed <= budget and limits.limit.value:\n",
                "    if limits.limit.value:\n",
            ),
        ),
        fault(
            "S10",
            "one more may fail on the way back",
            (
                BACK,
                "_hold(failed, limits.budget.of(total), limits)",
                "_hold(failed, limits.budget.of(total) + 1, limits)",
            ),
        ),
        fault(
            "S8",
            "the held go back",
            (
                BACK,
                "elif cluster in rollout.held:",
                "elif False:",
            ),
        ),
        fault(
            "S10",
            "all on an older revision were given it back",
            (
                BACK,
                "if rollout.is_on_it(standing) or standing.touched < began:",
                "if rollout.is_on_it(standing):",
            ),
        ),
        fault(
            "S10",
            "the bar is forgotten",
            ("rollouts.record", '_read_rollback(body.get("rollback")),', "None,"),
        ),
        fault(
            "S10",
            "those that are back go forward",
            (
                LIVE,
                "            held = going_back(head.rollback",
                "            held = None if back.retreat.is_done else going_back(head.rollback",
            ),
        ),
        fault(
            "S10",
            "goes back unasked",
            (HOLDS, "    if intents.rollback is not RollbackMode.AUTOMATIC:\n", "    if False:\n"),
        ),
        fault(
            "S10",
            "what is taken back in one placement goes on in another",
            (TERMS, "by = barred(terms.revision, given.barred or head.barred_by)", "by = None"),
        ),
    )
)

OF_PEOPLE = (*_OF_HOLDS, *_OF_WAIVERS, *_OF_GATES, *_OF_ROLLBACKS)
