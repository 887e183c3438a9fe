"""Decides which placement of a workload owns a cluster that several of them select.

Source: semantics row 21.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import TypeVar

from rollout.model.waits import Wait
from rollout.rollouts.selections import Reading
from rollout.rollouts.share import PlacementShare
from rollout.strategies.base import Selection

S = TypeVar("S", bound=PlacementShare)


def deal(
    asked: Iterable[tuple[str, Callable[[Mapping[str, str]], S]]], before: Mapping[str, S]
) -> tuple[dict[str, S], dict[str, str]]:
    """The shares by placement, and the placement of each cluster: the first that selects it.

    Args:
        asked: placements in the order in which they take clusters, each with what reads its
            share, given the clusters that are taken (cluster -> placement). One that is asked
            twice counts once.
        before: the shares until now.

    If the selection of a placement is unknown, it is unknown what is left for later ones. These keep what
    they had, unless an earlier one selects it, and are held for the same reason.
    """
    shares: dict[str, S] = {}
    members: dict[str, str] = {}
    unread: Wait | None = None
    for placement, read in asked:
        if placement in shares:
            continue
        share = shares[placement] = read(members)
        if unread is not None:
            known = before.get(placement)
            kept = known.reading.selection.without(members) if known else Selection()
            share.reading, share.hold = Reading(kept, hold=unread), unread
        elif share.may_select_more:
            unread = share.reading.hold
        for group in share.reading.selection.groups:
            members.update(dict.fromkeys(group.clusters, placement))
    return shares, members


def settle_owners(
    shares: Mapping[str, PlacementShare], members: Mapping[str, str], now: datetime
) -> None:
    """Tell each rollout which of the clusters that it lost have another owner now.

    To be called before the shares agree on whom they select now: then they still know whom they
    have touched.
    """
    for placement, share in shares.items():
        others = [s.live for name, s in shares.items() if name != placement]
        lost = share.live.all_lost
        selected = {c for c in lost if members.get(c, placement) != placement}
        touched = {c for c in lost if any(c in other.ledger.standings for other in others)}
        share.live.settle_lost(selected, touched, now)
