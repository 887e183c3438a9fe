"""Draws a run as an SVG Gantt chart: a line for each cluster, a colour for each phase.

Static, no script, no font but the viewer's own.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from html import escape

from rollout.analysis.tracks import ClusterTimeline, StageTimeline, Timeline
from rollout.strategies.base import Phase

COLORS: dict[Phase, str] = {
    Phase.PROGRESSING: "#4c8bf5",
    Phase.SOAKING: "#7fd1e0",
    Phase.SOAKED: "#4caf6a",
    Phase.FAILING: "#f2a33c",
    Phase.FAILED: "#d64545",
}
_CLOSED = "#e0e0e0"
MOST_LINES = 2_000
"""Lines drawn at most; of a larger fleet every second, third ... cluster is drawn."""

_LEFT, _RIGHT, _TOP, _WIDTH, _GAP = 200, 24, 64, 1_000, 18
_LETTER = 7  # about the width of a letter
_TALLEST = 640.0
_TICKS = 8
_STEPS = tuple(
    timedelta(seconds=s)
    for s in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 28_800)
) + tuple(timedelta(days=d) for d in (1, 2, 5, 10))


def svg(line: Timeline, title: str) -> str:
    """The picture of a timeline."""
    every = -(-sum(len(stage.rows) for stage in line.stages) // MOST_LINES) or 1
    shown = [(stage, stage.rows[::every]) for stage in line.stages]
    rows = sum(len(rows) for _, rows in shown)
    pitch = min(6.0, max(_TALLEST / max(rows, 1), 0.4))
    height = _TOP + rows * pitch + _GAP * len(shown) + 56
    longest = max((len(_label(stage, line)) for stage in line.stages), default=0)
    extra = max(longest * _LETTER + 16 - _LEFT, 0)  # what long titles take further to the left
    width = _LEFT + _WIDTH + _RIGHT + extra
    box = f'viewBox="{-extra} 0 {width} {height:.0f}" width="{width}" height="{height:.0f}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {box} font-family="sans-serif" font-size="12">',
        f"<title>{escape(title)}</title>",
        f'<rect x="{-extra}" width="{width}" height="{height:.0f}" fill="#ffffff"/>',
        f'<text x="{16 - extra}" y="24" font-size="15">{escape(title)}</text>',
        *_legend(every, any(row.closed for _, rows in shown for row in rows)),
        *_axis(line, height - 40),
    ]
    top = float(_TOP)
    for stage, drawn in shown:
        parts += _stage(stage, drawn, line, top, pitch=pitch)
        top += len(drawn) * pitch + _GAP
    return "\n".join([*parts, "</svg>", ""])


def _label(stage: StageTimeline, line: Timeline) -> str:
    return f"{line.title_of(stage)} ({len(stage.rows)})"


def _legend(every: int, is_closed: bool) -> Iterator[str]:
    x = _LEFT
    named = {phase.value.lower(): color for phase, color in COLORS.items()}
    for name, color in (named | {"closed": _CLOSED} if is_closed else named).items():
        yield f'<rect x="{x}" y="38" width="10" height="10" fill="{color}"/>'
        yield f'<text x="{x + 15}" y="47">{name}</text>'
        x += 100
    if every > 1:
        yield f'<text x="{x + 15}" y="47">one line for every {every} clusters</text>'


def _axis(line: Timeline, bottom: float) -> Iterator[str]:
    step = next((s for s in _STEPS if line.span <= s * _TICKS), _STEPS[-1])
    at = timedelta(0)
    while at <= line.span:
        x = _x(line.start + at, line)
        yield f'<path d="M{x:.1f} {_TOP - 6}V{bottom:.0f}" stroke="#e3e3e3"/>'
        yield f'<text x="{x:.1f}" y="{bottom + 18:.0f}" text-anchor="middle">{_clock(at)}</text>'
        at += step


def _stage(
    stage: StageTimeline,
    rows: tuple[ClusterTimeline, ...],
    line: Timeline,
    top: float,
    pitch: float,
) -> Iterator[str]:
    label = _label(stage, line)
    bottom = top + len(rows) * pitch
    middle = (top + bottom) / 2 + 4
    yield f'<text x="{_LEFT - 8}" y="{middle:.1f}" text-anchor="end">{escape(label)}</text>'
    closed = "".join(
        f"M{_x(start, line):.1f} {top + (i + 0.5) * pitch:.1f}H{_x(end, line):.1f}"
        for i, row in enumerate(rows)
        for start, end in row.closed
    )
    if closed:
        yield f'<path d="{closed}" stroke="{_CLOSED}" stroke-width="{pitch:.2f}"><title>closed</title></path>'
    for phase, color in COLORS.items():
        path = "".join(_strokes(rows, phase, line, top, pitch=pitch))
        if path:
            thick = max(pitch * 0.85, 0.3)
            yield f'<path d="{path}" stroke="{color}" stroke-width="{thick:.2f}"/>'
    if stage.passed is not None:
        x = _x(stage.passed, line)
        yield (
            f'<path d="M{x:.1f} {top - 4:.1f}V{bottom + 4:.1f}" stroke="#222222" '
            f'stroke-dasharray="3 2"><title>passed</title></path>'
        )


def _strokes(
    rows: tuple[ClusterTimeline, ...], phase: Phase, line: Timeline, top: float, pitch: float
) -> Iterator[str]:
    for i, row in enumerate(rows):
        y = top + (i + 0.5) * pitch
        for bar in row.bars:
            if bar.phase is phase:
                yield f"M{_x(bar.start, line):.1f} {y:.1f}H{_x(bar.end, line):.1f}"


def _x(at: datetime, line: Timeline) -> float:
    whole = line.span.total_seconds() or 1.0
    return _LEFT + _WIDTH * (at - line.start).total_seconds() / whole


def _clock(at: timedelta) -> str:
    seconds = int(at.total_seconds())
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
