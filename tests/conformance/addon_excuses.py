"""Which inputs may get another answer from profile ``strict`` than from OCM? Suite ``addon_config``.

Every predicate looks at the input alone and names the row that asks for the difference. Where a row
changes how a fact is read, the predicate asks whether OCM's own answer would be another one, were the
fact read as the row reads it; the readings are applied one after another, in the order of `READINGS`.
Both answers compared are OCM's, never ours (`tests.conformance.addon_input`).
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NamedTuple

from rollout.model.addon import ConfigRef, Configs, Resource, by_resource, effective
from rollout.model.placement import Group
from rollout.rollouts.addon_configs import is_left_over
from rollout.strategies.ocm import ClusterRolloutStatus, Status, decide
from tests.conformance.addon_input import Given, Installed, Node, Records, answer, read, records_of
from tests.conformance.stages import names_unknown, stages_of
from tests.conformance.suite import Excuse

# -- how each row reads what OCM reads otherwise --------------------------------------------------


class Facts(NamedTuple):
    """What a decision is made from."""

    groups: tuple[Group, ...]
    records: Records


def as_ocm(node: Node) -> Facts:
    return Facts(node.groups, records_of(node))


def by_owner(node: Node, facts: Facts) -> Facts:
    """Row 21: a cluster that a later placement owns is in no group of this one."""
    return facts._replace(groups=node.without_taken)


def by_order(node: Node, facts: Facts) -> Facts:
    """Weakness A-15: configurations of one resource in another order are other configurations."""
    records = {
        c: r if node.installed[c].is_in_order else ClusterRolloutStatus(c, Status.TO_APPLY)
        for c, r in facts.records.items()
    }
    return facts._replace(records=records)


def by_our_soak(node: Node, facts: Facts) -> Facts:
    """Row 8: no record tells of an earlier success, so every soak starts at this pass."""
    return _without_times(facts, {Status.SUCCEEDED})


def by_our_deadline(node: Node, facts: Facts) -> Facts:
    """Row 6: nor does any deadline run yet."""
    return _without_times(facts, {Status.PROGRESSING, Status.FAILED})


def by_grace(node: Node, facts: Facts) -> Facts:
    """Row 7: no failure has stood for the grace yet."""
    records = {
        c: ClusterRolloutStatus(c, Status.PROGRESSING) if r.status is Status.FAILED else r
        for c, r in facts.records.items()
    }
    return facts._replace(records=records)


def _without_times(facts: Facts, of: set[Status]) -> Facts:
    records = {c: replace(r, since=None) if r.status in of else r for c, r in facts.records.items()}
    return facts._replace(records=records)


Reading = Callable[[Node, Facts], Facts]
READINGS: tuple[Reading, ...] = (by_owner, by_order, by_our_soak, by_our_deadline, by_grace)


def read_until(node: Node, reading: Reading | None) -> Facts:
    """The facts after all readings before this one; after all of them for None."""
    facts = as_ocm(node)
    for other in READINGS:
        if other is reading:
            break
        facts = other(node, facts)
    return facts


def decides(reading: Reading) -> Callable[[Given], bool]:
    """Whether this reading changes OCM's answer at some placement."""

    def applies(given: Given) -> bool:
        for node in _sound(given):
            before = read_until(node, reading)
            after = reading(node, before)
            if answer(node, before.records, given.now, before.groups) != answer(
                node, after.records, given.now, after.groups
            ):
                return True
        return False

    return applies


def _sound(given: Given) -> Iterable[Node]:
    return (node for node in given.nodes if node.spec is not None)


# -- placements and configurations ----------------------------------------------------------------


def placement_missing(given: Given) -> bool:
    there = {(p["metadata"]["namespace"], p["metadata"]["name"]) for p in given.raw["placements"]}
    return any((p.namespace, p.name) not in there for p in given.addon.placements or ())


def invalid(given: Given) -> bool:
    problems = [p.problems for p in given.addon.placements or ()]
    return bool(given.addon.problems) or any(problems)


def refused_by_ocm(given: Given) -> bool:
    """A value that strict accepts: a number in digits, a duration with a fraction."""
    return any(
        decide(node.strategy, node.groups, list(records_of(node).values()), given.now).error
        for node in _sound(given)
    )


def progression_behind(given: Given) -> bool:
    """The status has not caught up with the spec; strict reads the spec."""
    nodes = {node.key: node for node in given.nodes}
    for placement in given.addon.placements or ():
        node = nodes.get(placement.key)
        wanted = effective(given.addon.defaults, placement.configs)
        if node is None or tuple(c.ref for c in node.configs) != wanted:
            return True
    return [p.key for p in given.addon.placements or ()] != [n.key for n in given.nodes]


def config_missing(given: Given) -> bool:
    """A hash that nobody knows: of a placement's, a default, or a cluster's own configuration."""
    return any(not config.spec_hash for node in given.nodes for config in node.configs) or any(
        not config.spec_hash for installed in given.all_installed for config in installed.desired
    )


def listed_twice(given: Given) -> bool:
    """A cluster's own configurations name an object twice: OCM never counts it as done."""
    return any(
        sum(map(len, by_resource(i.addon.configs).values())) != len(i.addon.configs)
        for i in given.all_installed
    )


def order_kept(given: Given) -> bool:
    """An add-on carries configurations of one resource in another order; OCM keeps to that order."""
    return any(_order(i.addon.desired, i) != _order(i.desired, i) for i in given.all_installed)


def _order(configs: Configs, installed: Installed) -> dict[Resource, list[ConfigRef]]:
    """The order of what is both carried and wanted."""
    both = {c.ref for c in installed.desired} & {c.ref for c in installed.addon.desired}
    return by_resource(config.ref for config in configs if config.ref in both)


