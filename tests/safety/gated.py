"""Random histories of releases that stand at gates of analyses and are measured in the background, by S18, S21, S25, S26.

On ManifestWorkReplicaSets and on add-ons, with calendars that close for forty minutes of each hour, providers that
go away, people who approve, retry and name another template, and strangers who write runs. The oracle works
verdicts out in plain Python from what was really measured, and knows nothing of how the engine does it.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random

from rollout import operate
from rollout.errors import ConfigError
from rollout.measuring.values import Measure, Sample
from rollout.model import names
from rollout.model.events import Event
from rollout.model.instants import rfc3339
from rollout.model.kinds import ROLLOUT_ANALYSIS_RUN, ref_of
from rollout.operate import Who
from tests.safety.analyses import COUNT, OUTAGE, VALUES, Limits
from tests.safety.days import DAYS, BrokenPromise, one_day, run_days
from tests.stories.test_analyses import template
from tests.support import make
from tests.support.addon_story import HOME, AddOnStory, addon_documents
from tests.support.story import Story

CLUSTERS, CANARIES = 5, 2
HOUR, OPEN_FOR, US = timedelta(hours=1), timedelta(minutes=20), timedelta(microseconds=1)
ENDLESS = 200
"""No history makes so many runs."""


@dataclass
class MeasuredRun:
    """What was really measured for one run: instants and words."""

    template: str
    version: str
    attempt: str
    at: str
    cluster: str
    samples: list[tuple[timedelta, str]] = field(default_factory=list)

    def words(self, before: timedelta) -> list[str]:
        """What was measured before an instant."""
        return [word for at, word in self.samples if at < before]


class GatedDay:
    """One history. It is its own provider."""

    steps = 10

    def __init__(self, seed: int, counts: Counter[str]) -> None:
        self.dice, self.counts = Random(seed), counts
        self.is_addon = self.dice.random() < 0.5
        self.limits = Limits(*(self.dice.choice(of) for of in ([0, 1], [0, 1, 3], [0, 4])))
        self.asks_gate = self.dice.random() < 0.7
        self.background = "back" if not self.asks_gate or self.dice.random() < 0.5 else ""
        self.asks_clusters = self.dice.random() < 0.3
        self.has_windows = self.dice.random() < 0.5
        self.is_unreadable = self.asks_gate and self.dice.random() < 0.1
        self.since = timedelta(0)  # when the present version began
        self.moods = ["good"]
        self.version, self.versions, self.before, self.attempt = "1", 1, "", ""
        self.runs: dict[str, MeasuredRun] = {}  # by uid
        self.revisions: dict[str, str] = {}  # revision -> version
        self.approved: list[tuple[str, str, timedelta]] = []  # version, gate, when
        self.opened: set[str] = set()  # versions whose gate has opened, in this episode of theirs
        self.soaked: set[str] = set()  # those whose canaries have soaked
        self.made = 0
        self.story = self._story()
        self.seen = self.began = 0

    def _story(self) -> Story:
        strategy = make.progressive(
            mandatory=["canary"], maxConcurrency=self.dice.choice([1, 2, 10])
        )
        notes = self._annotations()
        if self.is_addon:
            documents = addon_documents(
                CLUSTERS, canary=CANARIES, strategy=strategy, annotations=notes
            )
        else:
            workload = make.workload(strategy=strategy, annotations=notes)
            documents = [*make.fleet(CLUSTERS, canary=CANARIES), workload]
        documents += self._templates()
        if self.has_windows:
            documents.append(_hourly())
        story = (AddOnStory if self.is_addon else Story)(documents, measurer=self)
        story.hub.watch(ROLLOUT_ANALYSIS_RUN, 0, self._made)
        return story

    def _annotations(self) -> dict[str, str]:
        asked = {
            names.GATES: GATE if self.asks_gate else "",
            names.ANALYSIS: self.background,
            names.CLUSTER_ANALYSIS: "each" if self.asks_clusters else "",
        }
        return {name: value for name, value in asked.items() if value}

    def _templates(self) -> list[dict[str, object]]:
        limits = {
            "failureLimit": self.limits.failed,
            "inconclusiveLimit": self.limits.unclear,
            "consecutiveErrorLimit": self.limits.errors,
        }
        count = {"count": "{{args.n}}"} if self.is_unreadable else {}
        gate = template(**limits, **count, interval="4m")
        if self.is_unreadable:  # nobody knows it before the rollout gets there
            gate["spec"]["args"] = [{"name": "n", "valueFrom": {"rollout": "stage"}}]
        found = [gate]
        for name in ("back", "other", "each"):
            each = template(**limits, **({} if name == "each" else {"count": None}))
            each["metadata"]["name"] = name
            found.append(each)
        for each in found:
            each["metadata"]["namespace"] = HOME if self.is_addon else "default"
        return found

    # -- the provider ----------------------------------------------------------------------------

    def measure(self, write: Measure, done: Callable[[Mapping[str, Sample]], None]) -> None:
        run, now = write.run, self.story.clock.now()
        subject, word = run.subject, self.dice.choice(self.moods)
        version = self.revisions.setdefault(subject.revision, self.version)
        known = self.runs.setdefault(
            run.uid,
            MeasuredRun(
                subject.template,
                version,
                subject.attempt.rpartition(" ")[2],
                subject.at,
                subject.cluster,
            ),
        )
        known.samples.append((self.story.now, word))
        self.counts[f"measured {word}"] += 1
        value, error = (None, "no answer") if word == OUTAGE else (VALUES[word], "")
        done({"rate": Sample(started_at=now, finished_at=now, value=value, error=error)})

    def _made(self, event: Event) -> None:
        self.made += event.change.value == "ADDED"
        if self.made > ENDLESS:
            raise BrokenPromise("L1: runs are made without end")

    # -- the oracle ------------------------------------------------------------------------------

    def gate_phases(self, until: timedelta) -> list[str]:
        """How each run of the present version's gate stood at the end of an instant."""
        later = until + US
        return [
            self.limits.verdict(run.words(later))
            for run in self.runs.values()
            if run.at and run.version == self.version and self._is_of_now(run)
        ]

    def background_phase(self, before: timedelta) -> str:
        """How the last background run that is asked for now stood before an instant."""
        found = [
            run
            for run in self.runs.values()
            if not run.at
            and not run.cluster
            and (run.template, run.version, run.attempt)
            == (self.background, self.version, self.attempt)
            and self._is_of_now(run)
        ]
        return self.limits.verdict(found[-1].words(before), None) if found else "Running"

    def gate_failed(self, before: timedelta) -> bool:
        """Whether the last run of this attempt has: one that somebody deletes is made, and measured, anew."""
        mine = [
            run
            for run in self.runs.values()
            if run.at
            and (run.version, run.attempt) == (self.version, self.attempt)
            and self._is_of_now(run)
        ]
        return bool(mine) and self.limits.verdict(mine[-1].words(before)) == "Failed"

    def _is_of_now(self, run: MeasuredRun) -> bool:
        """Not of a time when the version was rolled out before: that says nothing any more."""
        return run.samples[0][0] >= self.since

    def cluster_phase(self, cluster: str, before: timedelta) -> str:
        """How the last run of a cluster stood before an instant, since it was last touched."""
        lines = [line for line in self.story.lines if line.cluster == cluster]
        touched = [line.after for line in lines if line.after < before]
        found = [
            run
            for run in self.runs.values()
            if (run.cluster, run.version) == (cluster, self.version)
            and touched
            and run.samples[0][0] > touched[-1]
        ]
        return self.limits.verdict(found[-1].words(before)) if found else "Running"

    def is_approved(self, gate: str, until: timedelta) -> bool:
        return any(
            version == self.version
            and (of == gate or (of == "*" and not gate.startswith("cluster/")))
            and at <= until
            for version, of, at in self.approved
        )

    def look(self) -> None:
        """Hold all that happened since the last look against the promises."""
        for line in self.story.lines[self.seen :]:
            if line.version == self.version:
                self._may_touch(line.cluster, line.after)
                self.counts["touched"] += 1
            elif line.version:
                raise BrokenPromise(f"S25: {line.cluster} goes back to {line.version}")
        self.seen = len(self.story.lines)

    def _may_touch(self, cluster: str, at: timedelta) -> None:
        if self.has_windows:
            self.counts["touched in a window"] += 1
            if at % HOUR >= OPEN_FOR:
                raise BrokenPromise(f"S21: {cluster} is touched in a closed window")
        if self.gate_failed(at):
            raise BrokenPromise(f"S26: {cluster} is touched, and the gate's analysis has failed")
        # What is measured in this very instant may end an outage, or come after the touch.
        states = {self.background_phase(each) for each in (at, at + US)} if self.background else ()
        if self.background and self.background_phase(at) == "Failed":
            raise BrokenPromise(f"S26: {cluster} is touched, and the background has failed")
        if states and "Running" not in states and not self.is_approved("*", at):
            raise BrokenPromise(f"S25: {cluster} is touched, and the background is {states}")
        if int(cluster[1:]) >= CANARIES:
            if self.asks_gate:
                self._may_pass(cluster, at)
            if self.asks_clusters and self.version not in self.soaked:
                self._canaries_are_good(cluster, at)

    def _canaries_are_good(self, cluster: str, at: timedelta) -> None:
        for canary in (f"c{n:02}" for n in range(CANARIES)):
            phase = self.cluster_phase(canary, at + US)
            is_doubtful = phase in ("Error", "Inconclusive")
            is_approved = is_doubtful and self.is_approved(f"cluster/{canary}", at)
            if phase != "Successful" and not is_approved:
                raise BrokenPromise(f"S26: {cluster} is touched before {canary}, which is {phase}")
            self.counts[f"a canary that is {phase}"] += 1
        self.soaked.add(self.version)

    def _may_pass(self, cluster: str, at: timedelta) -> None:
        if self.version in self.opened:
            return
        phases = self.gate_phases(at)
        is_good = "Successful" in phases
        is_doubtful = bool({"Error", "Inconclusive"} & set(phases)) or self.is_unreadable
        if not is_good and not (is_doubtful and self.is_approved(GATE, at)):
            raise BrokenPromise(f"S25: {cluster} is touched behind a gate that is {phases}")
        self.opened.add(self.version)
        self.counts["passed" if is_good else "passed by a person"] += 1

    def rest(self) -> None:
        """All is well from now on: the rollout comes to the end that is due."""
        self.moods = ["good"]
        self.go(timedelta(hours=9))
        reason, now = self.story.reason, self.story.now
        due = self._doubts(now + timedelta(seconds=1))
        is_everywhere = list(self.story.versions().values()) == [self.version] * CLUSTERS
        if not due or is_everywhere:
            due.add("Complete")
        if reason not in due:
            raise BrokenPromise(f"L1: {reason} in the end, and {due} is due")
        self.counts[f"ended {reason}"] += 1

    def _doubts(self, later: timedelta) -> set[str]:
        """The reasons for which it may stand still for good, by what was measured."""
        found: set[str] = set()
        state = self.background_phase(later) if self.background else "Running"
        gates = self.gate_phases(later) if self.version not in self.opened else []
        if self.gate_failed(later) or state == "Failed":
            found.add("AnalysisFailed")
        if "Inconclusive" in (state, *gates) or (self.is_unreadable and not gates):
            found.add("AnalysisInconclusive")
        if self.asks_clusters:
            versions = self.story.versions()
            mine = [cluster for cluster, version in versions.items() if version == self.version]
            clusters = {self.cluster_phase(each, later) for each in mine}
            found |= {"MaxFailuresExceeded"} if "Failed" in clusters else set()
            found |= {"RollingOut"} if "Inconclusive" in clusters else set()
        return found

    # -- what happens ----------------------------------------------------------------------------

    def go(self, span: timedelta = timedelta(0)) -> None:
        self.story.to(self.story.now + span)
        self.look()

    def begin(self) -> None:
        self.go()

    def happen(self) -> None:
        acts = (
            self.mood, self.mood, self.mood, self.restart, self.release, self.come_back, self.retry,
            self.approve, self.forge, self.forge, self.swap, self.overtake,
        )  # fmt: skip
        act = self.dice.choice(acts)
        act()
        self.counts[act.__name__] += 1
        self.go()
        for _ in range(self.dice.randrange(1, 5)):
            self.go(timedelta(seconds=self.dice.choice([1, 20, 61, 200, 1500])))

    def mood(self) -> None:
        """What the provider says from now on."""
        self.moods = self.dice.choice(
            [["good"], ["good"], ["bad", "good"], ["bad", "good", "good"], [OUTAGE], [OUTAGE, "good"], ["unclear", "nan", "good"]]
        )  # fmt: skip

    def restart(self) -> None:
        self.story.restart()

    def release(self) -> None:
        self.versions += 1
        self._change(str(self.versions))

    def come_back(self) -> None:
        """The version before is released again."""
        if self.before:
            self._change(self.before)

    def _change(self, version: str) -> None:
        self.before, self.version = self.version, version
        self.began, self.since = len(self.story.lines), self.story.now
        self.opened.discard(version)
        self.soaked.discard(version)
        if self.is_addon:
            assert isinstance(self.story, AddOnStory)
            self.story.release(version)
        else:
            self.story.template(make.template(version))

    def overtake(self) -> None:
        """Another version comes, touches nobody, and goes again."""
        if self.version not in self.soaked:
            self.moods = [OUTAGE]
            self.go(timedelta(minutes=6))
        self.story.annotate(names.HOLD, ",".join(f"c{n:02}" for n in range(CLUSTERS)))
        version = self.version
        self.release()
        self.go(timedelta(seconds=self.dice.choice([1, 30, 300])))
        self._change(version)
        self.go(timedelta(seconds=self.dice.choice([1, 30])))
        self.story.annotate(names.HOLD, None)

    def retry(self) -> None:
        self.attempt = f"try-{self.dice.randrange(10**6)}"
        self.story.annotate(names.RETRY, self.attempt)

    def swap(self) -> None:
        """Another template is measured in the background, perhaps since the one before fails."""
        if self.background:
            if self.dice.random() < 0.5:
                self.moods = ["bad"]
                self.go(timedelta(minutes=3))
                self.moods = ["good"]
            self.background = "other" if self.background == "back" else "back"
            self.story.annotate(names.ANALYSIS, self.background)

    def approve(self) -> None:
        gates = [*([GATE] if self.asks_gate else []), "*"]
        if self.asks_clusters:
            gates += ["cluster/c00", "cluster/c01"]
        gate = self.dice.choice(gates)
        who = Who("ben", self.story.clock.now(), "it looks well")
        with suppress(ConfigError):  # nothing is rolled out yet, or there is no gate
            operate.approve(self.story.hub, self.story.subject, who, gate)
            self.approved.append((self.version, gate, self.story.now))

    def forge(self) -> None:
        """A stranger writes that all is well: over a run's status, or a run of his own in its place."""
        found = self.story.hub.list(ROLLOUT_ANALYSIS_RUN).items
        if not found:
            return
        going = [run for run in found if not (run.get("status") or {}).get("finishedAt")]
        run, at = self.dice.choice(going or found), rfc3339(self.story.clock.now())
        good = {"phase": "Successful", "startedAt": at, "finishedAt": at, "value": "1"}
        metric = {"name": "rate", "phase": "Successful", "count": COUNT, "successful": COUNT}
        status = {"phase": "Successful", "message": None, "finishedAt": at}
        ref = ref_of(ROLLOUT_ANALYSIS_RUN, run)
        if self.dice.random() < 0.5:
            self.story.hub.patch_status(ref, {"status": {**status, "metrics": [metric]}})
            return
        self.story.hub.delete(ref)
        meta = {"name": ref.name, "namespace": ref.namespace}
        whole = {**metric, "measurements": [good] * COUNT}
        forged = {
            **run,
            "metadata": meta,
            "status": {**status, "startedAt": at, "metrics": [whole]},
        }
        with suppress(Exception):  # the engine was faster
            self.story.add(forged)


GATE = "after:canary=analysis/slo"


def _hourly() -> dict[str, object]:
    """Open for the first twenty minutes of each hour."""
    window = {"name": "hourly", "action": "Allow", "schedule": "0 * * * *", "duration": "20m"}
    return {
        "apiVersion": "rollout-engine.io/v1alpha1",
        "kind": "ClusterCalendar",
        "metadata": {"name": "hourly"},
        "spec": {"timeZone": "UTC", "windows": [window]},
    }


def check(seeds: range = DAYS) -> Counter[str]:
    """Run a history for each seed. Raises: BrokenPromise, with the command that runs it again."""
    return run_days(GatedDay, seeds, GatedDay.steps)


if __name__ == "__main__":
    one_day(check)
