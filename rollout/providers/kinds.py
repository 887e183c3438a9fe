"""Asks the built-in providers, and takes the result out of their answers."""

import json
import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from importlib.metadata import EntryPoint
from typing import Protocol
from urllib.parse import urlencode

from rollout.api.analysis_metric import INSTANT_OF_RANGE
from rollout.model.amounts import parse_duration
from rollout.model.kinds import Obj
from rollout.plugins import offers
from rollout.providers.http import (
    HttpClient,
    MetricRequest,
    UnmeasuredError,
    headers_of,
    seconds_of,
)


class MetricProvider(Protocol):
    """Measures. A package adds one by an entry point of ``rollout.measures``.

    It runs on an event loop that it shares with all others: it awaits, and never blocks. What takes
    longer than ten seconds is given up.
    """

    async def measure(self, told: Obj, http: HttpClient, now: datetime) -> object:
        """The result, as JSON has values. ``told`` is what the metric says of the provider, with Secrets.

        Raises: UnmeasuredError where there is none. Any other error counts as one, too.
        """
        ...


class Prometheus:
    """An instant query, or a range query, of Prometheus' HTTP API."""

    async def measure(self, told: Obj, http: HttpClient, now: datetime) -> object:
        span = told.get("rangeQuery")
        asked: dict[str, str] = {"query": told["query"]}
        if span:
            asked["start"] = _instant(span["start"], now)
            asked["end"] = _instant(span["end"], now)
            step = parse_duration(span["step"])
            asked["step"] = f"{step.total_seconds():g}" if step else "60"
        path = "query_range" if span else "query"
        answer = await http.json(
            MetricRequest(
                url=f"{told['address'].rstrip('/')}/api/v1/{path}",
                method="POST",
                headers=[
                    ("Content-Type", "application/x-www-form-urlencoded"),
                    *headers_of(told),
                ],
                body=urlencode(asked).encode(),
                seconds=seconds_of(told.get("timeout")),
                insecure=bool(told.get("insecure")),
                ca_bundle=told.get("caBundle") or "",
            )
        )
        return _value(answer)


def _instant(text: str, now: datetime) -> str:
    match = INSTANT_OF_RANGE.match(text)
    back = parse_duration(match[1]) if match and match[1] else None
    return f"{(now - back if back else now).timestamp():.3f}"


def _value(answer: object) -> object:
    """The numbers in an answer. Raises: UnmeasuredError for another one than Prometheus gives."""
    try:
        if not isinstance(answer, dict) or answer["status"] != "success":
            said = answer.get("error") if isinstance(answer, dict) else None
            raise UnmeasuredError(f"Prometheus refuses the query: {said or 'it does not say why'}")
        data = answer["data"]
        kind, result = data["resultType"], data["result"]
        if kind == "scalar":
            return _number(result[1])
        if kind == "vector":
            return [_number(each["value"][1]) for each in result]
        if kind == "matrix":
            return [_number(pair[1]) for each in result for pair in each["values"]]
    except (KeyError, TypeError, IndexError, ValueError) as error:
        raise UnmeasuredError("the answer is not one of Prometheus") from error
    raise UnmeasuredError(f"a query that gives a {kind} measures nothing")


def _number(text: object) -> float:
    if not isinstance(text, str):
        raise TypeError(f"{text!r} is not a number as Prometheus writes them")
    return {"+Inf": math.inf, "-Inf": -math.inf}.get(text) or float(text)


class Web:
    """A request, and what is found in the JSON of its answer."""

    async def measure(self, told: Obj, http: HttpClient, now: datetime) -> object:
        headers, body = headers_of(told), told.get("body")
        if told.get("jsonBody") is not None:
            body = json.dumps(told["jsonBody"])
            headers = [("Content-Type", "application/json"), *headers]
        answer = await http.json(
            MetricRequest(
                url=told["url"],
                method=told.get("method") or "GET",
                headers=headers,
                body=body.encode() if isinstance(body, str) else None,
                seconds=seconds_of(told.get("timeoutSeconds")),
                insecure=bool(told.get("insecure")),
                ca_bundle=told.get("caBundle") or "",
            )
        )
        path = told.get("jsonPath")
        if not path:
            return answer
        # Here, since a controller that measures nothing has no use for it (25 ms of its start).
        from rollout.providers.jsonpath import found_at  # noqa: PLC0415

        return found_at(path, answer)


def installed(entries: Iterable[EntryPoint] | None = None) -> Mapping[str, MetricProvider]:
    """The built-in providers, and those of installed packages.

    Args:
        entries: instead of what is installed.

    Raises: PluginError for a name offered twice, one of a built-in, or one that cannot be loaded.
    """
    offered = offers(PROVIDERS, entries, what="provider", built_in=(*BUILT_IN, "job"))
    return {**BUILT_IN, **{name: offer.load() for name, offer in offered.items()}}


PROVIDERS = "rollout.measures"
BUILT_IN: Mapping[str, MetricProvider] = {"prometheus": Prometheus(), "web": Web()}
