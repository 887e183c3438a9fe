"""Keeps analysis templates, the runs of each workload, and their verdicts.

Fed by the fleet with templates and runs. Templates of another tool are read only while a workload names a
template that there is none of ours for.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import datetime

from rollout.api.cluster_job import cluster_job
from rollout.api.decoding import decoder
from rollout.api.fields import mapping, text
from rollout.fleet.clusters import ClusterStore
from rollout.fleet.groups import drop
from rollout.measuring.cluster_jobs import ClusterJob
from rollout.measuring.values import AnalysisRun, AnalysisTemplate
from rollout.measuring.verdicts import takes_back
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
from rollout.planning.analyses import run_name
from rollout.planning.measurable import unmeasurable

TAKEN = (ROLLOUT_ANALYSIS, ROLLOUT_ANALYSIS_RUN, *TEMPLATES_OF_OTHERS)
"""The kinds that are taken in here."""
_FILLED_KEPT = 256
"""So many templates are kept with values of their arguments put in."""
_NO_KINDS: frozenset[Kind] = frozenset()
_TemplateName = tuple[str, str]
"""The namespace and the name of a template."""
_NOTHING: frozenset[_TemplateName] = frozenset()


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
        self._filled: dict[tuple[Ref, frozenset[tuple[str, str]]], AnalysisTemplate] = {}
        self._uids: dict[Ref, str] = {}  # by workload, of the object that there is now
        self._runs: dict[str, AnalysisRun] = {}  # where their subject says that they are
        self._of: dict[Ref, dict[str, AnalysisRun]] = {}  # those, by workload and name
        self._own: dict[Ref, dict[str, AnalysisRun]] = {}  # those that it owns, as it is now
        self._strange: dict[str, str] = {}  # what lies where a run does, and is none -> uid
        self.phases = dict.fromkeys(AnalysisPhase, 0)  # how many runs there are in each
        self._jobs: dict[str, ClusterJob] = {}  # by the key of their work
        self._jobs_of: dict[str, dict[str, ClusterJob]] = {}  # by the key of their run
        self._found: dict[tuple[Ref, str], dict[str, AnalysisVerdict]] = {}  # of runs, by name
        self._verdicts: dict[tuple[Ref, str], tuple[AnalysisVerdict, ...]] = {}
        self._asked: dict[Ref, frozenset[_TemplateName]] = {}  # by workload, what it names
        self._askers: dict[_TemplateName, set[Ref]] = {}  # the other way round
        # Of what is named, that of which there is none of ours.
        self._lacking: set[_TemplateName] = set()

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
        found: set[Ref] = set()
        for named, askers in self._askers.items():
            if named[1] == name and namespace in ("", named[0]):
                self._judge_lack(named)
                found |= askers
        return found

    def _judge_lack(self, named: _TemplateName) -> None:
        """Note whether a template that is named is none of ours."""
        is_ours = Ref(ROLLOUT_ANALYSIS, key_of(*named)) in self._templates
        (self._lacking.discard if is_ours else self._lacking.add)(named)

    def _take_run(self, event: Event) -> set[Ref]:
        """Take in a run; the workloads whose terms that changes, or whose runs it was in the way of."""
        key = event.ref.key
        run: AnalysisRun | None = None
        if event.change is not Change.DELETED:
            run = decoder(event.ref.kind.name)(event.ref, event.obj)
        was_strange = self._strange.pop(key, None) is not None
        if run is not None and not self._is_placed(run):
            run = None
        if run is None and event.change is not Change.DELETED:
            self._strange[key] = text(mapping(event.obj.get("metadata")).get("uid"))
        before = self._runs.pop(key, None)
        run = _remembered(before, run)
        for each in (before, run):
            if each is None:
                continue
            mine = self._of.setdefault(each.subject.workload, {})
            if each is run:
                self._runs[key] = mine[event.ref.name] = each
            else:
                mine.pop(event.ref.name, None)
            if not mine:
                del self._of[each.subject.workload]
        found = self._exchange(self.own(before), self.own(run))
        if before is not None and run is None and self.own(before) is None:
            found.add(before.subject.workload)  # it lay where that has a run of its own
        if was_strange:
            found |= {ref for ref in self._asked if self.home(ref) == event.ref.namespace}
        return found

    def _is_placed(self, run: AnalysisRun) -> bool:
        """Whether it lies where the runs of its workload do, under the name that follows from its subject."""
        home = self.home(run.subject.workload)
        return run.ref.key == key_of(home, run_name(run.subject))

    def own(self, run: AnalysisRun | None) -> AnalysisRun | None:
        """The run, where its workload owns it: this very object, not an earlier one of its name (S18)."""
        uid = self._uids.get(run.subject.workload, "") if run is not None else ""
        return run if run is not None and uid and uid in run.owners else None

    def _exchange(self, before: AnalysisRun | None, after: AnalysisRun | None) -> set[Ref]:
        """What a run said that counts is replaced; the workloads whose terms that changes."""
        for run, more in ((before, -1), (after, 1)):
            if run is None:
                continue
            self.phases[run.result.phase] += more
            mine = self._own.setdefault(run.subject.workload, {})
            if run is after:
                mine[run.ref.name] = run
            else:
                mine.pop(run.ref.name, None)
            if not mine:
                del self._own[run.subject.workload]
        if before is not None and after is not None and _says(before) == _says(after):
            return set()
        found: set[Ref] = set()
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

    def follow(self, workload: Ref, uid: str, intents: Intents) -> set[Ref]:
        """Note which object a workload is by now ("": it is gone), and the templates that it names.
        Returns the runs that count from now on, or no more.
        """
        found: set[Ref] = set()
        if uid != self._uids.get(workload, ""):
            known = tuple(self._of.get(workload, {}).values())
            before = [self.own(run) for run in known]
            if uid:
                self._uids[workload] = uid
            else:
                self._uids.pop(workload, None)
            for run, was in zip(known, before, strict=True):
                if self._exchange(was, self.own(run)):
                    found.add(run.ref)
        home = self.home(workload)
        self._ask(workload, frozenset((home, name) for name in intents.templates))
        return found

    def _ask(self, workload: Ref, asked: frozenset[_TemplateName]) -> None:
        """Note the templates that a workload names from now on."""
        before = self._asked.pop(workload, _NOTHING)
        if asked:
            self._asked[workload] = asked
        for named in before - asked:
            drop(self._askers, named, workload)
            if named not in self._askers:
                self._lacking.discard(named)
        for named in asked - before:
            self._askers.setdefault(named, set()).add(workload)
            self._judge_lack(named)

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

    def filled(self, template: AnalysisTemplate, given: Mapping[str, str]) -> AnalysisTemplate:
        from rollout.api.analysis import with_given  # noqa: PLC0415  (few hubs have analyses)

        if template.problems or not given:
            return template
        mine = (template.ref, frozenset(given.items()))
        if mine not in self._filled and len(self._filled) >= _FILLED_KEPT:
            self._filled.clear()
        if mine not in self._filled or self._filled[mine].version != template.version:
            self._filled[mine] = with_given(template, given)
        return self._filled[mine]

    def own_template(self, key: str) -> AnalysisTemplate | None:
        return self._templates.get(Ref(ROLLOUT_ANALYSIS, key))

    def run(self, key: str) -> AnalysisRun | None:
        return self.own(self._runs.get(key))

    def occupant(self, key: str) -> str:
        run = self._runs.get(key)
        return self._strange.get(key, "") if run is None or self.own(run) else run.uid

    def cluster_jobs(self, key: str) -> Collection[ClusterJob]:
        return self._jobs_of.get(key, {}).values()

    def reaches(self, run: AnalysisRun) -> bool:
        return run.subject.cluster in self._members(run.subject.workload)

    def runs(self, workload: Ref) -> Mapping[str, AnalysisRun]:
        return self._own.get(workload, {})

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
        return unmeasurable(workload, intents, self)

    @property
    def wanted(self) -> frozenset[Kind]:
        """The kinds of templates of another tool, while somebody names one that is none of ours. This is
        asked at every turn, so its cost depends on no number of workloads.
        """
        return TEMPLATES_OF_OTHERS if self._lacking else _NO_KINDS


def _remembered(before: AnalysisRun | None, run: AnalysisRun | None) -> AnalysisRun | None:
    """The run, with what was measured by now, where somebody takes that out of its status."""
    if before is None or run is None or before.uid != run.uid:
        return run
    if not takes_back(before.result, run.result):
        return run
    return replace(run, result=before.result, mended="its status had less than was measured")


def _says(run: AnalysisRun) -> tuple[AnalysisVerdict, bool]:
    return _found(run), run.result.stopped


def _found(run: AnalysisRun) -> AnalysisVerdict:
    subject, result = run.subject, run.result
    return AnalysisVerdict(
        run=run.ref.name,
        template=subject.template,
        revision=subject.revision,
        attempt=subject.attempt,
        phase=result.phase,
        message=result.message,
        at=subject.at,
        cluster=subject.cluster,
    )
