"""Edges: bins of numbers, dates or times, and a last value for everything else."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from itertools import pairwise

import numpy as np

from stratagem.collection.binning import Binning, Cells, is_missing, placed, read_number
from stratagem.io.numeral import parse_number
from stratagem.workloads.domain import OTHER

CLOCK = "[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\\.[0-9]+)?)?"
DAY = f"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(?:[T ]{CLOCK})?"
KINDS = (re.compile(DAY), re.compile(CLOCK))
"""A date, with a time or without; a time of day. Texts of one kind sort by time where seconds and midnights that
say nothing are left off."""
SPACED = re.compile(f"(?P<start>{DAY}|{CLOCK}):(?P<stop>{DAY}|{CLOCK}):(?P<number>[0-9]+)(?P<unit>[a-z]+)")
UNITS = {
    "s": timedelta(seconds=1),
    "min": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}
MONTHS = {"mo": 1, "y": 12}
MIDNIGHT = datetime(2000, 1, 1)
"""Date to which times of day are attached for arithmetic."""


def kind_of(texts: Sequence[object]) -> re.Pattern[str] | None:
    """Return what all texts are, dates or times of day; None where they are neither, or not alike."""
    return next(
        (kind for kind in KINDS if all(isinstance(text, str) and kind.fullmatch(text) for text in texts)),
        None,
    )


def shortest(text: str) -> str:
    """Return a date or time without the seconds and the midnight that say nothing.

    >>> shortest("2026-01-01 00:00:00"), shortest("09:30:00")
    ('2026-01-01', '09:30')
    """
    text = text.replace(" ", "T")
    if len(text) in (len("00:00:00"), len("2026-01-01T00:00:00")):
        text = text.removesuffix(":00")
    return text.removesuffix("T00:00")


def spaced_moments(text: str, most: int) -> tuple[str, ...] | None:
    """Return the moments from START to STOP in steps, None for a text that is no START:STOP:STEP of moments.

    >>> spaced_moments("2026-01-01:2026-04-01:1mo", most=12)
    ('2026-01-01', '2026-02-01', '2026-03-01', '2026-04-01')
    >>> spaced_moments("00:00:24:00:8h", most=12)
    ('00:00', '08:00', '16:00', '24:00')

    Raises:
        ValueError: for moments that do not exist, an unknown unit, or steps that miss STOP or are more than `most`.
    """
    found = SPACED.fullmatch(text)
    if not found:
        return None
    clock = bool(KINDS[1].fullmatch(found["start"]))
    at, stop = (_moment(found[name]) for name in ("start", "stop"))
    number, unit = int(found["number"]), found["unit"]
    known = (*UNITS, *(() if clock else MONTHS))
    if unit not in known:
        raise ValueError(
            f"the step {number}{unit} was given, but units are {', '.join(known)}: write one of them"
        )
    moments = [at]
    while number and moments[-1] < stop and len(moments) <= most:
        moments.append(_later(at, number * len(moments), unit))
    if moments[-1] != stop or len(moments) < 2:
        raise ValueError(
            f"{text} does not lead from START to STOP in whole steps: write for example "
            f"{'00:00:24:00:1h' if clock else '2026-01-01:2027-01-01:1mo'}"
        )
    return tuple(_moment_text(moment, clock=clock) for moment in moments)


def _moment(text: str) -> datetime:
    try:
        if KINDS[0].fullmatch(text):
            return datetime.fromisoformat(text)
        hours, minutes, *seconds = text.split(":")
        since = timedelta(hours=int(hours), minutes=int(minutes), seconds=float(seconds[0]) if seconds else 0)
    except ValueError:
        raise ValueError(f"{text} is no date that exists: write for example 2026-12-31") from None
    if int(minutes) > 59 or since > timedelta(days=1):
        raise ValueError(f"{text} is no time of day, which go from 00:00 to 24:00: write one of these")
    return MIDNIGHT + since


def _later(moment: datetime, number: int, unit: str) -> datetime:
    if unit in UNITS:
        return moment + number * UNITS[unit]
    months = moment.month - 1 + number * MONTHS[unit]
    try:
        return moment.replace(year=moment.year + months // 12, month=months % 12 + 1)
    except ValueError:
        raise ValueError(
            f"months were counted from day {moment.day}, which some months lack: begin at day 28 or before"
        ) from None


def _moment_text(moment: datetime, *, clock: bool) -> str:
    if not clock:
        return shortest(moment.isoformat())
    return "24:00" if moment.day > MIDNIGHT.day else shortest(moment.time().isoformat())


MAX_BINS = 1 << 20
FORMS = "START:STOP:STEP nor e0,e1,..."


@dataclass(frozen=True)
class Edges(Binning):
    """Bin k holds what is from edge k to below edge k + 1: numbers, or dates and times as texts of ISO 8601.

    Where the text "other" follows the last edge, the last value stands for whatever is in no bin.

    Raises:
        ValueError: for edges that do not increase, or that do not make `size` values.
    """

    edges: tuple[float | str, ...]
    size: int

    def __post_init__(self) -> None:
        """Check the edges."""
        bounds = self._bounds
        numbers = all(isinstance(edge, int | float) for edge in bounds)
        known = all(map(math.isfinite, bounds)) if numbers else kind_of(bounds)  # type: ignore[arg-type]
        if not known or any(a >= b for a, b in pairwise(bounds)):  # type: ignore[operator]
            shown = ",".join(_text(edge) for edge in self.edges[:8])
            raise ValueError(
                f"the edges {shown} were given, but edges must be finite numbers, dates or times of day that "
                "increase: put them in order"
            )
        if len(bounds) < 2:
            raise ValueError(
                f"the edges {','.join(map(_text, self.edges))} were given, but a bin lies between two: give one more"
            )
        values = len(bounds) - 1 + bool(self.has_other)
        if values != self.size:
            raise ValueError(
                f"the edges make {len(bounds) - 1} bins{' and other' if self.has_other else ''}, but the "
                f"attribute has {self.size} values: give {self.size + 1 - self.has_other} edges, or START:STOP:STEP "
                f"with {self.size - self.has_other} steps"
            )

    @property
    def has_other(self) -> bool:
        """Whether the last value stands for everything that is in no bin."""
        return self.edges[-1:] == (OTHER,)

    @property
    def other(self) -> int | None:
        """The value that stands for everything that is in no bin; None if there is none."""
        return self.size - 1 if self.has_other else None

    @property
    def _bounds(self) -> tuple[float | str, ...]:
        return self.edges[:-1] if self.has_other else self.edges

    @cached_property
    def moments(self) -> bool:
        """Whether the edges are dates or times."""
        return isinstance(self.edges[0], str)

    @staticmethod
    def parse(text: str, size: int | None = None) -> Edges:
        """Read START:STOP:STEP (STOP is the last edge) or a comma list of edges; without a size any number.

        Either may be followed by ",other".

        Raises:
            ValueError: for any other text.
        """
        body, comma, last = text.rpartition(",")
        extra = (OTHER,) if comma and last.strip() == OTHER else ()
        edges = _read(body if extra else text) + extra
        return Edges(edges, max(1, len(edges) - 1) if size is None else size)

    def cells(self, values: Sequence[str | None], *, clip: bool = False) -> Cells:
        """Return the bin of every value by binary search, among numbers or among texts that sort by time."""
        missing = np.array([is_missing(value) for value in values], dtype=bool)
        keys, known = self._moments(values) if self.moments else self._numbers(values)
        bins = len(self._bounds) - 1
        cell = np.searchsorted(np.array(self._bounds), keys, side="right") - 1
        low, high = f"below {_text(self._bounds[0])}", f"{_text(self._bounds[-1])} or above"
        wrong = "not a date or time like the edges" if self.moments else "not a number"
        return placed(cell, bins, (missing, ~known), ("missing", wrong), (low, high), clip=clip)

    def _numbers(self, values: Sequence[str | None]) -> tuple[np.ndarray, np.ndarray]:
        numbers = np.array([read_number(value) for value in values], dtype=float)
        return numbers, ~np.isnan(numbers)

    def _moments(self, values: Sequence[str | None]) -> tuple[np.ndarray, np.ndarray]:
        kind = kind_of(self._bounds)
        assert kind
        texts = ["" if value is None else value.strip().replace(" ", "T") for value in values]
        known = np.array([bool(kind.fullmatch(text)) for text in texts], dtype=bool)
        return np.array(texts, dtype=np.str_), known


def _read(text: str) -> tuple[float | str, ...]:
    if (moments := spaced_moments(text, MAX_BINS)) is not None:
        return moments
    parts = [part.strip() for part in text.split(",")]
    if len(parts) > 1 and kind_of(parts):  # 15:95:10 alone is START:STOP:STEP
        return tuple(map(shortest, parts))
    spaced = text.split(":")
    try:
        numbers = tuple(parse_number(part) for part in (spaced if len(spaced) == 3 else parts))
    except ValueError:
        raise ValueError(
            f"the edges {text!r} are neither {FORMS}: write for example -60:260:5, or 2026-01-01:2027-01-01:1mo"
        ) from None
    return _spaced(*numbers) if len(spaced) == 3 else numbers


def _spaced(start: float, stop: float, step: float) -> tuple[float, ...]:
    """Return start, start + step, ..., stop."""
    count = 2 * ((stop / 2 - start / 2) / step) if step else math.nan  # their difference may be no float64
    if not (0.5 < count < MAX_BINS and abs(count - round(count)) <= 1e-6):
        raise ValueError(
            f"the edges {start:g}:{stop:g}:{step:g} do not lead from START to STOP in whole steps: "
            "write for example -60:260:5, which has 64 bins"
        )
    return tuple(2 * (start / 2 + k * (step / 2)) for k in range(round(count) + 1))


def round_steps(low: float, high: float, most: float, least: float = 0.0) -> tuple[int, int, float]:
    """Return (a, b, step) so that a step <= low and high < b step, with at most about `most` steps between them.

    The step is 1, 2 or 5 times a power of ten, the smallest that is at least `least` and (high - low)/most.

    >>> round_steps(0, 97, 20)
    (0, 20, 5.0)
    """
    width = max((high - low) / most, least, abs(high) * 1e-9, 1e-300)
    power = 10.0 ** math.floor(math.log10(width) + 1e-12)
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= width * (1 - 1e-12))
    return math.floor(low / step), math.floor(high / step) + 1, step


def _text(edge: float | str) -> str:
    return edge if isinstance(edge, str) else f"{edge:g}"
