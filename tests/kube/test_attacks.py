"""Can somebody move a rollout by writing what is not his? Attacks on a real API server.

The controller has the rights of manifests/standalone. Each workload has two canaries and four other
clusters, touches one at a time, soaks for 30 minutes and waits at a gate: whatever is forged, its
canaries stay the only ones that are touched.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from rollout.errors import Denied, Gone
from rollout.hub.kube import KubeHub
from rollout.model import names
from rollout.model.content import content_hash
from rollout.model.kinds import (
    MANAGED_CLUSTER,
    MANIFEST_WORK,
    ROLLOUT_RECORD,
    ROLLOUT_REVISION,
    Obj,
    Ref,
    ref_of,
)
from rollout.model.ownership import owned_by
from rollout.model.work import work_name
from rollout.planning.revisions import revision_ref
from rollout.rollouts.record import CLUSTERS, HEAD, page_object, page_ref, record_id
from rollout.runtime.events import EVENT
from tests.kube.cluster import Cluster
from tests.kube.processes import ACCOUNT, QUICK, FieldAgents, install, kubeconfig_of, token_of
from tests.kube.setting import ROLE_BINDING, ROOT, eventually, may, wipe
from tests.kube.strangers import (
    ADMIN,
    CAREFUL,
    CONFIG_MAP,
    CONTROLLER_REVISION,
    EDIT,
    GATES,
    Guarded,
    Lead,
    agent,
    answer_to,
    developer,
    let_keep_revisions,
    old_page,
    old_revision,
    raw_patch,
    worker,
    write,
)
from tests.kube.tenants import AGENTS, identities
from tests.support import make

pytestmark = pytest.mark.kube

CONTROLLER = f"system:serviceaccount:{ACCOUNT.replace('/', ':')}"
FLOOD, SIZE, MOST = 300, 1_000_000, 20_000_000
"""So many pages of so many bytes; the controller's memory may grow by so much."""
EARLIER = "2026-01-01T00:00:00.000000Z"


@pytest.fixture(scope="module")
def lead(
    server: Cluster, kube: KubeHub, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Lead]:
    install(kube)
    folder = tmp_path_factory.mktemp("attacks")
    found = Lead(kubeconfig_of(server, kube), folder, QUICK).start()
    agents = FieldAgents(server.kubeconfig, AGENTS)
    yield found
    found.process.stop()
    agents.stop()
    wipe(kube)


@pytest.fixture
def tenant(request: pytest.FixtureRequest, kube: KubeHub, lead: Lead) -> Iterator[Guarded]:
    """Somebody whose clusters are there, and whose workload is not yet."""
    number = sorted(item.name for item in request.session.items).index(request.node.name)
    found = Guarded(kube, f"a{number}")
    found.settle()
    yield found
    assert lead.process.process.poll() is None
    assert "Traceback" not in lead.process.log()
    kube.patch(found.web, {"metadata": {"finalizers": None}})  # what follows is not its business
    kube.delete(found.web)


@pytest.fixture
def stranger(server: Cluster, kube: KubeHub, tenant: Guarded) -> Iterator[KubeHub]:
    """Has `edit` in the workload's namespace."""
    found = developer(server, kube, tenant.name)
    yield found
    found.close()


def forged_head(revision: str, **more: object) -> str:
    """A head that says that every stage is passed and the gate is open."""
    told = {"format": 1, "revision": revision, "passed": ["canary/0", "rest"], "seen": ["canary"]}
    return json.dumps({**told, "opened": [GATES], **more})


def forged_lines(clusters: list[str], revision: str) -> str:
    line = {"revision": revision, "touchedAt": EARLIER, "health": "Succeeded", "since": EARLIER}
    return json.dumps({cluster: {**line, "verdict": "Soaked"} for cluster in clusters})


def forged(tenant: Guarded, revision: str, **head: object) -> list[Obj]:
    """Both pages of the record of `web`, of the first edition."""
    lines = {CLUSTERS: forged_lines(tenant.clusters, revision)}
    heads = {HEAD: forged_head(revision, **head)}
    return [old_page(tenant.web, "p", n, data) for n, data in enumerate((heads, lines))]


