"""What OCM's integration suite asks of Placements, in our words, in both profiles: docs/ocm-suites.md."""

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from rollout.hub.kube import KubeHub
from rollout.model.kinds import (
    CLUSTER_SET,
    MANAGED_CLUSTER,
    PLACEMENT,
    PLACEMENT_DECISION,
    Obj,
    Ref,
    ref_of,
)
from tests.kube.ocm_suites.placing import (
    Case,
    by_claim,
    by_expression,
    labelled,
    ranked,
    taint,
    tolerated,
)
from tests.kube.setting import eventually, not_before
from tests.kube.tenants import stays_so
from tests.support import make

pytestmark = pytest.mark.kube

GLOBAL = "global"
"""The set of all clusters, which every hub has."""
X, EVERYBODY = {"vendor": "x"}, {"everybody": "yes"}
CANARY = {make.GROUP: "canary", **EVERYBODY}


@pytest.fixture
def case(hub: KubeHub, profile: str) -> Case:
    return Case(hub, profile)


def gone(case: Case, *clusters: str) -> None:
    for cluster in clusters:
        case.hub.delete(Ref(MANAGED_CLUSTER, cluster))


# -- decisions and their pages ---------------------------------------------------------------------


def test_decisions_that_somebody_deletes_are_written_again(case: Case) -> None:
    clusters = case.clusters(5, case.set_of())
    uid = case.hub.get(case.place(numberOfClusters=10))["metadata"]["uid"]
    case.decides(clusters)
    (page,) = case.pages()
    case.hub.delete(ref_of(PLACEMENT_DECISION, page))

    def check() -> None:
        meta = case.pages()[0]["metadata"]
        assert meta["uid"] != page["metadata"]["uid"]
        assert [owner["uid"] for owner in meta["ownerReferences"]] == [uid]

    eventually("there is another page", check)
    case.decides(clusters)


def test_a_cluster_that_is_being_deleted_is_selected_no_more(case: Case) -> None:
    clusters = case.clusters(5, case.set_of())
    case.place(numberOfClusters=10)
    case.decides(clusters)
    leaving = Ref(MANAGED_CLUSTER, clusters[0])
    case.hub.patch(leaving, {"metadata": {"finalizers": ["example.com/busy"]}})
    case.hub.delete(leaving)
    case.decides(clusters[1:])
    assert case.hub.get(leaving)["metadata"]["deletionTimestamp"]
    case.hub.patch(leaving, {"metadata": {"finalizers": None}})


def test_where_nothing_is_selected_there_is_one_empty_page(case: Case) -> None:
    case.place()
    case.is_satisfied("NoManagedClusterSetBindings")
    case.page_sizes(0)
    case.groups(("", 0))


def test_more_than_a_hundred_clusters_take_a_second_page_of_one_group(case: Case) -> None:
    clusters = case.clusters(101, case.set_of())
    case.place()
    case.page_sizes(100, 1)
    case.decides(clusters)
    case.is_satisfied()

    def is_told() -> None:
        (group,) = case.hub.get(case.ref(PLACEMENT, "p"))["status"]["decisionGroups"]
        assert group["decisions"] == [page["metadata"]["name"] for page in case.pages()]

    eventually("both pages are told", is_told)


def test_decision_groups_follow_the_clusters_that_come_and_go(case: Case) -> None:
    own = case.set_of("own", EVERYBODY)
    canaries = case.clusters(2, labels=CANARY)
    others = case.clusters(3, labels=EVERYBODY)
    case.place(**make.placement(groups=["canary"], size=2)["spec"])
    case.groups(("canary", 2), ("", 2), ("", 1))
    gone(case, canaries.pop(), others.pop())
    case.groups(("canary", 1), ("", 2))
    canaries += case.clusters(1, labels=CANARY)
    case.groups(("canary", 2), ("", 2))
    others += case.clusters(1, labels=EVERYBODY)
    case.groups(("canary", 2), ("", 2), ("", 1))
    gone(case, *canaries, *others)
    case.hub.delete(Ref(CLUSTER_SET, own))
    case.groups(("", 0))


