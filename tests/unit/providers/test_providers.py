"""Providers against a real server that misbehaves: whatever it does there is a sample, within bounds."""

import contextlib
import gc
import math
import socket
import subprocess
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from rollout.clock import SystemClock
from rollout.errors import PluginError
from rollout.hub.memory import MemoryHub
from rollout.measuring.values import (
    AnalysisMetric,
    AnalysisResult,
    AnalysisRun,
    Measure,
    MetricResult,
    Sample,
    SecretRef,
    Subject,
)
from rollout.model.kinds import REPLICA_SET, ROLLOUT_ANALYSIS_RUN, Obj, Ref
from rollout.providers.hosts import HostPolicy, RefusedHostError, policy_of
from rollout.providers.http import LONGEST_SECONDS, HttpClient, MetricRequest, UnmeasuredError
from rollout.providers.jobs import JOB
from rollout.providers.kinds import MetricProvider, installed
from rollout.providers.measurer import AT_ONCE, ProviderMeasurer
from rollout.providers.secrets import SECRET
from rollout.providers.workers import Workers
from tests.support.bad_server import LATE, WAYS, bad_server

LOOPBACK = HostPolicy(("127.0.0.1",))


def run_of(provider: Obj, **secrets: SecretRef) -> AnalysisRun:
    return AnalysisRun(
        ref=Ref(ROLLOUT_ANALYSIS_RUN, "apps/web-1"),
        uid="u1",
        version=1,
        subject=Subject(
            workload=Ref(REPLICA_SET, "apps/web"),
            placement="p",
            revision="r1",
            attempt="",
            template="slo",
        ),
        metrics=(AnalysisMetric(name="m", provider=provider, success="true"),),
        result=AnalysisResult(
            started_at=datetime(2026, 1, 1, tzinfo=UTC), metrics={"m": MetricResult(name="m")}
        ),
        secrets=secrets,
    )


class Measuring:
    """A measurer, waited for."""

    def __init__(self, policy: HostPolicy = LOOPBACK, **plugins: MetricProvider) -> None:
        self.hub = MemoryHub(SystemClock())
        run = run_of({}).ref
        meta = {"namespace": run.namespace, "name": run.name}
        body = {"apiVersion": run.kind.api_version, "kind": run.kind.name, "metadata": meta}
        self.uid = str(self.hub.create(run, body)["metadata"]["uid"])
        providers = {**installed(()), **plugins}
        self.measurer = ProviderMeasurer(self.hub, SystemClock(), providers, policy)

    def sample(self, provider: Obj, **secrets: SecretRef) -> Sample:
        back = threading.Event()
        found: dict[str, Sample] = {}

        def done(samples: Mapping[str, Sample]) -> None:
            found.update(samples)
            back.set()

        run = replace(run_of(provider, **secrets), uid=self.uid)
        self.measurer.measure(Measure(ref=run.ref, run=run, metrics=("m",)), done)
        assert back.wait(240), "no sample came"
        return found["m"]


@pytest.fixture
def measuring() -> Iterator[Measuring]:
    made = Measuring()
    yield made
    made.measurer.close()


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with bad_server() as address:
        yield address


def web(url: str, **told: Any) -> Obj:
    return {"web": {"url": url, **told}}


def prometheus(address: str, **told: Any) -> Obj:
    return {"prometheus": {"address": address, "query": "up", **told}}


GOOD = {"good", "half", "nested", "echo", "here"}
OF_PROMETHEUS = {"nan", "inf", "vector", "none", "words", "numbers", "broken", "refused", "string"}


@pytest.mark.parametrize(
    "way", sorted(WAYS.keys() - GOOD - OF_PROMETHEUS - {"list", "slow", "drip"})
)
def test_an_answer_that_is_none_is_an_error_of_few_words(
    way: str, server: str, measuring: Measuring
) -> None:
    found = measuring.sample(web(f"{server}/{way}"))

    assert found.error
    assert found.value is None
    assert len(found.error) < 512
    assert server not in found.error


@pytest.mark.parametrize(
    "way", sorted(WAYS.keys() - {"nan", "inf", "vector", "none", "slow", "drip"})
)
def test_what_is_no_answer_of_prometheus_is_an_error(
    way: str, server: str, measuring: Measuring
) -> None:
    assert measuring.sample(prometheus(f"{server}/{way}")).error


