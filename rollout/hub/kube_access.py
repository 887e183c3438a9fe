"""Which API server, and as whom? Kubeconfig or the pod's service account, as the official client reads them.

The one place that touches what the client keeps private (`connector`): a contract test holds it.
"""

import inspect
import logging
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from kubernetes.aio import client, config

from rollout.errors import ConfigError, Denied

log = logging.getLogger(__name__)

_IN_CLUSTER = Path(config.incluster_config.SERVICE_TOKEN_FILENAME)
_AUTH = ["BearerToken"]
CONNECTIONS = 128
"""For the writes of a full window, a watch for each kind, and reads."""
REFRESH_SECONDS = 60.0
"""Credentials of a kubeconfig that can run out (exec plugins, OIDC) are looked at this often."""


@dataclass(frozen=True, slots=True)
class Access:
    """What a person said about the server: nothing means $KUBECONFIG, ~/.kube/config or the pod's own.

    ``kubeconfig``: a file, or several joined by ``:`` as kubectl takes them.
    """

    kubeconfig: str | None = None
    context: str | None = None

    def is_in_cluster(self) -> bool:
        """Whether the pod's service account is meant: nothing else is named, and there is one."""
        if self.kubeconfig or self.context:
            return False
        files = str(config.KUBE_CONFIG_DEFAULT_LOCATION).split(":")
        return _IN_CLUSTER.is_file() and not any(Path(f).expanduser().is_file() for f in files)


class Credentials:
    """A configuration of the official client, and what keeps it valid.

    Nothing of the environment is trusted a second time: looking up proxies for each request costs
    more than the request.
    """

    def __init__(self, configuration: Any, loader: Any = None) -> None:
        self.configuration = configuration
        configuration.connection_pool_maxsize = CONNECTIONS  # the client reads it when it is made
        configuration.client_session_kwargs = {"trust_env": False}
        self._loader = loader
        self._api = client.ApiClient(configuration)
        self._looked_at = 0.0

    def can_run_out(self) -> bool:
        """Whether reading the kubeconfig again may give a newer token."""
        return self._loader is not None and not self.configuration.cert_file

    def session(self) -> aiohttp.ClientSession:
        """A new session that owns TLS and client certificates."""
        session: aiohttp.ClientSession = self._api.rest_client._create_pool_manager()
        return session

    async def sign(self, headers: dict[str, str], elapsed: float) -> None:
        """Put the authorization of this moment into ``headers``. The client's own hook runs here.

        Args:
            elapsed: seconds on any steady clock.
        """
        if self.can_run_out() and elapsed >= self._looked_at + REFRESH_SECONDS:
            await self.renew(elapsed)
        done = self._api.update_params_for_auth(headers, [], _AUTH, None, None, None)
        if inspect.isawaitable(done):
            await done

    async def renew(self, elapsed: float) -> bool:
        """Read the credentials again. Returns whether there may be newer ones."""
        if not self.can_run_out() or elapsed < self._looked_at + 1:
            return False
        self._looked_at = elapsed
        try:
            await self._loader.load_and_set(self.configuration)
        except Exception as error:  # a plugin of the user's may raise anything
            raise Denied(f"renew the credentials of the kubeconfig: {error}") from error
        return True

    async def close(self) -> None:
        await self._api.close()  # type: ignore[no-untyped-call]  # kubernetes has few types


async def credentials(access: Access) -> Credentials:
    """Read the configuration. Raises: ConfigError where there is none, or it cannot be used."""
    configuration = client.Configuration()
    configuration.retries = None  # retries are ours
    loader = None
    try:
        if access.is_in_cluster():
            config.load_incluster_config(configuration)  # type: ignore[no-untyped-call]
        else:
            loader = await config.load_kube_config(  # type: ignore[no-untyped-call]
                access.kubeconfig, access.context, configuration, persist_config=False
            )
        found = Credentials(configuration, loader)
    except (config.ConfigException, OSError, ValueError, TypeError) as error:
        raise ConfigError(f"read how to reach the API server{_named(access)}: {error}") from error
    if not configuration.proxy:
        configuration.proxy = _proxy_of(configuration.host)
    return found


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
