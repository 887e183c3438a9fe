"""What are histories about that are run only when somebody asks: a kept fault, or a run of fresh ones?

Each is nearly a story, with its instants drawn, and leads to one rare state. No seed has one of these for its
own, so that all seeds stand for what they stood for.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from random import Random

from rollout.model.kinds import Obj
from rollout.model.names import (
    GATES,
    HISTORY_LIMIT,
    ROLLBACK,
    ROLLBACK_CONCURRENCY,
    ROLLBACK_FAILURES,
)
from rollout.sim.scenario import Scenario
from tests.safety.setting import REVISIONS, SAYS, Act, Setting
from tests.safety.sharpening import (
    Sharpen,
    acts,
    in_rings,
    mandatory,
    quietly,
    strategies,
    with_acts,
)

SECOND = timedelta(seconds=1)


def _script(setting: Setting, *steps: tuple[float, str]) -> Setting:
    """These acts at these seconds, and no others."""
    return with_acts(setting, [Act(at * SECOND, verb) for at, verb in steps], keep=False)


def _well(setting: Setting, *rules: Obj) -> Setting:
    """All goes well on the clusters, but for these rules."""
    spec = {"seed": setting.seed, "rules": list(rules)}
    return replace(setting, scenario=Scenario.model_validate({"spec": spec}))


def _alone(setting: Setting) -> Setting:
    """One placement, nothing fails on the way, nobody asks for anything yet."""
    setting = replace(quietly(setting), refs=("p",), strategies={"p": setting.strategies["p"]})
    return replace(setting, notes={}, strict=False)


def _unseen(setting: Setting, dice: Random) -> Setting:
    """Somebody writes into the first page of the record, or takes it away from its workload, while no process
    lives.
    """
    setting = in_rings(_alone(setting), "rest")
    setting = strategies(
        setting, dice, mandatoryDecisionGroups=None, maxConcurrency=2,
        minSuccessTime=dice.choice(("30s", "2m")),
    )  # fmt: skip
    steps: list[tuple[float, str]] = [(dice.randrange(150, 400), "new_revision")]
    for _ in range(3):
        at = dice.randrange(40, 900)
        wrong = dice.choice(("leave_clusters", "disown_record"))
        steps += [(at, "crash"), (at + 0.5, wrong)]
    return _script(setting, *steps)


def _parting(setting: Setting, dice: Random) -> Setting:
    """Clusters leave a fleet without order in the moment in which a new revision comes."""
    setting = replace(in_rings(_alone(setting), "rest"), foreign=True, told=True, twice=False)
    every = {"p": {"type": "All", "all": {}}}
    setting = replace(_well(setting), strategies=every)
    steps: list[tuple[float, str]] = []
    for at in (200, 500, 800):
        leaves = at + dice.randrange(0, 60)
        steps += [(leaves, "some_leave"), (leaves + dice.randrange(1, 8), "new_revision")]
    return _script(setting, *steps)


def _left(setting: Setting, dice: Random) -> Setting:
    """A cluster in flight is lost while the workload is paused, and another revision is asked for already."""
    setting = in_rings(_alone(setting), "rest")
    setting = strategies(
        _well(setting), dice, maxFailures=0, mandatoryDecisionGroups=None, minSuccessTime="5m",
        maxConcurrency=dice.choice((1, 2, 3)), progressDeadline=None,
    )  # fmt: skip
    at = dice.randrange(30, 200)
    back = [Act((at + dice.randrange(260, 900)) * SECOND, "cluster_back")]
    found = _script(setting, (at, "pause"), (at + 1, "new_revision"), (at + 2, "one_lost"))
    return with_acts(found, back if dice.random() < 0.3 else [])


def _longer(setting: Setting, dice: Random) -> Setting:
    """Somebody grants more time in the instant in which the time of clusters is over."""
    setting = in_rings(_alone(setting), "rest")
    setting = strategies(
        _well(setting, _hangs(setting, 1)), dice, maxFailures=100,
        mandatoryDecisionGroups=None, maxConcurrency=dice.choice((1, 2)), progressDeadline="90s",
    )  # fmt: skip
    at = dice.randrange(200, 400)
    return _script(setting, (at, "new_revision"), (at + 90, "lengthen"))


def _ended(setting: Setting, dice: Random) -> Setting:
    """What fails on an older revision while the workload is paused; then the process ends, and more time and
    fewer slots are given.
    """
    setting = in_rings(_alone(setting), "rest")
    setting = strategies(
        _well(setting, _hangs(setting, 0)), dice, maxFailures=100, mandatoryDecisionGroups=None,
        maxConcurrency=dice.choice((2, 3)), progressDeadline="90s",
    )  # fmt: skip
    at = dice.randrange(110, 130)
    return _script(
        setting, (30, "pause"), (31, "new_revision"), (at, "crash"), (at + 0.5, "narrow")
    )


def _early(setting: Setting, dice: Random) -> Setting:
    """Somebody approves for a moment, while the stages of the gate are not there yet."""
    setting = in_rings(_well(_alone(setting)), "canary", "rest", "early")
    listed = mandatory(*dice.choice((("canary",), ("canary", "early"))))
    setting = strategies(
        setting, dice, mandatoryDecisionGroups=listed, maxConcurrency=dice.choice((1, 2)),
        minSuccessTime="2m", progressDeadline=None,
    )  # fmt: skip
    steps = [(dice.randrange(2, 900), "approve_briefly") for _ in range(4)]
    gates = dice.choice(("after:canary", "after:*", "before:*"))
    return replace(_script(setting, *steps), notes={GATES: gates})


def _renumbered(setting: Setting, dice: Random) -> Setting:
    """A group before the mandatory one leaves, once that has passed and its gate has opened for a moment."""
    setting = in_rings(_well(_alone(setting)), "early", "canary", "rest")
    setting = strategies(
        setting, dice, mandatoryDecisionGroups=mandatory("early"), maxConcurrency=1,
        minSuccessTime="30s", progressDeadline=None,
    )  # fmt: skip
    steps = [(dice.randrange(40, 700), "approve_briefly") for _ in range(8)]
    found = _script(setting, *steps, (dice.randrange(300, 900), "canaries_leave"))
    return replace(found, notes={GATES: "after:early"})


def _hangs(setting: Setting, revision: int) -> Obj:
    """A revision, by its number, that comes to nothing anywhere."""
    return {
        "manifests": {"path": SAYS[setting.kind], "equals": REVISIONS[revision]},
        "behaviour": {"outcome": "hang"},
    }


def _back(setting: Setting, dice: Random, **wanted: object) -> Setting:
    """All get each revision at once, and a person can take it back."""
    fields: dict[str, object] = {
        "maxFailures": 100, "maxConcurrency": None, "mandatoryDecisionGroups": None,
        "minSuccessTime": dice.choice(("0s", "30s")), "progressDeadline": "90s", **wanted,
    }  # fmt: skip
    setting = strategies(in_rings(_alone(setting), "rest"), dice, **fields)
    notes = {ROLLBACK: "Automatic", ROLLBACK_CONCURRENCY: "1", ROLLBACK_FAILURES: "100%"}
    return replace(setting, notes=notes)


def _again(setting: Setting, dice: Random) -> Setting:
    """A revision that soaked fails when it comes again, and the one after it is taken back."""
    if setting.kind == "addon":
        return setting  # add-ons keep no templates that could be given back
    chosen = [c for c in setting.clusters if dice.random() < 0.5] or list(setting.clusters[:1])
    away = {"offline": [{"from": "395s", "to": "690s"}], "availability": "False"}
    setting = _well(_back(setting, dice), {"clusters": {"names": chosen}, "behaviour": away})
    return _script(
        setting, (200, "new_revision"), (400, "first_revision"), (600, "new_revision"),
        (1000 + dice.randrange(0, 90), "undo"),
    )  # fmt: skip


def _torn_back(setting: Setting, dice: Random) -> Setting:
    """Clusters go back one after the other while somebody rewrites the decisions."""
    if setting.kind == "addon":
        return setting
    setting = replace(_well(_back(setting, dice)), foreign=True, told=True, twice=False)
    found = _script(setting, (200, "new_revision"), (400, "undo"))
    return with_acts(found, acts(dice, *["torn"] * 6, first=380, last=560))


def _unkept(setting: Setting, dice: Random) -> Setting:
    """Few revisions are kept, and the one that soaked last is on no cluster any more."""
    if setting.kind == "addon":
        return setting
    setting = _well(_back(setting, dice, minSuccessTime="5m"))
    limit = {HISTORY_LIMIT: dice.choice(("0", "1"))}
    setting = replace(setting, notes={**setting.notes, **limit})
    steps = [(450, "new_revision"), (dice.randrange(500, 600), "new_revision")]
    return _script(setting, *steps, (dice.randrange(620, 700), "undo"))


def _let_in(setting: Setting, dice: Random) -> Setting:
    """People delete what is installed on clusters that wait behind a gate, the server refuses to have it installed
    again for a while, and other revisions come.
    """
    setting = in_rings(_well(_alone(setting)), "rest")
    setting = strategies(setting, dice, mandatoryDecisionGroups=None, maxConcurrency=1)
    steps: list[tuple[float, str]] = []
    for at in (100, 500, 900):
        begins = at + dice.randrange(0, 30)
        steps += [(begins, "refuse"), (begins, "refuse"), (begins + 1, "delete_work")]
        steps += [(begins + after, "new_revision") for after in (60, 120, 180, 245)]
    return replace(_script(setting, *steps), notes={GATES: "before:*"})


def _edited(setting: Setting, dice: Random) -> Setting:
    """Somebody edits a placement; more clusters than the brake lets go leave long after that."""
    clusters = tuple(f"c{n:02d}" for n in range(30))
    rings = dict.fromkeys(clusters, "rest") | {clusters[-1]: "early"}
    every = {"p": {"type": "All", "all": {}}}
    setting = replace(_well(_alone(setting)), clusters=clusters, rings=rings, strategies=every)
    at = dice.randrange(60, 120)
    leave = at + dice.randrange(660, 800)
    return _script(setting, (at, "edit_placement"), (leave, "many_leave"))


ASKED: Mapping[str, Sharpen] = {
    "again": _again,
    "early": _early,
    "edited": _edited,
    "ended": _ended,
    "left": _left,
    "let in": _let_in,
    "longer": _longer,
    "parting": _parting,
    "renumbered": _renumbered,
    "torn back": _torn_back,
    "unkept": _unkept,
    "unseen": _unseen,
}
