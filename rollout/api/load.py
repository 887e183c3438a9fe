"""Loads the objects of ``-f PATH...``: files, directories, and "-" for standard input.

One bad document, or one bad file, hides no other.
"""

import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import yaml

from rollout.api.cluster_addon import stored_version
from rollout.api.documents import Parsed, composed, read_json, read_yaml
from rollout.errors import ConfigError
from rollout.model.kinds import Obj

_STEP = re.compile(r"([^.\[\]]+)|\[([^\]]*)\]")
MOST_BYTES = 256 << 20
"""Of one file."""
SUFFIXES = (".json", ".yaml", ".yml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One object and where it came from.

    ``source`` is ``file:line``, the line that the object begins in; ``index`` counts the objects of
    its file from 0. ``parsed`` is the document that it stands in, below ``within`` of its fields.
    """

    obj: Obj
    source: str
    index: int
    parsed: Parsed | None = field(default=None, compare=False, repr=False)
    within: str = ""

    def source_of(self, path: str) -> str:
        """``file:line`` of a field of the object, or of what is nearest around it."""
        if self.parsed is None or not path:
            return self.source
        line = _line_of(self.parsed.text, f"{self.within}{path}")
        if line is None:
            return self.source
        return f"{self.source.rpartition(':')[0]}:{self.parsed.above + 1 + line}"


@dataclass(frozen=True, slots=True)
class LoadError:
    """What could not be read. ``source`` is ``file:line``, or the path where no line is to blame."""

    source: str
    message: str
    remedy: str = "correct the text"

    def __str__(self) -> str:
        return f"{self.source}: {self.message}"


@dataclass(frozen=True, slots=True)
class Loaded:
    """Everything that could be read, in order, and everything that could not.

    Raises (``objects``): ConfigError where something could not be read. Whoever goes on with the rest
    all the same asks for ``documents``.
    """

    documents: tuple[Document, ...]
    errors: tuple[LoadError, ...] = ()

    @property
    def objects(self) -> tuple[Obj, ...]:
        if self.errors:
            raise ConfigError("; ".join(map(str, self.errors)))
        return tuple(document.obj for document in self.documents)


def load(
    paths: str | Path | Iterable[str | Path],
    *,
    recursive: bool = False,
    stdin: TextIO | None = None,
) -> Loaded:
    """Read every object that the paths name; lists (``kind: List``) are taken apart.

    Args:
        paths: files, directories (their ``*.yaml``, ``*.yml`` and ``*.json``, sorted), or "-"; one
            of them, or several.
        recursive: go into directories in directories.
        stdin: what "-" reads; the process's standard input where None.
    """
    documents: list[Document] = []
    errors: list[LoadError] = []
    for path in [paths] if isinstance(paths, str | Path) else paths:
        for name, text in _texts(str(path), recursive, stdin or sys.stdin):
            if isinstance(text, LoadError):
                errors.append(text)
                continue
            found, bad = load_text(text, name)
            documents += found
            errors += bad
    return Loaded(tuple(documents), tuple(errors))


def _texts(path: str, recursive: bool, stdin: TextIO) -> Iterator[tuple[str, str | LoadError]]:
    if path == "-":
        yield "stdin", stdin.read()
        return
    for file in _files(Path(path), recursive):
        if isinstance(file, LoadError):
            yield path, file
            continue
        try:
            yield str(file), text_of(file)
        except ConfigError as error:
            yield str(file), LoadError(str(file), str(error), "name a file that can be read")
        except OSError as error:
            reason = error.strerror or type(error).__name__
            message = f"cannot be read: {reason.lower()}"
            yield str(file), LoadError(str(file), message, "name a file that can be read")
        except UnicodeDecodeError as error:
            line = error.object[: error.start].count(b"\n") + 1
            yield str(file), LoadError(f"{file}:{line}", "is not UTF-8 text")


def text_of(path: Path) -> str:
    """What is in a file that somebody names. Raises: OSError, UnicodeDecodeError; ConfigError for a device,
    which may have no end, and for more than anybody writes.
    """
    with path.open("rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise ConfigError("is a device, and no file")
        found = file.read(MOST_BYTES + 1)
    if len(found) > MOST_BYTES:
        raise ConfigError(f"is larger than {MOST_BYTES >> 20} MiB")
    return found.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")


def _files(path: Path, recursive: bool) -> Iterator[Path | LoadError]:
    if not path.is_dir():
        yield path
        return
    inside = path.rglob("*") if recursive else path.glob("*")
    files = sorted(file for file in inside if file.suffix in SUFFIXES and file.is_file())
    if not files:
        kinds = ", ".join(f"*{suffix}" for suffix in SUFFIXES)
        yield LoadError(str(path), f"holds no {kinds}", "name a file, or another directory")
    yield from files


def load_text(text: str, name: str) -> tuple[list[Document], list[LoadError]]:
    """The objects of one text; ``name`` is what it is called in sources, ``*.json`` is read as JSON."""
    documents: list[Document] = []
    errors: list[LoadError] = []
    for parsed in _parsed(text, name):
        if parsed.faults:
            errors += [LoadError(f"{name}:{f.line}", f.message) for f in parsed.faults]
        elif not isinstance(parsed.value, dict):
            if parsed.value is not None:
                message = "is not an object with apiVersion, kind and metadata"
                errors.append(LoadError(f"{name}:{parsed.line}", message))
        else:
            for obj, line, within in _expanded(parsed):
                if isinstance(obj, dict):
                    source, index = f"{name}:{line}", len(documents)
                    stored = stored_version(obj)
                    documents.append(
                        Document(
                            obj=stored, source=source, index=index, parsed=parsed, within=within
                        )
                    )
                else:
                    message = "an item of this list is not an object"
                    errors.append(LoadError(f"{name}:{line}", message))
    return documents, errors


def _parsed(text: str, name: str) -> Iterator[Parsed]:
    if name.endswith(".json") or text.lstrip()[:1] == "{":
        return _json_or_yaml(text, name)
    return read_yaml(text)


def _json_or_yaml(text: str, name: str) -> Iterator[Parsed]:
    """JSON; but YAML may begin with a brace too, where the name does not say which it is."""
    found = list(read_json(text))
    broken = any(f.message.startswith("not JSON") for p in found for f in p.faults)
    return read_yaml(text) if broken and not name.endswith(".json") else iter(found)


def _expanded(parsed: Parsed) -> Iterator[tuple[Any, int, str]]:
    """The object, or the items of a list, each with its line and its place in the document."""
    obj = parsed.value
    kind, items = str(obj.get("kind", "")), obj.get("items")
    if not kind.endswith("List") or not isinstance(items, list):
        yield obj, parsed.line, ""
        return
    for i, item in enumerate(items):
        within = f"items[{i}]."
        line = parsed.lines.get(id(item), parsed.line)
        if (
            isinstance(item, dict) and kind != "List" and "kind" not in item
        ):  # a typed list names the kind only once
            yield {"apiVersion": obj.get("apiVersion"), "kind": kind[:-4], **item}, line, within
        else:
            yield item, line, within


def _line_of(text: str, path: str) -> int | None:
    """In which line of one document's text, from 0, a field stands; else what is nearest around it.

    None where the text cannot be read as YAML (which JSON is, but for rare whitespace).

    Args:
        path: as problems have it: ``spec.tolerations[0].key``, ``metadata.labels[a/b]``.
    """
    try:
        node = composed(text)
    except yaml.YAMLError:
        return None
    line: int | None = None
    for name, inside in _STEP.findall(path):
        if isinstance(node, yaml.MappingNode):
            entries = (each for each in node.value if each[0].value == (name or inside))
            key, node = next(entries, (None, None))
            mark = key.start_mark if key is not None else None
        elif isinstance(node, yaml.SequenceNode) and inside.isdecimal():
            node = node.value[int(inside)] if int(inside) < len(node.value) else None
            mark = node.start_mark if node is not None else None
        else:
            break
        if mark is None:
            break
        line = mark.line
    return line
