"""What is known of one ClusterManagementAddOn: clusters, configurations, rollouts.

Kept current add-on by add-on; recounted only when configurations, a strategy or a selection change.
What a ManagedClusterAddOn carries is told to the rollout as the revision that it amounts to there,
so that configurations of its own change that cluster alone.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from rollout.model import names
from rollout.model.addon import (
    AddOn,
    ClusterAddOn,
    Config,
    ConfigRef,
    Configs,
    InstallPlacement,
    Resource,
    effective,
)
from rollout.model.kinds import CLUSTER_MANAGEMENT_ADDON, Obj, Ref
from rollout.model.workload import Carried
from rollout.rollouts.addon_configs import (
    AddOnWork,
    ConfigsToTell,
    Known,
    body_of,
    content_of,
    in_order,
    is_left_over,
    looked_up,
    of_the_addon,
    own_over_carried,
    read_as_ocm,
    read_health,
    with_own,
)
from rollout.rollouts.addon_share import AddOnShare, hold_of
from rollout.rollouts.live import LiveRollout
from rollout.rollouts.mirror import Mirror
from rollout.rollouts.observations import Observation, unbrought
from rollout.rollouts.selections import Reading
from rollout.rollouts.share import Surroundings
from rollout.rollouts.terms import Terms
from rollout.rollouts.workload import Workload

_NO_REVISIONS_KEPT = 200


class AddOnWorkload(Workload[AddOnShare]):
    """One ClusterManagementAddOn and everything that hangs on it."""

    later_first = True

    def __init__(
        self,
        name: str,
        known: Mapping[ConfigRef, Known],
        missed: Mapping[Resource, str],
        mirrored: Mirror,
        profile: str,
    ) -> None:
        """``missed``: kinds of configurations that cannot be read, and why."""
        super().__init__(Ref(CLUSTER_MANAGEMENT_ADDON, name), profile)
        self.addon: AddOn | None = None
        self.known, self._missed = known, missed
        self._mirror = mirrored
        self.defaults: Configs = ()
        self.untold: set[str] = set()
        self.unowned: set[str] = set()
        self._lacking: set[str] = set()  # members where nothing is installed
        self._installed: dict[str, ClusterAddOn] = {}
        self._marked: dict[str, str] = {}  # cluster -> uid of what the install strategy made there
        self._works: dict[str, dict[str, AddOnWork]] = {}  # cluster -> key -> work
        self._revisions: dict[str, Configs] = {}  # content -> configurations

    # -- what happened -------------------------------------------------------------------------

    def put(self, installed: ClusterAddOn, now: datetime) -> None:
        """A ManagedClusterAddOn is there, or has changed."""
        cluster = installed.cluster
        before = self._installed.get(cluster)
        self._installed[cluster] = installed
        if names.INSTALLED_BY in installed.annotations:
            self._marked[cluster] = installed.uid
        elif self._marked.get(cluster) != installed.uid:
            self._marked.pop(cluster, None)
        if before is None or _who(before) != _who(installed):
            self.unowned.add(cluster)
        self._news(cluster, now)

    def drop(self, cluster: str, now: datetime) -> None:
        """The ManagedClusterAddOn is gone."""
        self._marked.pop(cluster, None)
        if self._installed.pop(cluster, None) is not None:
            self._news(cluster, now)

    def put_work(self, cluster: str, key: str, work: AddOnWork) -> bool:
        """A work of a cluster's add-on; returns whether that says anything new."""
        held = self._works.setdefault(cluster, {})
        if held.get(key) == work:
            return False
        held[key] = work
        self.untold.add(cluster)
        return True

    def drop_work(self, cluster: str, key: str) -> None:
        held = self._works.get(cluster, {})
        held.pop(key, None)
        if not held:
            self._works.pop(cluster, None)
        self.untold.add(cluster)

    def _news(self, cluster: str, now: datetime) -> None:
        installed = self._installed.get(cluster)
        self.untold.add(cluster)
        owner = self.members.get(cluster)
        share = self.shares.get(owner) if owner is not None else None
        if installed is not None and not installed.configs:
            self._remember(in_order(installed.desired))
        if share is not None:
            share.live.observe(cluster, self._observation(cluster, share), now)
        self._place(cluster)

    def _place(self, cluster: str) -> None:
        installed = self._installed.get(cluster)
        is_ours = installed is not None and names.INSTALLED_BY in installed.annotations
        is_member = cluster in self.members
        (self.strays.add if is_ours and not is_member else self.strays.discard)(cluster)
        (self._lacking.add if is_member and installed is None else self._lacking.discard)(cluster)

    def _remember(self, configs: Configs) -> str:
        content = content_of(configs)
        if len(self._revisions) > _NO_REVISIONS_KEPT:
            self._revisions.clear()
        self._revisions[content] = configs
        return content

    @property
    def spec(self) -> AddOn | None:
        return self.addon

    @property
    def placements(self) -> tuple[str, ...]:
        return tuple(each.key for each in self._asked)

    @property
    def _asked(self) -> tuple[InstallPlacement, ...]:
        """The placements of its install strategy; none where it is installed by hand."""
        return (self.addon.placements if self.addon else None) or ()

    def placement_key(self, placement: str) -> str:
        return placement

    # -- what planners read --------------------------------------------------------------------

    @property
    def clusters(self) -> list[str]:
        """Where it is installed, by name."""
        return sorted(self._installed)

    @property
    def uses(self) -> set[ConfigRef]:
        """Every configuration object that it refers to anywhere."""
        addon = self.addon
        if addon is None:
            return set()
        return of_the_addon(addon).union(*(a.configs for a in self._installed.values()))

    @property
    def looked_up(self) -> set[ConfigRef]:
        """Those of them whose kinds are to be watched."""
        return looked_up(self.addon, self._installed.values()) if self.addon else set()

    @property
    def told_of(self) -> set[ConfigRef]:
        """Every one that a cluster is told to apply, though it may be asked for no more."""
        return {config.ref for addon in self._installed.values() for config in addon.desired}

    def installed(self, cluster: str) -> ClusterAddOn | None:
        return self._installed.get(cluster)

    @property
    def revisions(self) -> tuple[str, ...]:
        """Without placements, what the defaults amount to."""
        asked = [s.revision for s in self.shares.values()] or [content_of(self.defaults)]
        return tuple(dict.fromkeys(asked))

    def revision_at(self, cluster: str) -> str:
        share = self.shares.get(self.members.get(cluster, ""))
        return share.revision if share else ""

    def is_marked(self, cluster: str) -> bool:
        """Whether the ManagedClusterAddOn said that the install strategy made it, now or earlier."""
        return cluster in self._marked

    def carried(self, cluster: str) -> Carried | None:
        installed = self._installed.get(cluster)
        if installed is None or installed.deleting:
            return None
        share = self.shares.get(self.members.get(cluster, ""))
        revision = ""
        if installed.references or not (share.configs if share else self.defaults):
            carried = in_order(installed.desired)
            revision = self._content(cluster, installed, share) if share else content_of(carried)
        return Carried(installed.key, revision, tuple(installed.conditions.values()))

    def leaving(self, cluster: str) -> str:
        installed = self._installed.get(cluster)
        return installed.key if installed is not None and installed.deleting else ""

    def body(self, cluster: str) -> Obj | None:
        installed = self._installed.get(cluster)
        return body_of(installed.desired) if installed else None

    def wanted(self, cluster: str) -> Obj | None:
        share = self.shares.get(self.members.get(cluster, ""))
        configs = share.configs if share else self.defaults
        installed = self._installed.get(cluster)
        found = self._for(installed, configs) if installed else configs
        return None if found is None else body_of(found)

    def made_of(self, revision: str) -> tuple[str, ...]:
        return tuple(map(str, self._revisions.get(revision, ())))

    def works(self, cluster: str) -> Iterable[AddOnWork]:
        held = self._works.get(cluster, {})
        return [held[key] for key in sorted(held)]

    def to_install(self) -> list[str]:
        return sorted(cluster for cluster in self._lacking if self._mirror.has(cluster))

    def mirrored(self, cluster: str) -> Mapping[str, str | None]:
        """Manual add-ons mirror nothing."""
        if self.addon is None or self.addon.placements is None:
            return {}
        return self._mirror.of(cluster)

    def told(self, cluster: str) -> ConfigsToTell | None:
        installed = self._installed.get(cluster)
        if installed is None or self.addon is None:
            return None
        carried = in_order(installed.desired)
        if self.members.get(cluster) in self.shares:
            return ConfigsToTell(carried, configured=carried == self.meant_for(cluster))
        held = any(s.hold is not None for s in self.shares.values())
        is_left = self.addon.placements is not None and is_left_over(installed, self.addon.defaults)
        if cluster in self.strays or held or is_left:
            return ConfigsToTell(carried, configured=self._is_configured(installed))
        wanted = self._for(installed, self.defaults)
        if wanted is None or (not self.is_ocm and any(not each.spec_hash for each in wanted)):
            return ConfigsToTell(carried, configured=False)
        return ConfigsToTell(wanted, configured=True)

    def _is_configured(self, installed: ClusterAddOn) -> bool:
        """Whether it was told so; one that there is nothing for has nothing to wait for."""
        told = installed.conditions.get(names.CONFIGURED)
        return (told is not None and told.is_true) or not (installed.references or self.defaults)

    def meant_for(self, cluster: str) -> Configs | None:
        """As they are: an edit in place counts at once, though its strategy cannot be read."""
        share = self.shares.get(self.members.get(cluster, ""))
        installed = self._installed.get(cluster)
        if share is None or installed is None or share.is_missing:
            return None
        return self._for(installed, share.configs)

    def configs_of(self, cluster: str, revision: str) -> Configs | None:
        configs = self._revisions.get(revision)
        installed = self._installed.get(cluster)
        if configs is None or installed is None:
            return None
        return self._for(installed, configs)

    def with_its_own(self, cluster: str) -> Configs | None:
        """What to tell it while a shared configuration is gone: its own over what it carries, see
        `own_over_carried`. None: nothing new.
        """
        share = self.shares.get(self.members.get(cluster, ""))
        installed = self._installed.get(cluster)
        if share is None or installed is None or not share.is_missing:
            return None
        return own_over_carried(installed, share.configs, self.known)

    def _for(self, installed: ClusterAddOn, configs: Configs) -> Configs | None:
        return with_own(installed, configs, self.known, as_ocm=self.is_ocm)

    # -- observations --------------------------------------------------------------------------

    def _observation(self, cluster: str, share: AddOnShare) -> Observation | None:
        installed = self._installed.get(cluster)
        if installed is None or self.addon is None:
            return None
        lacking = any(ref not in self.known for ref in installed.configs)
        if lacking and not self.is_ocm:
            return unbrought(share.live.revision, "ConfigNotFound")
        if not installed.references and share.configs:
            return None  # it was never told anything
        content = self._content(cluster, installed, share)
        health, reason, token = read_health(installed, gate=self._is_gated)
        reported = read_as_ocm(installed) if self.is_ocm else None
        return Observation(
            content=content, health=health, reason=reason, reported=reported, token=token
        )

    def _content(self, cluster: str, installed: ClusterAddOn, share: AddOnShare) -> str:
        """The revision that what it carries amounts to.

        What an older one was made of, a process that began later does not know. It takes the record's word
        that the cluster carries it, unless its own configurations have changed since.
        """
        carried = in_order(installed.desired)
        if not installed.configs:
            return content_of(carried)
        present, supposed = share.live.revision, share.live.supposed(cluster)
        for revision in (present, supposed):
            unknown = carried if revision not in ("", present) else None
            configs = self._revisions.get(revision, unknown)
            if configs is not None and self._for(installed, configs) == carried:
                return revision
        return f"other-{content_of(carried)}"  # no revision, with this cluster's own over it

    @property
    def _is_gated(self) -> bool:
        return self.addon is not None and self.addon.intents.health_gated

    # -- terms ---------------------------------------------------------------------------------

    def sync(self, around: Surroundings, now: datetime) -> None:
        """As for every workload, with its default configurations as they are now."""
        if self.addon is not None and self.is_due(now):
            self.defaults = self._configs(effective(self.addon.defaults))
        super().sync(around, now)

    def _dealt(self, left: Mapping[str, AddOnShare], owners: Mapping[str, str]) -> None:
        for cluster in self._installed.keys() | self.members.keys() | self._lacking:
            self._place(cluster)
        self.untold.update(self._installed)

    def _configs(self, refs: Iterable[ConfigRef]) -> Configs:
        return tuple(
            Config(ref, there.spec_hash if (there := self.known.get(ref)) else "") for ref in refs
        )

    def _share(
        self, placement: str, live: LiveRollout, reading: Reading, around: Surroundings
    ) -> AddOnShare:
        asked = next(each for each in self._asked if each.key == placement)
        configs = self._configs(effective(self.addon.defaults if self.addon else (), asked.configs))
        lacking = hold_of(configs, self._missed, as_ocm=self.is_ocm)
        live.carriers = self._installed
        return AddOnShare(
            placement=asked,
            live=live,
            reading=reading,
            hold=reading.hold or lacking,
            configs=configs,
            is_missing=lacking is not None,
        )

    def _observed(self, placement: str) -> dict[str, Observation]:
        share = self.shares[placement]
        members = (c for group in share.reading.selection.groups for c in group.clusters)
        found = {cluster: self._observation(cluster, share) for cluster in members}
        return {cluster: seen for cluster, seen in found.items() if seen is not None}

    def _agree(self, placement: str, around: Surroundings, now: datetime) -> None:
        share, live = self.shares[placement], self.shares[placement].live
        known = live.observations
        if not share.is_missing:
            self._remember(share.configs)
        super()._agree(placement, around, now)
        for cluster in sorted(known.keys() | live.observations.keys()):
            seen = self._observation(cluster, share)  # what it amounts to by now
            if cluster in live.ledger and seen != known.get(cluster):
                live.observe(cluster, seen, now)

    def _why_not(self, placement: str, around: Surroundings) -> str:
        asked = self.shares[placement].placement
        if asked.rollout is not None and around.strategy(asked.rollout.type) is not None:
            return ""
        said = "; ".join(map(str, asked.problems))
        return f"placement {placement}: {said or 'its rollout strategy is not known'}"

    def _terms(self, placement: str, around: Surroundings) -> Terms | None:
        share = self.shares[placement]
        if share.is_missing:
            return None
        spec, there = share.placement.rollout, around.placement(placement)
        if spec is not None and spec.concurrency is None and there is not None:
            spec = replace(spec, concurrency=there.group_size)  # row 4
        revision = content_of(share.configs)
        return self.terms_of(share, spec, revision, around, settles=self._is_gated)


def _who(addon: ClusterAddOn) -> tuple[object, ...]:
    return addon.uid, addon.owner_uids, addon.annotations
