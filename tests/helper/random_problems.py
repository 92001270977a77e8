"""Random workloads of few user types that are hard on float64: mixed scales, large offsets, low rank, small priors.

Problem k is the same everywhere: it is drawn by the generator of the standard library, whose sequences do not change.
"""

import math
import random
from dataclasses import dataclass

import numpy as np

COUNT = 1000
OBJECTIVES = "average", "worst-case", "worst-query"
SIZES = {2: 12, 3: 18, 4: 22, 5: 20, 6: 12, 7: 9, 8: 7}
"""Domain sizes and how often they are drawn; the judge takes 5 ms at n = 2 and some seconds at n = 8."""
DECADES = 6
"""Entries are between 10^-6 and 10^6 times whole numbers of one digit."""


@dataclass(frozen=True, eq=False)
class RandomProblem:
    """What `optimise` is asked: queries (p x n), a budget, an objective, and a prior (n,) or none."""

    number: int
    kind: str
    rows: np.ndarray
    epsilon: float
    objective: str
    prior: np.ndarray | None
    prior_kind: str

    def __str__(self):
        n, prior = self.rows.shape[1], f", prior {self.prior_kind}" if self.prior is not None else ""
        return f"{self.number}: {self.kind}, n {n}, eps {self.epsilon:.4g}, {self.objective}{prior}"


def problem(number):
    """Problem number 0, 1, ..., COUNT - 1; objectives and kinds of queries take turns."""
    draw = random.Random(f"stratagem {number}")
    n = draw.choices(list(SIZES), list(SIZES.values()))[0]
    objective, kind = OBJECTIVES[number % 3], list(KINDS)[number // 3 % len(KINDS)]
    rows = KINDS[kind](draw, n, draw.randint(1, n + 2))
    prior_kind = "none" if objective == "worst-case" else draw.choices(list(PRIORS), [5, 2, 2, 2])[0]
    epsilon = math.exp(draw.uniform(math.log(1e-3), math.log(12)))
    if draw.random() < 0.5:  # half of them where people choose it
        epsilon = draw.choice([0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0])
    return RandomProblem(
        number, kind, np.array(rows, dtype=float), epsilon, objective, PRIORS[prior_kind](draw, n), prior_kind
    )


def normal(draw, n, p):
    return np.array([[draw.gauss(0, 1) for _ in range(n)] for _ in range(p)])


def whole(draw, n, p, most=9):
    """Whole numbers, no query of them zero or constant."""
    W = np.array([[draw.randint(-most, most) for _ in range(n)] for _ in range(p)], dtype=float)
    W[np.ptp(W, axis=1) == 0, draw.randrange(n)] += 1
    return W


def scale(draw):
    return 10 ** draw.uniform(-DECADES, DECADES)


def predicates(draw, n, p):
    return np.vstack([whole(draw, n, p, 1).clip(0), np.eye(n)[:1]])


def rows_apart(draw, n, p):
    return whole(draw, n, p) * np.array([[scale(draw)] for _ in range(p)])


def columns_apart(draw, n, p):
    return whole(draw, n, p) * np.array([scale(draw) for _ in range(n)])


def entries_apart(draw, n, p):
    W = whole(draw, n, p)
    return W * np.array([[scale(draw) for _ in range(n)] for _ in range(p)])


def weights_apart(draw, n, p):
    """One query for each user type, of its own weight."""
    return np.diag([scale(draw) for _ in range(n)])


def sum_beside_counts(draw, n, p):
    """A sum of incomes above a histogram."""
    incomes = sorted(draw.choice([1, 2, 2.5, 5]) * 10 ** draw.randint(0, DECADES) for _ in range(n))
    return np.vstack([incomes, np.eye(n)])


def with_offsets(draw, n, p):
    """Every query with a constant up to 10^9 added."""
    W = whole(draw, n, p)
    return W + np.array([[float(round(10 ** draw.uniform(0, 9)))] for _ in range(p)])


def mean_of_numbers(draw, n, p):
    """One query: a sum of numbers far from zero."""
    start, step = round(10 ** draw.uniform(0, 9)), draw.choice([1e-3, 0.25, 1, 60, 3600])
    return np.array([[start + step * u for u in range(n)]])


def histogram_with_offset(draw, n, p):
    return np.eye(n) + float(round(10 ** draw.uniform(0, 9)))


def low_rank(draw, n, p):
    rank = draw.randint(1, max(1, n - 2))
    W = whole(draw, rank, p + 1, 3) @ whole(draw, n, rank, 3)
    return W if W.any() else np.eye(1, n)


def low_rank_apart(draw, n, p):
    """Low rank, with rounding in the products, and rows of all sizes."""
    rank = draw.randint(1, max(1, n - 2))
    return (normal(draw, rank, p + 1) @ normal(draw, n, rank)) * np.array(
        [[scale(draw)] for _ in range(p + 1)]
    )


def types_alike(draw, n, p):
    """User types that the queries hardly tell apart, and some that they do not."""
    kept = [draw.randrange(n) for _ in range(n)]
    return normal(draw, n, p).round(1)[:, kept] + draw.choice([0, 1e-9, 1e-7, 1e-4]) * normal(draw, n, p)


def one_query(draw, n, p):
    return whole(draw, n, 1) * scale(draw)


def repeated(draw, n, p):
    """The same queries several times, once with the other sign and once as a constant."""
    W = whole(draw, n, max(1, p // 2))
    return np.vstack([W, -W, 1e3 * W[:1], np.full((1, n), scale(draw))])


def prefixes(draw, n, p):
    return np.tril(np.ones((n, n))) * scale(draw)


KINDS = {
    function.__name__.replace("_", " "): function
    for function in (
        normal,
        whole,
        predicates,
        rows_apart,
        columns_apart,
        entries_apart,
        weights_apart,
        sum_beside_counts,
        with_offsets,
        mean_of_numbers,
        histogram_with_offset,
        low_rank,
        low_rank_apart,
        types_alike,
        one_query,
        repeated,
        prefixes,
    )
}


def uneven(draw, n):
    return np.array([draw.expovariate(1) + 1e-3 for _ in range(n)])


def with_zeros(draw, n):
    p = uneven(draw, n)
    p[draw.sample(range(n), draw.randint(1, n - 1))] = 0
    return p


def with_tiny(draw, n):
    """Some probabilities are 10^-20 of the others."""
    p = uneven(draw, n)
    p[draw.sample(range(n), draw.randint(1, n - 1))] *= 1e-20
    return p


PRIORS = {"none": lambda draw, n: None, "uneven": uneven, "zeros": with_zeros, "1e-20": with_tiny}
