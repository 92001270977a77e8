"""The post-processing that is recommended: never worse than raw answers; what does not fit queries is refused."""

from functools import cache

import numpy as np
import pytest
from test_simulation import delays

import stratagem as st
from evidences import draw
from stratagem.estimation.postprocessing import CLOSE, METHODS, RECOMMENDED
from stratagem.estimation.working_set import CELLS, UNORDERED
from stratagem.math.vector import SparseCounts

N, REPETITIONS = 64, 60
MARGIN = 0.05
"""Share of the raw squared error by which a method may be worse without being caught."""
SURE = 5.0
"""Standard errors: a normal mean is above its expectation by more once in 3.5 million."""
WORKLOADS = {
    "histogram": st.histogram(N),
    "prefix": st.prefix(N),
    "all-range": st.all_range(N),
    "marginals": st.marginals("2^6", 2),
    "all-marginals": st.all_marginals("2^6"),
}
EPSILONS = (0.5, 1.0, 4.0)
USERS = {
    "real delays": np.round(delays() / 4).astype(int),
    "peak": np.floor(9000 * np.exp(-(((np.arange(N) - 12) / 6) ** 2))).astype(int),
    "even": np.full(N, 300),
}
PIECEMEAL = ("base-pos", "base-cut", "norm-cut", "norm-sub", "simplex", "ripple")
ORDERED = ("prefix", "all-range")


def mechanism(name: str, epsilon: float) -> st.strategies.Strategy:
    return (st.published.hierarchical if name in ORDERED else st.published.hadamard_response)(N, epsilon)


@cache
def collected(name: str, epsilon: float, users: str) -> tuple[st.Workload, np.ndarray, list[st.Estimate]]:
    W, Q, x = WORKLOADS[name], mechanism(name, epsilon), USERS[users]
    return W, x, [st.estimate(Q, counts, W) for counts in draw(Q, x, REPETITIONS, seed=11).T]


def squares(name: str, epsilon: float, users: str, method: str) -> tuple[np.ndarray, np.ndarray]:
    """Total squared errors of the raw and of the processed answers, one pair a collection."""
    W, x, raws = collected(name, epsilon, users)
    V = W.gram()
    pairs = [(raw.data - x, METHODS[method].process(raw.evidence, W) - x) for raw in raws]
    raw, processed = (np.array([d @ V @ d for d in deviations]) for deviations in zip(*pairs, strict=True))
    return raw, processed


def proved_no_worse(raw: np.ndarray, processed: np.ndarray) -> bool:
    """Whether the mean of processed - raw is below the margin by five standard errors."""
    apart = processed - raw
    error = apart.std(ddof=1) / np.sqrt(len(apart))
    return apart.mean() + SURE * error <= MARGIN * raw.mean()


@pytest.mark.sampled(8)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", WORKLOADS)
def test_what_is_recommended_is_never_worse_than_raw_answers(name, epsilon):
    """It is a projection of the answers onto a convex set that holds the truth, so sure in every collection."""
    for users in USERS:
        W, _, raws = collected(name, epsilon, users)
        found = st.estimate(mechanism(name, epsilon), raws[0].evidence.counts, W, method=RECOMMENDED)
        raw, processed = squares(name, epsilon, users, found.method.name)
        assert (np.sqrt(processed) <= np.sqrt(raw) + 10 * CLOSE * np.sqrt(raw.mean())).all()
        assert proved_no_worse(raw, processed)
        assert (found.data >= 0).all()


@pytest.mark.parametrize("name", ORDERED)
@pytest.mark.parametrize("method", ["norm-sub", "base-pos", "base-cut"])
def test_the_control_single_cells_spoil_prefixes_and_ranges(name, method):
    raw, processed = squares(name, 1.0, "peak", method)
    assert not proved_no_worse(raw, processed)
    assert processed.mean() > 2 * raw.mean()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", WORKLOADS)
def test_methods_are_refused_where_they_do_not_fit(name, method):
    W, _, raws = collected(name, 1.0, "even")
    ask = raws[0].evidence.estimator.strategy, raws[0].evidence.counts, W
    fits = method not in PIECEMEAL or name == "histogram"
    fits &= method != "ibu" or name not in ORDERED
    if fits:
        assert st.estimate(*ask, method=method).method.name == method
        return
    with pytest.raises(
        ValueError, match=rf"^{method} was asked for, but fits .*: use wnnls, .*recommended"
    ) as no:
        st.estimate(*ask, method=method)
    assert "\n" not in str(no.value)


def test_histograms_are_told_by_their_gram_matrix():
    """Weights, a known total and other names of the same queries change nothing; unequal weights do."""
    alike = [
        st.histogram("2^3"),
        st.weighted(st.histogram(5), 3.0),
        st.stack([st.histogram(5), st.total(5)]),
        st.parity("2^3"),
        st.explicit(np.eye(4)[::-1]),
    ]
    others = [
        st.prefix(3),
        st.explicit(np.diag([1.0, 2.0, 1.0])),
        st.marginals("2^100", 2),
        st.histogram(1 << 15),
    ]
    assert [CELLS.holds(W) for W in alike] == [True] * 5
    assert [CELLS.holds(W) for W in others] == [False, False, False, True]
    assert [UNORDERED.holds(W) for W in (st.marginals("2^100", 2), st.prefix(9))] == [True, False]


def test_other_questions_are_processed_anew():
    """Quantiles of a histogram come from the nearest prefixes; norm-sub has none to give."""
    Q, x = mechanism("histogram", 1.0), USERS["peak"]
    counts = draw(Q, x, 2, seed=3)[:, 0]
    found = st.estimate(Q, counts, WORKLOADS["histogram"], method=RECOMMENDED)
    direct = st.estimate(Q, counts, WORKLOADS["prefix"], method=RECOMMENDED)
    asked = found.ask(WORKLOADS["prefix"])
    assert asked.answers == pytest.approx(direct.answers)
    assert found.quantile(0.5) == direct.quantile(0.5)
    assert np.diff(asked.answers).min() >= 0
    piecemeal = st.estimate(Q, counts, WORKLOADS["histogram"], method="norm-sub")
    with pytest.raises(ValueError, match=r"norm-sub was asked for, but fits .*use wnnls"):
        piecemeal.quantile(0.5)
    assert piecemeal.raw().quantile(0.5) == st.estimate(Q, counts, WORKLOADS["histogram"]).quantile(0.5)


def test_domains_too_large_for_a_data_vector_keep_unbiased_answers():
    W = st.marginals("2^40", 1)
    strategy = st.optimise(W, 1.0).strategy
    users = np.zeros((50, 40), dtype=int)
    reports = strategy.randomise(users, np.random.default_rng(0))
    outputs, counts = np.unique(reports, return_counts=True)
    sparse = SparseCounts(outputs, counts, strategy.outputs)
    found = st.estimate(strategy, sparse, W, method=RECOMMENDED)
    assert found.unbiased
    assert found.answers == pytest.approx(st.estimate(strategy, sparse, W).answers)
