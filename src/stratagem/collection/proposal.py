"""Bins or labels proposed for a column: round numbers, calendar steps or frequent texts, and "other" for the rest."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import TypeVar

import numpy as np

from stratagem.collection.binning import Labels, finite_numbers, is_missing
from stratagem.collection.edges import KINDS, Edges, round_steps
from stratagem.workloads.domain import OTHER

T = TypeVar("T")
MOST = 32
"""Largest number of bins that are proposed; whole numbers and labels may be twice as many."""
ALIKE = 0.9
"""Share of the values that must be numbers, or dates, for the column to count as one of numbers, or of dates."""
TAIL = 0.005
"""Share of the numbers at either end that bins need not cover."""
RARE = 0.005
"""Share of the rows below which a text has no label of its own."""
FIRST, LAST = 1000, 9000
"""Years of the dates that bins are made for: files use years before and after for what they do not know."""
STEPS = (("1d", 1), ("1w", 7), ("1mo", 30), ("3mo", 91), ("1y", 365), ("10y", 3652))
"""Steps of the calendar, and about how many days they have."""


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """Values proposed for a column, and what the column's rows become under them."""

    values: Edges | Labels
    """The bins or labels; the last value is "other", for whatever is missing or in none of them."""
    option: str
    """The text that `Edges.parse` or `Labels.parse` reads as these values."""
    rule: str
    """A sentence that says how they were chosen."""

    @property
    def ordered(self) -> bool:
        """Whether the values have an order, so that shares below a limit make sense."""
        return isinstance(self.values, Edges)

    def count(self, counts: Mapping[str | None, int]) -> tuple[np.ndarray, dict[str, int]]:
        """Return the rows of each value (n,), and the number of rows that count as other, by reason."""
        texts = list(counts)
        cells, rows = self.values.cells(texts), np.array([counts[text] for text in texts], dtype=np.int64)
        x, others = np.zeros(self.values.size, dtype=np.int64), Counter()
        np.add.at(x, np.where(cells.cell < 0, self.values.size - 1, cells.cell), rows)
        for reason, number in zip(cells.reason, rows, strict=True):
            if reason:
                others[reason] += int(number)
        return x, dict(others.most_common())


def stated(edges: str | None, labels: str | None) -> Proposal | None:
    """Return the values that were stated as texts, with "other" after them; None where none were.

    Raises:
        ValueError: for both, or what is no list of edges or labels.
    """
    if edges is not None and labels is not None:
        raise ValueError("both edges and labels were given, but a column has one of them: leave one out")
    option = edges if labels is None else labels
    if option is None:
        return None
    parse = Edges.parse if labels is None else Labels.parse
    values = parse(option)
    if values.other is None:
        option = f"{option},{OTHER}"
        values = parse(option)
    if values.other != values.size - 1:
        raise ValueError(
            f"the values {option!r} were given, but {OTHER!r} must be the last of them: write it there, or leave it out"
        )
    return Proposal(values=values, option=option, rule="stated")


def propose(counts: Mapping[str | None, int], column: str) -> Proposal:
    """Return bins or labels for a column, from how often each of its texts occurs (None where missing).

    Numbers get round steps, the smallest of 1, 2 or 5 times a power of ten that makes at most 32 bins of all but the
    .5 % at either end; whole numbers that span at most 64 are told apart. Dates get days, weeks, months, quarters,
    years or decades, times of day get hours. Texts that at least .5 % of the rows hold get labels.

    Raises:
        ValueError: for a column without values, with one value alone, or of texts that hardly repeat.
    """
    labels: Counter[str] = Counter()
    for text, count in counts.items():
        if text is not None and text.strip():
            labels[text.strip()] += count
    texts = Counter({text: count for text, count in labels.items() if not is_missing(text)})
    if not texts or len(labels) < 2:
        held = f"holds {next(iter(texts))!r} alone" if texts else "holds no values"
        raise ValueError(f"column {column!r} {held}, so that there is nothing to ask: name another column")
    numbers = finite_numbers(texts, column)
    if len(numbers) > 1 and _most(texts, numbers):
        return _of_numbers(_summed(texts, numbers))
    for kind in KINDS:
        moments = {text: moment for text in texts if (moment := _moment(text, kind)) is not None}
        if len(moments) > 1 and _most(texts, moments):
            days = {text: day for text, day in moments.items() if isinstance(day, datetime)}
            return _of_dates(_summed(texts, days)) if days else _of_hours()
    return _of_texts(labels, column)


def _summed(texts: Mapping[str, int], values: Mapping[str, T]) -> dict[T, int]:
    """Return how often each value occurs, by how often its texts do."""
    found: dict[T, int] = {}
    for text, value in values.items():
        found[value] = found.get(value, 0) + texts[text]
    return found


