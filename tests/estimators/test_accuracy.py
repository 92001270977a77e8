"""Exact variances against the definition, closed forms and simulation."""

import math

import numpy as np
import pytest
from scipy.stats import norm

import stratagem as st
from stratagem.estimators import estimator
from tables import FINITE, WORKLOADS, finite


def definition(W: np.ndarray, Q: np.ndarray) -> tuple[float, np.ndarray]:
    """L and t_u computed word for word: R = M^+ Q^T D^-1, t_u = sum_y Q[y,u] |W R e_y|^2 - |W e_u|^2."""
    D = Q.sum(axis=1)
    Q, D = Q[D > 0], D[D > 0]
    M = Q.T @ (Q / D[:, None])
    R = np.linalg.pinv(M, rcond=1e-12) @ (Q / D[:, None]).T
    t = Q.T @ np.square(W @ R).sum(axis=0) - np.square(W).sum(axis=0)
    return float(np.trace(np.linalg.pinv(M, rcond=1e-12) @ W.T @ W)), t


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("baseline", FINITE, ids=lambda b: b.name)
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_formulas_agree_with_the_definition(name, baseline, epsilon):
    workload = WORKLOADS[name](16)
    for strategy in finite(baseline, st.histogram(16), epsilon):
        expected, t = definition(workload.matrix(), strategy.dense().matrix)
        accuracy = st.evaluate(workload, strategy)
        assert accuracy.objective == pytest.approx(expected, rel=1e-8)
        assert estimator(strategy).objective(workload) == pytest.approx(expected, rel=1e-8)
        assert accuracy.per_type == pytest.approx(t, rel=1e-7, abs=1e-7 * t.max())
        assert accuracy.worst_case_variance == pytest.approx(t.max(), rel=1e-8)
        V = workload.gram()
        assert accuracy.average_variance == pytest.approx((expected - np.trace(V)) / 16, rel=1e-7)
        assert accuracy.samples_for(0.01) == pytest.approx(t.max() / (workload.queries * 0.01), rel=1e-8)


def test_randomised_response_has_its_closed_form_variance():
    n, E = 10, math.exp(1.3)
    accuracy = st.evaluate(st.histogram(n), st.published.randomised_response(n, 1.3))
    per_cell = (E + n - 2) / (E - 1) ** 2
    assert accuracy.per_type == pytest.approx(np.full(n, n * per_cell + (n - 2) / (E - 1)))


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 20.0, 200.0])
def test_extreme_budgets_keep_their_precision(epsilon):
    n = 8
    expected = 1 + (n - 1) * ((math.expm1(epsilon) + n) / math.expm1(epsilon)) ** 2
    found = st.evaluate(st.histogram(n), st.published.randomised_response(n, epsilon)).objective
    assert found == pytest.approx(expected, rel=1e-6)


def test_hadamard_response_at_the_published_size():
    """n = 64, epsilon = 1: 18,747.3 with K = 128; binary tree with Hadamard response: 69,221.8 and 84,308.1."""
    assert estimator(st.published.hadamard_response(64, 1.0)).objective(st.histogram(64)) == pytest.approx(
        18747.3, rel=1e-5
    )
    tree = st.published.hierarchical(64, 1.0, branching=2)
    assert estimator(tree).objective(st.histogram(64)) == pytest.approx(69221.8, rel=1e-5)
    assert estimator(tree).objective(st.prefix(64)) == pytest.approx(84308.1, rel=1e-5)


def test_per_query_variances_add_up_and_match_the_definition(rng):
    workload, strategy = st.all_range(12), st.published.hierarchical(12, 1.0, 3)
    x = rng.integers(0, 50, 12)
    per_query = st.per_query_variance(workload, strategy, x)
    W, Q = workload.matrix(), strategy.dense().matrix
    D = Q.sum(axis=1)
    R = np.linalg.pinv(Q.T @ (Q / D[:, None])) @ (Q / D[:, None]).T
    direct = np.square(W @ R) @ (Q @ x) - np.square(W) @ x
    assert per_query == pytest.approx(direct, rel=1e-8, abs=1e-10)
    assert per_query.sum() == pytest.approx(st.evaluate(workload, strategy).total_variance(x), rel=1e-9)


@pytest.mark.parametrize(("drawn", "agrees"), [(1.0, True), (1.4, False)])
def test_predicted_variance_matches_simulation(drawn, agrees, rng):
    """Two-sided test at level 1e-4 on 400 seeded runs; drawing with epsilon 1.4 in place of 1 must fail it."""
    n, runs = 8, 400
    workload, strategy = st.prefix(n), st.published.randomised_response(n, 1.0)
    x = rng.integers(100, 1000, n)
    source = st.published.randomised_response(n, drawn)
    errors = np.array(
        [workload.answer(strategy.reconstruct(source.histogram(x, rng)) - x) for _ in range(runs)]
    )
    totals = np.square(errors).sum(axis=1)
    z = (totals.mean() - st.evaluate(workload, strategy).total_variance(x)) / (totals.std() / runs**0.5)
    assert bool(abs(z) < norm.isf(0.5e-4)) is agrees


def test_an_unsupported_workload_names_what_is_missing():
    blind = st.strategies.MatrixStrategy(np.array([[0.6, 0.6, 0.4], [0.4, 0.4, 0.6]]))
    with pytest.raises(st.UnsupportedWorkloadError, match=r"query 0 of 3.*user types 0 and 1"):
        st.evaluate(st.histogram(3), blind)
    merged = st.explicit([[1, 1, 0], [0, 0, 1]])
    assert st.evaluate(merged, blind).objective > 0


def test_low_rank_workloads_need_only_their_own_directions():
    blind = st.strategies.MatrixStrategy(np.array([[0.7, 0.7, 0.3, 0.3], [0.3, 0.3, 0.7, 0.7]]))
    halves = st.explicit([[1, 1, 0, 0], [0, 0, 1, 1]])
    two_types = st.evaluate(st.histogram(2), st.strategies.MatrixStrategy(np.array([[0.7, 0.3], [0.3, 0.7]])))
    assert st.evaluate(halves, blind).worst_case_variance == pytest.approx(two_types.worst_case_variance)


def test_domains_must_agree():
    with pytest.raises(ValueError, match="same domain"):
        st.evaluate(st.histogram(3), st.published.randomised_response(4, 1.0))


@pytest.mark.parametrize("alpha", [0, -1, math.nan, math.inf])
def test_alpha_must_be_positive(alpha):
    with pytest.raises(ValueError, match="alpha"):
        st.evaluate(st.histogram(3), st.published.randomised_response(3, 1.0)).samples_for(alpha)


def test_what_is_no_strategy_is_refused():
    for verb in (lambda W, Q: estimator(Q), st.evaluate):
        with pytest.raises(TypeError, match="no formula of its variance"):
            verb(st.histogram(3), np.eye(3))
