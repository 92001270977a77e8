"""Bounds against many random strategies, random duals and the optimum: nothing is ever below them."""

import math
from dataclasses import replace

import numpy as np
import pytest

import stratagem as st
from stratagem.bounds import RULES, Bound, Bounds, Case, sdp, tighten
from stratagem.bounds.exact import exact, solve
from stratagem.bounds.generation import between, covered, first_proof, of_matrix
from stratagem.bounds.nonnegative import nonnegative
from stratagem.bounds.proof import all_patterns
from stratagem.math.linalg import centre, factor

CASES = 72
DRAWS = 60
"""Strategies of each kind for each case: 72 x 4 x 60 = 17,280 in all."""
ROUNDING = 1e-8
KINDS = ("predicates", "gaussian", "low rank", "stack", "scaled", "differences")


def draw_workload(kind, n, rng):
    """A random workload over n user types."""
    if kind == "predicates":
        return st.explicit(np.vstack([rng.integers(0, 2, (int(rng.integers(1, 2 * n)), n)), np.ones(n)]))
    if kind == "low rank":
        return st.explicit(rng.standard_normal((max(1, n // 3), n)))
    if kind == "stack":
        return st.stack([st.prefix(n), st.weighted(st.histogram(n), float(rng.uniform(0.1, 3))), st.total(n)])
    scale = 10.0 ** rng.integers(-5, 6) if kind == "scaled" else 1.0
    W = scale * rng.standard_normal((int(rng.integers(1, 2 * n)), n))
    return st.explicit(W - W.mean(axis=1, keepdims=True) if kind == "differences" else W)


def draw_strategies(n, epsilon, rng):
    """DRAWS matrices (m x n) of each of four kinds, all of them epsilon-LDP by construction."""
    E, half = math.exp(epsilon), 4 * n
    patterns = rng.random((DRAWS, half, n)) < rng.random((DRAWS, half, 1))
    s = np.where(patterns, E, 1.0)
    rows = rng.uniform(1.0, E, (DRAWS, half, n))
    # a row and its mirror image add up to the constant 1 + E
    two_level = balance(np.concatenate([s, 1 + E - s], axis=1))
    between = balance(np.concatenate([rows, 1 + E - rows], axis=1))
    shifts = np.stack([np.roll(s[:, :3], k, axis=2) for k in range(n)], axis=2)
    weights = rng.dirichlet(np.full(3, 0.5), DRAWS) / s[:, :3].sum(axis=2)
    shifted = (weights[:, :, None, None] * shifts).reshape(DRAWS, 3 * n, n)
    response = (np.ones((n, n)) + (E - 1) * np.eye(n)) / (E + n - 1)
    share = rng.dirichlet(np.ones(3), DRAWS).T[:, :, None, None]
    mixed = np.concatenate(
        [share[0] * shifted, share[1] * np.broadcast_to(response, (DRAWS, n, n)), share[2] * two_level],
        axis=1,
    )
    return two_level, between, shifted, mixed


def balance(rows):
    """Rows whose sum is constant, as probabilities."""
    return rows / rows.sum(axis=1, keepdims=True)


def objectives(Q, V):
    """tr(M^-1 V) of each matrix whose M is safe to invert."""
    assert np.abs(Q.sum(axis=1) - 1).max() < 1e-12
    M = np.einsum("kyi,kyj->kij", Q / Q.sum(axis=2, keepdims=True), Q)
    safe = np.linalg.cond(M) < 1e6
    return np.trace(np.linalg.solve(M[safe], np.broadcast_to(V, M[safe].shape)), axis1=1, axis2=2)


@pytest.fixture(scope="module")
def cases():
    """Random problems with their quick bounds, the exact optimum among them."""
    rng, found = np.random.default_rng(2026), []
    for i in range(CASES):
        n, epsilon = int(rng.integers(2, 9)), float(np.exp(rng.uniform(math.log(0.05), math.log(12))))
        workload = draw_workload(KINDS[i % len(KINDS)], n, rng)
        found.append((workload, epsilon, st.lower_bounds(workload, epsilon)))
    return found


@pytest.mark.exhaustive
def test_no_strategy_is_below_any_bound(cases):
    rng, seen = np.random.default_rng(1), 0
    for workload, epsilon, bounds in cases:
        for Q in draw_strategies(workload.domain_size, epsilon, rng):
            values = objectives(Q, workload.gram())
            seen += len(values)
            for name, bound in bounds.known().items():
                assert (values >= bound * (1 - ROUNDING)).all(), (name, epsilon)
    assert seen > 5000


@pytest.mark.exhaustive
def test_no_bound_is_above_the_optimum_and_exact_is_the_optimum(cases):
    """Negative control: a thousandth more than the exact bound is above the optimal strategy."""
    for workload, epsilon, bounds in cases:
        n, V = workload.domain_size, workload.gram()
        if np.linalg.matrix_rank(V) < n:  # there the optimal M is singular in the limit
            continue
        optimal = solve(1 + (math.exp(epsilon) - 1) * all_patterns(n)[1:-1], V, 1e-7)
        objective = float(np.trace(np.linalg.solve(optimal.information, V)))
        assert bounds.best <= objective * (1 + ROUNDING)
        assert bounds["exact"].value * 1.001 > objective


@pytest.mark.exhaustive
def test_expensive_bounds_are_below_the_optimum_too(cases):
    for workload, epsilon, bounds in cases[::6]:
        optimum = bounds["exact"].value * (1 + 1e-6)
        assert nonnegative(workload, epsilon, 1.0).value <= optimum
        assert sdp(workload, epsilon, seconds=1) <= optimum


@pytest.mark.exhaustive
def test_random_weights_give_valid_bounds_and_half_of_kappa_does_not(cases):
    rng, tried, broken = np.random.default_rng(2), 0, 0
    for workload, epsilon, bounds in cases:
        optimum = bounds["exact"].value * (1 + 1e-6)
        for _ in range(10):
            gamma = np.exp(rng.uniform(0, 0.7) * rng.standard_normal(workload.domain_size))
            for kappa in (kappa_of(epsilon), (1 + kappa_of(epsilon)) / 2):
                value = weighted_value(workload.gram(), gamma, kappa)
                if kappa == kappa_of(epsilon):
                    tried += value > 0
                    assert value <= optimum
                else:
                    broken += value > optimum
    assert tried > 200
    assert broken > 100


def kappa_of(epsilon):
    """(1 + E)^2/(4 E)."""
    E = math.exp(epsilon)
    return (1 + E) ** 2 / (4 * E)


def weighted_value(V, gamma, kappa):
    """The weighted bound at gamma, in the plainest way; 0 where its G is not semidefinite."""
    n, total = len(gamma), gamma.sum()
    G = centre(np.diag(gamma) - kappa * np.outer(gamma, gamma) / total)
    if np.linalg.eigvalsh(G)[0] < -1e-12 * total:
        return 0.0
    F = factor(centre(V))
    S = np.sqrt(np.maximum(np.linalg.eigvalsh(F.T @ G @ F), 0.0)).sum()
    return V.sum() / n + n * S**2 / ((kappa - 1) * total)


def test_mixtures_of_proofs_are_valid():
    rng, n, workload = np.random.default_rng(4), 6, st.prefix(6)
    start, optimum = first_proof(Case(workload, 1.5)), exact(workload, 1.5) * (1 + 1e-6)
    for _ in range(50):
        pair = []
        for _ in range(2):
            B = rng.standard_normal((n, n))
            proof = of_matrix(replace(start, prices=np.square(B).sum(axis=1)), B @ B.T)
            pair.append(covered(proof)[0])
        mixed = between(*pair, rng.uniform(0.1, 0.9)).value
        assert min(proof.value for proof in pair) * (1 - 1e-9) <= mixed <= optimum


AWKWARD = {
    "one user type": lambda: st.histogram(1),
    "two user types": lambda: st.prefix(2),
    "total": lambda: st.total(6),
    "one query": lambda: st.explicit(np.array([[1.0, 0, 0, 1, 0, 0]])),
    "weights": lambda: st.weighted(st.prefix(6), 1e-6),
    "rank one and total": lambda: st.stack([st.total(12), st.explicit(np.arange(12.0)[None, :])]),
    "low rank": lambda: st.marginals("2^4", 1),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 50.0, 300.0])
@pytest.mark.parametrize("n", [1, 2, 3, 8, 12])
def test_bounds_are_finite_and_valid_at_the_limits_of_epsilon(n, epsilon):
    reflection = st.explicit(np.ones((1, n)) - 2 * np.eye(n)[:1])
    for workload in (st.prefix(n), st.histogram(n), st.total(n), reflection):
        response = st.evaluate(workload, st.published.randomised_response(n, epsilon)).objective
        for value in st.lower_bounds(workload, epsilon).known().values():
            assert 0 <= value <= response * (1 + ROUNDING)


@pytest.mark.sampled(3)
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 12.0])
@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_problems_have_finite_bounds_below_every_mechanism(name, epsilon):
    workload = AWKWARD[name]()
    bounds = tighten(st.lower_bounds(workload, epsilon), workload, epsilon, gap=1e-3, seconds=2)
    response = st.evaluate(
        workload, st.published.randomised_response(workload.domain_size, epsilon)
    ).objective
    for bound, value in bounds.known().items():
        assert math.isfinite(value), bound
        assert 0 <= value <= response * (1 + ROUNDING), bound
    if name == "total":
        assert bounds.best == pytest.approx(6)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("size", [8, 10])
@pytest.mark.parametrize("epsilon", [0.5, 1.5, 3.0, 5.0])
@pytest.mark.parametrize("make", [st.prefix, st.all_range])
def test_small_domains_are_certified_to_half_a_percent(make, epsilon, size):
    assert st.optimise(make(size), epsilon, solver=st.Certified()).gap <= 5e-3


def test_tightening_stops_where_there_is_no_need():
    bounds = st.lower_bounds(st.prefix(24), 3.0)
    assert tighten(bounds, st.prefix(24), 3.0, bounds.best * 1.005) == bounds
    assert tighten(bounds, st.prefix(24), 3.0, seconds=0.0) == bounds
    small = st.lower_bounds(st.prefix(8), 3.0)
    assert tighten(small, st.prefix(8), 3.0) == small


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "patterns", [np.zeros((0, 16), bool), np.ones((3, 16), bool), np.eye(16, dtype=bool)]
)
@pytest.mark.parametrize("objective", [math.inf, 170.0])
def test_useless_patterns_and_wrong_objectives_cost_time_alone(patterns, objective):
    """The optimum of prefix, n = 16, eps = 4, is between 161.5 and 162.1."""
    bounds = Bounds((Bound(RULES["closed"], 1.0),))
    found = tighten(bounds, st.prefix(16), 4.0, objective, 1e-2, 10.0, patterns)
    assert 160.0 <= found.best <= 162.1


