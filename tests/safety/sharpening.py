"""How is a setting that was drawn for anything changed, so that its history looks for one kind of trouble?"""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from random import Random

from rollout.model.kinds import Obj
from tests.safety.setting import Act, Setting
from tests.support.faults import Rates

Sharpen = Callable[[Setting, Random], Setting]


def acts(dice: Random, *verbs: str, first: int = 20, last: int = 1500) -> list[Act]:
    """Each at some instant."""
    return [Act(timedelta(seconds=dice.randrange(first, last)), verb) for verb in verbs]


def with_acts(setting: Setting, more: list[Act], *, keep: bool = True) -> Setting:
    """``keep``: what the script had before happens as well."""
    script = [*(setting.script if keep else ()), *more]
    return replace(setting, script=tuple(sorted(script, key=lambda act: (act.at, act.verb))))


def quietly(setting: Setting) -> Setting:
    """Nothing fails on the way to the hub, and the engine never dies."""
    kept = tuple(a for a in setting.script if a.verb not in ("crash", "crash_soon", "lose_record"))
    return replace(setting, faults=Rates(), latency=timedelta(0), script=kept)


def strategies(setting: Setting, dice: Random, **wanted: object) -> Setting:
    """Progressive in every placement, with these fields (None: left out) over what was drawn."""
    found: dict[str, Obj] = {}
    for ref, before in setting.strategies.items():
        kind = before["type"]
        member = {**before[kind[:1].lower() + kind[1:]], **wanted}
        found[ref] = {
            "type": "Progressive",
            "progressive": {k: v for k, v in member.items() if v is not None},
        }
    return replace(setting, strategies=found)


def mandatory(*names: str) -> list[Obj]:
    return [{"groupName": name} for name in names]


def in_rings(setting: Setting, *rings: str) -> Setting:
    """The clusters, one after the other, in these rings."""
    own = {c: rings[n % len(rings)] for n, c in enumerate(setting.clusters)}
    if len(setting.refs) > 1:
        own |= {setting.clusters[0]: "rest", setting.clusters[-1]: "early"}
    return replace(setting, rings=own)


def with_two(setting: Setting) -> Setting:
    """With two placements, of which the second selects one ring more."""
    own = {**setting.rings, setting.clusters[0]: "rest", setting.clusters[-1]: "early"}
    first = setting.strategies["p"]
    both = {"p": first, "q": setting.strategies.get("q", first)}
    return replace(setting, refs=("p", "q"), rings=own, strategies=both)
