"""Add-ons on a real API server: the controller as it is installed, with the rights of its manifests.

Decisions are written by the test, as another scheduler would; the add-on's own manager is simulated,
and the test says how works do. The tables are those of the embedded hub (tests/test_planning_addons.py).
"""

import copy
import json
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from rollout.api.load import load
from rollout.clock import SteadyClock, SystemClock
from rollout.errors import AlreadyExists, HubError, NotServed
from rollout.hub.kube import KubeHub
from rollout.hub.kube_access import Access
from rollout.model import names
from rollout.model.kinds import (
    ADDON_DEPLOYMENT_CONFIG,
    CLUSTER_MANAGEMENT_ADDON,
    CONFIG_MAP,
    MANAGED_CLUSTER,
    MANAGED_CLUSTER_ADDON,
    MANIFEST_WORK,
    Kind,
    Obj,
    Ref,
)
from rollout.model.spec_hash import spec_hash
from rollout.runtime.events import EVENT
from rollout.sim.addon_agents import AddOnManager
from tests import addons, make
from tests.addons import (
    ALL_DONE,
    CLUSTERS,
    CMA,
    COMPLETED,
    CONFIGURED,
    NAME,
    NOT_READY,
    TEST,
    TEST1,
    TEST2,
    TEST3,
    WAITING,
    Desk,
    addon,
    going,
    installed_at,
    progressive,
    refer,
    said,
    typed,
)
from tests.kube.cluster import Cluster
from tests.kube.driving import QUICK as AGENTS
from tests.kube.processes import ACCOUNT, QUICK, FieldAgents, Process, install, kubeconfig_of
from tests.kube.setting import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    CRD,
    ROOT,
    crd_objects,
    eventually,
    namespace,
    put,
)

pytestmark = pytest.mark.kube

HOSTING = "addon.open-cluster-management.io/hosting-cluster-name"
HELLO = Ref(CLUSTER_MANAGEMENT_ADDON, "helloworld")
TUNINGS = Kind("Tuning", "tunings", "example.org", "v1beta1", True, has_status=False)
Start = Callable[..., Process]


class OnServer(Desk):
    """The test's hands on an API server, and the add-on's manager on a thread of its own."""

    hub: KubeHub

    def __init__(self, hub: KubeHub, server: Cluster) -> None:
        self.hub, self.clock = hub, SystemClock()
        self._own = KubeHub(Access(str(server.kubeconfig)))
        self._manager = AddOnManager(self._own, SteadyClock())
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._drive, name="add-on manager", daemon=True)
        self._thread.start()

    def _drive(self) -> None:
        self._manager.start()
        while not self._ended.wait(0.01):
            self._manager.run_due()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join(20)
        self._manager.close()
        self._own.close()

    def rendered(self, clusters: list[str], spec_hash: str) -> "OnServer":
        """Wait until works are made from a configuration."""

        def check() -> None:
            for cluster in clusters:
                work = self.hub.get(Ref(MANIFEST_WORK, f"{cluster}/addon-{NAME}-deploy-0"))
                told = work["metadata"]["annotations"][names.CONFIG_SPEC_HASH]
                assert list(json.loads(told).values()) == [spec_hash], cluster

        eventually(f"works of {clusters} are rendered", _if_there(check))
        return self

    def until(self, what: str, check: Callable[[], object], seconds: float = 30) -> "OnServer":
        eventually(what, _if_there(check), seconds)
        return self


def _if_there(check: Callable[[], object]) -> Callable[[], object]:
    """What is not there yet is as good as what does not hold yet."""

    def checked() -> object:
        try:
            return check()
        except (HubError, KeyError, IndexError) as error:
            raise AssertionError(str(error)) from error

    return checked


