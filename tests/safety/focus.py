"""What is a history about? Part of them look for trouble in one place, so that rare states are reached often.

Which one a seed has follows from the seed alone. Each focus changes a setting that was drawn for anything,
with dice of its own: without a focus a seed stands for what it always stood for.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from random import Random

from rollout.model.names import GATES, ROLLBACK, ROLLBACK_CONCURRENCY, ROLLBACK_FAILURES
from tests.safety.focus_asked import ASKED
from tests.safety.focus_latest import LATEST, WEIGHTS
from tests.safety.focus_newer import NEWER, NEWEST
from tests.safety.setting import Act, Setting, draw_any, failing
from tests.safety.sharpening import (
    Sharpen,
    acts,
    in_rings,
    mandatory,
    quietly,
    strategies,
    with_acts,
    with_two,
)
from tests.support.faults import Rates

SHARE = 0.6
"""Of all histories so many have a focus."""
NEWER_SHARE = 0.1
"""Of all histories so many have a newer one; the other seeds stand for what they stood for before."""
NEWEST_SHARE = 0.06
"""As before, with one of the newest."""
SALT = 336
"""Such that the histories by which kept faults were noticed stand for what they stood for before."""


LATEST_SHARE = 0.35
"""As before, with one of those that were drawn last; half of these have agents of the suite."""


def focus_of(seed: int) -> str:
    """What the history of this seed is about, "" for nothing in particular."""
    dice = Random(f"latest:{seed}")
    if dice.random() < LATEST_SHARE:
        names = sorted(LATEST)
        return dice.choices(names, [WEIGHTS.get(name, 1) for name in names])[0]
    return older_focus(seed)


def older_focus(seed: int) -> str:
    """What it was about before the latest ones were drawn."""
    dice = Random(f"newest:{SALT}:{seed}")
    if dice.random() < NEWEST_SHARE:
        return dice.choice(sorted(NEWEST))
    dice = Random(f"newer:{seed}")
    if dice.random() < NEWER_SHARE:
        return dice.choice(sorted(NEWER))
    dice = Random(f"focus:{seed}")
    return dice.choice(sorted(FOCUSES)) if dice.random() < SHARE else ""


def draw(seed: int, kind: str = "replicaset", focus: str | None = None) -> Setting:
    """The same setting for the same seed and kind of workload, for ever. ``focus`` None: the seed's own."""
    about = focus_of(seed) if focus is None else focus
    if about == "own agents":  # over what the history would be about without them
        setting, found = draw(seed, kind, older_focus(seed)), LATEST
    else:
        setting, found = draw_any(seed, kind), {**FOCUSES, **NEWER, **NEWEST, **LATEST, **ASKED}
    return found[about](setting, Random(f"{about}:{seed}:{kind}")) if about else setting


# -- the focuses ---------------------------------------------------------------------------------


def _restarts(setting: Setting, dice: Random) -> Setting:
    soak, deadline = dice.choice(("30s", "2m", "5m")), dice.choice(("3m", "8m", None))
    setting = strategies(setting, dice, minSuccessTime=soak, progressDeadline=deadline)
    verbs = dice.choices(("crash", "crash_soon", "crash_soon"), k=dice.randrange(3, 7))
    more = acts(dice, *verbs) + acts(dice, "new_revision", "lose_record", first=300)
    return with_acts(setting, more)


def _strict(setting: Setting, dice: Random) -> Setting:
    setting = replace(in_rings(setting, "canary", "rest", "rest", "rest"), strict=True)
    limit, most = dice.choice((2, 3, "50%")), dice.choice((1, 2, "20%"))
    setting = strategies(
        setting, dice, mandatoryDecisionGroups=mandatory("canary"), maxConcurrency=limit,
        maxFailures=most,
    )  # fmt: skip
    return with_acts(setting, acts(dice, *["cluster_new"] * 3, *["regroup"] * 3, first=200))


