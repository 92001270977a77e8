"""Strategies private by distance, against a programme over all rows; and the bounds, against rows that obey them."""

import itertools
import math
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from scipy.linalg import helmert
from scipy.spatial import HalfspaceIntersection

import stratagem as st
from stratagem.bounds import constrained as bounds
from stratagem.bounds.constrained import first_multipliers, listed_bound, metric_bound, sides
from stratagem.bounds.exact import exact
from stratagem.estimators import estimator
from stratagem.mechanism.export.saved import load
from stratagem.solvers.metric import geometric, published_at, rays
from stratagem.solvers.problem.constraint import told_apart

UNEVEN = [0.1, 0.7, 1.5, 0.3]


def by_distance(workload, steps, **options):
    return st.optimise(workload, constraints=[st.Steps(steps)], **options)


def given(solution):
    """Return the steps or distances of a solution."""
    return solution.problem.constraints[0].distances


def published(solution):
    return solution.others["published"].objective


def measured(strategy):
    """Return the largest |log Q[y, u]/Q[y, u + 1]| of all reports y (n - 1,)."""
    return np.abs(np.diff(np.log(strategy.matrix), axis=1)).max(axis=0)


def distances(steps):
    places = np.concatenate([[0.0], np.cumsum(steps)])
    return np.abs(places[:, None] - places)


def all_rays(steps):
    """Return all 2^(n-1) rows whose neighbours have the ratios exp(+-step), made one by one."""
    signs = itertools.product([-1, 1], repeat=len(steps))
    return np.array([np.exp(np.append(0.0, np.cumsum(np.array(one) * steps))) for one in signs])


def optimum(workload, steps):
    """Return the least tr(M^-1 V) over weights of all rays of steps."""
    return least_over(workload, all_rays(steps))


def least_over(workload, S):
    """Return the least tr(M^-1 V) over weights of rows S, by the part of M on 1^perp in units of its size."""
    V, n = workload.gram(), S.shape[1]
    S, U = S * (n / S.sum(axis=1, keepdims=True)), helmert(n).T
    size = np.abs(S @ U).max()
    X, F = S @ U / size, np.linalg.cholesky(U.T @ V @ U)
    theta = cp.Variable(len(S), nonneg=True)
    M = sum(theta[y] * np.outer(X[y], X[y]) / n for y in range(len(S)))
    cost = sum(cp.matrix_frac(F[:, j], M) for j in range(n - 1))
    found = cp.Problem(cp.Minimize(cost), [S.T @ theta == 1]).solve(solver=cp.CLARABEL)
    return V.sum() / n + found / size**2


def equal(n, eps):
    """Return the distances (n x n) of a plain epsilon."""
    return eps * (1 - np.eye(n))


def random_distances(n, seed, low=0.1, high=2.0):
    """Return random distances (n x n), shortened to obey the triangle inequality."""
    places = np.triu(np.random.default_rng(seed).uniform(low, high, (n, n)), 1)
    d = places + places.T
    for w in range(n):
        d = np.minimum(d, d[:, [w]] + d[[w]])
    return d


CASES = [
    (workload, steps)
    for workload in (st.histogram(5), st.prefix(5), st.all_range(5))
    for steps in ([0.1] * 4, [1.0] * 4, [3.0] * 4, UNEVEN)
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("workload", "steps"), CASES)
def test_the_strategy_is_the_best_of_all_rows_and_the_bound_is_below_it(workload, steps):
    least, found = optimum(workload, steps), by_distance(workload, steps)
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
    monkeypatch.setattr("stratagem.solvers.metric.geometric", lambda steps: geometric(1.01 * steps))
    with pytest.raises(ArithmeticError, match="does not keep to its constraint"):
        by_distance(st.total(4), 0.1)


@pytest.mark.parametrize(
    ("workload", "steps"),
    [(st.prefix(10), 0.3), (st.histogram(8), [0.01, 1, 3, 0.2, 0.2, 1, 1]), (st.all_range(9), 4.0)],
    ids=["prefix", "uneven", "large"],
)
def test_no_report_tells_two_values_apart_by_more_than_their_distance(workload, steps):
    found = by_distance(workload, steps)
    Q, d = found.strategy.matrix, distances(given(found))
    for u, v in itertools.permutations(range(len(d)), 2):
        assert (Q[:, u] <= np.exp(d[u, v]) * Q[:, v] * (1 + 1e-12)).all()
    assert found.strategy.epsilon <= found.epsilon == pytest.approx(given(found).sum())
    assert 0 <= found.gap < 0.01
    assert found.objective <= published(found)


