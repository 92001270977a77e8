"""One answer of an estimate, and people who gave no answer: intervals and labels of the data, and files."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from stratagem.io.npz import write_parquet
from stratagem.io.table import write_csv, write_json
from stratagem.io.target import check_target, written_atomically
from stratagem.workloads import Attribute, Workload
from stratagem.workloads.naming import Naming

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


class Answering(Protocol):
    """An estimate, as far as quantiles and the answers to one question need it."""

    @property
    def workload(self) -> Workload:
        """The queries."""
        ...

    @cached_property
    def naming(self) -> Naming:
        """The names of the queries."""
        ...

    @property
    def users(self) -> int:
        """Number of reports, one a user."""
        ...

    @property
    def confidence(self) -> float:
        """Confidence of the intervals."""
        ...

    @cached_property
    def answers(self) -> np.ndarray:
        """Answers (p,) in users."""
        ...

    @property
    def low(self) -> np.ndarray:
        """Lower ends of the intervals (p,)."""
        ...

    @property
    def high(self) -> np.ndarray:
        """Upper ends of the intervals (p,)."""
        ...

    def ask(self, workload: Workload) -> Answering:
        """Return the answers to other queries from the same reports."""
        ...

    def table(self, queries: Sequence[int] | None = None, /) -> list[Answer]:
        """Return the answers of some queries, by default of all, each with its label and its interval."""
        ...


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
    'of the 12,180 (interval 11,769 to 12,591) who answered'
    """
    return f"of the {counted_words(answered)}"


def counted_words(answered: Answer) -> str:
    """Return how many people there are of those whom a label names, with the interval.

    It holds the truth where post-processing moved the number, which a standard error beside it would not say.
    """
    left_out = (words for words in (VALUED, NEITHER) if answered.label.endswith(words.removeprefix("who ")))
    who = next(left_out, ANSWERED)
    return f"{answered.answer:,.0f} (interval {answered.low:,.0f} to {answered.high:,.0f}) {who}"


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
    plain = not ordered and values.no_answer and not values.ordered
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