def _order(setting: Setting, dice: Random) -> Setting:
    lists = (("early", "canary"), ("early", "canary", "early"), ("canary", "early", "canary"))
    setting = replace(in_rings(setting, "canary", "early", "rest"), refs=setting.refs[:1])
    kept = {ref: setting.strategies[ref] for ref in setting.refs}
    setting = replace(setting, strategies=kept)
    limit, listed = dice.choice((1, "25%", "50%")), mandatory(*dice.choice(lists))
    return strategies(setting, dice, mandatoryDecisionGroups=listed, maxConcurrency=limit)


def _twice(setting: Setting, dice: Random) -> Setting:
    """Another scheduler names clusters in two groups."""
    setting = replace(in_rings(setting, "canary", "rest", "early", "rest"), foreign=True)
    setting = replace(setting, twice=True, group_size=3)
    listed = mandatory("canary") if dice.random() < 0.7 else None
    return strategies(
        setting, dice, mandatoryDecisionGroups=listed, maxConcurrency=dice.choice((1, 2))
    )


def _lost(setting: Setting, dice: Random) -> Setting:
    setting = in_rings(quietly(setting), "canary", "rest", "rest")
    listed = mandatory("canary") if dice.random() < 0.6 else None
    setting = strategies(
        setting, dice, mandatoryDecisionGroups=listed, maxFailures=dice.choice((0, 0, 1)),
        maxConcurrency=dice.choice((1, 2, 3)), minSuccessTime=dice.choice(("30s", "2m")),
    )  # fmt: skip
    lose = acts(dice, *["cluster_deleted_in_flight"] * 3, first=2, last=240)
    then = ("retry", "retry", "cluster_back", "skip_lost", "edit_strategy", "lose_failed")
    more = lose + acts(dice, *dice.choices(then, k=dice.randrange(1, 4)), first=100, last=900)
    return with_acts(setting, more, keep=dice.random() < 0.3)


def _lost_stage(setting: Setting, dice: Random) -> Setting:
    """A mandatory stage is given up after clusters were lost in it; others come back to theirs."""
    rings = dict.fromkeys(setting.clusters, "rest")
    rings |= dict.fromkeys(setting.clusters[:4], "canary") | {setting.clusters[-1]: "early"}
    setting = replace(
        quietly(setting), rings=rings, refs=("p",), strategies={"p": setting.strategies["p"]}
    )
    setting = strategies(
        setting, dice, mandatoryDecisionGroups=mandatory("canary", "early"),
        maxFailures=dice.choice((1, 2, "50%")), maxConcurrency=2,
        minSuccessTime=dice.choice(("30s", "2m")), progressDeadline=None,
    )  # fmt: skip
    then = dice.choice((("drop_canary",), ("cluster_back",), ("cluster_back", "retry")))
    more = acts(dice, "cluster_deleted_in_flight", first=2, last=40)
    return with_acts(setting, more + acts(dice, *then, first=200, last=600), keep=False)


def _zero(setting: Setting, dice: Random) -> Setting:
    """Somebody stops a rollout with a limit of zero, while clusters are in flight."""
    setting = strategies(
        quietly(setting), dice, maxConcurrency=dice.choice((2, 3, "50%")), maxFailures=100,
        mandatoryDecisionGroups=None,
    )  # fmt: skip
    return with_acts(setting, acts(dice, "stop_at_zero", "stop_at_zero", first=5, last=400))


def _failing(setting: Setting, dice: Random) -> Setting:
    """Some clusters fail on everything but the last revision, as many as are tolerated, or more."""
    setting = in_rings(quietly(setting), *dice.choice((("canary", "rest"), ("rest",))))
    bad = [c for c in setting.clusters if setting.rings[c] == "rest" and dice.random() < 0.5]
    return replace(setting, scenario=failing(setting.scenario, bad, setting.kind))


