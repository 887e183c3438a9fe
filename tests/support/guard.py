"""The admission policy of examples/security, and a judge that evaluates its CEL as an API server does."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from cel_expr_python import cel
from cel_expr_python.ext import ext_optional

from rollout.model import names
from rollout.model.kinds import Obj

FILE = Path(__file__).parents[2] / "examples" / "security" / "guard-workloads.yaml"
CONTROLLER = "system:serviceaccount:rollout-system:rollout-controller"
MANAGERS, OPERATORS = "release-managers", "rollout-operators"
OPERATORS_OWN = {
    names.PAUSED, names.ABORT, names.RETRY, names.UNDO, names.UNDO_TO, names.SKIP, names.HOLD, names.ASKED,
}  # fmt: skip
"""What the verbs of operators write on a workload."""
ALL_OURS = sorted(
    value
    for value in vars(names).values()
    if isinstance(value, str) and value.startswith(names.PREFIX) and value != names.PREFIX
)
"""Every name with our prefix that the engine knows."""
_VARIABLES = ("object", "oldObject", "request", "variables")


def documents() -> tuple[Obj, Obj]:
    """The policy and its binding, as the file has them."""
    policy, binding = yaml.safe_load_all(FILE.read_text())
    return policy, binding


class Judge:
    """Evaluates the variables and validations of a policy, in their order."""

    def __init__(self, spec: Obj) -> None:
        self._library = cel.NewEnv(
            variables=dict.fromkeys(_VARIABLES, cel.Type.DYN),
            extensions=[ext_optional.ExtOptional()],
        )
        self._variables = [(each["name"], self._of(each)) for each in spec["variables"]]
        self._validations = [(self._of(each), each["message"]) for each in spec["validations"]]

    def _of(self, part: Obj) -> Any:
        return self._library.compile(part["expression"])

    def refusals(
        self, new: Obj, old: Obj | None, *, groups: Sequence[str] = (), user: str = "somebody"
    ) -> list[str]:
        """The messages with which the policy refuses a request; none where it lets it through.

        An expression that fails is no refusal but a fault of the policy. Raises: AssertionError.
        """
        asker = {"username": user, "groups": [*groups, "system:authenticated"]}
        asked = {"object": new, "oldObject": old, "request": {"userInfo": asker}}
        given: dict[str, Any] = json.loads(json.dumps(asked))  # as it is on the wire
        given["variables"] = {}
        for name, program in self._variables:
            given["variables"][name] = _value(program, given)
        return [message for program, message in self._validations if not _value(program, given)]


def _value(program: Any, given: Obj) -> Any:
    found = program.eval(data=given)
    assert found.type() != cel.Type.ERROR, f"{program}: {found}"
    return found.plain_value()
