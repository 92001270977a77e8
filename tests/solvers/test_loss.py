"""The compiled objective and its closed-form gradient."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import stratagem as st
from stratagem.estimators import estimator
from stratagem.solvers.gradient.loss import evaluate, gradient, information, inverse_cholesky


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def naive(Q, V):
    """tr(M^-1 V), written for automatic differentiation."""
    d = Q.sum(axis=1)
    return jnp.trace(jnp.linalg.solve(Q.T @ (Q / d[:, None]), V))


def instance(rng, m, n):
    Q = rng.random((m, n)) + 0.1
    V = st.prefix(n).gram()
    return jnp.asarray(Q / Q.sum(axis=0)), jnp.asarray(V), jnp.asarray(np.linalg.cholesky(V))


@pytest.mark.exhaustive
@pytest.mark.parametrize(("m", "n"), [(3, 1), (5, 3), (40, 10), (150, 37), (300, 67)])
def test_value_and_gradient_equal_automatic_differentiation(m, n, rng):
    Q, V, F = instance(rng, m, n)
    evaluation = evaluate(Q, F)
    value, along_Q = evaluation.value, gradient(Q, evaluation)
    expected, expected_along_Q = jax.value_and_grad(naive)(Q, V)
    assert float(value) == pytest.approx(float(expected), rel=1e-9)
    scale = float(jnp.abs(expected_along_Q).max())
    assert np.allclose(along_Q, expected_along_Q, atol=1e-8 * scale, rtol=1e-8)


@pytest.mark.exhaustive
def test_gradient_matches_finite_differences(rng):
    Q, V, F = instance(rng, 20, 6)
    along = gradient(Q, evaluate(Q, F))
    for _ in range(5):
        direction = jnp.asarray(rng.standard_normal(Q.shape)) * Q
        change = (naive(Q + 1e-6 * direction, V) - naive(Q - 1e-6 * direction, V)) / 2e-6
        assert float((along * direction).sum()) == pytest.approx(float(change), rel=1e-5)


@pytest.mark.exhaustive
def test_it_is_the_objective_of_the_accuracy_room():
    strategy = st.published.hadamard_response(37, 1.0)
    _, _, F = instance(np.random.default_rng(0), 1, 37)
    value = float(evaluate(jnp.asarray(strategy.matrix), F).value)
    assert value == pytest.approx(estimator(strategy).objective(st.prefix(37)), rel=1e-9)


@pytest.mark.exhaustive
@pytest.mark.parametrize("n", [1, 2, 5, 16, 17, 50, 131])
def test_inverse_cholesky_and_blocked_information(n, rng):
    Q = jnp.asarray(rng.random((3 * n, n)) + 0.1)
    M = information(Q)
    assert np.allclose(M, (Q / Q.sum(axis=1, keepdims=True)).T @ Q, rtol=1e-12)
    K = inverse_cholesky(M)
    assert np.allclose(K @ M @ K.T, np.eye(n), atol=1e-8)
    assert np.array_equal(K, np.tril(K))


def test_a_singular_information_matrix_is_not_a_number_or_huge():
    """Two equal columns cannot tell two types apart: no finite, reasonable value may come out."""
    Q = jnp.asarray([[0.5, 0.5, 0.2], [0.5, 0.5, 0.8]])
    value = float(evaluate(Q, jnp.eye(3)).value)
    assert not value < 1e12
