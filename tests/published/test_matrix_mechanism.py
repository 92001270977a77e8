"""Query strategies of the matrix mechanism: published values, certificates, an independent solver."""

import cvxpy as cp
import numpy as np
import pytest

import stratagem as st
from stratagem.published.query_strategy import least_l1, least_l2, residual_trace
from tables import WORKLOADS

RANDOM = np.random.default_rng(5)
LOW_RANK = {
    "normal": RANDOM.normal(size=(4, 24)),
    "zeros and ones": RANDOM.integers(0, 2, size=(5, 24)) * 1.0,
    "one query": np.arange(1.0, 9)[None],
    "unasked types": np.eye(6)[:2],
    "repeated types": np.repeat(np.tri(4), 3, axis=1),
}
GRAMS = {name: make(16).gram() for name, make in WORKLOADS.items()} | {
    name: W.T @ W for name, W in LOW_RANK.items()
}


@pytest.mark.parametrize("V", GRAMS.values(), ids=GRAMS)
def test_l2_closes_its_gap(V):
    """The objective is what its matrix gives, the sensitivity at most 1, the bound within 1e-6."""
    found = least_l2(V)
    assert np.square(found.matrix).sum(axis=0).max() <= 1 + 1e-12
    assert residual_trace(found.matrix, V) == pytest.approx(found.objective, rel=1e-9)
    assert -1e-12 <= found.gap <= 1e-6


@pytest.mark.parametrize("V", GRAMS.values(), ids=GRAMS)
def test_l1_is_certified_and_no_worse_than_the_identity(V):
    found = least_l1(V, steps=60)
    assert np.abs(found.matrix).sum(axis=0).max() == pytest.approx(1, abs=1e-12)
    assert residual_trace(found.matrix, V) == pytest.approx(found.objective, rel=1e-9)
    assert found.lower_bound * (1 - 1e-12) <= found.objective <= np.trace(V) * (1 + 1e-9)


@pytest.mark.parametrize("name", ["prefix", "all-range"])
def test_l2_agrees_with_a_semidefinite_program(name):
    V = WORKLOADS[name](6).gram()
    X, Y = cp.Variable((6, 6), symmetric=True), cp.Variable((6, 6), symmetric=True)
    F = np.linalg.cholesky(V)
    problem = cp.Problem(cp.Minimize(cp.trace(Y)), [cp.bmat([[Y, F.T], [F, X]]) >> 0, cp.diag(X) <= 1])
    problem.solve(solver=cp.CLARABEL)
    assert least_l2(V).objective == pytest.approx(problem.value, rel=1e-5)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("n", "peer"), [(64, 282.2015), (256, 1631.4035), (512, 3842.17)])
def test_l2_prefix_is_no_worse_than_the_published_solver(n, peer):
    assert least_l2(st.prefix(n).gram()).objective <= peer


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("n", "steps", "peer"), [(64, None, 906.9), (256, 120, 7022.3)])
def test_l1_prefix_is_no_worse_than_the_published_solver(n, steps, peer):
    assert least_l1(st.prefix(n).gram(), steps=steps).objective <= peer


def test_l1_all_range_beats_every_hierarchy():
    """39.47: the best level weights with the best branching; 86 is the identity."""
    workload = st.all_range(256)
    found = least_l1(workload.gram(), steps=120)
    assert found.objective / workload.queries < 33.5


def test_l1_is_never_worse_than_a_start():
    W = np.kron(np.eye(2), np.ones((1, 12)))
    found = least_l1(W.T @ W, starts=[W], steps=2)
    assert found.objective <= residual_trace(W, W.T @ W) * (1 + 1e-12)


def test_l1_is_reproducible():
    V = st.prefix(32).gram()
    assert np.array_equal(least_l1(V, steps=40).matrix, least_l1(V, steps=40).matrix)


def test_what_is_not_measured_has_no_finite_variance():
    V = np.eye(3)
    assert residual_trace(np.eye(3)[:2], V) == np.inf
    assert residual_trace(np.eye(3)[:2], np.diag([1.0, 1, 0])) == pytest.approx(2)


@pytest.mark.parametrize("least", [least_l1, least_l2])
@pytest.mark.parametrize(
    ("V", "word"),
    [
        (np.ones((2, 3)), "square"),
        (np.full((2, 2), np.nan), "finite"),
        (np.zeros((2, 2)), "zero"),
        (np.array([[1.0, 2], [0, 1]]), "symmetric"),
        (np.diag([1.0, -1]), "semidefinite"),
    ],
)
def test_a_wrong_gram_matrix_is_refused(least, V, word):
    with pytest.raises(ValueError, match=word):
        least(V)


@pytest.mark.parametrize("start", [np.ones((2, 2)), np.zeros((1, 3)), np.full((1, 3), np.inf), np.ones(3)])
def test_a_wrong_start_is_refused(start):
    with pytest.raises(ValueError, match=r"k x 3"):
        least_l1(np.eye(3), starts=[start])
