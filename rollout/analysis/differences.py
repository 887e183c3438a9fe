"""What changes in the manifests of one cluster? A unified diff of YAML."""

import difflib

import yaml

from rollout.model.kinds import Obj
from rollout.model.secrets import Masks


def manifest_diff(
    old: Obj | None, new: Obj | None, names: tuple[str, str], masks: Masks | None
) -> str:
    """The unified diff from one ManifestWork spec to another; "" where they read the same.

    None is the spec of a cluster that has no work.

    Args:
        masks: hide the data of Secrets, so that a value that changes has another mask; None: show it.
    """
    before, after = old or {}, new or {}
    if masks is not None:
        before, after = masks.over(before), masks.over(after)
    lines = difflib.unified_diff(
        _yaml(before).splitlines(), _yaml(after).splitlines(), *names, lineterm=""
    )
    return "\n".join(lines)


def _yaml(value: Obj) -> str:
    if not value:
        return ""
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.dump(
        value, Dumper=dumper, default_flow_style=False, allow_unicode=True, width=2**31 - 1
    )
    return text