def _budget(setting: Setting, dice: Random) -> Setting:
    setting = _failing(setting, dice)
    listed = mandatory("canary") if "canary" in setting.rings.values() else None
    return strategies(
        setting, dice, mandatoryDecisionGroups=listed, maxFailures=dice.choice((1, 2, "20%", "30%")),
        maxConcurrency=dice.choice((1, 2, 3)), progressDeadline=dice.choice((None, "90s", "3m")),
    )  # fmt: skip


def _groups(setting: Setting, dice: Random) -> Setting:
    """One group after the other, with failures, retries and other budgets."""
    setting = _failing(replace(setting, group_size=3), dice)
    member = {"maxFailures": dice.choice((0, 1)), "minSuccessTime": "30s"}
    each = {"type": "ProgressivePerGroup", "progressivePerGroup": member}
    setting = replace(setting, strategies=dict.fromkeys(setting.refs, each))
    verbs = dice.choices(
        ("retry", "just_retry", "just_retry", "more_failures", "new_revision"), k=4
    )
    return with_acts(setting, acts(dice, *verbs, first=60, last=900))


def _deadlines(setting: Setting, dice: Random) -> Setting:
    """Somebody shortens a deadline while clusters soak."""
    setting = strategies(
        quietly(setting), dice, progressDeadline="8m", minSuccessTime="5m", maxFailures=0,
        maxConcurrency=dice.choice((1, 2, "50%")), mandatoryDecisionGroups=None,
    )  # fmt: skip
    return with_acts(setting, acts(dice, "shorten", "shorten", first=30, last=600))


def _gates(setting: Setting, dice: Random) -> Setting:
    setting = quietly(setting)
    gate = dice.choice(("before:rest", "after:*", "before:*", "before:*,after:*"))
    verbs = dice.choices(("approve", "approve_briefly", "reject_briefly", "approve_another"), k=5)
    more = acts(dice, *verbs, "approve_briefly", last=900) + acts(dice, "new_revision", first=300)
    found = with_acts(setting, more, keep=dice.random() < 0.5)
    return replace(found, notes={**found.notes, GATES: gate})


def _people(setting: Setting, dice: Random) -> Setting:
    """Holds, retries, freezes and stops."""
    verbs = (
        "hold", "hold_and_leave", "hold_and_leave", "hold_in_flight", "hold_in_flight", "retry",
        "retry", "freeze", "abort", "meddle_held", "pause", "new_revision",
    )  # fmt: skip
    limit = dice.choice((1, 2, 3))
    setting = strategies(
        quietly(setting), dice, maxConcurrency=limit, maxFailures=dice.choice((0, 1))
    )
    return with_acts(setting, acts(dice, *dice.choices(verbs, k=dice.randrange(4, 8))))


def _back(setting: Setting, dice: Random) -> Setting:
    """Revisions are taken back, while clusters fail, are held, or refuse what they are given."""
    if setting.kind == "addon":
        return setting  # add-ons keep no templates that could be given back
    notes = {**setting.notes, ROLLBACK: dice.choice(("Automatic", "Automatic", "Manual"))}
    if dice.random() < 0.4:
        setting = with_two(setting)
    notes[ROLLBACK_CONCURRENCY] = dice.choice(("1", "2", "50%"))
    notes[ROLLBACK_FAILURES] = dice.choice(("0", "0", "1", "25%"))
    setting = strategies(
        setting, dice, maxFailures=0, maxConcurrency=dice.choice(("50%", 4, None)),
        minSuccessTime=dice.choice(("0s", "30s", "2m")), mandatoryDecisionGroups=None,
    )  # fmt: skip
    verbs = dice.choices(("hold", "hold", "refuse", "refuse", "undo", "crash", "old_revision"), k=4)
    more = acts(dice, "new_revision", first=150, last=500) + acts(dice, *verbs, first=300)
    return replace(with_acts(setting, more), notes=notes)