def _most(texts: Mapping[str, int], chosen: Iterable[str]) -> bool:
    return sum(texts[text] for text in chosen) >= ALIKE * sum(texts.values())


def _inner(counts: Mapping[T, int]) -> tuple[T, T]:
    """Return the least and the largest value that remain when .5 % at either end are left out."""
    ordered = sorted(counts)  # type: ignore[type-var]
    share = np.cumsum([counts[value] for value in ordered]) / sum(counts.values())
    left, right = (ordered[int(np.searchsorted(share, part))] for part in (TAIL, 1 - TAIL))
    return left, right


def _of_numbers(counts: Mapping[float, int]) -> Proposal:
    numbers = np.array(sorted(counts))
    whole = bool((numbers == np.floor(numbers)).all())
    low, high = float(numbers[0]), float(numbers[-1])
    if whole and high - low < 2 * MOST:
        return _edges(low, high + 1, 1, "every whole number has a value of its own")
    left, right = _inner(counts)
    first, last, step = round_steps(left, right, MOST, least=1.0 if whole else 0.0)
    start, stop = math.floor(low / step), math.floor(high / step) + 1
    if stop - start <= last - first + MOST // 8:
        first, last = start, stop
    return _edges(
        first * step,
        last * step,
        step,
        f"round steps that cover {'all' if (first, last) == (start, stop) else '99 %'} of the numbers",
    )


def _edges(low: float, high: float, step: float, rule: str) -> Proposal:
    option = f"{':'.join(map(_written, (low, high, step)))},{OTHER}"
    return Proposal(values=Edges.parse(option), option=option, rule=rule)


def _written(number: float) -> str:
    """Return a number as text, whole ones with all their digits."""
    return f"{number:.0f}" if number == math.floor(number) and abs(number) < 2**53 else f"{number:.12g}"


def _moment(text: str, kind: re.Pattern[str]) -> datetime | time | None:
    """Return the date or the time of day that a text is, None where it is none that exists."""
    written = text.replace(" ", "T")
    if not kind.fullmatch(written):
        return None
    try:
        return time.fromisoformat(written) if kind is KINDS[1] else datetime.fromisoformat(written)
    except ValueError:
        return None


def _of_hours() -> Proposal:
    option = f"00:00:24:00:1h,{OTHER}"
    return Proposal(values=Edges.parse(option), option=option, rule="every hour of the day has a bin")


def _of_dates(counts: Mapping[datetime, int]) -> Proposal:
    known = {day: count for day, count in counts.items() if FIRST <= day.year < LAST}
    first, last = _inner(known or counts)
    step = next((step for step, length in STEPS if (last - first).days < MOST * length), STEPS[-1][0])
    start = _floor(first, step)
    stop = next(moment for moment in _later(start, step) if moment > last)
    option = f"{start:%Y-%m-%d}:{stop:%Y-%m-%d}:{step},{OTHER}"
    covered = "all" if all(start <= day < stop for day in counts) else "nearly all"
    rule = f"steps of the calendar ({step}) that cover {covered} dates"
    return Proposal(values=Edges.parse(option), option=option, rule=rule)


def _floor(moment: datetime, step: str) -> datetime:
    """Return the last beginning of a step: midnight, Monday, the first of a month, quarter, year or decade."""
    day = datetime(moment.year, moment.month, moment.day)
    if step == "1d":
        return day
    if step == "1w":
        return day - timedelta(days=day.weekday())
    month = {"1mo": day.month, "3mo": day.month - (day.month - 1) % 3}.get(step, 1)
    return datetime(day.year - day.year % 10 if step == "10y" else day.year, month, 1)


def _later(start: datetime, step: str) -> Iterator[datetime]:
    """Yield the moments that follow a start in equal steps."""
    days = {"1d": 1, "1w": 7}.get(step)
    months = {"1mo": 1, "3mo": 3, "1y": 12, "10y": 120}.get(step, 0)
    while True:
        if days:
            start += timedelta(days=days)
        else:
            passed = start.month - 1 + months
            start = datetime(start.year + passed // 12, passed % 12 + 1, 1)
        yield start


def _of_texts(counts: Counter[str], column: str) -> Proposal:
    least = max(2, RARE * sum(counts.values()))
    labels = sorted(text for text, count in counts.most_common(2 * MOST) if count >= least and text != OTHER)
    if all(map(is_missing, labels)):
        raise ValueError(
            f"column {column!r} holds {len(counts):,} different texts, none of them in {100 * RARE:g} % of the rows "
            "and more than once: name a column of answers to choose from, or state labels='a,b,...'"
        )
    values = Labels((*labels, OTHER), len(labels) + 1)
    rest = len(set(counts) - {OTHER}) - len(labels)
    rule = (
        "every text has a label"
        if rest <= 0
        else f"the {len(labels)} most frequent texts of {len(labels) + rest:,} have labels"
    )
    return Proposal(values=values, option=str(values), rule=rule)
