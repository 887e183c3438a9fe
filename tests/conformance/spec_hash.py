"""The hash of a configuration object: a pure decision, so every vector agrees."""

import json
from collections.abc import Sequence

from rollout.model.spec_hash import spec_hash
from tests.conformance.suite import Excuse, Json, Vector, unlike


class SpecHashSuite:
    """`spec_hash`."""

    name = "spec_hash"
    exceptions: Sequence[Excuse] = ()

    def run(self, given: Json) -> Json:
        return {"specHash": spec_hash(json.loads(given["objectJSON"]))}

    def differing(self, expected: Json, got: Json, vector: Vector) -> set[str]:
        return unlike(expected, got)