@pytest.mark.exhaustive
@pytest.mark.parametrize(("epsilon", "gap"), [(3.0, 0.02), (4.0, 0.01)])
def test_prefix_64_is_certified_at_high_epsilon(epsilon, gap):
    """The weighted bound leaves 17 % and 35 %, the nonnegative one below 1 %."""
    solution = st.optimise(st.prefix(64), epsilon, solver=st.Certified(max_steps=15))
    assert solution.bounds.name == "nonnegative"
    assert solution.gap <= gap
    assert solution.objective > 1.15 * solution.bounds["weighted"].value


def two_level(epsilon, share):
    """Rows for one and for two of three types: six reports, of which three depend on the others."""
    T = np.vstack([np.eye(3), 1 - np.eye(3)])
    theta = np.repeat([share, 1 - share], 3)
    Q = theta[:, None] * (1 + np.expm1(epsilon) * T)
    return Q / Q.sum(axis=0)


def adaptive(W, epsilon, seed):
    """Return the bias and mean variance of an unbiased estimate whose second strategy depends on the first report."""
    rng = np.random.default_rng(seed)
    first, second = two_level(epsilon, rng.random()), [two_level(epsilon, rng.random()) for _ in range(6)]
    free = np.linalg.svd(first.T)[2][3:]  # vectors over reports whose mean is zero whatever the type
    shift = 0.1 * rng.normal(size=(len(W), 3, 3)) @ free  # (p, u, h)
    own = W @ np.linalg.pinv(first.T).T  # scores (p, h)
    later = [(W + shift[:, :, h]) @ np.linalg.pinv(second[h].T).T for h in range(6)]
    bias, variance = 0.0, 0.0
    for a in range(3):
        for b in range(3):
            chance = np.array([first[h, a] * second[h][:, b] for h in range(6)])
            answers = np.array([own[:, [h]] + later[h] for h in range(6)])  # (h, p, y)
            mean = np.einsum("hy,hpy->p", chance, answers)
            bias = max(bias, abs(mean - W[:, a] - W[:, b]).max())
            variance += np.einsum("hy,hpy->", chance, (answers - mean[None, :, None]) ** 2) / 9
    return bias, variance


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("epsilon", [0.25, 0.5, 1.0])
@pytest.mark.parametrize("make", [st.prefix, st.histogram])
def test_strategies_that_depend_on_earlier_reports_are_never_below(make, epsilon, seed):
    """Theory.md, section 4. The control: at three times the epsilon of the bound the same estimates are below."""
    W = make(3).matrix()
    least = 2 * (exact(make(3), epsilon) - (W**2).sum()) / 3
    bias, variance = adaptive(W, epsilon, seed)
    assert bias < 1e-9
    assert variance >= least
    assert adaptive(W, 3 * epsilon, seed)[1] < least
