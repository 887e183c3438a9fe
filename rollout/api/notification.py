"""The wire form of a notification: what is told to whom, and whether it was delivered."""

from typing import Annotated

from pydantic import Field

from rollout.api.fields import mapping, text, version_of
from rollout.api.reading import read
from rollout.api.wire import InstantText, Name, Shape, WireObject, WorkloadKindName
from rollout.model.instants import parse_instant
from rollout.model.kinds import KINDS, Obj, Ref, key_of
from rollout.model.notifications import Delivery, Notification, Trigger


class NotifiedWorkloadShape(Shape):
    """The workload that it tells of."""

    kind: WorkloadKindName
    name: Name


class NotificationSpec(Shape):
    """What is told to whom. Written by the controller, once."""

    workload: NotifiedWorkloadShape
    revision: Name
    """The revision that it tells of."""
    trigger: Name
    """What happened, in the words of annotation rollout-engine.io/notify."""
    channel: Name
    """The Secret of this namespace that says how it is delivered."""
    id: Name
    """The same on every attempt."""
    at: InstantText
    """When it happened."""
    message: str
    """What happened, in a sentence."""
    placement: str | None = None
    """The placement where it happened; absent where it tells of all."""
    about: str | None = None
    """What of the revision it tells of."""
    advice: Annotated[list[str] | None, Field(max_length=8)] = None
    """Commands that somebody may want next."""


class DeliveryStatus(Shape):
    """What came of it. Written by the controller."""

    phase: str | None = None
    """Pending, Delivered or GivenUp."""
    tries: int | None = None
    """How often it was tried."""
    last_try_at: InstantText | None = None
    """When it was last tried."""
    delivered_at: InstantText | None = None
    """When the channel took it."""
    given_up_at: InstantText | None = None
    """Since when it is tried no more."""
    message: str | None = None
    """Why the last attempt failed."""


class NotificationObject(WireObject):
    """Something that people are told of a rollout, on one channel."""

    spec: NotificationSpec
    status: DeliveryStatus | None = None


def decode_notification(ref: Ref, obj: Obj) -> Notification | None:
    """A notification; None where it does not say what is told to whom."""
    meta = mapping(obj.get("metadata"))
    spec, problems = read(NotificationSpec, obj.get("spec"), "spec")
    at = parse_instant(spec.at) if spec is not None else None
    if spec is None or problems or at is None or spec.trigger not in list(Trigger):
        return None
    kind = KINDS[spec.workload.kind]
    return Notification(
        ref=ref,
        uid=text(meta.get("uid")),
        version=version_of(meta),
        workload=Ref(kind, key_of(ref.namespace if kind.namespaced else "", spec.workload.name)),
        revision=spec.revision,
        trigger=Trigger(spec.trigger),
        channel=spec.channel,
        id=spec.id,
        at=at,
        message=spec.message,
        placement=spec.placement or "",
        about=spec.about or "",
        advice=tuple(spec.advice or ()),
        delivery=_delivery(obj),
    )


def _delivery(obj: Obj) -> Delivery:
    status = read(DeliveryStatus, obj.get("status"), "status")[0] or DeliveryStatus()
    return Delivery(
        tries=status.tries or 0,
        last_try_at=parse_instant(status.last_try_at),
        delivered_at=parse_instant(status.delivered_at),
        given_up_at=parse_instant(status.given_up_at),
        message=status.message or "",
    )
