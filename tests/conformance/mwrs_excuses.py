"""Which inputs may get another answer from profile ``strict`` than from OCM? Suite ``mwrs_sync``.

Every predicate looks at the input alone and names the row that asks for the difference. Where a row
changes how a fact is read (a clock, a status, an order), the predicate asks whether that fact decides
anything here: whether OCM's own answer would be another one, were the fact read as the row reads it.
Both answers compared are OCM's, never ours (`tests.conformance.mwrs_readings`).
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

from rollout.model.selectors import is_label_value
from rollout.strategies.ocm import Status, decide
from tests.conformance.mwrs_input import Given, Selecting, read
from tests.conformance.mwrs_readings import (
    NOT_AT_ALL,
    Reading,
    as_ocm,
    by_grace,
    by_our_deadline,
    by_our_soak,
    by_report,
    read_until,
    soak_of,
    touched,
)
from tests.conformance.stages import mandatory_places, names_unknown, stages_of
from tests.conformance.suite import Excuse, Json


def decides(reading: Reading) -> Callable[[Given], bool]:
    """Whether this reading changes which clusters OCM would write to."""

    def applies(given: Given) -> bool:
        for ref in _sound(given):
            before = read_until(ref, reading)
            if touched(given, ref, before) != touched(given, ref, reading(ref, before)):
                return True
        return False

    return applies


def _sound(given: Given) -> Iterable[Selecting]:
    return (ref for ref in given.refs if ref.exists and ref.spec is not None)


# -- which placements, which clusters -------------------------------------------------------------


def placement_missing(given: Given) -> bool:
    return any(not ref.exists for ref in given.refs)


def invalid(given: Given) -> bool:
    return bool(given.replicaset.problems) or any(ref.ref.problems for ref in given.refs)


def refused_by_ocm(given: Given) -> bool:
    """A value that strict accepts: a number in digits, a duration with a fraction."""
    return any(
        decide(ref.ref.raw, ref.groups, list(as_ocm(ref).values()), given.now).error
        for ref in _sound(given)
    )


def overlapping(given: Given) -> bool:
    members = [cluster for ref in given.refs for cluster in ref.members]
    return len(members) != len(set(members))


def name_too_long(given: Given) -> bool:
    return not is_label_value(f"{given.replicaset.namespace}.{given.replicaset.name}")


def nothing_selected(given: Given) -> bool:
    return not given.total and not given.told and not succeeded(given)


def one_selects_nothing(given: Given) -> bool:
    """One placementRef has no target; OCM is done once the others are."""
    return (
        bool(given.total)
        and given.told == succeeded(given)
        and not all(ref.members for ref in given.refs)
    )


def succeeded(given: Given, *, leaving: bool = True) -> int:
    """How many works OCM counts as succeeded."""
    return sum(
        w.status is Status.SUCCEEDED and w.is_current and (leaving or c in ref.members)
        for ref in given.refs
        for c, w in ref.carried.items()
    )


def told_wrongly(given: Given) -> bool:
    """The placements' number of selected clusters, and not the decisions, decides."""
    return (given.told == succeeded(given)) != (given.total == succeeded(given))


# -- works --------------------------------------------------------------------------------------


def outdated_leaves(given: Given) -> bool:
    """OCM forgets a work that is not up to date when its cluster is deselected."""
    kept = {ref.ref.name for ref in given.refs}
    return any(
        not w.is_current and not w.work.deleting and w.work.placement in kept
        for w in given.leaving()
    )


def leaving_counted(given: Given) -> bool:
    """The conditions or the success of a work that is being removed count in OCM's status."""
    kept = {ref.ref.name for ref in given.refs}
    has_counts = any(
        w.is_current and w.work.placement in kept and w.true_at_any_generation()
        for w in given.leaving()
        if not w.work.deleting
    )
    selected = succeeded(given, leaving=False)
    completes = (given.total == succeeded(given)) != (given.total == selected)
    return bool(given.total) and (has_counts or completes)


