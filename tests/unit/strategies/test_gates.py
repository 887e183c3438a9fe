"""Gates: what opens them, where they stand, and that all they ever do is to hold a rollout up."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from itertools import product, takewhile

import pytest
from msgspec import structs

from rollout.model.approvals import Approval, ApprovalDecision, GateRef, Side, parse_gate
from rollout.model.kinds import REPLICA_SET, Ref
from rollout.model.placement import Group
from rollout.model.replicaset import GroupRef, RolloutSpec
from rollout.model.waits import Reason, Wait
from rollout.strategies.base import Checkpoint, Phase, Rollout, Stage, Staging, Step, select
from rollout.strategies.gate_kinds import GATES
from rollout.strategies.gates import (
    AtGate,
    Gate,
    Gates,
    gate_key,
    misplaced,
    rejection,
    stands_at,
)
from rollout.strategies.stages import BUILT_IN
from rollout.strategies.step import decide
from rollout.testing import check_gate, sample_crossing
from tests.support.fleets import LETTERS, MIN, NEW, SEC, T0, applied, fleet, spec_of

GROUPS = (Group(0, "canary", ("a",)), Group(1, "", ("b",)), Group(2, "west", ("c",)))
CANARY = Stage("canary/0", "canary #0", groups=GROUPS[:1])


def gate(text: str) -> GateRef:
    found = parse_gate(text)
    assert found is not None, text
    return found


def gates_of(
    *asked: GateRef, approvals: tuple[Approval, ...] = (), kinds: Mapping[str, Gate] = GATES
) -> Gates:
    return Gates(
        workload=Ref(REPLICA_SET, "apps/web"),
        placement="global",
        revision=NEW,
        asked=asked,
        kinds=kinds,
        approvals=approvals,
    )


def checked(text: str, approvals: tuple[Approval, ...]) -> Wait | None:
    at = replace(sample_crossing(text), stage=CANARY, revision=NEW, approvals=approvals)
    return GATES["approval"].check(at, T0)


def approval(
    gate: str = "*",
    revision: str = NEW,
    decision: ApprovalDecision = ApprovalDecision.APPROVE,
    **more: object,
) -> Approval:
    said = Approval(
        name="said",
        namespace="apps",
        kind="ManifestWorkReplicaSet",
        workload="web",
        revision=revision,
        decision=decision,
        gate=gate,
    )
    return replace(said, **more)  # type: ignore[arg-type]  # each test names fields that there are


# -- approvals ---------------------------------------------------------------------------------

APPROVALS: dict[str, tuple[Approval, bool]] = {
    "of this gate": (approval("before:canary"), True),
    "of every gate": (approval("*"), True),
    "of the other side": (approval("after:canary"), False),
    "of another stage": (approval("before:west"), False),
    "of the same stage in other words": (approval("before:0"), False),
    "of the same stage in one placement": (approval("before:edge/canary"), False),
    "of another revision": (approval(revision="other"), False),
    "of no revision": (approval(revision=""), False),
    "a refusal": (approval(decision=ApprovalDecision.REJECT), False),
    "that ends in a moment": (approval(expires=T0 + SEC), True),
    "that ends now": (approval(expires=T0), False),
    "that has ended": (approval(expires=T0 - SEC), False),
}


@pytest.mark.parametrize("word", APPROVALS)
def test_a_gate_opens_for_an_approval(word: str) -> None:
    said, opens = APPROVALS[word]

    shut = checked("before:canary", (said,))

    assert (shut is None) == opens
    if shut is not None:
        assert shut.reason == "ApprovalNeeded"
        assert "before:canary" in shut.message
        assert NEW in shut.message
        assert ("said has expired" in shut.message) == (word in ("that ends now", "that has ended"))


def test_one_approval_that_counts_is_enough_beside_others_that_do_not() -> None:
    useless = tuple(said for said, opens in APPROVALS.values() if not opens)

    assert checked("before:canary", useless) is not None
    assert checked("before:canary", (*useless, approval())) is None


REFUSALS: dict[str, tuple[Approval, bool]] = {
    "of this revision": (approval(decision=ApprovalDecision.REJECT), True),
    "of one gate": (approval("before:west", decision=ApprovalDecision.REJECT), True),
    "of another revision": (approval(revision="other", decision=ApprovalDecision.REJECT), False),
    "that has ended": (approval(decision=ApprovalDecision.REJECT, expires=T0), False),
    "that is none": (approval(), False),
}


@pytest.mark.parametrize("word", REFUSALS)
def test_a_revision_is_refused_as_a_whole_by_a_refusal(word: str) -> None:
    said, refuses = REFUSALS[word]

    assert (rejection((approval(), said), NEW, T0) is not None) == refuses


def test_a_refusal_says_who_refused_why_and_what_ends_it() -> None:
    said = approval(decision=ApprovalDecision.REJECT, actor="ann", reason="too early")

    assert rejection((said,), NEW, T0) == Wait(
        Reason.REJECTED,
        "revision new was rejected by ann (unverified) in Approval said: too early; "
        "roll out another one, or delete that Approval",
    )


# -- where gates stand -------------------------------------------------------------------------

PROGRESSIVE = spec_of(mandatory=["canary"])
PER_GROUP = spec_of("ProgressivePerGroup", mandatory=["canary"])
ALL = spec_of("All")

STAGES: list[tuple[str, RolloutSpec, list[str]]] = [
    ("before:canary", PROGRESSIVE, ["canary/0"]),
    ("before:0", PROGRESSIVE, ["canary/0"]),
    ("before:rest", PROGRESSIVE, ["rest"]),
    ("before:*", PROGRESSIVE, ["canary/0", "rest"]),
    ("before:west", PROGRESSIVE, []),
    ("before:1", PROGRESSIVE, []),
    ("before:west", PER_GROUP, ["west/0"]),
    ("before:1", PER_GROUP, ["/0"]),
    ("before:rest", PER_GROUP, []),
    ("before:*", PER_GROUP, ["canary/0", "/0", "west/0"]),
    ("before:all", ALL, ["all"]),
    ("before:canary", ALL, []),
    ("before:0", ALL, []),
    ("before:²", PER_GROUP, []),
]


def staging(spec: RolloutSpec, groups: tuple[Group, ...] = GROUPS) -> Staging:
    return BUILT_IN[spec.type].stages(spec, select(groups))


@pytest.mark.parametrize(("text", "spec", "wanted"), STAGES)
def test_a_gate_stands_at_the_stages_that_it_names(
    text: str, spec: RolloutSpec, wanted: list[str]
) -> None:
    stages = staging(spec).stages

    assert [stage.key for stage in stages if stands_at(gate(text), stage)] == wanted
    found = gates_of(gate(text)).checkpoints(staging(spec), (), T0)
    assert [each.stage for each in found] == wanted
    assert (misplaced([gate(text)], staging(spec), select(GROUPS)) is None) == bool(wanted)


def test_a_gate_with_more_digits_than_a_number_has_stands_nowhere() -> None:
    stages = staging(PER_GROUP).stages

    assert not any(stands_at(gate("before:" + "9" * 5000), stage) for stage in stages)


def test_a_gate_that_stands_nowhere_is_told_with_the_stages_that_there_are() -> None:
    found = misplaced([gate("before:*"), gate("before:edge")], staging(PER_GROUP), select(GROUPS))

    assert found is not None
    assert found.reason == "UnknownApprovalGroup"
    assert "gate before:edge" in found.message
    assert found.message.endswith("there are: canary, 1, west")


def test_a_gate_at_a_group_that_the_placement_names_waits_for_its_first_cluster() -> None:
    named = select(GROUPS, named=["edge"])

    assert misplaced([gate("before:edge")], staging(PER_GROUP), named) is None
    # A group that is there, and is no stage of its own, gets no stage later either.
    in_the_rest = select(GROUPS, named=["west"])
    assert misplaced([gate("before:west")], staging(PROGRESSIVE), in_the_rest) is not None


def test_where_nothing_is_selected_no_gate_is_out_of_place() -> None:
    assert misplaced([gate("before:edge")], Staging(), select([])) is None


def test_a_gate_that_has_opened_stands_there_no_more() -> None:
    gates = [gate("before:canary"), gate("after:canary"), gate("before:rest")]
    before, after, rest = gates_of(*gates).checkpoints(staging(PROGRESSIVE), (), T0)

    left = gates_of(*gates).checkpoints(staging(PROGRESSIVE), {after.key}, T0)

    assert [each.key for each in left] == [before.key, rest.key]


def test_of_several_gates_at_one_place_each_opens_for_itself() -> None:
    gates = [gate("before:*"), gate("before:canary")]
    rollout = fleet("...", PROGRESSIVE, groups=GROUPS)

    def asked(opened: frozenset[str], *said: Approval) -> tuple[Checkpoint, ...]:
        return gates_of(*gates, approvals=said).checkpoints(rollout.staging, opened, T0)

    mine = asked(frozenset(), approval("before:canary"))
    step = decide(structs.replace(rollout, checkpoints=mine), T0)
    assert len(step.opened) == 1
    assert step.touch == ()

    left = asked(frozenset(step.opened), approval("before:canary"))
    assert decide(structs.replace(rollout, checkpoints=left), T0).touch == ()

    approved = asked(frozenset(step.opened), approval("before:*"))
    assert decide(structs.replace(rollout, checkpoints=approved), T0).touch == ("a",)


# -- what gates do to a step -------------------------------------------------------------------

SHUT = Wait(Reason.APPROVAL_NEEDED, "somebody has to approve")
SMALL = [
    (spec, "".join(letters))
    for spec in (PROGRESSIVE, PER_GROUP, ALL)
    for letters in product(".PTDO", repeat=3)
]


def gated(rollout: Rollout) -> Iterator[Rollout]:
    """The rollout with every choice of none, a shut and an open gate at its first two stages."""
    stages = [stage.key for stage in rollout.staging.stages][:2]
    places = [(key, side) for key in stages for side in Side]
    for choice in product((None, SHUT, "open"), repeat=len(places)):
        yield structs.replace(
            rollout,
            checkpoints=tuple(
                Checkpoint(f"{side.value}:{key}", key, side, c if isinstance(c, Wait) else None)
                for (key, side), c in zip(places, choice, strict=True)
                if c is not None
            ),
        )


def shut(rollout: Rollout, stage: str, side: Side) -> bool:
    return any(
        c.closed is not None and (c.stage, c.side) == (stage, side) for c in rollout.checkpoints
    )


def reached(rollout: Rollout, free: Step) -> Iterator[tuple[str, Side]]:
    """The places of gates that the rollout is at, or has come past: the first shut one ends it."""
    if free.hold is not None or free.halt is not None:
        return
    for report in free.stages:
        yield report.key, Side.BEFORE
        if shut(rollout, report.key, Side.BEFORE) or not report.passed:
            return
        yield report.key, Side.AFTER
        if shut(rollout, report.key, Side.AFTER):
            return


def let_through(rollout: Rollout, free: Step) -> tuple[str, ...]:
    """The stages that pass: those that would without gates, up to the first that has a shut one."""
    return tuple(
        takewhile(lambda key: not any(shut(rollout, key, side) for side in Side), free.passed)
    )


@pytest.mark.parametrize(("spec", "letters"), SMALL)
def test_in_every_small_fleet_gates_hold_up_what_is_behind_them_and_nothing_else(
    spec: RolloutSpec, letters: str
) -> None:
    rollout = fleet(letters, spec, groups=GROUPS)
    free = decide(rollout, T0)
    where = {c: s.key for s in rollout.staging.stages for g in s.groups for c in g.clusters}
    order = [stage.key for stage in rollout.staging.stages]
    for guarded in gated(rollout):
        step = decide(guarded, T0)
        come_to = list(reached(guarded, free))
        at = {key for key, side in come_to if side is Side.BEFORE}
        behind = {key for key in at if not shut(guarded, key, Side.BEFORE)}

        assert step.touch == tuple(c for c in free.touch if where[c] in behind)
        assert step.passed == let_through(guarded, free)
        assert set(step.opened) == {
            c.key for c in guarded.checkpoints if c.closed is None and (c.stage, c.side) in come_to
        }
        assert (step.gate is not None) == any(shut(guarded, *place) for place in come_to)
        assert (step.settled, step.halt, step.hold) == (free.settled, free.halt, free.hold)
        assert [report.key for report in step.stages] == order
        assert [report.phases for report in step.stages] == [r.phases for r in free.stages]


@pytest.mark.parametrize(("spec", "letters"), SMALL)
def test_while_a_gate_is_shut_its_stage_says_so_where_anybody_waits(
    spec: RolloutSpec, letters: str
) -> None:
    rollout = fleet(letters, spec, groups=GROUPS)
    key = rollout.staging.stages[0].key
    guarded = structs.replace(rollout, checkpoints=(Checkpoint("door", key, Side.BEFORE, SHUT),))

    step = decide(guarded, T0)

    first = step.stages[0]
    waits = first.phases.get(Phase.WAITING, 0) + first.phases.get(Phase.OUTDATED, 0)
    if step.halt is None:
        assert first.blocked == "ApprovalNeeded" or not waits
        assert step.gate == SHUT
    assert not step.complete


def test_a_stage_that_has_passed_is_asked_nothing_any_more() -> None:
    rollout = fleet("D..", PROGRESSIVE, groups=GROUPS)
    doors = tuple(Checkpoint(side.value, "canary/0", side, SHUT) for side in Side)

    step = decide(structs.replace(rollout, passed=frozenset({"canary/0"}), checkpoints=doors), T0)

    assert step.touch == ("b", "c")
    assert step.gate is None


def test_behind_a_gate_at_the_last_stage_nothing_is_complete_until_it_opens() -> None:
    rollout = fleet("DDD", ALL, groups=GROUPS)
    door = Checkpoint("door", "all", Side.AFTER, SHUT)

    shut_off = decide(structs.replace(rollout, checkpoints=(door,)), T0)
    let_through = decide(structs.replace(rollout, checkpoints=(replace(door, closed=None),)), T0)

    assert not shut_off.complete
    assert shut_off.stages[0].blocked == "ApprovalNeeded"
    assert let_through.complete
    assert let_through.opened == ("door",)


@pytest.mark.parametrize("how", ["paused", "halted"])
def test_no_gate_opens_while_nothing_may_go_through(how: str) -> None:
    rollout = fleet("..T" if how == "halted" else "...", spec_of(), groups=GROUPS)
    door = Checkpoint("door", "rest", Side.BEFORE, None)
    hold = Wait(Reason.PAUSED, "paused") if how == "paused" else None

    assert decide(structs.replace(rollout, checkpoints=(door,), hold=hold), T0).opened == ()


def test_an_approval_is_used_up_when_the_rollout_comes_to_its_gate_not_before() -> None:
    """It expires unused where the stage before takes too long."""
    rollout = fleet("P..", PROGRESSIVE, groups=GROUPS)
    said = (approval("before:rest", expires=T0 + MIN),)
    asked = gates_of(gate("before:rest"), approvals=said)
    doors = asked.checkpoints(rollout.staging, (), T0)
    assert decide(structs.replace(rollout, checkpoints=doors), T0).opened == ()

    done = fleet("D..", PROGRESSIVE, groups=GROUPS)
    late = asked.checkpoints(done.staging, (), T0 + 2 * MIN)
    step = decide(structs.replace(done, checkpoints=late), T0 + 2 * MIN)

    assert step.touch == ()
    assert step.gate is not None
    assert "expired" in step.gate.message


def test_asking_again_after_a_gate_has_opened_gives_nothing_new() -> None:
    rollout = structs.replace(
        fleet("D..", spec_of(mandatory=["canary"], limit=1), groups=GROUPS),
        checkpoints=(Checkpoint("door", "rest", Side.BEFORE, None),),
    )
    step = decide(rollout, T0)
    assert step.touch == ("b",)

    after = applied(rollout, step, T0)
    again = decide(after, T0)

    assert (again.touch, again.passed, again.opened) == ((), (), ())


def test_letters_and_groups_of_this_file_are_those_that_it_thinks_they_are() -> None:
    assert {LETTERS[letter] for letter in ".PTDO"} == {
        Phase.WAITING,
        Phase.PROGRESSING,
        Phase.FAILED,
        Phase.SOAKED,
        Phase.OUTDATED,
    }
    assert PROGRESSIVE.mandatory == (GroupRef("canary"),)


# -- gates of plugins --------------------------------------------------------------------------


class Weekend:
    """Shut until an instant that the argument says, in minutes from T0."""

    def check(self, at: AtGate, now: datetime) -> Wait | None:
        opens = T0 + int(at.gate.argument) * MIN
        return None if now >= opens else Wait(Reason.GATE_CLOSED, "shut", opens)


def test_a_gate_of_a_plugin_is_asked_with_its_argument_and_says_when_to_look_again() -> None:
    asked = gates_of(gate("before:rest=weekend/30"), kinds={**GATES, "weekend": Weekend()})
    rollout = fleet("D..", PROGRESSIVE, groups=GROUPS)

    early = asked.checkpoints(rollout.staging, (), T0)
    step = decide(structs.replace(rollout, checkpoints=early), T0)
    assert step.touch == ()
    assert step.gate == Wait(Reason.GATE_CLOSED, "shut", T0 + 30 * MIN)
    assert step.recheck_at == T0 + 30 * MIN

    late = asked.checkpoints(rollout.staging, (), T0 + 30 * MIN)
    step = decide(structs.replace(rollout, checkpoints=late), T0 + 30 * MIN)
    assert step.opened == ("before:rest=weekend/30",)


def test_a_gate_of_a_kind_that_is_not_installed_holds_the_rollout_and_says_which_there_are() -> (
    None
):
    asked = gates_of(gate("before:rest=weekend"))

    found = asked.misplaced(staging(PROGRESSIVE), select(GROUPS))
    assert found is not None
    assert found.reason is Reason.UNKNOWN_GATE
    assert f"'weekend'; there are: {', '.join(sorted(GATES))}" in found.message
    assert all(each.closed for each in asked.checkpoints(staging(PROGRESSIVE), (), T0))


def test_the_contract_kit_accepts_a_pure_gate_and_names_what_another_one_breaks() -> None:
    check_gate(GATES["approval"], [sample_crossing("before:rest")])

    class Moody:
        def __init__(self) -> None:
            self.asked = 0

        def check(self, at: AtGate, now: datetime) -> Wait | None:
            self.asked += 1
            return Wait(Reason.GATE_CLOSED, f"asked {self.asked} times")

    class Late:
        def check(self, at: AtGate, now: datetime) -> Wait | None:
            return Wait(Reason.GATE_CLOSED, "shut", now)

    with pytest.raises(AssertionError, match="answers differently when asked again"):
        check_gate(Moody())
    with pytest.raises(AssertionError, match="until an instant that has passed"):
        check_gate(Late())


@pytest.mark.parametrize("text", ["before:canary=", "before:=analysis", "=analysis", "before=x:y"])
def test_what_is_no_gate_is_refused(text: str) -> None:
    assert parse_gate(text) is None


def test_a_gate_is_printed_as_it_is_written() -> None:
    for text in ("before:rest", "after:edge/canary", "before:*=analysis/slo", "after:0=weekend"):
        assert str(gate(text)) == text


def test_a_gate_that_is_asked_for_at_every_stage_opens_at_each_of_them_apart() -> None:
    everywhere = gate("after:*")
    stages = [Stage(f"{name}/0", name, groups=GROUPS[:1]) for name in ("canary", "west", "east")]

    assert len({gate_key(everywhere, stage) for stage in stages}) == len(stages)
