"""Would the suite notice with add-ons, too? Faults that only they can have."""

from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from rollout.fleet import addon_workload, addons, live
from rollout.fleet.addon_shares import Share
from rollout.fleet.addon_workload import AddOnWorkload
from rollout.fleet.membership import Membership
from rollout.fleet.observations import Observation
from rollout.fleet.selections import Reading
from rollout.fleet.unbrought import Unbrought
from rollout.model import names
from rollout.planning import addons_configs, addons_install, addons_status
from rollout.planning.addons import _Pass
from rollout.runtime import engine
from rollout.strategies.base import Health, Selection
from tests.safety.mutating import Mutant, always, swap


def _reads_nobody(real: Any) -> Any:
    """A placement that is missing selects nobody."""

    def read(*args: Any) -> Reading:
        found: Reading = real(*args)
        missing = found.hold is not None and found.hold.reason == "PlacementNotFound"
        return Reading(Selection()) if missing else found

    return read


def _the_first(real: Any) -> Any:
    """Of two placements the first one wins."""
    return lambda self, asked: real(self, reversed(list(asked)))


def _always_ready(real: Any) -> Any:
    return lambda obj: replace(real(obj), is_ready=True)


def _known_once_applied(real: Any) -> Any:
    """What was applied last counts as applied, whatever is deployed."""

    def read(addon: Any, *, gate: bool) -> Any:
        progressing = addon.conditions.get(names.PROGRESSING)
        if addon.references and addons_configs.is_applied(addon) and progressing is not None:
            done = replace(progressing, message=addons_configs.COMPLETED, reason="Completed")
            addon = replace(addon, conditions={**addon.conditions, names.PROGRESSING: done})
        return real(addon, gate=gate)

    return read


def _everything_is_ours(self: Any, cluster: str) -> None:
    is_there = self.installed(cluster) is not None
    is_stray = is_there and cluster not in self.members
    (self.strays.add if is_stray else self.strays.discard)(cluster)


def _with_what_others_own(real: Any) -> Any:
    return lambda report, now: replace(real(report, now), wanted=report.share.total)


def _all_of_none(tally: addons_status.Tally) -> bool:
    return tally.done == tally.wanted


def _as_if_touched(revision: str, reason: str) -> Observation:
    """What cannot be brought counts as brought: once it can be, it jumps the queue."""
    return Observation(revision, Health.FAILED, reason)


def _forgets_early(real: Any) -> Any:
    """A kind that nobody refers to for a moment is not read again."""

    def look(self: Any) -> None:
        before = self.wanted_kinds()
        real(self)
        for kind in before - self.wanted_kinds():
            self.forget(kind)

    return look


def _names_clusters(real: Any) -> Any:
    """The status lists everybody."""

    def progression(report: Any, *rest: Any) -> Any:
        return {**real(report, *rest), "clusters": sorted(report.share.live.ledger.standings)}

    return progression


def _as_if_new(real: Any) -> Any:
    """How a cluster stood before it could be brought nothing is forgotten."""
    return lambda self, cluster, standing: real(self, cluster, None)


def _only_if_it_is_said(share: Share) -> bool:
    return share.hold is not None and share.hold.reason == "ConfigNotFound"


def _only_news(real: Any) -> Any:
    """Another attempt at what is there already is not written, and so never begins."""

    def status(self: Any, *args: Any, touch: Any, **options: Any) -> Any:
        is_news = real(self, *args, touch=replace(touch, first=False), **options)
        return real(self, *args, touch=touch, **options) if is_news else None

    return status


def _twins() -> AbstractContextManager[Any]:
    """Clusters that two placements select are rolled out by both."""
    return patch.object(addon_workload, "without", lambda reading, taken: reading)


OF_ADDONS: tuple[Mutant, ...] = tuple(
    replace(mutant, kind="addon")
    for mutant in (
        Mutant(
            "S1",
            "configurations of its own jump the queue",
            lambda: patch.object(addon_workload, "unbrought", _as_if_touched),
            seed=42,
        ),
        Mutant("S6", "works are always ready", swap(addons, "read_addon_work", _always_ready)),
        Mutant(
            "S13",
            "what was applied once is deployed",
            swap(addon_workload, "read_health", _known_once_applied),
            seed=116,
        ),
        Mutant(
            "S7",
            "what is missing is a revision while reads are torn",
            lambda: patch.object(Share, "is_missing", property(_only_if_it_is_said)),
            seed=160175,
        ),
        Mutant("S7", "what is missing is rolled out", always(addon_workload, "hold_of", None)),
        Mutant("S5", "nobody wrote it down: drift", always(live, "carried_over", {}), seed=60049),
        Mutant("S1", "who lacked something flies", swap(Unbrought, "begin", _as_if_new), 141010),
        Mutant("L1", "what changed nothing wakes nobody", always(engine, "is_touch", False), 60696),
        Mutant(
            "L2", "what would change nothing waits", swap(_Pass, "_status", _only_news), seed=15
        ),
        Mutant("S8", "a pause is ignored", always(_Pass, "held", None), seed=20),
        Mutant("S9", "both own what they share", _twins),
        Mutant("S9", "the first placement wins", swap(Membership, "deal", _the_first)),
        Mutant("S11", "no brake", always(addons_install, "brake", None), seed=22),
        Mutant(
            "S11",
            "a missing placement uninstalls",
            swap(addon_workload, "read_placement", _reads_nobody),
            seed=1,
        ),
        Mutant(
            "S11",
            "what a person installed goes",
            lambda: patch.object(AddOnWorkload, "_place", _everything_is_ours),
            seed=382,
        ),
        Mutant(
            "S12", "what others own is counted", swap(addons_status, "tally", _with_what_others_own)
        ),
        Mutant(
            "S16",
            "nobody is everybody",
            lambda: patch.object(addons_status.Tally, "is_complete", property(_all_of_none)),
            seed=5,
        ),
        Mutant(
            "R5",
            "a kind that is wanted again is not read",
            swap(addons.AddOns, "_look_for_kinds", _forgets_early),
            seed=349,
        ),
        Mutant(
            "R8",
            "the status names clusters",
            swap(addons_status, "_progression", _names_clusters),
            look="sizes",
        ),
    )
)
