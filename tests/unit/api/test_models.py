"""What reads a kind is built when it is first needed, or before."""

import subprocess
import sys

SCRIPT = """
from pydantic_core import SchemaValidator
from rollout.api.models import MODELS, prepare
from rollout.model.kinds import PLACEMENT, REPLICA_SET
from rollout.api.reading import parts_of
specs = [parts_of(MODELS[kind.name])["spec"].shape for kind in (REPLICA_SET, PLACEMENT)]
for kinds in [], [REPLICA_SET]:
    prepare(kinds)
    print(*[isinstance(spec.__pydantic_validator__, SchemaValidator) for spec in specs])
"""


def test_what_reads_a_kind_is_built_before_its_first_object_where_somebody_asks_for_it() -> None:
    """In a process of its own: here other tests have built them."""
    command = [sys.executable, "-c", SCRIPT]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == ["False False", "True False"]
