"""docs/security.md names the attacks that are tried, all of them and no other."""

import ast
import re
from pathlib import Path

from tests.kube.test_hostile import EACH, WHOLE

ROOT = Path(__file__).parents[3]


def test_the_page_names_every_attack_that_is_tried_and_no_other() -> None:
    module = ast.parse((ROOT / "tests" / "kube" / "test_attacks.py").read_text())
    tried = [node.name for node in module.body if isinstance(node, ast.FunctionDef)]
    page = (ROOT / "docs" / "security.md").read_text()

    named = re.findall(r"`(test_\w+)` \|$", page, re.MULTILINE)

    assert sorted(named) == sorted(name for name in tried if name.startswith("test_"))


def test_the_page_says_how_many_bad_objects_are_put_as_the_test_asks_it() -> None:
    page = (ROOT / "docs" / "security.md").read_text()
    each = {5: "five"}[EACH]

    assert f"More than {WHOLE:,} objects, at least {each} of every kind" in page
