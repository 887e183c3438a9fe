"""Notifications on real channels: an HTTP server that takes them, one that misbehaves, one that hangs."""

import asyncio
import base64
import hashlib
import hmac
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import EntryPoint
from typing import Any

import pytest
from cloudevents.core.bindings.http import HTTPMessage, from_http_event
from cloudevents.core.exceptions import CloudEventValidationError
from cloudevents.core.v1.event import CloudEvent
from slack_sdk.models.blocks import MarkdownTextObject, SectionBlock
from slack_sdk.webhook import WebhookClient

from rollout.clock import SystemClock
from rollout.errors import PluginError
from rollout.hub.memory import MemoryHub
from rollout.model.kinds import REPLICA_SET, ROLLOUT_NOTIFICATION, Obj, Ref
from rollout.model.notifications import Notification, Trigger
from rollout.model.writes import Deliver
from rollout.providers.deliverer import ChannelDeliverer
from rollout.providers.hosts import NAMES_OF_ONE, HostPolicy
from rollout.providers.http import HttpClient
from rollout.providers.secrets import SECRET
from rollout.providers.sinks import Sink, cloud_event, installed_sinks, signed, slack_text
from tests.support.bad_server import WAYS, bad_server
from tests.support.receiver import receiver
from tests.unit.providers.test_providers import OF_PROMETHEUS

LOOPBACK = HostPolicy(("127.0.0.1",))
AT = datetime(2026, 11, 22, 3, 4, 5, tzinfo=UTC)


def notification(channel: str = "team", id: str = "1f", **more: Any) -> Notification:  # noqa: A002
    return Notification(
        **{
            "ref": Ref(ROLLOUT_NOTIFICATION, f"shop/web-{id}"),
            "uid": "u",
            "version": 1,
            "workload": Ref(REPLICA_SET, "shop/web"),
            "revision": "8bf3b16bf2ee0cc5",
            "trigger": Trigger.HALTED,
            "channel": channel,
            "id": id,
            "at": AT,
            "message": "2 failed & <!channel> is told",
            "advice": ("rollout explain mwrs web -n shop",),
            **more,
        }
    )


class Telling:
    """A deliverer, waited for."""

    def __init__(self, policy: HostPolicy = LOOPBACK, **plugins: Sink) -> None:
        self.hub = MemoryHub(SystemClock())
        sinks = {**installed_sinks(()), **plugins}
        self.deliverer = ChannelDeliverer(self.hub, SystemClock(), sinks, policy)

    def channel(self, name: str, namespace: str = "shop", **entries: str) -> None:
        data = {key: base64.b64encode(text.encode()).decode() for key, text in entries.items()}
        meta = {"namespace": namespace, "name": name}
        body: Obj = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": data}
        self.hub.create(Ref(SECRET, f"{namespace}/{name}"), body)

    def begin(self, told: Notification) -> "Back":
        back = Back()
        self.deliverer.deliver(Deliver(ref=told.ref, notification=told), back.take)
        return back

    def deliver(self, told: Notification) -> str:
        return self.begin(told).wait()


class Back:
    """What comes of one attempt."""

    def __init__(self) -> None:
        self._event, self._fault = threading.Event(), ""

    def take(self, fault: str) -> None:
        self._fault = fault
        self._event.set()

    def wait(self) -> str:
        assert self._event.wait(240), "nothing came of it"
        return self._fault

    @property
    def is_there(self) -> bool:
        return self._event.is_set()


@pytest.fixture
def telling() -> Iterator[Telling]:
    made = Telling()
    yield made
    made.deliverer.close()


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with bad_server() as address:
        yield address


# -- what arrives ----------------------------------------------------------------------------------


