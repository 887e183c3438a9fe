"""Verbs that write objects of their own: approve, reject, freeze, unfreeze."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch

import pytest

from rollout import operate
from rollout.clock import VirtualClock
from rollout.errors import ConfigError, Denied, Gone
from rollout.hub.admission import admit
from rollout.hub.memory import MemoryHub
from rollout.model import kinds, names
from rollout.model.intents import read_asked
from rollout.model.kinds import APPROVAL, FREEZE, REPLICA_SET, Obj, Ref
from rollout.operate import FREEZE_NAME, VerbResult, Who
from rollout.operate.given import revisions
from tests.support import make
from tests.support.addons import CMA, Rig, addon, config, fleet, installed_at, refer
from tests.support.bulletins import BULLETIN
from tests.support.story import HOUR, MIN, SEC, T0, Story

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
ANN = Who("ann", NOON, "incident 7")
BEN = Who("ben", NOON + timedelta(minutes=5))
WEB = Ref(REPLICA_SET, "default/web")
GATED = make.progressive(mandatory=["canary"], maxConcurrency=2)


def gated(gates: str = "before:rest", notes: Mapping[str, str] | None = None) -> Story:
    """The canaries are done, and a gate stands before the others."""
    workload = make.workload(strategy=GATED, annotations={names.GATES: gates, **(notes or {})})
    return Story([*make.fleet(4, canary=2), workload]).end()


def test_a_kind_whose_one_revision_nobody_reads_is_a_fault_and_gets_no_wrong_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(kinds._TRAITS, BULLETIN.name, kinds.WorkloadTraits(has_one_revision=True))
    bulletin = make.workload() | {"kind": BULLETIN.name}

    with pytest.raises(AssertionError, match="the one revision of Bulletin default/web"):
        revisions(MemoryHub(VirtualClock(NOON)), Ref(BULLETIN, "default/web"), bulletin)


def now(story: Story, by: str = "ann", reason: str = "") -> Who:
    return Who(by, story.clock.now(), reason)


def revision(story: Story) -> str:
    (found,) = revisions(story.hub, WEB, story.mwrs())
    return found


def approvals(hub: MemoryHub) -> list[Obj]:
    return [obj["spec"] for obj in hub.list(APPROVAL).items]


# -- approve and reject ------------------------------------------------------------------------


def test_an_approval_says_who_approved_which_gate_of_which_revision_and_opens_it() -> None:
    story = gated()

    (told,) = operate.approve(story.hub, WEB, now(story, reason="looks well"))

    assert told.changed
    assert told.message == f"created: gate before:rest of revision {revision(story)} is approved"
    assert approvals(story.hub) == [
        {
            "workload": {"kind": "ManifestWorkReplicaSet", "name": "web"},
            "revision": revision(story),
            "gate": "before:rest",
            "decision": "Approve",
            "actor": "ann",
            "reason": "looks well",
        }
    ]
    assert story.end().reason == "Complete"


@pytest.mark.parametrize("verb", [operate.approve, operate.reject])
def test_the_same_word_twice_changes_nothing_at_one_instant_and_later(
    verb: Callable[[MemoryHub, Ref, Who], tuple[VerbResult, ...]],
) -> None:
    story = gated()
    who = now(story)

    told = [verb(story.hub, WEB, Who("ann", who.at + late))[0] for late in (0 * SEC, 0 * SEC, MIN)]

    assert [each.changed for each in told] == [True, False, False]
    assert told[2].message.endswith(" already by ann (unverified)")
    assert len({each.ref for each in told}) == len(approvals(story.hub)) == 1


def test_an_approval_that_lasts_longer_is_another_one_even_at_the_same_instant() -> None:
    story = gated()
    who, soon = now(story), story.clock.now() + MIN

    told = [
        operate.approve(story.hub, WEB, who, expires=end)[0]
        for end in (soon, soon + 3 * HOUR, soon + HOUR, None, soon)
    ]

    assert [each.changed for each in told] == [True, True, False, True, False]


def test_a_word_on_another_revision_or_gate_is_another_one() -> None:
    story = gated("before:rest,after:rest")
    who = now(story)
    operate.approve(story.hub, WEB, who, "before:rest")

    assert operate.approve(story.hub, WEB, who, "after:rest")[0].changed
    assert operate.approve(story.hub, WEB, who, "*")[0].changed
    assert not operate.approve(story.hub, WEB, who, "after:rest")[0].changed
    story.template(make.template("2"))
    assert operate.approve(story.hub, WEB, who, "before:rest")[0].changed


def test_an_approval_of_a_rejected_revision_says_that_it_stays_rejected() -> None:
    story = gated()
    (no,) = operate.reject(story.hub, WEB, now(story, "ben"))

    (told,) = operate.approve(story.hub, WEB, now(story))

    assert told.changed
    assert told.message.endswith(
        f"is approved; but revision {revision(story)} is still rejected by ben (unverified) in"
        f" Approval {no.ref.name}: delete that (`rollout delete approval {no.ref.name} -n default`)"
    )


def test_who_may_not_read_approvals_may_still_write_them() -> None:
    story = gated()

    with patch.object(story.hub, "list", side_effect=Denied("approvals are forbidden")):
        (told,) = operate.approve(story.hub, WEB, now(story))

    assert told.changed


def test_an_approval_of_an_addon_lies_where_each_of_its_placements_does() -> None:
    placed = [installed_at(name, refer(name)) for name in ("p", "q")]
    gates = {names.GATES: "before:rest"}
    documents = [config("p"), config("q", "x"), addon(placements=placed, annotations=gates)]
    rig = Rig([*fleet("c0", "c1", placements=("p", "q")), *documents])
    rig.decide(["c0"]).decide(["c1"], placement="q")

    told = operate.approve(rig.hub, CMA, Who("ann", rig.clock.now()))

    assert [each.ref.namespace for each in told] == ["default", "default"]
    found = {spec["revision"] for spec in approvals(rig.hub)}
    assert found == revisions(rig.hub, CMA, rig.hub.get(CMA))
    assert len(found) == 2


@pytest.mark.parametrize(
    ("gates", "asked", "words"),
    [
        ("", {}, "asks for no approval; annotation rollout-engine.io/gates would"),
        (
            "before:rest,after:rest",
            {},
            "has 2 gates: choose one with --gate: before:rest, after:rest, or",
        ),
        ("before:rest", {"gate": "after:rest"}, "has no gate after:rest; it has before:rest"),
        ("before:rest", {"revision": "0123456789abcdef"}, "is not rolled out (any more); "),
        ("before:rest", {"expires": T0}, "that expired at 2026-01-01T00:00:00Z opens no gate"),
    ],
)
def test_what_would_open_no_gate_is_refused(
    gates: str, asked: Mapping[str, Any], words: str
) -> None:
    story = gated(gates) if gates else Story([*make.fleet(2), make.workload()]).end()

    with pytest.raises(ConfigError) as refused:
        operate.approve(story.hub, WEB, now(story), **asked)
    assert words in str(refused.value)
    assert approvals(story.hub) == []


def test_a_gate_of_which_nothing_is_rolled_out_yet_cannot_be_approved() -> None:
    hub = MemoryHub(VirtualClock(NOON), admit=admit)
    hub.create(CMA, addon(annotations={names.GATES: "before:rest"}))

    with pytest.raises(ConfigError, match="nothing is rolled out yet"):
        operate.approve(hub, CMA, ANN)
    with pytest.raises(ConfigError, match="nothing is rolled out yet"):
        operate.reject(hub, CMA, ANN)


def test_one_word_may_approve_every_gate() -> None:
    story = gated("before:rest,after:rest")

    (told,) = operate.approve(story.hub, WEB, now(story), "*")

    assert told.message == f"created: every gate of revision {revision(story)} is approved"
    assert story.end().reason == "Complete"


def test_an_approval_that_expires_before_its_gate_is_reached_opens_nothing() -> None:
    story = gated()
    story.annotate(names.PAUSED, "true")
    story.settle()

    operate.approve(story.hub, WEB, now(story), expires=story.clock.now() + MIN)
    story.to(story.now + 2 * MIN)
    story.annotate(names.PAUSED, None)
    story.end()

    assert story.reason == "ApprovalNeeded"
    assert "has expired" in story.message


def test_profile_ocm_knows_no_gate_and_says_so() -> None:
    hub = MemoryHub(VirtualClock(NOON), admit=admit)
    asked = {names.SEMANTICS: "ocm", names.GATES: "before:rest"}
    hub.create(WEB, make.workload(annotations=asked))

    with pytest.raises(ConfigError, match="where a gate does nothing"):
        operate.approve(hub, WEB, ANN)


def test_a_rejection_is_of_the_revision_and_ends_when_it_is_deleted() -> None:
    story = gated()

    (told,) = operate.reject(story.hub, WEB, now(story, "ben", "too early"))
    story.settle()

    assert told.message == f"created: revision {revision(story)} is rejected"
    assert story.reason == "Rejected"
    assert "by ben (unverified)" in story.message
    assert "too early" in story.message
    assert approvals(story.hub)[0]["gate"] == "*"

    story.hub.delete(told.ref)
    operate.approve(story.hub, WEB, now(story))
    assert story.end().reason == "Complete"


def test_a_workload_that_is_not_there_is_gone() -> None:
    hub = MemoryHub(VirtualClock(NOON), admit=admit)

    for verb in (operate.approve, operate.reject):
        with pytest.raises(Gone):
            verb(hub, WEB, ANN)


# -- freeze and unfreeze -----------------------------------------------------------------------


def empty() -> MemoryHub:
    return MemoryHub(VirtualClock(NOON), admit=admit)


def frozen(hub: MemoryHub, name: str = FREEZE_NAME) -> tuple[Obj, dict[str, str]]:
    """The spec of a Freeze, and who asked for what."""
    obj = hub.get(Ref(FREEZE, name))
    told = read_asked(obj["metadata"].get("annotations") or {})
    return obj["spec"], {verb: f"{each.by} {each.reason}".strip() for verb, each in told.items()}


def test_a_freeze_says_who_stopped_the_line_and_why_and_a_second_one_changes_nothing() -> None:
    hub = empty()

    told, again = operate.freeze(hub, ANN), operate.freeze(hub, BEN)

    words = "created: nothing is touched or removed on this hub from now on"
    assert told == VerbResult(Ref(FREEZE, FREEZE_NAME), True, words)
    assert not again.changed
    assert again.message == "the hub is frozen already by ann (unverified): incident 7"
    assert frozen(hub) == ({"reason": "incident 7", "actor": "ann"}, {"freeze": "ann incident 7"})


def test_another_end_changes_the_freeze_that_there_is_and_who_answers_for_it() -> None:
    hub = empty()
    operate.freeze(hub, ANN, until=NOON + HOUR)

    told = operate.freeze(hub, BEN, until=NOON + 2 * HOUR)
    assert told.message.startswith("configured: ")
    assert told.message.endswith(
        "until 2026-01-01T14:00:00Z; it was frozen by ann (unverified)"
        " until 2026-01-01T13:00:00Z: incident 7"
    )
    spec = {"reason": "incident 7", "actor": "ben", "until": "2026-01-01T14:00:00Z"}
    assert frozen(hub) == (spec, {"freeze": "ben"})

    operate.freeze(hub, ANN)
    assert frozen(hub)[0] == {"reason": "incident 7", "actor": "ann"}


@pytest.mark.parametrize("end", [NOON + 2 * HOUR, None], ids=["with an end", "without one"])
def test_a_freeze_is_never_shortened_unless_that_is_said(end: datetime | None) -> None:
    hub = empty()
    operate.freeze(hub, ANN, until=end)
    before = frozen(hub)

    with pytest.raises(
        ConfigError, match=r"by ann .*--shorten, or `rollout unfreeze stop-the-line`"
    ):
        operate.freeze(hub, BEN, until=NOON + HOUR)
    assert frozen(hub) == before

    told = operate.freeze(hub, BEN, until=NOON + HOUR, shorten=True)
    assert told.changed
    assert "it was frozen by ann (unverified)" in told.message
    assert frozen(hub)[0]["until"] == "2026-01-01T13:00:00Z"


def test_a_freeze_that_would_be_over_already_is_refused() -> None:
    hub = empty()

    with pytest.raises(ConfigError, match="would be over already"):
        operate.freeze(hub, ANN, until=NOON)
    assert hub.list(FREEZE).items == ()


def test_an_unfreeze_ends_the_freeze_and_leaves_word_of_who_ended_it() -> None:
    hub = empty()
    operate.freeze(hub, ANN)

    told, again = operate.unfreeze(hub, BEN), operate.unfreeze(hub, BEN)

    assert told == VerbResult(Ref(FREEZE, FREEZE_NAME), True, "ended: rollouts on the hub go on")
    assert again == VerbResult(Ref(FREEZE, FREEZE_NAME), False, "the hub is not frozen")
    assert frozen(hub) == (
        {"reason": "incident 7", "actor": "ann", "until": "2026-01-01T12:05:00Z"},
        {"freeze": "ann incident 7", "unfreeze": "ben"},
    )


def test_a_freeze_that_was_ended_can_be_put_on_again() -> None:
    hub = empty()
    operate.freeze(hub, ANN)
    operate.unfreeze(hub, BEN)

    assert operate.freeze(hub, BEN).changed
    assert frozen(hub) == ({"reason": "", "actor": "ben"}, {"freeze": "ben"})


def test_of_several_freezes_one_must_be_named_and_the_others_stay() -> None:
    hub = empty()
    operate.freeze(hub, ANN)
    operate.freeze(hub, ANN, name="audit")

    with pytest.raises(ConfigError, match=f"there are 2 freezes: name one of audit, {FREEZE_NAME}"):
        operate.unfreeze(hub, BEN)
    assert (
        operate.unfreeze(hub, BEN, "audit").message
        == f"ended: the hub stays frozen by {FREEZE_NAME}"
    )
    assert operate.unfreeze(hub, BEN, "audit").message == "it ended at 2026-01-01T12:05:00Z"
    assert operate.unfreeze(hub, BEN).message == "ended: rollouts on the hub go on"
    with pytest.raises(Gone):
        operate.unfreeze(hub, BEN, "nope")


def test_a_freeze_holds_every_workload_until_it_is_ended() -> None:
    story = Story([*make.fleet(2), make.workload()]).end()
    operate.freeze(story.hub, now(story))
    story.settle()
    story.template(make.template("2"))
    story.to(story.now + HOUR)
    assert story.touched("2") == {}
    assert story.reason == "Frozen"

    ended = story.now
    operate.unfreeze(story.hub, now(story))
    story.end()

    assert min(story.touched("2").values()) <= ended + SEC
    assert story.reason == "Complete"
