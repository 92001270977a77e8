"""One answer of an estimate, a quantile, and people who gave no answer: intervals and labels of the data, and files."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from stratagem.io.npz import write_parquet
from stratagem.io.table import write_csv, write_json
from stratagem.io.target import check_target, written_atomically
from stratagem.math.number import entries
from stratagem.workloads import Attribute, Bin, Labels, Workload
from stratagem.workloads.naming import Naming
from stratagem.workloads.workload import MATRIX_LIMIT

LEAST_CONFIDENCE, LEAST_DOUBT = 1e-6, 1e-12
"""Least distances of a confidence level from 0 and from 1: beyond, quantiles of float64 are 0 or infinite."""


def check_confidence(confidence: float) -> float:
    """Return a confidence level between 0 and 1, at least 10^-6 from 0 and 10^-12 from 1."""
    if not LEAST_CONFIDENCE <= confidence <= 1 - LEAST_DOUBT:
        raise ValueError(
            f"the confidence is {confidence!r}, but must lie between 0 and 1, from {LEAST_CONFIDENCE:g} to "
            f"1 - {LEAST_DOUBT:g}: give 0.95"
        )
    return confidence


def standard_errors_each_side(confidence: float, queries: int = 1) -> float:
    """Return c with P(|Z_i| <= c for all i) >= confidence for jointly normal Z_1, ..., Z_queries of variance 1.

    c = Phi^-1((1 + confidence^(1/queries)) / 2), exact for one query and for independent ones, and on the safe
    side under any correlation (Sidak 1967, Theorem 1).

    Example:
        >>> round(standard_errors_each_side(0.95), 3), round(standard_errors_each_side(0.95, 64), 3)
        (1.96, 3.352)
    """
    from scipy.special import ndtri

    missed = -math.expm1(math.log(confidence) / max(1, queries))
    return -float(ndtri(missed / 2))


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


class Answer(NamedTuple):
    """The answer to one query, with its label, standard error and interval."""

    query: int
    """Number of the query, 0..p-1."""
    label: str
    """The query in words."""
    answer: float
    standard_error: float
    low: float
    high: float


ANSWERED, VALUED = "who answered", "who gave another answer than 'other'"
NEITHER = "who said neither 'other' nor 'no answer'"
"""Whom shares are of, where "no answer" alone is left out, where "other" alone is, and where both are."""


def at_most_all(answered: Answer, users: float) -> Answer:
    """Return how many people answered, with its interval, cut to 0..users: unbiased estimates may lie outside.

    >>> at_most_all(Answer(0, "age answered", 12015.3, 172.0, 11678.2, 12352.4), 12_000)[2:]
    (12000.0, 172.0, 11678.2, 12000.0)
    """
    answer, low, high = (
        float(min(max(value, 0), users)) for value in (answered.answer, answered.low, answered.high)
    )
    return answered._replace(answer=answer, low=low, high=high)


def answered_words(answered: Answer) -> str:
    """Return how many people answered, in words.

    >>> answered_words(Answer(0, "age answered", 12180.2, 209.7, 11769.2, 12591.2))
    'of the 12,180 ± 210 (standard error) who answered'
    """
    return f"of the {counted_words(answered)}"


def counted_words(answered: Answer) -> str:
    """Return how many people there are of those whom a label names, with the standard error."""
    left_out = (words for words in (VALUED, NEITHER) if answered.label.endswith(words.removeprefix("who ")))
    who = next(left_out, ANSWERED)
    return f"{answered.answer:,.0f} ± {answered.standard_error:,.0f} (standard error) {who}"


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


Details = Mapping[str, Any]
"""Users, method, bias and confidence of an estimate (see `Estimate.details`)."""


def save(
    path: str | Path, answers: Sequence[Answer], details: Details, naming: Naming, *, overwrite: bool = False
) -> Path:
    """Write answers of an estimate; the file appears complete or not at all.

    The .csv and the .parquet have the columns of `Answer`, then `confidence` and `simultaneous`; the .json holds
    `answers_data`.

    Raises:
        ValueError: for another suffix, a path that cannot be written, or a file that exists, unless `overwrite`.
    """
    target = check_target(path, SUFFIXES, overwrite=overwrite)
    columns = _columns(answers, details)
    with written_atomically(target) as file:
        match target.suffix.lower():
            case ".json":
                write_json(file, answers_data(answers, details, naming))
            case ".csv":
                write_csv(file, columns, zip(*columns.values(), strict=True))
            case _:
                arrays = {name: np.array(values) for name, values in columns.items()}
                write_parquet(file, arrays | {"label": arrays["label"].astype(object)})
    return target


def answers_data(answers: Sequence[Answer], details: Details, naming: Naming) -> dict[str, Any]:
    """Return answers of an estimate as JSON values, together with `Estimate.details`.

    Each answer has a key `where`: the condition of its query on each attribute, in the units of the attribute.
    """
    return {**details, "answers": [one._asdict() | {"where": naming.where(one.query)} for one in answers]}


def _columns(answers: Sequence[Answer], details: Details) -> dict[str, Sequence[Any]]:
    """Return the columns of a table by name."""
    columns: dict[str, Sequence[Any]] = dict(zip(Answer._fields, zip(*answers, strict=True), strict=True))
    return columns | {
        "confidence": [details["confidence"]] * len(answers),
        "simultaneous": [details["simultaneous"]] * len(answers),
    }


SUFFIXES = (".csv", ".json", ".parquet")


def gaps(attribute: Attribute, *, ordered: bool = False) -> tuple[int, ...]:
    """Return the cells that shares leave out, or with `ordered` quantiles.

    No answer is one. "Other" has no place in an order, but is an answer like others among labels without one, where
    it does not also stand for people who gave none.
    """
    values = attribute.values
    plain = not ordered and values.no_answer and isinstance(values, Labels) and not values.ordered
    return values.outside[-1:] if plain else values.outside


def who(attributes: Iterable[Attribute], *, ordered: bool = False) -> str:
    """Return in words who has none of the values that are left out."""
    asked = list(attributes)
    if not any(one.other in gaps(one, ordered=ordered) for one in asked):
        return ANSWERED
    return NEITHER if any(one.values.no_answer for one in asked) else VALUED


def inside(attribute: Attribute, *, ordered: bool = False) -> np.ndarray:
    """Return 1 for every value that is not left out (size,)."""
    return (~np.isin(np.arange(attribute.size), gaps(attribute, ordered=ordered))).astype(float)


def check_arranged(attributes: Sequence[Attribute], asked: Workload, made_for: Workload) -> None:
    """Refuse queries along an order of labels that stand as the alphabet puts them, as where no order was known.

    A mechanism that was made for such queries knows the order. Queries of several attributes are not looked at.

    Raises:
        ValueError: naming the labels.
    """
    if (
        len(attributes) == 1
        and asked.in_order
        and not made_for.in_order
        and not attributes[0].values.arranged
    ):
        raise ValueError(
            f"the labels of {attributes[0].name} stand in the order of the alphabet ({attributes[0].values!s:.60}), so "
            "that none is above another and there is no quantile or prefix: ask for histogram, or state the labels "
            "from first to last where the mechanism is made"
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
