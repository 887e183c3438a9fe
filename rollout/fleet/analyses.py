"""Which analyses are there, which runs has each workload, and what have they found?

Fed by the fleet with templates and runs. Templates of another tool are read only while a workload names a
template that there is none of ours for.
"""

from collections.abc import Mapping
from datetime import datetime

from rollout.api.analysis import decode_analysis
from rollout.api.analysis_run import decode_run
from rollout.fleet.clusters import ClusterStore
from rollout.measuring.values import AnalysisRun, AnalysisTemplate
from rollout.model.analyses import ANALYSIS_GATE, AnalysisVerdict
from rollout.model.cluster import Cluster
from rollout.model.events import Change, Event
from rollout.model.intents import Intents
from rollout.model.kinds import (
    ANALYSIS_TEMPLATE,
    CLUSTER_ANALYSIS_TEMPLATE,
    ROLLOUT_ANALYSIS,
    ROLLOUT_ANALYSIS_RUN,
    Kind,
    Ref,
    key_of,
)
from rollout.planning.analyses import unmeasurable

OF_OTHERS = frozenset({ANALYSIS_TEMPLATE, CLUSTER_ANALYSIS_TEMPLATE})
TAKEN = (ROLLOUT_ANALYSIS, ROLLOUT_ANALYSIS_RUN, *OF_OTHERS)
"""The kinds that are taken in here."""
_NO_KINDS: frozenset[Kind] = frozenset()


class Analyses:
    """Templates, and runs by workload.

    Args:
        home: the namespace for runs and templates of workloads that are in none.
    """

    def __init__(self, home: str, clusters: ClusterStore) -> None:
        self._home, self._clusters = home, clusters
        self._templates: dict[Ref, AnalysisTemplate] = {}
        self._runs: dict[str, AnalysisRun] = {}
        self._of: dict[Ref, dict[str, AnalysisRun]] = {}
        self._verdicts: dict[tuple[Ref, str], tuple[AnalysisVerdict, ...]] = {}
        self._asked: dict[Ref, frozenset[tuple[str, str]]] = {}  # by workload, what it names

    # -- what happened -------------------------------------------------------------------------

    def take(self, event: Event, now: datetime) -> set[Ref]:
        """Take in a template or a run; what is planned anew for it, and whose terms it changes."""
        if event.ref.kind is ROLLOUT_ANALYSIS_RUN:
            return {event.ref} | self._take_run(event)
        return {event.ref} | self._take_template(event)

    def _take_template(self, event: Event) -> set[Ref]:
        """Take in a template; the workloads that name it."""
        if event.change is Change.DELETED:
            self._templates.pop(event.ref, None)
        else:
            self._templates[event.ref] = decode_analysis(event.ref, event.obj)
        namespace, name = event.ref.namespace, event.ref.name
        return {
            workload
            for workload, asked in self._asked.items()
            if any(each == name and namespace in ("", space) for space, each in asked)
        }

    def _take_run(self, event: Event) -> set[Ref]:
        """Take in a run; the workload whose terms that changes."""
        before = self._runs.pop(event.ref.key, None)
        after = None if event.change is Change.DELETED else decode_run(event.ref, event.obj)
        found: set[Ref] = set()
        for run in (before, after):
            if run is None:
                continue
            workload = run.subject.workload
            mine = self._of.setdefault(workload, {})
            if run is after:
                self._runs[event.ref.key] = mine[event.ref.name] = run
            else:
                mine.pop(event.ref.name, None)
            if not mine:
                del self._of[workload]
        if before is None or after is None or _says(before) != _says(after):
            for run in (before, after):
                if run is not None:
                    self._verdicts.pop((run.subject.workload, run.subject.placement), None)
                    found.add(run.subject.workload)
        return found

    def forget(self, workload: Ref) -> None:
        """The workload is gone: it names no template any more."""
        self._asked.pop(workload, None)

    # -- what is asked -------------------------------------------------------------------------

    def home(self, workload: Ref) -> str:
        return workload.namespace or self._home

    def template(self, namespace: str, name: str) -> AnalysisTemplate | None:
        """The template of this name: ours, else another tool's, else another tool's for the hub."""
        keys = (
            Ref(ROLLOUT_ANALYSIS, key_of(namespace, name)),
            Ref(ANALYSIS_TEMPLATE, key_of(namespace, name)),
            Ref(CLUSTER_ANALYSIS_TEMPLATE, name),
        )
        return next((self._templates[ref] for ref in keys if ref in self._templates), None)

    def own_template(self, key: str) -> AnalysisTemplate | None:
        return self._templates.get(Ref(ROLLOUT_ANALYSIS, key))

    def run(self, key: str) -> AnalysisRun | None:
        return self._runs.get(key)

    def runs(self, workload: Ref) -> Mapping[str, AnalysisRun]:
        return self._of.get(workload, {})

    def cluster(self, name: str) -> Cluster | None:
        return self._clusters.cluster(name)

    def verdicts(self, workload: Ref, placement: str) -> tuple[AnalysisVerdict, ...]:
        """What the runs of a workload in one placement have found so far."""
        if workload not in self._of:
            return ()
        key = (workload, placement)
        known = self._verdicts.get(key)
        if known is None:
            mine = self._of.get(workload, {})
            known = self._verdicts[key] = tuple(
                _found(mine[name])
                for name in sorted(mine)
                if mine[name].subject.placement == placement and not mine[name].result.stopped
            )
        return known

    def unmeasurable(self, workload: Ref, intents: Intents) -> str:
        """Why an analysis that a workload asks for cannot be made; "" where all can."""
        named = {ref.argument for ref in intents.gates if ref.kind == ANALYSIS_GATE}
        named |= {intents.analysis, intents.cluster_analysis}
        home = self.home(workload)
        asked = frozenset((home, name) for name in named - {""})
        if asked:
            self._asked[workload] = asked
        else:
            self._asked.pop(workload, None)
        return unmeasurable(home, intents, self)

    def wanted_kinds(self) -> frozenset[Kind]:
        """The kinds of templates of another tool, while somebody names one that is none of ours."""
        for asked in self._asked.values():
            for each in asked:
                if Ref(ROLLOUT_ANALYSIS, key_of(*each)) not in self._templates:
                    return OF_OTHERS
        return _NO_KINDS


def _says(run: AnalysisRun) -> tuple[AnalysisVerdict, bool]:
    return _found(run), run.result.stopped


def _found(run: AnalysisRun) -> AnalysisVerdict:
    subject, result = run.subject, run.result
    return AnalysisVerdict(
        run=run.ref.name,
        revision=subject.revision,
        attempt=subject.attempt,
        phase=result.phase,
        message=result.message,
        at=subject.at,
        cluster=subject.cluster,
    )
