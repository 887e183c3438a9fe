"""Which of the rights that the manifests give each account does it use, and does it use any other?

Test servers write down what the accounts of the manifests ask for, in the folder that `RECORDED` names.
``python -m tests.kube.rights FOLDER`` compares it, after all tests, with the roles in manifests/.
"""

import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
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
EVERYBODYS = ("selfsubjectaccessreviews", "selfsubjectrulesreviews")
"""What Kubernetes grants to whoever is known."""
HERE = GROUP.rpartition(":")[2]
"""The accounts' own namespace, which is the one that Roles are about; ClusterRoles are about all."""
READS = ("get", "list", "watch")
DASHBOARD = "dashboard"
"""The folder of its component; all other roles are the controller's."""


class Right(NamedTuple):
    """A verb on a resource, or on a subresource as ``resource/subresource``.

    ``namespace``: in which alone; "": in all of them, or in whichever.
    """

    group: str
    resource: str
    verb: str
    namespace: str = ""

    def __str__(self) -> str:
        told = f"{self.verb} {self.resource}" + (f".{self.group}" if self.group else "")
        return told + (f" in {self.namespace}" if self.namespace else "")


Rights = Mapping[str, set[Right]]
"""By account."""

SELDOM = {("rollout-controller", Right("events.k8s.io", "events", "get"))}
"""Rights that tests use or not: an event is read back only where the answer to it was lost on the way."""

IN_VAIN = {("rollout-controller", Right("coordination.k8s.io", "leases", "get"))}
"""What a test has an account try without a right: a controller looks for its lease in another namespace."""


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
    found = used(log.read_text().splitlines())
    told = {account: sorted(rights) for account, rights in found.items()}
    (place / f"{os.getpid()}.json").write_text(json.dumps(told))


def used(lines: Iterable[str]) -> Rights:
    """What an audit log tells of, whatever the server answered. The namespace is kept where it is `HERE`."""
    found: dict[str, set[Right]] = defaultdict(set)
    for line in lines:
        said = json.loads(line)
        ref = said.get("objectRef")
        if ref is None or "resource" not in ref or ref["resource"] in EVERYBODYS:
            continue  # a path without an object, such as the discovery of kinds
        parts = [ref["resource"], *([ref["subresource"]] if ref.get("subresource") else [])]
        account = said["user"]["username"].rpartition(":")[2]
        place = HERE if ref.get("namespace") == HERE else ""
        found[account].add(Right(ref.get("apiGroup", ""), "/".join(parts), said["verb"], place))
    return found


def granted(manifests: Path = MANIFESTS) -> Rights:
    """What the roles of the manifests grant to each of their accounts: Roles in their namespace."""
    found: dict[str, set[Right]] = defaultdict(set)
    for path in sorted(manifests.rglob("rbac.yaml")):
        account = f"rollout-{DASHBOARD if path.parent.name == DASHBOARD else 'controller'}"
        for obj in yaml.safe_load_all(path.read_text()):
            place = obj["metadata"].get("namespace", "")
            for rule in obj.get("rules", ()):
                found[account] |= {
                    Right(group, resource, verb, place)
                    for group in rule["apiGroups"]
                    for resource in rule["resources"]
                    for verb in rule["verbs"]
                }
    return found


def by_grant(given: set[Right], taken: set[Right]) -> set[Right]:
    """What was used, as the right that covers it: a Role's where there is one, else a ClusterRole's."""
    return {right if right in given else right._replace(namespace="") for right in taken}


def missing(given: set[Right], taken: set[Right]) -> list[Right]:
    """What was used and no role grants. Reading kinds of groups that the manifests do not speak of is
    granted by whoever has add-ons refer to them; writing them is not.
    """
    groups = {right.group for right in given}
    return sorted(
        right
        for right in by_grant(given, taken) - given
        if right.group in groups or right.verb not in READS
    )


def excuse(right: Right) -> str:
    """Why no test needs to use this right; "" where one has to."""
    if right.resource.endswith(FINALIZERS):
        return "the API server asks for it when an owner is set: no request is about it"
    if right.verb == "execute-as":
        return "OCM's webhook asks for it, and OCM is not there"
    return ""


def idle(account: str, given: set[Right], taken: set[Right]) -> list[Right]:
    """What is granted, was never used, and has no excuse."""
    unused = (right for right in given - by_grant(given, taken) if (account, right) not in SELDOM)
    return sorted(right for right in unused if not excuse(right))


def needless(taken: set[Right]) -> list[Right]:
    """What has an excuse and was used: the excuse has to go."""
    return sorted(right for right in taken if excuse(right))


def main(folder: Path) -> int:
    records = sorted(folder.glob("*.json"))
    taken: dict[str, set[Right]] = defaultdict(set)
    for path in records:
        for account, rights in json.loads(path.read_text()).items():
            taken[account] |= {Right(*right) for right in rights}
    wrong = [] if records else ["no test server wrote anything down"]
    for account, given in granted().items():
        mine = taken[account]
        wrong += [
            f"{account}: granted and never used: {right}" for right in idle(account, given, mine)
        ]
        lacking = [right for right in missing(given, mine) if (account, right) not in IN_VAIN]
        wrong += [f"{account}: used and not granted: {right}" for right in lacking]
        wrong += [f"{account}: excused, and used: {right}" for right in needless(mine)]
        print(f"{account}: {len(mine)} rights used, {len(given)} granted")
    print("\n".join([*wrong, f"by {len(records)} test servers"]))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
