"""Finds the API server and the credentials, from kubeconfig or the pod's service account.

The one place that touches what the client keeps private (`connector`): a contract test holds it.
"""

import asyncio
import inspect
import logging
import os
import re
import urllib.request
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import yaml

from rollout.errors import ConfigError
from rollout.hub.kube_client import client, config
from rollout.hub.kube_loop import Loop

log = logging.getLogger(__name__)

_IN_CLUSTER = Path(config.incluster_config.SERVICE_TOKEN_FILENAME)
_AUTH = ["BearerToken"]
CONNECTIONS = 128
"""For the writes of a full window, a watch for each kind, and reads."""
REFRESH_SECONDS = 60.0
"""Credentials that can run out (tokens of pods, exec plugins, OIDC, files) are read this often."""
_LEAST_SECONDS = 1.0
"""They are not read twice within this time."""
PLUGIN_SECONDS = 60.0
"""After so long a credentials plugin is ended: it may ask a person."""


@dataclass(frozen=True, slots=True)
class Access:
    """What a person said about the server: nothing means $KUBECONFIG, ~/.kube/config or the pod's own.

    ``kubeconfig``: one file, as kubectl takes it: only $KUBECONFIG is a list. ``token``: a bearer token
    that takes the place of whatever credentials these name; only where the server is follows from them.
    """

    kubeconfig: str | None = None
    context: str | None = None
    token: str | None = field(default=None, repr=False)

    def is_in_cluster(self) -> bool:
        """Whether the pod's service account is meant: nothing else is named, and there is one."""
        if self.kubeconfig or self.context:
            return False
        files = str(config.KUBE_CONFIG_DEFAULT_LOCATION).split(":")
        return _IN_CLUSTER.is_file() and not any(Path(f).expanduser().is_file() for f in files)


class Credentials:
    """A configuration of the official client, and what keeps it valid.

    What cannot be read again leaves the old credentials in place: they may be good for long.
    ``edition`` grows when the token or the client certificate has changed; ``certificate_edition``
    with the certificate alone, which a new `session` uses.

    A kubeconfig is read beside the requests: a plugin may take long, or hang, and until it has answered
    they go out with the old credentials. Used on the loop alone.

    Nothing of the environment is trusted a second time: looking up proxies for each request costs
    more than the request.
    """

    def __init__(
        self, configuration: Any, loader: Any = None, token_file: Path | None = None
    ) -> None:
        """
        Args:
            loader: of the official client, for a kubeconfig.
            token_file: of the service account, in a pod.
        """
        self.configuration = configuration
        self.edition = self.certificate_edition = 0
        configuration.connection_pool_maxsize = CONNECTIONS  # the client reads it when it is made
        configuration.client_session_kwargs = {"trust_env": False}
        self._loader, self._token_file = loader, token_file
        self._api = client.ApiClient(configuration)
        self._certificate = _contents(configuration)
        self._looked_at = 0.0
        self._renewal: asyncio.Task[None] | None = None  # the one that is under way

    def session(self) -> aiohttp.ClientSession:
        """A new session that owns TLS and client certificates."""
        session: aiohttp.ClientSession = self._api.rest_client._create_pool_manager()
        return session

    async def sign(self, headers: dict[str, str], elapsed: float) -> None:
        """Put the authorization of this moment into ``headers``. Waits for nothing.

        Args:
            elapsed: seconds on any steady clock.
        """
        if elapsed >= self._looked_at + REFRESH_SECONDS:
            if self._loader is None:
                await self._renew(elapsed)
            else:
                self._begin(elapsed)
        done = self._api.update_params_for_auth(headers, [], _AUTH, None, None, None)
        if inspect.isawaitable(done):
            await done

    async def renew(self, elapsed: float, *, patience: float) -> None:
        """Read the credentials again, where that has not just been done.

        Args:
            patience: so many seconds are waited for it; it goes on after that.
        """
        if self._renewal is not None or elapsed >= self._looked_at + _LEAST_SECONDS:
            await asyncio.wait((self._begin(elapsed),), timeout=patience)

    def _begin(self, elapsed: float) -> "asyncio.Task[None]":
        if self._renewal is None:
            self._renewal = asyncio.get_running_loop().create_task(self._renew(elapsed))
            self._renewal.add_done_callback(self._ended)
        return self._renewal

    def _ended(self, _: object) -> None:
        self._renewal = None

    async def _renew(self, elapsed: float) -> None:
        self._looked_at = elapsed
        before = dict(self.configuration.api_key)
        try:
            if self._token_file is not None:
                self._read_token(self._token_file)
            elif self._loader is not None:
                async with _plugin_heard():
                    await self._loader.load_and_set(self.configuration)
            await self._read_certificate()
        except Exception as error:  # noqa: BLE001  (a plugin of the user's may raise anything)
            self.configuration.api_key = before
            log.warning("reading the credentials again failed, the old ones are kept: %s", error)
        if self.configuration.api_key != before:
            self.edition += 1

    def _read_token(self, path: Path) -> None:
        token = path.read_text().strip()
        if not token:
            raise ConfigError(f"{path} is empty")
        self.configuration.api_key["BearerToken"] = f"Bearer {token}"

    async def _read_certificate(self) -> None:
        """Take the client certificate where its files have changed. Raises: OSError, SSLError."""
        found = _contents(self.configuration)
        if found == self._certificate:
            return
        old, self._api = self._api, client.ApiClient(self.configuration)
        await old.close()  # type: ignore[no-untyped-call]  # kubernetes has few types
        self._certificate = found
        self.edition += 1
        self.certificate_edition += 1

    async def close(self) -> None:
        await self._api.close()  # type: ignore[no-untyped-call]  # kubernetes has few types


