"""The matrix mechanism for a workload: queries that the optimisers of the solvers found, ready to release."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from stratagem.central.gaussian import GaussianMeasurement, measure_gaussian
from stratagem.central.neighbour import Neighbours
from stratagem.central.pure import GeometricMeasurement, measure

GRID = 1 << 20
"""Number of steps of a query's weights: they are rounded to 2^-20 of the largest."""
SAME = 1e-9
"""Relative difference up to which the weights of a query count as equal."""


def optimised(
    V: np.ndarray, epsilon: float, neighbours: Neighbours, starts: Sequence[ArrayLike] = ()
) -> GeometricMeasurement:
    """Return queries optimised for a Gram matrix V (n x n) with geometric noise.

    A query whose weights are c, 0 and -c becomes 1, 0 and -1 at the rate c, where whole-number noise is a little
    below Laplace noise; the weights of other queries are rounded to 2^-20 of their largest.

    Guarantee:
        epsilon-differential privacy: the sensitivity is that of the rounded queries.

    Raises:
        ValueError: as `least_l1` and `measure`.
    """
    from stratagem.baselines.least_l1 import least_l1

    A = least_l1(V, starts).matrix
    A = A[np.abs(A).max(axis=1) > SAME * np.abs(A).max()]
    sizes = np.abs(A)
    largest, least = sizes.max(axis=1), np.where(sizes > 0, sizes, np.inf).min(axis=1)
    steps = np.where(least >= largest * (1 - SAME), 1, GRID)
    K = np.rint(A * (steps / largest)[:, None]).astype(np.int64)
    measurement = measure(K, epsilon, neighbours, shares=largest / steps)
    assert isinstance(measurement, GeometricMeasurement)
    return measurement


def optimised_gaussian(
    V: np.ndarray, epsilon: float, delta: float, neighbours: Neighbours
) -> GaussianMeasurement:
    """Return the best queries for a Gram matrix V (n x n) and Gaussian noise, up to a relative 1e-7.

    They are the best for "add-remove"; for "replace" they are only good, as Euclidean distances of columns
    take the place of lengths.

    Raises:
        ValueError: as `least_l2` and `measure_gaussian`.
    """
    from stratagem.baselines.least_l2 import least_l2

    return measure_gaussian(least_l2(V).matrix, epsilon, delta, neighbours)
