"""Theorems about measurements of the central model: inference, covers, views, budgets."""

from itertools import combinations

import numpy as np
import pytest

import stratagem as st
from central_formulas import readings
from stratagem import central
from stratagem.math.block_design import covering_tables
from tables import WORKLOADS


def laplace(K, shares=None, epsilon=1.0):
    return central.measure(K, epsilon, "add-remove", shares, "laplace")


def estimator(measurement):
    """The matrix of x^ from answers (n x k)."""
    return np.column_stack([measurement.estimate(e) for e in np.eye(len(measurement.queries))])


def two_passes(answers, b):
    """Estimates of the leaves by the two passes over one tree of one top node, answers root first, by level."""
    up = [np.array(answers[-1], dtype=float)]
    for i, level in enumerate(answers[-2::-1], start=2):
        below = up[0].reshape(-1, b).sum(axis=1)
        up.insert(0, ((b**i - b ** (i - 1)) * level + (b ** (i - 1) - 1) * below) / (b**i - 1))
    down = up[0]
    for level in up[1:]:
        children = level.reshape(-1, b)
        down = (children + (down - children.sum(axis=1))[:, None] / b).reshape(-1)
    return down


def test_the_published_example_of_inference():
    """Figure 4.1: n7' and the first three leaves, whose variance falls from 2 to 399/441."""
    tree = central.Hierarchy(8, 2)
    R = estimator(laplace(tree.queries()))
    leaf = np.array([13, -8, -1, -1, 0, 0, 0, 0, 5, -2, 0, 0, 3, 0]) / 21
    three = np.array([4, 4, 11, -10, 0, 0, 0, 0, 8, 1, 0, 0, 9, 0]) / 21
    assert np.allclose(R[0], leaf)
    assert np.allclose(R[:3].sum(axis=0), three)
    assert np.square(three).sum() == pytest.approx(399 / 441)
    read = readings(tree, np.outer([1, 1, 1, 0, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0, 0, 0]))
    assert read.sum() == 2


def test_the_published_example_of_wavelets():
    """Base 5, top difference 1, difference 2 on the right: the left leaf there is 5 - 1 + 2."""
    measurement = laplace(central.haar(4))
    assert measurement.estimate(np.array([4 * 5, 4 * 1, 0, 2 * 2]))[2] == pytest.approx(6)


@pytest.mark.parametrize(("n", "b"), [(8, 2), (27, 3), (16, 4)])
def test_inference_is_the_two_passes_and_the_pseudo_inverse(n, b, rng):
    tree = central.Hierarchy(n, b)
    K = tree.queries()
    y = rng.normal(size=len(K))
    found = laplace(K).estimate(y)
    levels = [y[tree.levels == level] for level in range(len(tree.widths))]
    tops = [[level.reshape(b, -1)[top] for level in levels[::-1]] for top in range(b)]
    assert np.allclose(found, np.concatenate([two_passes(top, b) for top in tops]))
    assert np.allclose(found, np.linalg.pinv(K) @ y)


@pytest.mark.parametrize(("n", "b"), [(8, 2), (20, 3), (64, 4)])
def test_inference_never_hurts_a_range(n, b):
    tree = central.Hierarchy(n, b)
    measurement = laplace(tree.queries())
    for first, last in combinations(range(n + 1), 2):
        w = np.zeros(n)
        w[first:last] = 1
        V = np.outer(w, w)
        assert measurement.total_variance(V) <= readings(tree, V) @ measurement.variances * (1 + 1e-9)


@pytest.mark.parametrize(("n", "b"), [(8, 2), (20, 3), (64, 4), (30, 16)])
def test_covers_are_disjoint_complete_and_small(n, b):
    tree = central.Hierarchy(n, b)
    K, h = tree.queries(), len(tree.widths)
    for first, last in combinations(range(n + 1), 2):
        w = np.zeros(n)
        w[first:last] = 1
        read = readings(tree, np.outer(w, w))
        assert np.array_equal(K.T @ read, w)
        assert set(read) <= {0, 1}
        assert read.sum() <= max(2 * (b - 1) * h, 1)


def test_own_branch_helps_and_other_branches_correct():
    """Weights of a leaf's estimate: positive on itself and its ancestors, nowhere else."""
    tree = central.Hierarchy(16, 2)
    R = estimator(laplace(tree.queries()))
    for u in range(16):
        own = (tree.spans[:, 0] <= u) & (u <= tree.spans[:, 1])
        assert (R[u][own] > 0).all()
        assert (R[u][~own] <= 1e-12).all()