def _contents(configuration: Any) -> tuple[bytes, ...]:
    """What is in the files of the client certificate and of its key."""
    files = (configuration.cert_file, configuration.key_file)
    return tuple(Path(file).read_bytes() for file in files if file)


async def credentials(access: Access) -> Credentials:
    """Read the configuration. Raises: ConfigError where there is none, or it cannot be used."""
    named = access.kubeconfig
    if named and not Path(named).is_file():  # the client prints a line of its own about it
        raise ConfigError(f"there is no kubeconfig {named}: give an existing file")
    if named and os.pathsep in named:  # the client would take it for a list
        raise ConfigError(f"cannot read kubeconfig {named}: its name has a {os.pathsep!r} in it")
    configuration = client.Configuration()
    configuration.retries = None  # retries are ours
    loader, token_file = None, None
    try:
        if access.is_in_cluster():
            token_file = _IN_CLUSTER
            config.load_incluster_config(  # type: ignore[no-untyped-call]
                configuration, try_refresh_token=False
            )
        else:
            async with _plugin_heard(matters=access.token is None):
                loader = await config.load_kube_config(  # type: ignore[no-untyped-call]
                    access.kubeconfig, access.context, configuration, persist_config=False
                )
        if access.token is not None:
            loader, token_file = None, None
            _sign_with(configuration, access.token)
        found = Credentials(configuration, loader, token_file)
    except Exception as error:  # what is no kubeconfig makes the client raise anything
        raise ConfigError(_unusable(access, error)) from error
    if not configuration.proxy:
        configuration.proxy = _proxy_of(configuration.host)
    return found


def _sign_with(configuration: Any, token: str) -> None:
    """Identify to the server by this token alone."""
    configuration.api_key = {"BearerToken": f"Bearer {token}"}
    configuration.api_key_prefix = {}
    configuration.cert_file = configuration.key_file = None
    configuration.username = configuration.password = None
    configuration.refresh_api_key_hook = None


