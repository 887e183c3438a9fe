"""The What-if form and its answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from starlette.responses import HTMLResponse, RedirectResponse, Response

from rollout.account.words import stopwatch
from rollout.analysis.outcomes import (
    END_WORDS,
    RANKS,
    Distribution,
    End,
    Outcome,
    comparison_rows,
    spread_rows,
)
from rollout.dashboard.answers import NotAllowed, PageRequest, workload_named
from rollout.dashboard.charts import Histogram, histogram
from rollout.dashboard.foreseeing import QuestionNamed, WhatIfQuery
from rollout.dashboard.security import FORGERY_FIELD, form_of, is_ours
from rollout.dashboard.what_if import MOST_RUNS, WhatIfRun, WhatIfs
from rollout.errors import ConfigError, Gone, Unavailable
from rollout.model.kinds import WORKLOADS, Ref

RUNS = 100
MOST_OFFERED = 200
_FIELDS = ("a", "b", "workload", "failing", "runs", "compare")
MOST_TEXT = 60_000
"""Characters of a text; what a form carries is larger than what somebody wrote."""
_DONE = (End.DONE, End.TOLERATED)
_SHADES = ("of-a", "of-b")
NAMES = ("A", "B")


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One variant's distribution, with histograms; None where nothing would be in it."""

    name: str
    found: Distribution
    finish: Histogram | None
    blast: Histogram | None


class WhatIfPages:
    """The pages of one dashboard."""

    def __init__(self, what_ifs: WhatIfs) -> None:
        self._what_ifs = what_ifs

    def show(self, asked: PageRequest) -> Response:
        """The form, and below it the answer to what was asked last. Raises: Gone."""
        query = asked.request.query_params
        run = None
        if query.get("run"):
            run = self._what_ifs.find(query["run"], asked.person.name)
            if run is None:
                raise Gone("this question is kept no more: ask it again")
        return _page(asked, query, run)

    def ask(self, asked: PageRequest, body: bytes) -> Response:
        """Begin to answer. Raises: NotAllowed for a form that is not ours."""
        fields = form_of(body)
        if not is_ours(asked.person, fields.get(FORGERY_FIELD, "")):
            raise NotAllowed("this form does not come from your session: open the page again")
        try:
            query = _query(asked, fields)
            run = self._what_ifs.start(query, asked.person.name, lambda named: _may(asked, named))
        except (ConfigError, Gone) as fault:
            return _page(asked, fields, None, str(fault), status=400)
        except Unavailable as fault:
            return _page(asked, fields, None, str(fault), status=503)
        return RedirectResponse(f"/what-if?run={run.name}", 303)


def workload_word(ref: Ref) -> str:
    """``mwrs/default/web``: what is typed into the form; what has no namespace has ``-`` in its place."""
    return f"{ref.kind.typed}/{ref.namespace or '-'}/{ref.name}"


def _query(asked: PageRequest, fields: Mapping[str, str]) -> WhatIfQuery:
    """What somebody filled in. Raises: ConfigError, Gone, NotAllowed."""
    texts = [fields.get(name, "").strip() for name in ("a", "b")]
    for text in texts:
        if len(text) > MOST_TEXT:
            raise ConfigError(f"a text has {len(text)} characters: at most {MOST_TEXT} are read")
    word = fields.get("workload", "").strip()
    ref: Ref | None = None
    if word:
        parts = word.split("/")
        if len(parts) != 3:
            raise ConfigError(f"workload {word!r} is not written as mwrs/NAMESPACE/NAME")
        ref = workload_named(asked, *parts)
    runs = fields.get("runs", "") or str(RUNS)
    if not runs.isdecimal() or len(runs) > 4 or not 1 <= int(runs) <= MOST_RUNS:
        raise ConfigError(f"runs {runs!r} is not a number from 1 to {MOST_RUNS}")
    compares = bool(texts[1]) or fields.get("compare") == "1"
    return WhatIfQuery(
        texts=tuple(texts) if compares else (texts[0],),
        ref=ref,
        runs=int(runs),
        failing=_share(fields.get("failing", "").strip()),
    )


def _share(text: str) -> float | None:
    if not text:
        return None
    try:
        found = float(text) / 100
    except ValueError:
        found = -1.0
    if not 0 <= found <= 1:
        raise ConfigError(f"failing {text!r} is not a share of clusters from 0 to 100 %")
    return found


def _may(asked: PageRequest, named: QuestionNamed) -> str:
    """Plans tell what is stored under the names in a text, and what becomes of the workloads."""
    for ref in (*named.workloads, *named.objects):
        verb = "list" if ref.kind in WORKLOADS else "get"
        if not asked.may(verb, ref.kind, ref.namespace):
            where = f" in namespace {ref.namespace}" if ref.namespace else ""
            return f"{asked.person.name} may not {verb} {ref.kind.plural}{where}"
    return ""


def _page(
    asked: PageRequest,
    fields: Mapping[str, str],
    run: WhatIfRun | None,
    fault: str = "",
    status: int = 200,
) -> Response:
    found = run.distributions() if run is not None else []
    outcomes = [o for _, o in sorted(run.outcomes.items())] if run is not None else []
    shown = dict.fromkeys(_FIELDS, "") | (dict(fields) if run is None else _shown(run))
    words = [workload_word(row.account.ref) for row in asked.rows if asked.may_see(row)]
    text = asked.office.render(
        "what_if.html",
        **asked.office.frame(asked),
        run=run,
        fields=shown,
        fault=fault or (run.fault if run is not None else ""),
        offered=words[:MOST_OFFERED],
        variants=_variants(found, outcomes),
        compared=comparison_rows(found) if len(found) > 1 else [],
        names=NAMES,
        ranks=RANKS,
        end_words=END_WORDS,
        spread_rows=spread_rows,
        halted=End.HALTED,
        runs=RUNS,
        most_runs=MOST_RUNS,
        most_text=MOST_TEXT,
        ended=run is None or run.ended,
    )
    return HTMLResponse(text, status, headers={"Cache-Control": "no-store"})


def _shown(run: WhatIfRun) -> dict[str, str]:
    """The form as it was filled in."""
    query = run.query
    texts = dict(zip(("a", "b"), query.texts, strict=False))
    failing = "" if query.failing is None else f"{100 * query.failing:g}"
    word = workload_word(query.ref) if query.ref is not None else ""
    compare = "1" if len(query.texts) > 1 else ""
    return {
        **texts, "runs": str(query.runs), "failing": failing,
        "workload": word, "compare": compare,
    }  # fmt: skip


def _variants(found: list[Distribution], outcomes: list[list[Outcome]]) -> list[Variant]:
    """The variants with histograms on one axis."""
    lasted = [[o.lasted.total_seconds() for o in each if o.end in _DONE] for each in outcomes]
    touched = [[float(o.touched) for o in each if o.end is End.HALTED] for each in outcomes]
    return [
        Variant(
            name=NAMES[i],
            found=each,
            finish=_drawn(lasted, i, lambda s: stopwatch(timedelta(seconds=round(s)))),
            blast=_drawn(touched, i, lambda n: f"{n:.0f}"),
        )
        for i, each in enumerate(found)
    ]


def _drawn(values: list[list[float]], i: int, said: Callable[[float], str]) -> Histogram | None:
    everything = [value for each in values for value in each]
    if not values[i]:
        return None
    return histogram(values[i], (min(everything), max(everything)), said, _SHADES[i])
