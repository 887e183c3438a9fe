"""Kept faults about releases that are measured and told. Promises S25 to S27."""

from tests.safety.mutating import fault, in_days

ANALYSIS_FAULTS = in_days(
    "analyses",
    fault(
        "S25",
        "an outage counts as a failed measurement",
        (
            "measuring.verdicts",
            "phase, message = AnalysisPhase.ERROR, sample.error",
            "phase, message = AnalysisPhase.FAILED, sample.error",
        ),
    ),
    fault(
        "S25",
        "an outage counts as a measurement",
        ("measuring.verdicts", "count=known.count + (not is_error)", "count=known.count + 1"),
    ),
    fault(
        "S25",
        "what was never good is successful",
        ("measuring.verdicts", "    if not known.successful:\n", "    if False:\n"),
    ),
    fault(
        "S25",
        "more unclear measurements than are tolerated are",
        ("measuring.verdicts", "if known.inconclusive > metric.inconclusive_limit:", "if False:"),
    ),
    fault(
        "S26",
        "a cluster soaks without its analysis",
        ("strategies.judge", "if measured in (None, AnalysisPhase.SUCCESSFUL):", "if True:"),
    ),
    fault(
        "S26",
        "a failed analysis is no failure of its cluster",
        (
            "strategies.judge",
            "        return Judgement(Phase.FAILED, None, ANALYSIS_FAILED)\n",
            "        return Judgement(Phase.SOAKING, None, ANALYSIS_FAILED)\n",
        ),
    ),
    fault(
        "S26",
        "one failure fewer than there are counts",
        (
            "measuring.verdicts",
            "known.failed > metric.failure_limit",
            "known.failed > metric.failure_limit + 1",
        ),
    ),
    fault(
        "S26",
        "what is given back waits for an analysis that nobody makes",
        ("strategies.retreat", "unmeasured(rollout.timing)", "rollout.timing"),
    ),
    fault(
        "S27",
        "a failed attempt counts as delivered",
        ("planning.deliveries", "    if not fault:\n", "    if True:\n"),
    ),
    fault(
        "S27",
        "a revision that comes back is told under its old ids",
        (
            "planning.notifications",
            "_digest(workload, happening, at)",
            "_digest(workload, happening)",
        ),
    ),
    fault(
        "S27",
        "what was not told goes with its revision",
        (
            "planning.notifications",
            "is_over = each.revision not in current and each.delivery.is_over",
            "is_over = each.revision not in current",
        ),
    ),
    fault(
        "S27",
        "each pass tells it again",
        (
            "planning.notifications",
            'return f"{workload.ref.name[:200]}-{_digest(workload, happening, channel.name)}"',
            'return f"{workload.ref.name[:200]}-{_digest(workload, happening, channel.name, str(id(happening)))}"',
        ),
    ),
)
