"""What are histories about that were drawn last: tenants, clocks that step, crossed gates, braked removals, ways
back, groups that may be empty, and agents of our own in the midst of all else?
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from random import Random

from rollout.model.names import (
    ALLOW_EMPTY_GROUPS,
    FAILURE_TOLERANCE,
    GATES,
    HISTORY_LIMIT,
    ROLLBACK,
    ROLLBACK_CONCURRENCY,
    ROLLBACK_FAILURES,
    SEMANTICS,
)
from tests.safety.setting import Act, Setting, failing
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

SECOND = timedelta(seconds=1)


def _tenants(setting: Setting, dice: Random) -> Setting:
    """A tenant, or an agent, writes into all that is not his, and processes end in between."""
    limit, soak = dice.choice((1, 2, 3)), dice.choice(("30s", "2m"))
    setting = in_rings(quietly(setting), "canary", "rest", "rest")
    listed = mandatory("canary") if dice.random() < 0.5 else None
    setting = strategies(
        setting, dice, maxConcurrency=limit, minSuccessTime=soak, mandatoryDecisionGroups=listed
    )
    verbs = (
        "edit_record", "edit_record", "edit_head", "edit_head", "strip_record", "strip_record",
        "plant_page", "remove_record", "forge_revision", "relabel_works", "relabel_works",
        "new_revision",
    )  # fmt: skip
    more = acts(dice, *dice.choices(verbs, k=8), last=700)
    # What nobody lives to see stays: pages are the controller's account's alone to write.
    more += [Act(act.at + SECOND / 2, "crash") for act in dice.sample(more, 2)]
    goes_back = dice.random() < 0.4 and setting.kind != "addon"
    notes = {**setting.notes, ROLLBACK: "Automatic"} if goes_back else setting.notes
    return replace(with_acts(setting, more, keep=dice.random() < 0.3), notes=notes)


def _steps(setting: Setting, dice: Random) -> Setting:
    """The machine's clock steps, and answers tell a wrong time, while clusters soak and deadlines run."""
    soak, deadline = dice.choice(("30s", "2m", "5m")), dice.choice(("3m", "8m", None))
    setting = strategies(setting, dice, minSuccessTime=soak, progressDeadline=deadline)
    verbs = ["step"] * dice.randrange(3, 7) + dice.choices(("crash", "outage", "new_revision"), k=3)
    return with_acts(setting, acts(dice, *verbs))


def _crossed(setting: Setting, dice: Random) -> Setting:
    """Two placements, each with gates; approvals come, end, and are of other gates and revisions."""
    setting = with_two(quietly(setting))
    listed = mandatory(*dice.choice((("canary",), ("canary", "early"))))
    setting = strategies(
        in_rings(setting, "canary", "rest", "early", "rest"), dice,
        mandatoryDecisionGroups=listed, maxConcurrency=dice.choice((1, 2, "50%")),
        minSuccessTime=dice.choice(("0s", "30s")),
    )  # fmt: skip
    gates = dice.choice(
        ("before:rest,after:canary", "p/before:rest", "before:*", "after:*,before:rest", "after:*")
    )
    gates = ",".join(_in_placement(gate, dice) for gate in gates.split(","))
    verbs = dice.choices(("approve_one", "approve_one", "approve_briefly", "approve_another"), k=6)
    more = acts(dice, *verbs, last=1200) + acts(dice, "regroup", "overlap", "crash", first=200)
    return replace(with_acts(setting, more, keep=False), notes={**setting.notes, GATES: gates})


def _in_placement(gate: str, dice: Random) -> str:
    """The gate, often in one of the placements alone."""
    side, _, group = gate.removeprefix("p/").partition(":")
    return f"{side}:{dice.choice(('', '', 'p/', 'q/'))}{group}"


def _braked(setting: Setting, dice: Random) -> Setting:
    """More leave than the brake lets go, long after the last edit; some are released, some lose their labels, and
    processes end.
    """
    clusters = tuple(f"c{n:02d}" for n in range(dice.choice((12, 24, 30))))
    rings = dict.fromkeys(clusters, "rest") | {clusters[-1]: "early"}
    setting = replace(
        quietly(setting), clusters=clusters, rings=rings, refs=("p",), rules=False, foreign=True,
        told=True, strategies={"p": {"type": "All", "all": {}}}, twice=False,
    )  # fmt: skip
    at, more = 700 + dice.randrange(0, 60), [Act(60 * SECOND, "new_revision")]
    if dice.random() < 0.6:
        more.append(Act((at - 30) * SECOND, "release_briefly"))
    for _ in range(dice.randrange(2, 4)):
        at += dice.randrange(20, 120)
        verbs = dice.choices(("crash", "lose_record", "relabel_works", "", ""), k=1)
        more += [Act((at - 12) * SECOND, verb) for verb in verbs if verb]
        more.append(Act(at * SECOND, dice.choice(("many_leave", "some_leave", "some_leave"))))
    return with_acts(setting, more, keep=False)


