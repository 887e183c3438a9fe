"""How does the hub reach a server? Tokens and who renews them, kubeconfigs, pods, proxies."""

import http.server
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from kubernetes.aio import config

from rollout.errors import ConfigError, Denied, Unavailable
from rollout.hub import kube_access
from rollout.hub.kube import KubeHub
from rollout.hub.kube_access import Access
from rollout.hub.kube_session import Times
from rollout.model.kinds import CONFIG_MAP
from tests.kube.contract import MAP
from tests.kube.facade import Facade, delay, facade, refuse, serving

__all__ = ["facade"]  # fixtures


def test_a_token_goes_with_every_request(facade: Facade, tmp_path: Path) -> None:
    hub = KubeHub(Access(str(facade.kubeconfig(tmp_path, token="abc"))))
    hub.list(CONFIG_MAP)
    hub.create(MAP, {"data": {}})
    hub.close()

    assert {a.headers["Authorization"] for a in facade.asked} == {"Bearer abc"}


def test_a_token_that_ran_out_is_renewed_by_its_plugin_and_the_request_repeated(
    facade: Facade, tmp_path: Path
) -> None:
    plugin = tmp_path / "plugin"
    credential = (
        '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",'
        ' "status": {"token": "token-%s"}}'
    )
    plugin.write_text(
        f"#!/bin/sh\necho x >>{tmp_path}/runs\nprintf '{credential}' $(wc -l <{tmp_path}/runs)\n"
    )
    plugin.chmod(0o755)
    path = facade.kubeconfig(tmp_path)
    user = (
        "{exec: {apiVersion: client.authentication.k8s.io/v1, "
        f"command: {plugin}, interactiveMode: Never}}}}"
    )
    path.write_text(path.read_text().replace("user: {}", f"user: {user}"))
    hub = KubeHub(Access(str(path)))
    hub.list(CONFIG_MAP)
    first = facade.asked[-1].headers["Authorization"]
    time.sleep(1.05)  # noqa: TID251  a plugin is not run twice in a second
    facade.script("create", refuse(401, "Unauthorized"))

    hub.create(MAP, {"data": {}})
    hub.close()

    last = facade.asked[-1].headers["Authorization"]
    assert first.startswith("Bearer token-")
    assert last.startswith("Bearer token-")
    assert last != first
    assert facade.count("create") == 2


def certificate(folder: Path, name: str) -> tuple[bytes, bytes]:
    """A certificate of this name, signed by itself, and its key."""
    files = [folder / f"{name}.crt", folder / f"{name}.key"]
    words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    words += ["-days", "2", "-subj", f"/CN={name}", "-out", str(files[0]), "-keyout", str(files[1])]
    subprocess.run(["openssl", *words], check=True, capture_output=True)
    return files[0].read_bytes(), files[1].read_bytes()


@contextmanager
def asking_for_certificates(folder: Path, *known: str) -> Iterator[tuple[str, list[str]]]:
    """A server that lets in whose certificates these are; its address, and who has asked it."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            assert isinstance(self.connection, ssl.SSLSocket)
            subject = (self.connection.getpeercert() or {}).get("subject", ())
            asked.extend(value for ((_, value),) in subject)  # type: ignore[misc, str-unpack]
            body = b'{"metadata": {"resourceVersion": "1"}, "items": []}'
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    certificate(folder, "server")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.crt", folder / "server.key")
    context.verify_mode = ssl.CERT_REQUIRED
    for name in known:
        context.load_verify_locations(folder / f"{name}.crt")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_client_certificate_whose_files_were_renewed_is_read_again_once_its_key_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kube_access, "REFRESH_SECONDS", 0.0)
    first, second = certificate(tmp_path, "first"), certificate(tmp_path, "second")
    cert, key = tmp_path / "client.crt", tmp_path / "client.key"
    cert.write_bytes(first[0])
    key.write_bytes(first[1])
    with asking_for_certificates(tmp_path, "first", "second") as (address, asked):
        path = config_of(tmp_path, address, f"{{client-certificate: {cert}, client-key: {key}}}")
        text = (
            Path(path)
            .read_text()
            .replace("cluster: {server", "cluster: {insecure-skip-tls-verify: true, server")
        )
        Path(path).write_text(text)
        with closing(KubeHub(Access(path))) as hub:
            hub.list(CONFIG_MAP)
            cert.write_bytes(second[0])  # its key is still to come
            for _ in range(3):
                hub.list(CONFIG_MAP)
            before = set(asked)
            key.write_bytes(second[1])
            until(lambda: bool(hub.list(CONFIG_MAP)) and asked[-1] == "second")

    assert before == {"first"}


@dataclass(frozen=True)
class Plugin:
    """A credentials plugin whose tokens are `token-N`. It hangs while there is a file ``hang``."""

    folder: Path
    kubeconfig: str

    def hang(self) -> None:
        (self.folder / "hang").touch()

    def answer(self) -> None:
        (self.folder / "hang").unlink()

    def runs(self) -> list[int]:
        """The process of each."""
        return [int(pid) for pid in (self.folder / "runs").read_text().split()]


@pytest.fixture
def plugin(facade: Facade, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plugin:
    """It is asked before each request, but for the time of one that is under way."""
    monkeypatch.setattr(kube_access, "REFRESH_SECONDS", 0.0)
    monkeypatch.setattr(kube_access, "_LEAST_SECONDS", 0.0)
    monkeypatch.setattr(kube_access, "PLUGIN_SECONDS", 60.0)
    path = tmp_path / "plugin"
    path.write_text(
        f"""#!/bin/sh
