"""Shards on a real API server that are killed and frozen, and another number of them: has each work one writer?

CI strikes few. ``ROLLOUT_KUBE_STRIKES=100`` strikes more (docs/safety-contract.md, S28).
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from rollout.errors import Gone
from rollout.hub.kube import KubeHub
from rollout.model import names
from rollout.model.kinds import MANIFEST_WORK, REPLICA_SET, Obj, Ref
from rollout.model.sharding import Sharding
from rollout.runtime.layout import lease_of
from tests.kube.cluster import Cluster
from tests.kube.processes import SHORT_LEASE, SYSTEM, FieldAgents, Process, install, token_of
from tests.kube.proxy import Asked, Proxy
from tests.kube.setting import PATIENCE, eventually, namespace, put
from tests.kube.test_kill import AGENTS
from tests.support import make

pytestmark = pytest.mark.kube

STRIKES = int(os.environ.get("ROLLOUT_KUBE_STRIKES", "4"))
SPACES = tuple(f"team-{letter}" for letter in "abcdef")
CLUSTERS = 20 if STRIKES < 10 else 8 * STRIKES
"""So many that most strikes fall while there is still something to write."""
LONG = PATIENCE + 20 * STRIKES
FROZEN = 12.0
"""Seconds: longer than the lease, so that a successor leads when the frozen one wakes."""


@dataclass
class Member:
    """A controller, and the proxy by which it alone reaches the server."""

    process: Process
    proxy: Proxy

    def writes(self) -> list[Asked]:
        """Of works, those that the server took, in the order in which they were sent."""
        return [
            asked
            for asked in list(self.proxy.asked)
            if asked.writes and asked.kind is MANIFEST_WORK and 200 <= asked.status < 300
        ]


@dataclass
class Shard:
    """Its controllers: one leads, one stands by, the others have ended."""

    number: int
    of: int
    server: Cluster
    folder: Path
    token: str
    members: list[Member] = field(default_factory=list)

    def enlist(self) -> None:
        name = f"pod-{len(self.members)}"
        at = self.folder / name
        at.mkdir(parents=True)
        proxy = Proxy(self.server, slow=0.05)
        env = {**SHORT_LEASE, "ROLLOUT_SHARDS": str(self.of), "ROLLOUT_SHARD": str(self.number)}
        process = Process(proxy.kubeconfig(at, self.token), at, name, env)
        self.members.append(Member(process.start(), proxy))

    def leader(self, hub: KubeHub) -> Process | None:
        while sum(m.process.process.poll() is None for m in self.members) < 2:
            self.enlist()
        try:
            lease = hub.get(lease_of(SYSTEM, "rollout-controller", self.number))
        except Gone:
            return None
        identity = str(lease["spec"].get("holderIdentity") or "")
        for process in (member.process for member in self.members):
            if identity.startswith(f"{process.name}_") and process.process.poll() is None:
                return process
        return None

    def writes(self) -> list[Asked]:
        return [asked for member in self.members for asked in member.writes()]

    def spaces(self) -> list[str]:
        """Whose workloads are its own."""
        share = Sharding(shards=self.of, shard=self.number, home=SYSTEM)
        return [space for space in SPACES if share.concerns(Ref(REPLICA_SET, f"{space}/web"))]

    def stop(self) -> None:
        for member in self.members:
            member.process.stop()
            member.proxy.close()


@contextmanager
def sharded(server: Cluster, admin: KubeHub, folder: Path, of: int) -> Iterator[list[Shard]]:
    """So many shards, each controller of which reaches the server by a proxy of its own."""
    token = token_of(admin)
    with ExitStack() as stack:
        found = []
        for number in range(of):
            shard = Shard(number, of, server, folder / f"{number}-of-{of}", token)
            stack.callback(shard.stop)
            found.append(shard)
        yield found


def owner_of(work: Ref, admin: KubeHub) -> str:
    """The namespace of its workload."""
    labels = admin.get(work)["metadata"]["labels"]
    return str(labels[names.WORK_OWNER_LABEL]).partition(".")[0]


def is_done(admin: KubeHub, version: str) -> bool:
    works = admin.list(MANIFEST_WORK).items
    carried = [w["spec"]["workload"]["manifests"][0]["data"]["version"] for w in works]
    if carried != [version] * (len(SPACES) * CLUSTERS):
        return False
    for space in SPACES:
        status = admin.get(Ref(REPLICA_SET, f"{space}/web")).get("status") or {}
        said = {c["type"]: c["status"] for c in status.get("conditions") or ()}
        updated = (status.get("summary") or {}).get("updated")
        if said.get(names.READY) != "True" or updated != CLUSTERS:
            return False
    return True


def finish(admin: KubeHub, shards: list[Shard], version: str) -> None:
    def done() -> bool:
        for shard in shards:
            shard.leader(admin)
        return is_done(admin, version)

    eventually(f"version {version} is everywhere", done, LONG)


def is_busy(admin: KubeHub, shard: Shard) -> bool:
    """Whether a workload of this shard is not everywhere yet."""
    for space in shard.spaces():
        status = admin.get(Ref(REPLICA_SET, f"{space}/web")).get("status") or {}
        if (status.get("summary") or {}).get("updated") != CLUSTERS:
            return True
    return False


def strike(admin: KubeHub, shards: list[Shard]) -> int:
    """Kill or freeze the leader of one shard after another. Returns: how many had something to write."""
    dice, busy = Random("strikes"), 0
    for shard in shards:
        shard.enlist()
    for number in range(STRIKES):
        shard = dice.choice(shards)
        found: list[Process] = []

        def leads(shard: Shard = shard, found: list[Process] = found) -> bool:
            process = shard.leader(admin)
            found[:] = [process] if process else []
            return process is not None

        eventually(f"somebody leads shard {shard.number}", leads)
        threading.Event().wait(dice.uniform(0, 1.5))
        busy += is_busy(admin, shard)
        if number % 2:
            found[0].signal(signal.SIGKILL)
            found[0].ended()
        else:
            found[0].signal(signal.SIGSTOP)
            threading.Event().wait(FROZEN)
            found[0].signal(signal.SIGCONT)
    return busy


def change(admin: KubeHub, version: str) -> None:
    for space in SPACES:
        changes = {"spec": {"manifestWorkTemplate": make.template(version)}}
        admin.patch(Ref(REPLICA_SET, f"{space}/web"), changes)


def begin(admin: KubeHub) -> None:
    install(admin)
    namespace(admin, *(f"c{n:02d}" for n in range(CLUSTERS)), *SPACES)
    for obj in make.fleet(CLUSTERS):
        put(admin, obj)
    strategy = make.progressive(maxConcurrency=2, minSuccessTime="1s", progressDeadline="1h")
    for space in SPACES:
        put(admin, make.binding(space))
        put(admin, make.placement(namespace=space))
        put(admin, make.workload(namespace=space, strategy=strategy))


def each_writes_its_own(admin: KubeHub, shards: list[Shard]) -> None:
    for shard in shards:
        wrote = {owner_of(Ref(MANIFEST_WORK, key), admin) for key in works_of(shard)}
        assert wrote <= set(shard.spaces())


def one_after_the_other(shards: list[Shard]) -> None:
    """A controller that wrote writes no more once another one of its shard has begun to."""
    for shard in shards:
        spans = sorted(
            (min(a.at for a in wrote), max(a.at for a in wrote))
            for wrote in (member.writes() for member in shard.members)
            if wrote
        )
        for (_, last), (first, _) in pairwise(spans):
            assert last < first


def works_of(shard: Shard) -> set[str]:
    """Keys of the works that it wrote. That of a created one stands in its body."""
    return {
        f"{a.key.partition('/')[0]}/{a.body['metadata']['name']}" if a.method == "POST" else a.key
        for a in shard.writes()
    }


def test_s28_no_work_has_two_writers_whoever_is_killed_or_frozen_and_however_many_there_are(
    server: Cluster, admin: KubeHub, tmp_path: Path
) -> None:
    begin(admin)
    agents = FieldAgents(server.kubeconfig, AGENTS)
    try:
        with sharded(server, admin, tmp_path, of=3) as old:
            busy = strike(admin, old)
            finish(admin, old, "1")
            print(f"{STRIKES} strikes, {busy} of them while the shard had something to write")
            assert busy >= STRIKES / 4
            each_writes_its_own(admin, old)
            one_after_the_other(old)
            relabelled(admin)
            touched_once(admin, generation=1)

            change(admin, "2")
            eventually("the old shards write", lambda: any(is_change(s) for s in old), LONG)
            with sharded(server, admin, tmp_path, of=2) as new:
                for shard in new:
                    shard.enlist()
                threading.Event().wait(3)
                assert not any(shard.writes() for shard in new), "shard 0 of the old still leads"
                for member in old[0].members:
                    member.process.stop()
                finish(admin, new, "2")
                each_writes_its_own(admin, new)
                touched_once(admin, generation=2)
                first = min(asked.at for shard in new for asked in shard.writes())
                assert max(asked.at for shard in old for asked in shard.writes()) < first
                one_after_the_other([*old, *new])
                logs = [m.process.log() for s in (*old, *new) for m in s.members]
                assert not [log for log in logs if "Traceback" in log]
    finally:
        agents.stop()


def relabelled(admin: KubeHub) -> None:
    """Works that somebody gives to each of the other shards are put right, as those without a label."""
    works = [Ref(MANIFEST_WORK, key_of_work(obj)) for obj in admin.list(MANIFEST_WORK).items[:4]]
    before = [admin.get(work)["metadata"]["labels"] for work in works]
    for work, bucket in zip(works, ("0", "1", "2", None), strict=True):
        admin.patch(work, {"metadata": {"labels": {names.BUCKET_LABEL: bucket}}})
    eventually(
        "the labels are put right",
        lambda: [admin.get(work)["metadata"]["labels"] for work in works] == before,
    )


def key_of_work(obj: Obj) -> str:
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"


def is_change(shard: Shard) -> bool:
    return any(asked.method == "PATCH" and "spec" in asked.body for asked in shard.writes())


def touched_once(admin: KubeHub, *, generation: int) -> None:
    found = {work["metadata"]["generation"] for work in admin.list(MANIFEST_WORK).items}
    assert found <= set(range(1, generation + 1))