def test_small_steps_are_solved_and_bounded_to_five_digits():
    """The numbers of the issue, which another programme found."""
    found = by_distance(st.prefix(8), 0.1)
    assert (round(found.objective), round(published(found))) == (5582, 39449)
    assert found.gap < 1e-5


def test_pairs_alone_leave_more_than_products_of_sides():
    """A bound from the inequalities of pairs, by a solver, at the step where they are weakest."""
    workload, n = st.prefix(8), 8
    M, Z = cp.Variable((n, n), PSD=True), cp.Variable((n, n), symmetric=True)
    F, cosh = np.linalg.cholesky(workload.gram()), np.cosh(distances([1.0] * 7))
    pairs = [(M[u, u] + M[v, v]) / cosh[u, v] <= 2 * M[u, v] for u, v in itertools.combinations(range(n), 2)]
    limits = [M @ np.ones(n) == 1, cp.bmat([[M, F], [F.T, Z]]) >> 0, *pairs]
    weak = cp.Problem(cp.Minimize(cp.trace(Z)), limits).solve(solver=cp.CLARABEL)
    found = by_distance(workload, 1.0)
    assert weak * 1.02 < found.lower_bound <= found.objective < found.lower_bound * 1.0001


def test_the_geometric_mechanism_is_noise_cut_at_the_ends():
    Q, a = geometric(np.full(4, 0.5)).matrix, math.exp(-0.5)
    expected = (1 - a) / (1 + a) * a ** np.abs(np.subtract.outer(range(5), range(5)))
    expected[[0, -1]] /= 1 - a
    assert sorted(map(tuple, Q.round(8))) == sorted(map(tuple, expected.round(8)))


@pytest.mark.exhaustive
def test_many_values_are_searched_among_rows_that_nobody_can_list():
    found = by_distance(st.prefix(32), 0.1)
    assert found.gap < 1e-3
    assert found.objective < 0.25 * published(found)


@pytest.mark.parametrize("steps", [1e-4, 30.0, [0.01, 10, 0.01, 10, 0.01, 10, 0.01]])
@pytest.mark.parametrize("workload", [st.prefix(8), st.explicit(np.eye(8)[:1]), st.total(8)])
def test_extreme_steps_keep_their_promises(workload, steps):
    found = by_distance(workload, steps)
    assert (measured(found.strategy) <= given(found)).all()
    assert found.lower_bound <= found.objective * (1 + 1e-9)


def test_a_search_that_is_ended_keeps_the_best():
    def interrupted(_):
        raise KeyboardInterrupt

    assert by_distance(st.prefix(5), 0.2, on_step=interrupted).objective < math.inf
    first = []
    by_distance(st.prefix(16), 0.2, on_step=lambda step: first.append(step) or True)
    assert len(first) == 1


def test_a_design_says_what_it_protects_and_is_saved(tmp_path):
    design = by_distance(st.prefix(6), 0.25)
    for words in ("e^0.25 times", "to e^1.25 from end to end", "geometric", "above the proven minimum"):
        assert words in str(design)
    again = load(design.save(tmp_path / "near.npz", name="prefix"))
    assert estimator(again.strategy).objective(again.workload) == pytest.approx(design.objective)
    assert (measured(again.strategy) <= given(design)).all()
    bundle = st.load_mechanism(design.save(tmp_path / "near.ldp.json", name="prefix"))
    assert (bundle.steps, bundle.name, bundle.epsilon) == (("0.25",) * 5, "prefix", Fraction(5, 4))
    with pytest.raises(ValueError, match="suffix must be one of"):
        design.save(tmp_path / "near.txt")