echo $$ >>{tmp_path}/runs
[ -e {tmp_path}/hang ] && exec sleep 300
printf '{{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",'
printf ' "status": {{"token": "token-%s"}}}}' $(wc -l <{tmp_path}/runs)
"""
    )
    path.chmod(0o755)
    exec_ = "{exec: {apiVersion: client.authentication.k8s.io/v1, command: '%s'}}"
    return Plugin(tmp_path, config_of(tmp_path, facade.url, exec_ % path))


def now() -> float:
    return time.monotonic()  # noqa: TID251  tests on real time


def until(is_so: Callable[[], bool]) -> None:
    end = now() + 20
    while not is_so():
        assert now() < end, "it takes too long"
        threading.Event().wait(0.01)


def is_alive(process: int) -> bool:
    return Path(f"/proc/{process}").exists()


def test_a_write_does_not_wait_for_a_plugin_that_hangs(facade: Facade, plugin: Plugin) -> None:
    with closing(KubeHub(Access(plugin.kubeconfig), times=Times(write=4.0))) as hub:
        plugin.hang()
        began = now()
        hub.create(MAP, {"data": {}})
        took = now() - began

    assert took < 3.0
    assert tokens(facade) == ["token-1"]


def test_a_write_and_its_repetition_with_newer_credentials_share_one_time_out(
    facade: Facade, plugin: Plugin
) -> None:
    async def late_refusal(request: Any) -> Any:
        await delay(0.6)(request)
        return await refuse(401, "Unauthorized")(request)

    with closing(KubeHub(Access(plugin.kubeconfig), times=Times(write=1.0))) as hub:
        facade.script("create", late_refusal, delay(3))
        began = now()
        with pytest.raises(Unavailable):
            hub.create(MAP, {"data": {}})
        took = now() - began

    assert facade.count("create") == 2
    assert took < 1.5


def test_a_write_that_was_refused_while_a_plugin_hangs_is_not_sent_again_after_its_time_out(
    facade: Facade, plugin: Plugin
) -> None:
    with closing(KubeHub(Access(plugin.kubeconfig), times=Times(write=0.5))) as hub:
        plugin.hang()
        facade.script("create", refuse(401, "Unauthorized"))
        with pytest.raises(Unavailable, match="no newer credentials in time"):
            hub.create(MAP, {"data": {}})
        hub.list(CONFIG_MAP)

    assert facade.count("create") == 1


def test_a_plugin_that_hangs_is_ended_and_asked_again(
    facade: Facade, plugin: Plugin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kube_access, "PLUGIN_SECONDS", 0.3)
    with closing(KubeHub(Access(plugin.kubeconfig))) as hub:
        plugin.hang()
        hub.list(CONFIG_MAP)
        until(lambda: len(plugin.runs()) == 2)
        plugin.answer()
        until(lambda: not is_alive(plugin.runs()[1]))
        until(lambda: bool(hub.list(CONFIG_MAP)) and tokens(facade)[-1] != "token-1")


def test_a_plugin_that_hangs_from_the_first_is_ended_and_named(
    plugin: Plugin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kube_access, "PLUGIN_SECONDS", 0.3)
    plugin.hang()

    assert refused(plugin.kubeconfig).endswith(
        "its credentials plugin gave no answer in 0.3 s and was ended"
    )
    until(lambda: not is_alive(plugin.runs()[0]))


def test_a_plugin_does_not_outlive_the_connection(plugin: Plugin) -> None:
    with closing(KubeHub(Access(plugin.kubeconfig))) as hub:
        plugin.hang()
        hub.list(CONFIG_MAP)
        until(lambda: len(plugin.runs()) == 2)

    until(lambda: not is_alive(plugin.runs()[1]))


def test_a_watch_connects_again_while_a_plugin_hangs(facade: Facade, plugin: Plugin) -> None:
    with closing(KubeHub(Access(plugin.kubeconfig), times=Times(silence=0.5))) as hub:
        hub.watch(CONFIG_MAP, hub.list(CONFIG_MAP).version, lambda event: None)
        until(hub.is_watching)
        plugin.hang()
        before = facade.count("watch")
        until(lambda: facade.count("watch") > before + 1 and hub.is_watching())


@pytest.fixture
def pod(facade: Facade, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The token file of a pod whose API server is the facade."""
    token = tmp_path / "token"
    token.write_text("one")

    def load(configuration: Any, *, try_refresh_token: bool) -> None:
        assert not try_refresh_token
        configuration.host = facade.url
        configuration.api_key["BearerToken"] = f"Bearer {token.read_text()}"

    monkeypatch.setattr(kube_access, "_IN_CLUSTER", token)
    monkeypatch.setattr(
        "kubernetes.aio.config.KUBE_CONFIG_DEFAULT_LOCATION", str(tmp_path / "none")
    )
    monkeypatch.setattr("kubernetes.aio.config.load_incluster_config", load)
    monkeypatch.setattr(kube_access, "_LEAST_SECONDS", 0.0)
    return token


