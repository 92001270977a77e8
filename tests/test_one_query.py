"""One query: its optimal randomiser against an independent linear programme, and its exact pricing."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_array, hstack, identity, kron, vstack

import stratagem as st
from stratagem.bounds import Duals, linear
from stratagem.bounds.linear import GROUPS, linear_dual
from stratagem.bounds.sweep import peaks
from stratagem.numeric.linalg import rank_one_factor
from stratagem.solvers import Problem, search

LEAST = {(16, 1.0): 0.9780, (16, 4.0): 0.02711, (32, 1.0): 0.9753}
"""Variance per user of values evenly spaced in [0, 1]; a search among patterns got 1.0762, 0.0315 and 1.0483."""


def evenly(n):
    """Return the query of n values in [0, 1]."""
    return st.explicit([np.linspace(0, 1, n)])


def variances(solution):
    """Return the variance per user under the solution's prior, and the bound of the linear programme on it."""
    n, offset = solution.workload.domain_size, solution.aim.offset
    return (solution.objective - offset) / n, (solution.bounds.linear - offset) / n


@pytest.mark.parametrize("case", LEAST, ids=str)
def test_the_published_optimum_is_reached(case):
    n, epsilon = case
    solution = st.optimise(evenly(n), epsilon)
    assert solution.accuracy.average_variance <= LEAST[case]
    assert solution.gap <= 1e-3
    assert (solution.solver, solution.bounds.name) == ("OneQuery", "linear")
    assert solution.strategy.epsilon <= epsilon
    assert np.abs(solution.strategy.matrix.sum(axis=0) - 1).max() <= 1e-12


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0, 8.0])
def test_a_thousand_values_are_told_apart_only_at_the_end(epsilon):
    solution = st.optimise(evenly(1024), epsilon)
    assert solution.gap <= 1e-3
    assert solution.strategy.epsilon <= epsilon
    variance, bound = variances(solution)
    assert variance <= (1.0015 if epsilon <= 4 else 1.02) * bound


def judge(w, p, epsilon, answers):
    """Return min sum_u p_u E[(y - w_u)^2] over unbiased epsilon-LDP randomisers with these answers, by HiGHS."""
    n, K, E = len(w), len(answers), math.exp(epsilon)
    cost = np.concatenate([np.outer(p, np.square(answers)).ravel(), np.zeros(K)])
    each = kron(identity(n), np.vstack([np.ones(K), answers]))
    moments = hstack([each, coo_array((2 * n, K))])
    stacked = kron(np.ones((n, 1)), identity(K))
    limits = vstack([hstack([-identity(n * K), stacked]), hstack([identity(n * K), -E * stacked])])
    wanted = np.column_stack([np.ones(n), w]).ravel()
    done = linprog(cost, limits.tocsr(), np.zeros(2 * n * K), moments.tocsr(), wanted, method="highs")
    assert done.status == 0
    return done.fun - p @ w**2


def drawn(seed):
    """Return values, a prior with zeros in every second case, and a budget."""
    rng = np.random.default_rng(seed)
    n, epsilon = int(rng.integers(3, 13)), float(rng.uniform(0.3, 3.5))
    p = rng.dirichlet(np.ones(n))
    p[0 if seed % 2 else n :] = 0 if seed % 4 == 3 else p[0 if seed % 2 else n :]
    p[: seed % 2] = 0
    return rng.uniform(-2, 5, n), (p if p.any() else np.ones(n)) / (p.sum() or n), epsilon


@pytest.mark.parametrize("seed", range(30))
def test_an_independent_linear_programme_agrees(seed):
    """Badanidiyuru et al., NeurIPS 2023: the optimum over 241 outputs is above the optimum by a grid's width."""
    w, p, epsilon = drawn(seed)
    found, bound = variances(st.optimise(st.explicit([w]), epsilon, prior=p))
    half = (w.max() - w.min()) / 2
    grid = (w.max() + w.min()) / 2 + half / math.tanh(epsilon / 4) * np.linspace(-1.5, 1.5, 241)
    truth = judge(w, p, epsilon, grid)
    assert bound <= found * (1 + 1e-9)
    assert bound <= truth * (1 + 1e-9)
    assert found == pytest.approx(truth, rel=1e-3)
    assert bound == pytest.approx(truth, rel=1.5e-3)


