"""Signs are written where they can be, and as ASCII where they cannot."""

import io

import pytest

from rollout.cli.text import ASCII_VARIABLE, fit, in_ascii, is_ascii


def stream(encoding: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding=encoding)


def written(encoding: str, text: str) -> str:
    kept = io.BytesIO()
    out = io.TextIOWrapper(kept, encoding=encoding)
    fit(out)
    out.write(text)
    out.flush()
    return kept.getvalue().decode(encoding)


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [("utf-8", "✔ é █░ 日"), ("latin-1", "+ é #. ?"), ("ascii", "+ ? #. ?")],
)
def test_what_an_encoding_lacks_is_replaced_and_nothing_fails(encoding: str, shown: str) -> None:
    assert written(encoding, "✔ é █░ 日") == shown


def test_a_sign_takes_as_much_room_in_ascii() -> None:
    assert in_ascii("├──□ ✔ Passed …") == "|--# + Passed ."


@pytest.mark.parametrize(
    ("encoding", "plain"), [("utf-8", False), ("latin-1", True), ("cp437", True), ("ascii", True)]
)
def test_ascii_is_for_streams_that_cannot_write_the_signs(encoding: str, plain: bool) -> None:
    assert is_ascii(stream(encoding)) is plain


def test_ascii_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ASCII_VARIABLE, "1")

    assert is_ascii(stream("utf-8"))
