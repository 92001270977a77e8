"""Bounds under priors and mixtures: never above a strategy, at the optimum where that is known."""

import math
from dataclasses import replace

import numpy as np
import pytest

import stratagem as st
from stratagem.bounds import Case, sdp, tighten
from stratagem.bounds.exact import exact, solve
from stratagem.bounds.formulas import pairwise_types
from stratagem.bounds.generation import covered, first_proof, of_matrix
from stratagem.bounds.nonnegative import nonnegative
from stratagem.bounds.proof import all_patterns
from stratagem.estimators import estimator
from stratagem.math.linalg import factor
from stratagem.math.privacy import check_prior
from stratagem.solvers.problem import WorstCase, WorstQuery
from tables import random_ldp_matrix

CASES = 40


def draw(i):
    """A random problem: workload, epsilon, prior (some types may be impossible) and its generator."""
    rng = np.random.default_rng([7, i])
    n, epsilon = int(rng.integers(2, 9)), float(np.exp(rng.uniform(math.log(0.1), math.log(8))))
    workload = (
        st.prefix(n) if i % 3 == 0 else st.explicit(rng.standard_normal((int(rng.integers(1, 2 * n)), n)))
    )
    p = rng.exponential(size=n) ** 2
    p[rng.permutation(n)[: i % 2]] = 0
    return workload, epsilon, check_prior(p, n), rng


@pytest.mark.sampled(3)
@pytest.mark.parametrize("i", range(CASES))
def test_no_strategy_is_below_any_bound_under_its_prior(i):
    workload, epsilon, p, rng = draw(i)
    n = workload.domain_size
    bounds = tighten(st.lower_bounds(workload, epsilon, p), workload, epsilon, prior=p)
    assert bounds.name == "exact"
    dear = {"nonnegative": nonnegative(workload, epsilon, 1.0, prior=p).value}
    if i % 8 == 0:
        dear["sdp"] = sdp(workload, epsilon, 1.0, p)
    for m in rng.integers(n, 8 * n, 25):
        strategy = st.strategies.MatrixStrategy(random_ldp_matrix(rng, int(m), n, epsilon))
        try:
            value = st.evaluate(workload, strategy, p).objective
        except st.UnsupportedWorkloadError:
            continue
        for name, bound in (bounds.known() | dear).items():
            assert value >= bound * (1 - 1e-8), name
    assert max(dear.values()) <= bounds["exact"].value * (1 + 1e-6)


def test_exact_is_the_optimum_under_a_prior_and_the_wrong_prior_is_refuted():
    """Negative control: the same bound for a uniform prior is above the optimal strategy of this one."""
    refuted = 0
    for i in range(CASES):
        workload, epsilon, p, _ = draw(i)
        n, V = workload.domain_size, workload.gram()
        if np.linalg.matrix_rank(V) < n:
            continue
        optimal = solve(1 + (math.exp(epsilon) - 1) * all_patterns(n)[1:-1], V, 1e-8, h=n * p)
        objective = float(np.trace(np.linalg.solve(optimal.information, V)))
        assert exact(workload, epsilon, prior=p) <= objective * (1 + 1e-8)
        assert exact(workload, epsilon, prior=p) * 1.001 > objective
        refuted += exact(workload, epsilon) > objective
    assert refuted > 5


def test_random_proofs_are_valid_once_prices_cover_what_patterns_lack():
    """Negative control: with the prices as they were drawn, and nothing added, many would be above the optimum."""
    before = 0
    for i in range(CASES):
        workload, epsilon, p, rng = draw(i)
        n, optimum = workload.domain_size, exact(workload, epsilon, prior=p) * (1 + 1e-6)
        start = first_proof(Case(workload, epsilon, p))
        for _ in range(10):
            B = rng.standard_normal((n, int(rng.integers(1, n + 1))))
            if rng.random() < 0.7:
                B = np.linalg.solve(np.eye(n) + 0.3 * B @ B.T, factor(workload.gram()))
            lam = np.square(B).sum(axis=1) * rng.uniform(0, 2, n) + 1e-6
            proof = of_matrix(replace(start, prices=lam), B @ B.T)
            assert covered(proof)[0].value <= optimum
            S = np.sqrt(np.maximum(np.linalg.eigvalsh(proof.factor.T @ B @ B.T @ proof.factor), 0)).sum()
            before += proof.total + S**2 / lam.sum() > optimum
    assert before > 20


@pytest.mark.sampled(5)
@pytest.mark.parametrize("i", range(0, CASES, 2))
def test_no_strategy_is_below_the_bound_of_any_mixture(i):
    workload, epsilon, p, rng = draw(i)
    n = workload.domain_size
    for problem in (
        WorstCase(workload=workload, epsilon=epsilon),
        WorstQuery(workload=workload, epsilon=epsilon, prior=p),
    ):
        mixtures = rng.dirichlet(np.full(problem.size, 0.3), 3)
        bounds = [problem.bounds]
        bounds += [problem.moved(case, case.bounds) for case in map(problem.mixed, mixtures)]
        least = max(bound.best for bound in bounds)
        for m in rng.integers(n, 8 * n, 10):
            strategy = st.strategies.MatrixStrategy(random_ldp_matrix(rng, int(m), n, epsilon))
            try:
                value = problem.value(estimator(strategy, problem.prior))
            except st.UnsupportedWorkloadError:
                continue
            assert value >= least * (1 - 1e-8)


@pytest.mark.exhaustive
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
@pytest.mark.parametrize("n", [2, 3, 6, 10])
@pytest.mark.parametrize(("make", "kind"), [(st.prefix, "worst-case"), (st.all_range, "worst-query")])
def test_worst_cases_of_small_domains_are_certified(make, n, kind, epsilon):
    assert st.optimise(make(n), epsilon, objective=kind).gap <= 0.01


@pytest.mark.exhaustive
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
@pytest.mark.parametrize("n", [4, 10])
def test_priors_are_certified(n, epsilon):
    prior = np.where(np.arange(n) == 1, 0, np.arange(1, n + 1) ** 2)
    assert st.optimise(st.prefix(n), epsilon, prior=prior).gap <= 0.01


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0, 30.0, 100.0])
def test_two_types_attain_the_pairwise_bound(epsilon):
    """Randomised response on two types, in closed form: 1/(4 sinh^2(eps/2)) for each count, 2 in all."""
    bound = pairwise_types(st.histogram(2).gram(), epsilon)
    assert bound == pytest.approx(2 * math.exp(epsilon) / math.expm1(epsilon) ** 2)