@pytest.mark.parametrize("way", ["slow", "drip"])
def test_a_slow_answer_is_given_up(way: str, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    very_late = 120
    monkeypatch.setattr("tests.support.bad_server.LATE", very_late)
    monkeypatch.setattr("rollout.providers.http.LONGEST_SECONDS", 0.2)
    measuring = Measuring()
    began = SystemClock().now()
    found = measuring.sample(web(f"{server}/{way}"))
    measuring.measurer.close()

    assert "no answer within" in found.error
    assert SystemClock().now() - began < timedelta(seconds=very_late)


@pytest.mark.filterwarnings("ignore:Sending a large body")  # more than sockets keep; we send none
def test_the_end_closes_connections_over_which_something_is_still_to_go() -> None:
    """The server takes the connection, and reads nothing."""
    workers, http = Workers("test", 1, 1), HttpClient(LOOPBACK)
    given_up = threading.Event()
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}/"

        async def ask() -> None:
            with contextlib.suppress(UnmeasuredError):
                await http.ask(
                    MetricRequest(url=url, method="POST", body=bytes(1 << 25), seconds=0.2)
                )
            given_up.set()

        workers.begin(ask)
        assert given_up.wait(60)
        workers.close(http.close)

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        gc.collect()
    assert [str(each.message) for each in found] == []


@pytest.mark.parametrize(
    ("way", "value"),
    [("vector", [1.0, 0.5]), ("none", []), ("inf", [math.inf, -math.inf])],
)
def test_numbers_of_prometheus_are_read(
    way: str, value: object, server: str, measuring: Measuring
) -> None:
    found = measuring.sample(prometheus(f"{server}/{way}"))

    assert (found.error, found.value) == ("", value)


def test_nan_is_a_value_and_no_error(server: str, measuring: Measuring) -> None:
    found = measuring.sample(prometheus(f"{server}/nan"))

    assert found.error == ""
    assert isinstance(found.value, list)
    assert math.isnan(found.value[0])


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("{$.data.rate}", 0.99),
        ("$.data.ok", True),
        ("{.data.list}", [1, 2]),
        ("$.data.list[*]", [1, 2]),
        (None, {"data": {"ok": True, "rate": 0.99, "list": [1, 2]}}),
    ],
)
def test_a_path_finds_what_it_names(
    path: str | None, value: object, server: str, measuring: Measuring
) -> None:
    assert measuring.sample(web(f"{server}/good", jsonPath=path)).value == value


@pytest.mark.parametrize("path", ["$.data.missing", "$.data[", "$..["])
def test_a_path_that_finds_nothing_is_an_error(
    path: str, server: str, measuring: Measuring
) -> None:
    assert "jsonPath" in measuring.sample(web(f"{server}/good", jsonPath=path)).error


def test_half_a_character_in_an_answer_is_replaced(server: str, measuring: Measuring) -> None:
    """JSON can hold it and UTF-8 cannot: a status with it could not be written down."""
    found = measuring.sample(web(f"{server}/half"))

    assert found.value == {"word": "a\ufffd", "many": [1.5, None]}


def test_a_redirect_on_the_same_host_is_followed(server: str, measuring: Measuring) -> None:
    assert measuring.sample(web(f"{server}/here", jsonPath="$.data.ok")).value is True


def test_nobody_there_is_an_error(measuring: Measuring) -> None:
    assert "cannot be reached" in measuring.sample(web("http://127.0.0.1:1/")).error


@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254", "[fe80::1]", "[fd00:ec2::254]", "100.100.100.200", "0.0.0.0",
        "[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]", "2852039166", "0xa9fea9fe",
        "255.255.255.255", "224.0.0.1", "[::]", "168.63.129.16", "[fd20:ce::254]", "[fd00:42::42]",
        "[fd00:c1::a9fe:a9fe]", "[2002:a9fe:a9fe::1]", "[::169.254.169.254]", "[64:ff9b:1::a9fe:a9fe]",
        "[64:ff9b:1:a9fe:a9:fe00::]", "[2001:0:1::5601:5601]", "[2002:a83f:8110::]",
        "[::ffff:168.63.129.16]",
    ],
)  # fmt: skip
def test_no_setting_lets_reserved_addresses_be_asked(host: str) -> None:
    with pytest.raises(RefusedHostError):
        policy_of("*").check_name(host.strip("[]"))


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.9.9.9", "::1", "2130706433", "::ffff:127.0.0.1"]
)
def test_loopback_addresses_have_to_be_named(host: str) -> None:
    with pytest.raises(RefusedHostError):
        policy_of("").check_name(host)
    policy_of(host).check_name(host)


