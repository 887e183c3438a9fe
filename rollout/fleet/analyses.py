"""Which analyses are there, which runs has each workload, and what have they found?

Fed by the fleet with templates and runs. Templates of another tool are read only while a workload names a
template that there is none of ours for.
"""

from collections.abc import Callable, Collection, Mapping
from datetime import datetime

from rollout.api.cluster_job import cluster_job
from rollout.api.decoding import decoder
from rollout.fleet.clusters import ClusterStore
from rollout.measuring.cluster_jobs import ClusterJob
from rollout.measuring.values import AnalysisRun, AnalysisTemplate
from rollout.model.analyses import AnalysisPhase, AnalysisVerdict
from rollout.model.cluster import Cluster
from rollout.model.events import Change, Event
from rollout.model.intents import Intents
from rollout.model.kinds import (
    ANALYSIS_TEMPLATE,
    CLUSTER_ANALYSIS_TEMPLATE,
    ROLLOUT_ANALYSIS,
    ROLLOUT_ANALYSIS_RUN,
    TEMPLATES_OF_OTHERS,
    Kind,
    Ref,
    key_of,
)
from rollout.planning.analyses import unmeasurable

TAKEN = (ROLLOUT_ANALYSIS, ROLLOUT_ANALYSIS_RUN, *TEMPLATES_OF_OTHERS)
"""The kinds that are taken in here."""
_NO_KINDS: frozenset[Kind] = frozenset()


class Analyses:
    """Templates, and runs by workload.

    Args:
        home: the namespace for runs and templates of workloads that are in none.
        members: the clusters of a workload.
    """

    def __init__(
        self,
        home: str,
        clusters: ClusterStore,
        members: Callable[[Ref], Collection[str]],
    ) -> None:
        self._home, self._clusters, self._members = home, clusters, members
        self._templates: dict[Ref, AnalysisTemplate] = {}
        self._runs: dict[str, AnalysisRun] = {}
        self._of: dict[Ref, dict[str, AnalysisRun]] = {}
        self.phases = dict.fromkeys(AnalysisPhase, 0)  # how many runs there are in each
        self._jobs: dict[str, ClusterJob] = {}  # by the key of their work
        self._jobs_of: dict[str, dict[str, ClusterJob]] = {}  # by the key of their run
        self._found: dict[tuple[Ref, str], dict[str, AnalysisVerdict]] = {}  # of runs, by name
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
            read = decoder(ROLLOUT_ANALYSIS.name)  # which knows those of other tools, too
            self._templates[event.ref] = read(event.ref, event.obj)
        namespace, name = event.ref.namespace, event.ref.name
        return {
            workload
            for workload, asked in self._asked.items()
            if any(each == name and namespace in ("", space) for space, each in asked)
        }

    def _take_run(self, event: Event) -> set[Ref]:
        """Take in a run; the workload whose terms that changes."""
        before = self._runs.pop(event.ref.key, None)
        after: AnalysisRun | None = None
        if event.change is not Change.DELETED:
            after = decoder(event.ref.kind.name)(event.ref, event.obj)
        found: set[Ref] = set()
        for run, more in ((before, -1), (after, 1)):
            if run is None:
                continue
            self.phases[run.result.phase] += more
            workload = run.subject.workload
            mine = self._of.setdefault(workload, {})
            if run is after:
                self._runs[event.ref.key] = mine[event.ref.name] = run
            else:
                mine.pop(event.ref.name, None)
            if not mine:
                del self._of[workload]
        if before is not None and after is not None and _says(before) == _says(after):
            return found
        for run in (before, after):
            if run is not None:
                self._note(run, is_there=run is after)
                found.add(run.subject.workload)
        return found

    def _note(self, run: AnalysisRun, *, is_there: bool) -> None:
        """Keep what a run has found; what one found that was stopped, or is gone, counts no more."""
        key = (run.subject.workload, run.subject.placement)
        self._verdicts.pop(key, None)
        known = self._found.setdefault(key, {})
        known.pop(run.ref.name, None)
        if is_there and not run.result.stopped:
            known[run.ref.name] = _found(run)
        if not known:
            del self._found[key]

    def take_work(self, event: Event, now: datetime) -> Collection[Ref]:
        """Take in a ManifestWork; the run that is planned anew where it carries the Job of one."""
        key = event.ref.key
        before = self._jobs.pop(key, None)
        after = None if event.change is Change.DELETED else cluster_job(event.ref, event.obj)
        found: set[Ref] = set()
        if before is not None:
            mine = self._jobs_of[before.run]
            del mine[key]
            if not mine:
                del self._jobs_of[before.run]
            found.add(Ref(ROLLOUT_ANALYSIS_RUN, before.run))
        if after is not None:
            self._jobs[key] = self._jobs_of.setdefault(after.run, {})[key] = after
            found.add(Ref(ROLLOUT_ANALYSIS_RUN, after.run))
        return found

    def follow(self, workload: Ref, intents: Intents) -> None:
        """Note the templates that a workload names by now; none where it is gone."""
        home = self.home(workload)
        if asked := frozenset((home, name) for name in intents.templates):
            self._asked[workload] = asked
        else:
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

    def cluster_jobs(self, key: str) -> Collection[ClusterJob]:
        return self._jobs_of.get(key, {}).values()

    def reaches(self, run: AnalysisRun) -> bool:
        """Whether it stands where runs of its workload do, and is about one of its clusters."""
        subject = run.subject
        is_home = run.ref.namespace == self.home(subject.workload)
        return is_home and subject.cluster in self._members(subject.workload)

    def runs(self, workload: Ref) -> Mapping[str, AnalysisRun]:
        return self._of.get(workload, {})

    def cluster(self, name: str) -> Cluster | None:
        return self._clusters.cluster(name)

    def verdicts(self, workload: Ref, placement: str) -> tuple[AnalysisVerdict, ...]:
        """What the runs of a workload in one placement have found so far."""
        key = (workload, placement)
        mine, known = self._found.get(key), self._verdicts.get(key)
        if known is None and mine is not None:
            known = self._verdicts[key] = tuple(mine[name] for name in sorted(mine))
        return known or ()

    def unmeasurable(self, workload: Ref, intents: Intents) -> str:
        """Why an analysis that a workload asks for cannot be made; "" where all can."""
        return unmeasurable(self.home(workload), intents, self)

    def wanted_kinds(self) -> frozenset[Kind]:
        """The kinds of templates of another tool, while somebody names one that is none of ours."""
        for asked in self._asked.values():
            for each in asked:
                if Ref(ROLLOUT_ANALYSIS, key_of(*each)) not in self._templates:
                    return TEMPLATES_OF_OTHERS
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