def tokens(facade: Facade) -> list[str]:
    return [asked.headers["Authorization"].removeprefix("Bearer ") for asked in facade.asked]


@pytest.mark.parametrize("damage", ["empty", "missing"])
def test_a_token_file_that_cannot_be_read_leaves_the_old_token_in_use(
    damage: str, facade: Facade, pod: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kube_access, "REFRESH_SECONDS", 0.0)
    hub = KubeHub(Access())
    if damage == "empty":
        pod.write_text("")
    else:
        pod.unlink()
    hub.list(CONFIG_MAP)
    pod.write_text("two\n")
    hub.list(CONFIG_MAP)
    hub.close()

    assert tokens(facade) == ["one", "two"]


def test_a_token_that_is_refused_is_read_again_at_once_and_the_request_repeated(
    facade: Facade, pod: Path
) -> None:
    hub = KubeHub(Access())
    hub.list(CONFIG_MAP)
    pod.write_text("two")
    facade.script("create", refuse(401, "Unauthorized"))
    hub.create(MAP, {"data": {}})
    hub.close()

    assert tokens(facade) == ["one", "one", "two"]


def test_a_refusal_with_no_newer_token_is_told_and_not_repeated(facade: Facade, pod: Path) -> None:
    hub = KubeHub(Access())
    facade.script("create", refuse(401, "Unauthorized"))
    with pytest.raises(Denied):
        hub.create(MAP, {"data": {}})
    hub.close()

    assert tokens(facade) == ["one"]


@pytest.mark.parametrize(
    ("access", "words"),
    [
        pytest.param(Access("/nowhere/kubeconfig"), "kubeconfig /nowhere", id="no file"),
        pytest.param(Access(None, "nowhere"), 'context "nowhere" is not in', id="no context"),
    ],
)
def test_a_configuration_that_cannot_be_used_says_which(
    access: Access, words: str, tmp_path: Path, facade: Facade, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "kubernetes.aio.config.KUBE_CONFIG_DEFAULT_LOCATION", str(facade.kubeconfig(tmp_path))
    )
    before = threading.active_count()

    with pytest.raises(ConfigError, match=words):
        KubeHub(access if access.kubeconfig else Access(str(tmp_path / "kubeconfig"), "nowhere"))
    assert threading.active_count() <= before, "one of an earlier test may have ended meanwhile"


