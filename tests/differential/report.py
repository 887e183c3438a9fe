"""Are the answers what they should be, and how many inputs were compared without an excuse?"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from rollout.strategies import ocm
from rollout.strategies.base import Step, Verdict
from tests.differential.case import Case
from tests.differential.inputs import cases
from tests.differential.rows import ROWS, rows_of


def failed_now(step: Step) -> set[str]:
    return {s.cluster for s in step.settled if s.verdict is Verdict.FAILED}


def wrong(case: Case, step: Step) -> str:
    """How the strict answer differs from what the rows say, "" where it does not."""
    if sorted(step.touch) != sorted(case.wanted()):
        return f"touches {list(step.touch)}, by the rows {case.wanted()}"
    if failed_now(step) != case.finally_failed():
        return f"fails {sorted(failed_now(step))}, by the rows {sorted(case.finally_failed())}"
    if (step.halt is not None) != case.breached():
        return f"halt is {step.halt}, by the rows {case.breached()}"
    if (step.hold is not None) != case.is_held():
        return f"hold is {step.hold}, by the rows {case.is_held()}"
    members = sum(n for stage in step.stages for n in stage.phases.values())
    if members != len(case.clusters) + len(case.lost):
        return f"{members} clusters counted"
    if not case.clusters and step.complete:
        return "complete without a target"
    return ""


def unlike(case: Case, step: Step, answer: ocm.Answer) -> str:
    """How the two profiles differ, "" where they agree."""
    if answer.error is not None:
        return f"ocm refuses: {answer.error}"
    told = set(answer.to_apply) - {c for c, k in case.known.items() if not k.old}
    if set(step.touch) != told:
        return f"strict touches {sorted(step.touch)}, ocm {sorted(told)}"
    late = {record.cluster for record in answer.timed_out}
    if failed_now(step) != late:
        return f"strict times out {sorted(failed_now(step))}, ocm {sorted(late)}"
    if (step.halt is not None) != answer.breach:
        return f"strict halts: {step.halt}, ocm: {answer.breach}"
    if answer.removed:
        return f"ocm removes {[r.cluster for r in answer.removed]}"
    return ""


@dataclass(slots=True)
class Report:
    """How often each row applied, and alone; how often none did; what is wrong."""

    total: int = 0
    alike: int = 0
    applied: Counter[int] = field(default_factory=Counter)
    alone: Counter[int] = field(default_factory=Counter)
    made_a_difference: Counter[int] = field(default_factory=Counter)  # alone, and it differed
    met_alike: Counter[str] = field(default_factory=Counter)  # what inputs without a row came to
    met: Counter[str] = field(default_factory=Counter)  # what all inputs came to
    problems: list[str] = field(default_factory=list)

    @property
    def share(self) -> float:
        return self.alike / self.total


def compare(count: int, seed: int = 1) -> Report:
    report = Report()
    for case in cases(count, seed):
        report.total += 1
        rows, step, answer = rows_of(case), case.strict(), case.ocm()
        report.applied.update(rows)
        problem, difference = wrong(case, step), unlike(case, step, answer)
        if problem:
            report.problems.append(f"strict {problem}: {case}")
        report.met.update(_met(case, step))
        if not rows:
            report.alike += 1
            report.met_alike.update(_met(case, step))
            if difference:
                report.problems.append(f"{difference}: {case}")
        elif len(rows) == 1:
            report.alone[rows[0]] += 1
            report.made_a_difference[rows[0]] += bool(difference)
    return report


def _met(case: Case, step: Step) -> Iterator[str]:
    """What is worth counting about an answer."""
    yield case.kind
    if step.touch:
        yield "touched"
    if failed_now(step):
        yield "timed out"
    if step.halt is not None:
        yield "halted"
    if step.hold is not None:
        yield step.hold.reason
    if case.mandatory:
        yield "mandatory groups"


def main(arguments: list[str]) -> int:
    count = int(arguments[0]) if arguments else 20_000
    report = compare(count)
    print(f"{report.alike} of {count} inputs ({report.share:.0%}) are excused by no row")
    print("row  applied  alone  and differed")
    for row in ROWS:
        alone, differed = report.alone[row], report.made_a_difference[row]
        print(f"{row:3}  {report.applied[row]:7}  {alone:5}  {differed:5}")
    print("excused by no row:", _listed(report.met_alike))
    print("all:", _listed(report.met))
    for problem in report.problems[:20]:
        print(problem)
    print(f"{len(report.problems)} answers are not what they should be")
    return 1 if report.problems else 0


def _listed(met: Counter[str]) -> str:
    return ", ".join(f"{n} {what}" for what, n in sorted(met.items()))
