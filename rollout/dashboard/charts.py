"""Places the columns of a histogram for a template to draw."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT, COLUMNS = 640.0, 120.0, 32


@dataclass(frozen=True, slots=True)
class ChartColumn:
    """One column, in the units of a picture that is `WIDTH` wide; ``words`` say what it counts."""

    left: float
    width: float
    height: float
    words: str


@dataclass(frozen=True, slots=True)
class Threshold:
    """A level that values are compared with: the height of its line, its kind, and the number."""

    y: float
    name: str
    said: str


@dataclass(frozen=True, slots=True)
class LineChart:
    """Values over time as a line: its points, the levels, and the ends of the vertical axis."""

    points: tuple[tuple[float, float], ...]
    thresholds: tuple[Threshold, ...]
    least: str
    most: str


@dataclass(frozen=True, slots=True)
class Histogram:
    """Columns, and what stands below the first and the last. ``shade`` is a class of the style sheet."""

    columns: tuple[ChartColumn, ...]
    first: str
    last: str
    shade: str = "of-a"


def histogram(
    values: Sequence[float],
    ends: tuple[float, float],
    said: Callable[[float], str],
    shade: str = "of-a",
) -> Histogram:
    """How often which values occur.

    Args:
        ends: the least and the greatest value of the axis; several histograms can share it.
        said: what a value is called.
    """
    least, most = ends
    width = (most - least) / COLUMNS or 1.0
    counts = [0] * COLUMNS
    for value in values:
        counts[min(int((value - least) / width), COLUMNS - 1)] += 1
    highest = max(counts, default=0) or 1
    step = WIDTH / COLUMNS
    columns = tuple(
        ChartColumn(
            i * step + 1,
            step - 2,
            HEIGHT * count / highest,
            f"{count} from {said(least + i * width)} to {said(least + (i + 1) * width)}",
        )
        for i, count in enumerate(counts)
        if count
    )
    return Histogram(columns, said(least), said(most), shade)


def line_chart(
    points: Sequence[tuple[float, float]], levels: Sequence[tuple[str, float]]
) -> LineChart:
    """Values by instant, ascending, with the levels that they are compared with. One point at least."""
    values = [value for _, value in points] + [level for _, level in levels]
    least, most = min(values), max(values)
    room = (most - least or abs(most) or 1.0) * 0.1
    low, high = least - room, most + room
    start, span = points[0][0], (points[-1][0] - points[0][0]) or 1.0

    def y(value: float) -> float:
        return HEIGHT * (high - value) / (high - low)

    return LineChart(
        tuple((10 + (WIDTH - 20) * (at - start) / span, y(value)) for at, value in points),
        tuple(Threshold(y(level), name, f"{level:g}") for name, level in levels),
        f"{least:g}",
        f"{most:g}",
    )
