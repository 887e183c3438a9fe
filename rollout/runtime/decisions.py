"""The decision log: each decision, with all that is needed to make it again.

JSON lines. A file begins, for each rollout, with a snapshot of all that its decisions are made from;
after that a line holds what changed since, the instant, and the answer. When a file has as many lines as
it may, it is renamed to ``FILE.1`` and the next one begins with snapshots again: so the window is bounded,
and each file can be read by itself. No manifest is in it, so no Secret either.

`read_log` reads a file back, and `redecide` makes its decisions anew.
"""

import contextlib
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec import structs

from rollout.errors import ConfigError
from rollout.model.kinds import Obj, Ref
from rollout.model.placement import Group
from rollout.model.waits import Wait
from rollout.rollouts.facts import Made, OcmStepMade, StepMade
from rollout.strategies.base import Rollout, Standing, Step
from rollout.strategies.ocm_step import Reported, ocm_step
from rollout.strategies.retreat import Retreat, RetreatLimits, retreat
from rollout.strategies.step import decide

MOST_LINES = 50_000

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionLine:
    """One line. ``what`` is ``snapshot``, ``step``, ``ocm`` or ``retreat``.

    ``terms`` is the rollout without its standings, where it is not as in the line before; ``standings``
    are those that changed since (None: gone), in a snapshot all of them. The rest is what the decision
    was made from besides, and its answer: ``step`` or ``retreat``.
    """

    what: str
    workload: str
    placement: str
    at: datetime
    terms: Rollout | None = None
    standings: Mapping[str, Standing | None] | None = None
    step: Step | None = None
    retreat: Retreat | None = None
    targets: Mapping[str, str] | None = None
    began: datetime | None = None
    limits: RetreatLimits | None = None
    strategy: Obj | None = None
    groups: tuple[Group, ...] | None = None
    reported: Mapping[str, Reported] | None = None
    hold: Wait | None = None
    others: tuple[str, ...] = ()


RolloutKey = tuple[str, str]
"""A workload and one of its placements, as lines name them."""
_encoder = msgspec.json.Encoder()


@dataclass(slots=True)
class _Logged:
    """What the file says of one rollout so far. ``terms``: None where it has no snapshot of it."""

    terms: Rollout | None = None
    standings: dict[str, Standing] = field(default_factory=dict)
    answer: Step | Retreat | None = None


