"""Finds the clusters that the CEL expressions of one Placement match, in slices.

A verdict is kept until the cluster changes, or a score that it rests on. When the steps of a slice are
used up, `Unfinished` is raised; whoever asks again goes on from there. All expressions of a Placement
over all its candidates may take `bounds.MOST_STEPS`. Steps of kept verdicts count as well, so that the
answer never depends on what was asked before.
"""

import math
from array import array
from collections.abc import Mapping, Sequence
from datetime import datetime

from rollout.model.cluster import Cluster
from rollout.model.wording import shortened
from rollout.placement.cel import bounds
from rollout.placement.cel.expressions import Judge, Program, Scores, program, score_names
from rollout.placement.framework import FOREVER
from rollout.placement.index import ClusterIndex, Pool, bits_of, flags_of

UNKNOWN, FALSE, TRUE = 0, 1, 2

ScreenedPredicate = tuple[int, tuple[str, ...]]
"""A predicate: the clusters that its selectors match, as bits, and the expressions to be asked of them."""


class Unfinished(Exception):  # ends a slice, not the evaluation
    """The slice is used up. Nothing is wrong: ask again."""


class TooMuch(Exception):  # ends an evaluation; the scheduler makes a status of it
    """All expressions together take more than `bounds.MOST_STEPS`."""