def test_a_name_that_has_a_loopback_address_is_refused_when_it_is_resolved(server: str) -> None:
    measuring = Measuring(HostPolicy())
    port = server.rpartition(":")[2]
    found = measuring.sample(web(f"http://localhost:{port}/good"))
    measuring.measurer.close()

    assert found.error == "host localhost has a loopback address"


def test_only_hosts_on_the_list_are_asked(server: str) -> None:
    measuring = Measuring(policy_of("prometheus.example.com, *.metrics"))
    found = measuring.sample(web(f"{server}/good"))
    measuring.measurer.close()

    assert "not among those that may be asked" in found.error


# -- TLS -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    key, cert, both = folder / "k.pem", folder / "c.pem", folder / "both.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
         "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", str(key), "-out", str(cert)],
        check=True, capture_output=True,
    )  # fmt: skip
    both.write_text(key.read_text() + cert.read_text())
    return both


def test_the_certificate_of_a_foreign_ca_is_refused_unless_the_metric_says_otherwise(
    certificate: Path, measuring: Measuring
) -> None:
    bundle = "-----BEGIN CERT" + certificate.read_text().partition("-----BEGIN CERT")[2]
    with bad_server(certificate) as address:
        refused = measuring.sample(web(f"{address}/good"))
        trusted = measuring.sample(web(f"{address}/good", caBundle=bundle))
        unlooked = measuring.sample(web(f"{address}/good", insecure=True))
        broken = measuring.sample(web(f"{address}/good", caBundle="none"))

    assert refused.error == "its certificate is not trusted"
    assert (trusted.error, unlooked.error) == ("", "")
    assert "caBundle" in broken.error


# -- Secrets ---------------------------------------------------------------------------------------

TOKEN = SecretRef(name="prometheus", key="token")


def with_secret(measuring: Measuring) -> None:
    measuring.hub.create(
        Ref(SECRET, "apps/prometheus"),
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"namespace": "apps", "name": "prometheus"},
            "data": {"token": "czNjcjN0"},
        },
    )


def bearer(url: str) -> Obj:
    return web(url, headers=[{"key": "Authorization", "value": "Bearer {{args.token}}"}])


def test_a_secret_is_sent_and_stands_in_no_result(server: str, measuring: Measuring) -> None:
    with_secret(measuring)
    path = {"jsonPath": "$.headers.Authorization"}
    asked = bearer(f"{server}/echo")
    found = measuring.sample({"web": {**asked["web"], **path}}, token=TOKEN)

    assert found.error == "the result repeats a Secret"


def test_a_secret_stands_in_no_message(server: str, measuring: Measuring) -> None:
    with_secret(measuring)
    found = measuring.sample(web("http://s3cr3t.invalid/{{args.token}}"), token=TOKEN)

    assert found.error
    assert "s3cr3t" not in found.error


def test_a_secret_that_is_not_there_is_named(server: str, measuring: Measuring) -> None:
    assert (
        measuring.sample(bearer(server), token=TOKEN).error == "there is no Secret apps/prometheus"
    )


# -- Jobs and plugins ------------------------------------------------------------------------------

JOB_REF = Ref(JOB, "apps/web-1-0-0")
COMPLETED: Obj = {"conditions": [{"type": "Complete", "status": "True"}]}


def job_of(measuring: Measuring) -> Obj:
    return measuring.hub.get(JOB_REF)


def a_job_is_there(measuring: Measuring, *finalizers: str, owner: str) -> None:
    """A Job of the name that the first measurement needs, which has completed. ``owner``: the name of its run."""
    ref = Ref(ROLLOUT_ANALYSIS_RUN, "apps/another")
    body = {"apiVersion": ref.kind.api_version, "kind": ref.kind.name, "metadata": {}}
    uid = str(measuring.hub.create(ref, body)["metadata"]["uid"])
    head = {"apiVersion": ref.kind.api_version, "kind": ref.kind.name, "controller": False}
    owners = [{**head, "name": owner, "uid": uid}] if owner else []
    meta = {"ownerReferences": owners, "finalizers": list(finalizers)}
    body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {}}
    measuring.hub.create(JOB_REF, body)
    measuring.hub.patch_status(JOB_REF, {"status": COMPLETED})


SMOKE: Obj = {"job": {"metadata": {"labels": {"a": "b"}}, "spec": {"template": {"spec": {}}}}}


