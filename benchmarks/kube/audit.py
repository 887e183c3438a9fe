"""Who asked the API server for what? Read from its audit log, so that it holds for any controller."""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

CONTROLLER = "controller"
"""The user whose requests are logged: the controller under test, and the bare loop."""
POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived", "ResponseStarted"],
    "rules": [{"level": "Metadata", "users": [CONTROLLER]}, {"level": "None"}],
}


class _Ref(msgspec.Struct):
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""


class _Response(msgspec.Struct):
    code: int = 0


class _Line(msgspec.Struct):
    verb: str
    requestReceivedTimestamp: datetime  # noqa: N815  as on the wire
    stageTimestamp: datetime  # noqa: N815
    objectRef: _Ref = msgspec.field(default_factory=_Ref)  # noqa: N815
    responseStatus: _Response = msgspec.field(default_factory=_Response)  # noqa: N815


_LINE = msgspec.json.Decoder(_Line)
A_SECOND = 0.95
"""Two writes that were sent a second apart can arrive a little closer."""
_WRITES = ("create", "update", "patch", "delete")
_UPKEEP = ("leases", "events", "subjectaccessreviews", "selfsubjectaccessreviews")
"""What a controller writes for itself: neither a decision nor a status."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request that was answered. ``began`` and ``ended`` in seconds, as the server had them."""

    verb: str
    what: str  # resource or resource/subresource
    where: str  # the object
    began: float
    ended: float
    code: int

    @property
    def decides(self) -> bool:
        return self.verb in _WRITES and self.what.partition("/")[0] not in _UPKEEP


class Audit:
    """Reads on from where it was."""

    def __init__(self, folder: Path) -> None:
        self._log, self._policy = folder / "audit.log", folder / "audit-policy.json"
        self._policy.write_bytes(msgspec.json.encode(POLICY))
        self._log.unlink(missing_ok=True)
        self._at = 0

    def flags(self) -> tuple[str, ...]:
        return (
            *("--audit-policy-file", str(self._policy)),
            *("--audit-log-path", str(self._log)),
            *("--audit-log-mode", "blocking"),
        )

    def read(self) -> list[Request]:
        """What was logged since the last time."""
        if not self._log.exists():
            return []
        with self._log.open("rb") as log:
            log.seek(self._at)
            text = log.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._at += len(whole)
        return list(_requests(whole.splitlines()))


def _requests(lines: Iterable[bytes]) -> Iterator[Request]:
    for line in lines:
        said = _LINE.decode(line)
        ref = said.objectRef
        yield Request(
            said.verb,
            f"{ref.resource}/{ref.subresource}" if ref.subresource else ref.resource,
            f"{ref.namespace}/{ref.name}",
            said.requestReceivedTimestamp.timestamp(),
            said.stageTimestamp.timestamp(),
            said.responseStatus.code,
        )


def counted(requests: Iterable[Request]) -> Counter[tuple[str, str]]:
    """By verb and resource."""
    return Counter((request.verb, request.what) for request in requests)


def rate(requests: Iterable[Request], verb: str, what: str) -> float:
    """Such requests a second, from the beginning of the first to the end of the last; 0 for none."""
    found = [r for r in requests if (r.verb, r.what) == (verb, what) and r.code < 300]
    if not found:
        return 0.0
    return len(found) / (max(r.ended for r in found) - min(r.began for r in found))


def status_writes(requests: Iterable[Request]) -> int:
    """The most writes of the status of one object within `A_SECOND`."""
    written: dict[tuple[str, str], deque[float]] = defaultdict(deque)
    most = 0
    for request in sorted(requests, key=lambda r: r.began):
        if request.verb in ("patch", "update") and request.what.endswith("/status"):
            recent = written[request.what, request.where]
            recent.append(request.began)
            while recent[0] <= request.began - A_SECOND:
                recent.popleft()
            most = max(most, len(recent))
    return most


def caches(requests: list[Request]) -> float:
    """When the last list before the first decision was answered."""
    first = min((r.began for r in requests if r.decides), default=float("inf"))
    return max((r.ended for r in requests if r.verb == "list" and r.ended <= first), default=first)
