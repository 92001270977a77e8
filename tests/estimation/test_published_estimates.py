"""Estimates from the totals of protocols: unbiased, with intervals that hold, post-processed by name."""

import numpy as np
import pytest
from scipy.stats import binom

import stratagem as st
from stratagem.estimators import estimator
from stratagem.published.oracle import optimised_unary_encoding
from stratagem.strategies.stratified_protocol import Partition, StratifiedProtocol

N = 8
X = np.array([400, 300, 200, 100, 60, 30, 10, 0])
TREE = StratifiedProtocol(
    tuple(Partition(np.arange(N) // w, optimised_unary_encoding(N // w, 1.0), 1 / 3) for w in (1, 2, 4))
)
PROTOCOLS = {"unary encoding": optimised_unary_encoding(N, 1.0), "tree": TREE}
WORKLOADS = {"histogram": st.histogram(N), "prefix": st.prefix(N)}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("about", ["users", "population"])
def test_expected_totals_give_the_truth_and_its_exact_variance(protocol, name, about):
    randomiser, workload = PROTOCOLS[protocol], WORKLOADS[name]
    mean = np.mean([randomiser.histogram(X * 1000, np.random.default_rng([3, r])) for r in range(20)], axis=0)
    mean[0] = X.sum() * 1000
    found = st.estimate(randomiser, np.round(mean), workload, about=about)
    scale = np.sqrt(st.per_query_variance(workload, randomiser, X * 1000) / 20)
    assert (np.abs(found.answers - workload.answer(X * 1000)) <= 5 * scale + 1e-3 * X.sum()).all()
    exact = st.per_query_variance(workload, randomiser, X * 1000)
    if about == "population":
        answers = workload.answer(X * 1000.0)
        exact = exact + workload.matrix() ** 2 @ (X * 1000) - answers**2 / (X.sum() * 1000)
    assert np.allclose(found.standard_errors**2, exact, rtol=0.05, atol=1e-6 * exact.max())


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_intervals_cover(protocol):
    """How many of 300 independent 95 % intervals cover is binomial: a false alarm has probability 2e-6 a case.

    Intervals of half the width, the negative control, cover 67 % and must be found out.
    """
    randomiser, workload = PROTOCOLS[protocol], WORKLOADS["prefix"]
    truth, hits, narrow = workload.answer(X), 0, 0
    for r in range(300):
        found = st.estimate(randomiser, randomiser.histogram(X, np.random.default_rng([7, r])), workload)
        error = abs(found.answers[3] - truth[3])
        hits += error <= found.high[3] - found.answers[3]
        narrow += error <= (found.high[3] - found.answers[3]) / 2
    assert binom.cdf(hits, 300, 0.95) > 1e-6
    assert binom.sf(hits, 300, 0.95) > 1e-6
    assert binom.cdf(narrow, 300, 0.95) < 1e-6


@pytest.mark.parametrize("method", ["base-pos", "norm-sub", "wnnls", "maximum-entropy", "ripple"])
def test_post_processing_works_as_for_strategies(method):
    randomiser = PROTOCOLS["unary encoding"]
    found = st.estimate(
        randomiser, randomiser.histogram(X, np.random.default_rng(0)), st.histogram(N), method=method
    )
    assert (found.data >= 0).all()
    assert not found.unbiased


@pytest.mark.parametrize(
    ("totals", "words"),
    [
        (np.ones(N), "9 finite ones"),
        (np.full(N + 1, np.nan), "9 finite ones"),
        (np.zeros(N + 1), "whole number from 1"),
        (np.full(N + 1, 1.5), "whole number from 1"),
        (np.full(N + 1, "a"), "9 finite ones"),
    ],
)
def test_bad_totals_are_refused_in_a_sentence(totals, words):
    with pytest.raises(ValueError, match=words) as caught:
        estimator(PROTOCOLS["unary encoding"]).evidence(totals)
    assert "\n" not in str(caught.value)


def test_ibu_needs_counts_of_outputs():
    with pytest.raises(ValueError, match="use wnnls"):
        st.estimate(PROTOCOLS["unary encoding"], np.r_[10, np.full(N, 3)], st.histogram(N), method="ibu")


def test_a_query_that_no_view_answers_is_refused():
    halves = StratifiedProtocol((Partition(np.arange(N) // 4, optimised_unary_encoding(2, 1.0), 1.0),))
    totals = halves.histogram(X, np.random.default_rng(0))
    with pytest.raises(st.UnsupportedWorkloadError):
        st.estimate(halves, totals, st.histogram(N))
    coarse = st.explicit(np.kron(np.eye(2), np.ones(4)))
    assert st.estimate(halves, totals, coarse).answers.sum() == pytest.approx(X.sum())


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_quantiles_come_from_prefixes(protocol):
    """With over a billion users the error of a prefix is far below a cell, so that the median is certain."""
    randomiser = PROTOCOLS[protocol]
    totals = randomiser.histogram(X * 10**6, np.random.default_rng(4))
    median = st.estimate(randomiser, totals, st.histogram(N)).quantile(0.5)
    truth = int(np.searchsorted(np.cumsum(X), X.sum() / 2))
    assert (median.value, median.low, median.high) == (truth, truth, truth)
