"""The decision log: bounded, readable by itself, and enough to decide everything again."""

import json
import os
from datetime import timedelta
from pathlib import Path

import pytest

from rollout.errors import ConfigError
from rollout.model import names
from rollout.runtime.decisions import DecisionLog, Redecision, read_log, redecide
from tests.support import make
from tests.support.shapes import run
from tests.support.story import MIN, Story

BAD_2 = {"manifests": {"path": "data.version", "equals": "2"}, "behaviour": {"outcome": "fail"}}
STRATEGY = make.progressive(maxConcurrency=2, progressDeadline="5m", minSuccessTime="1m")


def lived(log: DecisionLog, annotations: dict[str, str]) -> Story:
    """A release, a bad one that is taken back, a fixed one."""
    workload = make.workload(strategy=STRATEGY, annotations=annotations)
    story = Story([*make.fleet(8), workload], {"rules": [BAD_2]})
    story.engine.fleet.witness = log
    story.end()
    for version in ("2", "3"):
        story.template(make.template(version))
        story.end()
    log.close()
    return story


def again(path: Path) -> list[Redecision]:
    return list(redecide(read_log(path)))


def test_every_decision_of_a_log_is_made_again_to_the_same_answer(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "log")
    lived(log, {names.ROLLBACK: "Automatic", names.GATES: "after:rest"})

    found = again(log.path)

    assert all(each.is_same for each in found)
    assert {each.line.what for each in found} == {"step", "retreat"}
    assert sum(len(each.line.step.touch) for each in found if each.line.step) >= 16


def test_profile_ocm_is_logged_with_what_it_decides_from(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "log")
    lived(log, {names.SEMANTICS: "ocm"})

    found = again(log.path)

    assert len(found) > 3
    assert all(each.is_same and each.line.what == "ocm" for each in found)


def test_a_log_that_was_tampered_with_is_found_out(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "log")
    lived(log, {})
    lines = log.path.read_text().splitlines()
    at = next(n for n, text in enumerate(lines) if '"touch":["c02"' in text)
    lines[at] = lines[at].replace('"touch":["c02"', '"touch":["c07"')
    log.path.write_text("\n".join(lines) + "\n")

    assert [each.number for each in again(log.path) if not each.is_same] == [at + 1]


def test_the_window_is_bounded_and_each_file_can_be_read_by_itself(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "log", most_lines=10)
    lived(log, {})

    before, now = tmp_path / "log.1", tmp_path / "log"
    assert {path.name for path in tmp_path.iterdir()} == {"log", "log.1"}
    for path in (before, now):
        lines = path.read_text().splitlines()
        assert len(lines) <= 11
        assert json.loads(lines[0])["what"] == "snapshot"
        assert all(each.is_same for each in again(path))


def test_the_window_of_profile_ocm_is_bounded_too(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "log", most_lines=3)
    lived(log, {names.SEMANTICS: "ocm"})

    assert {path.name for path in tmp_path.iterdir()} == {"log", "log.1"}
    for path in tmp_path.iterdir():
        found = again(path)
        assert 0 < len(found) <= 3
        assert all(each.is_same and each.line.what == "ocm" for each in found)


@pytest.mark.parametrize("most", [15, 16, 17, 18])
def test_each_file_is_bounded_and_read_by_itself_where_both_profiles_decide(
    tmp_path: Path, most: int
) -> None:
    ocm = make.workload("other", strategy=STRATEGY, annotations={names.SEMANTICS: "ocm"})
    story = Story([*make.fleet(4), make.workload(strategy=STRATEGY), ocm])
    log = story.engine.fleet.witness = DecisionLog(tmp_path / "log", most_lines=most)
    story.end()
    for version in ("2", "3", "4"):
        story.edit({"spec": {"manifestWorkTemplate": make.template(version)}}, name="other")
        story.end()
    story.template(make.template("2"))
    story.end()
    log.close()

    assert len(list(tmp_path.iterdir())) == 2
    for path in tmp_path.iterdir():
        assert len(path.read_text().splitlines()) <= most + 1
        assert all(each.is_same for each in again(path))


