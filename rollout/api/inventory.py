"""The wire form of PlacementDecisions and ClusterProfiles of SIG Multicluster.

Source: KEP-5313 and KEP-4322, version v1alpha1. Whoever reads them is not us: of ours we only compare
what is there with what should be.
"""

from rollout.api.fields import listed, mapping, strings, text, version_of
from rollout.model.inventory import DECISION_KEY, ClusterProfile, Slice
from rollout.model.kinds import Obj


def decode_slice(obj: Obj) -> Slice:
    """A PlacementDecision. Entries that name no ClusterProfile are left out."""
    meta = mapping(obj.get("metadata"))
    entries = (mapping(mapping(e).get("clusterProfileRef")) for e in listed(obj.get("decisions")))
    return Slice(
        placement=strings(meta.get("labels")).get(DECISION_KEY, ""),
        clusters=tuple(name for each in entries if (name := text(each.get("name")))),
        publisher=text(obj.get("schedulerName")),
        uid=text(meta.get("uid")),
        version=version_of(meta),
        raw=obj,
    )


def decode_profile(obj: Obj) -> ClusterProfile:
    """A ClusterProfile."""
    meta = mapping(obj.get("metadata"))
    manager = mapping(mapping(obj.get("spec")).get("clusterManager"))
    return ClusterProfile(
        publisher=text(manager.get("name")),
        uid=text(meta.get("uid")),
        version=version_of(meta),
        raw=obj,
    )
