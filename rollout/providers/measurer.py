"""Asks many metric providers at the same time, on one thread with an event loop.

Nothing of it can hold up the engine: so many are asked at once, and so many for one namespace, each for so
long, and each ends with a sample. Secrets are read when they are needed, from the namespace of the run, and stand in no message.
"""

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from datetime import datetime

from rollout.clock import Clock
from rollout.hub.base import Hub
from rollout.measuring.templates import with_arguments
from rollout.measuring.values import AnalysisRun, Measure, Sample
from rollout.model.wording import shortened, whole
from rollout.providers.cluster_jobs import ClusterJobProvider
from rollout.providers.hosts import HostPolicy
from rollout.providers.http import LONGEST_SECONDS, HttpClient, UnmeasuredError
from rollout.providers.jobs import JobProvider
from rollout.providers.kinds import MetricProvider
from rollout.providers.secrets import UnreadSecretError, read_secret, without
from rollout.providers.workers import Blocking, Workers

log = logging.getLogger(__name__)

AT_ONCE, OF_ONE = 32, 8
"""So many metrics are measured at once, and so many of one namespace."""
LONGEST_MESSAGE = 512

OnMeasured = Callable[[Mapping[str, Sample]], None]


class ProviderMeasurer:
    """Implements `rollout.runtime.analysis_io.Measurer`.

    Args:
        hub: where Secrets, Jobs and ManifestWorks are; it is asked on threads of its own.
        providers: by the word that a metric names them with, or by the name below ``plugin``.
    """

    def __init__(
        self,
        hub: Hub,
        clock: Clock,
        providers: Mapping[str, MetricProvider],
        policy: HostPolicy,
    ) -> None:
        self._hub, self._clock = hub, clock
        self._providers = providers
        self._jobs, self._cluster_jobs = JobProvider(hub), ClusterJobProvider(hub)
        self._http = HttpClient(policy)
        self._workers = Workers("measuring", AT_ONCE, OF_ONE)
        self._asking = Blocking("measuring-hub", AT_ONCE, OF_ONE)

    def close(self) -> None:
        """End: what is being measured is given up, and told of no more."""
        self._workers.close(self._http.close)

    def measure(self, write: Measure, done: OnMeasured) -> None:
        self._workers.begin(lambda: self._all(write, done))

    async def _all(self, write: Measure, done: OnMeasured) -> None:
        asked = (self._one(write.run, name) for name in write.metrics)
        found = await asyncio.gather(*asked, return_exceptions=True)
        done(dict(zip(write.metrics, map(self._told, found), strict=True)))

    def _told(self, found: Sample | BaseException) -> Sample:
        if isinstance(found, Sample):
            return found
        log.error("measuring failed", exc_info=found)
        now = self._clock.now()
        return Sample(started_at=now, finished_at=now, error="measuring failed; the log says why")

    async def _one(self, run: AnalysisRun, name: str) -> Sample:
        async with self._workers.places.taken(run.ref.namespace):
            began = self._clock.now()
            secrets: dict[str, str] = {}
            value: object = None
            error, is_pending = "", False
            try:
                async with asyncio.timeout(LONGEST_SECONDS):
                    secrets.update(await self._secrets(run))
                    value, is_pending = await self._asked(run, name, secrets, began)
            except TimeoutError:
                error = f"no result within {LONGEST_SECONDS:g} s"
            except UnmeasuredError as fault:
                error = str(fault)
            except Exception as fault:  # noqa: BLE001  (a plugin may raise anything)
                error = f"the provider failed: {type(fault).__name__}: {fault}"
            return self._sample(began, value, error, secrets, is_pending=is_pending)

    def _sample(
        self,
        began: datetime,
        value: object,
        error: str,
        secrets: Mapping[str, str],
        *,
        is_pending: bool,
    ) -> Sample:
        """A sample in which no Secret stands, and that can be written down."""
        now = self._clock.now()
        if is_pending and not error:
            return Sample(started_at=began, finished_at=now, is_pending=True)
        try:
            shown = json.dumps(value, ensure_ascii=False)
            if (text := whole(shown)) != shown:
                shown, value = text, json.loads(text)
        except (TypeError, ValueError, RecursionError):
            shown, error = "", error or "the result is not JSON"
        error = whole(without(secrets.values(), error))
        if not error and any(secret in shown for secret in filter(None, secrets.values())):
            error = "the result repeats a Secret"
        if error:
            text = shortened(error, LONGEST_MESSAGE)
            return Sample(started_at=began, finished_at=now, error=text)
        return Sample(started_at=began, finished_at=now, value=value)

    async def _asked(
        self, run: AnalysisRun, name: str, secrets: Mapping[str, str], now: datetime
    ) -> tuple[object, bool]:
        """The result of a provider, and whether it is yet to come."""
        metric = next(each for each in run.metrics if each.name == name)
        ((kind, told),) = with_arguments(metric.provider, secrets).items()
        if kind == "job" and told.get("onCluster"):
            look = self._cluster_jobs.look
            return await self._asking.call(lambda: look(run, name, told, now))
        if kind == "job":
            return await self._asking.call(lambda: self._jobs.look(run, name, told))
        if kind == "plugin":
            ((kind, told),) = told.items()
        provider = self._providers.get(kind)
        if provider is None:
            raise UnmeasuredError(f"no provider is called {kind}")
        return await provider.measure(told, self._http, now), False

    async def _secrets(self, run: AnalysisRun) -> dict[str, str]:
        """The arguments that stand in Secrets. Raises: UnmeasuredError."""
        found: dict[str, str] = {}
        for name, ref in run.secrets.items():
            try:
                read = await read_secret(self._hub, self._asking, run.ref.namespace, ref.name)
                found[name] = read[ref.key]
            except UnreadSecretError as error:
                raise UnmeasuredError(str(error)) from error
            except KeyError as error:
                raise UnmeasuredError(f"Secret {ref.name} has no {ref.key} that is text") from error
        return found
