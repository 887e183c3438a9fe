"""The requests to an API server, one for each verb of a hub, for code on the loop.

`KubeHub` waits for them; whoever writes asynchronously awaits them. Kinds of ours have a version;
that of others, which objects refer to by group and resource, is found by `Discovery`.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec

from rollout.errors import Expired, Gone, HubError, NotServed, Throttled, Unavailable
from rollout.hub import kube_objects as wire
from rollout.hub.base import Listing
from rollout.hub.kube_answers import error_of
from rollout.hub.kube_session import JSON, MERGE_PATCH, HttpAnswer, Session
from rollout.model.backoff import Backoff
from rollout.model.kinds import Kind, Obj, Ref
from rollout.model.secrets import secret_texts

Fetch = Callable[[str], Awaitable[bytes]]
"""``path -> body``. Raises: HubError."""


class Discovery:
    """Under which version the server has a kind: the one that it prefers, else the first that has it.

    Looked up once, and anew after `forget`. Used on the loop alone.
    """

    def __init__(self, ask: Fetch) -> None:
        self._ask = ask
        self._found: dict[Kind, str] = {}

    async def version_of(self, kind: Kind) -> str:
        """Raises: NotServed where the server has no such resource; HubError."""
        known = kind.version or self._found.get(kind)
        if not known:
            known = self._found[kind] = await self._look_up(kind)
        return known

    def forget(self, kind: Kind) -> None:
        """The server does not have it (any more) where it was."""
        self._found.pop(kind, None)

    async def _look_up(self, kind: Kind) -> str:
        group = f"/apis/{quote(kind.group, safe='')}" if kind.group else "/api"
        for version in _versions(await self._document(group, kind)):
            document = await self._document(f"{group}/{quote(version, safe='')}", kind)
            for resource in document.get("resources") or ():
                if resource.get("name") != kind.plural:
                    continue
                if bool(resource.get("namespaced")) != kind.namespaced:
                    where = "namespaces" if resource.get("namespaced") else "no namespace"
                    raise NotServed(
                        f"look {_name(kind)} up: they live in {where}; name such an object"
                    )
                return version
        raise NotServed(f"look {_name(kind)} up: the server does not have them")

    async def _document(self, path: str, kind: Kind) -> dict[str, Any]:
        try:
            found = msgspec.json.decode(await self._ask(path))
        except Gone as error:
            raise NotServed(
                f"look {_name(kind)} up: the server does not have them;"
                " is the CustomResourceDefinition installed?"
            ) from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise Unavailable(f"look {_name(kind)} up: no JSON at {path}: {error}") from error
        if not isinstance(found, dict):
            raise Unavailable(f"look {_name(kind)} up: no object at {path}")
        return found


def _versions(group: dict[str, Any]) -> Iterator[str]:
    """Those of a group, the preferred one first, each once."""
    preferred = (group.get("preferredVersion") or {}).get("version")
    listed = [entry.get("version") for entry in group.get("versions") or ()]
    yield from dict.fromkeys(version for version in (preferred, *listed) if version)


def _name(kind: Kind) -> str:
    return f"{kind.plural}.{kind.group}".rstrip(".")


T = TypeVar("T")

PAGE = 500
_RESTARTS = 5  # of a list that expired between its pages
_RETRY = Backoff(first=timedelta(milliseconds=100), longest=timedelta(seconds=5), jitter=0.5)


class Calls:
    """See the module. All methods raise `HubError` subclasses as `Hub` says.

    Args:
        only: kinds of which a list or watch of all namespaces shows only what this selector names.
    """

    def __init__(self, session: Session, only: Mapping[Kind, str]) -> None:
        self.session, self.reader = session, wire.ObjectDecoder()
        self.only = only
        self.discovery = Discovery(lambda path: self.send("GET", path))
        self._random = random.Random()  # noqa: S311  (jitter, not secrets)
        self._newest: dict[Kind, int] = {}

    def saw(self, kind: Kind, version: int) -> None:
        """An object of this kind was written or read in this version: see `list_labelled`."""
        self._newest[kind] = max(version, self._newest.get(kind, 0))

    def _object(self, kind: Kind, body: bytes) -> Obj:
        obj = self.reader.object(kind, body)
        version = obj["metadata"].get("resourceVersion")
        if version is not None:  # what the server only answers to, such as a review, has none
            self.saw(kind, wire.version_number(version))
        return obj

    async def get(self, ref: Ref) -> Obj:
        answer = await self._ask(f"get {ref}", "GET", await self._path(ref), of_object=True)
        return self._object(ref.kind, answer.body)

    async def list_labelled(self, kind: Kind, label: str, values: Iterable[str]) -> Sequence[Obj]:
        """The objects of a kind, in any namespace, whose label has one of these values.

        No older than the newest object of that kind that was written or read here, and from the API
        server's cache where it has one: to list them from the store costs as much as the whole fleet.
        Objects' versions are asked for, never that of a list: a server's cache may wait in vain for
        a version that no object of the kind has.
        """
        path = wire.path_of(kind, version=await self.discovery.version_of(kind))
        newest = self._newest.get(kind)
        query = wire.query_of(
            labelSelector=f"{label} in ({','.join(values)})",
            resourceVersion=newest,
            resourceVersionMatch="NotOlderThan" if newest else None,
        )
        answer = await self._ask(f"list {kind.plural}", "GET", path + query)
        return self.reader.page(kind, answer.body).objects()

    async def list(
        self, kind: Kind, namespace: str | None = None, labels: Mapping[str, str] | None = None
    ) -> Listing:
        """All pages of one version; from the beginning again where they expire in between."""
        for _ in range(_RESTARTS):
            try:
                return await self._pages(kind, namespace, labels)
            except Expired:
                continue
        raise Unavailable(f"list {kind.plural}: the list kept expiring before its end was read")

    async def _pages(
        self, kind: Kind, namespace: str | None, labels: Mapping[str, str] | None
    ) -> Listing:
        always = self.only.get(kind, "") if namespace is None else ""
        selector = wire.label_selector(labels, always)
        path = wire.path_of(kind, namespace, version=await self.discovery.version_of(kind))

        def ask(token: str) -> "asyncio.Task[HttpAnswer]":
            query = wire.query_of(limit=PAGE, labelSelector=selector, **{"continue": token})
            work = self._ask(f"list {kind.plural}", "GET", path + query)
            return asyncio.get_running_loop().create_task(work)

        found: list[Obj] = []
        asked: asyncio.Task[HttpAnswer] | None = ask("")
        try:
            while asked is not None:
                page = self.reader.page(kind, (await asked).body)
                # The server makes the next page while this one is decoded.
                asked = ask(page.token) if page.token else None
                for items in page.slices():
                    found += items
                    await asyncio.sleep(0)
        except Gone as error:  # a collection is never gone: the kind is not there
            self.discovery.forget(kind)
            raise NotServed(
                f"list {kind.plural}: the server does not have them; "
                f"is the CustomResourceDefinition installed? ({error})"
            ) from error
        finally:
            if asked is not None:
                asked.cancel()
        versions = (int(obj["metadata"].get("resourceVersion", 0)) for obj in found)
        self.saw(kind, max(versions, default=0))
        return Listing(wire.by_key(kind, found), page.version)

    async def create(self, ref: Ref, obj: Obj) -> Obj:
        body = wire.encode(wire.named(ref, obj))
        path = wire.collection_path(ref, await self.discovery.version_of(ref.kind))
        answer = await self._ask(f"create {ref}", "POST", path, body, carries=obj, of_object=True)
        return self._object(ref.kind, answer.body)

    async def patch(self, ref: Ref, changes: Obj, version: int | None = None) -> Obj:
        return await self._patch(
            f"patch {ref}", ref, await self._path(ref), changes, version=version
        )

    async def patch_status(self, ref: Ref, changes: Obj, version: int | None = None) -> Obj:
        path = await self._path(ref, "status" if ref.kind.has_status else "")
        return await self._patch(f"patch status of {ref}", ref, path, changes, version=version)

    async def _patch(
        self, what: str, ref: Ref, path: str, changes: Obj, version: int | None
    ) -> Obj:
        body = wire.encode(wire.precondition(changes, version))
        answer = await self._ask(
            what,
            "PATCH",
            path,
            body,
            content_type=MERGE_PATCH,
            carries=changes,
            of_object=True,
        )
        return self._object(ref.kind, answer.body)

    async def delete(self, ref: Ref, uid: str | None = None, version: int | None = None) -> None:
        conditions: Obj = {}
        if uid is not None:
            conditions["uid"] = uid
        if version is not None:
            conditions["resourceVersion"] = str(version)
        options: Obj = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if conditions:
            options["preconditions"] = conditions
        body = wire.encode(options)
        path = await self._path(ref)
        await self._ask(f"delete {ref}", "DELETE", path, body, of_object=True)

    async def send(self, method: str, path: str, obj: Obj | None = None) -> bytes:
        """Any other request, such as a SubjectAccessReview. Returns: the body of the answer."""
        body = None if obj is None else wire.encode(obj)
        return (await self._ask(f"{method} {path}", method, path, body, carries=obj)).body

    async def _path(self, ref: Ref, sub: str = "") -> str:
        return wire.object_path(ref, sub, await self.discovery.version_of(ref.kind))

    async def _ask(
        self,
        what: str,
        method: str,
        path: str,
        body: bytes | None = None,
        content_type: str = JSON,
        carries: Obj | None = None,
        *,
        of_object: bool = False,
    ) -> HttpAnswer:
        """``carries`` is what the body says: a refusal is told without the data of its Secrets."""
        answer = await self.session.call(method, path, body, content_type)
        if answer.status >= 300:
            raise error_of(
                what,
                answer.status,
                answer.body,
                answer.headers,
                secrets=secret_texts(carries),
                of_object=of_object,
            )
        return answer

    async def patiently(self, ask: Callable[[], Awaitable[T]], seconds: float) -> T:
        """A read, repeated while the server cannot answer, at most for so many seconds.

        Raises: the last error; NotServed at once.
        """
        end = self.session.elapsed() + seconds
        attempt = 0
        while True:
            try:
                return await ask()
            except NotServed:
                raise
            except (Unavailable, Throttled) as error:
                pause = self.pause(attempt, error)
                attempt += 1
                if self.session.elapsed() + pause > end:
                    raise
                await asyncio.sleep(pause)

    def pause(self, attempt: int, error: HubError | None = None) -> float:
        """Seconds before the next attempt: doubling, less up to half, and what the server asks for."""
        pause = _RETRY.wait(attempt + 1, self._random.random())
        if isinstance(error, Throttled):
            pause = max(pause, error.after)
        return pause.total_seconds()
