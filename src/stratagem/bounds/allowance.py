"""What rounding to float64 may have added to a lower bound, and the only place where it is taken off."""

from __future__ import annotations

import math

import numpy as np

from stratagem.workloads import Workload

ULP = float(np.finfo(float).eps)
"""Relative distance of neighbouring numbers."""
SHARE = 1e-10
"""Relative amount taken off every bound, for sums of products of n and n^2 numbers.

All of them have an error of a few n ulp of tr V at most, n ulp = 1e-12 at n = 4096, and L >= tr V: an error that is
large beside the bound itself cannot lift it above L. Square roots are the exception, see `root_trace`.
"""
RATIO = 1.1e-14
"""Relative error of E = exp(epsilon), lowered by 1e-14 where a strategy has to measure at most epsilon."""


def safe(value: float, epsilon: float) -> float:
    """Return a number that is certainly below the one of which `value` is the rounded one; zero below zero.

    Beside the rounding, the optimum L at E' is not the one at E: for E' < E rows of {1, E} mixed with constant
    ones, a share t = (E - E')/(E - 1), are E'-private, and the rest of M on 1^perp is at least (1 - t)^2 of what
    it was. So L(E') <= L(E)/(1 - t)^2, and 2 t is taken off.
    """
    return max(0.0, value * (1 - SHARE - 2 * RATIO / -math.expm1(-epsilon)))


def ulps(workload: Workload) -> float:
    """Return a bound on the relative error of V = W^T W, of its factors and of an n x n product, 8 (n + p) ulp.

    Relative to tr V, in the spectral norm: an entry is a sum of p products at most, and no sum of absolute
    values exceeds (V_uu V_vv)^(1/2). The p queries do not count where V is known in closed form.

    Reference:
        Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.5 and theorem 20.5.
    """
    terms = workload.domain_size + (workload.queries if workload.norms is None else 0)
    return 8 * terms * ULP


def root_trace(squares: np.ndarray, error: float) -> float:
    """Return a lower bound on tr A^(1/2) from the eigenvalues of a computed A (n,), off by `error` in the norm.

    Weyl: no eigenvalue of A is smaller by more than that, and no square root is below zero. An eigenvalue
    that should be zero would otherwise count with the square root of its rounding, 1e-8 of the largest.
    """
    return float(np.sqrt(np.maximum(squares - error, 0.0)).sum())