def own_page(tenant: Guarded, number: int, data: Obj, uid: str) -> Obj:
    """A page as the controller writes them."""
    return page_object(record_id(tenant.web, "p"), tenant.web, uid, "p", page=number, data=data)


def nothing_moves(tenant: Guarded) -> None:
    """Gate, canaries and soak hold: the canaries alone have the template, and no work is written."""
    before = identities(tenant.works())
    tenant.answers()
    assert identities(tenant.works()) == before
    assert tenant.carrying(tenant.version) == tenant.clusters[:2]
    assert tenant.condition(tenant.web, names.READY)[0] != "True"


def told(tenant: Guarded, reason: str) -> list[str]:
    """What Events say with this reason about the workload."""
    return [
        event["note"]
        for event in tenant.hub.list(EVENT, tenant.name).items
        if event["reason"] == reason and event["regarding"]["name"] == "web"
    ]


TEMPLATE = content_hash(make.template("1"))


def test_pages_of_the_first_edition_before_the_workload_exists_say_nothing(
    tenant: Guarded, stranger: KubeHub, lead: Lead
) -> None:
    for obj in forged(tenant, TEMPLATE):
        write(stranger, CONFIG_MAP, obj)

    tenant.begin()
    nothing_moves(tenant)
    lead.restart()
    nothing_moves(tenant)


def test_a_developer_may_not_write_read_or_delete_what_the_engine_remembers(
    tenant: Guarded, stranger: KubeHub
) -> None:
    page = own_page(tenant, 0, {HEAD: forged_head(TEMPLATE)}, "somebody")
    with pytest.raises(Denied):
        write(stranger, ROLLOUT_RECORD, page)

    tenant.begin()
    for ref in (
        page_ref(tenant.name, record_id(tenant.web, "p"), 0),
        revision_ref(tenant.web, TEMPLATE),
    ):
        for act in (
            lambda ref=ref: stranger.patch(ref, {"metadata": {"labels": {"a": "b"}}}),
            lambda ref=ref: stranger.delete(ref),
            lambda ref=ref: stranger.get(ref),
        ):
            with pytest.raises(Denied):
                act()
    nothing_moves(tenant)


def test_a_page_edited_under_a_leader_is_written_again_and_the_editor_is_named(
    tenant: Guarded, lead: Lead
) -> None:
    tenant.begin()
    head = page_ref(tenant.name, record_id(tenant.web, "p"), 0)
    lines = page_ref(tenant.name, record_id(tenant.web, "p"), 1)
    eventually("the page is there", lambda: bool(tenant.hub.get(lines)))

    def granted() -> tuple[object, ...]:
        """What grows in half an hour at the earliest; the rest of a head may change meanwhile."""
        told = json.loads(tenant.hub.get(head)["data"][HEAD])
        return told.get("revision"), told.get("passed"), told.get("opened")

    kept = granted()
    raw_patch(tenant.hub, head, "mallory", data={HEAD: forged_head(TEMPLATE)})
    raw_patch(
        tenant.hub, lines, "mallory", data={CLUSTERS: forged_lines(tenant.clusters, TEMPLATE)}
    )

    eventually("the head is put right", lambda: granted() == kept)
    eventually(
        "the lines are put right",
        lambda: tenant.clusters[5] not in tenant.hub.get(lines)["data"][CLUSTERS],
    )

    def is_told() -> bool:
        said = told(tenant, "RecordRepaired")
        return all(
            any(page.name in note and "mallory" in note for note in said) for page in (head, lines)
        )

    eventually("it is told who did it", is_told)
    nothing_moves(tenant)
    lead.restart()
    nothing_moves(tenant)


