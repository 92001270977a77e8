"""An upper bound on the variance of every prefix of many, checked one by one on few values; and one cell for all."""

import numpy as np
import pytest

import stratagem as st
from stratagem.estimators import estimator
from stratagem.estimators.translation.largest import largest_of_kinds
from stratagem.estimators.translation.line import Window
from stratagem.estimators.translation.orbit import _levels
from stratagem.estimators.translation.transformed import half_eigenvalues, largest_of_prefixes
from stratagem.workloads.selection import SomeQueries

LOOSEST = {0.5: 1.4, 1.0: 1.8, 3.0: 9.0}
"""How many times the largest variance the bound is here, at most, by epsilon."""


def one_by_one(strategy):
    """Return the variance (n, n) of every prefix at every user type, report by report."""
    n, N = strategy.domain_size, strategy.cycles[0]
    m = half_eigenvalues(strategy)
    window, moments = Window(n, N, m), np.zeros((n, n))
    for chance, x in _levels(strategy):
        answers = np.fft.irfft(np.fft.rfft(x / x.sum()) / m, N)
        for g in range(N):
            scores = window.answers(np.roll(answers, g))
            moments += chance * np.outer(np.square(scores), x[(np.arange(n) - g) % N] / x.sum())
    return moments - (np.arange(n)[:, None] >= np.arange(n))


@pytest.mark.parametrize("epsilon", LOOSEST)
@pytest.mark.parametrize("n", [7, 13, 40])
def test_it_is_no_smaller_than_any_and_not_much_larger(n, epsilon):
    strategy, _ = st.solvers.Orbit(patterns=6).solve(st.prefix(n), epsilon)
    exact, bound = one_by_one(strategy), largest_of_prefixes(st.prefix(n), strategy)
    rounding = 1e-9 * exact.max()
    assert (bound >= exact.max(axis=1) - rounding).all()
    assert bound.max() <= LOOSEST[epsilon] * exact.max()
    assert (bound / LOOSEST[epsilon] < exact.max(axis=1) - rounding).any()  # one that small would be seen


@pytest.mark.sampled(1)
def test_many_prefixes_have_it_and_their_people_needed():
    W = st.weighted(st.prefix(3000), 2.0)
    strategy, accuracy = st.solvers.Orbit(patterns=4).solve(W, 1.0)
    found = estimator(strategy).worst(W)
    assert found > accuracy.worst_case_variance / 3000
    assert found == pytest.approx(estimator(strategy).largest(W).max())
    assert found == pytest.approx(4 * largest_of_prefixes(st.prefix(3000), strategy).max())


@pytest.mark.parametrize("domain", ["2^6", "a=3,b=4,c=2"])
def test_one_cell_of_a_table_stands_for_all(domain):
    W = st.marginals(domain, 2)
    strategy = st.optimise(W, 1.0, st.solvers.Junta(max_steps=2)).strategy
    written = estimator(strategy.dense()).largest(W)
    assert estimator(strategy).worst(W) == pytest.approx(written.max(), rel=1e-9)
    assert largest_of_kinds(W, strategy) == pytest.approx(written.max(), rel=1e-9)
    some = SomeQueries(W, np.array([0, W.queries - 1]))
    assert estimator(strategy).largest(some) == pytest.approx(written[[0, -1]], rel=1e-9)
