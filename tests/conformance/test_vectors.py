"""The vectors kept in the project agree, and the runner notices when something does not."""

import gzip
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pytest

from tests.conformance.__main__ import KEPT, main
from tests.conformance.registry import NOT_YET, SUITES
from tests.conformance.runner import RAISED, Runner, tally
from tests.conformance.sample import main as sample
from tests.conformance.suite import Excuse, Json, Suite, Vector, files, unlike, vectors

PURE = {
    "rollout", "rollout_walk", "schedule", "grouping", "mwrs_work_status", "spec_hash", "calendar",
}  # fmt: skip
ALL_FILES = PURE | {"placement_sync", "mwrs_sync", "addon_config", "addon_template"}


@pytest.mark.parametrize("suite", SUITES, ids=lambda s: s.name)
def test_kept_vectors_agree_or_are_excused(suite: Suite) -> None:
    counts = tally(suite, files(KEPT)[suite.name])

    assert counts.failed == []
    assert counts.adds_up


def test_every_file_of_vectors_is_kept_and_has_a_suite_or_is_named_as_not_yet_covered() -> None:
    names = {suite.name for suite in SUITES}

    assert set(files(KEPT)) == ALL_FILES
    assert names | NOT_YET == ALL_FILES
    assert not names & NOT_YET
    assert len(names) == len(SUITES)


def test_suites_of_pure_decisions_have_no_excuse_but_the_cost_of_cel() -> None:
    excused = {suite.name for suite in SUITES if suite.exceptions}

    assert not excused & (PURE - {"schedule"})
    assert all(excuse.row for suite in SUITES for excuse in suite.exceptions)


def test_kept_vectors_hold_the_hand_written_cases_and_stay_small() -> None:
    edges = sum(v.id.startswith("edge-") for path in files(KEPT).values() for v in vectors(path))

    assert edges > 500
    assert sum(path.stat().st_size for path in files(KEPT).values()) < 2_000_000


@pytest.mark.parametrize("suite", SUITES, ids=lambda s: s.name)
def test_a_wrong_answer_is_detected_in_every_suite(suite: Suite) -> None:
    """Each suite tells our answers to other inputs from the right one."""
    some = list(islice(vectors(files(KEPT)[suite.name]), 40))
    ours = [(vector, suite.run(vector.input)) for vector in some]
    right, got = next((v, g) for v, g in ours if not suite.differing(v.answers[0], g, v))
    others = [other for _, other in ours if other != got]

    assert others
    assert all(suite.differing(right.answers[0], other, right) for other in others)


@dataclass(frozen=True)
class Broken:
    """A suite whose engine fails at every input."""

    inner: Suite

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def exceptions(self) -> Sequence[Excuse]:
        return self.inner.exceptions

    def run(self, given: Json) -> Json:
        raise RuntimeError("the engine is broken")

    def differing(self, expected: Json, got: Json, vector: Vector) -> set[str]:
        return self.inner.differing(expected, got, vector)


@pytest.mark.parametrize("suite", SUITES, ids=lambda s: s.name)
def test_an_engine_that_always_fails_passes_nothing(suite: Suite) -> None:
    counts = tally(Broken(suite), files(KEPT)[suite.name])

    assert (counts.agreed, counts.excepted) == (0, 0)
    assert len(counts.failed) == counts.total > 0


@dataclass(frozen=True)
class Doubling:
    """A suite that doubles; ``wrong`` is the one number that it gets wrong, ``bad`` raises."""

    name: str = "doubling"
    wrong: int | None = None
    bad: int | None = None
    exceptions: Sequence[Excuse] = ()

    def run(self, given: Json) -> Json:
        if given == self.bad:
            raise RuntimeError("cannot double")
        return given * 2 + (given == self.wrong)

    def differing(self, expected: Json, got: Json, vector: Vector) -> set[str]:
        return unlike({"answer": expected}, {"answer": got})


ANSWER = frozenset({"answer"})


def is_two(given: Json) -> bool:
    return bool(given == 2)