@pytest.mark.parametrize(
    ("workload", "steps", "words"),
    [
        (st.prefix(1), 0.1, "single value"),
        (st.prefix(65), 0.1, "designed for 2 to 64"),
        (st.marginals("2^3", 2), 0.1, "the workload has 3 attributes"),
        (st.prefix(4), [0.1, 0.1], "2 steps were given, but 4 values have 3 pairs"),
        *((st.prefix(4), step, "must be numbers of at least") for step in (0, -0.1, math.inf, math.nan, "a")),
        (st.prefix(4), [0.1, 0.0, 0.1], "must be numbers of at least"),
        (st.prefix(4), [0.001, 1, 1.1], "none more than 1000 times another"),
        (st.prefix(4), 101.0, "300 together at most"),
        (st.prefix(4), [[0.1, 0.1, 0.1]], "the distances are 1 x 3 numbers, but 4 values need 4 x 4"),
        (st.prefix(4), np.ones((4, 4, 4)), "the distances are 4 x 4 x 4 numbers"),
        (st.prefix(3), [[0, 1, 1], [1, 0, 2], [1, 1, 0]], "the distances are not symmetric"),
        *(
            (st.prefix(2), [[here, step], [step, 0]], "numbers of at least 0.0001 between two values")
            for here, step in ((0, -1.0), (0, 0.0), (0, math.nan), (0, math.inf), (0.1, 1.0))
        ),
        (st.prefix(2), [[0, 301.0], [301.0, 0]], "must be at most 300"),
        (st.prefix(3), distances([0.001, 1.1]), "none more than 1000 times another"),
        (st.prefix(8), equal(8, 1.0), "all rows are listed for 2 to 7"),
        (st.marginals("2^4", 1), equal(16, 1.0), "a matrix for 16 values"),
        (st.prefix(1), [[0.0]], "a matrix for 1 values"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(workload, steps, words):
    with pytest.raises(ValueError, match=words) as refused:
        by_distance(workload, steps)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_the_listed_rays_are_the_vertices_that_another_programme_finds(n):
    """The cone cut by 1^T s = 1, in its first n - 1 entries."""
    for seed in range(3):
        d = random_distances(n, seed)
        S = bounds.all_rays(d) / n
        pairs = list(itertools.permutations(range(n), 2))
        A = np.array([np.eye(n)[u] - np.exp(d[u, v]) * np.eye(n)[v] for u, v in pairs])
        assert (A @ S.T <= 1e-9).all()
        assert {np.linalg.matrix_rank(A[np.abs(A @ s) < 1e-9]) for s in S} == {n - 1}
        if n == 2:
            assert len(S) == 2
            continue
        sides = np.column_stack([A[:, :-1] - A[:, -1:], A[:, -1]])  # with s_n = 1 - the others
        found = HalfspaceIntersection(sides, np.full(n - 1, 1 / n)).intersections
        away = np.abs(found[:, None] - S[None, :, :-1]).max(axis=2)
        assert away.min(axis=0).max() < 1e-9 > away.min(axis=1).max()
        assert len(S) == len(np.unique(S.round(8), axis=0)) <= math.comb(2 * n - 2, n - 1)


@pytest.mark.parametrize("steps", [[0.5], [0.2] * 4, UNEVEN, [0.1, 0.2, 0.4, 0.4, 0.2, 0.1]])
def test_on_a_line_the_rays_and_the_optimum_are_those_of_the_steps(steps):
    n = len(steps) + 1
    S = bounds.all_rays(distances(steps))
    line = all_rays(steps)
    line = line * (n / line.sum(axis=1, keepdims=True))
    away = np.abs(S[:, None] - line).max(axis=2)
    assert len(S) == 2 ** (n - 1)
    assert away.min(axis=0).max() < 1e-9 > away.min(axis=1).max()
    one, other = (by_distance(st.prefix(n), d) for d in (steps, distances(steps)))
    assert other.objective == pytest.approx(one.objective, rel=2e-5)
    assert published(other) == pytest.approx(published(one), rel=1e-6)
    assert one.lower_bound * (1 - 1e-6) <= other.lower_bound <= one.objective


@pytest.mark.parametrize("eps", [0.5, 2.0])
@pytest.mark.parametrize(
    "workload",
    [st.histogram(4), st.prefix(4), st.marginals("2^2", 1)],
    ids=["histogram", "prefix", "marginals"],
)
def test_equal_distances_are_plain_epsilon(workload, eps):
    assert len(bounds.all_rays(equal(4, eps))) == 2**4 - 2
    found = by_distance(workload, equal(4, eps))
    least = exact(workload, eps)
    assert found.lower_bound == pytest.approx(least, rel=1e-6)
    assert least <= found.objective <= least * 1.0001  # queries of low rank are solved to four digits
    assert found.objective == pytest.approx(st.optimise(workload, epsilon=eps, gap=1e-4).objective, rel=2e-4)
    assert found.epsilon == eps >= found.strategy.epsilon


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("workload", [st.histogram(5), st.prefix(5)], ids=["histogram", "prefix"])
def test_any_distances_have_the_optimum_of_another_programme(workload, seed):
    d = random_distances(5, seed)
    found = by_distance(workload, d)
    least = least_over(workload, bounds.all_rays(d))
    assert found.objective == pytest.approx(least, rel=1e-5)
    assert found.lower_bound <= found.objective <= found.lower_bound * (1 + 1e-6)
    assert (told_apart(found.strategy.dense().matrix) <= d).all()
    assert found.objective <= published(found)


def test_the_control_rays_and_bounds_of_other_distances_are_told():
    large, small, workload = random_distances(4, 5), 0.9 * random_distances(4, 5), st.histogram(4)
    S = bounds.all_rays(large)
    logs = np.log(S)
    assert ((logs[:, :, None] - logs[:, None, :]).max(axis=0) > small + 1e-3 * (large > 0)).sum() == 12
    assert listed_bound(workload, small, bounds.all_rays(small)).value > least_over(workload, S) * 1.01


def test_the_control_a_missing_ray_is_noticed():
    """Without those of the largest weights the bound rises above the optimum."""
    d, workload = random_distances(4, 1), st.histogram(4)
    S = bounds.all_rays(d)
    weights = listed_bound(workload, d, S).weights
    fewer = S[np.argsort(-weights)[2:]]
    assert listed_bound(workload, d, fewer).value > by_distance(workload, d).objective * 1.001


def test_the_control_a_strategy_for_larger_distances_is_refused(monkeypatch):
    monkeypatch.setattr("stratagem.solvers.metric.published_at", lambda d: published_at(1.01 * d))
    with pytest.raises(ArithmeticError, match="does not keep to its constraint"):
        by_distance(st.total(4), equal(4, 0.5))


def test_paths_take_the_place_of_longer_distances():
    d = distances(UNEVEN)
    longer = np.where(d > 1, 3 * d, d)
    longer[2, 3] = longer[3, 2] = UNEVEN[2]
    found = by_distance(st.prefix(5), longer)
    assert given(found) == pytest.approx(d)
    assert found.objective == pytest.approx(by_distance(st.prefix(5), d).objective)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 140.0])
@pytest.mark.parametrize("workload", [st.histogram(6), st.explicit(np.eye(6)[:1]), st.total(6)])
def test_extreme_distances_keep_their_promises(workload, scale):
    d = scale * random_distances(6, 2, 1.0, 2.0)
    found = by_distance(workload, d)
    assert (told_apart(found.strategy.dense().matrix) <= d).all()
    assert 0 <= found.gap + 1e-9 < 1e-3
    assert (told_apart(published_at(d).matrix) <= d).all()


def test_seven_values_of_which_nearly_all_rays_are_in_use():
    d = random_distances(7, 0, 0.5, 1.0)
    assert len(bounds.all_rays(d)) == math.comb(12, 6)
    steps = []
    found = by_distance(st.prefix(7), d, on_step=steps.append)
    assert found.gap < 1e-6
    assert [one.gap for one in steps] == [found.gap]


def test_without_positive_weights_the_exponential_mechanism_is_the_published_one():
    Q = published_at(equal(4, 1.0)).matrix
    assert pytest.approx(np.exp(equal(4, -1.0)) / (1 + 3 / math.e), rel=1e-6) == Q
    hub = equal(5, 0.6)
    hub[0, 1:] = hub[1:, 0] = 0.3
    assert np.linalg.solve(np.exp(-hub), np.ones(5)).min() < 0
    K = np.exp(-hub / 2)
    assert published_at(hub).matrix == pytest.approx(K / K.sum(axis=0), rel=1e-6)


def test_a_design_for_a_matrix_is_saved_as_one_and_no_bundle_is_made(tmp_path):
    d = random_distances(4, 3)
    design = by_distance(st.histogram(4), d)
    for words in ("as likely for one value as for another, by their distance", "a published mechanism"):
        assert words in str(design)
    again = load(design.save(tmp_path / "near.npz", name="histogram"))
    assert (told_apart(again.strategy.dense().matrix) <= d).all()
    assert again.epsilon == design.epsilon == d.max()
    for made in (design.mechanism, lambda: design.save(tmp_path / "near.ldp.json")):
        with pytest.raises(
            ValueError, match="a mechanism file states the steps of a line, but these distances are a matrix"
        ):
            made()
