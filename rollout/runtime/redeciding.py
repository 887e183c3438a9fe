"""Would the same be decided again? Reads a log of decisions and makes each one anew."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from rollout.errors import ConfigError
from rollout.runtime.decisions import Key, Line
from rollout.strategies.base import Rollout, Standing, Step
from rollout.strategies.ocm_step import ocm_step
from rollout.strategies.retreat import Retreat, retreat
from rollout.strategies.step import decide

_decoder = msgspec.json.Decoder(Line)


@dataclass(frozen=True, slots=True)
class Again:
    """One decision, and what it is when it is made again from what the log says."""

    number: int
    line: Line
    answer: Step | Retreat

    @property
    def is_same(self) -> bool:
        return self.answer == (self.line.step or self.line.retreat)


def read_log(path: Path) -> Iterator[tuple[int, Line]]:
    """The lines of one file, numbered from 1. A last line that was cut off by a crash is left out.

    Raises: ConfigError for a line that is none, OSError.
    """
    with path.open("rb") as file:
        for number, text in enumerate(file, 1):
            if not text.endswith(b"\n"):
                return
            try:
                yield number, _decoder.decode(text)
            except msgspec.DecodeError as error:
                raise ConfigError(
                    f"{path}:{number}: is no line of a decision log: {error}"
                ) from None


def redecide(lines: Iterable[tuple[int, Line]]) -> Iterator[Again]:
    """Every decision of a log, made again, in order.

    Raises: ConfigError where a decision stands before the snapshot that it needs.
    """
    rollouts: dict[Key, Rollout] = {}
    for number, line in lines:
        key = (line.workload, line.placement)
        if line.what == "ocm":
            yield Again(number, line, _as_ocm(line))
            continue
        if line.what == "snapshot":
            rollouts[key] = _advanced(line.terms, {}, line)
            continue
        before = rollouts.get(key)
        if before is None:
            raise ConfigError(f"line {number}: no snapshot of {line.workload} stands before it")
        rollout = rollouts[key] = _advanced(line.terms or before, before.standings, line)
        yield Again(number, line, _answer(rollout, line))


def _advanced(terms: Rollout | None, standings: object, line: Line) -> Rollout:
    if terms is None:
        raise ConfigError(f"a snapshot of {line.workload} has no terms")
    found: dict[str, Standing] = dict(standings) if isinstance(standings, dict) else {}
    for cluster, standing in (line.standings or {}).items():
        if standing is None:
            found.pop(cluster, None)
        else:
            found[cluster] = standing
    return replace(terms, standings=found)


def _answer(rollout: Rollout, line: Line) -> Step | Retreat:
    if line.what == "retreat":
        if line.began is None or line.limits is None:
            raise ConfigError(f"a rollback of {line.workload} does not say when it began")
        return retreat(rollout, line.targets or {}, line.began, line.limits, line.at)
    return decide(rollout, line.at)


def _as_ocm(line: Line) -> Step:
    reported = line.reported or {}
    strategy, groups = line.strategy or {}, line.groups or ()
    return ocm_step(strategy, groups, reported, line.hold, line.at, line.others)