@pytest.mark.parametrize("shares", [(1, 1), (1, 3), (0.2, 5)])
def test_two_answers_to_one_query_are_weighted_by_precision(shares):
    measurement = laplace(np.ones((2, 1)), shares)
    first, second = measurement.variances
    assert measurement.total_variance(np.eye(1)) == pytest.approx(first * second / (first + second))
    assert np.allclose(estimator(measurement), [[second, first]] / (first + second))


@pytest.mark.parametrize("name", WORKLOADS)
def test_variances_do_not_depend_on_scale_or_order(name, rng):
    W = WORKLOADS[name](16)
    V, K = W.gram(), np.vstack([np.eye(16), rng.integers(0, 3, size=(5, 16))])
    plain = laplace(K).total_variance(V)
    rows, columns = rng.permutation(len(K)), rng.permutation(16)
    assert laplace(7 * K).total_variance(V) == pytest.approx(plain)
    assert laplace(K, epsilon=0.1).total_variance(V) == pytest.approx(100 * plain)
    assert laplace(K[rows]).total_variance(V) == pytest.approx(plain)
    assert laplace(K[:, columns]).total_variance(V[np.ix_(columns, columns)]) == pytest.approx(plain)


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_totals_and_worst_cases_are_those_of_the_matrix(name, neighbours, rng):
    workload = WORKLOADS[name](16)
    W = workload.matrix()
    K = np.vstack([np.eye(16), rng.integers(-2, 3, size=(5, 16))]).astype(int)
    measurement = central.measure(K, 0.8, neighbours, shares=rng.uniform(0.5, 2, len(K)))
    R = estimator(measurement)
    assert np.allclose(R @ K, np.eye(16))
    each = np.square(W @ R) @ measurement.variances
    assert measurement.total_variance(workload.gram()) == pytest.approx(each.sum())
    assert measurement.worst_variance(workload) == pytest.approx(each.max())


@pytest.mark.parametrize("n", [5, 16, 100])
def test_the_histogram_on_all_ranges(n):
    workload = st.all_range(n)
    total = laplace(np.eye(n)).total_variance(workload.gram())
    assert total / workload.queries == pytest.approx(2 * (n + 2) / 3)


@pytest.mark.parametrize(("d", "k"), [(5, 2), (6, 3)])
def test_least_squares_help_tables_and_leave_parities(d, k):
    """Tables overlap, parities are orthogonal: each cell of the latter has variance c^2/4^k 2^k."""
    workload = st.marginals(f"2^{d}", k)
    sets = [S for j in range(k + 1) for S in combinations(range(d), j)]
    tables = laplace(central.tables((2,) * d, [S for S in sets if len(S) == k]))
    assert tables.total_variance(workload.gram()) < tables.variances.sum()
    K = central.parities(d, sets)
    parities = laplace(K)
    assert np.allclose(estimator(parities), K.T / 2**d)


def test_consistency_of_views_is_least_squares():
    """The published example: two tables that disagree on their common attribute meet halfway."""
    K = central.tables((2, 2, 2), [(0, 1), (0, 2)])
    x = laplace(K).estimate(np.array([0.3, 0.3, 0.3, 0.1, 0.2, 0.3, 0.1, 0.4]))
    assert np.allclose(K @ x, [0.275, 0.275, 0.325, 0.125, 0.225, 0.325, 0.075, 0.375])


@pytest.mark.parametrize(("d", "size", "k"), [(6, 4, 2), (8, 5, 3), (5, 2, 2)])
def test_views_cover_every_margin(d, size, k):
    margins = tuple(combinations(range(d), k))
    views = covering_tables(d, margins, size)
    assert all(any(set(margin) <= set(view) for view in views) for margin in margins)
    assert len(views) <= len(margins)


def test_what_is_not_measured_has_infinite_variance():
    K = central.tables((2, 2, 2), [(0,), (1,)])
    assert laplace(K).total_variance(st.marginals("2^3", 2).gram()) == np.inf
    assert laplace(K).worst_variance(st.marginals("2^3", 2)) == np.inf
    assert laplace(K).total_variance(K.T @ K) < np.inf


@pytest.mark.parametrize("n", [1, 2, 5, 8, 12])
def test_wavelets_of_any_domain_measure_everything(n):
    K = central.haar(n)
    assert np.linalg.matrix_rank(K) == n
    assert np.abs(K).max() == 1
    assert central.sensitivity(K, "add-remove", 1) <= 1 + (n - 1).bit_length()
