"""Decides what a placement takes over from others of its workload, when placementRefs change.

Each placement has a record of its own. What a person asked of the workload, and what was found out about its
revision, must not be forgotten with one of them. Source: semantics rows 27, 32; safety contract S10, S20.
"""

from collections.abc import Container, Mapping, Set
from dataclasses import replace
from typing import Protocol

from rollout.model.kinds import Ref
from rollout.rollouts.head import Head
from rollout.rollouts.line import Line
from rollout.rollouts.share import PlacementShare, Surroundings


class Remembered(Protocol):
    """What is known of one placement: live, or as its record tells."""

    @property
    def head(self) -> Head: ...

    @property
    def lines(self) -> Mapping[str, Line]: ...


def inherited(head: Head, gone: Mapping[str, Head], there: Mapping[str, Head]) -> Head:
    """The head of one placement with what it takes over.

    A placement that is new to the workload goes on with the waivers and the retry that were seen already, with
    what one that is gone knew of edits and removals, and with its rollback: it has that one's clusters. What
    a placement that is gone took back is barred in the others, unless somebody has retried since.

    Args:
        gone: by placement, the heads of those that the workload names no more.
        there: those of the others that it names.
    """
    seen = {each.retried for each in (head, *there.values()) if each.revision}
    bars = {name: each for name, each in gone.items() if seen <= {each.retried}}  # no retry since
    if not head.revision:
        others = [*gone.values(), *there.values()]
        waived = {cluster: of for each in reversed(others) for cluster, of in each.waived.items()}
        retried = next((each.retried for each in reversed(others) if each.retried), "")
        first = next((each for each in gone.values() if each.basis.of), head)
        head = replace(head, waived=waived, retried=retried)
        head = head.knowing(first)
        back = next((each for each in bars.values() if each.rollback is not None), None)
        if back is not None:
            return replace(head, revision=back.revision, rollback=back.rollback)
    for placement, each in bars.items():
        by = placement if each.rollback is not None else each.barred_by
        if by and head.rollback is None and head.revision in ("", each.revision):
            return replace(head, revision=each.revision, barred_by=by)
    return head


def take_over(
    workload: Ref,
    around: Surroundings,
    *,
    left: Mapping[str, PlacementShare],
    owners: Mapping[str, str],
    shares: Mapping[str, PlacementShare],
    members: Mapping[str, str],
) -> None:
    """Let placements go on with what others knew that are gone, or that had their clusters.

    A process that begins has no shares yet, and reads of those that are gone in the record.

    Args:
        left, owners: the shares until now, and the placement of each cluster then.
        shares, members: those of now; they have not agreed on whom they select yet.
    """
    known: dict[str, Remembered] = {name: share.live for name, share in left.items()}
    for name in () if left else around.recorded(workload):
        if name not in shares:
            known[name] = around.record(workload, name).record
    gone = {name: each.head for name, each in known.items() if name not in shares}
    known |= {name: share.live for name, share in shares.items()}
    heads = {name: share.live.head for name, share in shares.items()}
    for name, share in shares.items():
        there = {other: head for other, head in heads.items() if other != name}
        share.live.book.set_head(inherited(share.live.head, gone, there))
    moved = members.items() if not left else members.items() - owners.items()
    for cluster, owner in moved if len(known) > 1 else ():
        live = shares[owner].live
        if cluster not in live.lines and (soaked := soaked_before(cluster, known, owner)):
            live.remember_soaked(cluster, soaked)


def soaked_before(cluster: str, left: Mapping[str, Remembered], owner: str) -> tuple[str, ...]:
    """The contents that soaked on a cluster while another placement than ``owner`` had it, newest first."""
    found = (each.lines.get(cluster) for name, each in left.items() if name != owner)
    return next((line.soaked for line in found if line is not None and line.soaked), ())


def still_asked_for(
    known: Set[str], owners: Mapping[str, str], before: Container[str], now: Container[str]
) -> set[str]:
    """The clusters that lose the workload since a person took out their placementRef, whenever it goes (row 16).

    Who left a placement that is still asked for was asked for by nobody, whatever the label of its work says.

    Args:
        known: those so far.
        owners: the placement of each cluster until now.
        before, now: the placements that are asked for.
    """
    left = {cluster for cluster, owner in owners.items() if owner in now}
    taken_out = {c for c, owner in owners.items() if owner in before and owner not in now}
    return (set(known) - left) | taken_out
