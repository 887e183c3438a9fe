"""Faults in what is written: works, removals, what is said, and how it gets there."""

from tests.safety.mutating import Mutant, fault

GOES, SETS, SAID, STANDS, WORKS = (
    f"planning.{name}" for name in ("removals", "replicasets", "status", "standing", "documents")
)
INSTALLED = "planning.addons_install"
IO, ENGINE = "runtime.io", "runtime.engine"
RS, ADDON = ("replicaset",), ("addon",)

_OF_REMOVALS: tuple[Mutant, ...] = (
    fault(
        "S11",
        "no live read",
        (IO, "if cluster in (yield ReadSelected(placement)):", "if False:"),
    ),
    fault(
        "S11",
        "the live read asks the first placement alone",
        (IO, "for placement in placements:", "for placement in placements[:1]:"),
        focus="pairs",
    ),
    fault(
        "S11",
        "no brake",
        (GOES, "if count <= policy.brake_least or", "if True or"),
        (GOES, "if is_ocm or not held or count * 2 <= total:", "if True:"),
        focus="exodus",
    ),
    fault(
        "S11",
        "most of a small fleet may go at once",
        (GOES, "if is_ocm or not held or count * 2 <= total:", "if True:"),
        focus="few",
    ),
    fault(
        "S11",
        "the brake forgets what went before",
        (
            GOES,
            "recent = [(at, n) for at, n in head.removals if now < at + policy.brake_window]",
            "recent = []",
        ),
        focus="exodus",
    ),
    fault(
        "S11",
        "one edit lifts the brake for good",
        (
            GOES,
            "if since is not None and now < since + policy.brake_window:",
            "if since is not None:",
        ),
        focus="edited",
    ),
    fault(
        "S11",
        "one placement that can be read is enough",
        (
            GOES,
            "all(s.is_settled for s in workload.shares.values())",
            "any(s.is_settled for s in workload.shares.values())",
        ),
        (INSTALLED, "all(s.is_settled for s in shares)", "any(s.is_settled for s in shares)"),
        focus="pairs",
    ),
    fault(
        "S8",
        "a held cluster that is deselected loses its work",
        (GOES, "sorted(workload.strays - workload.held)", "sorted(workload.strays)"),
        (
            INSTALLED,
            "_staying(workload, workload.strays - workload.held)",
            "_staying(workload, workload.strays)",
        ),
        focus="operations",
    ),
    fault(
        "S11",
        "works of a missing placement go",
        ("rollouts.share", "not (reading.is_torn or reading.is_gone)", "not reading.is_torn"),
        focus="pairs",
    ),
)

_OF_PROFILES: tuple[Mutant, ...] = (
    fault(
        "R4",
        "in profile ocm a refused write is tried again at once",
        ("rollouts.terms", " if c not in refused)", ")"),
        focus="ocm",
    ),
    fault(
        "L1",
        "in profile ocm a work that goes is written to again and again",
        (
            "planning.replicasets",
            "if self.workload.is_ocm and self.workload.is_going(cluster):",
            "if False:",
        ),
        kinds=RS,
        focus="ocm",
    ),
)

_OF_WORKS: tuple[Mutant, ...] = (
    fault(
        "S9",
        "names follow the generation",
        (
            WORKS,
            "name = work_name(replicaset.key)",
            'name = work_name(f"{replicaset.key}-{replicaset.generation}")',
        ),
        kinds=RS,
    ),
    fault(
        "S9",
        "both own what they share",
        ("rollouts.workload", "mine = without(whole, taken)", "mine = whole"),
        kinds=RS,
        focus="pairs",
    ),
    fault(
        "S8",
        "the held are restored",
        (
            SETS,
            "sorted(share.live.astray - touched - self.workload.held)",
            "sorted(share.live.astray - touched)",
        ),
        kinds=RS,
        focus="operations",
    ),
    fault(
        "L4",
        "a broken watch stays broken",
        (ENGINE, "                self._watches.again(kind, now)", "                pass"),
        look="lossy",
    ),
    fault(
        "R4",
        "a refused write is tried again at once",
        ("planning.passes", "if rejection is None or rejection.retry_at <= self.now:", "if True:"),
        focus="refused",
    ),
)

_OF_STATUSES: tuple[Mutant, ...] = (
    fault(
        "S12",
        "selected is what carries",
        (SAID, '"desiredTotal": report.share.selected,', '"desiredTotal": report.carrying,'),
        kinds=RS,
    ),
    fault(
        "S12",
        "counts are of any generation",
        (
            "rollouts.tallies",
            "marks.append(is_current and condition.is_true)",
            "marks.append(condition.is_true)",
        ),
        kinds=RS,
    ),
    fault(
        "S12",
        "complete, though some have failed",
        (
            STANDS,
            "return WorkloadVerdict(Reason.COMPLETE_WITH_FAILURES if failed else Reason.COMPLETE, text)",
            "return WorkloadVerdict(Reason.COMPLETE, text)",
        ),
        kinds=RS,
    ),
)

OF_WRITES = (*_OF_PROFILES, *_OF_REMOVALS, *_OF_WORKS, *_OF_STATUSES)