def _unusable(access: Access, error: Exception) -> str:
    """Why there is no way to an API server."""
    if access.context and "object with name" in str(error):
        return f'context "{access.context}" is not in the kubeconfig'
    if access.is_in_cluster():
        return f"cannot read the credentials of the pod's service account: {error}"
    files = _files_of(access)
    if not files:
        return "there is no kubeconfig: name one with --kubeconfig, or set KUBECONFIG"
    fault = _fault_of(files)
    if not fault and "Expected key current-context" in str(error):
        return f"the kubeconfig {files[0]} has no current context: name one with --context"
    return f"cannot read the kubeconfig{f' {fault}' if fault else f'{_named(access)}: {error}'}"


def _files_of(access: Access) -> list[Path]:
    """The kubeconfigs that are there, of those that are named or of the usual ones."""
    usual = str(config.KUBE_CONFIG_DEFAULT_LOCATION).split(os.pathsep)
    named = [access.kubeconfig] if access.kubeconfig else usual
    return [path for each in named if (path := Path(each).expanduser()).is_file()]


def _fault_of(files: Iterable[Path]) -> str:
    """What a file is that is no kubeconfig at all; "" where that is not what is wrong."""
    for path in files:
        try:
            found = yaml.safe_load(path.read_text(encoding="utf-8"))
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            mark = getattr(error, "problem_mark", None)
            return f"{path}{f', line {mark.line + 1}' if mark else ''}: not YAML"
        except OSError as error:
            return f"{path}: {(error.strerror or str(error)).lower()}"
        lists = ("clusters", "contexts", "users")
        if not isinstance(found, dict) or any(
            not isinstance(found.get(each), list | None) for each in lists
        ):
            return f"{path}: no kubeconfig: an object with {', '.join(lists)} is accepted"
        if not found.get("clusters"):
            return f"{path}: it names no cluster"
    return ""


@asynccontextmanager
async def _plugin_heard(*, matters: bool = True) -> AsyncIterator[None]:
    """Raises: ConfigError where a plugin gives no credentials, or none in time.

    Without this the official client goes on without any, or waits for ever.
    """
    said: list[str] = []

    def hear(record: logging.LogRecord) -> bool:
        if record.levelno < logging.ERROR:
            return True
        said.append(_plain(record.getMessage()))
        return False

    logger = logging.getLogger(config.kube_config.__name__)
    logger.addFilter(hear)
    try:
        async with asyncio.timeout(PLUGIN_SECONDS):
            yield
    except TimeoutError as error:
        loop = asyncio.get_running_loop()
        if isinstance(loop, Loop):
            loop.end_programs()
        words = f"its credentials plugin gave no answer in {PLUGIN_SECONDS:g} s and was ended"
        raise ConfigError(words) from error
    finally:
        logger.removeFilter(hear)
    if said and matters:
        raise ConfigError(f"its credentials plugin failed: {said[-1]}")


_EXITED = re.compile(r"^exec: process returned (-?\d+)\. b?['\"]?(.*?)['\"]?$", re.DOTALL)
_ERRNO = re.compile(r"^\[Errno \d+\] ([^:]+): '([^']*)'$")


def _plain(said: str) -> str:
    """The client's words for a plugin, as a person would say them."""
    if found := _EXITED.match(said):
        code, words = found.groups()
        return f"exit code {code}{f', {words}' if words else ''}"
    if found := _ERRNO.match(said):
        return f"{found[2]}: {found[1].lower()}"
    return said.removeprefix("exec: ")


def _named(access: Access) -> str:
    parts = [f"kubeconfig {access.kubeconfig}" if access.kubeconfig else ""]
    parts.append(f"context {access.context}" if access.context else "")
    words = ", ".join(part for part in parts if part)
    return f" ({words})" if words else ""


def _proxy_of(host: str) -> str | None:
    """The proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name for this server."""
    parts = urlsplit(host)
    if not parts.hostname or urllib.request.proxy_bypass(parts.netloc):
        return None
    return urllib.request.getproxies().get(parts.scheme)
