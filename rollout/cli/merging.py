"""What must change so that a stored object says what a file says? A three-way merge.

The last applied configuration, kept in an annotation, tells a field that the file no longer has (it
is removed) from one that somebody else has set (it stays). Lists are taken as a whole. This is what
kubectl does for custom resources.
"""

import json
from typing import Any

from rollout.hub.patching import same
from rollout.model.kinds import Obj
from rollout.model.names import LAST_APPLIED

_SERVERS = (
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "selfLink",
)


def configuration(obj: Obj) -> Obj:
    """What a file asks for: without the status, and without what only a server can say.

    So an object that was printed can be applied again.
    """
    meta = {k: v for k, v in obj["metadata"].items() if k not in _SERVERS}
    annotations = meta.get("annotations")
    if isinstance(annotations, dict):
        meta["annotations"] = {k: v for k, v in annotations.items() if k != LAST_APPLIED}
    return {**{k: v for k, v in obj.items() if k != "status"}, "metadata": meta}


def remembered(wanted: Obj) -> Obj:
    """The configuration with itself in the annotation, as it is to be stored.

    Annotations that are no map are left as they are, for the hub to refuse.
    """
    meta = wanted["metadata"]
    given = meta.get("annotations")
    if given and not isinstance(given, dict):
        return wanted
    text = json.dumps(wanted, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    annotations = {**(given or {}), LAST_APPLIED: text}
    return {**wanted, "metadata": {**meta, "annotations": annotations}}


def changes(wanted: Obj, stored: Obj) -> Obj:
    """The merge patch from ``stored`` to what a file wants; empty where nothing is to be done.

    Where nothing was applied before, nothing is removed.
    """
    return _merge(_last_applied(stored), remembered(wanted), stored)


def _last_applied(stored: Obj) -> Obj:
    text = (stored["metadata"].get("annotations") or {}).get(LAST_APPLIED)
    try:
        value = json.loads(text) if isinstance(text, str) else None
    except ValueError:  # somebody has edited it: then we know as little as if it were not there
        value = None
    return value if isinstance(value, dict) else {}


def _merge(before: Any, wanted: Obj, stored: Any) -> Obj:
    """A merge patch: null for what the file had and has no more, else what differs."""
    before = before if isinstance(before, dict) else {}
    stored = stored if isinstance(stored, dict) else {}
    patch: Obj = {key: None for key in before if key not in wanted and key in stored}
    for key, value in wanted.items():
        if isinstance(value, dict) and isinstance(stored.get(key), dict):
            inner = _merge(before.get(key), value, stored[key])
            if inner:
                patch[key] = inner
        elif value is None:
            if key in stored:
                patch[key] = None
        elif not same(value, stored.get(key)):
            patch[key] = value
    return patch