def test_in_a_pod_the_service_account_is_used_unless_a_kubeconfig_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = tmp_path / "token"
    token.write_text("pod-token")
    monkeypatch.setattr(kube_access, "_IN_CLUSTER", token)
    monkeypatch.setattr(
        "kubernetes.aio.config.KUBE_CONFIG_DEFAULT_LOCATION", str(tmp_path / "none")
    )

    assert Access().is_in_cluster()
    assert not Access(str(tmp_path / "mine")).is_in_cluster()
    (tmp_path / "none").write_text("")
    assert not Access().is_in_cluster()


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, None),
        ({"HTTPS_PROXY": "http://proxy:3128"}, "http://proxy:3128"),
        ({"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "hub.example.com"}, None),
        ({"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": ".example.com"}, None),
        ({"HTTP_PROXY": "http://proxy:3128"}, None),
    ],
    ids=str,
)
def test_the_environment_names_the_proxy(
    environment: dict[str, str], expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"):
        for spelled in (name, name.lower()):
            monkeypatch.delenv(spelled, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    assert kube_access._proxy_of("https://hub.example.com:6443") == expected


def test_requests_go_through_a_proxy_that_the_kubeconfig_names(tmp_path: Path) -> None:
    with serving() as proxy:
        path = proxy.kubeconfig(tmp_path)
        text = path.read_text().replace(
            f"server: '{proxy.url}'", f"server: 'http://hub.invalid', proxy-url: '{proxy.url}'"
        )
        path.write_text(text)
        hub = KubeHub(Access(str(path)))
        assert hub.list(CONFIG_MAP).items == ()
        hub.close()

        assert proxy.asked[-1].headers["Host"] == "hub.invalid"


def config_of(place: Path, server: str, user: str = "{token: x}") -> str:
    path = place / "config"
    path.write_text(
        f"""apiVersion: v1
kind: Config
current-context: c
clusters: [{{name: c, cluster: {{server: "{server}"}}}}]
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
users: [{{name: u, user: {user}}}]
"""
    )
    return str(path)


def refused(path: str) -> str:
    """What is said where a hub cannot be read."""
    try:
        with closing(KubeHub(Access(path), patience=0.1)) as hub:
            hub.list(CONFIG_MAP)
    except (ConfigError, Unavailable) as fault:
        return str(fault)
    raise AssertionError("the hub could be read")


LISTS = "no kubeconfig: an object with clusters, contexts, users is accepted"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"a: [\n", "config, line 2: not YAML"),
        (b"\xa4\xa4", "config: not YAML"),
        (b"just text\n", f"config: {LISTS}"),
        (b"- a\n", f"config: {LISTS}"),
        (b"", f"config: {LISTS}"),
        (b"clusters: 5\ncontexts: x\n", f"config: {LISTS}"),
        (b"{}", "config: it names no cluster"),
    ],
)
def test_a_file_that_is_no_kubeconfig_is_refused_in_plain_words(
    tmp_path: Path, content: bytes, told: str
) -> None:
    path = tmp_path / "config"
    path.write_bytes(content)

    assert refused(str(path)) == f"cannot read the kubeconfig {tmp_path}/{told}"


def test_a_kubeconfig_without_a_current_context_asks_for_one(tmp_path: Path) -> None:
    path = Path(config_of(tmp_path, "https://127.0.0.1:1"))
    path.write_text(path.read_text().replace("current-context: c\n", ""))

    assert refused(str(path)) == (
        f"the kubeconfig {path} has no current context: name one with --context"
    )


@pytest.mark.parametrize("context", [None, "hub"])
def test_where_there_is_no_kubeconfig_one_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, context: str | None
) -> None:
    monkeypatch.setattr(config, "KUBE_CONFIG_DEFAULT_LOCATION", str(tmp_path / "none"))
    monkeypatch.setattr(config.kube_config, "KUBE_CONFIG_DEFAULT_LOCATION", str(tmp_path / "none"))

    with pytest.raises(ConfigError, match=r"^there is no kubeconfig: name one"):
        KubeHub(Access(context=context), patience=0.1).list(CONFIG_MAP)


def test_a_kubeconfig_that_is_not_there_is_an_error_and_no_line_of_the_client(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    path = f"{tmp_path}/none"

    assert refused(path) == f"there is no kubeconfig {path}: give an existing file"
    assert (capfd.readouterr(), caplog.records) == (("", ""), [])


def test_a_kubeconfig_that_is_named_is_one_file_and_no_list(tmp_path: Path) -> None:
    path = config_of(tmp_path, "http://127.0.0.1:1")
    both = f"{path}:{path}"

    assert refused(both) == f"there is no kubeconfig {both}: give an existing file"

    odd = Path(f"{path}:odd")
    odd.write_text(Path(path).read_text())
    assert refused(str(odd)) == f"cannot read kubeconfig {odd}: its name has a ':' in it"


EXEC = "{exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: %s, args: [-c, %s]}}"


@pytest.mark.parametrize(
    ("command", "script", "told"),
    [
        ("nosuchplugin", "x", "nosuchplugin: no such file or directory"),
        ("sh", "'echo no login >&2; exit 3'", "exit code 3, no login"),
    ],
)
def test_a_credentials_plugin_that_fails_is_an_error_and_no_line_of_a_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, command: str, script: str, told: str
) -> None:
    path = config_of(tmp_path, "https://127.0.0.1:1", EXEC % (command, script))

    assert refused(path).endswith(f"config): its credentials plugin failed: {told}")
    assert caplog.records == []


@pytest.mark.parametrize(
    ("server", "told"),
    [
        ("https://127.0.0.1:1", "cannot connect to 127.0.0.1:1: connection refused"),
        ("https://nosuch.invalid", "there is no host nosuch.invalid ("),
        ("htp:/x", "the API server's address is not a URL: htp:/x/"),
    ],
)
def test_what_keeps_one_from_a_server_is_told_in_plain_words(
    tmp_path: Path, server: str, told: str
) -> None:
    found = refused(config_of(tmp_path, server))

    assert told in found
    assert "Error" not in found
