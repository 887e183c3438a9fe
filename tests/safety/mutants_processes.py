"""Faults in what several processes, and several tenants, do to each other: R2, L6, S28. Tests notice them."""

from dataclasses import replace

from tests.safety.mutating import Mutant, fault

LEADER, LAYOUT, QUEUE = "runtime.leader", "runtime.layout", "runtime.workqueue"

OF_PROCESSES: tuple[Mutant, ...] = tuple(
    replace(mutant, kinds=("processes",))
    for mutant in (
        fault(
            "R2",
            "a leader writes on after its lease",
            (LEADER, "        if not self.may_write():\n", "        if False:\n"),
            (LEADER, "        late = self._steady.now() >= held", "        late = False and held"),
        ),
        fault(
            "R2",
            "a successor waits for nobody",
            (
                LEADER,
                "if not seen.holder or now >= seen.since + max(seen.duration, terms.duration):",
                "if True:",
            ),
        ),
        fault(
            "R2",
            "what is on its way needs no version",
            ("runtime.io", "if isinstance(write, Patch | PatchStatus) and write.version is None:", "if False:"),
        ),
        fault(
            "R2",
            "a work is written over whoever wrote it meanwhile",
            ("model.work", "return bool(self.uid and self.generation) and known == found", "return True"),
        ),
        fault(
            "L6",
            "all namespaces stand in one line",
            ("model.turns", "self._lines.setdefault(turn, deque()).append(item)", 'self._lines.setdefault("", deque()).append(item)'),
        ),
        fault(
            "L6",
            "retries of one namespace are tried at once",
            (QUEUE, "        self._paced[turn] = free + GAP\n", ""),
        ),
        fault(
            "L6",
            "the expressions of a Placement may take as long as they like",
            ("placement.cel.screening", "            if spent > bounds.MOST_STEPS:\n", "            if False:\n"),
        ),
        fault(
            "S28",
            "another number of shards begins at once",
            (LAYOUT, "        if left > timedelta(0):\n", "        if False:\n"),
            (LAYOUT, "        if written != CHANGING or self._changed_at is None:\n", "        if self._changed_at is None:\n"),
        ),
        fault(
            "S28",
            "shards do not ask for their number",
            (LAYOUT, "        if not self._is_mine(written):\n", "        if False:\n"),
        ),
        fault(
            "S28",
            "the number of shards stands nowhere",
            (LAYOUT, "        if not self._is_mine(written):\n", "        if False:\n"),
            (LAYOUT, '        self._hub.patch(self._base, changes, int(lease["metadata"]["resourceVersion"]))\n', "        self._changed_at = self._changed_at or self._clock.now()\n"),
        ),
        fault(
            "S28",
            "every shard plans everything",
            (
                "model.sharding",
                "return self.shards == 1 or owner_of(self.bucket(ref.namespace), self.shards) == self.shard",
                "return True",
            ),
        ),
    )
)  # fmt: skip
