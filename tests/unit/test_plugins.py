import logging
from datetime import datetime
from importlib import import_module
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import pytest

from rollout.errors import PluginError
from rollout.model.waits import Reason, Wait
from rollout.placement.filters import Predicates, TaintToleration
from rollout.placement.framework import Cycle, Rejection
from rollout.placement.prioritizers import (
    AddOnPrioritizer,
    Balance,
    OcmBalance,
    PreferNoSelect,
    ResourceAllocatable,
    Steady,
)
from rollout.plugins import FILTERS, GATE_KINDS, PRIORITIZERS, gates, plugins
from rollout.strategies.gate_kinds import GATES
from rollout.strategies.gates import AtGate, Gate
from rollout.testing import NOW, check_filter, check_gate, check_prioritizer, sample_crossing

EXAMPLE = Path(__file__).parents[2] / "examples/custom-prioritizer"


def entry(name: str, target: str, group: str = PRIORITIZERS) -> EntryPoint:
    return EntryPoint(name, target, group)


def test_an_offered_prioritizer_is_loaded_when_it_is_first_needed() -> None:
    found = plugins(
        prioritizer_entries=[entry("example.com/S", "rollout.placement.prioritizers:Steady")]
    )
    missing = plugins(prioritizer_entries=[entry("example.com/X", "no.such.module:X")])

    assert found.prioritizers["example.com/S"]() == Steady()
    assert found.prioritizers["example.com/S"]() is found.prioritizers["example.com/S"]()
    with pytest.raises(PluginError, match=r"load plugin example\.com/X"):
        missing.prioritizers["example.com/X"]()


def test_a_name_offered_twice_names_both_offers() -> None:
    twice = [entry("example.com/S", "a:A"), entry("example.com/S", "b:B")]

    with pytest.raises(PluginError, match="offered by a:A and by b:B"):
        plugins(prioritizer_entries=twice)


def test_the_name_of_a_built_in_is_taken() -> None:
    with pytest.raises(PluginError, match="has the name of a built-in"):
        plugins(prioritizer_entries=[entry("Steady", "a:A")])


def test_filters_run_after_the_built_in_ones_and_unknown_ones_are_an_error() -> None:
    offered = [entry("Again", "rollout.placement.filters:TaintToleration", FILTERS)]

    assert len(plugins(["Again"], filter_entries=offered).filters) == 3
    assert len(plugins(filter_entries=offered).filters) == 2
    with pytest.raises(PluginError, match="filters Nope are not installed; there are: Again"):
        plugins(["Nope"], filter_entries=offered)


@pytest.mark.parametrize(
    "plugin",
    [
        Balance(),
        OcmBalance(),
        Steady(),
        ResourceAllocatable("cpu", "cpu"),
        AddOnPrioritizer("usage", "cpu"),
        PreferNoSelect(),
    ],
    ids=lambda p: type(p).__name__ if isinstance(p, OcmBalance) else p.name,
)
def test_the_built_in_prioritizers_keep_the_contract(plugin: Balance) -> None:
    check_prioritizer(plugin)


@pytest.mark.parametrize("plugin", [Predicates(), TaintToleration()], ids=lambda p: p.name)
def test_the_built_in_filters_keep_the_contract(plugin: Predicates) -> None:
    check_filter(plugin)


def test_the_example_keeps_the_contract(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLE / "src"))  # the package is not installed here

    check_prioritizer(import_module("fleet_rarity").Rarity())


def bad(name: str = "Bad", **methods: object) -> SimpleNamespace:
    return SimpleNamespace(name=name, **methods)


class Counting:
    name = "Counting"

    def __init__(self) -> None:
        self.calls = 0

    def score(self, cycle: Cycle, feasible: object) -> dict[str, int]:
        self.calls += 1
        return {c.name: self.calls for c in feasible}  # type: ignore[attr-defined]  # clusters


