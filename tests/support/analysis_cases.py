"""Random questions for simulations: small fleets, every strategy, agents of all kinds.

With one workload times are coarse, so that reports, soaks and deadlines often fall on one instant.
"""

import random
from typing import Any

from rollout.analysis.simulating import Question, question
from rollout.model.kinds import Obj
from rollout.model.names import FAILURE_TOLERANCE, SKIP
from rollout.sim.scenario import Scenario
from rollout.sim.scenario_file import read_scenario
from tests.support.changes import storing
from tests.support.shapes import CLUSTER_API, binding, cluster_set, workload
from tests.support.shapes import cluster as plain_cluster

RINGS = ("first", "second", "")
AMOUNTS: tuple[Any, ...] = (0, 1, 2, 3, "25%", "50%", "100%")
SPANS = ("0s", "30s", "1m", "90s", "3m")


def clusters(rng: random.Random) -> list[Obj]:
    found = []
    for i in range(rng.randint(1, 12)):
        ring = rng.choice(RINGS)
        found.append(plain_cluster(f"c{i:02}", {"ring": ring} if ring else {}))
    return found


def placement(name: str, rng: random.Random) -> Obj:
    groups = [
        {
            "groupName": ring,
            "groupClusterSelector": {"labelSelector": {"matchLabels": {"ring": ring}}},
        }
        for ring in RINGS
        if ring
    ]
    strategy: Obj = {"decisionGroups": groups}
    if rng.random() < 0.5:
        strategy["clustersPerDecisionGroup"] = rng.choice([1, 2, 5])
    return {
        "apiVersion": f"{CLUSTER_API}/v1beta1",
        "kind": "Placement",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"decisionStrategy": {"groupStrategy": strategy}},
    }


def strategy(rng: random.Random) -> Obj:
    kind = rng.choice(["All", "Progressive", "Progressive", "ProgressivePerGroup"])
    member: Obj = {
        "minSuccessTime": rng.choice(SPANS),
        "progressDeadline": rng.choice(["None", "1m", "90s", "5m"]),
    }
    if kind != "All":
        member["maxFailures"] = rng.choice(AMOUNTS)
        if rng.random() < 0.6:
            member["mandatoryDecisionGroups"] = [{"groupName": "first"}]
    if kind == "Progressive" and rng.random() < 0.8:
        member["maxConcurrency"] = rng.choice(AMOUNTS[1:])
    return {"type": kind, kind[0].lower() + kind[1:]: member}


def ruled(obj: Obj, rng: random.Random) -> Obj:
    """With condition rules, or without."""
    conditions = rng.choice([(), ("Progressing",), ("Progressing", "Degraded"), ("Degraded",)])
    if not conditions:
        return obj
    rule = {"type": "CEL", "celExpressions": ["object.data.size() > 0"]}
    config = {
        "resourceIdentifier": {
            "group": "",
            "resource": "configmaps",
            "name": "settings",
            "namespace": "default",
        },
        "conditionRules": [{"condition": condition, **rule} for condition in conditions],
    }
    template = {**obj["spec"]["manifestWorkTemplate"], "manifestConfigs": [config]}
    return {**obj, "spec": {**obj["spec"], "manifestWorkTemplate": template}}


def behaviour(rng: random.Random, *, coarse: bool) -> Obj:
    def delay() -> object:
        fine: list[object] = [{"min": "0s", "max": "1m"}, {"mean": "1m", "sigma": "30s"}]
        return rng.choice([*fine, "0s", "30s", "1m"] if coarse else fine)

    found: Obj = {
        "applyAfter": delay(),
        "readyAfter": delay(),
        "outcome": rng.choice(["success"] * 6 + ["fail", "failApply", "hang", "silent"]),
    }
    if rng.random() < 0.3:
        found["alternative"] = {
            "probability": 0.5,
            "outcome": rng.choice(["fail", "hang", "silent"]),
        }
    if rng.random() < 0.3:
        found["recoverAfter"] = delay()
    if rng.random() < 0.2:
        found["flapping"] = {"period": rng.choice(["30s", "1m"]), "count": rng.choice([1, 2])}
    if rng.random() < 0.3:
        found["offline"] = [
            {"from": rng.choice(["0s", "30s", "1m"]), "to": rng.choice(["2m", "3m"])}
        ]
    if rng.random() < 0.05:
        found["offline"] = [{"from": "1m"}]
    if rng.random() < 0.2:
        found["flaws"] = {"staleEvaluation": True, "missedProgress": rng.random() < 0.5}
    return found


