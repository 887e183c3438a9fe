"""Random histories of releases that are measured cluster by cluster, and told, held against S25 to S27.

Providers go away and say all sorts of things, channels fail, the process dies while it tells. The oracle works
verdicts out in plain Python from what was really measured, and knows nothing of how the engine does it.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random

from rollout.measuring.values import Measure, Sample
from rollout.model import names
from rollout.model.kinds import ROLLOUT_ANALYSIS_RUN, ROLLOUT_NOTIFICATION
from rollout.model.writes import Deliver
from tests.safety.days import DAYS, BrokenPromise, one_day, run_days
from tests.safety.replicasets import hash_of_template
from tests.stories.test_analyses import template
from tests.support import make
from tests.support.story import Story

CLUSTERS = 5
COUNT = 3
VALUES: Mapping[str, object] = {
    "good": 0.99,
    "bad": 0.1,
    "unclear": 0.7,
    "nan": float("nan"),
    "none": [],
}
OUTAGE = "outage"
ENDLESS = 2_000
"""No history has so much to tell."""


class KilledWhileTelling(BaseException):
    """The process is gone, after it told and before it wrote that down."""


@dataclass
class Measured:
    """What was really measured for one attempt of one cluster: instants and words."""

    version: str
    cluster: str
    uid: str = ""  # of its run; one that is made anew measures anew
    samples: list[tuple[timedelta, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Limits:
    """How many failed and unclear measurements, and errors in a row, are tolerated."""

    failed: int
    unclear: int
    errors: int

    def verdict(self, words: list[str], count: int | None = COUNT) -> str:
        """What these measurements amount to."""
        good = bad = unclear = row = 0
        for word in words:
            row = row + 1 if word == OUTAGE else 0
            good += word == "good"
            bad += word == "bad"
            unclear += word in ("unclear", "nan", "none")
            if bad > self.failed:
                return "Failed"
            if unclear > self.unclear:
                return "Inconclusive"
            if good + bad + unclear == count:
                return "Successful" if good else "Inconclusive"
        return "Error" if row > self.errors else "Running"


class MeasuredDay:
    """One history. It is its own provider, and its own channel."""

    steps = 10

    def __init__(self, seed: int, counts: Counter[str]) -> None:
        self.dice, self.counts = Random(seed), counts
        self.limits = Limits(*(self.dice.choice(of) for of in ([0, 1], [0, 1, 3], [0, 4])))
        self.tolerated, self.is_automatic = self.dice.choice([0, 1]), self.dice.random() < 0.5
        self.moods, self.is_deaf, self.dies_soon = ["good"], False, False
        self.version, self.versions, self.before = "1", 1, ""
        self.runs: dict[tuple[str, str], Measured] = {}
        self.told: list[tuple[str, str, str, str]] = []  # name, id, trigger, revision
        self.delivered: set[tuple[str, str]] = set()  # trigger, revision
        self.expected: set[tuple[str, str]] = set()
        self.old_ids: set[str] = set()  # of what this revision was told under before it came back
        self.reopened = 0  # so much had been told when the present version was asked for
        self.episodes: Counter[str] = Counter({self.hash("1"): 1})
        metric = template(
            failureLimit=self.limits.failed,
            inconclusiveLimit=self.limits.unclear,
            consecutiveErrorLimit=self.limits.errors,
        )
        workload = make.workload(
            strategy=make.progressive(maxConcurrency=1, maxFailures=self.tolerated),
            annotations={
                names.CLUSTER_ANALYSIS: "slo",
                names.ROLLBACK: "Automatic" if self.is_automatic else "Manual",
                names.NOTIFY: "team",
            },
        )
        fleet = make.fleet(CLUSTERS)
        self.story = Story([*fleet, metric, workload], measurer=self, deliverer=self)
        self.seen = self.began = 0
        self.given_at: dict[str, timedelta] = {}  # what each has, on the way back too
        self.is_bad = False  # more failed on this version, since it was asked for, than may

    @staticmethod
    def hash(version: str) -> str:
        """The revision of a version."""
        return hash_of_template(make.template(version))

    # -- the provider and the channel --------------------------------------------------------------

    def measure(self, write: Measure, done: Callable[[Mapping[str, Sample]], None]) -> None:
        subject, now = write.run.subject, self.story.clock.now()
        word = self.dice.choice(self.moods)
        attempt = (subject.cluster, subject.attempt)
        known = self.runs.get(attempt)
        if known is None or known.uid != write.run.uid:
            known = self.runs[attempt] = Measured(self.version, subject.cluster, write.run.uid)
        known.samples.append((self.story.now, word))
        self.counts[f"measured {word}"] += 1
        value, error = (None, "no answer") if word == OUTAGE else (VALUES[word], "")
        done({"rate": Sample(started_at=now, finished_at=now, value=value, error=error)})

    def deliver(self, write: Deliver, done: Callable[[str], None]) -> None:
        told = write.notification
        self.told.append((write.ref.name, told.id, told.trigger.value, told.revision))
        if len(self.told) > ENDLESS:
            raise BrokenPromise(f"S27: {told.trigger.value} is told without end")
        if self.is_deaf and self.dice.random() < 0.8:
            self.counts["not delivered"] += 1
            done("no answer")
            return
        self.delivered.add((told.trigger.value, told.revision))
        if self.dies_soon:
            self.dies_soon = False
            self.counts["killed"] += 1
            raise KilledWhileTelling
        done("")

    # -- the oracle ------------------------------------------------------------------------------

    def verdicts(self, version: str, until: timedelta) -> dict[str, str]:
        """By cluster, how its last attempt stood at an instant, where that was with this version.

        What was measured before the cluster was given what it has says nothing: the version may have
        been there in an earlier episode.
        """
        last = {
            run.cluster: run
            for run in self.runs.values()
            if self.given_at.get(run.cluster, timedelta(-1)) < run.samples[0][0] <= until
        }
        return {
            cluster: self.limits.verdict([word for at, word in run.samples if at <= until])
            for cluster, run in last.items()
            if run.version == version
        }

    def failed(self, until: timedelta) -> int:
        return list(self.verdicts(self.version, until).values()).count("Failed")

    def look(self) -> None:
        """Hold all that happened since the last look against the promises."""
        for line in self.story.lines[self.seen :]:
            self._note_failures(line.after)
            if line.version == self.version:
                self._may_touch(line.cluster, line.after)
            elif line.version and not (self.is_automatic and self.is_bad):
                raise BrokenPromise(
                    f"S25: {line.cluster} goes back to {line.version}, and nothing failed"
                )
            self.counts["touched" if line.version == self.version else "given back"] += 1
            self.given_at[line.cluster] = line.after
        self.seen = len(self.story.lines)
        self._note_failures(self.story.now)
        self._runs_agree()
        self._note_what_is_to_be_told()

    def _may_touch(self, cluster: str, at: timedelta) -> None:
        """S25, S26: whoever was touched before is measured as good, or failed within the budget."""
        found = {c: v for c, v in self.verdicts(self.version, at).items() if c != cluster}
        lines = self.story.lines[self.began :]
        before = {e.cluster for e in lines if e.version == self.version and e.after < at}
        open_ones = {c for c in before - {cluster} if found.get(c) not in ("Successful", "Failed")}
        if open_ones:
            raise BrokenPromise(f"S25: {cluster} is touched before {sorted(open_ones)} are good")
        if self.is_bad:
            raise BrokenPromise(f"S26: {cluster} is touched, and {found} are beyond the budget")

    def _note_failures(self, at: timedelta) -> None:
        """Whoever is given back no longer fails; the version is bad all the same, until it is asked for anew."""
        self.is_bad = self.is_bad or self.failed(at) > self.tolerated

    def _runs_agree(self) -> None:
        """Each run says what follows from what was measured."""
        for run in self.story.hub.list(ROLLOUT_ANALYSIS_RUN).items:
            spec, status = run["spec"], run.get("status") or {}
            if status.get("stopped") or "phase" not in status:
                continue
            known = self.runs.get((spec["cluster"], spec["attempt"]))
            if known is not None and known.uid != run["metadata"]["uid"]:
                known = None
            due = self.limits.verdict([word for _, word in known.samples] if known else [])
            if status["phase"] != due:
                raise BrokenPromise(f"S25: a run is {status['phase']}, and {due} was measured")
            self.counts[due] += 1
            if due == "Failed" and spec["revision"] == self.hash(self.version):
                self.expected.add(("on-analysis-failed", spec["revision"]))

    def _note_what_is_to_be_told(self) -> None:
        revision, status = self.hash(self.version), self.story.mwrs().get("status") or {}
        if status.get("updateRevision") != revision:
            return
        if any(line.version == self.version for line in self.story.lines[self.began :]):
            self.expected.add(("on-rollout-started", revision))
        triggers = {
            "Complete": ("on-completed",),
            "CompleteWithFailures": ("on-completed",),
            "MaxFailuresExceeded": ("on-halted",),
            "RolledBack": ("on-rolled-back", "on-halted"),
        }
        for trigger in triggers.get(self.story.reason, ()):
            self.expected.add((trigger, revision))

    def rest(self) -> None:
        """All is well from now on: the rollout comes to the end that is due, and all of it was told."""
        self.moods, self.is_deaf = ["good"], False
        self.go(timedelta(hours=3))
        found = self.verdicts(self.version, self.story.now)
        if self.is_bad:
            due = {"RolledBack"} if self.is_automatic else {"MaxFailuresExceeded"}
        elif "Inconclusive" in found.values():
            due = {"RollingOut"}
        else:
            due = {"Complete", "CompleteWithFailures"}
        if self.story.reason not in due:
            raise BrokenPromise(f"S26: {self.story.reason} in the end, and {due} is due: {found}")
        self.counts[f"ended {self.story.reason}"] += 1
        untold = self.expected - self.delivered
        if untold:
            raise BrokenPromise(f"S27: never told: {sorted(untold)}")
        self._ids_agree()

    def _begin_to_tell(self, revision: str) -> None:
        """What was told of a revision is told anew where it comes back; what is still to be told is told once."""
        self.episodes[revision] += 1
        before = {event for event in self.delivered if event[1] == revision}
        self.expected -= before
        self.delivered -= before
        untold = {
            str(each["spec"]["id"])
            for each in self.story.hub.list(ROLLOUT_NOTIFICATION).items
            if "deliveredAt" not in (each.get("status") or {})
        }
        told = {number for _, number, _, of in self.told if of == revision}
        self.old_ids, self.reopened = told - untold, len(self.told)

    def _ids_agree(self) -> None:
        """No more ids than things to tell, and new ones where a revision comes back."""
        by_event: dict[tuple[str, str], set[str]] = {}
        for _, number, trigger, revision in self.told:
            by_event.setdefault((trigger, revision), set()).add(number)
        for (trigger, revision), ids in by_event.items():
            once = trigger in ("on-rollout-started", "on-completed", "on-rolled-back")
            if once and len(ids) > self.episodes[revision]:
                raise BrokenPromise(f"S27: {trigger} of {revision} is told under {len(ids)} ids")
        started = {
            number
            for _, number, trigger, revision in self.told[self.reopened :]
            if (trigger, revision) == ("on-rollout-started", self.hash(self.version))
        }
        if started & self.old_ids:
            raise BrokenPromise("S27: a revision that comes back is told under ids of before")

    # -- what happens ----------------------------------------------------------------------------

    def go(self, span: timedelta = timedelta(0)) -> None:
        """Move on; where the process is killed another one goes on."""
        until = self.story.now + span
        while True:
            try:
                self.story.to(until)
                break
            except KilledWhileTelling:
                self.story.restart()
        self.look()

    def begin(self) -> None:
        self.go()

    def happen(self) -> None:
        acts = (
            self.mood,
            self.mood,
            self.deafness,
            self.kill,
            self.restart,
            self.release,
            self.come_back,
            self.fix,
        )
        act = self.dice.choice(acts)
        act()
        self.counts[act.__name__] += 1
        self.go()
        for _ in range(self.dice.randrange(1, 6)):
            self.go(timedelta(seconds=self.dice.choice([1, 20, 61, 200])))

    def mood(self) -> None:
        """What the provider says from now on."""
        self.moods = self.dice.choice(
            [["good"], ["good"], ["good", "good", "bad"], ["bad", "good"], [OUTAGE], [OUTAGE, "good"], ["unclear", "nan", "none", "good"], ["unclear", "nan", "none"]]
        )  # fmt: skip

    def deafness(self) -> None:
        self.is_deaf = not self.is_deaf

    def kill(self) -> None:
        """The process dies after the next thing that it tells."""
        self.dies_soon = True

    def restart(self) -> None:
        self.story.restart()

    def release(self) -> None:
        self.versions += 1
        self._change(str(self.versions))

    def come_back(self) -> None:
        """The version before is released again, once all is at rest."""
        if not self.before:
            return
        self.rest()
        self._change(self.before)

    def fix(self) -> None:
        """Too many fail until the revision is halted or taken back, and wherever that stands, it is mended: by
        a new version, or by the one before it.
        """
        self.moods = ["bad"]
        for _ in range(self.dice.randrange(20)):
            if self.is_bad:
                break
            self.go(timedelta(minutes=1))
        self.go(timedelta(seconds=self.dice.choice([0, 0, 1, 5, 30, 600])))
        self.moods = self.dice.choice([["good"], ["good", "bad"]])
        if self.is_bad:
            self.counts[f"fixed after {self.story.reason}"] += 1
        if self.before and self.dice.random() < 0.5:
            self._change(self.before)
        else:
            self.release()

    def _change(self, version: str) -> None:
        self.before, self.version = self.version, version
        self._begin_to_tell(self.hash(version))
        self.began, self.is_bad = len(self.story.lines), False
        self.story.template(make.template(version))


def check(seeds: range = DAYS) -> Counter[str]:
    """Run a history for each seed. Raises: BrokenPromise, with the command that runs it again."""
    return run_days(MeasuredDay, seeds, MeasuredDay.steps)


if __name__ == "__main__":
    one_day(check)
