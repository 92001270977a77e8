"""Published estimators as matrices: their exact variance, to hold closed forms against."""

import numpy as np

import stratagem as st


def variances(strategy: st.Strategy, A: np.ndarray, W: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The variance of the estimates A counts (p,) for the data vector x, after checking A Q = W (p x n)."""
    assert np.allclose(strategy.backward(A.T).T, W, atol=1e-9 * np.abs(A).max())
    return (A**2) @ strategy.forward(x) - (W**2) @ x


def ratio_squared(epsilon: float) -> float:
    """((E + 1)/(E - 1))^2, the variance of a sign told by randomised response, per user."""
    return float(np.tanh(epsilon / 2) ** -2)
