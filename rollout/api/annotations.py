"""Which annotations of ours on this object cannot be read, or are none that we know?

This is asked of what people hand in: a word that nobody reads would be a wish that nobody heard.
"""

from collections.abc import Iterator

from rollout.api.fields import mapping, strings
from rollout.api.validation import kind_of
from rollout.model import names
from rollout.model.intents import placement_problems, read_intents
from rollout.model.kinds import CLUSTER_MANAGEMENT_ADDON, PLACEMENT, REPLICA_SET, Obj
from rollout.model.problems import Problem
from rollout.model.spelling import nearest

KNOWN = frozenset(
    value
    for value in vars(names).values()
    if isinstance(value, str) and value.startswith(names.PREFIX)
)


def unreadable(obj: Obj) -> tuple[Problem, ...]:
    """The values that cannot be read, on a workload or a Placement."""
    found = _of(obj)
    kind, _ = kind_of(obj)
    match kind.name if kind is not None else "":
        case REPLICA_SET.name:
            return read_intents(found).problems
        case CLUSTER_MANAGEMENT_ADDON.name:
            return read_intents(found, keeps_templates=False).problems
        case PLACEMENT.name:
            return placement_problems(found)
    return ()


def unheard_of(obj: Obj) -> Iterator[tuple[str, str]]:
    """Names with our prefix that we do not know, each with the one that was meant ("": unclear)."""
    for name in _of(obj):
        if name.startswith(names.PREFIX) and name not in KNOWN:
            word = name.removeprefix(names.PREFIX)
            meant = nearest(word, (each.removeprefix(names.PREFIX) for each in KNOWN))
            yield name, f"{names.PREFIX}{meant}" if meant else ""


def _of(obj: Obj) -> dict[str, str]:
    return dict(strings(mapping(obj.get("metadata")).get("annotations")))
