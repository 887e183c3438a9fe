"""What do work agents do that have OCM's timing? Agents of our own, that share nothing with the engine's.

They look at what they applied every so often, not when it changes; they stamp what they say with the
work's newest generation, also where they have seen nothing of it yet; they wake for another spec or another
label, never for an annotation; and what was refused they try again more and more rarely, up to 1,000 s.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Any, Protocol

from rollout.clock import Clock
from rollout.errors import Conflict, Gone
from rollout.hub.base import Hub
from rollout.model.events import Change, Event
from rollout.model.kinds import MANIFEST_WORK, Obj, Ref

CLEANUP = "cluster.open-cluster-management.io/manifest-work-cleanup"
LONGEST_PAUSE = 1000.0  # seconds
NOTHING = ""


class Truth(Protocol):
    """What really happened on the clusters, whatever their agents said of it."""

    def was_well(self, cluster: str, revision: str) -> bool: ...

    def was_ill(self, cluster: str, revision: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class Fate:
    """How one revision does on one cluster.

    ``refused``: for so long it cannot be applied. ``ready``: what it needs from there on. ``ill``: that long
    after it was applied it breaks, None if never; ``cured``: and so much later it is well again.
    """

    refused: timedelta
    ready: timedelta
    ill: timedelta | None = None
    cured: timedelta | None = None


@dataclass(slots=True)
class _Spoke:
    """One cluster: what runs there, and what its agent is about to do."""

    name: str = NOTHING  # of the work
    looked_at: tuple[object, object] | None = None  # the spec and labels that it woke for
    applied: str = NOTHING
    applied_at: datetime | None = None
    tries: int = 0
    glance_at: datetime | None = None  # at what runs there, before the change is applied
    try_at: datetime | None = None
    look_at: datetime | None = None
    clean_at: datetime | None = None

    def next_at(self) -> datetime | None:
        due = (self.glance_at, self.try_at, self.look_at, self.clean_at)
        return min((at for at in due if at is not None), default=None)


class OcmAgents:
    """The agents of all clusters.

    Args:
        every: how often they look at what they applied; a look may take 1.9 times as long to come.
        bad: the revisions that some clusters have trouble with.

    ``is_gated``: health is asked for.
    """

    is_gated = True

    def __init__(
        self, hub: Hub, clock: Clock, seed: int, every: timedelta, bad: tuple[str, ...]
    ) -> None:
        self._hub, self._clock, self._seed, self._every, self._bad = hub, clock, seed, every, bad
        self._dice = Random(f"agents:{seed}")
        self._spokes: dict[str, _Spoke] = {}
        self._first: dict[tuple[str, str], datetime] = {}  # when a revision came to a cluster
        self._well: set[tuple[str, str]] = set()
        self._ill: set[tuple[str, str]] = set()

    # -- the truth ---------------------------------------------------------------------------------

    def was_well(self, cluster: str, revision: str) -> bool:
        self._note(cluster)
        return (cluster, revision) in self._well

    def was_ill(self, cluster: str, revision: str) -> bool:
        self._note(cluster)
        return (cluster, revision) in self._ill

    def _note(self, cluster: str) -> None:
        spoke = self._spokes.get(cluster)
        if spoke is not None and spoke.applied:
            ready, ill = self._state(cluster, spoke)
            (self._ill if ill else self._well if ready else set()).add((cluster, spoke.applied))

    def _state(self, cluster: str, spoke: _Spoke) -> tuple[bool, bool]:
        """Whether what runs there is ready, and whether it is ill."""
        if spoke.applied_at is None:
            return False, False
        fate, age = self._fate(cluster, spoke.applied), self._clock.now() - spoke.applied_at
        ill = fate.ill is not None and age >= fate.ill
        if ill and fate.ill is not None and fate.cured is not None:
            ill = age < fate.ill + fate.cured
        return age >= fate.ready and not ill, ill

    def _fate(self, cluster: str, revision: str) -> Fate:
        """Always the same for the same cluster and revision."""
        dice = Random(f"fate:{self._seed}:{cluster}:{revision}")
        ready = timedelta(seconds=dice.choice((3, 10, 30, 90)))
        if revision not in self._bad or dice.random() < 0.6:
            return Fate(timedelta(0), ready)
        if dice.random() < 0.4:
            return Fate(timedelta(seconds=dice.choice((20, 200, 900, 90_000))), ready)
        ill = timedelta(seconds=dice.choice((1, 20, 120)))
        cured = dice.choice((None, None, timedelta(seconds=150)))
        return Fate(timedelta(0), ready, ill, cured)

    # -- being driven ------------------------------------------------------------------------------

    def start(self) -> None:
        self._hub.watch(MANIFEST_WORK, 0, self._heard)

    def next_at(self) -> datetime | None:
        return min((at for s in self._spokes.values() if (at := s.next_at())), default=None)

    def run_due(self) -> int:
        now, ran = self._clock.now(), 0
        for cluster, spoke in list(self._spokes.items()):
            at = spoke.next_at()
            while at is not None and at <= now:
                self._act(cluster, spoke, now)
                ran, at = ran + 1, spoke.next_at()
        return ran

    def _heard(self, event: Event) -> None:
        cluster, now = event.ref.namespace, self._clock.now()
        spoke = self._spokes.setdefault(cluster, _Spoke())
        meta = event.obj["metadata"]
        if event.change is Change.DELETED:
            if spoke.name == event.ref.name:
                self._spokes[cluster] = _Spoke()
            return
        spoke.name = event.ref.name
        if "deletionTimestamp" in meta:
            spoke.clean_at = spoke.clean_at or self._in(1, 15)
            return
        woken_by = (meta["generation"], meta.get("labels"))
        if woken_by != spoke.looked_at:
            spoke.looked_at = woken_by
            spoke.glance_at, spoke.try_at = self._in(0.02, 0.1), self._in(0.2, 0.5)
            spoke.look_at = spoke.look_at or now + self._every * self._dice.uniform(1, 1.9)

    def _in(self, least: float, most: float) -> datetime:
        return self._clock.now() + timedelta(seconds=self._dice.uniform(least, most))

    # -- acting ------------------------------------------------------------------------------------

    def _act(self, cluster: str, spoke: _Spoke, now: datetime) -> None:
        self._note(cluster)
        ref = Ref(MANIFEST_WORK, f"{cluster}/{spoke.name}")
        try:
            work = self._hub.get(ref)
        except Gone:
            self._spokes[cluster] = _Spoke()
            return
        if spoke.clean_at is not None and spoke.clean_at <= now:
            spoke.applied, spoke.clean_at, spoke.look_at = NOTHING, None, None
            spoke.glance_at = spoke.try_at = None
            self._hub.patch(ref, {"metadata": {"finalizers": None}})
        elif spoke.glance_at is not None and spoke.glance_at <= now:
            spoke.glance_at = None
            if spoke.applied:
                self._say(ref, work, self._judged(cluster, spoke, work))
        elif spoke.try_at is not None and spoke.try_at <= now:
            spoke.try_at = None
            self._apply(cluster, spoke, ref, work)
        elif spoke.look_at is not None and spoke.look_at <= now:
            spoke.look_at = now + self._every * self._dice.uniform(1, 1.9)
            if spoke.applied:
                self._say(ref, work, self._judged(cluster, spoke, work))

    def _apply(self, cluster: str, spoke: _Spoke, ref: Ref, work: Obj) -> None:
        if CLEANUP not in (work["metadata"].get("finalizers") or []):
            work = self._hub.patch(ref, {"metadata": {"finalizers": [CLEANUP]}})
        now, revision = self._clock.now(), self._revision_of(work)
        came = self._first.setdefault((cluster, revision), now)
        if now < came + self._fate(cluster, revision).refused:
            spoke.tries += 1
            spoke.try_at = now + timedelta(seconds=min(2.0**spoke.tries, LONGEST_PAUSE))
            self._ill.add((cluster, revision))
            self._say(ref, work, {"Applied": "False"})
            return
        spoke.tries = 0
        if spoke.applied != revision:
            spoke.applied, spoke.applied_at = revision, now
        self._note(cluster)
        said = {"Applied": "True"}
        if not work["spec"].get("manifestConfigs"):
            said |= {"Available": "True"}
            self._well.add((cluster, revision))
        elif self._dice.random() < 0.5:
            said |= self._judged(cluster, spoke, work)
        self._say(ref, work, said)

    def _judged(self, cluster: str, spoke: _Spoke, work: Obj) -> Mapping[str, str]:
        """What it says of what runs there."""
        ready, ill = self._state(cluster, spoke)
        if not work["spec"].get("manifestConfigs"):
            return {"Available": "True"}
        return {
            "Available": "True",
            "Degraded": "True" if ill else "False",
            "Progressing": "False" if ready else "True",
        }

    def _say(self, ref: Ref, work: Obj, said: Mapping[str, str]) -> None:
        """Stamped with the work's generation, whatever it was that was looked at."""
        now = self._clock.now().replace(tzinfo=None).isoformat(timespec="seconds") + "Z"
        known = {c["type"]: c for c in (work.get("status") or {}).get("conditions") or []}
        found: dict[str, dict[str, Any]] = dict(known)
        for kind, status in said.items():
            before = known.get(kind, {})
            since = before["lastTransitionTime"] if before.get("status") == status else now
            found[kind] = {
                "type": kind, "status": status, "reason": "Said", "message": "",
                "observedGeneration": work["metadata"]["generation"], "lastTransitionTime": since,
            }  # fmt: skip
        if found != known:
            try:
                self._hub.patch_status(ref, {"status": {"conditions": list(found.values())}})
            except (Conflict, Gone):
                return

    def _revision_of(self, work: Obj) -> str:
        return str(work["spec"]["workload"]["manifests"][0]["data"]["v"])


