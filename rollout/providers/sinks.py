"""Writes notifications for channels: as a CloudEvent, or as a text with the commands to type.

A channel is a Secret with the entries ``type`` (``webhook``, ``slack``, or the name of an entry point of
``rollout.sinks``) and ``url``; a webhook may have a ``key``, with which it is signed, and a ``caBundle``.
Sources: CloudEvents 1.0 with its HTTP binding (structured mode); Standard Webhooks (signature); Slack's
incoming webhooks.
"""

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from importlib.metadata import EntryPoint
from typing import Protocol

from rollout.model.instants import rfc3339
from rollout.model.kinds import Obj, Ref
from rollout.model.notifications import Notification, Trigger
from rollout.plugins import offers
from rollout.providers.http import HttpClient, MetricRequest, UnmeasuredError

TYPE_PREFIX = "io.rollout-engine."
_BASE64_KEY = "whsec_"


class Sink(Protocol):
    """Delivers notifications. A package adds one by an entry point of ``rollout.sinks``.

    It runs on an event loop that it shares with all others: it awaits, and never blocks. What takes
    longer than ten seconds is given up, and tried again later.
    """

    async def send(
        self, told: Notification, channel: Mapping[str, str], http: HttpClient, now: datetime
    ) -> None:
        """Deliver it once. ``channel`` are the entries of the channel's Secret.

        Raises: UnmeasuredError where it could not be delivered. Any other error counts as one, too.
        """
        ...


class Webhook:
    """CloudEvents in JSON, signed where the channel has a key."""

    async def send(
        self, told: Notification, channel: Mapping[str, str], http: HttpClient, now: datetime
    ) -> None:
        body = json.dumps(cloud_event(told), ensure_ascii=False).encode()
        headers = [("Content-Type", "application/cloudevents+json; charset=utf-8")]
        if channel.get("key"):
            headers += signed(channel["key"], told.id, body, now)
        await http.ask(
            MetricRequest(
                url=address_in(channel),
                method="POST",
                headers=headers,
                body=body,
                ca_bundle=channel.get("caBundle", ""),
            )
        )


class Slack:
    """A message for an incoming webhook of Slack."""

    async def send(
        self, told: Notification, channel: Mapping[str, str], http: HttpClient, now: datetime
    ) -> None:
        body = json.dumps({"text": slack_text(told)}, ensure_ascii=False).encode()
        headers = [("Content-Type", "application/json; charset=utf-8")]
        await http.ask(
            MetricRequest(url=address_in(channel), method="POST", headers=headers, body=body)
        )


def address_in(channel: Mapping[str, str]) -> str:
    """Where a channel is. Raises: UnmeasuredError."""
    if not channel.get("url"):
        raise UnmeasuredError("the Secret of the channel has no entry url")
    return channel["url"]


def cloud_event(told: Notification) -> Obj:
    """A notification as a CloudEvent: the workload is its source, the revision its subject."""
    return {
        "specversion": "1.0",
        "id": told.id,
        "source": source_of(told.workload),
        "type": TYPE_PREFIX + told.trigger.removeprefix("on-"),
        "subject": told.revision,
        "time": rfc3339(told.at),
        "datacontenttype": "application/json",
        "data": {
            "workload": {
                "kind": told.workload.kind.name,
                "namespace": told.workload.namespace,
                "name": told.workload.name,
            },
            "revision": told.revision,
            "placement": told.placement,
            "about": told.about,
            "message": told.message,
            "advice": list(told.advice),
        },
    }


def source_of(workload: Ref) -> str:
    """The path of a workload on its API server."""
    kind = workload.kind
    where = f"/namespaces/{workload.namespace}" if workload.namespace else ""
    return f"/apis/{kind.group}/{kind.version}{where}/{kind.plural}/{workload.name}"


def signed(key: str, about: str, body: bytes, now: datetime) -> list[tuple[str, str]]:
    """The headers by which a receiver knows who sent it. Raises: UnmeasuredError for a key that is none."""
    stamp = str(int(now.timestamp()))
    text = f"{about}.{stamp}.".encode() + body
    digest = hmac.new(_key_bytes(key), text, hashlib.sha256).digest()
    return [
        ("webhook-id", about),
        ("webhook-timestamp", stamp),
        ("webhook-signature", f"v1,{base64.b64encode(digest).decode()}"),
    ]


def _key_bytes(key: str) -> bytes:
    if not key.startswith(_BASE64_KEY):
        return key.encode()
    try:
        return base64.b64decode(key.removeprefix(_BASE64_KEY), validate=True)
    except binascii.Error as error:
        raise UnmeasuredError(f"the key begins with {_BASE64_KEY} and is not base64") from error


_HEADS = {
    Trigger.ROLLOUT_STARTED: "is being rolled out",
    Trigger.STAGE_PASSED: "has passed a stage",
    Trigger.APPROVAL_NEEDED: "waits for a person",
    Trigger.HALTED: "has stopped",
    Trigger.ROLLED_BACK: "was taken back",
    Trigger.COMPLETED: "is rolled out",
    Trigger.WINDOW_CLOSED: "waits for a window",
    Trigger.ANALYSIS_FAILED: "failed an analysis",
    Trigger.TEST: "can be heard here",
}


def slack_text(told: Notification) -> str:
    """What a person reads, with what to type next."""
    commands = "\n".join(f"• `{_escaped(each)}`" for each in told.advice)
    lines = [f"*{_escaped(told.workload.key)}* {_HEADS[told.trigger]}", _escaped(told.message)]
    return "\n".join([*lines, commands] if commands else lines)


def _escaped(text: str) -> str:
    """As Slack wants it: nothing in it is a link or calls anybody."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def installed_sinks(entries: Iterable[EntryPoint] | None = None) -> Mapping[str, Sink]:
    """The built-in sinks, and those of installed packages.

    Args:
        entries: instead of what is installed.

    Raises: PluginError for a name offered twice, one of a built-in, or one that cannot be loaded.
    """
    offered = offers(SINKS, entries, what="sink", built_in=BUILT_IN_SINKS)
    return {**BUILT_IN_SINKS, **{name: offer.load() for name, offer in offered.items()}}


SINKS = "rollout.sinks"
BUILT_IN_SINKS: Mapping[str, Sink] = {"webhook": Webhook(), "slack": Slack()}
