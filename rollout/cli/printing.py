"""How does an object look as JSON, YAML or a name? One object as itself, several as a List."""

import json
from collections.abc import Sequence
from typing import Any

from rollout.cli.tables import full_name
from rollout.model.kinds import KINDS, Obj

FORMATS = ("table", "wide", "yaml", "json", "name")


def listed(objects: Sequence[Obj]) -> Obj:
    """A ``List``, as kubectl prints several objects."""
    return {
        "apiVersion": "v1",
        "items": list(objects),
        "kind": "List",
        "metadata": {"resourceVersion": ""},
    }


def formatted(output: str, value: Obj) -> str:
    """An object (or List) as ``json``, ``yaml`` or ``name``; ends without a newline."""
    match output:
        case "json":
            return json.dumps(value, indent=4, ensure_ascii=False, sort_keys=True)
        case "name":
            return full_name(KINDS[value["kind"]], value["metadata"]["name"])
        case _:
            return to_yaml(value)


def to_yaml(value: Any) -> str:
    """YAML as kubectl writes it: keys sorted, lists not indented, long strings on one line."""
    import yaml  # noqa: PLC0415  # it takes longer to load than most commands take to run

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.dump(
        value, Dumper=dumper, default_flow_style=False, allow_unicode=True, width=2**31 - 1
    )
    return text.rstrip("\n")