def stale_counted(given: Given) -> bool:
    return any(
        not w.work.deleting and w.true_at_any_generation() != w.true_now() for w in given.current()
    )


def misplaced(given: Given) -> bool:
    """A work at a selected cluster without the label of a placement that selects it."""
    by_name = {ref.ref.name: ref for ref in given.refs}
    return any(
        w.work.cluster in given.selected
        and (
            w.work.placement not in by_name
            or w.work.cluster not in by_name[w.work.placement].members
        )
        for w in given.works
    )


def twins(given: Given) -> bool:
    clusters = [w.work.cluster for w in given.works if w.work.cluster in given.selected]
    return len(clusters) != len(set(clusters))


def labels_changed(given: Given) -> bool:
    return any(
        not given.replicaset.labels.items() <= w.work.labels.items() for w in given.current()
    )


def being_deleted(given: Given) -> bool:
    """OCM takes a work for one that carries the template though it is being deleted."""
    return any(w.work.deleting for w in given.current())


# -- when is it complete ------------------------------------------------------------------------


def done_unlike_reported(given: Given) -> bool:
    said = all(w.status is Status.SUCCEEDED for w in given.current())
    seen = all(w.done for w in given.current())
    return _all_current(given) and said != seen


def soaks_at_the_end(given: Given) -> bool:
    return (
        _all_current(given)
        and all(w.done for w in given.current())
        and any(soak_of(ref) > NOT_AT_ALL and ref.members for ref in given.refs)
    )


def _all_current(given: Given) -> bool:
    return bool(given.total) and not any(ref.waiting() for ref in given.refs)


# -- slots, order, stages -----------------------------------------------------------------------


def limit_of(ref: Selecting) -> tuple[tuple[str, ...], int]:
    """The clusters that share slots, and how many; as many as there are where nothing limits them."""
    first = mandatory_places(ref.spec, ref.groups)
    rest = tuple(c for n, g in enumerate(ref.groups) if n not in first for c in g.clusters)
    if ref.spec is None or ref.spec.type != "Progressive" or ref.spec.concurrency is None:
        return rest, len(rest)
    return rest, ref.spec.concurrency.of(len(rest)) or len(rest)


def outdated_in_flight(given: Given) -> bool:
    """Clusters in flight on an older revision in a stage with fewer slots than clusters."""
    for ref in _sound(given):
        members, limit = limit_of(ref)
        in_flight = [c for c, w in ref.outdated().items() if c in members and not w.done]
        if limit < len(members) and in_flight:
            return True
    return False


def named_out_of_order(given: Given) -> bool:
    """Were clusters named in the order of their groups, OCM would write to others."""
    for ref in _sound(given):
        alias = {cluster: f"{n:05d}" for n, cluster in enumerate(ref.members)}
        records = read_until(ref, None)
        groups = [replace(g, clusters=tuple(alias[c] for c in g.clusters)) for g in ref.groups]
        renamed = {alias[c]: replace(r, cluster=alias[c]) for c, r in records.items()}
        answer = decide(ref.ref.raw, groups, list(renamed.values()), given.now)
        then = frozenset(answer.to_apply) - renamed.keys()
        now = touched(given, ref, records)
        if {alias[c] for c in now} != then:
            return True
    return False


def group_unknown(given: Given) -> bool:
    """A mandatory group that no decision names, whose decisions are empty, or whose clusters are all an
    earlier placement's: row 13 holds for each.
    """
    taken: set[str] = set()
    for ref in given.refs:
        left = [
            replace(g, clusters=tuple(c for c in g.clusters if c not in taken)) for g in ref.groups
        ]
        if ref.exists and ref.spec is not None and names_unknown(ref.spec, left):
            return True
        taken.update(ref.members)
    return False