def test_a_workload_made_anew_under_its_name_is_logged_from_the_start(tmp_path: Path) -> None:
    workload = make.workload(strategy=STRATEGY)
    story = Story([*make.fleet(4), workload])
    log = story.engine.fleet.witness = DecisionLog(tmp_path / "log")
    story.end()
    first = [line.what for _, line in read_log(log.path)]
    story.hub.delete(story.subject)
    story.on(60 * MIN)
    story.add(workload)
    story.end()
    log.close()

    assert [line.what for _, line in read_log(log.path)] == first * 2
    assert all(each.is_same for each in again(log.path))


def test_a_process_that_starts_anew_leaves_the_window_of_the_one_before(tmp_path: Path) -> None:
    first = DecisionLog(tmp_path / "log")
    story = lived(first, {})
    kept = first.path.read_bytes()

    second = DecisionLog(tmp_path / "log")
    story.restart()
    story.engine.fleet.witness = second
    story.template(make.template("4"))
    story.end()
    second.close()

    assert (tmp_path / "log.1").read_bytes() == kept
    assert all(each.is_same for each in again(second.path))


def test_a_line_cut_off_by_a_crash_is_left_out(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "log")
    lived(log, {})
    whole = len(again(log.path))
    log.path.write_bytes(log.path.read_bytes()[:-20])

    assert len(again(log.path)) == whole - 1


def test_what_is_no_log_is_said_to_be_none(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("hello\n")

    with pytest.raises(ConfigError, match="log:1: is not a line of a decision log"):
        again(path)


@pytest.mark.parametrize("text", [b'{"x":' * 5_000 + b"}" * 5_000, b'{"kind":"\xff"}'])
def test_a_line_that_no_decoder_can_read_is_none_of_a_log(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "log").write_bytes(text + b"\n")

    with pytest.raises(ConfigError, match=":1: is not a line of a decision log"):
        list(read_log(tmp_path / "log"))


def test_a_file_that_cannot_be_written_stops_no_rollout(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("WARNING")
    log = DecisionLog(tmp_path / "no" / "such" / "folder" / "log")
    story = lived(log, {})

    assert story.reason == "Complete"
    assert sum("decisions are logged no more" in each.message for each in caplog.records) == 1


def test_nothing_is_logged_where_nothing_changes(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "log")
    story = lived(log, {})
    lines = len(log.path.read_text().splitlines())
    for _ in range(5):
        story.annotate("note", "again" + str(story.now))
        story.to(story.now + MIN + timedelta(seconds=1))
    log.close()

    assert len(log.path.read_text().splitlines()) <= lines + 1


def test_replay_says_whether_all_is_the_same(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "log")
    lived(log, {})
    found = run("replay", str(log.path))
    assert found.exit_code == 0
    assert found.stdout.endswith(" decisions, 0 differ\n")

    text = log.path.read_text().replace('"touch":["c00"', '"touch":["c07"', 1)
    log.path.write_text(text)
    found = run("replay", str(log.path), "-o", "json")
    assert found.exit_code == 1
    assert len(json.loads(found.stdout)["different"]) == 1


@pytest.mark.parametrize("kept", [0, 1], ids=["empty", "cut off in its first line"])
@pytest.mark.parametrize("output", ["text", "json"])
def test_a_log_without_a_decision_is_no_proof_that_all_is_the_same(
    kept: int, output: str, tmp_path: Path
) -> None:
    path = tmp_path / "log"
    path.write_text('{"what": "snap' * kept)

    found = run("replay", str(path), "-o", output)

    assert found.exit_code == 1
    assert "holds no decision that could be made again" in found.stderr


def test_a_new_log_is_for_its_owner_alone_and_one_that_is_there_keeps_its_mode(
    tmp_path: Path,
) -> None:
    before = os.umask(0)
    try:
        for name, made_before in (("new", False), ("old", True)):
            path = tmp_path / name
            if made_before:
                path.touch(0o640)
            lived(DecisionLog(path), {})
    finally:
        os.umask(before)

    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "old.1").stat().st_mode & 0o777 == 0o640
