"""Published estimators, as scores of reports: their bias and exact variance from the probabilities."""

import numpy as np


def expectation(R: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """E of sum over reports y of R[i, y] for one user of each type u (queries x n)."""
    return R @ Q


def variance(R: np.ndarray, Q: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Var_i = sum_u x_u (sum_y R[i, y]^2 Q[y, u] - delta_iu) of an unbiased histogram estimate, x users a type."""
    return np.square(R) @ Q @ x - x


def pure_variance(p: float, q: float, x: np.ndarray) -> np.ndarray:
    """Var_i of a pure protocol: N q (1 - q)/(p - q)^2 + x_i (1 - p - q)/(p - q) (Wang et al. 2017, Theorem 2)."""
    return x.sum() * q * (1 - q) / (p - q) ** 2 + x * (1 - p - q) / (p - q)
