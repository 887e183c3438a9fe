"""What are histories about since the first focuses were drawn: losses, gaps, small fleets, tenants?"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from random import Random

from rollout.model.names import ROLLBACK, SEMANTICS
from rollout.sim.scenario import Scenario
from tests.safety.setting import Act, Setting, failing
from tests.safety.sharpening import Sharpen, acts, mandatory, quietly, strategies, with_acts
from tests.support.faults import Rates


def _gone(setting: Setting, dice: Random) -> Setting:
    """One of a mandatory group is lost in flight while the others soak, and comes back."""
    rings = dict.fromkeys(setting.clusters, "rest")
    rings |= dict.fromkeys(setting.clusters[:3], "canary") | {setting.clusters[-1]: "early"}
    setting = replace(
        quietly(setting), rings=rings, refs=("p",), strategies={"p": setting.strategies["p"]},
        scenario=failing(setting.scenario, (), setting.kind),
    )  # fmt: skip
    setting = strategies(
        setting, dice, mandatoryDecisionGroups=mandatory("canary"), maxConcurrency=5,
        maxFailures=5, minSuccessTime="2m", progressDeadline=None,
    )  # fmt: skip
    more = acts(dice, "one_lost", first=30, last=110) + acts(dice, "cluster_back", first=300)
    return with_acts(setting, more, keep=False)


def _few(setting: Setting, dice: Random) -> Setting:
    """Of a small fleet most clusters leave at once, long after the last edit."""
    clusters = tuple(f"c{n:02d}" for n in range(dice.choice((6, 8, 10))))
    rings = dict.fromkeys(clusters, "rest") | {clusters[-1]: "early"}
    setting = replace(
        quietly(setting), clusters=clusters, rings=rings, refs=("p",), foreign=True, told=True,
        strategies={"p": {"type": "All", "all": {}}},
    )  # fmt: skip
    more = [Act(timedelta(seconds=720 + 30 * n), "some_leave") for n in range(2)]
    return with_acts(setting, more, keep=False)


def _flapping(setting: Setting, dice: Random) -> Setting:
    """Success that breaks and comes back while nobody lives, and after a lost record."""
    rules = [{
        "clusters": {"names": list(setting.clusters)},
        "behaviour": {"flapping": {"period": dice.choice(("25s", "40s")), "count": 12}},
    }]  # fmt: skip
    spec = {"seed": setting.seed, "rules": rules}
    clusters = setting.clusters[:8]
    rings = {**setting.rings, clusters[0]: "rest", clusters[-1]: "early"}
    setting = replace(setting, clusters=clusters, rings=rings, rules=True)
    setting = replace(setting, scenario=Scenario.model_validate({"spec": spec}))
    deadline = dice.choice((None, "8m"))
    setting = strategies(
        setting, dice, minSuccessTime="2m", progressDeadline=deadline, maxConcurrency=3,
        mandatoryDecisionGroups=None, maxFailures=100,
    )  # fmt: skip
    more = acts(dice, *["crash"] * 4, "lose_record", first=20, last=700)
    return with_acts(replace(setting, faults=Rates()), more, keep=False)


def _meddling(setting: Setting, dice: Random) -> Setting:
    """A tenant edits what the controller wrote down of the rollout, or takes it away."""
    limit, soak = dice.choice((1, 2, 3)), dice.choice(("30s", "2m"))
    setting = strategies(quietly(setting), dice, maxConcurrency=limit, minSuccessTime=soak)
    verbs = ("edit_record", "edit_record", "edit_record", "remove_record")
    return with_acts(setting, acts(dice, *dice.choices(verbs, k=6), last=600))


def _windows(setting: Setting, dice: Random) -> Setting:
    """Calendars close a part of the clusters, while revisions and selections change."""
    verbs = ["new_revision", "many_leave", "edit_placement", "edit_placement", "cluster_back"]
    verbs += ["override", "override", "break_calendar", "break_calendar", "delete_work", "regroup"]
    often = [*dice.choices(verbs, k=7), *["close"] * 4, "hold_and_leave"]
    if dice.random() < 0.3:
        often += ["crash", "crash_soon"]
    first = acts(dice, "close", "close", "new_revision", first=0, last=200)
    goes_back = dice.random() < 0.5 and setting.kind != "addon"  # add-ons have no way back
    notes = {**setting.notes, ROLLBACK: "Automatic"} if goes_back else setting.notes
    return replace(with_acts(setting, first + acts(dice, *often)), notes=notes)


def _agents(setting: Setting, dice: Random) -> Setting:
    """Agents with OCM's timing: they look rarely, stamp what they saw before, wake for labels, back off."""
    every = dice.choice((10, 10, 20, 60))
    limit, most = dice.choice((1, 2, "25%", None)), dice.choice((0, 1, "20%"))
    setting = strategies(
        quietly(setting), dice, maxConcurrency=limit, maxFailures=most,
        minSuccessTime=dice.choice(("0s", "30s", "2m")),
        progressDeadline=dice.choice((None, None, "10m", "30m")),
    )  # fmt: skip
    setting = replace(setting, rules=dice.random() < 0.8, looks_every=timedelta(seconds=every))
    verbs = [
        "new_revision", "new_revision", "retry", "retry", "old_revision", "crash", "delete_work",
    ]  # fmt: skip
    if setting.kind == "addon":
        verbs += ["switch_config", "own", "edit_own"]
    more = acts(dice, *dice.choices(verbs, k=dice.randrange(3, 7)))
    goes_back = dice.random() < 0.5 and setting.kind != "addon"  # add-ons have no way back
    notes = {**setting.notes, ROLLBACK: "Automatic"} if goes_back else setting.notes
    return replace(with_acts(setting, more, keep=dice.random() < 0.3), notes=notes)


