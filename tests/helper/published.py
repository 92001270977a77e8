"""Published estimators, as scores of reports: their bias and exact variance, to hold closed forms against."""

import numpy as np

import stratagem as st


def expectation(R: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """E of sum over reports y of R[i, y] for one user of each type u (queries x n)."""
    return R @ Q


def variance(R: np.ndarray, Q: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Var_i = sum_u x_u (sum_y R[i, y]^2 Q[y, u] - delta_iu) of an unbiased histogram estimate, x users a type."""
    return np.square(R) @ Q @ x - x


def pure_variance(p: float, q: float, x: np.ndarray) -> np.ndarray:
    """Var_i of a pure protocol: N q (1 - q)/(p - q)^2 + x_i (1 - p - q)/(p - q) (Wang et al. 2017, Theorem 2)."""
    return x.sum() * q * (1 - q) / (p - q) ** 2 + x * (1 - p - q) / (p - q)


def variances(strategy: st.strategies.Strategy, A: np.ndarray, W: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The variance of the estimates A counts (p,) for the data vector x, after checking A Q = W (p x n)."""
    assert np.allclose(strategy.backward(A.T).T, W, atol=1e-9 * np.abs(A).max())
    return (A**2) @ strategy.forward(x) - (W**2) @ x


def ratio_squared(epsilon: float) -> float:
    """((E + 1)/(E - 1))^2, the variance of a sign told by randomised response, per user."""
    return float(np.tanh(epsilon / 2) ** -2)
