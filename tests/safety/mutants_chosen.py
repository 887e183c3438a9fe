"""Thirty faults where the code is densest, written down before any of them was looked for."""

from tests.safety.mutating import Mutant, fault

LINE, LIVE, STANDINGS, TERMS, BOOK = (
    f"rollouts.{name}" for name in ("line", "live", "standings", "terms", "book")
)
STEP, LEDGER, STAGES, GATES, JUDGE, BACK = (
    f"strategies.{name}" for name in ("step", "ledger", "stages", "gates", "judge", "retreat")
)
SELECTED, WORKS, SHARED = (
    f"rollouts.{name}" for name in ("selections", "replicaset_workload", "workload")
)
GOES, HISTORY = (f"planning.{name}" for name in ("removals", "history"))
RS = ("replicaset",)

_OF_THE_WAY_BACK: tuple[Mutant, ...] = (
    fault(
        "S10",
        "what was taken back is taken over again where somebody puts it there",
        (
            LINE,
            'wanted = "" if before is not None and course.gave(before) else course.content',
            "wanted = course.content",
        ),
        kinds=RS,
        focus="retaken",
    ),
    fault(
        "S10",
        "the first that soaked is given back, not the last",
        (LINE, "kept.insert(0, left.revision)", "kept.append(left.revision)"),
        kinds=RS,
        focus="back",
    ),
    fault(
        "S10",
        "what failed where it soaked before is still given back",
        (
            LINE,
            "if verdict in (Verdict.SOAKED, Verdict.FAILED):",
            "if verdict is Verdict.SOAKED:",
        ),
        kinds=RS,
        focus="again",
    ),
    fault(
        "S10",
        "the oldest go back first",
        (BACK, "key=lambda standing: standing.touched, reverse=True)", "key=lambda s: s.touched)"),
        kinds=RS,
        focus="back",
    ),
    fault(
        "S10",
        "whoever asks for one revision gets back the last",
        (TERMS, 'to = terms.intents.undo_to if cause == "Undo" else ""', 'to = ""'),
        kinds=RS,
        focus="retaken",
    ),
    fault(
        "S10",
        "what clusters would get back is not kept",
        (HISTORY, "        found |= share.live.newest_soaked()\n", ""),
        kinds=RS,
        focus="unkept",
    ),
    fault(
        "S7",
        "what is taken back goes back while decisions are torn",
        (LIVE, "            return replace(first, retreat=None)\n", "            return first\n"),
        kinds=RS,
        focus="torn back",
    ),
)

_OF_WHAT_IS_KNOWN: tuple[Mutant, ...] = (
    fault(
        "S1",
        "a retry forgets who is in flight",
        (
            LIVE,
            "            if judged.phase.is_failure:\n",
            "            if judged.phase.is_failure or judged.phase.holds_slot:\n",
        ),
        focus="groups",
    ),
    fault(
        "S19",
        "a group that may be empty may lose its clusters",
        (
            LIVE,
            "seen = self.head.seen | had_members(terms.spec, terms.selection)",
            "seen = had_members(terms.spec, terms.selection)",
        ),
        focus="allowed",
    ),
    fault(
        "S17",
        "who leaves while on an older revision is lost",
        (
            STANDINGS,
            "is_mine = standing.of_revision == terms.revision or is_wanted",
            "is_mine = True",
        ),
        focus="left",
    ),
    fault(
        "L5",
        "the pause after a refusal holds for every content",
        (
            STANDINGS,
            "return self.line(cluster).refused(self.wanted(cluster))",
            "return self.rejections[cluster]",
        ),
        kinds=("addon",),  # what works are refused for is what they are supposed to carry
        focus="let in",
    ),
    fault(
        "S8",
        "nobody hears of a hold alone",
        (
            TERMS,
            "(asked.waivers, asked.held, asked.may_be_empty)",
            "(asked.waivers, asked.may_be_empty)",
        ),
        (
            TERMS,
            "        now_asked.waivers,\n        now_asked.held,\n",
            "        now_asked.waivers,\n",
        ),
        focus="operations",
    ),
    fault(
        "S1",
        "what ended on an older revision is not written down",
        (
            LEDGER,
            "if standing is not None and standing.verdict is None:\n                self._ended",
            "if False:\n                self._ended",
        ),
        focus="ended",
    ),
    fault(
        "L2",
        "a failure that ended goes on under a longer deadline",
        (
            JUDGE,
            "    if judged.phase is Phase.FAILED:\n        return structs.replace(standing, verdict=Verdict.FAILED",
            "    if False:\n        return structs.replace(standing, verdict=Verdict.FAILED",
        ),
        focus="longer",
    ),
)

