"""Finds the filters, prioritizers and gates that are installed.

A package offers a plugin through an entry point in group ``rollout.filters``, ``rollout.prioritizers``
or ``rollout.gates``; the target is a factory without required arguments. A name that is offered
twice is an error that names both offers. Nothing is loaded before it is asked for.
"""

import logging
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from rollout.errors import PluginError
from rollout.model.waits import Reason, Wait
from rollout.placement.framework import Filter, Prioritizer
from rollout.placement.prioritizers import BUILTINS, Factory
from rollout.placement.scheduler import DEFAULT_FILTERS, Plugins
from rollout.strategies.gate_kinds import GATES
from rollout.strategies.gates import AtGate, Gate, flaw_of

log = logging.getLogger(__name__)

FILTERS = "rollout.filters"
PRIORITIZERS = "rollout.prioritizers"
GATE_KINDS = "rollout.gates"


@dataclass(frozen=True, slots=True)
class Offer:
    """A plugin that can be loaded. ``origin`` says where it comes from, for messages."""

    name: str
    origin: str
    entry: EntryPoint

    def load(self) -> Any:
        """The plugin itself. Raises: PluginError."""
        try:
            return self.entry.load()()
        except Exception as fault:
            raise PluginError(f"load plugin {self.name} of {self.origin}: {fault}") from fault


_installed = cache(entry_points)
"""Those of all groups: each time they are asked for, Python reads the files of every package."""


def offers(
    group: str,
    entries: Iterable[EntryPoint] | None = None,
    *,
    what: str = "plugin",
    built_in: Container[str] = (),
) -> dict[str, Offer]:
    """What installed packages offer in a group, by name.

    Args:
        entries: instead of what is installed.
        what: what such a plugin is called in messages.
        built_in: names that no package may offer.

    Raises: PluginError for a name offered twice, or one of a built-in.
    """
    found: dict[str, Offer] = {}
    for entry in _installed().select(group=group) if entries is None else entries:
        origin = entry.dist.name if entry.dist is not None else entry.value
        known = found.get(entry.name)
        if known is not None:
            raise PluginError(
                f"plugin {entry.name} in {group} is offered by {known.origin} and by {origin};"
                " remove one of them"
            )
        if entry.name in built_in:
            raise PluginError(f"{what} {entry.name} of {origin} has the name of a built-in")
        found[entry.name] = Offer(entry.name, origin, entry)
    return found


def plugins(
    filters: Sequence[str] = (),
    *,
    filter_entries: Iterable[EntryPoint] | None = None,
    prioritizer_entries: Iterable[EntryPoint] | None = None,
) -> Plugins:
    """Everything a scheduler runs.

    Args:
        filters: names of filter plugins to run after the built-in ones, in this order.
        filter_entries: instead of what is installed.
        prioritizer_entries: instead of what is installed. A Placement names a prioritizer as
            ``builtIn``; plugins have qualified names such as ``example.com/Rarity``.

    Raises: PluginError for a name offered twice, one of a built-in, or one that is not offered.
    """
    offered = offers(FILTERS, filter_entries)
    unknown = [name for name in filters if name not in offered]
    if unknown:
        known = ", ".join(sorted(offered)) or "none"
        raise PluginError(f"filters {', '.join(unknown)} are not installed; there are: {known}")
    extra: tuple[Filter, ...] = tuple(offered[name].load() for name in filters)
    return Plugins((*DEFAULT_FILTERS, *extra), _prioritizers(prioritizer_entries))


def gates(entries: Iterable[EntryPoint] | None = None) -> Mapping[str, Gate]:
    """Every kind of gate, by the word that stands after ``=`` in the annotation. A gate of a plugin is
    loaded here, so that a rollout never waits for an import. Where it fails it is shut, and says so.

    Args:
        entries: instead of what is installed.

    Raises: PluginError for a name offered twice, one of a built-in, or one that cannot be loaded.
    """
    offered = offers(GATE_KINDS, entries, what="gate", built_in=GATES)
    return {**GATES, **{name: _GuardedGate(offer) for name, offer in offered.items()}}


def _prioritizers(entries: Iterable[EntryPoint] | None) -> Mapping[str, Factory]:
    offered = offers(PRIORITIZERS, entries, what="prioritizer", built_in=BUILTINS)
    return {**BUILTINS, **{name: _Once(offer) for name, offer in offered.items()}}


class _GuardedGate:
    """A gate of a package. If it fails, it is shut, and its workload says so.

    What it raises stands in the log alone: a text that differs each time would be written each time.
    """

    def __init__(self, offer: Offer) -> None:
        self._gate: Gate = offer.load()
        self._origin = offer.origin
        self._failing: set[str] = set()

    def check(self, at: AtGate, now: datetime) -> Wait | None:
        found, fault = None, None
        try:
            found = self._gate.check(at, now)
            flaw = flaw_of(found)
        except Exception as raised:  # noqa: BLE001  (nobody knows what a package raises)
            flaw, fault = f"it raises {type(raised).__name__}", raised
        gate = f"{at.gate}"
        if not flaw:
            self._failing.discard(gate)
            return found
        said = f"gate {gate} of {self._origin} fails: {flaw}"
        if gate not in self._failing:  # it is asked in each decision
            self._failing.add(gate)
            log.info("%s", said, exc_info=fault)
        return Wait(Reason.GATE_FAILED, said)


class _Once:
    """Loads an offer when it is first needed."""

    def __init__(self, offer: Offer) -> None:
        self._offer = offer
        self._made: Prioritizer | None = None

    def __call__(self) -> Prioritizer:
        if self._made is None:
            self._made = self._offer.load()
        return self._made
