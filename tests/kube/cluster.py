"""A real API server for tests: kube-apiserver and etcd on loopback and free ports, with TLS and RBAC.

``python -m tests.kube.cluster`` starts one by hand and prints its kubeconfig. There is no
kube-controller-manager: no garbage collector, no namespace controller.
"""

import base64
import contextlib
import ctypes
import os
import secrets
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

READY_SECONDS = 240
_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG


class Missing(Exception):
    """There is no API server on this machine; the message says how to get one."""


def assets() -> Path:
    """The folder with kube-apiserver and etcd. Raises: Missing."""
    named = os.environ.get("KUBEBUILDER_ASSETS")
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    folder = Path(named) if named else Path(cache) / "rollout-kube" / "bin"
    for program in ("kube-apiserver", "etcd"):
        if not os.access(folder / program, os.X_OK):
            raise Missing(f"{folder / program} is not there: `make kube-assets` puts it there")
    return folder


_given: deque[int] = deque(maxlen=200)


def free_port() -> int:
    """A port that nobody listens on, and that no other test is about to listen on.

    It is below those that the kernel gives to whoever connects: any of those could be gone again by the
    time a server that starts has got to binding it. It is given to no test that runs beside this one, nor
    soon again: whoever asked may not listen yet.
    """
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    while True:
        port = 12000 + worker % 8 * 2500 + secrets.randbelow(2500)  # nobody seeds it
        with socket.socket() as s, contextlib.suppress(OSError):
            if port not in _given:
                s.bind(("127.0.0.1", port))
                _given.append(port)
                return port


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)


