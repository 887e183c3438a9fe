from fleet_rarity import Rarity

from rollout.testing import check_prioritizer


def test_rarity_keeps_the_contract() -> None:
    check_prioritizer(Rarity())
