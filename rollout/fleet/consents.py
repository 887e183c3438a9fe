"""Keeps approvals, rejections and freezes."""

from datetime import datetime

from rollout.api.decoding import decode
from rollout.model.approvals import Approval, Freeze
from rollout.model.events import Change, Event
from rollout.model.kinds import KINDS, Ref

ApprovedWorkload = tuple[str, str, str]
"""The namespace of its Approvals, its kind's name, its name."""


class Consents:
    """Approvals by workload, and freezes. Fed by the fleet, event by event."""

    def __init__(self) -> None:
        self._approvals: dict[ApprovedWorkload, dict[str, Approval]] = {}
        self._known: dict[str, Approval] = {}
        self._freezes: dict[str, Freeze] = {}

    def take_approval(self, event: Event) -> set[Ref]:
        """Take in an Approval; the workloads that it is, or was, about."""
        found: set[Ref] = set()
        before = self._known.pop(event.ref.key, None)
        if before is not None:
            about = _about(before)
            held = self._approvals[about]
            held.pop(before.name, None)
            if not held:
                del self._approvals[about]
            found |= _refs(before)
        if event.change is not Change.DELETED:
            approval = decode(event.ref.kind, event.obj)
            assert isinstance(approval, Approval)
            self._known[event.ref.key] = approval
            self._approvals.setdefault(_about(approval), {})[approval.name] = approval
            found |= _refs(approval)
        return found

    def take_freeze(self, event: Event) -> None:
        """Take in a Freeze: it concerns every workload."""
        if event.change is Change.DELETED:
            self._freezes.pop(event.ref.key, None)
            return
        freeze = decode(event.ref.kind, event.obj)
        assert isinstance(freeze, Freeze)
        self._freezes[event.ref.key] = freeze

    def approvals(self, workload: Ref, namespace: str) -> tuple[Approval, ...]:
        """Those given for a workload in this namespace, by name."""
        held = self._approvals.get((namespace, workload.kind.name, workload.name), {})
        return tuple(held[name] for name in sorted(held))

    def freeze(self, now: datetime) -> Freeze | None:
        """What freezes the hub now: of several, the one that stands longest."""
        standing = [each for each in self._freezes.values() if each.stands(now)]
        return max(standing, key=_length, default=None)


def _length(freeze: Freeze) -> tuple[bool, float, str]:
    return freeze.until is None, freeze.until.timestamp() if freeze.until else 0.0, freeze.name


def _about(approval: Approval) -> ApprovedWorkload:
    return approval.namespace, approval.kind, approval.workload


def _refs(approval: Approval) -> set[Ref]:
    kind = KINDS.get(approval.kind)
    if kind is None:
        return set()
    key = f"{approval.namespace}/{approval.workload}" if kind.namespaced else approval.workload
    return {Ref(kind, key)}
