"""What does a seed stand for? A fleet, its agents, a rollout, and a script of what happens to it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Any

from rollout.model.kinds import Obj
from rollout.model.names import GATES, ROLLBACK, ROLLBACK_CONCURRENCY, ROLLBACK_FAILURES
from rollout.sim.scenario import Scenario
from tests.safety.terms import Waits
from tests.support.faults import Rates

REVISIONS = ("r1", "r2", "r3", "r4")
FIX = "fix"
"""The revision that ends every history: all agents do well on it."""
SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Act:
    """Something that people, other programs or bad luck do, and when (from the start)."""

    at: timedelta
    verb: str


@dataclass(frozen=True, slots=True)
class Setting:
    """Everything a history follows from.

    ``notes``: the workload's annotations at the beginning. ``foreign``: another program writes the decisions. ``told``: it also writes the placement's
    status.decisionGroups. ``rules``: health is verified. ``latency``: how long a write of the engine may take. ``kind``: of the workload. ``twice``: other programs name clusters in
    several groups. ``looks_every``: the agents have OCM's timing, and look so often
    (`tests.safety.ocm_agents`); None: they are those of a simulation.
    """

    seed: int
    clusters: tuple[str, ...]
    rings: dict[str, str]
    refs: tuple[str, ...]
    strategies: dict[str, Obj]
    rules: bool
    strict: bool
    foreign: bool
    told: bool
    latency: timedelta
    faults: Rates
    scenario: Scenario
    script: tuple[Act, ...]
    group_size: Any = "100%"
    notes: dict[str, str] = field(default_factory=dict)
    kind: str = "replicaset"
    twice: bool = False
    looks_every: timedelta | None = None
    span: timedelta = field(default=timedelta(minutes=30))

    @property
    def waits(self) -> Waits:
        """What agents say may be 1.9 times as old as they look often."""
        stale = (self.looks_every or timedelta(0)) * 1.9
        return Waits(max(Waits().settle, stale), max(Waits().grace, stale))


def draw_any(seed: int, kind: str) -> Setting:
    """A setting for anything that may happen; always the same for the same seed and kind."""
    dice = Random(f"setting:{seed}")
    count = dice.choice((3, 5, 8, 12, 12, 16, 20, 24, 30))
    clusters = tuple(f"c{n:02d}" for n in range(count))
    rings = {c: dice.choice(("canary", "early", "rest", "rest", "rest")) for c in clusters}
    refs = ("p", "q") if dice.random() < 0.2 else ("p",)
    if len(refs) > 1:
        rings[clusters[0]] = "rest"
        rings[clusters[-1]] = "early"  # the ring that only the second placement selects
    foreign = dice.random() < 0.5
    rough = dice.random() < 0.5
    script = _script(dice, _EDITS[kind], foreign, rough)
    notes, acts = _operations(Random(f"operations:{seed}"), kind)
    script = tuple(sorted((*script, *acts), key=lambda act: (act.at, act.verb)))
    return Setting(
        seed,
        clusters,
        rings,
        refs,
        {ref: strategy(dice) for ref in refs},
        rules=dice.random() < 0.6,
        strict=dice.random() < 0.2,
        foreign=foreign,
        told=dice.random() < 0.7,
        latency=dice.choice((0, 0, 0, 1, 4)) * SECOND if rough else timedelta(0),
        faults=_rates(dice) if rough and dice.random() < 0.6 else Rates(),
        scenario=scenario(dice, seed, clusters, kind),
        script=script,
        group_size=dice.choice(("100%", 3, 5, "40%")),
        notes=notes,
        kind=kind,
    )


def strategy(dice: Random) -> Obj:
    """A rolloutStrategy."""
    kind = dice.choice(("All", "Progressive", "Progressive", "Progressive", "ProgressivePerGroup"))
    member: Obj = {}
    if dice.random() < 0.7:
        member["minSuccessTime"] = dice.choice(("0s", "30s", "2m", "5m"))
    if dice.random() < 0.6:
        member["progressDeadline"] = dice.choice(("90s", "3m", "8m"))
    if kind == "All":
        member.pop("minSuccessTime", None)
        return {"type": "All", "all": member}
    if dice.random() < 0.7:
        member["maxFailures"] = dice.choice((0, 1, 2, "10%", "30%", "1", 100))
    if dice.random() < 0.5:
        names = dice.choice((["canary"], ["canary"], ["canary", "early"], ["early"], ["cannary"]))
        member["mandatoryDecisionGroups"] = [{"groupName": name} for name in names]
    if kind == "ProgressivePerGroup":
        return {"type": kind, "progressivePerGroup": member}
    if dice.random() < 0.9:
        member["maxConcurrency"] = dice.choice((1, 2, 3, "10%", "25%", "50%", "2", 0, "0%", 50))
    return {"type": kind, "progressive": member}


_OUTCOMES: tuple[Obj, ...] = (
    {"outcome": "fail"},
    {"outcome": "fail"},
    {"outcome": "failApply"},
    {"outcome": "fail", "recoverAfter": {"min": "20s", "max": "200s"}},
    {"outcome": "failApply", "recoverAfter": {"min": "20s", "max": "200s"}},
    {"outcome": "hang"},
    {"outcome": "silent"},
    {"outcome": "silent"},
    {"flapping": {"period": "25s", "count": 2}},
    {"flapping": {"period": "70s", "count": 3}},
)


SAYS = {
    "replicaset": "data.v",
    "addon": "spec.template.spec.containers[0].image",
}
"""Where a manifest says which revision it is."""


def scenario(dice: Random, seed: int, clusters: tuple[str, ...], kind: str) -> Scenario:
    """How the agents behave: for each revision some share of them badly; `FIX` goes well."""
    rules: list[Obj] = []
    for revision in REVISIONS:
        share = dice.choice((0.0, 0.0, 0.1, 0.3, 0.8))
        bad: dict[int, list[str]] = {}
        for cluster in clusters:
            if dice.random() < share:
                bad.setdefault(dice.randrange(len(_OUTCOMES)), []).append(cluster)
        rules += [
            {
                "clusters": {"names": names},
                "manifests": {"path": SAYS[kind], "equals": revision},
                "behaviour": _OUTCOMES[outcome],
            }
            for outcome, names in sorted(bad.items())
        ]
    for cluster in clusters:
        own: Obj = {}
        if dice.random() < 0.15:
            begin = dice.randrange(0, 900)
            own["offline"] = [{"from": f"{begin}s", "to": f"{begin + dice.randrange(30, 400)}s"}]
            own["availability"] = dice.choice(("False", "Unknown"))
        if dice.random() < 0.2:
            own["clockSkew"] = dice.choice(("3h", "-3h", "40s", "-40s"))
        if own:
            rules.append({"clusters": {"names": [cluster]}, "behaviour": own})
    defaults: Obj = {
        "applyAfter": {"min": "1s", "max": dice.choice(("3s", "10s", "40s"))},
        "readyAfter": {"min": "3s", "max": dice.choice(("8s", "30s", "60s"))},
        "deleteAfter": {"min": "0s", "max": "15s"},
    }
    if dice.random() < 0.3:
        defaults["flaws"] = {dice.choice(("staleEvaluation", "missedProgress")): True}
    return Scenario.model_validate({"spec": {"seed": seed, "defaults": defaults, "rules": rules}})


def failing(known: Scenario, clusters: Sequence[str], kind: str) -> Scenario:
    """The same, but that these clusters, and no others, fail on every revision before the last."""
    rules: list[Obj] = [
        {
            "clusters": {"names": list(clusters)},
            "manifests": {"path": SAYS[kind], "equals": revision},
            "behaviour": {"outcome": "fail"},
        }
        for revision in REVISIONS
    ]
    spec = {"seed": known.spec.seed, "rules": rules if clusters else []}
    return Scenario.model_validate({"spec": spec})


def _rates(dice: Random) -> Rates:
    return Rates(
        conflict=dice.choice((0, 3, 10)),
        throttled=dice.choice((0, 3)),
        unavailable=dice.choice((0, 3, 10)),
        lost=dice.choice((0, 3, 10)),
        repeat=dice.choice((0, 10)),
        rewind=dice.choice((0, 5)),
        hold=dice.choice((0, 1)),
        cut=dice.choice((0, 1)),
    )


_ALWAYS = (
    "new_revision", "new_revision", "old_revision", "edit_strategy", "misconfigure",
    "pause", "skip", "relabel_workload", "meddle", "delete_work",
)  # fmt: skip
_EDITS = {
    "replicaset": (*_ALWAYS, "twin"),
    "addon": (
        *_ALWAYS, "by_hand", "own", "own", "edit_own", "switch_config", "config_deleted",
        "config_deleted",
    ),
}  # fmt: skip
_FLEET = (
    "cluster_down", "cluster_down_in_flight", "cluster_deleted", "cluster_deleted_in_flight",
    "cluster_back", "cluster_new", "regroup", "regroup", "edit_placement", "placement_deleted",
    "overlap", "nobody", "many_leave",
)  # fmt: skip
_FOREIGN = ("regroup", "regroup", "torn", "torn", "many_leave", "nobody")
_ROUGH = ("crash", "crash", "crash_soon", "crash_soon", "crash_soon", "lose_record", "refuse")


def _script(dice: Random, edits: tuple[str, ...], foreign: bool, rough: bool) -> tuple[Act, ...]:
    verbs: list[str] = []
    verbs += dice.choices(edits, k=dice.randrange(0, 5))
    verbs += dice.choices(_FLEET, k=dice.randrange(0, 4))
    if foreign:
        verbs += dice.choices(_FOREIGN, k=dice.randrange(0, 4))
    if rough:
        verbs += dice.choices(_ROUGH, k=dice.randrange(0, 5))
    acts = [Act(timedelta(seconds=dice.randrange(1, 1500)), verb) for verb in verbs]
    return tuple(sorted(acts, key=lambda act: (act.at, act.verb)))


_OPERATIONS = {
    "replicaset": (
        "hold", "hold_in_flight", "retry", "retry", "retry", "abort", "undo", "undo", "reject", "approve_another", "withdraw",
        "freeze",
    ),
    "addon": (
        "hold", "hold_in_flight", "retry", "retry", "abort", "reject", "approve_another", "withdraw", "freeze",
    ),
}  # fmt: skip
_GATES = (
    "before:rest",
    "after:canary",
    "before:*",
    "after:*",
    "before:*,before:rest",
    "before:canary",
)


def _operations(dice: Random, kind: str) -> tuple[dict[str, str], list[Act]]:
    """What people do to the rollout in about half of the histories, and what they asked for before.

    Drawn apart from all the rest, so that the other half is what it would be without.
    """
    if dice.random() < 0.5:
        return {}, []
    notes: dict[str, str] = {}
    verbs = dice.choices(_OPERATIONS[kind], k=dice.randrange(1, 5))
    if kind == "replicaset" and dice.random() < 0.5:
        notes[ROLLBACK] = "Automatic"
        verbs.append("new_revision")
    if kind == "replicaset" and dice.random() < 0.6:
        notes[ROLLBACK_CONCURRENCY] = dice.choice(("1", "2", "50%", "100%", "0"))
        notes[ROLLBACK_FAILURES] = dice.choice(("0", "1", "25%", "100%"))
    if dice.random() < 0.35:
        notes[GATES] = dice.choice(_GATES)
        verbs += ["approve"] * dice.randrange(1, 4)
    acts = [Act(timedelta(seconds=dice.randrange(1, 1500)), verb) for verb in verbs]
    if notes.get(ROLLBACK_FAILURES) == "0":  # those who go back can hardly fail otherwise
        later = (timedelta(seconds=dice.randrange(300, 1700)) for _ in range(4))
        acts += [Act(at, "refuse") for at in later]
    return notes, acts
