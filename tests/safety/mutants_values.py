"""Kept faults about clusters that have values of their own. Promises S22 to S24."""

from dataclasses import replace

from tests.safety.mutating import Mutant, fault

VALUE_FAULTS: tuple[Mutant, ...] = tuple(
    replace(mutant, kinds=("values",), look="values")
    for mutant in (
        fault(
            "S22",
            "of two values of one field the last counts",
            (
                "values.rendering",
                "before is not None and _text(before[2]) != _text(value)",
                "False",
            ),
        ),
        fault(
            "S22",
            "what cannot be rendered is left as the template has it",
            (
                "values.rendering",
                "        if isinstance(value, Failed):\n",
                "        if isinstance(value, Failed):\n            return spot.current, steps\n        if isinstance(value, Failed):\n",
            ),
        ),
        fault(
            "S22",
            "all get what the first one gets",
            (
                "values.rendering",
                "known = self._known.get(key)",
                "known = next(iter(self._known.values()), None)",
            ),
        ),
        fault(
            "S22",
            "drift is put right with the template",
            (
                "planning.replicasets",
                "return self.workload.spec_of(content) or",
                "return self.replicaset.template.spec or",
            ),
        ),
        fault(
            "S22",
            "a label that flaps is followed at once",
            ("planning.replicasets", "if settling.waits:", "if False:"),
        ),
        fault(
            "S23",
            "a cluster that lacks a label holds its stage",
            (
                "strategies.step",
                "done + census.phases.get(Phase.UNRENDERED, 0) == size",
                "done == size",
            ),
        ),
        fault(
            "S23",
            "who cannot be rendered takes the place of others",
            (
                "strategies.ledger",
                "elif judged.phase is Phase.WAITING and cluster in self._rollout.unrendered:",
                "elif False:",
            ),
        ),
        fault(
            "S23",
            "a cluster whose label comes back is not rendered again",
            ("values.contents", "            self._stale.add(cluster)", "            pass"),
        ),
        fault(
            "S24",
            "every change of a rule touches all",
            (
                "strategies.base",
                "return self.contents.get(cluster, self.revision) if self.contents else self.revision",
                "return self.revision",
            ),
        ),
        fault(
            "S24",
            "an undo goes back to what everybody had",
            (
                "strategies.base",
                "return standing.of_revision == self.revision",
                "return standing.revision == self.wanted(standing.cluster)",
            ),
        ),
    )
)
