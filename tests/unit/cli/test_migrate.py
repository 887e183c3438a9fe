"""`rollout migrate`: what it prints, and that a dry run does nothing."""

import json
from pathlib import Path

from rollout.clock import SystemClock
from rollout.hub.sqlite import SqliteHub
from rollout.model import names
from rollout.model.kinds import CONFIG_MAP, REPLICA_SET, Ref
from rollout.rollouts.record import record_id
from tests.support.shapes import fleet, run

WEB = Ref(REPLICA_SET, "default/web")


def with_a_page(tmp_path: Path) -> Path:
    """A state file with a page that nobody owns."""
    state = tmp_path / "state.db"
    run("apply", "-f", fleet(tmp_path / "all.yaml"), state=state)
    rid = record_id(WEB, "fleet")
    meta = {
        "labels": {names.RECORD_LABEL: rid},
        "annotations": {names.OWNER: WEB.key, names.RECORD_PLACEMENT: "fleet"},
    }
    hub = SqliteHub(state, SystemClock())
    ref = Ref(CONFIG_MAP, f"default/rollout-record-{rid}-0")
    hub.create(ref, {"metadata": meta, "data": {"head.json": '{"opened": ["before:rest"]}'}})
    hub.close()
    return state


def test_a_dry_run_says_what_would_be_done_and_does_nothing(tmp_path: Path) -> None:
    state = with_a_page(tmp_path)

    for _ in range(2):
        result = run("migrate", "--dry-run", state=state)
        assert result.exit_code == 0
        assert "record of placement fleet: 0 would be written, 1 would be deleted" in result.stdout
        assert "not believed: 1 of 1 pages name no owner" in result.stdout


def test_it_is_done_once(tmp_path: Path) -> None:
    state = with_a_page(tmp_path)

    told = json.loads(run("migrate", "-o", "json", state=state).stdout)
    assert (told["failed"], told["dryRun"]) == (0, False)
    assert [len(step["deleted"]) for step in told["steps"]] == [1]
    again = run("migrate", state=state)
    assert (again.exit_code, again.stdout) == (0, "nothing of the first edition is here\n")