def test_a_job_runs_once_and_its_end_is_the_result(measuring: Measuring) -> None:
    assert measuring.sample(SMOKE).is_pending
    assert measuring.sample(SMOKE).is_pending
    job = job_of(measuring)
    measuring.hub.patch_status(JOB_REF, {"status": COMPLETED})

    assert job["metadata"]["labels"] == {"a": "b"}
    assert job["metadata"]["ownerReferences"][0]["name"] == "web-1"
    assert measuring.sample(SMOKE).value == "Complete"


@pytest.mark.parametrize("owner", ["", "another"], ids=["of nobody", "of another run"])
def test_a_job_that_is_not_of_this_run_measures_nothing(owner: str, measuring: Measuring) -> None:
    a_job_is_there(measuring, owner=owner)

    assert measuring.sample(SMOKE).error == "Job apps/web-1-0-0 is there, and is not of this run"


def test_a_job_of_an_earlier_run_of_this_name_is_waited_out(measuring: Measuring) -> None:
    a_job_is_there(measuring, "example.com/slow", owner="web-1")
    assert measuring.sample(SMOKE).is_pending
    measuring.hub.delete(JOB_REF)
    assert measuring.sample(SMOKE).is_pending
    assert job_of(measuring)["metadata"]["deletionTimestamp"]
    measuring.hub.patch(JOB_REF, {"metadata": {"finalizers": []}})

    assert measuring.sample(SMOKE).is_pending
    assert job_of(measuring)["metadata"]["ownerReferences"][0]["uid"] == measuring.uid


class Failing:
    async def measure(self, told: Obj, http: HttpClient, now: datetime) -> object:
        raise RuntimeError(f"cannot {told['what']}")


class SpeechlessError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class Speechless:
    async def measure(self, told: Obj, http: HttpClient, now: datetime) -> object:
        raise SpeechlessError


class Halved:
    async def measure(self, told: Obj, http: HttpClient, now: datetime) -> object:
        raise RuntimeError("a\ud800")


class Odd:
    async def measure(self, told: Obj, http: HttpClient, now: datetime) -> object:
        return object()


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("failing", "the provider failed: RuntimeError: cannot measure"),
        ("odd", "the result is not JSON"),
        ("speechless", "measuring failed; the log says why"),
        ("halved", "the provider failed: RuntimeError: a\ufffd"),
        ("missing", "no provider is called missing"),
    ],
)
def test_a_plugin_that_fails_is_an_error(name: str, error: str) -> None:
    measuring = Measuring(failing=Failing(), odd=Odd(), speechless=Speechless(), halved=Halved())
    found = measuring.sample({"plugin": {name: {"what": "measure"}}})
    measuring.measurer.close()

    assert found.error == error


def test_a_plugin_is_found_by_its_entry_point_and_takes_no_name_of_a_built_in() -> None:
    target = f"{__name__}:Failing"
    fresh = EntryPoint("acme/metrics", target, "rollout.measures")
    taken = EntryPoint("web", target, "rollout.measures")

    with pytest.raises(PluginError):
        installed([taken])
    assert fresh.name == "acme/metrics"


def test_so_many_are_asked_at_once_and_no_more(server: str, measuring: Measuring) -> None:
    back = threading.Semaphore(0)
    run = run_of(web(f"{server}/slow"))
    began = SystemClock().now()
    for i in range(AT_ONCE + 1):
        mine = replace(run, ref=Ref(ROLLOUT_ANALYSIS_RUN, f"n{i % 5}/web-1"))
        write = Measure(ref=mine.ref, run=mine, metrics=("m",))
        measuring.measurer.measure(write, lambda _: back.release())
    for _ in range(AT_ONCE + 1):
        assert back.acquire(timeout=240)

    assert SystemClock().now() - began >= timedelta(seconds=2 * LATE)


def test_a_tenant_whose_servers_hang_leaves_places_to_the_others(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hang = threading.Event()
    monkeypatch.setitem(WAYS, "hanging", lambda to: (hang.wait(240), to.json(1))[1])
    measuring, answered = Measuring(), threading.Event()

    def ask(namespace: str, way: str, done: Callable[[], None]) -> None:
        ref = Ref(ROLLOUT_ANALYSIS_RUN, f"{namespace}/web-1")
        run = replace(run_of(web(f"{server}/{way}")), ref=ref)
        measuring.measurer.measure(Measure(ref=ref, run=run, metrics=("m",)), lambda _: done())

    for _ in range(2 * AT_ONCE):
        ask("evil", "hanging", lambda: None)
    ask("shop", "good", answered.set)
    is_answered = answered.wait(LONGEST_SECONDS / 2)
    hang.set()
    measuring.measurer.close()

    assert is_answered