def test_a_forged_rollback_takes_no_cluster_back(
    tenant: Guarded, stranger: KubeHub, lead: Lead
) -> None:
    tenant.deploy()  # everything at once, no gate
    tenant.is_rolled_out(tenant.clusters)
    second = make.template("2")
    changes = make.workload(namespace=tenant.name, strategy=CAREFUL, spec=second)["spec"]
    tenant.hub.patch(
        tenant.web, {"spec": changes, "metadata": {"annotations": {names.GATES: GATES}}}
    )
    tenant.holds()
    rollback = {
        "revision": content_hash(second),
        "cause": "Undo",
        "began": EARLIER,
        "to": TEMPLATE,
    }

    for obj in forged(tenant, content_hash(second), rollback=rollback):
        write(stranger, CONFIG_MAP, obj)
    head = page_ref(tenant.name, record_id(tenant.web, "p"), 0)
    raw_patch(
        tenant.hub,
        head,
        "mallory",
        data={HEAD: forged_head(content_hash(second), rollback=rollback)},
    )

    eventually(
        "the head is put right", lambda: "rollback" not in tenant.hub.get(head)["data"][HEAD]
    )
    eventually("it is told", lambda: any(head.name in s for s in told(tenant, "RecordRepaired")))
    nothing_moves(tenant)
    lead.restart()
    nothing_moves(tenant)


def test_a_forged_revision_reaches_no_cluster(tenant: Guarded, stranger: KubeHub) -> None:
    """Neither one of the first edition, nor one that only an admin can make, under a name of ours."""
    evil, second = make.template("666"), make.template("2")
    tenant.begin()
    let_keep_revisions(tenant.hub, tenant.name)
    for content in (TEMPLATE, content_hash(evil), content_hash(second)):
        write(stranger, CONTROLLER_REVISION, old_revision(tenant.web, content, evil))
    ref = revision_ref(tenant.web, content_hash(second))
    forgery: Obj = {
        "apiVersion": ROLLOUT_REVISION.api_version,
        "kind": ROLLOUT_REVISION.name,
        "metadata": {"namespace": ref.namespace, "name": ref.name},
        "revision": 7,
        "template": evil,
    }
    for labelled in ({}, {names.REVISION_LABEL: record_id(tenant.web, "")}):
        forgery["metadata"]["labels"] = labelled
        with pytest.raises(Denied):
            stranger.create(ref, forgery)
    tenant.hub.create(ref, forgery)
    nothing_moves(tenant)

    tenant.hub.patch(tenant.web, {"spec": {"manifestWorkTemplate": second}})

    eventually(
        "the forgery makes way",
        lambda: content_hash(tenant.hub.get(ref)["template"]) == content_hash(second),
    )
    eventually(
        "it is told",
        lambda: any(ref.name in note for note in told(tenant, "RevisionRepaired")),
    )
    tenant.holds()
    nothing_moves(tenant)
    assert tenant.carrying("666") == []


def test_an_earlier_revision_edited_under_a_leader_is_put_back_and_the_editor_is_named(
    tenant: Guarded,
) -> None:
    """Nobody asks for it now: it is the way back."""
    tenant.begin()
    first = revision_ref(tenant.web, TEMPLATE)
    kept = tenant.hub.get(first)
    tenant.hub.patch(tenant.web, {"spec": {"manifestWorkTemplate": make.template("2")}})
    tenant.holds()
    before = identities(tenant.works())

    for edit in ({"template": make.template("666")}, {"revision": 7}, {"template": None}):
        uid = tenant.hub.get(first)["metadata"]["uid"]
        raw_patch(tenant.hub, first, "mallory", **edit)

        def is_back(uid: str = uid) -> None:
            with suppress(Gone):
                found = tenant.hub.get(first)
                assert found["metadata"]["uid"] != uid
                assert (found["template"], found["revision"]) == (
                    kept["template"],
                    kept["revision"],
                )
                return
            raise AssertionError("it is gone")

        eventually("it is put back", is_back)

    said = f"RolloutRevision {first.name} was changed by mallory"
    eventually("it is told", lambda: any(said in each for each in told(tenant, "RevisionRepaired")))
    uid = tenant.hub.get(first)["metadata"]["uid"]
    tenant.answers()
    assert tenant.hub.get(first)["metadata"]["uid"] == uid  # it is written once
    assert identities(tenant.works()) == before


