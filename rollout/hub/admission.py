"""Decides whether an object may be stored, and as what: defaults and validation for every writer."""

from rollout.api.defaults import with_defaults
from rollout.api.validation import validate
from rollout.errors import Invalid
from rollout.model.kinds import MANIFEST_WORK, ROLLOUT_RECORD, Kind, Obj, Ref
from rollout.model.problems import joined

_OUTSIDE_SPEC = frozenset({"metadata", "status"})


def admit(ref: Ref, new: Obj, old: Obj | None) -> Obj:
    """The object to store: with the defaults of its kind, every field checked.

    A write that changes nothing but metadata and status is not looked into again: the hub checks
    metadata itself, and agents write statuses by the thousand. Nor is one that changes only texts on a
    page of a record: a rollout writes one at every pass.

    Raises: Invalid, with every bad field.
    """
    if old is not None and (_same_outside(new, old) or _is_next_page(ref, new, old)):
        return new
    spec = new.get("spec")
    known = _ADMITTED.get(id(spec))
    if known is not None and known[0] is spec and known[1] is ref.kind:
        return {**new, "spec": known[2]}
    checked = filled = with_defaults(new)
    if old is not None and new["metadata"] is old["metadata"]:  # it was checked when it was stored
        checked = {**filled, "metadata": {"name": ref.name}}
    problems = validate(checked)
    if problems:
        raise Invalid(f"{ref}: {joined(problems)}")
    if ref.kind is MANIFEST_WORK and set(new) <= _FIELDS:
        if len(_ADMITTED) >= _KEPT:
            _ADMITTED.clear()
        _ADMITTED[id(spec)] = (spec, ref.kind, filled.get("spec"))
    return filled


_FIELDS = frozenset({"apiVersion", "kind", "metadata", "spec"})
_KEPT = 32
_ADMITTED: dict[int, tuple[object, Kind, object]] = {}
"""Specs of works that were admitted lately, by identity: a template goes to thousands of clusters.

Each entry holds the spec, so that its id cannot come to mean another one.
"""


def _is_next_page(ref: Ref, new: Obj, old: Obj) -> bool:
    """Whether it is a page of a record that differs from the last one in its texts alone."""
    if ref.kind is not ROLLOUT_RECORD or new.get("metadata") is not old["metadata"]:
        return False
    data = new.get("data")
    are_texts = isinstance(data, dict) and all(
        isinstance(name, str) and isinstance(each, str) for name, each in data.items()
    )
    return are_texts and _same_outside({**new, "data": old.get("data")}, old)


def _same_outside(new: Obj, old: Obj) -> bool:
    """Whether all but metadata and status is the same, by identity: a hub keeps that."""
    for field, value in new.items():
        if old.get(field) is not value and field not in _OUTSIDE_SPEC:
            return False
    return old.keys() <= new.keys() or old.keys() - _OUTSIDE_SPEC <= new.keys()