@pytest.fixture
def start(server: Cluster, admin: KubeHub, tmp_path: Path) -> Iterator[Start]:
    """The manifests are applied. Starts controllers with them; all end with the test."""
    install(admin)
    kubeconfig = kubeconfig_of(server, admin)
    started: list[Process] = []

    def begin(**env: str) -> Process:
        env = {**QUICK, "ROLLOUT_QUIET_SECONDS": "0.5", **env}
        process = Process(kubeconfig, tmp_path, f"pod-{len(started)}", env)
        started.append(process.start())
        return process.wait_until_it_leads()

    yield begin
    for process in started:
        process.stop()


@pytest.fixture
def desk(server: Cluster, admin: KubeHub) -> Iterator[OnServer]:
    """A fleet of four, a placement that the test decides, and the add-on's manager."""
    namespace(admin, *CLUSTERS)
    for obj in addons.fleet(*CLUSTERS):
        put(admin, obj)
    found = OnServer(admin, server)
    yield found
    found.stop()


def refused(process: Process) -> list[str]:
    """Series of writes that the server would not have, and plans that raised."""
    _, text = process.fetch("/metrics")
    assert "rollout_writes_total" in text
    return [
        line
        for line in text.splitlines()
        if re.match(r'rollout_writes_total\{.*result="refused"|rollout_plan_failures_total', line)
    ]


# -- the upgrade table ----------------------------------------------------------------------------


def all_carry(desk: OnServer, name: str, spec_hash: str, generation: int) -> Callable[[], None]:
    def check() -> None:
        for cluster in CLUSTERS:
            assert desk.carries(cluster) == [(name, spec_hash, spec_hash, generation)]
            assert desk.says(cluster, names.PROGRESSING) == COMPLETED
            assert desk.says(cluster, names.CONFIGURED) == CONFIGURED
        assert desk.hashes() == [(spec_hash, spec_hash, spec_hash)]
        assert desk.message() == ALL_DONE

    return check


def one_group(
    desk: OnServer, new: tuple[str, str, str, int], old: tuple[str, str, str, int]
) -> None:
    """The first two are told something new, the others wait with what they have."""
    for cluster in CLUSTERS[:2]:
        assert desk.carries(cluster) == [new]
        assert desk.says(cluster, names.PROGRESSING) == NOT_READY
        assert desk.says(cluster, names.CONFIGURED) == CONFIGURED
    for cluster in CLUSTERS[2:]:
        assert desk.carries(cluster) == [old]
        assert desk.says(cluster, names.PROGRESSING) == COMPLETED
        assert desk.says(cluster, names.CONFIGURED) == WAITING
    assert desk.message() == going(2)


def elapsed(since: float) -> float:
    return time.monotonic() - since  # noqa: TID251  the controller is another process