def test_works_that_an_agent_gives_to_another_owner_are_put_right_and_told(
    server: Cluster, kube: KubeHub, tenant: Guarded
) -> None:
    victim = Guarded(kube, f"{tenant.name}x")
    victim.settle()
    victim.deploy()
    victim.is_rolled_out(victim.clusters)
    tenant.deploy()
    tenant.is_rolled_out(tenant.clusters)
    before = identities(victim.works()), kube.get(victim.web)["status"]
    cluster = tenant.clusters[0]
    spoke = agent(server, kube, cluster)
    work = Ref(MANIFEST_WORK, f"{cluster}/{work_name(tenant.web.key)}")
    meta = {
        "labels": {names.WORK_OWNER_LABEL: f"{victim.name}.web"},
        "annotations": {names.OWNER: victim.web.key},
    }

    for number in range(3):
        eventually("it is put right", lambda: set(tenant.works()) == set(tenant.clusters))
        spoke.patch(work, {"metadata": {**meta, "labels": {**meta["labels"], "n": str(number)}}})
        eventually("it is told", lambda: bool(told(tenant, "WorkRepaired")))
    eventually("it is put right", lambda: set(tenant.works()) == set(tenant.clusters))
    spoke.close()

    assert any(cluster in note for note in told(tenant, "WorkRepaired"))
    assert kube.get(work)["metadata"]["annotations"][names.OWNER] == tenant.web.key
    for each in (tenant, victim):
        each.answers()
    assert identities(victim.works()) == before[0]
    assert kube.get(victim.web)["status"]["summary"] == before[1]["summary"]
    assert victim.condition(victim.web, names.READY)[0] == "True"

    tenant.hub.patch(tenant.web, {"spec": {"manifestWorkTemplate": make.template("2")}})

    eventually("all get it", lambda: tenant.carrying("2") == tenant.clusters)
    tenant.is_rolled_out(tenant.clusters)
    kube.patch(victim.web, {"metadata": {"finalizers": None}})
    kube.delete(victim.web)


def test_names_that_somebody_else_occupies_are_taken_over_in_their_turn(
    server: Cluster, tenant: Guarded, lead: Lead
) -> None:
    """By an account that may create works, and do nothing else; the record's, only a hub admin can."""
    name = work_name(tenant.web.key)
    canary, other = tenant.clusters[0], tenant.clusters[5]
    for cluster in (canary, other):
        maker = worker(server, tenant.hub, cluster)
        work = make.work(cluster, "no.body", name=name, spec=make.template("0"))
        made = write(maker, MANIFEST_WORK, work)
        with pytest.raises(Denied):
            maker.patch(ref_of(MANIFEST_WORK, made), {"spec": make.template("666")})
        maker.close()
    ref = page_ref(tenant.name, record_id(tenant.web, "p"), 0)
    page = own_page(tenant, 0, {HEAD: forged_head(TEMPLATE)}, "somebody")
    tenant.hub.create(ref, page)

    tenant.deploy(strategy=CAREFUL, annotations={names.GATES: GATES})

    tenant.holds()
    owner = tenant.hub.get(tenant.web)["metadata"]["uid"]

    def is_ours() -> None:
        kept = tenant.hub.get(ref)
        assert kept["metadata"]["ownerReferences"][0]["uid"] == owner
        assert GATES not in kept["data"][HEAD]

    eventually("the page is ours", is_ours)
    eventually("it is told", lambda: any(ref.name in s for s in told(tenant, "RecordRepaired")))
    eventually("so is the work", lambda: any(canary in s for s in told(tenant, "WorkRepaired")))
    nothing_moves(tenant)
    assert tenant.carrying("0") == [other]
    log_before = len(lead.process.log())
    tenant.answers()
    assert len(lead.process.log()) - log_before < 2_000  # nothing is tried again and again


def test_three_hundred_megabytes_of_config_maps_cost_the_controller_nothing(
    tenant: Guarded, stranger: KubeHub, lead: Lead
) -> None:
    tenant.begin()
    before = lead.resident
    filler = {CLUSTERS: "x" * SIZE}

    def fill(number: int) -> Ref:
        page = old_page(tenant.web, "p", number, filler)
        write(stranger, CONFIG_MAP, page)
        return Ref(CONFIG_MAP, f"{tenant.name}/{page['metadata']['name']}")

    with ThreadPoolExecutor(8) as pool:
        written = list(pool.map(fill, range(FLOOD)))
        nothing_moves(tenant)
        assert lead.resident - before < MOST
        lead.restart()
        assert lead.resident - before < MOST
        nothing_moves(tenant)
        list(pool.map(stranger.delete, written))


VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
OTHERS = ("configmaps", "secrets", "pods", "controllerrevisions.apps", "serviceaccounts")
IMPERSONATED = ("users", "groups", "serviceaccounts", "uids.authentication.k8s.io")
LEASES = "leases.coordination.k8s.io"
CONSENTS = ("approvals.rollout-engine.io", "freezes.rollout-engine.io")


def test_the_controllers_account_reaches_nothing_that_others_keep(
    server: Cluster, kube: KubeHub, lead: Lead
) -> None:
    everywhere = ("", "default", "kube-system", "rollout-system")
    asked = [(each, verb, place) for each in OTHERS for verb in VERBS for place in everywhere]
    asked += [(each, "impersonate", place) for each in IMPERSONATED for place in everywhere]
    asked += [(LEASES, verb, place) for verb in VERBS for place in everywhere[:-1]]
    asked += [
        (each, verb, place) for each in CONSENTS for verb in VERBS[3:] for place in everywhere
    ]

    assert [it for it in asked if may(kube, CONTROLLER, it[1], it[0], it[2])] == []

    # It is asked rightly: what it has, the server says.
    assert may(kube, CONTROLLER, "patch", "rolloutrecords.rollout-engine.io")
    assert may(kube, CONTROLLER, "patch", LEASES, "rollout-system")
    assert all(may(kube, CONTROLLER, "list", each) for each in CONSENTS)
    token, path = token_of(kube), f"/apis/{MANAGED_CLUSTER.api_version}/managedclusters"
    assert answer_to(server, path, token) == 200
    assert answer_to(server, path, token, {"Impersonate-User": "admin"}) == 403
    masters = {"Impersonate-User": "admin", "Impersonate-Group": "system:masters"}
    assert answer_to(server, path, token, masters) == 403


@pytest.mark.parametrize("roles", [EDIT, ADMIN], ids=["edit", "admin"])
def test_edit_and_admin_reach_no_record_and_no_revision(
    kube: KubeHub, lead: Lead, roles: tuple[str, ...]
) -> None:
    user = f"user-{len(roles)}"
    for role in roles:
        name = f"{user}-{role.rpartition(':')[2]}"
        binding = {
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": role,
            },
            "subjects": [{"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}],
        }
        kube.create(Ref(ROLE_BINDING, f"default/{name}"), binding)
    eventually("it counts", lambda: may(kube, user, "create", "configmaps", "default"))

    for resource in ("rolloutrecords", "rolloutrevisions"):
        for verb in ("get", "list", "watch", "create", "update", "patch", "delete"):
            asked = f"{resource}.rollout-engine.io"
            assert not may(kube, user, verb, asked, "default"), (verb, resource)


def test_what_the_first_edition_kept_is_taken_over_by_an_admin_and_nothing_moves(
    server: Cluster, tenant: Guarded, lead: Lead
) -> None:
    tenant.begin()
    uid = tenant.hub.get(tenant.web)["metadata"]["uid"]
    lead.end()
    for page in tenant.hub.list(ROLLOUT_RECORD, tenant.name).items:
        tenant.hub.delete(ref_of(ROLLOUT_RECORD, page))
    for page in forged(tenant, TEMPLATE):
        page["metadata"]["ownerReferences"] = [owned_by(tenant.web, uid)]
        write(tenant.hub, CONFIG_MAP, page)
    command = [sys.executable, "-m", "rollout", "migrate", "--kubeconfig", str(server.kubeconfig)]

    told = json.loads(subprocess.check_output([*command, "-o", "json"], cwd=ROOT))

    mine = next(step for step in told["steps"] if step["workload"] == tenant.web.key)
    assert (told["failed"], len(mine["deleted"]), mine["error"]) == (0, 2, "")
    assert any("gates are asked again" in said for said in mine["notBelieved"])
    assert tenant.hub.list(ROLLOUT_RECORD, tenant.name).items
    lead.follow()
    nothing_moves(tenant)
