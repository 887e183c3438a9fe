"""What an agent's report says: the complete table of conditions, and two flaws of agents as stories."""

from itertools import product

import pytest

from rollout.model.conditions import Condition
from rollout.model.work import Work
from rollout.strategies.base import Health, Phase, Standing, Timing
from rollout.strategies.judge import judge
from rollout.strategies.states import Report, is_verified, read_report
from rollout.strategies.step import decide
from tests.support.fleets import MIN, NEW, SEC, T0, fleet, spec_of

GENERATION = 3

# A condition in short: its status as T, F or U; a minus: of an older generation, a plus: of a later
# one, a question mark: of none; "-" alone: not there at all.
SEEN = {"": GENERATION, "-": GENERATION - 1, "+": GENERATION + 1, "?": None}
STATUS = {"T": "True", "F": "False", "U": "Unknown"}


def work(**conditions: str) -> Work:
    found = {}
    for kind, short in conditions.items():
        if short != "-":
            found[kind] = Condition(
                kind, STATUS[short[0]], observed_generation=SEEN[short[1:]], since=T0
            )
    return Work("c1", "w", generation=GENERATION, conditions=found)


ANY = ""
FROZEN, REFUSED = Report(Health.FAILED, "CompletedWorkFrozen"), Report(Health.FAILED, "ApplyFailed")
SILENT, PROGRESSING = Report(Health.SILENT), Report(Health.PROGRESSING)
SUCCEEDED, DEGRADED = Report(Health.SUCCEEDED), Report(Health.FAILED, "Degraded")
DOES_NOT_COUNT = "- T- F- U- T+ F+ T? F?"

# Rules in the template | Applied | Complete | Degraded | Progressing | Available | what it says.
# The first row that fits counts; an empty cell fits all. Semantics rows 9, 10 and 23.
DECISIONS: list[tuple[str, str, str, str, str, str, Report]] = [
    (ANY, f"{DOES_NOT_COUNT} U", "T-", ANY, ANY, ANY, FROZEN),
    (ANY, "T- F- U-", "T T+ T?", ANY, ANY, ANY, FROZEN),  # agents stamp Complete anew
    (ANY, f"{DOES_NOT_COUNT} U", ANY, ANY, ANY, ANY, SILENT),
    (ANY, "F", ANY, ANY, ANY, ANY, REFUSED),
    ("PD D", ANY, ANY, "T", ANY, ANY, DEGRADED),
    ("PD D", ANY, ANY, DOES_NOT_COUNT, ANY, ANY, PROGRESSING),
    ("PD P", ANY, ANY, ANY, "F", ANY, SUCCEEDED),
    ("PD P", ANY, ANY, ANY, ANY, ANY, PROGRESSING),
    (ANY, ANY, ANY, ANY, ANY, "T", SUCCEEDED),
    (ANY, ANY, ANY, ANY, ANY, ANY, PROGRESSING),
]
RULES = {"none": [], "P": ["Progressing"], "D": ["Degraded"], "PD": ["Progressing", "Degraded"]}
APPLIED = ["T", "F", "U", *DOES_NOT_COUNT.split()]
COMPLETE = ["-", "T", "T-", "T+", "T?", "F-"]
OTHERS = ["T", "F", "U", "-", "T-", "F-", "F+", "F?"]


def expected(*cells: str) -> Report:
    return next(report for *row, report in DECISIONS if fits(row, cells))


def fits(row: list[str], cells: tuple[str, ...]) -> bool:
    return all(
        not wanted or cell in wanted.split() for wanted, cell in zip(row, cells, strict=True)
    )


@pytest.mark.parametrize("rules", RULES)
def test_every_report_says_what_the_table_says(rules: str) -> None:
    names = frozenset(RULES[rules])
    met = set()
    for cells in product(APPLIED, COMPLETE, OTHERS, OTHERS, OTHERS):
        applied, complete, degraded, progressing, available = cells
        seen = work(
            Applied=applied,
            Complete=complete,
            Degraded=degraded,
            Progressing=progressing,
            Available=available,
        )
        report = read_report(seen, names)._replace(token="")

        assert report == expected(rules, *cells), (rules, cells)
        met.add(report)
    assert met >= {FROZEN, SILENT, REFUSED, PROGRESSING, SUCCEEDED}
    assert (DEGRADED in met) == ("D" in rules)