class Screening:
    """What is known of the expressions of one Placement, over one index of clusters."""

    def __init__(self) -> None:
        self._left = math.inf
        self._programs: dict[str, Program] = {}
        self._source: ClusterIndex | None = None
        self._now: datetime | None = None
        self._clear()

    def _clear(self) -> None:
        self._edition = self._score_edition = 0
        self._state, self._steps = bytearray(), array("I")
        self._failed: dict[str, int] = {}  # clusters by expression, as bits
        self._words: dict[str, tuple[int, str]] = {}  # of one failure each: whose, and which
        self._until: dict[int, datetime] = {}  # verdicts that time alone changes
        self._read_others: set[int] = set()  # verdicts that rest on the scores of other clusters
        # The cluster amid which a slice ended: its verdicts so far, and the steps that they took.
        self._begun: dict[int, tuple[dict[str, bool | str], int]] = {}

    def begin(self, steps: int | None) -> None:
        """A new slice of so many steps; None: no matter how many."""
        self._left = math.inf if steps is None else steps

    def program(self, text: str) -> Program:
        """The compiled expression. Raises: Unfinished."""
        found = self._programs.get(text)
        if found is None:
            self._afford()
            found = self._programs[text] = program(text)
            self._left -= len(text) * bounds.STEPS_PER_CHARACTER
        return found

    def matching(
        self, pool: Pool, parts: Sequence[ScreenedPredicate], scores: Scores, now: datetime | None
    ) -> tuple[int, datetime | None]:
        """The clusters that any part matches, as bits, and when that changes by itself.

        Args:
            now: None where scores never expire.
        Raises: TooMuch; Unfinished.
        """
        self._catch_up(pool.source, now)
        matched, asked = 0, 0
        for bits, texts in parts:
            if texts:
                asked |= bits
            else:
                matched |= bits
        wanted = pool.narrow(asked).slots
        self._judge_all(wanted, parts, pool.source, scores)
        state = self._state
        matched |= bits_of((s for s in wanted if state[s] == TRUE), len(state))
        changes = (self._until[s] for s in wanted if s in self._until) if self._until else ()
        return matched, min(changes, default=None)

    def remarks(self, pool: Pool, scores: Scores) -> tuple[str, ...]:
        """Which expressions failed: how often, and on which cluster first, by name. After `matching`.

        Raises: Unfinished.
        """
        found = []
        for text, bits in sorted(self._failed.items()):
            failed = pool.narrow(bits)
            if failed.bits:
                first, said = failed.slots[0], shortened(text, bounds.LONGEST_SHOWN)
                words = self._words_of(text, first, pool.source, scores)
                on = f"{len(failed)} clusters, first on {pool.source.names[first]}"
                found.append(f"CEL expression {said!r} failed on {on}: {words}")
        return tuple(found)

    def _words_of(self, text: str, slot: int, source: ClusterIndex, scores: Scores) -> str:
        """Why it failed there. Asked again, since the words of all failures could fill the memory."""
        known = self._words.get(text)
        if known is None or known[0] != slot:
            self._afford()
            judge = Judge(scores, self._now)
            verdict, steps = judge.run(self.program(text), source.cluster_at(slot))
            known = self._words[text] = slot, str(verdict)
            self._left -= steps
        return known[1]

    # -- what is still known -------------------------------------------------------------------

    def _catch_up(self, source: ClusterIndex, now: datetime | None) -> None:
        """Forget what rests on anything that has changed."""
        went_back = self._now is not None and (now is None or now < self._now)
        if source is not self._source or went_back:
            self._clear()
            self._edition, self._score_edition = source.edition, source.score_edition
        self._source, self._now = source, now
        new = len(source.edits) - len(self._state)
        self._state.extend(bytes(new))
        self._steps.extend([0] * new)
        if source.edition != self._edition:
            stale = [s for s, at in enumerate(source.edits) if at > self._edition]
            if source.score_edition > self._score_edition and any(map(score_names, self._programs)):
                since, self._score_edition = self._score_edition, source.score_edition
                stale += [s for s, at in source.score_edits.items() if at > since]
                stale += self._read_others
            self._edition = source.edition
            self._forget(stale)
        if now is not None and self._until:
            self._forget([slot for slot, until in self._until.items() if until <= now])

    def _forget(self, slots: Sequence[int]) -> None:
        if not slots:
            return
        gone = bits_of(slots, len(self._state))
        for slot in slots:
            self._state[slot] = UNKNOWN
            self._steps[slot] = 0
            self._until.pop(slot, None)
            self._read_others.discard(slot)
            self._begun.pop(slot, None)
        for text in list(self._failed):
            self._failed[text] &= ~gone
            if not self._failed[text]:
                del self._failed[text]
        self._words = {t: known for t, known in self._words.items() if not gone >> known[0] & 1}

    # -- finding out ---------------------------------------------------------------------------

    def _judge_all(
        self,
        wanted: Sequence[int],
        parts: Sequence[ScreenedPredicate],
        source: ClusterIndex,
        scores: Scores,
    ) -> None:
        """In the order of names, up to the cluster with which it is too much."""
        state, steps, spent = self._state, self._steps, 0
        judge = Judge(scores, self._now)
        asked = [
            (flags_of(bits, len(state)), {text: self.program(text) for text in texts})
            for bits, texts in parts
            if texts
        ]
        for place, slot in enumerate(wanted, 1):
            if not state[slot]:
                self._judge(slot, asked, source.cluster_at(slot), judge)
            spent += steps[slot]
            if spent > bounds.MOST_STEPS:
                raise TooMuch(
                    f"its CEL expressions take about {spent * len(wanted) // place} steps for"
                    f" {len(wanted)} clusters, and at most {bounds.MOST_STEPS} are accepted: write fewer"
                    " or simpler expressions, or let labelSelector or claimSelector leave fewer"
                    " clusters to them"
                )

    def _judge(
        self,
        slot: int,
        asked: Sequence[tuple[bytes, Mapping[str, Program]]],
        cluster: Cluster,
        judge: Judge,
    ) -> None:
        """Whether any part matches the cluster. Each expression is asked once, and paid for once."""
        verdicts: dict[str, bool | str] = {}
        steps, matched = 0, False
        if self._begun:
            verdicts, steps = self._begun.pop(slot, (verdicts, steps))
        for concerned, programs in asked:
            if not concerned[slot]:
                continue
            for text, found in programs.items():
                verdict = verdicts.get(text)
                if verdict is None:
                    if self._left <= 0:
                        self._begun = {slot: (verdicts, steps)}
                        raise Unfinished
                    verdict, taken = judge.run(found, cluster)
                    verdicts[text] = verdict
                    steps += taken
                    self._left -= taken
                    if verdict.__class__ is str or judge.changes or judge.read_others:
                        self._note(text, slot, verdict, judge)
                if verdict is not True:
                    break
            else:
                matched = True
        self._state[slot] = TRUE if matched else FALSE
        self._steps[slot] = steps

    def _note(self, text: str, slot: int, verdict: bool | str, judge: Judge) -> None:
        """What the verdict rests on besides the cluster, and whether it is none."""
        if isinstance(verdict, str):
            self._failed[text] = self._failed.get(text, 0) | 1 << slot
        if judge.changes:
            self._until[slot] = min(*judge.changes, self._until.get(slot, FOREVER))
            judge.changes.clear()
        if judge.read_others:
            self._read_others.add(slot)
            judge.read_others = False

    def _afford(self) -> None:
        if self._left <= 0:
            raise Unfinished
