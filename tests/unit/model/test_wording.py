import pytest

from rollout.model.wording import first_of, shortened


@pytest.mark.parametrize("text", ["", "a", "a" * 100])
def test_what_fits_is_said_whole(text: str) -> None:
    assert shortened(text, 100) == text


@pytest.mark.parametrize("length", [101, 999, 1000, 10_000, 123_456])
def test_what_does_not_fit_is_cut_and_says_how_much_is_left_out(length: int) -> None:
    text = "".join(chr(97 + i % 26) for i in range(length))

    found = shortened(text, 100)

    begun, _, rest = found.partition("... (")
    assert len(found) <= 100
    assert text.startswith(begun)
    assert rest == f"{length - len(begun)} characters more)"


@pytest.mark.parametrize(
    ("most", "said"), [(3, "1, 2, 3"), (2, "1, 2 and 1 more"), (1, "1 and 2 more")]
)
def test_the_first_are_named_and_the_others_counted(most: int, said: str) -> None:
    assert first_of((1, 2, 3), most) == said