def test_a_webhook_gets_a_signed_cloud_event(telling: Telling) -> None:
    with receiver() as (address, got):
        telling.channel("team", type="webhook", url=f"{address}/hook", key="s3cr3t")
        assert telling.deliver(notification()) == ""

    ((headers, body),) = got
    assert headers["content-type"].startswith("application/cloudevents+json")
    assert headers["webhook-id"] == "1f"
    text = f"1f.{headers['webhook-timestamp']}.".encode() + body
    digest = base64.b64encode(hmac.new(b"s3cr3t", text, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{digest}"
    assert json.loads(body) == cloud_event(notification())


@pytest.mark.parametrize("trigger", Trigger)
def test_what_a_webhook_gets_is_read_by_the_reader_of_cloudevents(
    trigger: Trigger, telling: Telling
) -> None:
    told = notification(trigger=trigger)
    with receiver() as (address, got):
        telling.channel("team", type="webhook", url=address)
        assert telling.deliver(told) == ""

    ((headers, body),) = got
    read = from_http_event(HTTPMessage(headers=dict(headers), body=body))
    assert isinstance(
        read, CloudEvent
    )  # it refuses an attribute that the specification does not allow
    assert (read.get_id(), read.get_specversion(), read.get_time()) == (told.id, "1.0", AT)
    assert read.get_source().startswith("/apis/")
    assert read.get_subject() == told.revision
    assert read.get_data() == cloud_event(told)["data"]


def test_the_reader_of_cloudevents_refuses_what_is_none() -> None:
    event = {**cloud_event(notification()), "id": ""}
    headers = {"content-type": "application/cloudevents+json"}

    with pytest.raises(CloudEventValidationError):
        from_http_event(HTTPMessage(headers=headers, body=json.dumps(event).encode()))


def test_slack_gets_what_slacks_own_client_would_send(telling: Telling) -> None:
    told = notification()
    with receiver() as (address, got):
        telling.channel("team", type="slack", url=address)
        assert telling.deliver(told) == ""
        assert WebhookClient(address).send(text=slack_text(told)).status_code == 200

    (ours, body), (theirs, expected) = got
    assert json.loads(body) == json.loads(expected)
    kinds = {headers["content-type"].replace(" ", "").lower() for headers in (ours, theirs)}
    assert kinds == {"application/json;charset=utf-8"}


@pytest.mark.parametrize("trigger", Trigger)
def test_a_text_for_slack_is_one_that_it_takes_whole(trigger: Trigger) -> None:
    """Longer than forty thousand characters it would be cut; a section's own checks are narrower."""
    told = notification(trigger=trigger, message="x" * 1024)

    block = SectionBlock(text=MarkdownTextObject(text=slack_text(told)))
    block.validate_json()
    assert len(slack_text(told)) < 3000


def test_without_a_key_nothing_is_signed(telling: Telling) -> None:
    with receiver() as (address, got):
        telling.channel("team", type="webhook", url=address)
        assert telling.deliver(notification()) == ""
    assert not [name for name in got[0][0] if name.startswith("webhook-")]


def test_slack_gets_a_text_that_calls_nobody_and_says_what_to_type(telling: Telling) -> None:
    with receiver() as (address, got):
        telling.channel("team", type="slack", url=address)
        assert telling.deliver(notification()) == ""

    text = json.loads(got[0][1])["text"]
    assert text == slack_text(notification())
    assert "<!channel>" not in text
    assert "2 failed &amp; &lt;!channel&gt; is told" in text
    assert "`rollout explain mwrs web -n shop`" in text


@pytest.mark.parametrize("trigger", Trigger)
def test_each_trigger_has_words_and_a_type_of_its_own(trigger: Trigger) -> None:
    told = notification(trigger=trigger)

    assert slack_text(told).startswith("*shop/web* ")
    assert cloud_event(told)["type"] == f"io.rollout-engine.{trigger.removeprefix('on-')}"


def test_a_key_of_standard_webhooks_is_read_as_base64() -> None:
    plain = signed("s3cr3t", "1", b"{}", AT)

    assert signed("whsec_" + base64.b64encode(b"s3cr3t").decode(), "1", b"{}", AT) == plain


def test_a_package_adds_a_sink(telling: Telling) -> None:
    class Kept:
        def __init__(self) -> None:
            self.told: list[str] = []

        async def send(
            self, told: Notification, channel: Mapping[str, str], http: HttpClient, now: datetime
        ) -> None:
            self.told.append(f"{told.id} {channel['room']}")

    kept = Kept()
    made = Telling(kept=kept)
    made.channel("team", type="kept", room="12")
    assert made.deliver(notification()) == ""
    made.deliverer.close()
    assert kept.told == ["1f 12"]


def test_a_sink_has_no_name_of_a_built_in() -> None:
    entry = EntryPoint("slack", "package:Sink", "rollout.sinks")
    with pytest.raises(PluginError, match="name of a built-in"):
        installed_sinks([entry])


# -- what does not ---------------------------------------------------------------------------------

DELIVERED = {
    "good", "nested", "echo", "here", "text", "html", "empty", "nothing", "deep", "digits", "list",
}  # fmt: skip
TAKES = DELIVERED | OF_PROMETHEUS | {"slow", "drip", "half"}


@pytest.mark.parametrize("way", sorted(WAYS.keys() - TAKES))
def test_a_server_that_misbehaves_is_a_failed_attempt_of_few_words_without_secrets(
    way: str, server: str, telling: Telling
) -> None:
    telling.channel("team", type="slack", url=f"{server}/{way}")
    fault = telling.deliver(notification())

    assert fault
    assert len(fault) <= 512
    assert server not in fault


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ({}, "type ''; there are: slack, webhook"),
        ({"type": "pigeon", "url": "http://x"}, "type 'pigeon'"),
        ({"type": "slack"}, "no entry url"),
        ({"type": "webhook", "url": "ftp://x/"}, "has to begin with http"),
        ({"type": "webhook", "url": "http://x/", "key": "whsec_%%"}, "is not base64"),
    ],
)
def test_a_channel_that_is_none_says_what_is_wrong(
    entries: Mapping[str, str], said: str, telling: Telling
) -> None:
    telling.channel("team", **entries)
    assert said in telling.deliver(notification())


