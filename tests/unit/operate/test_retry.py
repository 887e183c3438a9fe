"""A retry is another attempt each time, and says where none can come of it."""

import pytest

from rollout import operate
from rollout.analysis.snapshot import snapshot_of
from rollout.errors import ConfigError
from rollout.model import names
from rollout.model.instants import rfc3339_micro
from rollout.model.kinds import Ref
from rollout.operate import Who
from rollout.operate.given import revisions
from tests.support import make
from tests.support.addons import CMA
from tests.support.operated import ANN, BEN, BOTH, WEB, hub_with, notes, rolled_out, two_placements
from tests.support.story import MIN


@BOTH
def test_each_retry_is_another_one_though_it_is_of_the_same_instant(ref: Ref) -> None:
    """On virtual time an instant lasts until the next run: a retry there was once dead for ever."""
    hub = hub_with()
    tokens: list[str] = []

    for who in (ANN, Who("ben", ANN.at), ANN, BEN):
        assert operate.retry(hub, ref, who).changed
        tokens.append(notes(hub, ref)[names.RETRY])

    first = rfc3339_micro(ANN.at)
    assert tokens == [first, f"{first}#2", f"{first}#3", rfc3339_micro(BEN.at)]


def test_a_second_abort_at_the_same_instant_is_taken_back_too() -> None:
    story = rolled_out("1")
    for _ in range(2):
        operate.abort(story.hub, WEB, ANN)
        assert operate.retry(story.hub, WEB, ANN).changed
        assert names.ABORT not in notes(story.hub)
        assert story.end().reason == "Complete"


def test_a_retry_of_a_rejected_revision_names_the_approval_to_be_deleted() -> None:
    """Once it lifted the bar, which came down again at once, and the advice was to retry."""
    story = rolled_out("1")
    story.annotate(names.ROLLBACK, "Automatic")
    story.template(make.template("2"))
    story.end()
    (no,) = operate.reject(story.hub, WEB, Who("ben", story.clock.now()))
    story.end()
    assert story.reason == "RolledBack"
    assert f"until the template changes, or Approval {no.ref.name} is deleted and" in story.message
    account = snapshot_of(story.hub, story.clock.now()).account(WEB)
    assert account is not None
    assert account.wait.ends == (
        f"another revision is rolled out, or Approval {no.ref.name} (`rollout delete approval"
        f" {no.ref.name} -n default`) is deleted and somebody retries: `rollout retry`"
    )

    with pytest.raises(ConfigError, match=f"`rollout delete approval {no.ref.name} -n default`"):
        operate.retry(story.hub, WEB, Who("ann", story.clock.now()))

    story.hub.delete(no.ref)
    assert "changes or somebody retries" in story.end().message
    assert operate.retry(story.hub, WEB, Who("ann", story.clock.now())).changed
    story.end()
    assert (story.reason, set(story.versions().values())) == ("Complete", {"2"})


def test_a_retry_of_an_addon_says_which_of_its_revisions_stay_rejected() -> None:
    rig = two_placements()
    one, _ = sorted(revisions(rig.hub, CMA, rig.hub.get(CMA)))
    operate.reject(rig.hub, CMA, ANN, revision=one)

    told = operate.retry(rig.hub, CMA, BEN)

    assert told.changed
    assert f"; but revision {one} is still rejected by ann" in told.message


def test_a_retry_of_what_was_looked_at_lifts_no_abort_of_what_came_after() -> None:
    """Ann looks at version 2; Ben aborts version 3 before she asks."""
    story = rolled_out("1", "2")
    shown = revisions(story.hub, WEB, story.mwrs())
    story.template(make.template("3"))
    story.on(MIN)
    operate.abort(story.hub, WEB, Who("ben", story.clock.now()))
    story.end()
    before = story.versions()

    with pytest.raises(
        ConfigError, match=r"was shown, and now \w+ is rolled out: look at it first"
    ):
        operate.retry(story.hub, WEB, Who("ann", story.clock.now()), shown=shown)

    assert (story.end().reason, story.versions()) == ("Aborted", before)
    seen = revisions(story.hub, WEB, story.mwrs())
    assert operate.retry(story.hub, WEB, Who("ann", story.clock.now()), shown=seen).changed
    assert (story.end().reason, set(story.versions().values())) == ("Complete", {"3"})


def test_a_retry_of_an_addon_is_about_all_of_its_revisions() -> None:
    rig = two_placements()
    one, other = sorted(revisions(rig.hub, CMA, rig.hub.get(CMA)))

    with pytest.raises(ConfigError, match=f"revision {one} was shown, and now {one}, {other} is"):
        operate.retry(rig.hub, CMA, ANN, shown={one})
    assert operate.retry(rig.hub, CMA, ANN, shown={one, other}).changed