def _retaken(setting: Setting, dice: Random) -> Setting:
    """A revision is taken back and tried again, or fails when all had it; few templates are kept, and somebody
    puts the bad one back by hand.
    """
    if setting.kind == "addon":
        return setting  # add-ons keep no templates that could be given back
    setting = in_rings(quietly(setting), "canary", "rest", "rest", "rest")
    setting = replace(setting, refs=("p",), strategies={"p": setting.strategies["p"]})
    bad = [c for c in setting.clusters if dice.random() < 0.25]
    if dice.random() < 0.6:
        setting = replace(setting, scenario=failing(setting.scenario, bad, setting.kind))
    listed = mandatory("canary") if dice.random() < 0.7 else None
    setting = strategies(
        setting, dice, maxFailures=dice.choice((0, 0, 1, "30%")), progressDeadline=None,
        maxConcurrency=dice.choice((2, 4, None)), minSuccessTime=dice.choice(("0s", "30s")),
        mandatoryDecisionGroups=listed,
    )  # fmt: skip
    notes = {
        ROLLBACK: dice.choice(("Automatic", "Automatic", "Manual")),
        ROLLBACK_CONCURRENCY: dice.choice(("1", "2", "50%")),
        ROLLBACK_FAILURES: dice.choice(("25%", "100%")),
        **({HISTORY_LIMIT: dice.choice(("0", "1"))} if dice.random() < 0.4 else {}),
        **({GATES: "after:canary"} if listed and dice.random() < 0.2 else {}),
    }
    verbs = [
        "just_retry", "just_retry", "undo_to", "undo", "bring_back", "bring_back", "torn",
        "old_revision", "cluster_new", "cluster_new", "approve", "forge_revision",
    ]  # fmt: skip
    more = acts(dice, "new_revision", first=100, last=300)
    more += acts(dice, "new_revision", "old_revision", first=300, last=900)
    more += acts(dice, *dice.choices(verbs, k=6), first=200, last=1600)
    found = with_acts(setting, more, keep=False)
    return replace(found, notes=notes, strict=False)


def _allowed(setting: Setting, dice: Random) -> Setting:
    """Somebody allows a mandatory group to be empty, and it is, or loses its clusters amid a revision."""
    rings = ("rest", "canary", "rest", "rest") if dice.random() < 0.7 else ("rest",)
    setting = in_rings(quietly(setting), *rings)
    setting = strategies(
        setting, dice, mandatoryDecisionGroups=mandatory("canary"), maxConcurrency=1,
        minSuccessTime=dice.choice(("30s", "2m")),
    )  # fmt: skip
    at = dice.randrange(5, 120)
    more = [Act(at * SECOND, "canaries_leave")] if len(rings) > 1 else []
    more += acts(dice, "crash", "edit_strategy", first=at + 1, last=at + 400)
    notes = {**setting.notes, ALLOW_EMPTY_GROUPS: "canary"}
    return replace(with_acts(setting, more, keep=False), notes=notes)


def _own_agents(setting: Setting, dice: Random) -> Setting:
    """Whatever else happens, the agents are those of the suite. In profile ``ocm`` works keep their rules:
    OCM would wait for ever without them.
    """
    flaps = any(rule.behaviour.flapping for rule in setting.scenario.spec.rules)
    if setting.notes.get(FAILURE_TOLERANCE) or flaps:
        return setting
    every = dice.choice((10, 10, 20)) * SECOND
    rules = dice.random() < 0.8 or setting.notes.get(SEMANTICS) == "ocm"
    return replace(setting, looks_every=every, rules=rules)


LATEST: Mapping[str, Sharpen] = {
    "allowed": _allowed,
    "braked": _braked,
    "crossed": _crossed,
    "own agents": _own_agents,
    "retaken": _retaken,
    "steps": _steps,
    "tenants": _tenants,
}
WEIGHTS = {"own agents": 8, "tenants": 3, "retaken": 3, "braked": 2}
"""How often each is drawn, 1 where it does not stand here."""