# -- sets, bindings, numbers -----------------------------------------------------------------------


def test_a_placement_that_is_restricted_to_a_set_keeps_its_clusters_alone(case: Case) -> None:
    first, second = case.set_of("one"), case.set_of("two")
    few, more = case.clusters(2, first), case.clusters(3, second)
    case.place()
    case.decides(few + more)
    case.edit(clusterSets=[first])
    case.decides(few)


@pytest.mark.parametrize(
    ("total", "number", "then"),
    [pytest.param(5, 10, 4, id="lowered"), pytest.param(10, 5, 8, id="raised")],
)
def test_a_number_of_clusters_that_is_edited_is_kept_to(
    case: Case, total: int, number: int, then: int
) -> None:
    clusters = case.clusters(total, case.set_of())
    case.place(numberOfClusters=number)
    case.decides(clusters[:number])
    case.edit(numberOfClusters=then)
    case.decides(clusters[:then])
    case.is_satisfied()


def test_clusters_that_join_fill_the_number_that_was_asked_for(case: Case) -> None:
    own = case.set_of()
    clusters = case.clusters(5, own)
    case.place(numberOfClusters=10)
    case.decides(clusters)
    case.is_satisfied("NotAllDecisionsScheduled")
    case.decides(clusters + case.clusters(5, own))
    case.is_satisfied()


@pytest.mark.parametrize("which", ["by labels", "global"])
def test_a_set_follows_the_clusters_that_come_and_go(case: Case, which: str) -> None:
    if which == "global":
        eventually("it is kept", lambda: case.hub.get(Ref(CLUSTER_SET, GLOBAL)))
        case.bind(GLOBAL)
    else:
        case.set_of(labels=X)
    clusters = case.clusters(1, labels=X)
    case.place(predicates=labelled(tenant=case.name))
    case.decides(clusters)
    clusters += case.clusters(1, labels=X)
    case.decides(clusters)
    for cluster in list(clusters):
        gone(case, cluster)
        clusters.remove(cluster)
        case.decides(clusters)


@pytest.mark.parametrize(
    ("labels", "first", "second", "number"),
    [
        pytest.param({}, 5, 3, 10, id="exclusive"),
        pytest.param(X, 1, 1, 2, id="by labels"),
    ],
)
def test_a_set_that_is_bound_later_adds_its_clusters(
    case: Case, labels: Mapping[str, str], first: int, second: int, number: int
) -> None:
    clusters = case.clusters(first, case.set_of("one"))
    case.place(numberOfClusters=number)
    case.decides(clusters)
    case.is_satisfied("NotAllDecisionsScheduled")
    clusters += case.clusters(second, case.set_of("two", labels), labels)
    case.decides(clusters)
    enough = len(clusters) == number
    case.is_satisfied("AllDecisionsScheduled" if enough else "NotAllDecisionsScheduled")


@pytest.mark.parametrize("what", ["an exclusive set", "a set by labels", "a binding"])
def test_what_goes_takes_its_clusters_along_and_brings_them_back(case: Case, what: str) -> None:
    labels = X if what == "a set by labels" else {}
    own = case.set_of(labels=labels)
    clusters = case.clusters(3, own, labels)
    case.place()
    case.decides(clusters)
    ref = case.binding(own) if what == "a binding" else Ref(CLUSTER_SET, own)
    case.hub.delete(ref)
    case.decides([])
    case.is_satisfied("NoManagedClusterSetBindings")
    if what == "a binding":
        case.bind(own)
    else:
        case.set_of(labels=labels, is_bound=False)
    case.decides(clusters)


# -- predicates ------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["label", "claim"])
def test_a_predicate_that_is_edited_selects_anew(case: Case, by: str) -> None:
    own = case.set_of()
    clusters = case.clusters(2, own) + case.clusters(1, own, {"vendor": "y"})
    clusters += case.clusters(2, own, X)
    for cluster, vendor in zip(clusters[2:], "yxx", strict=True):
        claims = {"clusterClaims": [{"name": "vendor", "value": vendor}]}
        case.status(Ref(MANAGED_CLUSTER, cluster), claims)
    case.place()
    case.decides(clusters)
    asked = (lambda value: labelled(vendor=value)) if by == "label" else by_claim
    case.edit(predicates=asked("x") + asked("y"))
    case.decides(clusters[2:])
    case.edit(predicates=asked("x"))
    case.decides(clusters[3:])


