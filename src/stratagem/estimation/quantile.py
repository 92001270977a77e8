"""Quantiles: the value at or below which a share of the people lies, and how far off it may be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stratagem.estimation.answer import (
    Answer,
    Answering,
    answered_words,
    at_most_all,
    counted_words,
    inside,
    who,
)
from stratagem.estimators.estimator import ROUNDING
from stratagem.math.number import entries, real
from stratagem.workloads import Attribute, Bin, Domain, along, prefix
from stratagem.workloads.explicit import Explicit
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

    @property
    def value(self) -> str | int | Bin:
        """The quantile: a label, a whole number or the edges of a bin."""
        return self.attribute.value(self.bin)

    @property
    def low(self) -> str | float:
        """The least value that can be the quantile: a label, a whole number or an edge."""
        return self.attribute.values.member(self.low_bin)

    @property
    def high(self) -> str | float:
        """The largest value that can be the quantile; where this is an edge, the quantile lies below it."""
        return self.attribute.values.end(self.high_bin)

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
        span, values = self.attribute.values_text(low, high), self.attribute.values
        alone = low == high and (self.low == self.high or values.link not in span)
        return (
            f"{self.attribute.values_text(self.bin, self.bin)}; {100 * self.confidence:.10g} % sure: "
            f"{'' if alone else 'from '}{span}"
            f"{'' if self.answered is None else f'; {answered_words(self.answered)}'}"
        )


def quantile(found: Answering, share: float, attribute: str | None, *, of_all: bool) -> Quantile:
    """Return the smallest value of an attribute that at least a share of those who answered is at or below.

    Those whose value is "other" or "no answer" count with `of_all` alone, as the last values.

    Raises:
        ValueError: for a share outside (0, 1), an unknown attribute, or none named among several.
    """
    if not 0 < real(share) < 1:
        raise ValueError(f"the quantile {share!r} was asked for, but must lie between 0 and 1: give 0.5")
    domain = found.workload.domain
    name, *others = domain.names if attribute is None else (attribute,)
    if others:
        raise ValueError(
            f"a quantile was asked for without an attribute, but the domain has {1 + len(others)}: "
            f"name one of {', '.join(domain.names)}"
        )

    def asked(rows: np.ndarray, names: tuple[str, ...] = ()) -> Answering:
        return found.ask(along(domain, [name], lambda part: Explicit(rows, Domain.of(part), names)))

    prefixes, wanted = found.ask(along(domain, [name], prefix)), share * found.users
    described, answered = found.naming.attributes[domain.names.index(name)], None
    places, known = np.arange(described.size), inside(described, ordered=True)
    if described.values.no_answer and of_all:  # whatever is in no order is beyond all that is
        places = np.append(np.flatnonzero(known), described.size - 1)
        prefixes = asked(np.tri(described.size)[places])
    elif described.values.outside and not of_all:
        places, rows = below(described, share)
        prefixes, wanted = asked(rows), 0.0
        names = (f"{name} {who([described], ordered=True).removeprefix('who ')}",)
        answered = at_most_all(asked(known[None], names).table()[0], found.users)
    wanted -= share * found.users * ROUNDING
    low, high = quantile_range(prefixes.low, prefixes.high, wanted)
    return Quantile(
        attribute=described,
        share=real(share),
        bin=int(places[quantile_index(prefixes.answers, wanted)]),
        low_bin=int(places[low]),
        high_bin=int(places[high]),
        confidence=found.confidence,
        answered=answered,
    )


def below(attribute: Attribute, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the places (k,) of all values in the order, and for each the query (k, size) that decides a quantile.

    It counts those at or below the value, less the share of all who have one: the smallest value where it is not
    negative is the quantile among these.

    Raises:
        ValueError: for more than 2^27 entries.
    """
    known = inside(attribute, ordered=True)
    places = np.flatnonzero(known)
    entries(len(places) * attribute.size, MATRIX_LIMIT, "the quantile", "ask for a share of all people")
    return places, np.tri(attribute.size)[places] * known - share * known