def test_the_upgrade_table(desk: OnServer, start: Start) -> None:
    """Rows 1 to 11 of the add-on manager's upgrade test, in one story."""
    process = start()
    first, second = CLUSTERS[:2], CLUSTERS[2:]
    desk.add(typed(), typed("update", "test2"), addon("default", placements=[installed_at()]))

    desk.decide(first, second).rendered(CLUSTERS, TEST).works_do(CLUSTERS)
    desk.until("the first is everywhere", all_carry(desk, "default", TEST, 1))

    desk.set_config("test1").rendered(CLUSTERS, TEST1).works_do(CLUSTERS)
    desk.until("the edit is everywhere", all_carry(desk, "default", TEST1, 2))

    # Another object, two at a time, at most one failure, five seconds.
    strategy = progressive(maxConcurrency=2, progressDeadline="5s", maxFailures=1)
    began = time.monotonic()  # noqa: TID251
    desk.set_addon(
        addon("default", placements=[installed_at("p", refer("update"), strategy=strategy)])
    )
    desk.rendered(first, TEST2).works_do(first, ready=False)
    carried = ("default", TEST1, TEST1, 2)
    desk.until("two are told", lambda: one_group(desk, ("update", TEST2, "", 1), carried))
    assert desk.hashes() == [(TEST2, "", "")]
    desk.until("both are late", lambda: desk.message() == going(0, late=2))
    assert elapsed(began) >= 5
    assert desk.halted() == ("True", "MaxFailuresExceeded")
    assert [desk.carries(cluster) for cluster in second] == [[carried]] * 2

    # They recover: it goes on to its end.
    desk.works_do(first).rendered(second, TEST2).works_do(second, ready=False)
    desk.until("all are told", lambda: desk.message() == going(4))
    assert desk.says(first[0], names.PROGRESSING) == COMPLETED
    desk.works_do(second)
    desk.until("the other is everywhere", all_carry(desk, "update", TEST2, 1))

    # Group by group, well for three seconds, the object edited.
    strategy = {"type": "ProgressivePerGroup", "progressivePerGroup": {"minSuccessTime": "3s"}}
    desk.set_addon(
        addon("default", placements=[installed_at("p", refer("update"), strategy=strategy)])
    )
    desk.until("the strategy is known", lambda: desk.halted() == ("False", "Complete"))
    desk.set_config("test3", "update").rendered(first, TEST3).works_do(first, ready=False)
    carried = ("update", TEST2, TEST2, 2)
    desk.until("one group is told", lambda: one_group(desk, ("update", TEST3, TEST2, 2), carried))
    assert desk.hashes() == [(TEST3, TEST2, TEST2)]

    began = time.monotonic()  # noqa: TID251
    desk.works_do(first).rendered(second, TEST3)
    assert elapsed(began) >= 3
    desk.works_do(second, ready=False)
    desk.until("all are told", lambda: desk.message() == going(4))
    assert desk.hashes() == [(TEST3, TEST2, TEST2)]
    began = time.monotonic()  # noqa: TID251
    desk.works_do(second)
    desk.until("it is everywhere", all_carry(desk, "update", TEST3, 2))
    assert elapsed(began) >= 3

    assert refused(process) == []
    told = {o["reason"] for o in desk.hub.list(EVENT).items if o["regarding"]["name"] == NAME}
    assert {"BudgetExhausted", "StagePassed", "RolloutCompleted"} <= told
    pages = [o for o in desk.hub.list(CONFIG_MAP).items if o["metadata"].get("ownerReferences")]
    assert {page["metadata"]["namespace"] for page in pages} == {"default"}
    assert {page["metadata"]["ownerReferences"][0]["kind"] for page in pages} == {
        CLUSTER_MANAGEMENT_ADDON.name
    }


def test_a_controller_that_is_followed_by_another_leaves_nothing_to_do_again(
    desk: OnServer, start: Start
) -> None:
    strategy = progressive(maxConcurrency=2, minSuccessTime="1h")
    desk.add(typed(), addon("default", placements=[installed_at("p", strategy=strategy)]))
    first = start()
    desk.decide(CLUSTERS[:2], CLUSTERS[2:]).rendered(CLUSTERS[:2], TEST).works_do(CLUSTERS[:2])
    desk.until("two have it", lambda: desk.carries("c1") == [("default", TEST, TEST, 1)])

    first.signal(signal.SIGTERM)
    assert first.ended() == 0
    before = {c: desk.cluster(c)["status"]["configReferences"] for c in CLUSTERS[:2]}
    second = start()
    desk.hub.patch(CMA, {"spec": {"addOnMeta": {"displayName": "Hello"}}})
    desk.until("it has looked", lambda: _observed(desk) == 2)

    assert {c: desk.cluster(c)["status"]["configReferences"] for c in CLUSTERS[:2]} == before
    assert [desk.references(c) for c in CLUSTERS[2:]] == [[], []]
    assert refused(second) == []


def _observed(desk: OnServer) -> int:
    found: list[int] = [c.get("observedGeneration", 0) for c in desk.progression()["conditions"]]
    return max(found)


# -- the install table ----------------------------------------------------------------------------


