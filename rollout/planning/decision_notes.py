"""What is told of the decisions that a pass changes? Notes, of which the shell makes Events.

Reasons and texts are OCM's (placement spec 3.6). Differences in profile strict: one event of each kind
per pass, which names the pages, and no DecisionUpdate of a page that is new.
"""

from collections.abc import Sequence

from rollout.model.kinds import PLACEMENT, PLACEMENT_DECISION, Ref
from rollout.model.placement import Placement
from rollout.placement.framework import EvaluationCode, EvaluationStatus, Selection
from rollout.placement.grouping import Profile
from rollout.planning.plan import Note

NAMED = 10
"""Pages that are named; of the others only the number is told."""
SCORE_LENGTH = 1000


def page_notes(
    placement: Placement,
    profile: Profile,
    status: EvaluationStatus,
    selection: Selection,
    *,
    fresh: Sequence[str],
    filled: Sequence[str],
    gone: Sequence[str],
) -> tuple[Note, ...]:
    """Of the pages that are made, those whose clusters change (new ones too), and those removed."""
    warning = status.code is EvaluationCode.WARNING
    why = f": {status.message} in plugin {status.plugin}" if warning else ""
    together = profile == "strict"
    updated = [page for page in filled if warning or not together or page not in fresh]
    found = _told(placement, "Create", fresh, together)
    found += _told(placement, "Update", updated, together, why, warning=warning)
    if filled and selection.names:
        ref, text = Ref(PLACEMENT, placement.key), score_text(selection)
        found.append(Note(ref, "ScoreUpdate", text, False, "ScoreUpdated"))
    found += _told(placement, "Delete", gone, together)
    return tuple(found)


def _told(
    placement: Placement,
    verb: str,
    pages: Sequence[str],
    together: bool,
    why: str = "",
    *,
    warning: bool = False,
) -> list[Note]:
    if together and len(pages) > 1:
        more = f" and {len(pages) - NAMED} more" if len(pages) > NAMED else ""
        subjects = {f"Decisions {', '.join(pages[:NAMED])}{more} are": pages[0]}
    else:
        subjects = {f"Decision {page} is": page for page in pages}
    done = f"{verb}d"
    rest = f"{done.lower()} with placement {placement.name} in namespace {placement.namespace}{why}"
    return [
        Note(
            Ref(PLACEMENT, placement.key),
            f"Decision{verb}",
            f"{subject} {rest}",
            warning,
            f"Decision{done}",
            Ref(PLACEMENT_DECISION, f"{placement.namespace}/{page}"),
        )
        for subject, page in subjects.items()
    ]


def score_text(selection: Selection) -> str:
    """``<cluster>:<total> `` of every feasible cluster by name, at most `SCORE_LENGTH` of it."""
    text = ""
    for name, total in zip(selection.names, selection.totals, strict=True):
        entry = f"{name}:{total} "
        if len(text) + len(entry) > SCORE_LENGTH:
            return text + "......"
        text += entry
    return text
