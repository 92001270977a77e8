"""Conversion of a design, whose column sums may be inexact, to a strategy whose columns sum to one."""

from __future__ import annotations

import numpy as np

from stratagem.math.linalg import CentredInverse, PseudoInverse, centred_inverse
from stratagem.solvers.certified.design import Design, masses
from stratagem.strategies.two_level import BLOCK, TwoLevelStrategy, pack

BALANCED = 5e-13
"""Largest distance of a column sum from one; twice what remains after the last correction at n = 4096."""
ROUNDS, REPEATS = 4, 8
"""Number of times that the inverse of C is formed, and number of corrections with each inverse."""


def project_to_feasible(
    design: Design, E: float, prior: np.ndarray, most: int | None = None
) -> TwoLevelStrategy:
    """Return the strategy of a design, with column sums of one up to rounding.

    Weights move by the smallest relative change, p <- p (1 - r - x^T (n C)^+ R) for the residuals r = sum p -
    1 and R = sum p x of the balance under the prior (n,) of the design. Where this correction does not reach
    column sums of one, rows of single user types are added, which is always possible; then the strategy has
    at most `most` rows.
    """
    kept = design.p > 0
    patterns, p = _balanced(design.patterns[kept], design.p[kept], E - 1, prior)
    theta = p / (1 + (E - 1) * masses(patterns, prior))
    if np.abs(columns(patterns, theta, E - 1) - 1).max() > BALANCED:
        patterns, theta = filled(patterns, theta, E, most)
    return TwoLevelStrategy(pack(patterns), theta, patterns.shape[1], E)


def filled(
    patterns: np.ndarray, theta: np.ndarray, E: float, most: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return patterns (m x n) and weights theta (m,) whose columns sum to one, by adding patterns of one user type.

    If the patterns and n more exceed `most`, the lightest ones are dropped first.

    Columns that sum to sigma shrink by k = min(1, c/((c + n) max sigma - sum sigma)), c = E - 1; then
    a_u = (1 - k sigma_u - A)/c with A = (n - k sum sigma)/(c + n) is nonnegative and fills them exactly.
    """
    n, c = patterns.shape[1], E - 1
    if most is not None and len(theta) + n > most:
        heavy = np.sort(np.argsort(-theta)[: max(0, most - n)])
        patterns, theta = patterns[heavy], theta[heavy]
    sigma = columns(patterns, theta, c)
    k = min(1.0, c / ((c + n) * sigma.max(initial=0.0) - sigma.sum())) if len(theta) else 1.0
    A = (n - k * sigma.sum()) / (c + n)
    a = np.maximum(1 - k * sigma - A, 0.0) / c
    used = a > 0
    return np.concatenate([patterns, np.eye(n, dtype=bool)[used]]), np.concatenate([k * theta, a[used]])


def columns(patterns: np.ndarray, theta: np.ndarray, c: float) -> np.ndarray:
    """Return the column sums (n,) of the rows theta_y (1 + c b_y)."""
    return theta.sum() + c * _against(patterns, theta)


def _balanced(
    patterns: np.ndarray, p: np.ndarray, c: float, prior: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the patterns and their probabilities p (m,), corrected until column sums are one or rounds run out."""
    f = masses(patterns, prior)
    alpha = c / (1 + c * f)
    for _ in range(ROUNDS):
        inverse = _inverse(patterns, p, alpha, f, prior)
        for _ in range(REPEATS):
            residual = columns(patterns, p / (1 + c * f), c) - 1
            if np.abs(residual).max() < 2e-14:
                return patterns, p
            r = prior @ residual
            z = (inverse @ (residual - r)) / len(prior)
            moved = _along(patterns, z) - f * z.sum()
            p = p * np.maximum(1 - r - alpha * moved, 0.1)
    return patterns, p


def _inverse(
    patterns: np.ndarray, p: np.ndarray, alpha: np.ndarray, f: np.ndarray, prior: np.ndarray
) -> CentredInverse | PseudoInverse:
    """Return C^+ for C = sum_s p_s x_s x_s^T/n, x = alpha (b - f), f = prior(T)."""
    n = patterns.shape[1]
    C = np.zeros((n, n))
    for rows in _blocks(patterns):
        centred = patterns[rows] - f[rows, None]
        centred *= (alpha[rows] * np.sqrt(p[rows] / n))[:, None]
        C += centred.T @ centred
    return centred_inverse(C, prior)


def _along(patterns: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return B z (m,) for the patterns B (m x n), a block of rows at a time."""
    return np.concatenate([patterns[rows].astype(float) @ z for rows in _blocks(patterns)])


def _against(patterns: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return B^T w (n,) for the patterns B (m x n), a block of rows at a time."""
    return sum(
        (w[rows] @ patterns[rows].astype(float) for rows in _blocks(patterns)), np.zeros(patterns.shape[1])
    )


def _blocks(patterns: np.ndarray) -> list[slice]:
    """Return slices of rows, each of at most BLOCK entries."""
    step = max(1, BLOCK // patterns.shape[1])
    return [slice(first, first + step) for first in range(0, len(patterns), step)]
