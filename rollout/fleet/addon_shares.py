"""What do we know of one placement of an add-on's install strategy?"""

from collections.abc import Mapping
from dataclasses import dataclass

from rollout.fleet.live import LiveRollout
from rollout.fleet.selections import Reading
from rollout.model.addon import AddOn, Configs, InstallPlacement, Resource
from rollout.planning.addons_configs import content_of
from rollout.strategies.base import Hold


@dataclass(slots=True)
class Share:
    """One placement of an install strategy, live. ``total``: with what later placements take."""

    placement: InstallPlacement
    live: LiveRollout
    reading: Reading
    hold: Hold | None
    configs: Configs
    total: int

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
        """Whether nothing is known that could still select another cluster."""
        return not self.reading.is_torn and self.reading.quiet_until is None

    @property
    def is_missing(self) -> bool:
        """Whether a configuration is missing: then it is not known what to roll out, whatever else
        stands in the way.
        """
        return any(not config.spec_hash for config in self.configs)


def hold_of(addon: AddOn, configs: Configs, missed: Mapping[Resource, str]) -> Hold | None:
    """Why these configurations cannot be rolled out; None where all of them are there.

    ``missed``: kinds of configurations that cannot be read, and why.
    """
    lacking = [config.ref for config in configs if not config.spec_hash]
    if not lacking:
        return None
    ref = lacking[0]
    if ref.resource not in addon.supported:
        message = f"{ref.resource} is not among the add-on's supportedConfigs"
    elif ref.resource in missed:
        message = f"{ref} cannot be read: {missed[ref.resource]}"
    else:
        message = f"{ref} does not exist, or has not been read yet; create it to go on"
    return Hold("ConfigNotFound", message)
