"""The state diagram in the documentation is what the state machine does, no more and no less."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from msgspec import structs

from rollout.model.intents import Intents
from rollout.model.kinds import REPLICA_SET, Ref
from rollout.model.placement import Group
from rollout.rollouts.live import LiveRollout
from rollout.rollouts.observations import Observation
from rollout.rollouts.terms import Terms
from rollout.strategies.base import Health, Phase, Selection, Standing, Timing, Verdict, select
from rollout.strategies.judge import due, judge
from rollout.strategies.stages import BUILT_IN
from rollout.strategies.step import decide
from tests.support.diagram import LOST_FROM, TRANSITIONS, Cause, page
from tests.support.fleets import (
    GRACE,
    LETTERS,
    NEW,
    OLD,
    SEC,
    SOAK,
    SUCCEEDED,
    T0,
    fleet,
    lettered,
    spec_of,
)

PAGE = Path(__file__).parents[3] / "docs" / "state-machine.md"


def test_the_page_is_what_the_generator_prints() -> None:
    assert PAGE.read_text() == page()


State = tuple[Standing | None, int]  # what is known of the one cluster, and seconds since T0
SECONDS = 10
TIMINGS = [
    Timing(soak=soak * SEC, deadline=deadline, grace=SEC)
    for soak, deadline in product((0, 2), (None, 4 * SEC))
]


def moves(state: State, phase: Phase) -> Iterator[tuple[Cause, State]]:
    """All that can happen next to a cluster in this state."""
    known, second = state
    now = T0 + second * SEC
    if second < SECONDS:
        yield Cause.TIME, (known, second + 1)
    if phase in (Phase.WAITING, Phase.OUTDATED):
        yield (
            Cause.TOUCH,
            (
                Standing(cluster="c", revision=NEW, touched=now, health=Health.SILENT, since=now),
                second,
            ),
        )
    if known is None:
        for revision, health in product((NEW, OLD), Health):
            done = revision == OLD and health is SUCCEEDED
            found = Standing(
                cluster="c",
                revision=revision,
                touched=now,
                health=health,
                since=now,
                verdict=Verdict.SOAKED if done else None,
            )
            yield Cause.FOUND, (found, second)
        return
    if known.revision == NEW:
        yield (
            Cause.ROLLBACK,
            (
                Standing(cluster="c", revision=OLD, touched=now, health=Health.SILENT, since=now),
                second,
            ),
        )
    if phase.is_failure:
        yield Cause.RETRY, (structs.replace(known, verdict=Verdict.RETRY), second)
    other = OLD if known.revision == NEW else NEW
    yield Cause.REVISION, (structs.replace(known, revision=other), second)
    if known.verdict is not Verdict.SOAKED:
        for health in set(Health) - {known.health}:
            yield Cause.REPORT, (structs.replace(known, health=health, since=now), second)


def explored(timing: Timing) -> set[tuple[Phase, Phase, Cause]]:
    """Every change of phase that any history of ten seconds can show."""

    def phase_of(state: State) -> Phase:
        known, second = state
        return (
            judge(known, NEW, timing, T0 + second * SEC).phase
            if known is not None
            else Phase.WAITING
        )

    def recorded(state: State) -> State:
        """With the verdict that is due, as every step records it."""
        known, second = state
        if known is None:
            return state
        verdict = due(known, judge(known, NEW, timing, T0 + second * SEC))
        if verdict is None:
            return state
        return structs.replace(known, verdict=verdict.verdict, reason=verdict.reason), second

    met: set[State] = set()
    found: set[tuple[Phase, Phase, Cause]] = set()
    ahead: list[State] = [(None, 0)]
    while ahead:
        state = ahead.pop()
        if state in met:
            continue
        met.add(state)
        before = phase_of(state)
        for cause, after in moves(state, before):
            if phase_of(after) is not before:
                found.add((before, phase_of(after), cause))
            ahead.append(recorded(after))
    return found


def test_the_table_is_exactly_what_exploration_shows() -> None:
    shown = set().union(*(explored(timing) for timing in TIMINGS))
    told = {(*pair, cause) for pair, causes in TRANSITIONS.items() for cause in causes}

    assert shown - told == set()
    assert told - shown == set()


@pytest.mark.parametrize("letter", [letter for letter in LETTERS if letter not in "KH"])
def test_a_cluster_is_held_where_it_would_be_waiting_and_nowhere_else(letter: str) -> None:
    rollout = fleet(letter, spec_of())
    phase = LETTERS[letter]
    kept = Phase.HELD if phase is Phase.WAITING else phase

    assert decide(structs.replace(rollout, held=frozenset("a")), T0).count(kept) == 1
    known = lettered(letter, "a")
    if known is not None and phase.is_failure:
        again = structs.replace(
            rollout, standings={"a": structs.replace(known, verdict=Verdict.RETRY)}
        )
        assert decide(again, T0).count(Phase.WAITING) == 1
        assert decide(structs.replace(again, held=frozenset("a")), T0).count(Phase.HELD) == 1


@pytest.mark.parametrize("letter", [letter for letter in LETTERS if letter != "K"])
def test_a_cluster_is_skipped_from_any_phase(letter: str) -> None:
    rollout = fleet(letter, spec_of())

    assert decide(rollout, T0).count(LETTERS[letter]) == 1
    assert decide(structs.replace(rollout, skipped=frozenset("a")), T0).count(Phase.SKIPPED) == 1


@pytest.mark.parametrize("letter", [letter for letter in LETTERS if letter != "K"])
def test_a_cluster_is_lost_from_the_phases_that_the_diagram_shows(letter: str) -> None:
    live = LiveRollout(Ref(REPLICA_SET, "apps/web"), "global", "uid", T0)
    known = lettered(letter, "a")
    terms = Terms(
        revision=NEW,
        spec=spec_of(),
        strategy=BUILT_IN["Progressive"],
        selection=select([Group(0, "", ("a",))]),
        soak=SOAK,
        grace=GRACE,
        intents=Intents(held=frozenset("a" if letter == "H" else "")),
    )
    if known is not None:
        live.look({"a": Observation(content=known.revision, health=known.health)})
    live.agree(terms, lambda _: True, T0)
    if known is not None:
        live.lines["a"] = structs.replace(live.line("a"), standing=known)
        live.ledger.put(known, T0)
    assert live.step(None, T0).count(LETTERS[letter]) == 1

    live.agree(replace(terms, selection=Selection()), lambda _: False, T0)

    assert bool(live.lost) == (LETTERS[letter] in LOST_FROM)


def test_every_phase_and_every_cause_is_on_the_page() -> None:
    text = page()

    assert [p for p in Phase if f"| {p.value} |" not in text] == []
    assert [c for c in Cause if f"| {c.value} |" not in text] == []
    assert text.count("```mermaid") == 4