def test_the_judge_tells_priors_apart():
    """The negative control: the strategy for another prior is not within the tolerance of the one asked for."""
    w, p, epsilon = drawn(0)
    solution = st.optimise(st.explicit([w]), epsilon)
    value = st.evaluate(solution.workload, solution.strategy, p).per_type @ p
    assert value > 1.005 * variances(st.optimise(solution.workload, epsilon, prior=p))[0]


@pytest.mark.parametrize("seed", range(20))
def test_peaks_are_the_largest_excess_of_all_patterns(seed):
    rng = np.random.default_rng(seed)
    n, E = int(rng.integers(1, 8)), math.exp(rng.uniform(0.1, 3))
    prices, h = rng.standard_normal((n, 2)), rng.dirichlet(np.ones(n)) * (rng.random(n) < 0.8)
    h = h if h.any() else np.ones(n)
    t, values = peaks(prices, h, E)
    s = np.array(list(itertools.product([1.0, E], repeat=n)))
    assert values.max() == pytest.approx(
        (s @ prices[:, 0] + (s @ prices[:, 1]) ** 2 / (4 * s @ h)).max(), rel=1e-9
    )
    c = prices @ np.vstack([np.ones_like(t), t]) - np.outer(h, t**2)
    np.testing.assert_allclose(values, (c + (E - 1) * np.maximum(c, 0)).sum(axis=0), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 3.0, 8.0])
def test_one_predicate_is_binary_randomised_response(epsilon):
    """Types that no query tells apart answer alike; the variance of a bit is E/(E - 1)^2 at best."""
    W = st.explicit([np.eye(20)[3]])
    found = variances(st.optimise(W, epsilon))[0]
    assert found == pytest.approx(math.exp(epsilon) / math.expm1(epsilon) ** 2, rel=1e-3)


@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_multiples_and_the_total_are_one_query(epsilon):
    w = np.linspace(-1, 3, 9) ** 2
    alone = variances(st.optimise(st.explicit([w]), epsilon))[0]
    several = st.explicit([3 * w + 1, w - 2, np.full(9, 5.0), 0 * w + 1])
    assert variances(st.optimise(several, epsilon))[0] == pytest.approx(10 * alone, rel=1e-3)


@pytest.mark.parametrize("objective", ["worst-case", "worst-query"])
def test_other_objectives_keep_their_bounds(objective):
    solution = st.optimise(evenly(6), 1.0, st.Auto(max_seconds=2.0), objective=objective)
    assert solution.objective >= solution.lower_bound * (1 - 1e-9)


OTHERS = {
    "two queries": st.explicit([[0, 1, 2, 3], [0, 1, 4, 9]]),
    "prefix": st.prefix(8),
    "total": st.total(8),
    "one type": st.explicit([[3.0]]),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_queries_are_refused(name):
    assert linear(OTHERS[name], 1.0) is None
    with pytest.raises(ValueError, match=r"OneQuery was given .* use st.Auto\(\) or st.Certified\(\)"):
        search(st.OneQuery(), Problem(OTHERS[name], 1.0, 0.0))


def test_a_limit_of_outputs_goes_to_a_solver_that_keeps_it():
    solution = st.optimise(evenly(16), 1.0, st.Auto(outputs=20, max_seconds=3.0))
    assert solution.strategy.outputs <= 20
    assert solution.solver != "OneQuery"


def test_a_wrong_gap_is_refused():
    with pytest.raises(ValueError, match="gap is -1; give a number of at least 0"):
        st.OneQuery(gap=-1)


def test_rank_one_is_seen_in_the_gram_matrix():
    w = np.array([3.0, -1.0, 0.5])
    np.testing.assert_allclose(np.outer(f := rank_one_factor(np.outer(w, w)), f), np.outer(w, w))
    assert rank_one_factor(np.outer(w, w) + 1e-6 * np.eye(3)) is None


def test_dual_solutions_are_computed_once(monkeypatch):
    calls = []
    monkeypatch.setattr(
        "stratagem.bounds.duals.linear_dual", lambda *given: calls.append(given) or linear_dual(*given)
    )
    solution = st.optimise(evenly(16), 1.0)
    assert len(calls) == 1
    assert solution.bounds.linear == linear(evenly(16), 1.0)
    assert Duals(evenly(GROUPS + 9), 1.0).linear.value > 0