def _relist(setting: Setting, dice: Random) -> Setting:
    """Watches break, and lists are read anew while clusters, decisions, works and revisions change.

    Placements of ours stay: the pages of one that is gone, which the engine does not know of yet, are
    collected here at the very instant in which it writes them.
    """
    verbs = [
        "regroup", "regroup", "cluster_deleted", "cluster_deleted_in_flight", "cluster_back",
        "cluster_new", "delete_work", "new_revision", "hold", "remove_record",
    ] + ["placement_deleted"] * setting.foreign  # fmt: skip
    more: list[Act] = []
    for _ in range(dice.randrange(3, 7)):
        at = dice.randrange(20, 900)
        more.append(Act(timedelta(seconds=at), "blink"))
        more += acts(dice, *dice.choices(verbs, k=2), first=at, last=at + 2)
    limit, soak = dice.choice((1, 2, "50%")), dice.choice(("30s", "2m"))
    setting = strategies(quietly(setting), dice, maxConcurrency=limit, minSuccessTime=soak)
    return with_acts(setting, more, keep=dice.random() < 0.3)


NEWER: Mapping[str, Sharpen] = {
    "few": _few,
    "flapping": _flapping,
    "gone": _gone,
    "meddling": _meddling,
    "windows": _windows,
}


def _ocm(setting: Setting, dice: Random) -> Setting:
    """Profile ``ocm``: OCM's library chooses, and all that guards carriers guards them as in ``strict``.

    This engine decides the placements: of decisions with a gap in their indexes OCM leaves the last out.
    Health is verified: without a Progressing rule OCM waits for ever.
    """
    verbs = (
        "new_revision", "new_revision", "regroup", "many_leave", "pause", "freeze", "delete_work",
        "placement_deleted", "overlap", "cluster_deleted", "crash", "crash_soon", "refuse",
    )  # fmt: skip
    more = acts(dice, *dice.choices(verbs, k=dice.randrange(4, 9)))
    found = with_acts(setting, more, keep=dice.random() < 0.5)
    return replace(found, notes={SEMANTICS: "ocm"}, foreign=False, rules=True)


NEWEST: Mapping[str, Sharpen] = {
    "agents": _agents,
    "ocm": _ocm,
    "relist": _relist,
}
