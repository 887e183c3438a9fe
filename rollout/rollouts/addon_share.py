"""What is known of one placement of an add-on's install strategy."""

from collections.abc import Mapping
from dataclasses import dataclass

from rollout.model.addon import Configs, InstallPlacement, Resource
from rollout.model.kinds import MANAGED_CLUSTER, MANIFEST_WORK
from rollout.model.waits import Reason, Wait
from rollout.rollouts.addon_configs import content_of
from rollout.rollouts.share import PlacementShare


@dataclass(slots=True, kw_only=True)
class AddOnShare(PlacementShare):
    """One placement of an install strategy, live. ``configs`` are those that it is to roll out, with hash
    "" where an object is missing.

    ``is_missing``: a configuration is missing, so that it is not known what to roll out, whatever else
    stands in the way.
    """

    placement: InstallPlacement
    configs: Configs
    is_missing: bool

    @property
    def total(self) -> int:
        """How many clusters it selects, with those that later placements take."""
        return self.selected + self.overlapped

    @property
    def placement_key(self) -> str:
        return self.placement.key

    @property
    def asked(self) -> InstallPlacement:
        return self.placement

    @property
    def revision(self) -> str:
        """That of its configurations; while one of them is missing, what was agreed on last."""
        return self.live.revision if self.is_missing else content_of(self.configs)

    @property
    def updated(self) -> int:
        return self.live.carrying(self.revision)


NO_CONFIGURATIONS = frozenset(
    {"", "apps", "coordination.k8s.io", MANIFEST_WORK.group, MANAGED_CLUSTER.group}
)
"""Groups whose objects are no configurations: the fleet follows them for other ends, in part only."""


def hold_of(configs: Configs, missed: Mapping[Resource, str], *, as_ocm: bool) -> Wait | None:
    """Why these configurations cannot be rolled out; None where all of them are there.

    Args:
        missed: kinds of configurations that cannot be read, and why.
        as_ocm: OCM rolls out what does not exist, with an empty hash. Of what cannot be read nobody
            knows whether it exists.
    """
    for ref in (config.ref for config in configs if not config.spec_hash):
        if ref.resource.group in NO_CONFIGURATIONS:
            message = f"{ref}: objects of its group are not configurations; refer to another kind"
        elif ref.resource in missed:
            message = f"{ref} cannot be read: {missed[ref.resource]}"
        elif as_ocm:
            continue
        else:
            message = f"{ref} does not exist, or has not been read yet; create it to go on"
        return Wait(Reason.CONFIG_NOT_FOUND, message)
    return None
