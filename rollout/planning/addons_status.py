"""Says how a ClusterManagementAddOn stands: its defaults, and one progression for each placement.

Reasons and messages of Progressing are OCM's, byte for byte; `RolloutHalted` is ours and says why
nothing goes on. Source: OCM add-on spec 2.2, 2.4, weakness A-12; semantics row 22.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from rollout.model import names
from rollout.model.addon import AddOn, Configs, InstallPlacement
from rollout.model.cluster_reasons import ClusterReason
from rollout.model.conditions import Condition, merge
from rollout.model.kinds import Obj, Ref
from rollout.model.waits import Reason, Wait
from rollout.model.writes import PatchStatus
from rollout.planning.passes import followed
from rollout.rollouts.addon_configs import reference_of
from rollout.rollouts.addon_share import AddOnShare
from rollout.rollouts.facts import Decided
from rollout.rollouts.holds import missing_news
from rollout.strategies.base import NOTHING_CLOSED, Closed, Phase, Step

_TIMED_OUT = (ClusterReason.TIMED_OUT, ClusterReason.UNREACHABLE)


@dataclass(frozen=True, slots=True)
class AddOnShareReport:
    """One placement with what is decided, and how many of its clusters are being written to."""

    share: AddOnShare
    decided: Decided
    touched: int

    @property
    def step(self) -> Step:
        return self.decided.step


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """OCM's numbers. ``total`` is of all that the placement selects, ``wanted`` of what it owns."""

    total: int
    wanted: int
    done: int
    progressing: int
    failed: int
    timed_out: int

    @property
    def is_complete(self) -> bool:
        return self.wanted > 0 and self.done == self.wanted

    @property
    def message(self) -> str:
        if self.is_complete:
            done, how = self.done, "completed with no errors"
        else:
            done, how = self.progressing + self.done, "progressing..."
        return (
            f"selected clusters {self.total}. configured addons {done}/{self.wanted} {how}, "
            f"{self.failed} failed {self.timed_out} timeout."
        )


def tally(report: AddOnShareReport) -> Tally:
    """Count a placement's clusters as OCM does; skipped ones are not wanted."""
    step, share = report.step, report.share
    failed = step.count(Phase.FAILED)
    late = _timed_out(report.decided) if failed else 0
    moving = sum(step.count(p) for p in (Phase.PROGRESSING, Phase.FAILING, Phase.SOAKING))
    return Tally(
        total=share.total,
        wanted=share.selected - step.count(Phase.SKIPPED),
        done=step.count(Phase.SOAKED),
        progressing=moving + report.touched,
        failed=max(failed - late, 0) + step.count(Phase.LOST),
        timed_out=min(late, failed),
    )


def _timed_out(decided: Decided) -> int:
    """How many finally failed by time alone."""
    return sum(
        judged.phase is Phase.FAILED and judged.reason in _TIMED_OUT
        for judged in decided.judgements()
    )


def status_of(
    addon: AddOn,
    ref: Ref,
    defaults: Configs,
    reports: Sequence[AddOnShareReport],
    *,
    halts: Mapping[str, Condition],
    now: datetime,
    shut: Closed = NOTHING_CLOSED,
) -> PatchStatus | None:
    """The status to write, or None where the object says it all already."""
    old: Obj = addon.raw.get("status") or {}
    status: Obj = {"defaultconfigReferences": [reference_of(config) for config in defaults]}
    if addon.is_managed:
        before = {
            (p.get("namespace"), p.get("name")): p
            for p in old.get("installProgressions") or []
            if all(isinstance(p.get(part), str | None) for part in ("namespace", "name"))
        }
        status["installProgressions"] = [
            _progression(report, before, halts[report.share.placement.key], now=now, shut=shut)
            for report in reports
        ]
    if all(_same(old.get(key), value) for key, value in status.items()):
        return None
    return PatchStatus(ref, status, addon.version)


def _same(old: object, new: list[Obj]) -> bool:
    return (old or []) == new


def _progression(
    report: AddOnShareReport,
    before: Mapping[tuple[object, object], Obj],
    halted: Condition,
    *,
    now: datetime,
    shut: Closed,
) -> Obj:
    """A progression; what was applied is carried over where the same objects are referred to."""
    share = report.share
    counted = tally(report)
    is_done = counted.is_complete and share.hold is None
    old = before.get((share.placement.namespace, share.placement.name)) or {}
    kept = _carried(old, share.configs)
    references: list[Obj] = []
    for config in share.configs:
        reference = reference_of(config)
        wire = reference["desiredConfig"]
        for field in ("lastAppliedConfig", "lastKnownGoodConfig"):
            value = wire if is_done else (kept or {}).get(str(config.ref), {}).get(field)
            if value is not None:
                reference[field] = value
        references.append(reference)
    progressing = Condition(
        names.PROGRESSING,
        "False" if is_done else "True",
        "Completed" if is_done else "Progressing",
        counted.message,
    )
    conditions: list[Obj] = (old.get("conditions") or []) if kept is not None else []
    said = followed(shut, conditions, halted.observed_generation or 0)
    return {
        "namespace": share.placement.namespace,
        "name": share.placement.name,
        "configReferences": references,
        "conditions": merge(conditions, [progressing, halted, *said], now),
    }


def _carried(old: Obj, configs: Configs) -> dict[str, Obj] | None:
    """The old references by object, where they name all of the new ones; else None."""
    found: dict[str, Obj] = {}
    for reference in old.get("configReferences") or []:
        desired = reference.get("desiredConfig") or {}
        resource, group = reference.get("resource"), reference.get("group") or ""
        kind = f"{resource}.{group}" if group else f"{resource}"
        found[f"{kind}/{desired.get('namespace') or ''}/{desired.get('name')}"] = reference
    return found if all(str(config.ref) in found for config in configs) and old else None


def progression_of(addon: AddOn, placement: InstallPlacement) -> Obj:
    """What the status says of a placement now; empty where it says nothing."""
    place = (placement.namespace, placement.name)
    said = (addon.raw.get("status") or {}).get("installProgressions") or []
    return next((p for p in said if (p.get("namespace"), p.get("name")) == place), {})


def is_of(progression: Obj, configs: Configs) -> bool:
    """Whether it names these configurations with these hashes; "" stands for one that was missing."""
    said = [each.get("desiredConfig") for each in progression.get("configReferences") or []]
    now = [reference_of(config)["desiredConfig"] for config in configs]
    return len(said) == len(now) and all(
        old in (new, {**new, "specHash": ""}) for old, new in zip(said, now, strict=True)
    )


def halted(
    report: AddOnShareReport, hold: Wait | None, removals: Wait | None, generation: int
) -> Condition:
    """Why nothing goes on at a placement, or that nothing stands in the way."""
    step = report.step
    why = hold or step.halt or report.share.hold or removals or step.hold
    why = why or step.gate
    if why is None and any(stage.blocked == Reason.CONCURRENCY_ZERO for stage in step.stages):
        why = Wait(Reason.CONCURRENCY_ZERO, "maxConcurrency is zero; raise it to go on")
    if why is not None:
        return Condition(
            names.ROLLOUT_HALTED, "True", why.reason, why.message, observed_generation=generation
        )
    reason, text = Reason.ROLLING_OUT, missing_news(report.share.live.ledger.rollout.timing)
    if step.complete:
        lacking = step.count(Phase.FAILED) + step.count(Phase.LOST)
        reason = Reason.COMPLETE_WITH_FAILURES if lacking else Reason.COMPLETE
    return Condition(names.ROLLOUT_HALTED, "False", reason, text, observed_generation=generation)
