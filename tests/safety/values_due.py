"""What clusters with values of their own are to carry, worked out in plain Python, without CEL.

Here are the rules as they are written, too, each beside the Python that says the same.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

RULES: dict[str, tuple[str, Callable[[str, str | None], str | None]]] = {
    "label": (
        "current + '-' + cluster.labels['tier']",
        lambda current, tier: None if tier is None else f"{current}-{tier}",
    ),
    "other": (
        "'x' + current + cluster.labels['tier']",
        lambda current, tier: None if tier is None else f"x{current}{tier}",
    ),
    "same for b": (
        "cluster.labels['tier'] == 'b' ? current + '-b' : current + '+a'",
        lambda current, tier: None if tier is None else current + ("-b" if tier == "b" else "+a"),
    ),
    "optional": (
        "'o' + current + cluster.labels[?'tier'].orValue('?')",
        lambda current, tier: f"o{current}{tier or '?'}",
    ),
    "all": ("current + '!'", lambda current, _: current + "!"),
    "current": ("current", lambda current, _: current),
    "literal": ("", lambda *_: LITERAL),
}
"""By name: the expression for the version ("": a literal), and what it gives."""
LITERAL = "any"
CONFLICT = "'other'"
SELECTORS = {
    "all": "",
    "newest": "managedCluster.status.version.kubernetes == 'v2'",
    "labelled": "managedCluster.metadata.labels.tier == 'a'",
}
"""Whom the rules concern; "" is everybody."""
FLAGS: tuple[Any, ...] = (None, 1, True, 0, False)
"""Literals of a third field."""
TWINS = {"1": True, "True": 1, "0": False, "False": 0}
"""What Python takes for the same, and JSON does not."""


@dataclass
class Member:
    """What rules read of one cluster."""

    tier: str | None
    zone: str | None = "z1"
    version: str = "v1"


@dataclass
class Asked:
    """What is asked for. ``is_broken``: the rules are no CEL; ``is_gone``: there are none."""

    members: dict[str, Member]
    rule: str = "label"
    selector: str = "all"
    has_zone: bool = False
    flag: Any = None
    template: int = 1
    conflicts: bool = False
    is_broken: bool = False
    is_gone: bool = False

    def due(self, cluster: str) -> str | None:
        """What the cluster is to carry, as JSON; None where nobody can tell. Broken rules count as whole."""
        member, found = self.members[cluster], {"version": str(self.template)}
        fields: dict[str, Any] = {"data": found}
        concerned = self._concerns(member)
        if concerned is None:
            return None
        if concerned:
            version = RULES[self.rule][1](str(self.template), member.tier)
            if version is None or (self.has_zone and member.zone is None):
                return None
            found["version"] = version
            if self.has_zone:
                found["zone"] = str(member.zone)
            if self.flag is not None:
                fields["spec"] = {"flag": self.flag}
        if self.conflicts and member.tier == "b":
            if concerned and found["version"] != "other":
                return None
            found["version"] = "other"
        return text_of(fields)

    def is_half(self, cluster: str) -> bool:
        """Whether one of its two fields can be rendered, and the other one not."""
        member = self.members[cluster]
        version = RULES[self.rule][1]("", member.tier)
        lacks_zone = self.has_zone and member.zone is None
        return self._concerns(member) is True and version is not None and lacks_zone

    def _concerns(self, member: Member) -> bool | None:
        if self.is_gone:
            return False
        if self.selector == "labelled":
            return None if member.tier is None else member.tier == "a"
        return self.selector == "all" or member.version == "v2"

    def rules(self) -> dict[str, Any]:
        """The rules, as ClusterValues have them."""
        expression = "'" if self.is_broken else RULES[self.rule][0]
        given = {"value": expression} if expression else {"literal": LITERAL}
        found = [{"path": "/data/version", **given}]
        if self.has_zone:
            found.append({"path": "/data/zone", "value": "cluster.claims['zone']"})
        if self.flag is not None:
            found.append({"path": "/spec/flag", "literal": self.flag})
        rule: dict[str, Any] = {
            "set": [{"target": {"kind": "ConfigMap"}, **each} for each in found]
        }
        if SELECTORS[self.selector]:
            rule["clusters"] = {"celSelector": {"celExpressions": [SELECTORS[self.selector]]}}
        return rule


def conflicting() -> dict[str, Any]:
    """A rule that sets the version of the clusters of one tier to something else."""
    setting = {"target": {"kind": "ConfigMap"}, "path": "/data/version", "value": CONFLICT}
    return {"clusters": {"labelSelector": {"matchLabels": {"tier": "b"}}}, "set": [setting]}


def text_of(fields: dict[str, Any]) -> str:
    """The fields of a manifest that rules set, and no others."""
    return json.dumps(
        {key: fields[key] for key in ("data", "spec") if key in fields}, sort_keys=True
    )
