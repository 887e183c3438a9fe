"""Who else writes decisions? Another program that keeps PlacementDecisions, page by page, not at once.

It writes one object at a time, with pauses, in any order; in between, what can be read is torn.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random

from rollout.errors import Conflict, Gone
from rollout.hub.base import Hub
from rollout.model.kinds import PLACEMENT, PLACEMENT_DECISION, Obj, Ref
from rollout.model.names import GROUP_INDEX_LABEL, GROUP_NAME_LABEL, PLACEMENT_LABEL
from tests.safety import objects
from tests.safety.terms import Groups, groups_of

PAGE = 4


class Decider:
    """Keeps the decisions of one placement. ``told``: it writes status.decisionGroups too."""

    def __init__(self, hub: Hub, ref: str, dice: Random, *, told: bool) -> None:
        self._hub, self._ref, self._dice, self._told = hub, ref, dice, told
        self._todo: list[tuple[datetime, Ref, Obj | None]] = []

    def groups(self) -> Groups:
        listing = self._hub.list(
            PLACEMENT_DECISION, objects.NAMESPACE, {PLACEMENT_LABEL: self._ref}
        )
        return groups_of(listing.items)

    def next_at(self) -> datetime | None:
        return self._todo[0][0] if self._todo else None

    def run_due(self, now: datetime) -> int:
        ran = 0
        while self._todo and self._todo[0][0] <= now:
            _, ref, body = self._todo.pop(0)
            self._write(ref, body)
            ran += 1
        return ran

    def decide(self, groups: Groups, now: datetime, pause: float) -> None:
        """Bring pages and status to these groups; ``pause``: seconds between two writes, at most."""
        wanted = dict(self._pages(groups))
        listing = self._hub.list(
            PLACEMENT_DECISION, objects.NAMESPACE, {PLACEMENT_LABEL: self._ref}
        )
        there = {obj["metadata"]["name"] for obj in listing.items}
        queued = {ref.name for _, ref, _ in self._todo if ref.kind is PLACEMENT_DECISION}
        steps: list[tuple[Ref, Obj | None]] = [
            (Ref(PLACEMENT_DECISION, f"{objects.NAMESPACE}/{name}"), body)
            for name, body in wanted.items()
        ]
        steps += [
            (Ref(PLACEMENT_DECISION, f"{objects.NAMESPACE}/{name}"), None)
            for name in sorted((there | queued) - wanted.keys())
        ]
        if self._told:
            steps.append((Ref(PLACEMENT, f"{objects.NAMESPACE}/{self._ref}"), self._status(wanted)))
        if pause:
            self._dice.shuffle(steps)
        at = now
        self._todo = []
        for ref, body in steps:
            self._todo.append((at, ref, body))
            at += timedelta(seconds=round(self._dice.random() * pause, 3))
        self.run_due(now)

    def _pages(self, groups: Groups) -> Iterator[tuple[str, Obj]]:
        for index, group in sorted(groups):
            members = groups[index, group]
            for nth in range(max(1, -(-len(members) // PAGE))):
                name = f"{self._ref}-{group or 'rest'}-{index}-{nth}"
                body = objects.page(self._ref, name, index, group)
                named = [
                    {"clusterName": c, "reason": ""} for c in members[nth * PAGE : (nth + 1) * PAGE]
                ]
                yield name, {**body, "status": {"decisions": named}}

    def _status(self, pages: dict[str, Obj]) -> Obj:
        told: dict[tuple[int, str], Obj] = {}
        for name, body in pages.items():
            labels = body["metadata"]["labels"]
            index = int(labels[GROUP_INDEX_LABEL])
            group = labels[GROUP_NAME_LABEL]
            entry = told.setdefault(
                (index, group),
                {
                    "decisionGroupIndex": index,
                    "decisionGroupName": group,
                    "decisions": [],
                    "clusterCount": 0,
                },
            )
            entry["decisions"].append(name)
            entry["clusterCount"] += len(body["status"]["decisions"])
        return {"status": {"decisionGroups": list(told.values())}}

    def _write(self, ref: Ref, body: Obj | None) -> None:
        try:
            if body is None:
                self._hub.delete(ref)
            elif ref.kind is PLACEMENT:
                self._hub.patch_status(ref, body)
            else:
                self._put(ref, body)
        except Gone:
            pass  # the placement is not there just now

    def _put(self, ref: Ref, body: Obj) -> None:
        try:
            self._hub.create(ref, body)
        except Conflict:
            self._hub.patch(ref, {"metadata": {"labels": body["metadata"]["labels"]}})
        self._hub.patch_status(ref, {"status": body["status"]})
