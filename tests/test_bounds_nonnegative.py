"""The nonnegative bound: its proof against all patterns one by one, and its value against the exact optimum."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import stratagem as st
from stratagem.bounds import exact, lower_bounds, tighten, tightening
from stratagem.bounds.nonnegative import Ascent, nonnegative
from stratagem.bounds.nuclear import total_term
from stratagem.bounds.proof import Proof
from stratagem.numeric.linalg import centred_factor
from stratagem.workloads.difference import centred

UNIFORM = np.full(6, 1 / 6)
PRIOR = np.array([0.05, 0.3, 0.1, 0.25, 0.0, 0.3])


def arbitrary(seed, epsilon, prior):
    """A proof of six user types from random arrays, which nobody optimised."""
    rng, workload = np.random.default_rng(seed), st.prefix(6)
    upper = np.triu(rng.random((6, 6)) * rng.choice([0.01, 1.0]), 1)
    return Proof(
        gamma=rng.random(6) + 0.1,
        avoided=upper + upper.T,
        prices=rng.normal(size=6) * rng.choice([0.1, 1.0]),
        factor=centred_factor(centred(workload, prior).gram, prior),
        total=total_term(workload, prior),
        epsilon=epsilon,
        prior=prior,
    )


def listed(proof):
    """D of a proof whose G is positive semidefinite, from all 2^n patterns one by one."""
    n, p = len(proof.gamma), UNIFORM if proof.prior is None else proof.prior
    X = np.array(list(itertools.product([0.0, 1.0], repeat=n)))
    S = 1 + (np.exp(proof.epsilon) - 1) * X
    a = n * S @ p
    A = np.eye(n) - np.outer(np.ones(n), p)
    G = A.T @ (np.diag(proof.gamma) - proof.avoided) @ A
    return proof.prices.sum() + n * ((((S @ G) * S).sum(axis=1) - a * (S @ proof.prices)) / a**2).max()


@pytest.mark.parametrize("prior", [None, PRIOR], ids=["uniform", "prior"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("seed", range(10))
def test_any_arrays_prove_no_more_than_all_patterns_allow(seed, epsilon, prior):
    proof = arbitrary(seed, epsilon, prior)
    raised = replace(proof, gamma=proof._definite())
    D = listed(raised)
    G = np.diag(raised.gamma) - raised.avoided
    S = np.sqrt(np.maximum(np.linalg.eigvalsh(proof.factor.T @ G @ proof.factor), 0)).sum()
    assert D > 0
    assert proof.total < proof.value <= proof.total + S**2 / D
    assert proof.value <= exact(st.prefix(6), epsilon, prior=prior) * (1 + 2e-7)


@pytest.mark.parametrize("prior", [None, PRIOR], ids=["uniform", "prior"])
def test_prices_that_are_too_low_are_made_good(prior):
    """Lower prices alone would make every bound better; the excess of a pattern takes more away than they give."""
    proof = Ascent.of(st.prefix(6), 2.0, prior)
    proof.run()
    for share in (0.99, 0.9, 0.5):
        assert replace(proof.best, prices=share * proof.best.prices).value < proof.best.value


CASES = {
    "prefix": st.prefix(8),
    "all-range": st.all_range(8),
    "histogram": st.histogram(8),
    "all-marginals": st.all_marginals("2^3"),
    "parity": st.parity("2^3"),
}


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0, 8.0])
@pytest.mark.parametrize("name", CASES)
def test_close_to_the_optimum_and_never_above(name, epsilon):
    optimum = exact(CASES[name], epsilon)
    found = nonnegative(CASES[name], epsilon).value
    assert optimum * (1 - 2e-3) <= found <= optimum * (1 + 2e-7)


@pytest.mark.parametrize("seed", range(12))
def test_random_queries_and_priors(seed):
    rng = np.random.default_rng(seed)
    workload, epsilon = (
        st.explicit(rng.normal(size=(int(rng.integers(1, 8)), 6))),
        float(rng.uniform(0.05, 12)),
    )
    prior = rng.dirichlet(np.ones(6)) if seed % 2 else None
    search = Ascent.of(workload, epsilon, prior)
    begun = search.best.value
    search.run()
    assert begun <= search.best.value <= exact(workload, epsilon, prior=prior) * (1 + 2e-7)


@pytest.mark.parametrize(("epsilon", "least"), [(2.0, 9145), (4.0, 2940), (8.0, 2108)])
def test_prefixes_of_64_types(epsilon, least):
    """Strategies reach 9,181, 2,942.8 and 2,109.6; the weighted bound stays at 8,960, 2,181 and 1,655."""
    assert least <= nonnegative(st.prefix(64), epsilon).value <= least * 1.004


def test_the_search_stops_where_it_is_told():
    workload = st.prefix(32)
    start = Ascent.of(workload, 4.0).best.value
    whole = nonnegative(workload, 4.0).value
    assert start <= nonnegative(workload, 4.0, seconds=0.0).value < whole
    assert nonnegative(workload, 4.0, enough=start).value < whole
    seen = []
    search = Ascent.of(workload, 4.0)
    search.run(stop=lambda bound: seen.append(bound) or len(seen) == 2)
    assert len(seen) == 2
    assert seen[0] <= seen[1] == search.best.value


def test_an_interruption_leaves_a_bound():
    def interrupted(bound):
        raise KeyboardInterrupt

    search = Ascent.of(st.prefix(16), 4.0)
    start = search.best.value
    with pytest.raises(KeyboardInterrupt):
        search.run(stop=interrupted)
    assert start < search.best.value <= 1.001 * nonnegative(st.prefix(16), 4.0).value


def test_nothing_is_left_without_the_total():
    assert nonnegative(st.total(5), 1.0).value == pytest.approx(5, rel=1e-6)


def test_tighten_computes_it_where_there_is_need():
    quick = lower_bounds(st.prefix(64), 4.0)
    tight = tighten(quick, st.prefix(64), 4.0, objective=2942.8, seconds=60)
    assert quick.nonnegative is None
    assert tight.name == "nonnegative"
    assert tight.best > 2942.8 / 1.005


def test_what_an_interruption_leaves_is_kept(monkeypatch):
    real = Ascent._descend

    def interrupted(self, smoothing, deadline):
        if smoothing < 1e-3:
            raise KeyboardInterrupt
        real(self, smoothing, deadline)

    monkeypatch.setattr(Ascent, "_descend", interrupted)
    quick = lower_bounds(st.prefix(32), 4.0)
    assert tighten(quick, st.prefix(32), 4.0, seconds=60).nonnegative > quick.best


def test_it_leaves_the_time_to_branch_and_bound_where_it_is_not_worth_it(monkeypatch):
    """Under this prior it begins far below the weighted bound: without any steps it is asked once, not 14 times."""
    stages = []
    monkeypatch.setattr(tightening, "TRIED", 0.0)
    monkeypatch.setattr(Ascent, "_descend", lambda search, smoothing, deadline: stages.append(smoothing))
    prior = np.random.default_rng(5).exponential(size=64) ** 2
    quick = lower_bounds(st.prefix(64), 3.0, prior)
    tight = tighten(quick, st.prefix(64), 3.0, seconds=3, prior=prior)
    assert len(stages) == 1
    assert tight.nonnegative < quick.best <= tight.best
