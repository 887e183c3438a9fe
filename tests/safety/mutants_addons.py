"""Faults that only add-ons can have."""

from dataclasses import replace

from tests.safety.mutating import Mutant, fault

ADDON, CONFIGS, PLANNER, SAID = (
    "rollouts.addon_workload",
    "rollouts.addon_configs",
    "planning.addons",
    "planning.addons_status",
)

OF_ADDONS: tuple[Mutant, ...] = tuple(
    replace(mutant, kinds=("addon",))
    for mutant in (
        fault(
            "S1",
            "configurations of its own jump the queue",
            (
                "rollouts.observations",
                "health=Health.FAILED, reason=reason, is_brought=False)",
                "health=Health.FAILED, reason=reason)",
            ),
            focus="own",
        ),
        fault(
            "S1",
            "who lacked something flies",
            (
                "rollouts.line",
                "before=(line.standing, line.cause)",
                'before=(None, "")',
            ),
            focus="own",
        ),
        fault(
            "S6",
            "works are always ready",
            (CONFIGS, "{names.APPLIED, names.AVAILABLE} <= true,", "True,"),
        ),
        fault(
            "S6",
            "works of another configuration count",
            (CONFIGS, "if not all(_matches(work.hashes, wanted) for work in mine):", "if False:"),
        ),
        fault(
            "S13",
            "what was applied once is deployed",
            (
                CONFIGS,
                "if is_applied(addon) and message not in (NOT_READY, MISMATCH, NO_WORKS):",
                "if is_applied(addon):",
            ),
        ),
        fault(
            "S7",
            "what is missing is a revision while reads are torn",
            (
                ADDON,
                "is_missing=lacking is not None,",
                "is_missing=lacking is not None and reading.hold is None,",
            ),
            focus="own",
        ),
        fault(
            "S7",
            "what is missing is rolled out",
            (
                ADDON,
                "lacking = hold_of(configs, self._missed, as_ocm=self.is_ocm)",
                "lacking = None",
            ),
            focus="own",
        ),
        fault(
            "L1",
            "what changed nothing wakes nobody",
            (
                "runtime.engine",
                "if is_touch(write) and event.version == precondition(write):",
                "if False:",
            ),
            focus="own",
        ),
        fault(
            "L2",
            "what would change nothing waits",
            (
                PLANNER,
                "if same and conditions == before and not touch.first:",
                "if same and conditions == before:",
            ),
            focus="operations",
        ),
        fault(
            "S8",
            "the paused are told to change",
            (
                PLANNER,
                "is_kept = told.configs != carried and (is_held or is_shut)",
                "is_kept = False",
            ),
        ),
        fault(
            "S9",
            "both own what they share",
            ("rollouts.workload", "mine = without(whole, taken)", "mine = whole"),
            focus="pairs",
        ),
        fault(
            "S9",
            "the first placement wins",
            (ADDON, "later_first = True", "later_first = False"),
            focus="pairs",
        ),
        fault(
            "S11",
            "what a person installed goes",
            (
                ADDON,
                "is_ours = installed is not None and names.INSTALLED_BY in installed.annotations",
                "is_ours = installed is not None",
            ),
            focus="own",
        ),
        fault(
            "S18",
            "an owner that was taken away is put back without a word",
            (
                "planning.addons_install",
                "return mark == addon.uid and addon.uid not in installed.owner_uids",
                "return False",
            ),
        ),
        fault(
            "S12",
            "what others own is counted",
            (
                SAID,
                "share.selected - step.count(Phase.SKIPPED),",
                "share.total - step.count(Phase.SKIPPED),",
            ),
            focus="pairs",
        ),
        fault(
            "S12",
            "complete, though some have failed",
            (
                SAID,
                "reason = Reason.COMPLETE_WITH_FAILURES if lacking else Reason.COMPLETE",
                "reason = Reason.COMPLETE",
            ),
        ),
        fault(
            "S16",
            "nobody is everybody",
            (
                SAID,
                "return self.wanted > 0 and self.done == self.wanted",
                "return self.done == self.wanted",
            ),
        ),
        fault(
            "R5",
            "a kind that is wanted again is not read",
            (
                "fleet.addons",
                "            self.wanted = frozenset(wanted)\n",
                "            for kind in self.wanted - wanted:\n                self.forget(kind)\n            self.wanted = frozenset(wanted)\n",
            ),
            focus="own",
        ),
        fault(
            "R8",
            "the status names clusters",
            (
                SAID,
                '        "conditions": merge(conditions, [progressing, halted, *said], now),\n',
                '        "conditions": merge(conditions, [progressing, halted, *said], now),\n        "clusters": sorted(share.live.ledger.standings),\n',
            ),
            look="sizes",
        ),
    )
)