def has_no_decision(case: Case, profile: str) -> None:
    """Row O8: OCM writes an empty page; strict keeps the last good decisions, of which there are none."""
    case.is_wrong()
    case.page_sizes(*((0,) if profile == "ocm" else ()))


def test_a_placement_that_is_born_wrong_is_decided_once_it_is_right(
    case: Case, profile: str
) -> None:
    clusters = case.clusters(1, case.set_of())
    case.place(tolerations=[{"key": "k", "operator": "Exists", "value": "v"}])
    has_no_decision(case, profile)
    case.edit(tolerations=None)
    case.decides(clusters)
    case.is_right()
    case.is_satisfied()


def test_an_expression_that_cannot_be_read_selects_nothing_until_it_is_mended(
    case: Case, profile: str
) -> None:
    clusters = case.clusters(2, case.set_of())
    for cluster, value in zip(clusters, (70, 90), strict=True):
        case.has_score(cluster, value)
    case.place(numberOfClusters=1, predicates=by_expression("nobody.knows"))
    has_no_decision(case, profile)
    high = 'managedCluster.scores("demo").exists(s, s.name == "demo" && s.value > 80)'
    case.edit(predicates=by_expression(high))
    case.decides(clusters[1:])
    case.is_right()


def test_expressions_select_anew_when_clusters_change(case: Case) -> None:
    clusters = case.clusters(3, case.set_of())
    case.place(predicates=by_expression('managedCluster.metadata.labels["vendor"] == "x"'))
    case.relabel(clusters[0], vendor="x")
    case.decides(clusters[:1])
    case.relabel(clusters[2], vendor="x")
    case.decides([clusters[0], clusters[2]])


# -- taints ----------------------------------------------------------------------------------------


def test_taints_that_tolerations_fit_keep_nobody_out(case: Case) -> None:
    clusters = case.clusters(3, case.set_of())
    case.taint(clusters[0], taint("one", value="anything"))
    case.taint(clusters[1], taint("two", value="right"))
    case.taint(clusters[2], taint("two", value="wrong"))
    case.place(tolerations=[tolerated("one"), {"key": "two", "value": "right"}])
    case.decides(clusters[:2])


def test_an_effect_is_tolerated_by_itself_and_a_late_taint_evicts_nobody(case: Case) -> None:
    """PreferNoSelect keeps nobody out in either profile: strict has it cost points."""
    clusters = case.clusters(4, case.set_of())
    case.taint(clusters[0], taint("k"))
    case.taint(clusters[1], taint("k", "NoSelectIfNew"))
    case.taint(clusters[2], taint("k", "PreferNoSelect"))
    case.place(tolerations=[tolerated("k", effect="PreferNoSelect")])
    case.decides(clusters[2:])
    case.taint(clusters[3], taint("k", "NoSelectIfNew"))
    case.taint(clusters[0])
    case.decides([clusters[0], *clusters[2:]])


def test_a_toleration_of_some_seconds_ends(case: Case) -> None:
    hour = timedelta(hours=1)
    clusters = case.clusters(4, case.set_of())
    now = datetime.now(UTC)  # noqa: TID251  the server's clock is the machine's
    case.taint(clusters[0], taint("one", since=now))
    case.taint(clusters[1], taint("two", since=now))
    case.taint(clusters[2], taint("one", since=now - hour))
    both = [tolerated(key, tolerationSeconds=3600) for key in ("one", "two")]
    case.place(tolerations=both)
    case.decides([*clusters[:2], clusters[3]])
    for ending, left in ((0, [clusters[1], clusters[3]]), (1, clusters[3:])):
        before = [clusters[ending], *left]
        begin = time.monotonic()  # noqa: TID251
        soon = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=3)  # noqa: TID251
        case.taint(clusters[ending], taint(("one", "two")[ending], since=soon - hour))
        not_before(begin, 1, lambda before=before: sorted(case.decided()) == sorted(before))  # type: ignore[misc]
        case.decides(left)
    case.taint(clusters[3], taint("three"))
    case.decides([])