def test_the_install_table(desk: OnServer, start: Start) -> None:
    process = start()
    desk.add(typed(), addon("default", placements=[installed_at()]))
    desk.decide(["c0", "c1"]).until("both", lambda: desk.installed() == ["c0", "c1"])
    (owner,) = desk.cluster("c0")["metadata"]["ownerReferences"]
    assert owner["uid"] == desk.hub.get(CMA)["metadata"]["uid"]

    desk.decide(["c1", "c2"]).until("one moved", lambda: desk.installed() == ["c1", "c2"])

    uid = desk.cluster("c1")["metadata"]["uid"]
    desk.hub.delete(Ref(MANAGED_CLUSTER_ADDON, f"c1/{NAME}"))
    desk.until("it is back", lambda: desk.cluster("c1")["metadata"]["uid"] != uid)

    desk.hub.patch(Ref(MANAGED_CLUSTER, "c2"), {"metadata": {"annotations": {HOSTING: "h"}}})
    notes: Callable[[str], Mapping[str, str]] = lambda c: desk.cluster(c)["metadata"]["annotations"]  # noqa: E731
    desk.until("it is mirrored", lambda: notes("c2").get(HOSTING) == "h")
    assert HOSTING not in notes("c1")
    desk.hub.patch(Ref(MANAGED_CLUSTER, "c2"), {"metadata": {"annotations": {HOSTING: None}}})
    desk.until("it is gone", lambda: HOSTING not in notes("c2"))
    assert refused(process) == []


# -- configurations of any kind -------------------------------------------------------------------


