"""Under which version does an API server serve a kind of which only group and resource are known?

Kinds of ours have a version. Others, that objects refer to by group and resource, are looked up in the
server's discovery documents: the version that it prefers, else the first that has the resource.
"""

from collections.abc import Awaitable, Callable, Iterator
from typing import Any
from urllib.parse import quote

import msgspec

from rollout.errors import Gone, NotServed, Unavailable
from rollout.model.kinds import Kind

Ask = Callable[[str], Awaitable[bytes]]
"""``path -> body``. Raises: HubError."""


class Discovery:
    """Versions by kind: looked up once, and anew after `forget`. Used on the loop alone."""

    def __init__(self, ask: Ask) -> None:
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
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
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