# -- who ranks first -------------------------------------------------------------------------------

CPU, MEMORY = "ResourceAllocatableCPU", "ResourceAllocatableMemory"
RESOURCES = ((10, 50), (7, 90), (9, 80))
"""CPUs and memory of three clusters; both count alike: the first and the third are the best."""


def with_resources(case: Case, own: str, *resources: tuple[int, int]) -> list[str]:
    clusters = case.clusters(len(resources), own)
    for cluster, (cpu, memory) in zip(clusters, resources, strict=True):
        case.has_resources(cluster, cpu, memory)
    return clusters


@pytest.mark.parametrize(
    ("policy", "wanted"),
    [
        pytest.param(None, (0, 1), id="by default"),
        pytest.param(ranked({CPU: 1, MEMORY: 1}), (0, 2), id="by resources"),
    ],
)
def test_the_best_clusters_are_selected(
    case: Case, policy: Obj | None, wanted: Sequence[int]
) -> None:
    """By default, resources do not count: the first by name."""
    clusters = with_resources(case, case.set_of(), *RESOURCES)
    case.place(numberOfClusters=2, prioritizerPolicy=policy)
    case.decides([clusters[n] for n in wanted])


def test_what_is_selected_stays_though_others_would_rank_higher_now(case: Case) -> None:
    own = case.set_of()
    clusters = with_resources(case, own, *RESOURCES)
    policy = ranked({"Steady": 3, CPU: 1, MEMORY: 1}, "Additive")
    case.place(numberOfClusters=2, prioritizerPolicy=policy)
    chosen = [clusters[0], clusters[2]]
    case.decides(chosen)
    case.others_select(clusters[1])
    large = with_resources(case, own, (12, 100))
    case.place("q")
    case.decides(clusters + large, "q")  # all of it is known
    stays_so("what was selected", lambda: sorted(case.decided()) == sorted(chosen), 1)


def test_clusters_that_others_have_selected_come_last(case: Case) -> None:
    clusters = with_resources(case, case.set_of(), *RESOURCES)
    case.others_select(clusters[0])
    case.place(numberOfClusters=2, prioritizerPolicy=ranked({"Balance": 2, CPU: 1}))
    case.decides(clusters[1:])


def test_a_cluster_with_more_resources_takes_the_place_of_one_with_fewer(case: Case) -> None:
    own = case.set_of()
    clusters = with_resources(case, own, *RESOURCES)
    case.place(numberOfClusters=2, prioritizerPolicy=ranked({CPU: 1, MEMORY: 1}))
    case.decides([clusters[0], clusters[2]])
    large = with_resources(case, own, (10, 100))
    case.decides([clusters[2], *large])
    gone(case, *large)
    case.decides([clusters[0], clusters[2]])


def by_score(case: Case) -> None:
    case.place(numberOfClusters=2, prioritizerPolicy=ranked({"demo": 1}))


def scores(case: Case, clusters: Sequence[str], *values: int) -> None:
    for cluster, value in zip(clusters, values, strict=True):
        case.has_score(cluster, value)


def test_scores_of_add_ons_decide(case: Case) -> None:
    clusters = case.clusters(3, case.set_of())
    scores(case, clusters, 80, 90, 100)
    by_score(case)
    case.decides(clusters[1:])


def test_scores_that_come_later_and_change_decide_anew(case: Case) -> None:
    clusters = case.clusters(3, case.set_of())
    by_score(case)
    case.decides(clusters[:2])
    scores(case, clusters, 80, 90, 100)
    case.decides(clusters[1:])
    scores(case, clusters[:1], 100)
    case.decides([clusters[0], clusters[2]])