def tuning_crd(*versions: str) -> Obj:
    """A definition of somebody else's, the last version of which is stored."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served = [
        {
            "name": version,
            "served": True,
            "storage": version == versions[-1],
            "schema": {"openAPIV3Schema": schema},
        }
        for version in versions
    ]
    naming = {"kind": "Tuning", "listKind": "TuningList", "plural": "tunings", "singular": "tuning"}
    spec = {"group": "example.org", "scope": "Namespaced", "names": naming, "versions": served}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "tunings.example.org"},
        "spec": spec,
    }


@pytest.fixture
def tunings(admin: KubeHub) -> Iterator[Ref]:
    """A kind that nobody has heard of, served as v1alpha1 and v1beta1; nobody may read it yet."""
    ref = Ref(CRD, "tunings.example.org")
    admin.create(ref, tuning_crd("v1alpha1", "v1beta1"))
    yield ref
    for cluster_wide in (Ref(CLUSTER_ROLE, "tunings"), Ref(CLUSTER_ROLE_BINDING, "tunings"), ref):
        try:
            admin.delete(cluster_wide)
        except HubError:
            continue


def permit(hub: KubeHub) -> None:
    """As docs/kubernetes.md says."""
    place, _, name = ACCOUNT.partition("/")
    rule = {
        "apiGroups": ["example.org"],
        "resources": ["tunings"],
        "verbs": ["get", "list", "watch"],
    }
    hub.create(Ref(CLUSTER_ROLE, "tunings"), {"rules": [rule]})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "tunings"}
    subject = {"kind": "ServiceAccount", "namespace": place, "name": name}
    hub.create(Ref(CLUSTER_ROLE_BINDING, "tunings"), {"roleRef": role, "subjects": [subject]})


def watches(hub: KubeHub, resource: str) -> int:
    """How many watches of a resource the server has, by its own count."""
    text = hub.send("GET", "/metrics").decode()
    found: list[str] = re.findall(
        rf'^apiserver_longrunning_(?:requests|gauge)\{{.*resource="{resource}".*verb="WATCH".*\}} (\d+)',
        text,
        re.MULTILINE,
    )
    return sum(int(number) for number in found)


def tuning(value: int) -> Obj:
    """Its content is not called spec."""
    return {
        "apiVersion": TUNINGS.api_version,
        "kind": "Tuning",
        "metadata": {"name": "t", "namespace": "default"},
        "knobs": {"speed": value, "label": "<ä>"},
    }


def test_a_configuration_of_any_kind_is_watched_from_the_first_reference_to_the_last(
    desk: OnServer, start: Start, tunings: Ref
) -> None:
    process = start()
    desk.until("it is served", lambda: bool(desk.hub.list(TUNINGS).version))
    document = addon(placements=[installed_at("p", refer("t", "tunings", "example.org"))])
    document["spec"]["supportedConfigs"] = [{"group": "example.org", "resource": "tunings"}]
    desk.hub.create(Ref(TUNINGS, "default/t"), tuning(1))
    desk.add(document)
    desk.decide(CLUSTERS)

    def is_said() -> None:
        told = said(desk.progression(), names.ROLLOUT_HALTED)
        assert told[:2] == ("True", "ConfigNotFound")
        assert "tunings.example.org/default/t cannot be read" in told[2]
        assert "forbidden" in told[2]

    desk.until("it is said that it may not be read", is_said)
    permit(desk.hub)
    first, second = spec_hash(tuning(1)), spec_hash(tuning(2))
    desk.rendered(CLUSTERS, first).works_do(CLUSTERS)
    desk.until("it is everywhere", lambda: desk.message() == ALL_DONE)
    assert watches(desk.hub, "tunings") == 1

    desk.hub.patch(Ref(TUNINGS, "default/t"), {"knobs": {"speed": 2}})
    desk.rendered(CLUSTERS, second).works_do(CLUSTERS)
    desk.until("the edit is everywhere", lambda: desk.hashes() == [(second, second, second)])
    assert [desk.carries(c) for c in CLUSTERS] == [[("t", second, second, 2)]] * 4

    desk.set_addon(addon("default", placements=[installed_at()]))
    desk.until("nobody watches it", lambda: watches(desk.hub, "tunings") == 0)
    assert refused(process) == []


# -- a hub without add-ons ------------------------------------------------------------------------


@pytest.fixture
def without_addons(admin: KubeHub) -> Iterator[Callable[[], None]]:
    """A hub that lacks the definitions of add-ons; called, it gets them."""
    group = CLUSTER_MANAGEMENT_ADDON.group
    missing = [obj for obj in crd_objects() if obj["spec"]["group"] == group]

    def how_many_are_served() -> int:
        served = 0
        for kind in (CLUSTER_MANAGEMENT_ADDON, MANAGED_CLUSTER_ADDON, ADDON_DEPLOYMENT_CONFIG):
            try:
                admin.list(kind)
            except NotServed:
                continue
            served += 1
        return served

    def bring() -> None:
        for obj in missing:
            try:
                admin.create(Ref(CRD, obj["metadata"]["name"]), obj)
            except AlreadyExists:
                continue
        in_a_row = [0]

        def steadily() -> bool:
            """A server that lost a whole group lately wavers before it serves it again for good."""
            in_a_row[0] = in_a_row[0] + 1 if how_many_are_served() == len(missing) else 0
            return in_a_row[0] > 40

        eventually("they are served", steadily)

    for obj in missing:
        admin.delete(Ref(CRD, obj["metadata"]["name"]))
    eventually("they are gone", lambda: how_many_are_served() == 0)
    yield bring
    bring()


def test_a_hub_without_addons_rolls_workloads_out_and_addons_once_it_has_them(
    admin: KubeHub, server: Cluster, start: Start, without_addons: Callable[[], None]
) -> None:
    namespace(admin, *CLUSTERS)
    for obj in [*addons.fleet(*CLUSTERS), make.workload(rules=())]:
        put(admin, obj)
    process = start()
    agents = FieldAgents(server.kubeconfig, AGENTS)
    Desk.decide(_Hands(admin), CLUSTERS)
    eventually("works are there", lambda: len(admin.list(MANIFEST_WORK).items) == 4)
    assert "is the CustomResourceDefinition installed" in process.log()

    without_addons()
    desk = OnServer(admin, server)
    try:
        desk.add(typed(), addon("default", placements=[installed_at()]))
        desk.until("it is installed", lambda: desk.installed() == CLUSTERS, 60)
    finally:
        desk.stop()
        agents.stop()


class _Hands(Desk):
    def __init__(self, hub: KubeHub) -> None:
        self.hub, self.clock = hub, SystemClock()


# -- the example ----------------------------------------------------------------------------------

WEST = {f"aws-west-{n}" for n in range(1, 5)}
EAST = {f"aws-east-{n}" for n in range(1, 5)}
REST = {f"aws-prod-{n:02d}" for n in range(1, 33)}
BAD_RELEASE = (
    AGENTS
    + """
  rules:
  - manifests: {kind: Deployment, image: "quay.io/example/helloworld:1.2"}
    behaviour:
      outcome: fail
