"""Plans and simulates for the dashboard, in a process with bounds on memory and time.

The process is told what is asked, tells which objects it needs to know of, is sent those, and tells what
it finds as it finds it. It is ended from outside when its time is over.
"""

import json
import os
import resource
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Literal

from rollout.analysis.copies import TrialChange, holding
from rollout.analysis.excerpt import placements_of
from rollout.analysis.forecast import Forecast, forecast
from rollout.analysis.outcomes import Outcome, soaks
from rollout.analysis.simulating import Question, SimulationRunner, question, simulate
from rollout.api.file_objects import SCENARIO, FileObject, file_objects
from rollout.api.load import Loaded, load_text
from rollout.dashboard.preview import Preview, preview
from rollout.dashboard.verbs import VERBS, VerbCall
from rollout.errors import ConfigError, RolloutError
from rollout.hub.base import EmbeddedHub
from rollout.hub.memory import MemoryHub
from rollout.model.kinds import PLACEMENT, WORKLOADS, Obj, Ref
from rollout.model.problems import joined
from rollout.operate import Who
from rollout.operate.applying import apply_documents
from rollout.operate.edits import plain
from rollout.sim.scenario import Alternative, Behaviour, Scenario
from rollout.sim.scenario_file import parse_scenario, read_scenario

MOST_FAULTS = 20
MOST_SAID = 8_000
"""Characters of a refusal."""
MOST_DIFF = 64_000
"""Characters of all diffs of a plan together."""
MOST_BYTES = 4 << 20
"""Of one reply."""
_NICE = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfQuery:
    """What is asked.

    ``texts`` are YAML, one for each variant; "" is what there is now. ``ref`` is the workload that a text
    without one is about. ``failing`` is the share of clusters on which a revision fails (None: agents
    behave as the texts or the last run say). ``curves``: tell when clusters soak instead of how runs end.
    """

    texts: tuple[str, ...] = ("",)
    ref: Ref | None = None
    runs: int
    failing: float | None = None
    curves: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class VerbQuery:
    """What a verb would do. ``workloads`` are those of which it is told; ``place``: as `preview` has it.

    ``may_see_freezes``: whether whoever asks may know of Freezes.
    """

    verb: str
    call: VerbCall
    who: Who
    place: str
    workloads: tuple[Ref, ...]
    may_see_freezes: bool


Query = WhatIfQuery | VerbQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class HubExcerpt:
    """What there is on the hub beside the objects. ``scenario`` is that of the last run, as kept."""

    now: datetime
    profile: Literal["strict", "ocm"]
    scenario: bytes | None = None


@dataclass(frozen=True, slots=True)
class QuestionNamed:
    """The workloads that are asked about, all objects that the texts hold, and Placements they name."""

    workloads: tuple[Ref, ...]
    objects: tuple[Ref, ...] = ()
    placements: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class VariantPlanned:
    """What variant number ``variant`` would do right away."""

    variant: int
    forecast: Forecast


@dataclass(frozen=True, slots=True)
class RunEnded:
    """How one run of a variant ended. ``whole_because``, ``assumed``: as `rollout.analysis.outcomes.Distribution`."""

    variant: int
    outcome: Outcome
    whole_because: str
    assumed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunSoaks:
    """When clusters soaked in one run, as `rollout.analysis.outcomes.soaks` has it."""

    at: tuple[datetime, ...]


@dataclass(frozen=True, slots=True)
class QuestionRefused:
    """Why there is no answer. The process ends with it."""

    message: str


Reply = QuestionNamed | VariantPlanned | RunEnded | RunSoaks | Preview | QuestionRefused | None
"""None: it is done."""


def foresee(connection: Connection, query: Query, megabytes: int, seconds: int) -> None:
    """Work in this process, until all is told or nobody listens. The main function of the process."""
    if isinstance(query, WhatIfQuery):
        os.nice(_NICE)
    limit = megabytes * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    reply: Reply = None
    try:
        telling = _Telling(connection)
        if isinstance(query, WhatIfQuery):
            _Foreseer(telling, query).run()
        else:
            _foresee_verb(telling, query)
    except (BrokenPipeError, EOFError):
        return
    except MemoryError:
        reply = QuestionRefused(
            f"this takes more than the {megabytes} MB that one question may take"
        )
    except RecursionError:
        reply = QuestionRefused("this is nested too deeply")
    except RolloutError as fault:
        reply = QuestionRefused(_cut(plain(fault), MOST_SAID))
    with suppress(BrokenPipeError):
        connection.send(reply)
    connection.close()


