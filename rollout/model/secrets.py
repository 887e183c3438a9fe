"""Finds and hides the data of Secrets, wherever they are nested.

A value gives way to a mask with a short digest, so that one sees whether it is the same or has
changed. The digest is an HMAC under a key that the caller draws at random for each process, and is
bound to the Secret and the field: a plain hash of a short password could be found by trying words.
So digests of two processes, or of two fields, cannot be compared.
"""

import base64
import binascii
import hashlib
import hmac
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from rollout.model.kinds import Obj

FIELDS = ("data", "stringData")
KEY_BYTES = 32
_DIGITS = 8
_MASK = re.compile(r"\*\*\* \([0-9a-f]{8}\)\Z")
_BARE = "***"
_COPIES = ("last-applied", "-configuration")
"""Annotations whose names end so hold a second copy of the whole object."""
_SHORTEST = 4
"""Shorter values are not looked for in texts: they would be found in every other word."""
_KINDS = ("Secret", "secrets")
_SET = ("value", "literal")
"""What a field of a Secret is set to, by a rule of ClusterValues or in a content that is kept."""


@dataclass(frozen=True, slots=True)
class Masks:
    """Masks under one key. Give `KEY_BYTES` random bytes, and forget them with the process."""

    key: bytes

    def over(self, value: Any) -> Any:
        """The value without the data of Secrets; parts without Secrets are shared, not copied.

        Hidden are ``data`` and ``stringData`` of every Secret, also in a ``List`` and in annotations
        that hold objects as JSON; what ClusterValues set in one; what a ManifestWork's status says of a Secret, whose messages may
        quote an earlier one; and the values of all these in messages elsewhere.
        """
        return _Walk(self.key, tuple(secret_texts(value))).value(value)


def secret_texts(value: Any) -> set[str]:
    """The data of all Secrets inside, as texts that somebody might quote: plain and in base64."""
    found: set[str] = set()
    for secret in _secrets(value, ""):
        for field in FIELDS:
            for text in _leaves(secret.get(field)):
                found |= _spellings(text)
    return {text for text in found if len(text) >= _SHORTEST}


def holds_secret(value: Any) -> bool:
    """Whether a Secret is anywhere inside."""
    return next(_secrets(value, ""), None) is not None


