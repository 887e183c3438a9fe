"""Is there a word to type for every kind?"""

from rollout.model.kinds import REPLICA_SET, Kind


def test_a_kind_without_a_short_name_is_typed_by_its_plural() -> None:
    assert Kind("Bulletin", "bulletins", "example.com", "v1").typed == "bulletins"
    assert REPLICA_SET.typed == REPLICA_SET.short[0]
