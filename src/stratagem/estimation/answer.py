"""One answer of an estimate with its interval, people who gave no answer, labels of the data, and files.

Intervals hold for few users too: about a population, and those of a ratio of two estimates.
"""

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


def rounded(number: float, error: float) -> float:
    """Return a number with one decimal, or as many as its standard error needs for two digits; an exact one as it is.

    >>> rounded(1234.5678, 199.1), rounded(0.1234567, 0.0123), rounded(2999.9999999999995, 0.0)
    (1234.6, 0.123, 3000.0)
    """
    if not 0 < error < math.inf:
        return float(f"{number:.12g}")
    return round(number, max(1, 1 - math.floor(math.log10(error)))) + 0.0


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


class Interval(NamedTuple):
    """Lower and upper ends, arrays of one shape."""

    low: np.ndarray
    high: np.ndarray

    def cut(self, centre: np.ndarray, least: np.ndarray, most: np.ndarray) -> Interval:
        """Return the intervals cut to what is possible, after an end moved as far as its centre lies outside of that.

        So they only grow, and none shrinks to a point.
        """
        beyond = centre - np.clip(centre, least, most)
        moved = self.low - np.maximum(beyond, 0), self.high - np.minimum(beyond, 0)
        return Interval(*(np.clip(end, least, most) for end in moved))


FEW = 3.0
"""Standard errors, in steps of one user, below which the error of an answer is a few whole users."""


def around(
    answers: np.ndarray, variances: np.ndarray, each_side: float, steps: np.ndarray | None = None
) -> Interval:
    """Return the normal intervals of answers (p,) of some variances (p,), c = `each_side` standard errors each side.

    `steps` (p,) are the ranges of the queries' entries, by which one user may change an answer. Where a few users
    make all the error, as at large epsilon or for few users, half a step more on each side corrects for the jumps
    of the answer, which a normal distribution has not (Yates 1934).
    """
    errors = np.sqrt(variances)
    margin = each_side * errors
    if steps is not None:
        few = (errors > 0) & (errors < FEW * steps) & np.isfinite(steps)
        margin = margin + np.where(few, np.where(np.isfinite(steps), steps, 0.0) / 2, 0.0)
    return Interval(answers - margin, answers + margin)


def about_population(
    answers: np.ndarray,
    variances: np.ndarray,
    prior_variances: np.ndarray,
    cells: np.ndarray,
    extremes: tuple[np.ndarray, np.ndarray],
    users: int,
    each_side: float,
) -> Interval:
    """Return intervals of N times the mean scores of a population, from the answers (p,) of a sample of N users.

    The normal interval misses what is rare in a small sample, whose estimated variance is small whenever the estimate
    is off. So c^2 users are added who were not there, half of them at either end of the query and of its score, as in
    the interval of Agresti and Coull: a score of variance v under the prior that is large for one of a cells alone has
    a mean square of a v/2 between its two ends. The hull with the normal interval is returned. They differ by a share
    of c^2 a/(4 N) of the width at most, or by that of exact reports.

    Args:
        answers: W x_hat (p,).
        variances: Estimated variances (p,) of the answers about the population.
        prior_variances: Variances v (p,) of the score of one report under the prior; 0 for what is known exactly.
        cells: Cells a (p,) of the table that each query is about.
        extremes: Least and largest entry of every query, (p,) each.
        users: Number N of users.
        each_side: Standard errors c on each side.

    Reference:
        Agresti, Coull, The American Statistician 1998.
    """
    least, most = extremes
    added, middle = each_side**2, (least + most) / 2
    apart = users * added / (users + added) * (answers / users - middle) ** 2
    ends = prior_variances * np.maximum(cells / 2, 1) + ((most - least) / 2) ** 2
    squares = variances + added * ends + apart
    centre = users / (users + added) * (answers + added * middle)
    moved = around(centre, squares * (users / (users + added)) ** 2, each_side)
    plain, exact = around(answers, variances, each_side), prior_variances == 0
    low = np.where(exact, plain.low, np.minimum(plain.low, moved.low))
    return Interval(low, np.where(exact, plain.high, np.maximum(plain.high, moved.high)))


def of_ratios(
    parts: np.ndarray, whole: float, moments: np.ndarray, each_side: np.ndarray | float
) -> Interval:
    """Return intervals of the ratios r of sums (p,) to one sum, from unbiased estimates of both.

    All r with (part - r whole)^2 <= c^2 Var(part - r whole), c = `each_side`: whatever the sums are, the true r is left
    out no more often than part - r whole is off by c standard errors. They are infinite where `whole` may be zero.
    `moments` (3, p) holds Var(part), Cov(part, whole) and Var(whole).

    Reference:
        Fieller, Journal of the Royal Statistical Society B 1954.
    """
    own, cross, other = each_side**2 * moments
    lead, middle, last = whole**2 - other, parts * whole - cross, parts**2 - own
    bounded = lead > 0
    root = np.sqrt(np.maximum(middle**2 - lead * last, 0.0))
    safe = np.where(bounded, lead, 1.0)
    low = np.where(bounded, (middle - root) / safe, -np.inf)
    return Interval(low, np.where(bounded, (middle + root) / safe, np.inf))