def scenario(rng: random.Random, *, coarse: bool) -> Scenario:
    def one_rule() -> Obj:
        names = [f"c*{rng.randint(0, 9)}"]
        return {"clusters": {"names": names}, "behaviour": behaviour(rng, coarse=coarse)}

    rules = [one_rule() for _ in range(rng.randint(0, 4))]
    found, problems = read_scenario(
        {
            "apiVersion": "rollout-engine.io/v1alpha1",
            "kind": "AgentScenario",
            "spec": {
                "seed": rng.randint(0, 99),
                "defaults": behaviour(rng, coarse=coarse),
                "rules": rules,
            },
        }
    )
    assert found is not None, problems
    return found


def workloads(rng: random.Random) -> list[Obj]:
    found: list[Obj] = []
    for name in ("web", "api")[: rng.choice([1, 1, 2])]:
        obj = ruled(workload(name, strategy(rng)), rng)
        refs = [{"name": "fleet", "rolloutStrategy": strategy(rng)}]
        if rng.random() < 0.2:
            refs.append({"name": "again", "rolloutStrategy": strategy(rng)})
        notes: dict[str, str] = {}
        if rng.random() < 0.2:
            notes[FAILURE_TOLERANCE] = "Strict"
        if rng.random() < 0.2:
            notes[SKIP] = "c00,c03"
        found.append(
            {
                **obj,
                "metadata": {**obj["metadata"], "annotations": notes},
                "spec": {**obj["spec"], "placementRefs": refs},
            }
        )
    return found


def calendars(seed: int) -> list[Obj]:
    """Windows of minutes in the first three hours, for all clusters or for those of one ring."""
    rng, found = random.Random(f"calendars {seed}"), list[Obj]()
    for i in range(rng.randint(1, 2)):
        windows = [
            {
                "name": f"w{n}",
                "action": rng.choice(["Allow", "Allow", "Deny"]),
                "schedule": f"*/{rng.choice([3, 5, 7])} 0-2 1 1 *",
                "duration": rng.choice(["1m", "2m", "4m"]),
            }
            for n in range(rng.randint(1, 2))
        ]
        if any(window["action"] == "Allow" for window in windows):
            late = {"name": "late", "action": "Allow", "schedule": "0 3 1 1 *", "duration": "2400h"}
            windows.append(late)
        spec: Obj = {"windows": windows, "timeZone": "UTC"}
        if rng.random() < 0.5:
            spec["clusters"] = {"labelSelector": {"matchLabels": {"ring": rng.choice(RINGS[:2])}}}
        meta = {"name": f"calendar-{i}"}
        api = "rollout-engine.io/v1alpha1"
        found.append({"apiVersion": api, "kind": "ClusterCalendar", "metadata": meta, "spec": spec})
    return found


def random_question(seed: int, *, closing: bool = False) -> Question:
    """Everything about it follows from the seed. ``closing``: with calendars."""
    rng = random.Random(seed)
    objects = [cluster_set(), binding(), *clusters(rng)]
    rolled_out = workloads(rng)
    objects += [placement("fleet", rng), placement("again", rng), *rolled_out]
    if closing:
        objects += calendars(seed)
    return question(storing(objects), scenario(rng, coarse=len(rolled_out) == 1))
