"""Kept faults about clusters with values of their own. Promises S22 to S24."""

from tests.safety.mutating import fault, in_days

VALUE_FAULTS = in_days(
    "values",
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
            "return _Evaluated(value, steps, None)",
            "return _Evaluated(filled.current, steps, None)",
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
        "what an expression gave is remembered, whatever it read",
        (
            "values.rendering",
            "known = filled.results.get(read)",
            "known = next(iter(filled.results.values()), None)",
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
            "elif cluster in self._rollout.unrendered:",
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
    fault(
        "S22",
        "of two fields the one that can be rendered is set",
        (
            "values.rendering",
            "                if isinstance(value, Wait):\n                    return value, steps\n",
            "                if isinstance(value, Wait):\n                    continue\n",
        ),
    ),
    fault(
        "S22",
        "a literal that becomes true stays 1",
        ("values.contents", "json_hash(written), several, about", "several, about"),
    ),
    fault(
        "S22",
        "a claim that changes is not followed",
        (
            "fleet.values",
            "seen_of(before) != seen_of(cluster)",
            "before.labels != cluster.labels",
        ),
    ),
    fault(
        "S22",
        "what a selector reads besides is not followed",
        ("fleet.values", "if self._select_by_cel and", "if False and"),
    ),
    fault(
        "S22",
        "who lacks what a selector asks for is not concerned",
        ("values.rendering", "verdict = applies[key]\n", "verdict = applies[key] is True\n"),
    ),
    fault(
        "S22",
        "rules that are no CEL let the template through",
        (
            "values.rendering",
            "        self.problems = tuple(problems)\n",
            "        self._bounds = [] if problems else self._bounds\n",
        ),
    ),
    fault(
        "S22",
        "a rule that changes lets a flapping label through",
        (
            "values.contents",
            "if self._agreed == rendering.revision:",
            "if self._agreed != rendering.revision:\n            self._changed.clear()\n            self._moved.clear()\n        else:",
        ),
    ),
    fault(
        "S22",
        "a label that changes with a rule is followed at once",
        ("values.contents", "if name in self._touched and before is not None:", "if False:"),
    ),
    fault(
        "S22",
        "a label that changed shortly before the rule that reads it is followed at once",
        ("values.contents", "if was is None:  # by rules", "if False:  # by rules"),
    ),
    fault(
        "S22",
        "values that are gone still count",
        ("values.contents", "            if self._agreed:\n", "            if False:\n"),
    ),
    fault(
        "S23",
        "by OCM's rules who cannot be rendered takes a slot",
        (
            "strategies.ocm_step",
            "    return frozenset({*unrendered, *some}) - mandatory_clusters(strategy, groups)",
            "    return frozenset(some) - mandatory_clusters(strategy, groups)",
        ),
    ),
)