def scrubbed(text: str, secrets: Iterable[str]) -> str:
    """A text of somebody else, such as a server's refusal, without these values."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, _BARE)
    return text


def has_masks(value: Any) -> bool:
    """Whether a Secret inside has a mask for a value: it was printed so, and must not be stored."""
    return any(
        _MASK.match(text)
        for secret in _secrets(value, "")
        for field in FIELDS
        for text in _leaves(secret.get(field))
    )


@dataclass(frozen=True, slots=True)
class _Walk:
    """One copy that is being made. ``texts`` are hidden in messages."""

    key: bytes
    texts: tuple[str, ...]

    def value(self, value: Any, implied: str = "") -> Any:
        if isinstance(value, list):
            items = [self.value(item, implied) for item in value]
            return items if any(a is not b for a, b in zip(items, value, strict=True)) else value
        if not isinstance(value, dict):
            return value
        kind = _kind(value, implied)
        found = {name: self._field(value, kind, name) for name in value}
        return found if any(found[name] is not value[name] for name in value) else value

    def _field(self, holder: Obj, kind: str, name: str) -> Any:
        value = holder[name]
        if kind in _KINDS and name in FIELDS:
            return self._data(holder, name, value)
        if name in _SET and _is_for_secret(holder):
            return value if value is None else self._mask(holder, _path(holder), value)
        if name == "annotations" and isinstance(value, dict):
            return _same_or(value, {key: self._note(key, text) for key, text in value.items()})
        if name == "statusFeedback" and _is_of_secret(holder):
            return self._hidden(holder, name, value)
        if name == "conditions" and isinstance(value, list) and _is_of_secret(holder):
            return [{**c, "message": _BARE} if isinstance(c, dict) else c for c in value]
        if name == "message" and isinstance(value, str):
            return scrubbed(value, self.texts)
        return self.value(value, kind[:-4] if name == "items" and kind.endswith("List") else "")

    def _data(self, secret: Obj, field: str, value: Any) -> Any:
        if not isinstance(value, dict):
            return value if value is None else self._mask(secret, field, value)
        return {key: self._mask(secret, f"{field}.{key}", item) for key, item in value.items()}

    def _hidden(self, holder: Obj, path: str, value: Any) -> Any:
        """Every value below ``fieldValue``, whatever its type."""
        if isinstance(value, list):
            return [self._hidden(holder, f"{path}.{i}", item) for i, item in enumerate(value)]
        if not isinstance(value, dict):
            return value
        return {
            name: {
                part: said if part == "type" else self._mask(holder, f"{path}.{part}", said)
                for part, said in item.items()
            }
            if name == "fieldValue" and isinstance(item, dict)
            else self._hidden(holder, f"{path}.{name}", item)
            for name, item in value.items()
        }

    def _note(self, name: str, text: Any) -> Any:
        """An annotation; one that holds an object is as that object would be."""
        if not isinstance(text, str):
            return text
        is_copy = name.endswith(_COPIES)
        if not is_copy and not text.lstrip().startswith(("{", "[")):
            return text
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return _BARE if is_copy else text
        if is_copy and not (isinstance(value, dict) and value.get("kind")):
            return _BARE
        masked = _Walk(self.key, ()).value(value)
        if masked is value:
            return text
        return json.dumps(masked, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    def _mask(self, holder: Obj, field: str, value: Any) -> str:
        if isinstance(value, str) and _MASK.match(value):
            return value
        meta = holder.get("metadata") or holder.get("resourceMeta")
        named = meta if isinstance(meta, dict) else {}
        said = [str(named.get("namespace")), str(named.get("name")), field, _text(value)]
        digest = hmac.new(self.key, json.dumps(said).encode(), hashlib.sha256).hexdigest()
        return f"{_BARE} ({digest[:_DIGITS]})"


def _same_or(old: Obj, new: Obj) -> Obj:
    return new if any(new[key] is not old[key] for key in old) else old


def _kind(holder: Obj, implied: str) -> str:
    """The kind of an object; items of a typed list need not say it themselves."""
    kind = holder.get("kind")
    return kind if isinstance(kind, str) and kind else implied


def _is_of_secret(holder: Obj) -> bool:
    """Whether this is what an agent reports of a Secret (an entry of ``resourceStatus``)."""
    meta = holder.get("resourceMeta")
    return isinstance(meta, dict) and (meta.get("kind") in _KINDS or meta.get("resource") in _KINDS)


def _is_for_secret(holder: Obj) -> bool:
    """Whether this sets a field of a Secret: a setting of ClusterValues, or what a RolloutRevision keeps.

    What is kept does not say of which kind its manifest is: ``data`` is taken for that of a Secret, as deep
    as it may be.
    """
    target, place = holder.get("target"), holder.get("place")
    if isinstance(target, dict) and "path" in holder:
        return target.get("kind") in _KINDS
    return "manifest" in holder and isinstance(place, list) and any(f in place for f in FIELDS)


def _path(holder: Obj) -> str:
    return json.dumps([holder.get("path"), holder.get("manifest"), holder.get("place")])


def _secrets(value: Any, implied: str) -> Iterator[Obj]:
    """All Secrets inside, those in annotations too, and what is set in one."""
    if isinstance(value, list):
        for item in value:
            yield from _secrets(item, implied)
    elif isinstance(value, dict):
        kind = _kind(value, implied)
        if kind in _KINDS:
            yield value
        if _is_for_secret(value):
            yield {"stringData": {name: value[name] for name in _SET if name in value}}
        for name, item in value.items():
            if name == "annotations" and isinstance(item, dict):
                yield from _noted(item)
            else:
                is_items = name == "items" and kind.endswith("List")
                yield from _secrets(item, kind[:-4] if is_items else "")


def _noted(annotations: Obj) -> Iterator[Obj]:
    for text in annotations.values():
        if isinstance(text, str) and '"Secret' in text:
            try:
                yield from _secrets(json.loads(text), "")
            except (ValueError, RecursionError):
                continue


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif value is not None:
        yield _text(value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)


def _spellings(text: str) -> set[str]:
    """A value as it stands, encoded, decoded, and as a quoted text would have it; its long lines."""
    found = {text, base64.b64encode(text.encode()).decode()}
    with suppress(binascii.Error, ValueError):  # what is not base64, or no text
        found.add(base64.b64decode(text, validate=True).decode())
    for plain in tuple(found):
        found.add(json.dumps(plain)[1:-1])
        found.update(line for line in plain.splitlines() if len(line) > 2 * _SHORTEST)
    return {each.strip() for each in found}