def test_degraded_while_not_progressing_is_a_failure() -> None:
    """Row 9: OCM's library calls this Succeeded."""
    seen = work(Applied="T", Progressing="F", Degraded="T")

    assert read_report(seen, frozenset({"Progressing", "Degraded"}))._replace(token="") == DEGRADED


def test_a_rule_for_another_condition_changes_nothing() -> None:
    seen = work(Applied="T", Available="T", Progressing="T", Degraded="T")

    assert read_report(seen, frozenset({"Complete"}))._replace(token="") == SUCCEEDED


@pytest.mark.parametrize(
    ("rules", "verified"), [("none", False), ("P", True), ("D", False), ("PD", True)]
)
def test_success_is_verified_only_by_a_progressing_rule(rules: str, verified: bool) -> None:
    assert is_verified(frozenset(RULES[rules])) is verified


# -- flaws of agents ----------------------------------------------------------------------------------

BOTH = frozenset({"Progressing", "Degraded"})
SETTLE = 15 * SEC


def heard(story: list[tuple[int, Work]], until: int) -> list[Phase]:
    """The phase at each second, where the hub hears the reports in ``story`` (second, work)."""
    timing = Timing(soak=SETTLE, deadline=10 * MIN, grace=MIN)
    known = Standing("c1", NEW, touched=T0, health=Health.SILENT, since=T0)
    phases = []
    told = dict(story)
    for second in range(until + 1):
        now = T0 + second * SEC
        if second in told:
            report = read_report(told[second], BOTH)
            if report.health is not known.health:
                known = Standing(
                    "c1",
                    NEW,
                    touched=T0,
                    health=report.health,
                    since=now,
                    verdict=None,
                    reason=report.reason,
                )
        phases.append(judge(known, NEW, timing, now).phase)
    return phases


def test_an_evaluation_of_the_old_object_under_the_new_generation_does_not_pass() -> None:
    """An agent can stamp what the old object says with the new generation: success stands to settle."""
    phases = heard(
        [
            (0, work(Applied="T-", Progressing="F", Degraded="F")),  # stamped before it was applied
            (
                3,
                work(Applied="T", Progressing="F", Degraded="F"),
            ),  # applied, still the old evaluation
            (
                13,
                work(Applied="T", Progressing="T", Degraded="F"),
            ),  # at last the new object is read
            (20, work(Applied="T", Progressing="F", Degraded="F")),
        ],
        until=40,
    )

    assert Phase.SOAKED not in phases[:35]
    assert phases[2:4] == [Phase.PROGRESSING, Phase.SOAKING]
    assert phases[12:14] == [Phase.SOAKING, Phase.PROGRESSING]
    assert phases[34:36] == [Phase.SOAKING, Phase.SOAKED]


def test_a_transition_time_kept_from_an_older_generation_ends_no_soak() -> None:
    """An agent can keep the transition time of the first installation: no agent's clock is read."""
    years_ago = Condition(
        "Progressing", "False", observed_generation=3, since=T0.replace(year=2020)
    )
    seen = work(Applied="T", Degraded="F")
    seen = Work("c1", "w", generation=3, conditions={**seen.conditions, "Progressing": years_ago})

    phases = heard([(5, seen)], until=21)

    assert phases[5:20] == [Phase.SOAKING] * 15
    assert phases[20] is Phase.SOAKED


def test_a_transition_time_kept_from_an_older_generation_ends_no_deadline() -> None:
    years_ago = Condition("Progressing", "True", observed_generation=3, since=T0.replace(year=2020))
    seen = work(Applied="T", Degraded="F")
    seen = Work("c1", "w", generation=3, conditions={**seen.conditions, "Progressing": years_ago})

    assert set(heard([(5, seen)], until=60)) == {Phase.PROGRESSING}


def test_a_completed_work_that_never_thaws_is_a_failure_that_counts() -> None:
    seen = work(Applied="T-", Complete="T-")

    phases = heard([(0, seen)], until=61)

    assert phases[59:61] == [Phase.PROGRESSING, Phase.FAILING]
    assert decide(fleet("F.", spec_of()), T0).halt is not None
