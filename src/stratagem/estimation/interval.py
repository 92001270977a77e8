"""Intervals that hold for few users too: about a population, and those of a ratio of two estimates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


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