def own_hash_differs(given: Given) -> bool:
    """A cluster knows another hash of its own configuration than others do of the same object."""
    told = {config.ref: config.spec_hash for config in given.told}
    return any(
        told.get(config.ref, config.spec_hash) != config.spec_hash
        for installed in given.all_installed
        for config in installed.desired
        if config.ref in installed.addon.configs
    )


def left_over(given: Given) -> bool:
    """A cluster that no placement selects carries more than defaults; OCM gives it the defaults, and
    then removes its add-on.
    """
    selected = {cluster for node in given.nodes for cluster in node.clusters}
    return given.addon.placements is not None and any(
        is_left_over(i.addon, given.addon.defaults)
        for i in given.all_installed
        if i.addon.cluster not in selected
    )


def overlapping_without_addon(given: Given) -> bool:
    """A cluster without an add-on that two placements select counts for both with OCM."""
    there = {i.addon.cluster for i in given.all_installed}
    return any((node.clusters & node.taken) - there for node in given.nodes)


# -- slots, order, stages -------------------------------------------------------------------------


def named_out_of_order(given: Given) -> bool:
    """Were clusters named in the order of their groups, OCM would answer otherwise."""
    return _renamed_differs(given, lambda record: 0)


def slots_not_kept(given: Given) -> bool:
    """Were clusters under way named before all others, OCM would answer otherwise."""
    return _renamed_differs(given, lambda r: int(r is None or r.status is Status.TO_APPLY))


def _renamed_differs(given: Given, place: Callable[[ClusterRolloutStatus | None], int]) -> bool:
    for node in _sound(given):
        facts = read_until(node, None)
        members = [c for g in facts.groups for c in g.clusters]
        members.sort(key=lambda c: place(facts.records.get(c)))
        alias = {cluster: f"{n:05d}" for n, cluster in enumerate(dict.fromkeys(members))}
        groups = [replace(g, clusters=tuple(alias[c] for c in g.clusters)) for g in facts.groups]
        records = {alias[c]: replace(r, cluster=alias[c]) for c, r in facts.records.items()}
        now = answer(node, facts.records, given.now, facts.groups)
        then = answer(node, records, given.now, groups)
        if replace(now, touched=frozenset(alias[c] for c in now.touched)) != then:
            return True
    return False


def group_unknown(given: Given) -> bool:
    """A mandatory group without a cluster: that no decision names, whose decisions are empty, or
    whose clusters are all a later placement's.
    """
    return any(names_unknown(node.spec, node.without_taken) for node in _sound(given))


def stages_mixed(given: Given) -> bool:
    """OCM would write to others, were the first stage that is not done all there is."""
    for node in _sound(given):
        facts = read_until(node, None)
        soaks = _soaks(node)
        stages = stages_of(node.spec, node.without_taken, node.strategy) if node.spec else []
        stage = next((s for s in stages if not s.is_done(facts.records, soaks=soaks)), None)
        if stage is None:
            continue
        groups, mine = stage.alone(facts.records)
        whole = answer(node, facts.records, given.now, facts.groups)
        alone = answer(node, mine, given.now, groups, stage.strategy)
        if (whole.touched, whole.moving) != (alone.touched, alone.moving):
            return True
    return False


def _soaks(node: Node) -> bool:
    """Whether success has to stand for a while; All ignores it."""
    spec = node.spec
    return spec is not None and spec.type != "All" and bool(spec.min_success_time)


_SAID = ("progressing.status", "progressing.reason", "progressing.message")
_BROUGHT = ("configs", "configured")
"""What clusters are told to apply, and that they are told."""


def _excuse(name: str, row: str, applies: Callable[[Given], bool], *fields: str) -> Excuse:
    return Excuse(name, row, lambda given: applies(read(given)), frozenset(fields))


EXCUSES = (
    _excuse("placement missing", "16, 26 (add-on A-9)", placement_missing,
            *_BROUGHT, *_SAID, "progressing"),
    _excuse("invalid values", "26 (add-on A-9)", invalid, *_BROUGHT, *_SAID, "progressing"),
    _excuse("refused by OCM alone", "3, 26", refused_by_ocm, *_BROUGHT, *_SAID),
    _excuse("progression behind the spec", "26 (add-on A-4)", progression_behind,
            *_BROUGHT, *_SAID, "progressing"),
    _excuse("configuration missing", "26 (add-on A-5)", config_missing, *_BROUGHT, *_SAID),
    _excuse("own configuration twice", "26 (add-on A-13)", listed_twice, *_SAID),
    _excuse("left over by a placement", "O7", left_over, *_BROUGHT),
    _excuse("overlap without an add-on", "21", overlapping_without_addon, "progressing.message"),
    _excuse("hash of an own configuration", "24 (add-on A-18)", own_hash_differs, "configs"),
    _excuse("order within a resource is kept", "24 (add-on A-15)", order_kept, *_BROUGHT, *_SAID),
    _excuse("overlapping placements", "21", decides(by_owner), *_BROUGHT, *_SAID),
    _excuse("soak by our clock", "8", decides(by_our_soak), *_BROUGHT, *_SAID),
    _excuse("deadline by our clock", "6", decides(by_our_deadline), *_BROUGHT, *_SAID),
    _excuse("failure grace", "7", decides(by_grace), *_BROUGHT, *_SAID),
    _excuse("groups before names", "1", named_out_of_order, *_BROUGHT, *_SAID),
    _excuse("slots are kept", "5", slots_not_kept, *_BROUGHT, *_SAID),
    _excuse("mandatory group unknown", "13", group_unknown, *_BROUGHT, *_SAID),
    _excuse("one stage after another", "12", stages_mixed, *_BROUGHT, *_SAID),
)  # fmt: skip
