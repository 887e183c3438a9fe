"""What has the engine been told, and what follows from it for the plain model?"""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from datetime import datetime

from rollout.model.kinds import (
    APPROVAL,
    CLUSTER_CALENDAR,
    FREEZE,
    MANAGED_CLUSTER,
    PLACEMENT,
    PLACEMENT_DECISION,
    ROLLOUT_REVISION,
    Kind,
    Obj,
    Ref,
)
from rollout.model.names import OVERRIDE_CALENDARS, PLACEMENT_LABEL, RELEASE_REMOVALS, SEMANTICS
from tests.safety import objects
from tests.safety.allowed import allow
from tests.safety.asked import asked_in, is_over, said_of
from tests.safety.instants import instant
from tests.safety.model import Rollout
from tests.safety.readings import Span, joined
from tests.safety.subject import Carried, Subject
from tests.safety.terms import (
    LEASE,
    QUIET,
    Groups,
    Waits,
    clusters_on,
    decided_by_others,
    groups_of,
    is_paused,
    is_torn,
    is_undecided,
    named_groups,
)
from tests.safety.windows import Windows, is_past


class Told:
    """The objects as the engine knows them, and the model of each placement."""

    def __init__(
        self,
        subject: Subject,
        now: Callable[[], datetime],
        waits: Waits,
        counts: Counter[str],
    ) -> None:
        self.subject, self._waits, self._counts = subject, waits, counts
        self.now = now
        self.objects: dict[Ref, Obj] = {}
        self._versions: dict[Ref, int] = {}
        self.changed_at: dict[str, datetime] = {}  # placement -> its decisions or itself
        self.edited_at: datetime | None = None  # which placements are named, or the spec of one
        self._departed: dict[str, bool] = {}
        self.rollouts: dict[str, Rollout] = {}
        self._soaked: dict[str, list[str]] = {}  # what soaked on a cluster, in whatever placement
        self.outages: list[Span] = []
        self.noted: list[Span] = []  # of these, what the engine cannot have forgotten
        self._unwritten: list[Span] = []
        self._blind: dict[Hashable, datetime] = {}
        self._pages: dict[str, dict[Ref, Obj]] = {}
        self._carriers: dict[str, dict[Ref, Obj]] = {}
        self.windows = Windows()
        self.paused = False
        self.frozen = False
        self._reads = False  # a new process still reads, and concludes nothing
        self._specs: dict[Ref, object] = {}  # what members follow from, as any process knew it last
        self.moves = 0  # clusters that another placement owns than before

    # -- hearing ---------------------------------------------------------------------------------

    def hear(self, ref: Ref, obj: Obj | None, version: int) -> None:
        before = self.objects.get(ref)
        if obj is None:
            if before is not None and (not version or version > self._versions[ref]):
                self._versions[ref] = max(self._versions.get(ref, 0) + 1, version)
                del self.objects[ref]
                self._gone(ref, before)
            return
        if version <= self._versions.get(ref, 0):
            return
        self._versions[ref] = version
        self.objects[ref] = obj
        self._changed(ref, before, obj)

    def going(self, ref: Ref, known: Obj) -> None:
        """The deletion of a work was answered: the engine counts it no more, before an event tells of it."""
        meta = known["metadata"] | {"deletionTimestamp": self.now().isoformat()}
        self.objects[ref] = known | {"metadata": meta}
        self._changed(ref, known, self.objects[ref])

    # -- out of touch ------------------------------------------------------------------------------

    def was_out_of_touch(self, span: Span) -> None:
        """The engine was told so; it has yet to write that down."""
        self.outages.append(span)
        self.noted.append(span)
        self._unwritten.append(span)

    def is_blind(self, what: Hashable, since: datetime | None) -> None:
        """News of ``what`` may be missing since then (None: no more)."""
        if since is None:
            self._blind.pop(what, None)
        else:
            self._blind[what] = since

    def blind_since(self) -> datetime | None:
        return min(self._blind.values(), default=None)

    def unwritten_outages(self) -> list[Span]:
        """What the engine was told, and what its next record says of outages; nothing where what is
        asked for cannot be honoured: then they are noted later.
        """
        is_agreed = not any(rollout.bad for rollout in self.rollouts.values())
        return list(self._unwritten) if is_agreed else []

    def wrote_down(self, spans: list[Span]) -> None:
        """The record says so by now."""
        self._unwritten = [span for span in self._unwritten if span not in spans]

    def known(self, kind: Kind) -> set[Ref]:
        return {ref for ref in self.objects if ref.kind is kind}

    def is_there(self, cluster: str) -> bool:
        """Whether its ManagedCluster is there, and nobody is deleting it."""
        known = self.objects.get(Ref(MANAGED_CLUSTER, cluster))
        return known is not None and "deletionTimestamp" not in known["metadata"]

    def _changed(self, ref: Ref, before: Obj | None, obj: Obj) -> None:
        now = self.now()
        if ref.kind is self.subject.carrier:
            self._carriers.setdefault(ref.namespace, {})[ref] = obj
            self._observe(ref.namespace, now)
        elif self.subject.affects(ref):
            for cluster in self._carriers:
                self._observe(cluster, now)
        elif ref.kind is PLACEMENT_DECISION:
            for page in (before, obj):
                self._page(page, now)
            self._pages.setdefault(_placement_of(obj), {})[ref] = obj
        elif ref.kind is PLACEMENT or ref == self.subject.ref:
            if ref.kind is PLACEMENT and (before is None or _says(before) != _says(obj)):
                self.changed_at[ref.name] = now
            asked = self._members_follow_from(ref, obj)
            if self._specs.setdefault(ref, asked) != asked:
                self._specs[ref], self.edited_at = asked, now
        elif ref.kind is MANAGED_CLUSTER:
            self._departed.pop(ref.name, None)
        elif ref.kind is CLUSTER_CALENDAR:
            self.windows.hear(ref, obj, now)

    def _members_follow_from(self, ref: Ref, obj: Obj) -> object:
        """What of an object decides which clusters have the workload (row 16)."""
        if ref.kind is PLACEMENT:
            return obj["spec"]
        return [each["name"] for each in self.subject.placements(obj)]

    def _gone(self, ref: Ref, before: Obj) -> None:
        now = self.now()
        if ref.kind is self.subject.carrier:
            self._carriers.get(ref.namespace, {}).pop(ref, None)
            self._observe(ref.namespace, now)
        elif ref.kind is PLACEMENT_DECISION:
            self._page(before, now)
            self._pages.get(_placement_of(before), {}).pop(ref, None)
        elif ref.kind is PLACEMENT:
            self.changed_at.pop(ref.name, None)
        elif ref.kind is MANAGED_CLUSTER:
            self._departed[ref.name] = _available(before)
        elif ref.kind is CLUSTER_CALENDAR:
            self.windows.hear(ref, None, now)

    def _page(self, page: Obj | None, now: datetime) -> None:
        if page is not None:
            self.changed_at[_placement_of(page)] = now

    def _observe(self, cluster: str, now: datetime) -> None:
        if self._reads:
            return
        found, missed = self.carries(cluster), self.blind_since() is not None
        for rollout in self.rollouts.values():
            rollout.observe(cluster, found, now, missed=missed)

    # -- reading ---------------------------------------------------------------------------------

    def workload(self) -> Obj | None:
        return self.objects.get(self.subject.ref)

    def next_ends(self, now: datetime) -> list[tuple[str, datetime]]:
        """When the next approval or refusal of a present revision ends by itself, and when the hub is
        no longer frozen.
        """
        mine = {r.fingerprint for r in self.rollouts.values() if r.fingerprint and not r.bad}
        said = (self.objects[ref]["spec"] for ref in self.known(APPROVAL))
        ends = [instant(s.get("expires")) for s in said if s["revision"] in mine]
        found = [("what somebody said ends", at) for at in ends if at is not None and at > now]
        until = [instant(self.objects[ref]["spec"].get("until")) for ref in self.known(FREEZE)]
        ahead = [at for at in until if at is not None and at > now]
        if ahead and None not in until:
            found.append(("the freeze ends", max(ahead)))
        return found

    @property
    def is_ocm(self) -> bool:
        """Whether the workload asks for profile ``ocm``, whose choices are OCM's."""
        return self._annotations().get(SEMANTICS) == "ocm"

    def held(self) -> frozenset[str]:
        """Clusters that a person asked to leave alone."""
        return asked_in(self._annotations()).held

    def are_removals_released(self, now: datetime) -> bool:
        """Whether a person releases removals from the brake, at this instant."""
        until = instant(self._annotations().get(RELEASE_REMOVALS))
        return until is not None and now < until

    def is_past_calendars(self, now: datetime) -> bool:
        return is_past(self._annotations(), OVERRIDE_CALENDARS, now)

    def _annotations(self) -> Mapping[str, str]:
        """What people ask of the workload; nothing where it is not there."""
        workload = self.workload()
        return workload["metadata"].get("annotations") or {} if workload else {}

    def closed(self, now: datetime, block: str = "Touch") -> frozenset[str]:
        """Clusters that calendars close for this, unless a person lets the workload past them."""
        return frozenset() if self.is_past_calendars(now) else self.closed_at_all(now, block)

    def closed_at_all(self, now: datetime, block: str = "Touch") -> frozenset[str]:
        """As `closed`, whoever lets the workload past calendars."""
        there = self.known(MANAGED_CLUSTER)
        labels = {each.name: self.objects[each]["metadata"].get("labels") or {} for each in there}
        return self.windows.closed(block, labels, now)

    def kept(self) -> Mapping[str, str]:
        """The revisions that can be given back, as people name them, and as templates do."""
        return self.subject.kept([self.objects[ref] for ref in self.known(ROLLOUT_REVISION)])

    def carriers(self, cluster: str) -> list[Obj]:
        """Carriers of the workload there that are not being deleted, the oldest first."""
        held = [
            w
            for w in self._carriers.get(cluster, {}).values()
            if self.subject.is_ours(w) and "deletionTimestamp" not in w["metadata"]
        ]
        return sorted(
            held, key=lambda w: (w["metadata"]["creationTimestamp"], w["metadata"]["name"])
        )

    def carries(self, cluster: str) -> Carried | None:
        """What the carrier that counts brings to a cluster."""
        held = self.carriers(cluster)
        return self.subject.carried(held[0], self.objects.get) if held else None

    def lacks(self, cluster: str) -> bool:
        """Whether it can be brought nothing for what it lacks: that is a failure once it has lasted."""
        held = self.carriers(cluster)
        return bool(held) and self.subject.lacks(held[0], self.objects.get)

    def is_available(self, cluster: str) -> bool:
        obj = self.objects.get(Ref(MANAGED_CLUSTER, cluster))
        return _available(obj) if obj is not None else self._departed.get(cluster, False)

    def owner(self, cluster: str) -> Rollout | None:
        """The placement that owns the cluster."""
        return next((r for r in self.rollouts.values() if cluster in r.selected), None)

    # -- judging ---------------------------------------------------------------------------------

    def look(self, now: datetime) -> None:
        """Bring the model up to date, as of a decision at this instant."""
        workload = self.workload()
        if workload is None:
            return
        self.paused = is_paused(workload)
        freezes = (self.objects[ref] for ref in self.known(FREEZE))
        self.frozen = any(not is_over(freeze, "until", now) for freeze in freezes)
        approvals = [self.objects[ref] for ref in self.known(APPROVAL)]
        taken: set[str] = set()
        unread = ""  # why it is not known which clusters an earlier placement owns
        self._hand_over()
        known, self.rollouts = self.rollouts, {}
        owners = {c: name for name, rollout in known.items() for c in rollout.selected}
        for each in known.values():
            self._soaked.update({c: list(of) for c, of in each.back.soaked.items() if of})
        placements = self.subject.placements(workload)
        for ref in reversed(placements) if self.subject.later_wins else placements:
            name = ref["name"]
            rollout = known.get(name) or Rollout(
                name,
                self._waits,
                carries=self.carries,
                available=self.is_available,
                outages=self.outages,
                noted=self.noted,
                blind_since=self.blind_since,
            )
            if unread:
                rollout.hold, rollout.quiet_until = unread, None
            else:
                self._select(rollout, taken, now)
            unread = unread or _unread(rollout)
            taken |= rollout.selected
            self.rollouts[name] = rollout
        for ref in placements:
            terms = self.subject.terms_of(workload, ref, self.objects.get)
            rollout = self.rollouts[ref["name"]]
            fingerprint = self.subject.fingerprint(workload, ref, self.objects.get)
            rollout.fingerprint, rollout.said = fingerprint, said_of(fingerprint, approvals, now)
            rollout.halted = self.paused or self.frozen
            rollout.agree(terms, now, taken)
        for name, rollout in self.rollouts.items():
            self.moves += sum(owners.get(c, name) != name for c in rollout.selected)
            for cluster in rollout.selected:
                rollout.back.take_over(cluster, self._soaked.get(cluster, []))
        self._hand_over()

    def _hand_over(self) -> None:
        """What one placement has lost and another one has touched is that one's to judge."""
        for rollout in self.rollouts.values():
            others = [other for other in self.rollouts.values() if other is not rollout]
            for cluster in [c for c in rollout.lost if any(c in o.tracks for o in others)]:
                del rollout.lost[cluster]

    def _select(self, rollout: Rollout, taken: set[str], now: datetime) -> None:
        placement = self.objects.get(Ref(PLACEMENT, f"{objects.NAMESPACE}/{rollout.name}"))
        rollout.hold, rollout.quiet_until = "", None
        rollout.unnamed = set()
        before = _without(rollout.groups or {}, taken)
        if placement is None:
            rollout.hold = "PlacementNotFound"
            if rollout.forgotten:
                rollout.tracks.clear()  # nothing tells that it ever had clusters
            rollout.groups = before if rollout.groups is not None else None
            return
        pages = list(self._pages.get(rollout.name, {}).values())
        rollout.named = named_groups(placement)
        if is_torn(placement, pages):
            rollout.hold = "TornDecisions"
            rollout.groups = before if rollout.groups is not None else None
            return
        if not decided_by_others(placement) and is_undecided(placement):
            rollout.hold = "NotDecided"
            rollout.groups = before if rollout.groups is not None else None
            return
        groups, rollout.forgotten = groups_of(pages), False
        named = sum(len(clusters_on(page)) for page in pages)
        rollout.named_again = named - sum(map(len, groups.values()))
        quiet_until = self._quiet_until(self.changed_at.get(rollout.name, now), now)
        if decided_by_others(placement) and now < quiet_until:
            rollout.quiet_until = quiet_until
            chosen = {c for members in groups.values() for c in members}
            rollout.unnamed = rollout.selected - chosen - taken
            for group, members in before.items():
                kept = [c for c in members if c not in chosen]
                if kept:
                    groups[group] = sorted([*groups.get(group, []), *kept])
        rollout.total = sum(map(len, groups.values()))
        rollout.groups = _without(groups, taken)
        if not rollout.selected:
            rollout.hold = "NoTargets"

    def _quiet_until(self, changed_at: datetime, now: datetime) -> datetime:
        """When decisions have been still for long enough: what nobody could hear was not still."""
        blind, until = self.blind_since(), changed_at + QUIET
        if blind is not None and blind < until:
            return now + QUIET
        for out, back in joined(self.outages):
            heard = back - LEASE
            if out < until and changed_at < heard:
                until = max(until, heard + QUIET)
        return until

    def restart(self) -> None:
        """A new process: it knows nothing until it has been told again."""
        self._reads = True
        self._blind.clear()
        for span in self._unwritten:
            if span in self.noted:
                allow(self._counts, "outage_unwritten")
                self.noted.remove(span)
        self._unwritten.clear()
        self.objects.clear()
        self._versions.clear()
        self._departed.clear()
        self.changed_at.clear()
        self._pages.clear()
        self._carriers.clear()
        self.windows.restart()

    def listed_all(self, now: datetime, recorded: Mapping[str, Mapping[str, bool] | None]) -> None:
        """The new process has read everything. ``recorded``: the clusters that the record of each placement
        has lines of, and whether each is lost; None where the record is gone.
        """
        self._reads = False
        if None in recorded.values():
            self.noted.clear()
        for rollout in self.rollouts.values():
            rollout.groups = None
            rollout.restart(now, recorded[rollout.name])
            for cluster in list(rollout.tracks):
                rollout.observe(cluster, self.carries(cluster), now)


def _unread(rollout: Rollout) -> str:
    """Why nobody knows whom it selects; "" where that is known."""
    torn = rollout.hold in ("TornDecisions", "NotDecided")
    gone = rollout.hold == "PlacementNotFound" and bool(rollout.tracks)
    return rollout.hold if (torn or gone) and not rollout.selected else ""


def _without(groups: Groups, taken: set[str]) -> Groups:
    return {g: [c for c in members if c not in taken] for g, members in groups.items()}


def _placement_of(page: Obj) -> str:
    return str(page["metadata"]["labels"].get(PLACEMENT_LABEL, ""))


def _generation(obj: Obj) -> object:
    return obj["metadata"].get("generation"), obj["metadata"]["uid"]


def _says(placement: Obj) -> object:
    groups = (placement.get("status") or {}).get("decisionGroups")
    return _generation(placement), groups, placement["metadata"].get("annotations")


def _available(cluster: Obj) -> bool:
    return any(
        c["type"] == "ManagedClusterConditionAvailable" and c["status"] == "True"
        for c in (cluster.get("status") or {}).get("conditions") or []
    )