def _outages(setting: Setting, dice: Random) -> Setting:
    setting = strategies(
        setting, dice, progressDeadline=dice.choice(("90s", "3m")), maxFailures=0,
        maxConcurrency=dice.choice((2, 4, "50%")),
    )  # fmt: skip
    verbs = ["outage"] * dice.randrange(2, 5) + ["crash"] * dice.choice((0, 0, 1, 2))
    more = acts(dice, *verbs, first=1, last=600) + acts(dice, "new_revision", first=100, last=700)
    found = with_acts(replace(setting, faults=Rates()), more)
    kept = tuple(a for a in found.script if a.verb not in ("crash_soon", "lose_record"))
    return replace(found, script=kept)


def _exodus(setting: Setting, dice: Random) -> Setting:
    """Clusters leave in turns, within the brake or beyond it, long after the last edit."""
    clusters = tuple(f"c{n:02d}" for n in range(30))
    rings = dict.fromkeys(clusters, "rest") | {clusters[-1]: "early"}
    setting = replace(
        quietly(setting), clusters=clusters, rings=rings, refs=("p",), rules=False,
        strategies={"p": {"type": "All", "all": {}}},
    )  # fmt: skip
    at, more = 720 + dice.randrange(0, 100), [Act(timedelta(seconds=60), "new_revision")]
    for _ in range(dice.randrange(2, 5)):
        more.append(Act(timedelta(seconds=at), "some_leave"))
        at += dice.randrange(20, 260)
        if dice.random() < 0.5:
            more.append(Act(timedelta(seconds=at), "crash"))
            at += dice.randrange(30, 120)
    return with_acts(setting, more, keep=False)


def _emptied(setting: Setting, dice: Random) -> Setting:
    """A mandatory group loses the last of its clusters in the midst of a revision."""
    setting = in_rings(setting, "rest", "canary", "rest", "rest", "rest", "rest")
    limit = dice.choice((1, 2))
    setting = strategies(
        setting, dice, mandatoryDecisionGroups=mandatory("canary"), maxConcurrency=limit
    )
    at = dice.randrange(60, 500)
    more = [Act(timedelta(seconds=at), "canaries_leave")]
    more += acts(dice, *["crash"] * dice.randrange(1, 3), first=at + 1, last=at + 200)
    return with_acts(setting, more, keep=dice.random() < 0.4)


def _pairs(setting: Setting, dice: Random) -> Setting:
    """Two placements, written by others, one of them often in the midst of it."""
    setting = replace(with_two(setting), foreign=dice.random() < 0.8, told=True)
    verbs = (
        "torn", "torn", "many_leave", "many_leave", "overlap", "placement_deleted", "regroup",
        "leave_first", "leave_first", "crash",
    )  # fmt: skip
    return with_acts(setting, acts(dice, *dice.choices(verbs, k=dice.randrange(4, 8))))


def _refused(setting: Setting, dice: Random) -> Setting:
    return with_acts(quietly(setting), acts(dice, *["refuse"] * 4, "new_revision", last=900))


def _own(setting: Setting, dice: Random) -> Setting:
    """Clusters with configurations of their own; configurations that come and go."""
    verbs: tuple[str, ...] = ("own", "own", "own", "edit_own", "config_deleted", "config_deleted", "switch_config",
             "torn")  # fmt: skip
    if setting.kind != "addon":
        verbs = ("meddle", "delete_work", "twin", "meddle", "delete_work")
    limit = dice.choice((1, 2, "25%"))
    setting = strategies(setting, dice, maxConcurrency=limit)
    more = acts(dice, *dice.choices(verbs, k=dice.randrange(4, 9)))
    return with_acts(setting, more + acts(dice, "new_revision", "retry"))


FOCUSES: Mapping[str, Sharpen] = {
    "restarts": _restarts,
    "strict": _strict,
    "order": _order,
    "twice": _twice,
    "lost": _lost,
    "stages": _lost_stage,
    "zero": _zero,
    "budget": _budget,
    "groups": _groups,
    "deadlines": _deadlines,
    "gates": _gates,
    "operations": _people,
    "back": _back,
    "outages": _outages,
    "exodus": _exodus,
    "emptied": _emptied,
    "pairs": _pairs,
    "refused": _refused,
    "own": _own,
}
