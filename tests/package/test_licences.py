"""Under which licences are the packages that come with ours? Only under such as may be used with Apache-2.0."""

import json
from pathlib import Path

import pytest

from tests.package.conftest import Command

pytestmark = pytest.mark.package

ASKING = """
import json
from importlib.metadata import distributions
print(json.dumps({
    d.metadata["Name"]: " ".join([
        d.metadata["License-Expression"] or "", (d.metadata["License"] or "")[:60],
        *(c for c in d.metadata.get_all("Classifier") or () if c.startswith("License")),
    ]) for d in distributions()
}))
"""
PERMISSIVE = ("Apache", "MIT", "BSD", "Python Software Foundation", "PSF", "MPL", "Mozilla", "ISC")
COPYLEFT = ("GPL", "AGPL", "SSPL", "Commons Clause")


def test_every_dependency_has_a_licence_that_can_be_used(
    installed: Command, environment: Path
) -> None:
    found: dict[str, str] = json.loads(installed("python", "-c", ASKING).stdout)

    unknown = {n: said for n, said in found.items() if not any(word in said for word in PERMISSIVE)}
    forbidden = {n: said for n, said in found.items() if any(word in said for word in COPYLEFT)}
    assert (unknown, forbidden) == ({}, {})
