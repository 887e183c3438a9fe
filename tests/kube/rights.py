"""Which of the rights that the manifests give the controller does it use, and does it use any other?

Test servers write down what the controller's account asks for, in the folder that `RECORDED` names.
``python -m tests.kube.rights FOLDER`` compares it, after all tests, with the roles in manifests/.
"""

import json
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import yaml

from rollout.model.kinds import Obj

MANIFESTS = Path(__file__).parents[2] / "manifests"
RECORDED = "ROLLOUT_KUBE_RIGHTS"
"""The variable with the folder; without it nothing is recorded."""
GROUP = "system:serviceaccounts:rollout-system"
POLICY: Obj = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived", "ResponseStarted"],
    "rules": [{"level": "Metadata", "userGroups": [GROUP]}, {"level": "None"}],
}
FINALIZERS = "/finalizers"
WRITES = {"create", "patch", "delete"}
EVERYBODYS = ("selfsubjectaccessreviews", "selfsubjectrulesreviews")
"""What Kubernetes grants to whoever is known."""


class Right(NamedTuple):
    """A verb on a resource, or on a subresource as ``resource/subresource``."""

    group: str
    resource: str
    verb: str

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}" + (f".{self.group}" if self.group else "")


CLUSTER = "cluster.open-cluster-management.io"
UNTRIED = {
    Right("coordination.k8s.io", "leases", "list"): "no test here watches cluster health",
    Right("coordination.k8s.io", "leases", "watch"): "no test here watches cluster health",
    Right(CLUSTER, "managedclusters", "patch"): "no test here watches cluster health",
    Right(CLUSTER, "managedclusters/status", "patch"): "no test here watches cluster health",
    Right(CLUSTER, "managedclustersets", "patch"): "no test here spoils a standard set",
    Right(
        "multicluster.x-k8s.io", "placementdecisions", "delete"
    ): "no test here takes all clusters of a published page away",
    **{
        Right("rollout-engine.io", resource, verb): "no test here has calendars"
        for kind in ("calendars", "clustercalendars")
        for resource, verb in ((kind, "list"), (kind, "watch"), (f"{kind}/status", "patch"))
    },
}
"""Rights that tests without an API server exercise, and why none does with one."""


def flags(folder: Path) -> tuple[str, ...]:
    """For a kube-apiserver that is to record, in ``folder``; none where nothing is recorded."""
    if not os.environ.get(RECORDED):
        return ()
    policy = folder / "rights-policy.json"
    policy.write_text(json.dumps(POLICY))
    log = ("--audit-log-path", str(folder / "rights.log"), "--audit-log-mode", "blocking")
    return ("--audit-policy-file", str(policy), *log)


def keep(folder: Path) -> None:
    """Once such a server has ended: put what was used where it is compared."""
    wanted, log = os.environ.get(RECORDED), folder / "rights.log"
    if not wanted or not log.exists():
        return
    place = Path(wanted)
    place.mkdir(parents=True, exist_ok=True)
    found = sorted(used(log.read_text().splitlines()))
    (place / f"{os.getpid()}.json").write_text(json.dumps(found))


def used(lines: Iterable[str]) -> set[Right]:
    """What an audit log tells of, whatever the server answered."""
    found: set[Right] = set()
    for line in lines:
        said = json.loads(line)
        ref = said.get("objectRef")
        if ref is None or "resource" not in ref or ref["resource"] in EVERYBODYS:
            continue  # a path without an object, such as the discovery of kinds
        parts = [ref["resource"], *([ref["subresource"]] if ref.get("subresource") else [])]
        found.add(Right(ref.get("apiGroup", ""), "/".join(parts), said["verb"]))
    return found


def granted(manifests: Path = MANIFESTS) -> set[Right]:
    """All that any role of the manifests grants."""
    return {
        Right(group, resource, verb)
        for rule in _rules(manifests)
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def _rules(manifests: Path) -> Iterator[Obj]:
    for path in sorted(manifests.rglob("rbac.yaml")):
        for obj in yaml.safe_load_all(path.read_text()):
            yield from obj.get("rules", ())


def missing(given: set[Right], taken: set[Right]) -> list[Right]:
    """What was used and no role grants. Reading kinds of groups that the manifests do not speak of is
    granted by whoever has add-ons refer to them.
    """
    groups = {right.group for right in given}
    return sorted(right for right in taken - given if right.group in groups)


def excuse(right: Right, given: set[Right]) -> str:
    """Why no test needs to use this right; "" where one has to."""
    if right.resource.endswith(FINALIZERS):
        return "the API server asks for it when an owner is set: no request is about it"
    if right.verb == "execute-as":
        return "OCM's webhook asks for it, and OCM is not there"
    if right in UNTRIED:
        return UNTRIED[right]
    written = {
        r.verb for r in given if r[:2] in (right[:2], (right.group, f"{right.resource}/status"))
    }
    if right.verb == "get" and written & WRITES:
        return "what is written is read only where the answer was lost, or others wrote first"
    return ""


def idle(given: set[Right], taken: set[Right]) -> list[Right]:
    """What is granted, was never used, and has no excuse."""
    return sorted(right for right in given - taken if not excuse(right, given))


def main(folder: Path) -> int:
    records = sorted(folder.glob("*.json"))
    taken = {Right(*right) for path in records for right in json.loads(path.read_text())}
    given = granted()
    for right in idle(given, taken):
        print(f"granted and never used: {right}")
    for right in missing(given, taken):
        print(f"used and not granted: {right}")
    print(f"{len(taken)} rights used by {len(records)} test servers, {len(given)} granted")
    return 0 if records and not idle(given, taken) and not missing(given, taken) else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
