"""The matrix mechanism, run by every user alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from stratagem.math.linalg import centre, diameter, factor
from stratagem.math.number import numbers
from stratagem.math.privacy import check, gaussian_noise
from stratagem.published.baseline import NEEDED, Baseline, Candidates, Setting, Tuning
from stratagem.published.hierarchical import level_widths
from stratagem.published.oracle import SAFE
from stratagem.published.query_strategy import least_l1, least_l2
from stratagem.strategies.additive_noise import AdditiveNoise, Laplace, Normal, Spherical

COMPARED = 1024
"""User types up to which comparisons try this mechanism, which takes seconds there and is far from the best."""
HUGE = 1e75
"""Size of queries from which, or from its inverse down, their squares' products leave double precision."""
LARGEST = 128
"""User types up to which comparisons optimise the queries, which takes half a second there."""
STEPS = 40
"""Steps of that optimisation."""
DELTA = 1e-9
"""Delta at which Gaussian noise is compared with mechanisms of pure epsilon."""


def local_laplace(queries: ArrayLike, epsilon: float) -> AdditiveNoise:
    """Answer queries A (k x n) on e_u with Laplace noise of scale max ||a_u - a_v||_1/epsilon.

    Guarantee:
        epsilon-LDP for real noise.

    Raises:
        ValueError: if all columns of A are equal, or A is no finite matrix.

    Reference:
        Li, Hay, Rastogi, Miklau, McGregor, PODS 2010; in the local model Edmonds, Nikolov, Ullman, STOC 2020.
    """
    A = _checked(queries)
    return AdditiveNoise(A, Laplace(_distance(A, "cityblock") / check(epsilon) * SAFE))


def local_spherical(queries: ArrayLike, epsilon: float) -> AdditiveNoise:
    """Answer queries A on e_u with noise of density exp(-epsilon ||z||_2/Delta), Delta = max ||a_u - a_v||_2.

    The noise lives in the span of the differences of columns, whose dimension r <= n - 1 is the number of
    reals that are sent: its variance in every direction is (r + 1) Delta^2/epsilon^2.

    Guarantee:
        epsilon-LDP for real noise.

    Raises:
        ValueError: if all columns of A are equal, or A is no finite matrix.

    Reference:
        Hardt, Talwar, STOC 2010; in the local model Edmonds, Nikolov, Ullman, STOC 2020.
    """
    A = _spanned(_checked(queries))
    return AdditiveNoise(A, Spherical(_distance(A, "euclidean") / check(epsilon) * SAFE))


def local_gaussian(queries: ArrayLike, epsilon: float, delta: float) -> AdditiveNoise:
    """Answer queries A on e_u with normal noise, calibrated exactly to (epsilon, delta).

    Guarantee:
        (epsilon, delta)-LDP for real noise.

    Raises:
        ValueError: if all columns of A are equal, A is no finite matrix or delta is not between 0 and 1.

    Reference:
        Balle, Wang, ICML 2018; in the local model Bassily, AISTATS 2019.
    """
    A = _checked(queries)
    return AdditiveNoise(A, Normal(_distance(A, "euclidean") * gaussian_noise(epsilon, delta), delta))


def _checked(queries: ArrayLike) -> np.ndarray:
    """Return queries A (k x n) as floats whose squares neither overflow nor underflow."""
    A = numbers(queries)
    if A.ndim != 2 or A.shape[1] < 2 or not np.isfinite(A).all() or not (A != A[:, :1]).any():
        raise ValueError(
            f"the queries have shape {A.shape}: give a finite k x n matrix whose columns differ, n at least 2"
        )
    largest = float(np.abs(A).max())
    if not 1 / HUGE <= largest <= HUGE:
        raise ValueError(
            f"the largest query entry is {largest:g}: rescale the queries to between {1 / HUGE:g} and {HUGE:g}"
        )
    return A


def _distance(A: np.ndarray, metric: Literal["cityblock", "euclidean"]) -> float:
    """Return the largest distance of two columns."""
    distance = diameter(A, metric)
    if not distance > 0:
        raise ValueError(
            f"the columns of the queries are {distance:g} apart: give a matrix whose columns differ"
        )
    return distance


def _spanned(A: np.ndarray) -> np.ndarray:
    """Return the centred columns in an orthonormal basis of their span (r x n); distances are kept.

    A reflection takes 1/sqrt(n) to the first unit vector, so that the rest is a basis of the centred data vectors.
    """
    n = A.shape[1]
    mirror = np.eye(1, n)[0] - n**-0.5
    mirror /= np.linalg.norm(mirror)

    def reflected(V: np.ndarray) -> np.ndarray:
        return V - 2 * np.outer(mirror, mirror @ V)

    F = factor(reflected(reflected(A.T @ A).T)[1:, 1:])
    return reflected(np.pad(F, ((1, 0), (0, 0)))).T


def _hierarchy(n: int, branching: int) -> np.ndarray:
    """Return the indicators of the nodes of a tree without its root, (k x n)."""
    levels = [np.arange(n) // width for width in level_widths(n, branching)]
    return np.vstack([group == np.arange(group[-1] + 1)[:, None] for group in levels]).astype(float)


def _queries(setting: Setting, norm: int) -> Iterator[tuple[str, np.ndarray]]:
    """Yield queries to compare, the optimised ones last.

    A user's total is one, so only V between vectors that sum to zero is optimised for.
    """
    n, V = setting.domain_size, centre(setting.gram)
    if 1 < n <= COMPARED:
        yield "identity", np.eye(n)
        for branching in (b for b in (2, 4, 16) if b < n):
            yield f"tree of branching {branching}", _hierarchy(n, branching)
        if n <= LARGEST and np.trace(V) > NEEDED * np.trace(setting.gram):
            best = least_l2(V, steps=STEPS) if norm == 2 else least_l1(V, steps=STEPS)
            yield "optimised", best.matrix


def _candidates(norm: int, answer: Callable[[np.ndarray, float], AdditiveNoise]) -> Tuning:
    """Return a function that yields every set of queries, answered with one kind of noise."""

    def candidates(setting: Setting, epsilon: float) -> Candidates:
        for name, queries in _queries(setting, norm):
            yield name, answer(queries, epsilon)

    return candidates


BASELINES = (
    Baseline(
        "l1-matrix-mechanism",
        "queries on one's own data vector, answered with Laplace noise",
        "@li2010optimizing; @edmonds2020power",
        _candidates(1, local_laplace),
        slow=True,
    ),
    Baseline(
        "l2-matrix-mechanism",
        "queries on one's own data vector, answered with spherical noise",
        "@hardt2010geometry; @edmonds2020power",
        _candidates(2, local_spherical),
        slow=True,
    ),
    Baseline(
        "gaussian",
        "queries on one's own data vector, answered with normal noise at delta 1e-9",
        "@bassily2019linear; @balle2018improving",
        _candidates(2, partial(local_gaussian, delta=DELTA)),
        slow=True,
    ),
)
"""Its baselines, in the order in which lists show them."""