"""
)


def example() -> list[Obj]:
    """The example's objects, with a soak that a test can wait for."""
    loaded = load([ROOT / "examples" / "addon-canary"])
    assert not loaded.errors
    found = copy.deepcopy([obj for obj in loaded.objects if obj["kind"] != "AgentScenario"])
    (document,) = [obj for obj in found if obj["kind"] == CLUSTER_MANAGEMENT_ADDON.name]
    (placed,) = document["spec"]["installStrategy"]["placements"]
    placed["rolloutStrategy"]["progressive"]["minSuccessTime"] = "1s"
    return found


class Told:
    """The order in which clusters are told of a release, by the hash of its configuration."""

    def __init__(self, hub: KubeHub) -> None:
        self.order: dict[str, list[str]] = {}
        self.end = hub.watch(MANAGED_CLUSTER_ADDON, hub.list(MANAGED_CLUSTER_ADDON).version, self)

    def __call__(self, event: Any) -> None:
        for reference in (event.obj.get("status") or {}).get("configReferences") or []:
            order = self.order.setdefault(reference["desiredConfig"]["specHash"], [])
            if event.ref.namespace not in order:
                order.append(event.ref.namespace)

    def of(self, config: Obj) -> list[str]:
        return self.order.get(spec_hash(config), [])


def test_the_example_reaches_canary_groups_first_and_a_bad_release_stops_at_the_first(
    admin: KubeHub, server: Cluster, start: Start
) -> None:
    documents = example()
    kinds = [obj["kind"] for obj in documents]
    namespace(admin, *(o["metadata"]["name"] for o in documents if o["kind"] == "ManagedCluster"))
    for obj in sorted(documents, key=lambda obj: kinds.index(obj["kind"])):
        put(admin, obj)
    told, desk = Told(admin), OnServer(admin, server)
    agents = FieldAgents(server.kubeconfig, BAD_RELEASE)
    process = start()
    config = Ref(ADDON_DEPLOYMENT_CONFIG, "default/deploy-config")

    def edit(release: str) -> Obj:
        image = {"name": "IMAGE", "value": f"quay.io/example/helloworld:{release}"}
        return admin.patch(config, {"spec": {"customizedVariables": [image]}})

    def halted() -> tuple[str, str]:
        (progression,) = admin.get(HELLO)["status"]["installProgressions"]
        return said(progression, names.ROLLOUT_HALTED)[:2]

    def done(release: Obj) -> Callable[[], None]:
        def check() -> None:
            assert set(told.of(release)) == WEST | EAST | REST
            assert halted() == ("False", "Complete")

        return check

    try:
        desk.until("the first release is everywhere", done(admin.get(config)), 120)
        good = edit("1.1")
        desk.until("the second release is everywhere", done(good), 120)
        bad = edit("1.2")
        stopped = ("True", "MaxFailuresExceeded")
        desk.until("the bad release stops", lambda: halted() == stopped, 60)
    finally:
        told.end()
        agents.stop()
        desk.stop()
    order = told.of(good)
    assert (set(order[:4]), set(order[4:8])) == (WEST, EAST)
    assert set(told.of(bad)) == WEST
    assert refused(process) == []