class _Telling:
    """The way to whoever asked."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def tell(self, reply: Reply) -> None:
        """Tell it. Raises: ConfigError where it is too large to be told."""
        sent = ForkingPickler.dumps(reply)
        if len(sent) > MOST_BYTES:
            raise ConfigError(
                f"the answer has more than the {MOST_BYTES >> 20} MB that one may have"
            )
        self._connection.send_bytes(sent)

    def hub(self, named: QuestionNamed) -> tuple[MemoryHub, HubExcerpt]:
        """A hub with what there is of this."""
        self.tell(named)
        objects: dict[Ref, Obj] = {}
        while isinstance(part := self._connection.recv(), list):
            objects.update(part)
        assert isinstance(part, HubExcerpt), "objects end with what there is beside them"
        return holding(objects, part.now, part.profile)[0], part


def _foresee_verb(telling: _Telling, query: VerbQuery) -> None:
    hub, excerpt = telling.hub(QuestionNamed(query.workloads))
    who = replace(query.who, at=excerpt.now)
    found = preview(hub, VERBS[query.verb], query.call, who, place=query.place)
    telling.tell(replace(found, forecast=_shown(found.forecast, 0)))


def _shown(found: Forecast, most: int) -> Forecast:
    """A forecast with as much of its diffs as a page has room for."""
    left, plans = most, []
    for plan in found.workloads:
        diff = _cut(plan.diff, left) if left > 0 else ""
        left -= len(diff)
        plans.append(replace(plan, diff=diff, contents=()))
    return replace(
        found, workloads=tuple(plans), objects=tuple(replace(o, fields=()) for o in found.objects)
    )


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return f"{text[:most]}\n... cut here: {len(text) - most} more characters"


class _Foreseer:
    """Answers one question."""

    def __init__(self, telling: _Telling, query: WhatIfQuery) -> None:
        self._telling, self._query = telling, query
        self._tell = telling.tell

    def run(self) -> None:
        query = self._query
        loaded = [_loaded(text, i) for i, text in enumerate(query.texts)]
        variants = [_good(each) for each in loaded]
        workloads = tuple(dict.fromkeys(w for each in variants for w in self._workloads(each)))
        if not workloads:
            raise ConfigError("name a workload, or paste one: there is none to be rolled out")
        pasted = [(d.ref, d.obj) for each in variants for d in each if d.ref is not None]
        objects = tuple(ref for ref, _ in pasted)
        hub, excerpt = self._telling.hub(QuestionNamed(workloads, objects, _placements(pasted)))
        scenario = self._scenario(loaded, excerpt)
        questions: list[Question] = []
        for i, documents in enumerate(variants):
            change = _applying(documents)
            if documents:
                found = forecast(hub, change, excerpt.now)
                self._tell(VariantPlanned(i, _shown(found, MOST_DIFF)))
            questions.append(question(change, scenario, hub=hub, now=excerpt.now))
        for i, asked in enumerate(questions):
            self._simulate(i, asked)

    def _workloads(self, documents: Sequence[FileObject]) -> list[Ref]:
        found = [d.ref for d in documents if d.ref is not None and d.ref.kind in WORKLOADS]
        return found or ([self._query.ref] if self._query.ref is not None else [])

    def _scenario(self, loaded: Sequence[Loaded], excerpt: HubExcerpt) -> Scenario:
        """As asked; else as a text has it, else as in the last run on this hub; else all are healthy.

        What happened to the fleet in that run belongs to it: it does not happen once more.
        """
        if self._query.failing is not None:
            return _failing(self._query.failing)
        for each in loaded:
            for document in each.documents:
                if document.obj.get("kind") == SCENARIO:
                    scenario, problems = read_scenario(document.obj)
                    if scenario is None:
                        raise ConfigError(f"cannot use the scenario: {joined(problems)}")
                    return scenario
        kept = json.loads(excerpt.scenario)["text"] if excerpt.scenario else ""
        found = parse_scenario(kept) if kept else Scenario()
        spec = found.spec.model_copy(update={"fleet_events": ()})
        return found.model_copy(update={"spec": spec})

    def _simulate(self, variant: int, asked: Question) -> None:
        seeds = range(asked.seed, asked.seed + self._query.runs)
        if self._query.curves:
            for seed in seeds:
                self._tell(RunSoaks(soaks(simulate(replace(asked, seed=seed)).timeline)))
            return
        runner = SimulationRunner(asked)
        for seed in seeds:
            setting = runner.setting
            self._tell(RunEnded(variant, runner.run(seed), setting.why_whole, setting.assumed))


def _placements(pasted: Sequence[tuple[Ref, Obj]]) -> frozenset[str]:
    """The Placements that texts hold, or that their workloads name."""
    found = {ref.key for ref, _ in pasted if ref.kind is PLACEMENT}
    named = (placements_of(ref, obj) for ref, obj in pasted if ref.kind in WORKLOADS)
    return frozenset(found.union(*named))


def _failing(share: float) -> Scenario:
    """Agents of whom this share, drawn anew in each run, fails on what they are given."""
    behaviour = Behaviour(alternative=Alternative(probability=share))
    found = Scenario()
    spec = found.spec.model_copy(update={"defaults": behaviour})
    return found.model_copy(update={"spec": spec})


def _loaded(text: str, variant: int) -> Loaded:
    documents, errors = load_text(text, f"text {variant + 1}")
    return Loaded(tuple(documents), tuple(errors))


def _good(loaded: Loaded) -> list[FileObject]:
    """Each object once, as the last document that has it says. Raises: ConfigError where one is bad."""
    documents = file_objects(loaded)
    bad = [fault for document in documents for fault in document.complaints]
    if bad:
        raise ConfigError("\n".join(bad[:MOST_FAULTS]))
    return list({document.ref: document for document in documents}.values())


def _applying(documents: Sequence[FileObject]) -> TrialChange:
    """The change that `rollout apply` would make. Raises (when it is made): ConfigError."""

    def change(hub: EmbeddedHub) -> None:
        refused = [done.line for done in apply_documents(hub, documents) if done.failed]
        if refused:
            raise ConfigError("\n".join(refused[:MOST_FAULTS]))

    return change