class AgentsOfAddOns(OcmAgents):
    """The same agents, of works that add-on managers deploy. What they bring is there once it is applied; a
    bad one crashes, at once or later, which a rule of the work tells.

    Where health is not asked for, whatever is there is well.
    """

    def was_well(self, cluster: str, revision: str) -> bool:
        return super().was_well(cluster, _value(revision))

    def was_ill(self, cluster: str, revision: str) -> bool:
        return super().was_ill(cluster, _value(revision))

    def _note(self, cluster: str) -> None:
        spoke = self._spokes.get(cluster)
        if spoke is not None and spoke.applied:
            _, ill = self._state(cluster, spoke)
            known = self._ill if ill and self.is_gated else self._well
            known.add((cluster, spoke.applied))

    def _fate(self, cluster: str, revision: str) -> Fate:
        found = super()._fate(cluster, revision)
        dice = Random(f"crash:{self._seed}:{cluster}:{revision}")
        ill = found.ill and timedelta(seconds=dice.choice((0, 0, 5, 120)))
        return Fate(found.refused, timedelta(0), ill, found.cured)

    def _judged(self, cluster: str, spoke: _Spoke, work: Obj) -> Mapping[str, str]:
        _, ill = self._state(cluster, spoke)
        return {"Available": "True", "Degraded": "True" if ill else "False"}

    def _revision_of(self, work: Obj) -> str:
        pod = work["spec"]["workload"]["manifests"][0]["spec"]["template"]["spec"]
        return str(pod["containers"][0]["image"])


def _value(revision: str) -> str:
    """What a configuration says, whichever object it is."""
    return revision.rpartition("/")[2]