def write(directory: Path, name: str = "doubling.jsonl", count: int = 4) -> Path:
    rows = [{"id": f"n-{n}", "input": n, "expected": n * 2} for n in range(count)]
    (directory / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return directory


Run = Callable[..., tuple[int, list[str]]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def run(
        *suites: Suite, not_yet: Sequence[str] = (), excepted: bool = False, show: str | None = None
    ) -> tuple[int, list[str]]:
        printed: list[str] = []
        runner = Runner(tmp_path, suites, not_yet, printed.append)
        code = runner.run(excepted=excepted) if show is None else runner.show(show)
        return code, printed

    return run


def test_agreement_is_one_line_and_success(tmp_path: Path, run: Run) -> None:
    write(tmp_path)

    assert run(Doubling()) == (0, ["doubling 4+0/4"])


def test_a_packed_file_is_read_like_a_plain_one(tmp_path: Path, run: Run) -> None:
    plain = write(tmp_path) / "doubling.jsonl"
    (tmp_path / "doubling.jsonl.gz").write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()

    assert run(Doubling()) == (0, ["doubling 4+0/4"])


def test_a_wrong_answer_fails_and_is_named(tmp_path: Path, run: Run) -> None:
    write(tmp_path)

    assert run(Doubling(wrong=2)) == (1, ["doubling 3+0/4", "  failed: n-2"])


def test_a_suite_that_raises_has_answered_wrongly_and_hides_nothing(
    tmp_path: Path, run: Run
) -> None:
    write(tmp_path)

    assert run(Doubling(bad=0)) == (1, ["doubling 3+0/4", "  failed: n-0"])
    assert "cannot double" in "\n".join(run(Doubling(bad=0), show="n-0")[1])


def test_an_excuse_covers_a_difference_and_is_listed_by_predicate_and_row(
    tmp_path: Path, run: Run
) -> None:
    write(tmp_path)
    suite = Doubling(wrong=2, exceptions=(Excuse("two is odd", "12", is_two, ANSWER),))

    assert run(suite) == (0, ["doubling 3+1/4"])
    assert run(suite, excepted=True)[1][1] == "  two is odd (semantics row 12): n-2"


def test_an_excuse_for_another_input_does_not_cover_a_difference(tmp_path: Path, run: Run) -> None:
    write(tmp_path)
    suite = Doubling(wrong=3, exceptions=(Excuse("two is odd", "12", is_two, ANSWER),))

    assert run(suite) == (1, ["doubling 3+0/4", "  failed: n-3"])


def test_an_excuse_for_another_field_does_not_cover_a_difference(tmp_path: Path, run: Run) -> None:
    write(tmp_path)
    other = Excuse("two is odd", "12", is_two, frozenset({"remainder"}))

    assert run(Doubling(wrong=2, exceptions=(other,)))[1] == ["doubling 3+0/4", "  failed: n-2"]
    both = (other, Excuse("two is odd", "13", is_two, ANSWER))
    assert run(Doubling(wrong=2, exceptions=both)) == (0, ["doubling 3+1/4"])


def test_an_excuse_covers_no_exception(tmp_path: Path, run: Run) -> None:
    write(tmp_path)
    fields = frozenset({"answer", RAISED})
    suite = Doubling(bad=2, exceptions=(Excuse("two is odd", "12", is_two, fields),))

    assert run(suite) == (1, ["doubling 3+0/4", "  failed: n-2"])


def test_what_agrees_is_not_counted_as_excepted(tmp_path: Path, run: Run) -> None:
    write(tmp_path)

    assert run(Doubling(exceptions=(Excuse("all", "1", lambda _: True, ANSWER),)))[1] == [
        "doubling 4+0/4"
    ]


def test_any_of_several_right_answers_agrees(tmp_path: Path, run: Run) -> None:
    vector = {"id": "n", "input": 4, "expectedOneOf": [7, 8]}
    (tmp_path / "doubling.jsonl").write_text(json.dumps(vector))

    assert run(Doubling())[0] == 0


def test_a_missing_suite_fails(tmp_path: Path, run: Run) -> None:
    write(tmp_path)

    code, printed = run(Doubling(), Doubling("tripling"))

    assert code == 1
    assert printed[0] == "doubling 4+0/4"
    assert printed[1].startswith("tripling missing")


def test_a_file_that_no_suite_answers_fails_unless_it_is_named(tmp_path: Path, run: Run) -> None:
    write(write(tmp_path), "halving.jsonl")

    assert run(Doubling()) == (1, ["doubling 4+0/4", "halving unknown: no suite answers it"])
    assert run(Doubling(), not_yet=["halving"]) == (0, ["doubling 4+0/4", "halving not covered"])


def test_a_directory_without_any_suite_fails(tmp_path: Path, run: Run) -> None:
    write(tmp_path, "halving.jsonl")

    code, printed = run(not_yet=["halving"])

    assert code == 1
    assert printed[-1].startswith("no suite found")


def test_a_file_without_vectors_fails(tmp_path: Path, run: Run) -> None:
    write(tmp_path, count=0)

    assert run(Doubling()) == (1, ["doubling 0+0/0"])


def test_show_prints_input_expected_and_got(tmp_path: Path, run: Run) -> None:
    write(tmp_path)

    code, printed = run(Doubling(wrong=3), show="n-3")

    assert code == 0
    assert printed == [
        "doubling/n-3: FAILED in answer",
        "--- expected\n6",
        "--- got\n7",
        "--- input\n3",
    ]
    assert run(Doubling(), show="doubling/n-3")[1][0] == "doubling/n-3: agrees"


def test_show_of_an_unknown_id_fails(tmp_path: Path, run: Run) -> None:
    write(tmp_path)

    assert run(Doubling(), show="n-9")[0] == 1


def test_show_takes_an_id_of_a_real_suite(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["--show", "edge-type-unknown"])

    assert code == 0
    assert capsys.readouterr().out.startswith("rollout/edge-type-unknown: agrees\n--- expected\n")


def test_the_command_line_fails_where_there_is_nothing_to_run(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tests.conformance", "--vectors", str(tmp_path)],
        cwd=KEPT.parents[1],
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 1
    assert "no suite found" in ended.stdout


def test_the_sample_is_every_tenth_line_and_all_edges_and_always_the_same_bytes(
    tmp_path: Path,
) -> None:
    source, first, second = tmp_path / "all", tmp_path / "one", tmp_path / "two"
    source.mkdir()
    ids = ["rnd-0", "edge-1", *(f"rnd-{n}" for n in range(2, 25))]
    (source / "doubling.jsonl").write_text(
        "".join(json.dumps({"id": i, "input": 1, "expected": 2}) + "\n" for i in ids)
    )

    sample(source, first)
    sample(source, second)

    packed = first / "doubling.jsonl.gz"
    assert [v.id for v in vectors(packed)] == ["rnd-0", "edge-1", "rnd-10", "rnd-20"]
    assert packed.read_bytes() == (second / "doubling.jsonl.gz").read_bytes()
