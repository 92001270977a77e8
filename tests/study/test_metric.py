"""Strategies for values on a line, against a programme over all rows; and the bound, against rows that obey it."""

import itertools
import math
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from scipy.linalg import helmert

import stratagem as st
from stratagem.accuracy import objective
from stratagem.bounds.metric import first_multipliers, metric_bound, sides
from stratagem.mechanism.export.strategy_file import load
from stratagem.solvers.metric import geometric, rays
from stratagem.study import metric as study

UNEVEN = [0.1, 0.7, 1.5, 0.3]


def distances(steps):
    places = np.concatenate([[0.0], np.cumsum(steps)])
    return np.abs(places[:, None] - places)


def all_rays(steps):
    """Return all 2^(n-1) rows whose neighbours have the ratios exp(+-step), made one by one."""
    signs = itertools.product([-1, 1], repeat=len(steps))
    return np.array([np.exp(np.append(0.0, np.cumsum(np.array(one) * steps))) for one in signs])


def optimum(workload, steps):
    """Return the least tr(M^-1 V) over weights of all rays, by the part of M on 1^perp in units of its size."""
    S, V, n = all_rays(steps), workload.gram(), len(steps) + 1
    S, U = S * (n / S.sum(axis=1, keepdims=True)), helmert(n).T
    size = np.abs(S @ U).max()
    X, F = S @ U / size, np.linalg.cholesky(U.T @ V @ U)
    theta = cp.Variable(len(S), nonneg=True)
    M = sum(theta[y] * np.outer(X[y], X[y]) / n for y in range(len(S)))
    cost = sum(cp.matrix_frac(F[:, j], M) for j in range(n - 1))
    found = cp.Problem(cp.Minimize(cost), [S.T @ theta == 1]).solve(solver=cp.CLARABEL)
    return V.sum() / n + found / size**2


CASES = [
    (workload, steps)
    for workload in (st.histogram(5), st.prefix(5), st.all_range(5))
    for steps in ([0.1] * 4, [1.0] * 4, [3.0] * 4, UNEVEN)
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("workload", "steps"), CASES)
def test_the_strategy_is_the_best_of_all_rows_and_the_bound_is_below_it(workload, steps):
    least, found = optimum(workload, steps), st.optimise_metric(workload, steps)
    assert found.objective == pytest.approx(least, rel=2e-5)
    assert 0.995 * least <= found.lower_bound <= least * (1 + 1e-6)


@pytest.mark.parametrize("steps", [[0.2] * 4, UNEVEN])
def test_rows_within_the_steps_are_mixtures_of_rays(steps):
    rng, S, signs = np.random.default_rng(1), all_rays(steps), list(itertools.product([0, 1], repeat=4))
    mine = rays(np.array(signs, dtype=bool), np.array(steps))
    assert np.allclose(mine / mine[:, :1], S)
    for _ in range(20):
        row = np.exp(np.append(0.0, np.cumsum(rng.uniform(-1, 1, 4) * steps)))
        weights = cp.Variable(len(S), nonneg=True)
        missing = cp.Problem(cp.Minimize(cp.norm1(S.T @ weights - row))).solve(solver=cp.CLARABEL)
        assert missing < 1e-6


@pytest.mark.parametrize("steps", [[0.3] * 7, [0.01, 2.0, 0.4, 5.0]])
def test_all_rays_obey_the_products_of_sides_and_the_inequality_of_pairs(steps):
    S, R, d = all_rays(steps), sides(np.array(steps)), distances(steps)
    assert np.allclose(R.sum(axis=1), 1)
    for s in S:
        along = R @ s
        assert (np.outer(along, along) >= -1e-9 * np.square(R).max() * np.square(s).max()).all()
        squares = np.square(s)[:, None] + np.square(s)
        assert (squares <= 2 * np.cosh(d) * np.outer(s, s) * (1 + 1e-12)).all()
    above = np.square(S).sum(axis=1) - np.square(S.sum(axis=1)) / len(d)
    assert (above <= (math.cosh(d.max()) - 1) * np.square(S.sum(axis=1)) / len(d)).all()


def test_the_control_a_smaller_cosh_is_not_obeyed():
    S, d = all_rays([0.3] * 4), 0.99 * distances([0.3] * 4)
    worst = max((s[0] ** 2 + s[1] ** 2) / (2 * np.cosh(d[0, 1]) * s[0] * s[1]) for s in S)
    assert worst > 1 + 1e-4


@pytest.mark.parametrize("steps", [[0.05] * 5, [0.01, 3.0, 0.2], [4.0] * 6])
def test_the_search_for_multipliers_starts_inside(steps):
    U = helmert(len(steps) + 1).T
    R, N = sides(np.array(steps)) @ U, first_multipliers(np.array(steps))
    assert (N >= 0).all()
    assert np.linalg.eigvalsh(-R.T @ N @ R)[0] > 0


def test_the_control_a_bound_for_smaller_steps_is_above_the_optimum():
    workload = st.prefix(5)
    assert metric_bound(workload, np.full(4, 0.095)).value > optimum(workload, [0.1] * 4) * 1.01


def test_the_control_a_strategy_for_larger_steps_is_refused(monkeypatch):
    monkeypatch.setattr(study, "geometric", lambda steps: geometric(1.01 * steps))
    with pytest.raises(ArithmeticError, match="contradicts its bound or its steps"):
        st.optimise_metric(st.total(4), 0.1)


