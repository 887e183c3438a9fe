"""Kept faults about gates of analyses, and about what is measured in the background."""

from tests.safety.mutating import fault, in_days

GATED_FAULTS = in_days(
    "gated",
    fault(
        "S25",
        "an outage opens a gate",
        (
            "strategies.gate_kinds",
            "            return Wait(Reason.METRIC_UNREACHABLE,",
            "            return None and Wait(Reason.METRIC_UNREACHABLE,",
        ),
    ),
    fault(
        "S25",
        "an outage in the background holds nothing",
        (
            "rollouts.holds",
            "if (unread := found.get(AnalysisPhase.ERROR)) is not None:",
            "if (unread := found.get(AnalysisPhase.ERROR)) is not None and False:",
        ),
    ),
    fault(
        "S26",
        "a failed analysis holds nothing",
        ("rollouts.holds", "if verdict.phase is AnalysisPhase.FAILED:", "if False:"),
    ),
    fault(
        "S25",
        "a gate opens for an approval while it is measured",
        (
            "strategies.gate_kinds",
            "            case AnalysisPhase.RUNNING:\n",
            "            case AnalysisPhase.RUNNING if not at.approval(now)[0]:\n",
        ),
    ),
    fault(
        "S18",
        "a run counts whoever owns it",
        (
            "fleet.analyses",
            "return run if run is not None and uid and uid in run.owners else None",
            "return run",
        ),
    ),
    fault(
        "S18",
        "a verdict that somebody writes is believed",
        ("api.analysis_run", "result = worked_out(metrics, said)", "result = said"),
    ),
    fault(
        "L1",
        "a run that nobody can read is made again and again",
        (
            "planning.analysis_runs",
            "status_of(unreadable(joined(run.problems), now))",
            "status_of(replace(unreadable(joined(run.problems), now), stopped=True))",
        ),
    ),
    fault(
        "L1",
        "what nobody asks about any more halts for ever",
        ("rollouts.holds", "return verdict.template == intents.analysis", "return True"),
    ),
    fault(
        "L1",
        "what lay where a run does goes, and nobody makes the run",
        (
            "fleet.analyses",
            "if before is not None and run is None and self.own(before) is None:",
            "if False:",
        ),
    ),
    fault(
        "S21",
        "a gate that opens lets closed clusters be touched",
        (
            "rollouts.live",
            "            shut=given.closed.touch,\n        )\n        return StepMade",
            "            shut=given.closed.touch if not head.opened else NOTHING_CLOSED.touch,\n        )\n        return StepMade",
        ),
    ),
    fault(
        "S26",
        "what was left before it was measured has soaked",
        (
            "strategies.judge",
            "is_unproved = timing.measured is not None and found.verdict is Verdict.SOAKED",
            "is_unproved = False",
        ),
    ),
)