def test_a_channel_without_a_secret_is_named(telling: Telling) -> None:
    assert "there is no Secret shop/team" in telling.deliver(notification())


@pytest.mark.parametrize("url", ["http://169.254.169.254/latest", "http://127.0.0.1/"])
def test_metadata_and_loopback_addresses_are_told_nothing(url: str) -> None:
    made = Telling(HostPolicy())
    made.channel("team", type="webhook", url=url)
    fault = made.deliver(notification())
    made.deliverer.close()
    assert "address" in fault


def test_a_channel_that_hangs_holds_up_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rollout.providers.deliverer.LONGEST_SECONDS", 240.0)
    release = threading.Event()

    class Hangs:
        async def send(self, *_: object) -> None:
            while not release.is_set():
                await asyncio.sleep(0.01)

    made = Telling(hangs=Hangs())
    with receiver() as (address, got):
        made.channel("stuck", type="hangs", url=address)
        made.channel("team", type="webhook", url=address)
        waiting = [made.begin(notification("stuck", str(n))) for n in range(50)]
        for n in range(20):
            assert made.deliver(notification("team", str(n))) == ""
        assert not any(each.is_there for each in waiting)
        release.set()
        assert [each.wait() for each in waiting] == [""] * 50
    made.deliverer.close()
    assert len(got) == 20


class SlowNames:
    """Names of hosts that begin with slow are looked up for as long as somebody lets them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.end, self.asked = threading.Event(), 0
        self._real = socket.getaddrinfo
        monkeypatch.setattr(socket, "getaddrinfo", self._look_up)

    def _look_up(self, host: Any, *args: Any, **more: Any) -> Any:
        if str(host).startswith("slow"):
            self.asked += 1
            self.end.wait(240)
            raise socket.gaierror(-2, "no such name")
        return self._real(host, *args, **more)


@pytest.fixture
def slow_names(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowNames]:
    made = SlowNames(monkeypatch)
    yield made
    made.end.set()


def test_names_of_one_tenant_that_hang_hold_up_no_other_tenant_and_not_the_end(
    slow_names: SlowNames, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither its names nor what is read from the hub for it, nor when its attempts are given up: the
    lookups go on then."""
    monkeypatch.setattr("rollout.providers.deliverer.LONGEST_SECONDS", 1.0)
    made = Telling(HostPolicy(("localhost", "slow*")))
    with receiver() as (address, got):
        made.channel("team", type="webhook", url=address.replace("127.0.0.1", "localhost"))
        backs = []
        for i in range(80):
            made.channel(f"s{i}", "evil", type="webhook", url=f"http://slow{i}.test/")
            told = notification(f"s{i}", ref=Ref(ROLLOUT_NOTIFICATION, f"evil/web-{i}"))
            backs.append(made.begin(told))
        assert made.deliver(notification(id="0")) == ""
        assert backs[0].wait() == "no answer within 1 s"
        assert made.deliver(notification(id="1")) == ""
        made.deliverer.close()

    assert len(got) == 2
    assert 0 < slow_names.asked <= NAMES_OF_ONE


def test_one_channel_gets_its_notifications_in_their_order(telling: Telling) -> None:
    with receiver() as (address, got):
        telling.channel("team", type="webhook", url=address)
        waiting = [telling.begin(notification("team", str(n))) for n in range(30)]
        assert {each.wait() for each in waiting} == {""}
    assert [json.loads(body)["id"] for _, body in got] == [str(n) for n in range(30)]


def test_what_stands_behind_a_failed_attempt_does_not_wait_for_it_again() -> None:
    tries: list[str] = []
    queued = threading.Event()

    class Fails:
        async def send(self, told: Notification, *_: object) -> None:
            tries.append(told.id)
            while not queued.is_set():
                await asyncio.sleep(0.01)
            raise ValueError("s3cr3t is wrong")

    made = Telling(fails=Fails())
    made.channel("team", type="fails", key="s3cr3t")
    waiting = [made.begin(notification("team", str(n))) for n in range(5)]
    queued.set()
    faults = [each.wait() for each in waiting]
    made.deliverer.close()

    assert len(tries) < 5
    assert all("*** is wrong" in fault for fault in faults)
    assert not any("s3cr3t" in fault for fault in faults)