def stages_mixed(given: Given) -> bool:
    """OCM would write to others, were the first stage that is not done all there is.

    It looks at what is in flight in other groups, and takes mandatory groups by index.
    """
    for ref in _sound(given):
        records, soaks = read_until(ref, None), bool(soak_of(ref))
        stages = stages_of(ref.spec, ref.groups, ref.ref.raw) if ref.spec else []
        stage = next((s for s in stages if not s.is_done(records, soaks=soaks)), None)
        if stage is None:
            continue
        groups, mine = stage.alone(records)
        if touched(given, ref, records) != touched(given, ref, mine, groups, stage.strategy):
            return True
    return False


def concurrency_zero(given: Given) -> bool:
    """A zero written as a string, where clusters outside the mandatory groups wait."""
    return any(
        ref.spec is not None
        and ref.spec.type == "Progressive"
        and ref.spec.concurrency is not None
        and ref.spec.concurrency.is_explicit_zero
        and touched(given, ref, read_until(ref, None)) & set(limit_of(ref)[0])
        for ref in _sound(given)
    )


_TOUCHES = ("actions.create", "actions.update", "counts.total", "conditions.ManifestworkApplied")
"""Who is written to in this pass, and what follows from it."""
_COUNTS = ("counts.applied", "counts.available", "counts.degraded", "counts.progressing",
           "conditions.ManifestworkApplied")  # fmt: skip
_DONE, _VERIFIED, _DELETES = (
    "conditions.PlacementRolledOut",
    "conditions.PlacementVerified",
    "actions.delete",
)
_ALL = (*_TOUCHES, *_COUNTS, _DONE, _DELETES)


def _excuse(name: str, row: str, applies: Callable[[Given], bool], *fields: str) -> Excuse:
    def on_input(given: Json) -> bool:
        found = read(given)
        return found.is_evaluated and applies(found)

    return Excuse(name, row, on_input, frozenset(fields))


EXCUSES = (
    _excuse("placement missing", "S7, 16", placement_missing, *_ALL),
    _excuse("invalid values", "26", invalid, *_ALL, _VERIFIED),
    _excuse("refused by OCM alone", "3, 26", refused_by_ocm, *_ALL, _VERIFIED),
    _excuse("overlapping placements", "21", overlapping, *_TOUCHES),
    _excuse("name too long", "S9", name_too_long, *_ALL, _VERIFIED),
    _excuse("nothing selected", "22", nothing_selected, _DONE),
    _excuse("one selects nothing", "22", one_selects_nothing, _DONE),
    _excuse("selected counted by status", "14, S12", told_wrongly, _DONE),
    _excuse("outdated work leaves", "16", outdated_leaves, _DELETES),
    _excuse("leaving work counted", "10, S12", leaving_counted, *_COUNTS, _DONE),
    _excuse("stale conditions counted", "10", stale_counted, *_COUNTS),
    _excuse("work of another placement", "21, S9", misplaced, *_ALL),
    _excuse("twins", "S9", twins, *_COUNTS, _DONE, _DELETES),
    _excuse("labels changed", "24", labels_changed, "actions.update"),
    _excuse("work being deleted", "S9", being_deleted, *_TOUCHES),
    _excuse("success unverified at the end", "9, 10, 23", done_unlike_reported, _DONE),
    _excuse("soak at the end", "8", soaks_at_the_end, _DONE),
    _excuse("success unverified", "9, 10, 23", decides(by_report), *_TOUCHES),
    _excuse("soak by our clock", "8", decides(by_our_soak), *_TOUCHES),
    _excuse("deadline by our clock", "6", decides(by_our_deadline), *_TOUCHES),
    _excuse("failure grace", "7", decides(by_grace), *_TOUCHES),
    _excuse("in flight on an older revision", "5, 18", outdated_in_flight, *_TOUCHES),
    _excuse("groups before names", "1", named_out_of_order, *_TOUCHES),
    _excuse("mandatory group unknown", "13", group_unknown, *_TOUCHES, _VERIFIED),
    _excuse("one stage after another", "12", stages_mixed, *_TOUCHES),
    _excuse("concurrency zero", "4", concurrency_zero, *_TOUCHES),
)
