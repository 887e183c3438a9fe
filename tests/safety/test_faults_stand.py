"""Can every kept fault still be made in the code as it is now?"""

from pathlib import Path

import pytest

from tests.safety.mutants import MUTANTS
from tests.safety.mutating import Mutant

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.what)
def test_what_a_fault_changes_stands_once_in_its_module(mutant: Mutant) -> None:
    for edit in mutant.edits:
        path = ROOT.joinpath(*edit.module.split("."))
        module = path.with_suffix(".py") if not path.is_dir() else path / "__init__.py"

        assert edit.of(module.read_text()) != module.read_text()