_OF_THE_RECORD: tuple[Mutant, ...] = (
    fault(
        "S18",
        "clusters that somebody wrote into the first page stay there",
        (BOOK, "strange = HEAD if number else CLUSTERS", 'strange = "" if number else ""'),
        focus="unseen",
    ),
    fault(
        "S18",
        "a page that lost its workload is written to as it is",
        (BOOK, "        page.stored = page.version = None\n", "        pass\n"),
        focus="tenants",
    ),
    fault(
        "S18",
        "pages that the workload does not own are believed",
        (
            "fleet.records",
            "pages = {n: page for n, page in held.items() if belongs_to(page, uid)}",
            "pages = dict(held)",
        ),
        focus="unseen",
    ),
)

_OF_SELECTIONS: tuple[Mutant, ...] = (
    fault(
        "S19",
        "who leaves gets something new in the quiet period",
        (SELECTED, "not (self.leaving or is_ordered(spec))", "not is_ordered(spec)"),
        focus="parting",
    ),
    fault(
        "S5",
        "the key of a stage follows its index",
        (
            STAGES,
            'keys[group.index, group.name] = f"{group.name}/{counted[group.name]}"',
            'keys[group.index, group.name] = f"{group.name}/{group.index}"',
        ),
        focus="renumbered",
    ),
    fault(
        "S11",
        "the first specs that are seen lift the brake",
        (SHARED, 'since = known.since if known.of in ("", older) else now', "since = now"),
        focus="braked",
    ),
    fault(
        "S11",
        "a release of removals never ends",
        (GOES, "if released is not None and now < released:", "if released is not None:"),
        focus="braked",
    ),
    fault(
        "S11",
        "who leaves a placement that stays goes without the brake",
        (
            "rollouts.inheritance",
            "return (set(known) - left) | taken_out",
            "return set(known) | set(owners)",
        ),
        kinds=RS,
        focus="braked",
    ),
)

_OF_GATES: tuple[Mutant, ...] = (
    fault(
        "S14",
        "a gate behind a stage opens before the stage is done",
        (
            STEP,
            "            if is_done and gates.before is None:\n                self.opened +=",
            "            if gates.before is None:\n                self.opened +=",
        ),
        focus="early",
    ),
    fault(
        "S14",
        "a gate at every stage opens at all of them at once",
        (
            GATES,
            'return str(ref) if ref.group == stage.key else f"{ref} at {stage.key}"',
            "return str(ref)",
        ),
        focus="early",
    ),
    fault(
        "S14",
        "an approval of one gate opens another",
        (GATES, "            and each.gate in (EVERY_STAGE, str(self.gate))\n", ""),
        focus="crossed",
    ),
    fault(
        "L1",
        "nobody looks when a window opens",
        (STEP, "        self.shut_until = rollout.shut.until\n", ""),
        focus="windows",
    ),
)

_OF_WORKS: tuple[Mutant, ...] = (
    fault(
        "S9",
        "the newest of several works counts",
        (
            WORKS,
            "chosen = oldest(held)",
            "chosen = max(held, key=lambda w: (w.created, w.name), default=None)",
        ),
        kinds=RS,
    ),
    fault(
        "S18",
        "the owner that an agent wrote into a work stays",
        (WORKS, "or names_another_owner(work, self.ref.key)", "or False"),
        kinds=RS,
        focus="tenants",
    ),
    fault(
        "S9",
        "a placement whose decisions are torn keeps what another one owns",
        (
            "rollouts.share",
            "before=without(before, taken) if before else Reading(Selection()),",
            "before=before or Reading(Selection()),",
        ),
        (
            "rollouts.workload",
            "mine = without(whole, taken)",
            "mine = whole if whole.is_torn else without(whole, taken)",
        ),
        kinds=RS,
        focus="pairs",
    ),
)

_OF_VALUES: tuple[Mutant, ...] = (
    fault(
        "S22",
        "a cluster that was rendered once ignores new rules",
        ("values.contents", "        self._known.clear()\n", ""),
        kinds=("values",),
        look="values",
    ),
)

OF_THE_CHOSEN = (
    *_OF_THE_WAY_BACK,
    *_OF_WHAT_IS_KNOWN,
    *_OF_THE_RECORD,
    *_OF_SELECTIONS,
    *_OF_GATES,
    *_OF_WORKS,
    *_OF_VALUES,
)
