"""Which inputs may get another answer from profile ``strict`` than from OCM? Suite ``placement_sync``.

Every predicate looks at the input alone and names the rows that ask for the difference.
"""

from collections.abc import Iterator

from rollout.api.decoding import decode
from rollout.model.cluster import ClusterSet
from rollout.model.kinds import CLUSTER_SET, PLACEMENT
from rollout.model.placement import Placement
from rollout.model.selectors import is_label_value
from rollout.placement.scheduler import check
from tests.conformance.suite import Excuse, Json


def misconfigured(given: Json) -> bool:
    """The spec has a mistake, whether or not OCM comes to see it."""
    placement = decode(PLACEMENT, given["placement"])
    assert isinstance(placement, Placement)
    return bool(check(placement))


def zero_wanted(given: Json) -> bool:
    return bool(given["placement"]["spec"].get("numberOfClusters") == 0)


def avoids_clusters(given: Json) -> bool:
    """A cluster is to be avoided, and not all clusters are asked for."""
    return "numberOfClusters" in given["placement"]["spec"] and any(
        taint.get("effect") == "PreferNoSelect"
        for cluster in given["clusters"] or ()
        for taint in cluster["spec"].get("taints") or ()
    )


def has_what_others_have(given: Json) -> bool:
    """Not all clusters are asked for, and one that is decided stands in decisions of others too."""
    own, others = set[str](), set[str]()
    meta = given["placement"]["metadata"]
    for page in given["placementDecisions"] or ():
        labels = page["metadata"].get("labels") or {}
        is_own = page["metadata"]["namespace"] == meta["namespace"] and (
            labels.get("cluster.open-cluster-management.io/placement") == meta["name"]
        )
        decided = (page.get("status") or {}).get("decisions") or ()
        (own if is_own else others).update(each["clusterName"] for each in decided)
    return "numberOfClusters" in given["placement"]["spec"] and bool(own & others)


def unreadable_set(given: Json) -> bool:
    """A set that is bound in the placement's namespace cannot be read."""
    namespace = given["placement"]["metadata"]["namespace"]
    bound = {
        b["metadata"]["name"]
        for b in given["clusterSetBindings"] or ()
        if b["metadata"]["namespace"] == namespace
    }
    for obj in given["clusterSets"] or ():
        decoded = decode(CLUSTER_SET, obj)
        assert isinstance(decoded, ClusterSet)
        if decoded.problems and decoded.name in bound:
            return True
    return False


def claims_like_no_label(given: Json) -> bool:
    """A claim is compared with a value that no label could have; OCM calls that a mistake."""
    return any(not is_label_value(value) for value in _claim_values(given["placement"]["spec"]))


def _claim_values(spec: Json) -> Iterator[str]:
    selectors = [p.get("requiredClusterSelector") for p in spec.get("predicates") or ()]
    strategy = (spec.get("decisionStrategy") or {}).get("groupStrategy") or {}
    selectors += [g.get("groupClusterSelector") for g in strategy.get("decisionGroups") or ()]
    for selector in selectors:
        claims = (selector or {}).get("claimSelector") or {}
        for expression in claims.get("matchExpressions") or ():
            yield from expression.get("values") or ()


_SATISFIED, _MISCONFIGURED = "conditions.PlacementSatisfied", "conditions.PlacementMisconfigured"
_SAID = frozenset({_SATISFIED, _MISCONFIGURED})
_DECIDED = frozenset({"decisions", "decisionGroups", "numberOfSelectedClusters"})

EXCUSES = (
    Excuse("misconfigured", "Placement W1, W3, W4, W26", misconfigured, _SAID | _DECIDED),
    Excuse("numberOfClusters 0", "Placement W27", zero_wanted, frozenset({_SATISFIED})),
    Excuse(
        "PreferNoSelect", "Placement, PreferNoSelect", avoids_clusters, frozenset({"decisions"})
    ),
    Excuse(
        "Balance of its own", "Placement, Balance", has_what_others_have, frozenset({"decisions"})
    ),
    Excuse("unreadable set", "Placement W13", unreadable_set, _SAID | _DECIDED),
    Excuse("claim values", "Placement W18", claims_like_no_label, frozenset({_MISCONFIGURED})),
)
