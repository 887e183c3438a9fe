"""What do people do to a rollout while it runs? One method per verb of a script.

Everything is an annotation on the workload, or an object beside it: nothing goes through the engine.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from random import Random

from rollout.errors import Gone
from rollout.hub.base import Hub
from rollout.model import names
from rollout.model.kinds import APPROVAL, CLUSTER_CALENDAR, FREEZE, Kind, Obj, Ref
from tests.safety import objects
from tests.safety.setting import REVISIONS, Setting
from tests.safety.subject import Editor
from tests.safety.windows import UNREADABLE

_IN_ZONES: tuple[Obj, ...] = (
    {},
    {"timeZone": "Asia/Kolkata"},
    {"timeZoneFrom": {"label": "zone"}},
    {"timeZoneFrom": {"label": "zone"}},
    {"timeZoneFrom": {"label": "nowhere"}, "timeZone": "America/New_York"},
)
_BLOCKED: tuple[list[str], ...] = (
    [], [], ["Touch"], ["Removal"], ["Touch", "Rollback"],
    ["Touch", "Removal", "Rollback", "Restore"],
)  # fmt: skip
_HOURS = (0, 5, 9, 19)
"""The hours that clocks show in the zones of clusters when a history begins."""
CLEARED: Obj = dict.fromkeys(
    (
        names.HOLD,
        names.ABORT,
        names.UNDO,
        names.UNDO_TO,
        names.GATES,
        names.ROLLBACK,
        names.OVERRIDE_CALENDARS,
    )
)
"""Annotations of a workload that nobody asks anything of any more."""


class Operators:
    """``soon`` calls a function after a random span; ``flying`` tells which clusters are in flight; ``leave`` takes
    clusters out of the selection for a while.
    """

    def __init__(
        self,
        setting: Setting,
        hub: Hub,
        editor: Editor,
        now: Callable[[], datetime],
        soon: Callable[[Callable[[], None]], None],
        flying: Callable[[], list[str]],
        leave: Callable[[list[str]], None],
    ) -> None:
        self._setting, self._hub, self._editor = setting, hub, editor
        self._now, self._soon, self._flying, self._leave = now, soon, flying, leave
        self._dice = Random(f"operators:{setting.seed}")
        self._made = 0

    def heal(self) -> None:
        """Nothing is stopped or closed, and nothing is said of any revision."""
        for kind in (APPROVAL, FREEZE, CLUSTER_CALENDAR):
            for obj in self._hub.list(kind).items:
                self._take_away(kind, obj["metadata"]["name"])

    def do_hold(self) -> None:
        count = min(len(self._setting.clusters), self._dice.randrange(1, 4))
        chosen = self._dice.sample(self._setting.clusters, count)
        self._editor.edit(notes={names.HOLD: ",".join(sorted(chosen))})
        self._soon(partial(self._editor.edit, notes={names.HOLD: None}))

    def do_hold_in_flight(self) -> None:
        """Somebody looks into clusters in flight, and somebody else goes on meanwhile."""
        chosen = self._flying()[:3]
        if chosen:
            self._editor.edit(notes={names.HOLD: ",".join(sorted(chosen))})
            self._editor.roll_out(self._dice.choice(REVISIONS))
            self._soon(partial(self._editor.edit, notes={names.HOLD: None}))

    def do_hold_and_leave(self) -> None:
        """What somebody looks into is deselected meanwhile."""
        count = min(len(self._setting.clusters), self._dice.randrange(1, 4))
        chosen = sorted(self._dice.sample(self._setting.clusters, count))
        self._editor.edit(notes={names.HOLD: ",".join(chosen)})
        self._leave(chosen)
        self._soon(partial(self._editor.edit, notes={names.HOLD: None}))

    def do_meddle_held(self) -> None:
        """What somebody looks into he also changes by hand."""
        self._editor.edit(notes={names.HOLD: ",".join(self._setting.clusters)})
        self._editor.do_meddle()
        self._soon(partial(self._editor.edit, notes={names.HOLD: None}))

    def do_just_retry(self) -> None:
        self._made += 1
        self._editor.edit(notes={names.RETRY: f"retry {self._made}"})

    def do_stop_at_zero(self) -> None:
        """And asks for another revision at once; for a while nothing goes."""
        before = self._editor.strategies()
        zero = self._changed(before, maxConcurrency=self._dice.choice(("0", "0%")))
        self._editor.edit(strategies=zero)
        self._editor.roll_out(self._dice.choice(REVISIONS))
        self._soon(partial(self._editor.edit, strategies=before))

    def do_drop_canary(self) -> None:
        """A group is mandatory no longer."""
        early = [{"groupName": "early"}]
        self._editor.edit(
            strategies=self._changed(self._editor.strategies(), mandatoryDecisionGroups=early)
        )

    def do_more_failures(self) -> None:
        most = self._dice.choice((0, 1, 2, "50%"))
        self._editor.edit(strategies=self._changed(self._editor.strategies(), maxFailures=most))

    def do_shorten(self) -> None:
        """Deadlines become shorter than what has passed already."""
        span = self._dice.choice(("20s", "40s", "90s"))
        self._editor.edit(
            strategies=self._changed(self._editor.strategies(), progressDeadline=span)
        )

    def do_lengthen(self) -> None:
        """Deadlines become longer."""
        self._editor.edit(
            strategies=self._changed(self._editor.strategies(), progressDeadline="20m")
        )

    def do_narrow(self) -> None:
        """Deadlines become longer, and slots fewer."""
        fields = {"progressDeadline": "20m", "maxConcurrency": 1}
        self._editor.edit(strategies=self._changed(self._editor.strategies(), **fields))

    @staticmethod
    def _changed(strategies: Mapping[str, Obj], **fields: object) -> dict[str, Obj]:
        """The same strategies with some fields changed."""
        found: dict[str, Obj] = {}
        for name, strategy in strategies.items():
            kind = strategy["type"]
            member = kind[:1].lower() + kind[1:]
            found[name] = {"type": kind, member: {**(strategy.get(member) or {}), **fields}}
        return found

    def do_retry(self) -> None:
        """Often with more patience than before, and less haste."""
        self._made += 1
        strategies: dict[str, Obj] | None = None
        if self._dice.random() < 0.5:
            member = {"maxConcurrency": 1, "maxFailures": 100, "progressDeadline": "90s"}
            patient = {"type": "Progressive", "progressive": member}
            strategies = dict.fromkeys(self._setting.refs, patient)
        self._editor.edit(strategies=strategies, notes={names.RETRY: f"retry {self._made}"})

    def do_abort(self) -> None:
        self._editor.edit(notes={names.ABORT: ",".join(self._editor.fingerprints())})
        if self._dice.random() < 0.5:
            self._soon(partial(self._editor.edit, notes={names.ABORT: None}))

    def do_undo(self) -> None:
        (present,) = self._editor.fingerprints()
        self._editor.edit(notes={names.UNDO: present})
        if self._dice.random() < 0.5:
            self._soon(partial(self._editor.edit, notes={names.UNDO: None}))

    def do_undo_to(self) -> None:
        """Somebody names the revision that he wants back."""
        (present,) = self._editor.fingerprints()
        others = [r for r in REVISIONS if r != self._editor.asked()]
        (back,) = self._editor.fingerprints(self._dice.choice(others))
        self._editor.edit(notes={names.UNDO: present, names.UNDO_TO: back})
        self._soon(partial(self._editor.edit, notes={names.UNDO: None, names.UNDO_TO: None}))

    def do_release_briefly(self) -> None:
        """Somebody releases removals for a moment."""
        self._editor.edit(notes={names.RELEASE_REMOVALS: self._later(10, 60)})

    def do_approve_one(self) -> None:
        """Consent to one gate, for as long as it takes."""
        asked = self._hub.get(self._editor.ref)["metadata"].get("annotations") or {}
        gates = [gate for gate in asked.get(names.GATES, "").split(",") if gate]
        if gates:
            self._say(self._editor.asked(), "Approve", self._dice.choice(gates))

    def do_approve(self) -> None:
        asked = self._hub.get(self._editor.ref)["metadata"].get("annotations") or {}
        gates = [gate for gate in asked.get(names.GATES, "").split(",") if gate]
        gate = self._dice.choice(["*", "*", *gates])
        self._say(self._editor.asked(), "Approve", gate)

    def do_approve_briefly(self) -> None:
        """It has to be used at once: it is over before long."""
        self._say(self._editor.asked(), "Approve", "*", self._later(3, 60))

    def do_reject_briefly(self) -> None:
        self._say(self._editor.asked(), "Reject", "*", self._later(10, 120))

    def do_approve_another(self) -> None:
        """Consent to a revision that is not asked for now."""
        others = [r for r in REVISIONS if r != self._editor.asked()]
        self._say(self._dice.choice(others), "Approve", "*")

    def do_reject(self) -> None:
        self._say(self._editor.asked(), "Reject", "*")
        self._soon(self.do_withdraw)

    def do_withdraw(self) -> None:
        """Somebody takes back whatever was said."""
        for obj in self._hub.list(APPROVAL).items:
            if self._dice.random() < 0.7:
                self._take_away(APPROVAL, obj["metadata"]["name"])

    def do_freeze(self) -> None:
        self._made += 1
        name = f"f{self._made}"
        spec = {"until": self._later(20, 200)} if self._dice.random() < 0.5 else {}
        body = {"apiVersion": FREEZE.api_version, "kind": FREEZE.name}
        self._hub.create(Ref(FREEZE, name), {**body, "metadata": {"name": name}, "spec": spec})
        if not spec:
            self._soon(partial(self._take_away, FREEZE, name))

    def do_close(self) -> None:
        """A calendar closes clusters: a ring or all, once or by a schedule, each on the clock of its own zone."""
        rings = self._dice.choice((["canary"], ["early"], ["rest"], ["early", "rest"], []))
        expressions = [{"key": "ring", "operator": "In", "values": rings}] if rings else []
        spec: Obj = {
            "windows": [self._window(n) for n in range(self._dice.choice((1, 1, 2)))],
            "clusters": {"labelSelector": {"matchExpressions": expressions}},
            **self._dice.choice(_IN_ZONES),
        }
        if blocks := self._dice.choice(_BLOCKED):
            spec["blocks"] = blocks
        self._make_calendar(spec)

    def _window(self, number: int) -> Obj:
        dice = self._dice
        window = {"name": f"w{number}", "action": dice.choice(("Allow", "Deny"))}
        if dice.random() < 0.3:
            return {**window, "from": objects.wire(self._now()), "until": self._later(20, 600)}
        hour = dice.choice(("*", "*", *map(str, _HOURS)))
        minute = dice.choice(("*/5", "*/7", "3-59/10", "*/15"))
        schedule = f"{minute} {hour} * * {dice.choice(('*', '*', 'mon-fri', 'sat,sun'))}"
        return {**window, "schedule": schedule, "duration": f"{dice.choice((1, 2, 3, 6))}m"}

    def _make_calendar(self, spec: Obj) -> None:
        self._made += 1
        name = f"w{self._made}"
        body = {"apiVersion": CLUSTER_CALENDAR.api_version, "kind": CLUSTER_CALENDAR.name}
        made = {**body, "metadata": {"name": name}, "spec": spec}
        self._hub.create(Ref(CLUSTER_CALENDAR, name), made)
        if self._dice.random() < 0.7:
            self._soon(partial(self._take_away, CLUSTER_CALENDAR, name))

    def do_break_calendar(self) -> None:
        """Somebody spoils a calendar, and often mends it; one that is new was never read."""
        known = self._hub.list(CLUSTER_CALENDAR).items
        spoilt = {"name": "spoilt", "action": "Allow", "schedule": UNREADABLE, "duration": "1m"}
        if not known or self._dice.random() < 0.2:
            self._make_calendar({"windows": [spoilt]})
            return
        chosen = self._dice.choice(known)
        self._write_windows(chosen["metadata"]["name"], [spoilt])
        if self._dice.random() < 0.6:
            mended = partial(
                self._write_windows, chosen["metadata"]["name"], chosen["spec"]["windows"]
            )
            self._soon(mended)

    def _write_windows(self, name: str, windows: list[Obj]) -> None:
        with suppress(Gone):
            self._hub.patch(Ref(CLUSTER_CALENDAR, name), {"spec": {"windows": windows}})

    def do_override(self) -> None:
        """In an emergency the workload is let past all calendars, for a while; once for too long."""
        until = self._later(20, 400)
        if self._dice.random() < 0.2:
            until = objects.wire(self._now() + timedelta(hours=30))
        self._editor.edit(notes={names.OVERRIDE_CALENDARS: until})

    def _say(self, revision: str, decision: str, gate: str, expires: str = "") -> None:
        for fingerprint in self._editor.fingerprints(revision):
            self._say_of(fingerprint, decision, gate, expires)

    def _say_of(self, fingerprint: str, decision: str, gate: str, expires: str) -> None:
        self._made += 1
        name = f"a{self._made}"
        spec: Obj = {
            "workload": {"kind": self._editor.ref.kind.name, "name": self._editor.ref.name},
            "revision": fingerprint,
            "decision": decision,
            "gate": gate,
        }
        if expires or self._dice.random() < 0.4:
            spec["expires"] = expires or self._later(10, 300)
        body = {
            "apiVersion": APPROVAL.api_version,
            "kind": APPROVAL.name,
            "metadata": {"name": name, "namespace": objects.NAMESPACE},
            "spec": spec,
        }
        self._hub.create(Ref(APPROVAL, f"{objects.NAMESPACE}/{name}"), body)

    def _later(self, least: int, most: int) -> str:
        return objects.wire(self._now() + timedelta(seconds=self._dice.randrange(least, most)))

    def _take_away(self, kind: Kind, name: str) -> None:
        key = f"{objects.NAMESPACE}/{name}" if kind.namespaced else name
        with suppress(Gone):
            self._hub.delete(Ref(kind, key))