@pytest.mark.parametrize(
    ("plugin", "words"),
    [
        (bad(score=lambda c, f: {"nobody": 1}), "not feasible"),
        (bad(score=lambda c, f: {x.name: 101 for x in f}), "101"),
        (bad(score=lambda c, f: {x.name: 0.5 for x in f}), "0.5"),
        (bad(score=lambda c, f: {x.name: i for i, x in enumerate(f)}), "order"),
        (Counting(), "asked again"),
        (bad("", score=lambda c, f: {}), "has a name"),
    ],
)
def test_the_kit_catches_a_prioritizer_that_breaks_its_contract(plugin: Steady, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        check_prioritizer(plugin)


@pytest.mark.parametrize(
    ("plugin", "words"),
    [
        (bad(admit=lambda c, x: True), "answered True"),
        (bad(admit=lambda c, x: Rejection("Other", "r")), "rejects as Other"),
        (bad(admit=lambda c, x: Rejection("Bad", "")), "without a reason"),
        (bad(admit=lambda c, x: Rejection("Bad", "r", NOW)), "has passed"),
        (bad("a,b", admit=lambda c, x: None), "commas"),
    ],
)
def test_the_kit_catches_a_filter_that_breaks_its_contract(
    plugin: TaintToleration, words: str
) -> None:
    with pytest.raises(AssertionError, match=words):
        check_filter(plugin)


def test_gates_of_packages_stand_beside_the_built_in_one() -> None:
    target = "rollout.strategies.gate_kinds:Approved"

    found = gates([entry("second-look", target, GATE_KINDS)])

    assert found.keys() == {*GATES, "second-look"}
    check_gate(found["second-look"], [sample_crossing("before:rest=second-look")])
    with pytest.raises(PluginError, match="has the name of a built-in"):
        gates([entry("approval", target, GATE_KINDS)])
    with pytest.raises(PluginError, match="load plugin broken"):
        gates([entry("broken", "no.such.module:X", GATE_KINDS)])


class Desk:
    """A gate of a package that answers, or raises, as a test says."""

    answer: ClassVar[object] = None

    def check(self, at: AtGate, now: datetime) -> object:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class UnreadableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class Disguised:
    @property
    def __class__(self) -> type:
        raise RuntimeError("no class")

    @__class__.setter
    def __class__(self, _: type) -> None: ...


def desk() -> Gate:
    return gates([entry("desk", f"{__name__}:Desk", GATE_KINDS)])["desk"]


def forged(reason: object, message: object, until: object = None) -> Wait:
    return Wait(reason, message, until)  # type: ignore[arg-type]  # as an untyped package may


CLOSED = Reason.GATE_CLOSED
FLAWS: dict[str, tuple[object, str]] = {
    "raises": (KeyError("ticket 7"), "it raises KeyError"),
    "raises what has no text": (UnreadableError(), "it raises UnreadableError"),
    "has no class": (Disguised(), "it raises RuntimeError"),
    "is no Wait": (True, "it answers with a bool, not with a Wait"),
    "has another reason": (
        Wait(Reason.HELD, "wait"),
        "its reason is Held, which does not concern a stage",
    ),
    "has a word": (forged(CLOSED.value, "wait"), "its reason is a str, not a Reason"),
    "has no message": (Wait(CLOSED), "it is shut without a message"),
    "has a number": (forged(CLOSED, 5), "it is shut without a message"),
    "is in no time zone": (Wait(CLOSED, "wait", NOW.replace(tzinfo=None)), "with a time zone"),
    "is at no instant": (forged(CLOSED, "wait", "soon"), "with a time zone"),
}


@pytest.mark.parametrize(("answer", "words"), FLAWS.values(), ids=FLAWS.keys())
def test_a_gate_of_a_package_that_fails_is_shut_and_says_so(
    answer: object, words: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(Desk, "answer", answer)
    gate, at, now = desk(), sample_crossing("before:rest=desk"), NOW

    other = sample_crossing("after:rest=desk")
    waits = [gate.check(each, now) for each in (at, other, at, other)]

    assert waits[:2] == waits[2:]
    assert waits[0] is not None
    assert waits[0].reason is Reason.GATE_FAILED
    assert waits[0].message.startswith("gate before:rest=desk of ")
    assert waits[0].message.endswith(words)
    assert waits[0].until is None, "a gate is pure: it is asked again where something happens"
    assert len(caplog.records) == 2, "each gate is logged once, until it answers again"


def test_what_a_gate_raises_stands_in_the_log_alone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    gate, at = desk(), sample_crossing("before:rest=desk")

    said = set()
    for request in range(3):
        monkeypatch.setattr(Desk, "answer", LookupError(f"request {request} failed"))
        said.add(gate.check(at, NOW))

    assert len(said) == 1, "else it would be written again each time"
    assert "request 0 failed" in caplog.text


def test_a_gate_of_a_package_answers_as_it_is_written_where_it_does_not_fail(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gate, at = desk(), sample_crossing("before:rest=desk")

    for answer in (None, Wait(CLOSED, "the desk is closed", NOW)):
        monkeypatch.setattr(Desk, "answer", answer)
        assert gate.check(at, NOW) is answer
