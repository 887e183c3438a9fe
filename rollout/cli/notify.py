"""`rollout notify test`: tests the channels of a workload."""

import queue
import uuid
from collections.abc import Sequence
from datetime import datetime

from rollout.cli.naming import missing, only_workload
from rollout.cli.options import Stop, options
from rollout.cli.store import open_hub
from rollout.cli.text import say
from rollout.clock import SystemClock
from rollout.errors import Gone
from rollout.hub.base import Hub
from rollout.model.intents import read_intents
from rollout.model.kinds import ROLLOUT_NOTIFICATION, Obj, Ref, key_of
from rollout.model.names import NOTIFY
from rollout.model.notifications import Notification, Trigger
from rollout.model.policy import DEFAULT
from rollout.model.writes import Deliver
from rollout.planning.notifications import advice_for
from rollout.providers.deliverer import ChannelDeliverer
from rollout.providers.hosts import policy_of
from rollout.providers.sinks import installed_sinks

LONGEST_WAIT_SECONDS = 60.0


def test_channels(
    words: tuple[str, ...], namespace: str, channels: tuple[str, ...], hosts: str
) -> int:
    """Send a test to each channel, and say what came of it."""
    workload = only_workload(words, namespace)
    if not options().on_server:
        raise Stop(2, "a state file holds no Secrets: name a hub with --kubeconfig or --context")
    with open_hub(options()) as (hub, clock):
        ref = workload.on(hub)
        try:
            obj = hub.get(ref)
        except Gone:
            raise missing(ref) from None
        annotations = (obj["metadata"].get("annotations")) or {}
        named = channels or tuple(each.name for each in read_intents(annotations).notify)
        if not named:
            raise Stop(1, f"{ref} names no channel: annotation {NOTIFY}, or --channel NAME")
        faults = _tried(hub, [_test(ref, obj, name, clock.now()) for name in named], hosts)
    for name, fault in zip(named, faults, strict=True):
        say(f"{name}: {fault or 'delivered'}")
    return int(any(faults))


def _tried(hub: Hub, told: Sequence[Notification], hosts: str) -> list[str]:
    """Why each of them was not delivered, "" where it was."""
    deliverer = ChannelDeliverer(hub, SystemClock(), installed_sinks(), policy_of(hosts))
    try:
        backs: list[queue.SimpleQueue[str]] = [queue.SimpleQueue() for _ in told]
        for each, back in zip(told, backs, strict=True):
            deliverer.deliver(Deliver(ref=each.ref, notification=each), back.put)
        return [back.get(timeout=LONGEST_WAIT_SECONDS) for back in backs]
    finally:
        deliverer.close()


def _test(workload: Ref, obj: Obj, channel: str, now: datetime) -> Notification:
    home = workload.namespace or DEFAULT.namespace
    return Notification(
        ref=Ref(ROLLOUT_NOTIFICATION, key_of(home, f"{workload.name}-test")),
        uid="",
        version=0,
        workload=workload,
        revision=(obj.get("status") or {}).get("updateRevision") or "",
        trigger=Trigger.TEST,
        channel=channel,
        id=uuid.uuid4().hex[:16],
        at=now,
        message=f"channel {channel} works",
        advice=advice_for(Trigger.TEST, workload),
    )