class DecisionLog:
    """Implements `rollout.rollouts.witness.Witness` on a file. One thread writes: the engine's.

    Where the file cannot be written that is logged once, and no more decisions are.
    """

    def __init__(self, path: Path, most_lines: int = MOST_LINES) -> None:
        self.path, self._most = path, most_lines
        self._file: BinaryIO | None = None
        self._lines, self._is_broken = 0, False
        self._logged: dict[str, dict[str, _Logged]] = {}  # workload -> placement -> what is logged

    def made(self, workload: Ref, placement: str, made: Made, now: datetime) -> None:
        if self._lines >= self._most:
            self._turn_over()
        key = (str(workload), placement)
        logged = self._logged.setdefault(key[0], {}).setdefault(placement, _Logged())
        if isinstance(made, OcmStepMade):
            if logged.answer != made.step:
                logged.answer = made.step
                self._write(_ocm_line(key, made, now))
            return
        answer = made.step if isinstance(made, StepMade) else made.retreat
        changed, terms = self._news(key, logged, made.rollout, now)
        if not changed and terms is None and logged.answer == answer:
            return
        logged.answer = answer
        line = DecisionLine(
            what="step" if isinstance(made, StepMade) else "retreat",
            workload=key[0],
            placement=key[1],
            at=now,
            terms=terms,
            standings=changed or None,
        )
        if isinstance(made, StepMade):
            line = replace(line, step=made.step)
        else:
            line = replace(
                line,
                targets=made.targets,
                began=made.began,
                limits=made.limits,
                retreat=made.retreat,
            )
        self._write(line)

    def gone(self, workload: Ref, now: datetime) -> None:
        """Forget a workload. What is written of it stays; another one of its name begins with a snapshot."""
        self._logged.pop(str(workload), None)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    # -- the file ------------------------------------------------------------------------------

    def _news(
        self, key: RolloutKey, logged: _Logged, rollout: Rollout, now: datetime
    ) -> tuple[dict[str, Standing | None], Rollout | None]:
        """The changes since this rollout's last line; without a last line a snapshot is written."""
        known, before = logged.standings, logged.terms
        bare = logged.terms = structs.replace(rollout, standings={}, lost=dict(rollout.lost))
        if before is None:
            standings = logged.standings = dict(rollout.standings)
            self._write(
                DecisionLine(
                    what="snapshot",
                    workload=key[0],
                    placement=key[1],
                    at=now,
                    terms=bare,
                    standings=standings,
                )
            )
            return {}, None
        changed: dict[str, Standing | None] = {
            cluster: standing
            for cluster, standing in rollout.standings.items()
            if known.get(cluster) is not standing
        }
        changed.update(dict.fromkeys(known.keys() - rollout.standings.keys()))
        for cluster, after in changed.items():
            if after is None:
                del known[cluster]
            else:
                known[cluster] = after
        return changed, None if before == bare else bare

    def _turn_over(self) -> None:
        """Begin the next file; what was written before the last one is dropped."""
        self.close()
        self._logged.clear()
        self._lines = 0

    def _write(self, line: DecisionLine) -> None:
        if self._is_broken:
            return
        try:
            if self._file is None:
                self._open()
            assert self._file is not None
            self._file.write(_encoder.encode(line) + b"\n")
            self._file.flush()
        except OSError as error:  # no log is worth a rollout that stands still
            self._is_broken = True
            log.warning("decisions are logged no more: %s: %s", self.path, error)
        self._lines += 1

    def _open(self) -> None:
        if self._lines == 0:
            self._put_aside()  # what another process left is a window of its own
        self.path.touch(0o600)  # one that is there keeps its mode
        self._file = self.path.open("ab")

    def _put_aside(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            self.path.replace(self.path.with_name(f"{self.path.name}.1"))


def _ocm_line(key: RolloutKey, made: OcmStepMade, now: datetime) -> DecisionLine:
    return DecisionLine(
        what="ocm",
        workload=key[0],
        placement=key[1],
        at=now,
        strategy=made.strategy,
        groups=made.groups,
        reported=made.reported,
        others=tuple(made.others),
        hold=made.hold,
        step=made.step,
    )


_decoder = msgspec.json.Decoder(DecisionLine)


@dataclass(frozen=True, slots=True)
class Redecision:
    """One decision, and what it is when it is made again from what the log says."""

    number: int
    line: DecisionLine
    answer: Step | Retreat

    @property
    def is_same(self) -> bool:
        return self.answer == (self.line.step or self.line.retreat)


def read_log(path: Path) -> Iterator[tuple[int, DecisionLine]]:
    """The lines of one file, numbered from 1. A last line that was cut off by a crash is left out.

    Raises: ConfigError for a line that is none, OSError.
    """
    with path.open("rb") as file:
        for number, text in enumerate(file, 1):
            if not text.endswith(b"\n"):
                return
            try:
                yield number, _decoder.decode(text)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                raise ConfigError(
                    f"{path}:{number}: is not a line of a decision log: {error}"
                ) from None


def redecide(lines: Iterable[tuple[int, DecisionLine]]) -> Iterator[Redecision]:
    """Every decision of a log, made again, in order.

    Raises: ConfigError where a decision stands before the snapshot that it needs.
    """
    for number, line, rollout in folded(lines):
        if line.what != "snapshot":
            yield decided_again(number, line, rollout)


def folded(
    lines: Iterable[tuple[int, DecisionLine]],
) -> Iterator[tuple[int, DecisionLine, Rollout | None]]:
    """Each line with all that its decision was made from; None where OCM's rules decided.

    Raises: as `redecide`.
    """
    rollouts: dict[RolloutKey, Rollout] = {}
    for number, line in lines:
        key = (line.workload, line.placement)
        if line.what == "ocm":
            yield number, line, None
            continue
        before = rollouts.get(key)
        if line.what == "snapshot":
            rollouts[key] = _advanced(line.terms, {}, line)
        elif before is None:
            raise ConfigError(f"line {number}: no snapshot of {line.workload} stands before it")
        else:
            rollouts[key] = _advanced(line.terms or before, before.standings, line)
        yield number, line, rollouts[key]


def decided_again(number: int, line: DecisionLine, rollout: Rollout | None) -> Redecision:
    """One decision of a log, made again from what `folded` gives with it."""
    return Redecision(number, line, _as_ocm(line) if rollout is None else _answer(rollout, line))


def _advanced(terms: Rollout | None, standings: object, line: DecisionLine) -> Rollout:
    if terms is None:
        raise ConfigError(f"a snapshot of {line.workload} has no terms")
    found: dict[str, Standing] = dict(standings) if isinstance(standings, dict) else {}
    for cluster, standing in (line.standings or {}).items():
        if standing is None:
            found.pop(cluster, None)
        else:
            found[cluster] = standing
    return structs.replace(terms, standings=found)


def _answer(rollout: Rollout, line: DecisionLine) -> Step | Retreat:
    if line.what == "retreat":
        if line.began is None or line.limits is None:
            raise ConfigError(f"a rollback of {line.workload} does not say when it began")
        return retreat(rollout, line.targets or {}, line.began, line.limits, now=line.at)
    return decide(rollout, line.at)


def _as_ocm(line: DecisionLine) -> Step:
    reported = line.reported or {}
    strategy, groups = line.strategy or {}, line.groups or ()
    step, _ = ocm_step(strategy, groups, reported, hold=line.hold, now=line.at, others=line.others)
    return step
