"""The data vector of largest entropy behind given answers."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

MAX_STEPS = 200
"""Newton steps at most; some tens suffice."""
SUFFICIENT = 1e-4
"""Share of the predicted decrease that a step must reach."""
RIDGE = 1e-14
"""Added to the Hessian, as a share of its trace: answers may repeat each other."""


def largest_entropy(A: np.ndarray, z: np.ndarray, tolerance: float) -> np.ndarray:
    """Return argmax -sum_u t_u log t_u subject to A t = A z, t >= 0, sum t = 1.

    A (p x n) holds the queries, z (n,) a point of the simplex that answers them; rows may be dependent. The dual
    is unconstrained and convex: t_u = exp(lambda^T a_u) / Z with lambda = argmin log Z - lambda^T A z, found by
    Newton's method with the Hessian A (diag t - t t^T) A^T. A t of this form has the largest entropy of all data
    vectors with its own answers, exactly; they are within ||A t - A z||_2 <= `tolerance` of those asked for.
    """
    wanted, multiplier = A @ z, np.zeros(len(A))
    t, value = _primal(A, multiplier, wanted)
    for _ in range(MAX_STEPS):
        missing = A @ t - wanted
        if np.linalg.norm(missing) <= tolerance:
            break
        step = _newton(A, t, missing)
        length, slope = 1.0, float(missing @ step)
        while length > 1e-10:
            after, lower = _primal(A, multiplier + length * step, wanted)
            if lower <= value + SUFFICIENT * length * slope:
                break
            length /= 2
        else:
            break
        multiplier, t, value = multiplier + length * step, after, lower
    return t


def _primal(A: np.ndarray, multiplier: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, float]:
    """Return t (n,) of a multiplier (p,), and the dual value log Z - lambda^T A z."""
    exponent = multiplier @ A
    largest = exponent.max()
    t = np.exp(exponent - largest)
    total = t.sum()
    return t / total, float(largest + np.log(total) - multiplier @ wanted)


def _newton(A: np.ndarray, t: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """Return -(A (diag t - t t^T) A^T + ridge)^-1 missing (p,)."""
    seen = A - (A @ t)[:, None]
    hessian = (seen * t) @ seen.T
    hessian[np.diag_indices_from(hessian)] += RIDGE * np.trace(hessian) + np.finfo(float).tiny
    return -cho_solve(cho_factor(hessian, lower=True, check_finite=False), missing, check_finite=False)
