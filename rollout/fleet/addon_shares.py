"""What do we know of one placement of an add-on's install strategy?"""

from collections.abc import Mapping
from dataclasses import dataclass

from rollout.fleet.live import LiveRollout
from rollout.fleet.selections import Reading
from rollout.model.addon import Configs, InstallPlacement, Resource
from rollout.model.kinds import MANAGED_CLUSTER, MANIFEST_WORK
from rollout.model.waits import Reason, Wait
from rollout.planning.addons_configs import content_of


@dataclass(slots=True)
class Share:
    """One placement of an install strategy, live. ``total``: with what later placements take.

    ``is_missing``: a configuration is missing, so that it is not known what to roll out, whatever else
    stands in the way.
    """

    placement: InstallPlacement
    live: LiveRollout
    reading: Reading
    hold: Wait | None
    configs: Configs
    total: int
    is_missing: bool

    @property
    def selected(self) -> int:
        return self.reading.selection.total

    @property
    def overlapped(self) -> int:
        return self.total - self.selected

    @property
    def placement_key(self) -> str:
        return self.placement.key

    @property
    def strategy(self) -> str:
        return self.placement.rollout.type if self.placement.rollout else ""

    @property
    def revision(self) -> str:
        """That of its configurations; while one of them is missing, what was agreed on last."""
        return self.live.revision if self.is_missing else content_of(self.configs)

    @property
    def updated(self) -> int:
        revision = self.revision
        return sum(seen.content == revision for seen in self.live.observations.values())

    @property
    def is_settled(self) -> bool:
        """Whether it is known whom the placement selects: no other cluster may be among them."""
        reading = self.reading
        return not (reading.is_torn or reading.is_gone) and reading.quiet_until is None


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
            message = f"{ref}: objects of its group are no configurations; refer to another kind"
        elif ref.resource in missed:
            message = f"{ref} cannot be read: {missed[ref.resource]}"
        elif as_ocm:
            continue
        else:
            message = f"{ref} does not exist, or has not been read yet; create it to go on"
        return Wait(Reason.CONFIG_NOT_FOUND, message)
    return None
