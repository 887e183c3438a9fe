"""Says what a verb would do now, and which command does the same in a terminal.

The verb is called on a copy of the hub. What it wrote there becomes a `kubectl` command; what the engine
would make of that is `rollout.analysis.forecast`.
"""

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import yaml

from rollout.analysis.forecast import Forecast, forecast
from rollout.analysis.snapshot import ReadableHub
from rollout.dashboard.verbs import Verb, VerbCall
from rollout.hub.base import EmbeddedHub
from rollout.hub.memory import MemoryHub
from rollout.model.kinds import Obj, Ref
from rollout.operate import VerbResult, Who
from rollout.planning.documents import difference


@dataclass(frozen=True, slots=True)
class Preview:
    """What a verb comes to: what it says, what follows from it, and the commands that do the same."""

    told: tuple[VerbResult, ...]
    forecast: Forecast
    commands: tuple[str, ...]


def preview(hub: ReadableHub, verb: Verb, call: VerbCall, who: Who, place: str) -> Preview:
    """Call the verb on a copy.

    Args:
        place: the options that name the hub on the command line.

    Raises: what the verb raises.
    """
    told: list[VerbResult] = []
    written: list[tuple[Ref, Obj | None, Obj]] = []

    def change(copy: EmbeddedHub) -> None:
        assert isinstance(copy, MemoryHub), "copies are kept in memory"
        before = dict(copy.everything())
        told[:] = verb.does(copy, call, who)
        written[:] = [
            (each.ref, before.get(each.ref), copy.get(each.ref)) for each in told if each.changed
        ]

    found = forecast(hub, change, who.at)
    commands = (
        rollout_command(verb, call, who, place),
        *(kubectl_command(ref, before, after) for ref, before, after in written),
    )
    return Preview(tuple(told), found, commands)


def rollout_command(verb: Verb, call: VerbCall, who: Who, place: str) -> str:
    """``rollout pause mwrs web -n default --reason lunch --state fleet.db``."""
    typed = {"unskip": ["skip"], "override": ["override", "calendar"]}.get(verb.name, [verb.name])
    words = ["rollout", *typed]
    if call.ref is not None:
        words += [call.ref.kind.typed, call.ref.key.rpartition("/")[2]]
    words += verb.words(call)
    if call.ref is not None and call.ref.namespace:
        words += ["-n", call.ref.namespace]
    words += ["--by", who.by, *(["--reason", who.reason] if who.reason else [])]
    return f"{shlex.join(words)} {place}".rstrip()


def kubectl_command(ref: Ref, before: Obj | None, after: Obj) -> str:
    """The command that writes the same: an annotation, a patch, or a new object."""
    where = ["-n", ref.namespace] if ref.namespace else []
    name = ref.key.rpartition("/")[2]
    if before is None:
        kept = {key: after["metadata"][key] for key in _WRITTEN if after["metadata"].get(key)}
        text = yaml.safe_dump({**after, "metadata": kept}, sort_keys=False, allow_unicode=True)
        return f"kubectl create -f - <<'END'\n{text}END"
    changes = difference(_asked(before), _asked(after))
    notes: Mapping[str, str | None] = (changes.get("metadata") or {}).get("annotations") or {}
    if list(changes) == ["metadata"] and list(changes["metadata"]) == ["annotations"]:
        words = ["kubectl", "annotate", ref.kind.plural, name, *where, "--overwrite"]
        return shlex.join([*words, *_pairs(notes)])
    words = ["kubectl", "patch", ref.kind.plural, name, *where, "--type=merge", "-p"]
    return shlex.join([*words, json.dumps(changes, ensure_ascii=False)])


_WRITTEN = ("namespace", "name", "labels", "annotations")


def _asked(obj: Obj) -> Obj:
    """What a person writes of an object."""
    meta = {key: obj["metadata"].get(key) or {} for key in ("labels", "annotations")}
    rest = {key: obj[key] for key in obj if key not in ("metadata", "status")}
    return {**rest, "metadata": meta}


def _pairs(notes: Mapping[str, str | None]) -> Iterator[str]:
    for key, value in notes.items():
        yield f"{key}-" if value is None else f"{key}={value}"


def named(text: str) -> tuple[str, ...]:
    """Clusters as somebody typed them, with commas or spaces between."""
    words: Iterable[str] = text.replace(",", " ").split()
    return tuple(dict.fromkeys(words))