@pytest.mark.parametrize(
    ("workload", "steps"),
    [(st.prefix(16), 0.3), (st.histogram(8), [0.01, 1, 3, 0.2, 0.2, 1, 1]), (st.all_range(9), 4.0)],
    ids=["prefix", "uneven", "large"],
)
def test_no_report_tells_two_values_apart_by_more_than_their_distance(workload, steps):
    found = st.optimise_metric(workload, steps)
    Q, d = found.strategy.matrix, distances(found.steps)
    for u, v in itertools.permutations(range(len(d)), 2):
        assert (Q[:, u] <= np.exp(d[u, v]) * Q[:, v] * (1 + 1e-12)).all()
    assert found.strategy.epsilon <= found.epsilon == pytest.approx(found.steps.sum())
    assert 0 <= found.gap < 0.01
    assert found.objective <= found.geometric


def test_small_steps_are_solved_and_bounded_to_five_digits():
    """The numbers of the issue, which another programme found."""
    found = st.optimise_metric(st.prefix(8), 0.1)
    assert (round(found.objective), round(found.geometric)) == (5582, 39449)
    assert found.gap < 1e-5


def test_pairs_alone_leave_more_than_products_of_sides():
    """A bound from the inequalities of pairs, by a solver, at the step where they are weakest."""
    workload, n = st.prefix(8), 8
    M, Z = cp.Variable((n, n), PSD=True), cp.Variable((n, n), symmetric=True)
    F, cosh = np.linalg.cholesky(workload.gram()), np.cosh(distances([1.0] * 7))
    pairs = [(M[u, u] + M[v, v]) / cosh[u, v] <= 2 * M[u, v] for u, v in itertools.combinations(range(n), 2)]
    limits = [M @ np.ones(n) == 1, cp.bmat([[M, F], [F.T, Z]]) >> 0, *pairs]
    weak = cp.Problem(cp.Minimize(cp.trace(Z)), limits).solve(solver=cp.CLARABEL)
    found = st.optimise_metric(workload, 1.0)
    assert weak * 1.02 < found.lower_bound <= found.objective < found.lower_bound * 1.0001


def test_the_geometric_mechanism_is_noise_cut_at_the_ends():
    Q, a = geometric(np.full(4, 0.5)).matrix, math.exp(-0.5)
    expected = (1 - a) / (1 + a) * a ** np.abs(np.subtract.outer(range(5), range(5)))
    expected[[0, -1]] /= 1 - a
    assert sorted(map(tuple, Q.round(8))) == sorted(map(tuple, expected.round(8)))


@pytest.mark.exhaustive
def test_many_values_are_searched_among_rows_that_nobody_can_list():
    found = st.optimise_metric(st.prefix(32), 0.1)
    assert found.gap < 1e-3
    assert found.objective < 0.25 * found.geometric


@pytest.mark.parametrize("steps", [1e-4, 30.0, [0.01, 10, 0.01, 10, 0.01, 10, 0.01]])
@pytest.mark.parametrize("workload", [st.prefix(8), st.explicit(np.eye(8)[:1]), st.total(8)])
def test_extreme_steps_keep_their_promises(workload, steps):
    found = st.optimise_metric(workload, steps)
    assert (study.measured(found.strategy) <= found.steps).all()
    assert found.lower_bound <= found.objective * (1 + 1e-9)


def test_a_search_that_is_ended_keeps_the_best():
    def interrupted(_):
        raise KeyboardInterrupt

    assert st.optimise_metric(st.prefix(5), 0.2, on_step=interrupted).objective < math.inf
    first = []
    st.optimise_metric(st.prefix(16), 0.2, on_step=lambda step: first.append(step) or True)
    assert len(first) == 1


def test_a_design_says_what_it_protects_and_is_saved(tmp_path):
    design = st.optimise_metric(st.prefix(6), 0.25)
    for words in ("e^0.25 times", "to e^1.25 from end to end", "geometric", "of all unbiased strategies"):
        assert words in str(design)
    again = load(design.save(tmp_path / "near.npz", name="prefix"))
    assert objective(again.workload, again.strategy) == pytest.approx(design.objective)
    assert (study.measured(again.strategy) <= design.steps).all()
    bundle = st.load_mechanism(design.save(tmp_path / "near.ldp.json", name="prefix", edges=range(7)))
    assert (bundle.steps, bundle.name, bundle.epsilon) == (("0.25",) * 5, "prefix", Fraction(5, 4))
    with pytest.raises(ValueError, match="suffix must be one of"):
        design.save(tmp_path / "near.txt")


@pytest.mark.parametrize(
    ("workload", "steps", "words"),
    [
        (st.prefix(1), 0.1, "designed for 2 to 64"),
        (st.prefix(65), 0.1, "designed for 2 to 64"),
        (st.marginals("2^3", 2), 0.1, "the workload has 3 attributes"),
        (st.prefix(4), [0.1, 0.1], "2 steps were given, but 4 values have 3 pairs"),
        (st.prefix(4), [[0.1, 0.1, 0.1]], "3 steps were given"),
        *((st.prefix(4), step, "must be numbers of at least") for step in (0, -0.1, math.inf, math.nan, "a")),
        (st.prefix(4), [0.1, 0.0, 0.1], "must be numbers of at least"),
        (st.prefix(4), [0.001, 1, 1.1], "none more than 1000 times another"),
        (st.prefix(4), 101.0, "300 together at most"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(workload, steps, words):
    with pytest.raises(ValueError, match=words) as refused:
        st.optimise_metric(workload, steps)
    assert "\n" not in str(refused.value)
