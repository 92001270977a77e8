"""Quantiles: the value at or below which a share of the people lies, and how far off it may be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stratagem.domain import Domain
from stratagem.estimation.answer import Answer, answered_words, counted_words, inside
from stratagem.math.number import entries, real
from stratagem.workloads import Attribute, Bin
from stratagem.workloads.workload import MATRIX_LIMIT


def quantile_index(prefixes: np.ndarray, wanted: float) -> int:
    """Return how many prefixes (n,) are below `wanted`, at most n - 1.

    For prefixes that rise it is the smallest j with prefixes_j >= wanted; noise that makes them cross `wanted`
    several times moves it to neither side.
    """
    return min(int(np.count_nonzero(prefixes < wanted)), len(prefixes) - 1)


def quantile_range(low: np.ndarray, high: np.ndarray, wanted: float) -> tuple[int, int]:
    """Return the first and last value (indices) that can be the smallest j with F_j >= wanted.

    low, high (n,) are intervals of the prefix counts F. Value j is possible if high_j >= wanted and
    low_(j-1) < wanted; the truth is not only if one of these two intervals misses on one side, so intervals of
    confidence 1 - a give a range of confidence at least 1 - a (test inversion, Woodruff 1952).
    """
    high = np.append(high[:-1], np.inf)  # nobody is above the last value
    possible = np.flatnonzero((high >= wanted) & (np.append(-np.inf, low[:-1]) < wanted))
    return int(possible[0]), int(possible[-1])


@dataclass(frozen=True, kw_only=True)
class Quantile:
    """The value of an attribute at or below which a share of those who answered lies, and how far off it may be.

    >>> from stratagem.domain.bins import Bins
    >>> age = Attribute("age", Bins(("0", "18", "65", "130")), unit="years")
    >>> median = Quantile(attribute=age, share=0.5, bin=1, low_bin=1, high_bin=2, confidence=0.95)
    >>> median.value, median.low, median.high
    (Bin(start=18.0, stop=65.0), 18.0, 130.0)
    >>> print(median)
    18 to below 65 years; 95 % sure: from 18 to below 130 years
    """

    attribute: Attribute
    share: float
    bin: int
    """Place of the value in the domain, 0..size-1."""
    low_bin: int
    """Place of the first value that can be the quantile, at the confidence of the estimate."""
    high_bin: int
    """Place of the last value that can be the quantile."""
    confidence: float
    answered: Answer | None = None
    """How many people answered, where the quantile is among these and others did not; else None."""

    @staticmethod
    def of(
        attribute: Attribute,
        share: float,
        places: np.ndarray,
        prefixes: tuple[np.ndarray, np.ndarray, np.ndarray],
        wanted: float,
        *,
        confidence: float,
        answered: Answer | None,
    ) -> Quantile:
        """Return the first of the values at `places` (k,) whose prefix is at least `wanted`.

        `prefixes` are the answers of all these values, and the lower and upper ends of their intervals, (k,) each.
        """
        answers, low, high = prefixes
        first, last = quantile_range(low, high, wanted)
        return Quantile(
            attribute=attribute,
            share=real(share),
            bin=int(places[quantile_index(answers, wanted)]),
            low_bin=int(places[first]),
            high_bin=int(places[last]),
            confidence=confidence,
            answered=answered,
        )

    @property
    def value(self) -> str | int | Bin:
        """The quantile: a label, a whole number or the edges of a bin."""
        return self.attribute.value(self.bin)

    @property
    def low(self) -> str | float:
        """The least value that can be the quantile: a label, a whole number or an edge."""
        first = self.attribute.value(self.low_bin)
        return first.start if isinstance(first, Bin) else first

    @property
    def high(self) -> str | float:
        """The largest value that can be the quantile; where this is an edge, the quantile lies below it."""
        last = self.attribute.value(self.high_bin)
        return last.stop if isinstance(last, Bin) else last

    def data(self) -> dict[str, Any]:
        """Return the quantile as JSON values: `label`, its bounds, the interval `low` to `high`, and the bins."""
        return self.attribute.bounds(self.bin, self.bin) | {
            "label": self.attribute.values_text(self.bin, self.bin),
            "low": self.low,
            "high": self.high,
            "bin": self.bin,
            "low_bin": self.low_bin,
            "high_bin": self.high_bin,
            "answered": None if self.answered is None else self.answered._asdict(),
        }

    def __str__(self) -> str:
        """Return the value, and the range of values that can be the quantile, if anybody is sure to have answered."""
        if self.answered is not None and self.answered.low <= 0:
            return (
                f"too few people to state it: {counted_words(self.answered)}, and it may be that nobody did"
            )
        low, high = self.low_bin, self.high_bin
        span = self.attribute.values_text(low, high)
        return (
            f"{self.attribute.values_text(self.bin, self.bin)}; {100 * self.confidence:.10g} % sure: "
            f"{'' if low == high and not isinstance(self.value, Bin) else 'from '}{span}"
            f"{'' if self.answered is None else f'; {answered_words(self.answered)}'}"
        )


def quantile_attribute(domain: Domain, share: float, attribute: str | None) -> str:
    """Return the attribute that a quantile is asked of, by default the only one.

    Raises:
        ValueError: for a share outside (0, 1), or no attribute among several.
    """
    if not 0 < real(share) < 1:
        raise ValueError(f"the quantile {share!r} was asked for, but must lie between 0 and 1: give 0.5")
    name, *others = domain.names if attribute is None else (attribute,)
    if others:
        raise ValueError(
            f"a quantile was asked for without an attribute, but the domain has {1 + len(others)}: "
            f"name one of {', '.join(domain.names)}"
        )
    return name


def quantile_rows(
    attribute: Attribute, share: float, *, of_all: bool
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Return the places (k,) of all values in the order, the queries (k, size) about them, and who answered (1, size).

    Without queries the prefixes of all values decide; where all people are meant nobody is left out. Else those count
    people at or below the value, less the share of all who answered: the smallest value where that is not negative is
    the quantile among these.

    Raises:
        ValueError: for more than 2^27 entries.
    """
    size, values = attribute.size, attribute.values
    known = inside(attribute, ordered=True)
    places = np.flatnonzero(known)
    if values.no_answer and of_all:  # whatever is in no order is beyond all that is
        places = np.append(places, size - 1)
        return places, np.tri(size)[places], None
    if of_all or not values.outside:
        return np.arange(size), None, None
    entries(len(places) * size, MATRIX_LIMIT, "the quantile", "ask for a share of all people")
    return places, np.tri(size)[places] * known - share * known, known[None]