@dataclass
class Cluster:
    """One API server with its etcd, in ``folder``. `start`, then `stop`; both may be repeated."""

    folder: Path
    binaries: Path = field(default_factory=assets)
    flags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.port, self._client, self._peer = free_port(), free_port(), free_port()
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._pki = self.folder / "pki"
        self._pki.mkdir(parents=True, exist_ok=True)
        (self.folder / "etcd").mkdir(mode=0o700, exist_ok=True)
        self._make_keys()
        self.kubeconfig = self.user("admin", "system:masters")

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    # -- keys ----------------------------------------------------------------------------------

    def _openssl(self, *arguments: str, stdin: str = "") -> None:
        subprocess.run(
            ["openssl", *arguments],
            cwd=self._pki,
            check=True,
            capture_output=True,
            input=stdin.encode(),
        )

    def _make_keys(self) -> None:
        self._openssl("genrsa", "-out", "sa.key", "2048")
        self._openssl("rsa", "-in", "sa.key", "-pubout", "-out", "sa.pub")
        self._openssl(
            *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
            *("-keyout", "ca.key", "-out", "ca.crt", "-days", "30", "-subj", "/CN=test-ca"),
            *("-addext", "keyUsage=critical,keyCertSign,cRLSign"),
        )
        names = "IP:127.0.0.1,IP:10.0.0.1,DNS:localhost"
        self._sign("server", "/CN=kube-apiserver", f"subjectAltName={names}")

    def _sign(self, name: str, subject: str, extension: str) -> None:
        self._openssl(
            *("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
            *("-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", subject),
        )
        extensions = (
            f"{extension}\nauthorityKeyIdentifier=keyid\nkeyUsage=critical,digitalSignature\n"
        )
        (self._pki / f"{name}.ext").write_text(extensions)
        self._openssl(
            *("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key"),
            *("-CAcreateserial", "-out", f"{name}.crt", "-days", "30", "-extfile", f"{name}.ext"),
        )

    def user(self, name: str, group: str = "") -> Path:
        """A kubeconfig for a user with a client certificate; RBAC says what it may do."""
        subject = (f"/O={group}" if group else "") + f"/CN={name}"
        self._sign(name, subject, "extendedKeyUsage=clientAuth")
        text = {
            part: base64.b64encode((self._pki / file).read_bytes()).decode()
            for part, file in (("ca", "ca.crt"), ("crt", f"{name}.crt"), ("key", f"{name}.key"))
        }
        path = self.folder / f"{name}.kubeconfig"
        path.write_text(
            "apiVersion: v1\nkind: Config\ncurrent-context: test\n"
            f"clusters: [{{name: test, cluster: {{server: '{self.url}', "
            f"certificate-authority-data: {text['ca']}}}}}]\n"
            f"users: [{{name: {name}, user: {{client-certificate-data: {text['crt']}, "
            f"client-key-data: {text['key']}}}}}]\n"
            f"contexts: [{{name: test, context: {{cluster: test, user: {name}}}}}]\n"
        )
        path.chmod(0o600)
        return path

    # -- processes -----------------------------------------------------------------------------

    def start(self) -> None:
        """Start both and wait until the API server is ready. Raises: RuntimeError with its log."""
        self.start_etcd()
        self.start_apiserver()

    def start_etcd(self) -> None:
        client, peer = f"http://127.0.0.1:{self._client}", f"http://127.0.0.1:{self._peer}"
        self._run(
            "etcd",
            *("--name", "test", "--data-dir", "etcd", "--unsafe-no-fsync"),
            *("--listen-client-urls", client, "--advertise-client-urls", client),
            *("--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer),
            *("--initial-cluster", f"test={peer}"),
        )

    def start_apiserver(self) -> None:
        issuer = "https://kubernetes.default.svc"
        self._run(
            "kube-apiserver",
            *("--etcd-servers", f"http://127.0.0.1:{self._client}"),
            *("--secure-port", str(self.port), "--bind-address", "127.0.0.1"),
            *("--advertise-address", "127.0.0.1", "--endpoint-reconciler-type", "none"),
            *("--tls-cert-file", "pki/server.crt", "--tls-private-key-file", "pki/server.key"),
            *("--client-ca-file", "pki/ca.crt", "--authorization-mode", "RBAC"),
            *("--service-account-key-file", "pki/sa.pub"),
            *("--service-account-signing-key-file", "pki/sa.key"),
            *("--service-account-issuer", issuer, "--api-audiences", issuer),
            *("--service-cluster-ip-range", "10.0.0.0/24"),
            *("--disable-admission-plugins", "ServiceAccount"),
            *self.flags,
        )
        self._wait_until_ready()

    def _run(self, program: str, *arguments: str) -> None:
        with (self.folder / f"{program}.log").open("ab") as log:
            self._processes[program] = subprocess.Popen(
                [self.binaries / program, *arguments],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_die_with_parent,  # noqa: PLW1509  only sets a flag of its own
            )

    def _context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self._pki / "ca.crt"))
        context.load_cert_chain(self._pki / "admin.crt", self._pki / "admin.key")
        return context

    def fetch(self, path: str, accept: str = "application/json") -> bytes:
        """GET as the admin, in any representation, without our client."""
        request = urllib.request.Request(self.url + path, headers={"Accept": accept})
        with urllib.request.urlopen(request, context=self._context(), timeout=60) as answer:
            body: bytes = answer.read()
            return body

    def _wait_until_ready(self) -> None:
        context = self._context()
        end = time.monotonic() + READY_SECONDS  # noqa: TID251  a test waits for a process
        while time.monotonic() < end:  # noqa: TID251
            if self._processes["kube-apiserver"].poll() is not None:
                break
            try:
                with urllib.request.urlopen(f"{self.url}/readyz", context=context, timeout=10):
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)  # noqa: TID251
        log = (self.folder / "kube-apiserver.log").read_text(errors="replace")
        raise RuntimeError(f"kube-apiserver did not become ready:\n{log[-3000:]}")

    @property
    def pids(self) -> list[int]:
        """Of the processes that run."""
        return [process.pid for process in self._processes.values()]

    def signal(self, program: str, number: signal.Signals) -> None:
        """Send a signal to ``etcd`` or ``kube-apiserver``: SIGSTOP and SIGCONT pause it."""
        self._processes[program].send_signal(number)

    def end(self, program: str) -> None:
        """End one of the two, gently first. Its data stay."""
        process = self._processes.pop(program, None)
        if process is None:
            return
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def stop(self) -> None:
        """End both and forget all objects."""
        self.end("kube-apiserver")
        self.end("etcd")
        shutil.rmtree(self.folder / "etcd", ignore_errors=True)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="rollout-kube-") as folder:
        cluster = Cluster(Path(folder), flags=tuple(sys.argv[1:]))
        try:
            cluster.start()
            print(f"export KUBECONFIG={cluster.kubeconfig}", flush=True)
            signal.sigwait({signal.SIGINT, signal.SIGTERM})
        finally:
            cluster.stop()


if __name__ == "__main__":
    main()
