"""What an analysis has found, as far as a rollout is concerned."""

from dataclasses import dataclass
from enum import StrEnum

ANALYSIS_GATE = "analysis"
"""The kind of a gate that opens when an analysis is Successful; its argument names the template."""


class AnalysisPhase(StrEnum):
    """How a measurement, a metric or a whole run stands; the worst first."""

    FAILED = "Failed"
    ERROR = "Error"
    """It could not be measured. Measuring goes on, and the phase ends when it can be again."""
    INCONCLUSIVE = "Inconclusive"
    """A person has to decide."""
    RUNNING = "Running"
    SUCCESSFUL = "Successful"

    @property
    def is_final(self) -> bool:
        """Whether a metric in this phase is measured no more."""
        return self in (
            AnalysisPhase.FAILED,
            AnalysisPhase.INCONCLUSIVE,
            AnalysisPhase.SUCCESSFUL,
        )


PHASES = tuple(AnalysisPhase)
"""All phases, the worst first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisVerdict:
    """How one run of an analysis stands. ``template`` is what was measured: another one counts for nobody
    who asks for this one.

    ``at`` is the gate that asked for it, as `rollout.strategies.gates.gate_key` calls it, or "" in the
    background. ``cluster`` is "" unless it is about one cluster alone. ``attempt`` is the last retry
    of the rollout (of a cluster: when it was touched); the verdict counts for no other one.
    """

    run: str
    template: str
    revision: str
    attempt: str
    phase: AnalysisPhase
    message: str = ""
    at: str = ""
    cluster: str = ""

    def counts_for(self, revision: str, attempt: str) -> bool:
        """Whether it is about this attempt."""
        return (self.revision, self.attempt) == (revision, attempt)

    def __str__(self) -> str:
        return f"run {self.run}: {self.message}" if self.message else f"run {self.run}"
