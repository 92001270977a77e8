"""Estimates from reports of orbits and juntas: those of the matrix, and on domains that have none."""

import numpy as np
import pytest
from scipy.stats import binom

import stratagem as st
from evidences import by_tables
from stratagem.estimators import estimator
from stratagem.math.privacy import ratio
from stratagem.math.vector import SparseCounts
from stratagem.workloads.selection import SomeQueries
from translations import MIXED, TABLE, pattern


def torus(seed=3):
    rng = np.random.default_rng(seed)
    patterns = tuple(st.strategies.Pattern.of((0, 1), rng.random((3, 4)) < 0.4) for _ in range(3))
    return st.strategies.OrbitStrategy((3, 4), (3, 4), patterns, np.array([0.5, 0.3, 0.2]), 2.7)


def domain(strategy):
    return st.Domain.sized("abcdef"[: len(strategy.sizes)], strategy.sizes)


def asked(strategy):
    """Workloads that the strategy answers: every table of two attributes, or everything along one."""
    d, first = domain(strategy), strategy.sizes[0]
    if len(d.sizes) == 1:
        yield from (st.histogram(d), st.prefix(d), st.all_range(d), st.all_range(d, 3))
        yield st.explicit(np.random.default_rng(0).normal(size=(4, first)), d)
        return
    rest = [st.total({name: a}) for name, a in zip(d.names[2:], d.sizes[2:], strict=True)]
    yield st.marginals(d, 2)
    yield st.parity(d, 2)
    yield st.stack([st.weighted(st.marginals(d, 1), -2.0), st.parity(d, 1), st.total(d)])
    yield st.kron([st.prefix({"a": first}), st.all_range({"b": d.sizes[1]}), *rest])
    if strategy.outputs == 12 * 3:
        yield st.histogram(d)


STRATEGIES = {name: TABLE[name] for name in ("mixed juntas", "binary juntas", "cycle")} | {"torus": torus()}


def collected(strategy, users=3000, seed=0):
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, strategy.domain_size, users) ** 2 % strategy.domain_size
    return np.bincount(strategy.randomise(cells, rng), minlength=strategy.outputs)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("about", ["users", "population"])
def test_answers_and_errors_are_those_of_the_matrix(name, about):
    strategy = STRATEGIES[name]
    counts = collected(strategy)
    for workload in asked(strategy):
        expected = st.estimate(strategy.dense(), counts, workload, about=about)
        found = st.estimate(strategy, SparseCounts.of(counts), workload, about=about)
        np.testing.assert_allclose(found.answers, expected.answers, atol=1e-8)
        np.testing.assert_allclose(
            found.standard_errors, expected.standard_errors, rtol=1e-9, atol=1e-4, err_msg=str(workload)
        )
        some = found.some(range(0, workload.queries, 3))
        np.testing.assert_allclose(some.answers, found.answers[::3], atol=1e-8)
        np.testing.assert_allclose(some.standard_errors, found.standard_errors[::3], rtol=1e-9, atol=1e-4)


@pytest.mark.parametrize("name", STRATEGIES)
def test_some_queries_have_the_variances_that_they_have_among_all(name):
    strategy = STRATEGIES[name]
    for workload in asked(strategy):
        places = np.arange(0, workload.queries, 3)
        some = SomeQueries(workload, places)
        if isinstance(
            strategy, st.strategies.JuntaStrategy
        ):  # of a cycle some queries have no transform: refused
            rows = st.explicit(workload.matrix()[places], workload.domain)
            expected = st.evaluate(rows, strategy.dense()).objective
            np.testing.assert_allclose(st.evaluate(some, strategy).objective, expected, rtol=1e-9)
        for variances in (estimator(strategy).variances, estimator(strategy).largest):
            found, whole = variances(some), variances(workload)
            np.testing.assert_allclose(np.asarray(found), np.asarray(whole)[places], rtol=1e-9, atol=1e-9)


def test_few_reports_have_the_errors_of_the_matrix_as_well():
    """Three reports: the floor that privacy promises takes the place of most estimates."""
    for strategy in STRATEGIES.values():
        counts = collected(strategy, 3)
        for workload in asked(strategy):
            expected = st.estimate(strategy.dense(), counts, workload).standard_errors
            found = st.estimate(strategy, counts, workload).standard_errors
            np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-6)


@pytest.mark.parametrize("about", ["users", "population"])
def test_the_covariance_of_a_table_is_that_of_the_matrix(about):
    counts, d = collected(MIXED), domain(MIXED)
    found = st.estimate(MIXED, counts, st.marginals(d, 2), about=about).marginal("a", "d")
    dense = estimator(MIXED.dense()).evidence(counts)
    if about == "population":
        np.testing.assert_allclose(found.covariance(), dense.covariance(found.workload, about), rtol=1e-9)
    np.testing.assert_allclose(np.diag(found.covariance()), found.standard_errors**2, rtol=1e-9)
    cells = found.covariance()
    np.testing.assert_allclose(cells, cells.T, rtol=1e-9)
    assert np.abs(cells.sum(axis=1)).max() < 1e-8 * np.abs(cells).max(), "the total is known"


@pytest.mark.parametrize(
    "method", ["norm-sub", "wnnls", "maximum-entropy", "base-cut", "ripple", "ibu", "shrinkage"]
)
def test_post_processing_of_a_small_domain_is_that_of_the_matrix(method):
    strategy = torus()
    counts, workload = collected(strategy), st.histogram(domain(strategy))
    expected = st.estimate(strategy.dense(), counts, workload, method=method).answers
    found = st.estimate(strategy, counts, workload, method=method).answers
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_a_prior_takes_the_matrix():
    strategy = TABLE["cycle"]
    counts, prior = collected(strategy), np.arange(1.0, 8) / 28
    expected = st.estimate(strategy.dense(), counts, st.prefix(7), prior=prior)
    found = st.estimate(strategy, counts, st.prefix(7), prior=prior)
    np.testing.assert_allclose(found.answers, expected.answers)


WINDOWS = {"line": ((7,), (10,)), "torus": ((3, 4), (5, 4))}


def window(name, patterns=4):
    sizes, cycles = WINDOWS[name]
    axes = tuple(range(len(sizes)))
    some = tuple(pattern(axes, cycles, seed) for seed in range(patterns))
    return st.strategies.OrbitStrategy(sizes, cycles, some, np.full(patterns, 1 / patterns), 2.0)


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("about", ["users", "population"])
def test_short_windows_have_the_optimal_reconstruction(name, about):
    strategy = window(name)
    counts, d = collected(strategy), domain(strategy)
    line = [st.prefix(d), st.all_range(d)] if name == "line" else [st.marginals(d, 1)]
    for workload in [st.histogram(d), *line]:
        expected = st.estimate(strategy.dense(), counts, workload, about=about)
        found = st.estimate(strategy, counts, workload, about=about)
        np.testing.assert_allclose(found.answers, expected.answers, atol=1e-8)
        np.testing.assert_allclose(found.standard_errors, expected.standard_errors, rtol=1e-8, atol=1e-6)


@pytest.mark.parametrize(
    "workload", [st.histogram(7), st.prefix(7), st.all_range(7)], ids=lambda w: type(w).__name__
)
def test_long_windows_are_answered_without_bias_and_squares_are_those_of_single_reports(workload):
    """Every report with its exact probability given each user type; the same code serves windows of any length."""
    strategy = window("line")
    matrix, scale = strategy.dense().matrix, 1 << 40
    one = np.eye(strategy.outputs, dtype=np.int64)
    scores = np.stack([by_tables(strategy, report).answers(workload) for report in one], axis=1)
    np.testing.assert_allclose(scores @ matrix, workload.matrix(), atol=1e-9)
    for u in range(7):
        counts = np.round(matrix[:, u] * scale).astype(np.int64)
        variances = by_tables(strategy, counts).variances(workload) / counts.sum()
        exact = scores**2 @ matrix[:, u] - workload.matrix()[:, u]
        np.testing.assert_allclose(variances, exact, rtol=1e-6, atol=1e-9)


def test_prefixes_of_a_long_window_use_the_gap():
    """At 5,000 values errors are below 0.6 of the squares of the plain estimator, and intervals cover."""
    n, cycle = 5000, 8000
    rng = np.random.default_rng(0)
    smooth = 1 / np.maximum(np.arange(cycle // 2 + 1), 1) ** 0.7
    fields = (np.fft.irfft(smooth * np.fft.rfft(rng.normal(size=cycle)), cycle) for _ in range(12))
    patterns = tuple(st.strategies.Pattern.of((0,), field > np.quantile(field, 0.73)) for field in fields)
    strategy = st.strategies.OrbitStrategy((n,), (cycle,), patterns, np.full(12, 1 / 12), np.e)
    values = (rng.beta(2, 5, 100_000) * n).astype(int)
    found = st.estimate(strategy, reported(strategy, values, rng), st.prefix(n), confidence=0.9999)
    plain = np.cumsum(found.ask(st.histogram(n)).answers)
    rows = found.ask(st.explicit(np.tri(n)[::500])).standard_errors
    assert np.square(found.standard_errors[::500]).mean() < 0.6 * np.square(rows).mean()
    true = np.cumsum(np.bincount(values, minlength=n))
    assert np.square(found.answers - true).mean() < np.square(plain - true).mean()
    assert ((found.low <= true) & (true <= found.high))[::500].all(), "ten intervals: a false alarm in 1,000"
    assert found.quantile(0.5).low <= np.median(values) <= found.quantile(0.5).high


def reported(strategy, values, rng):
    """Return the sparse counts of one report a user."""
    came, counts = np.unique(strategy.randomise(values, rng), return_counts=True)
    return SparseCounts(came, counts, strategy.outputs)


def hundred(epsilon, seed=0):
    """Return juntas on 100 binary attributes."""
    rng = np.random.default_rng(seed)
    patterns = tuple(st.strategies.Pattern.of((0,) * j, rng.random((2,) * j) < 0.3) for j in (4, 5, 6))
    return st.strategies.JuntaStrategy(
        (2,) * 100, (tuple(range(100)),), patterns, np.full(3, 1 / 3), ratio(epsilon)
    )


def misses(collections, strategy):
    """Return how many 95 % intervals, on disjoint pairs of a hundred attributes, miss the truth."""
    missed, both = 0, np.cumsum([0, *range(99, 0, -1)])[0:100:2] * 4 + 3  # cell 1, 1 of a1 x a2, a3 x a4, ...
    for values, reports in collections:
        found = st.estimate(strategy, reports, st.marginals("2^100", 2))
        true = (values[:, ::2] & values[:, 1::2]).sum(axis=0)
        missed += np.count_nonzero((true < found.low[both]) | (true > found.high[both]))
    return missed


@pytest.mark.exhaustive
def test_intervals_cover_on_a_hundred_attributes():
    """200 intervals at 95 %, nearly independent: a false alarm once in 100,000; a wrong epsilon is noticed."""
    strategy, rng = hundred(1.0), np.random.default_rng(5)
    values = [(rng.random((60_000, 100)) < rng.random(100)).astype(int) for _ in range(4)]
    collections = [(one, reported(strategy, one, rng)) for one in values]
    missed = misses(collections, strategy)
    assert binom.sf(missed - 1, 200, 0.05) > 5e-6
    assert binom.cdf(missed, 200, 0.05) > 5e-6
    assert binom.sf(misses(collections, hundred(3.0)) - 1, 200, 0.05) < 5e-6, "the control"


def test_categorical_attributes_of_mixed_sizes():
    """All 5,715 cells of pairs within 6 standard errors of the truth: a false alarm once in 80,000 tests."""
    sizes, rng = (100, 2, 12, 7, 2), np.random.default_rng(2)
    groups = ((0,), (1, 4), (2,), (3,))
    axes = [(0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (1, 3), (2, 3)]
    cycle = {0: 100, 1: 2, 2: 12, 3: 7}
    patterns = tuple(st.strategies.Pattern.of(a, rng.random([cycle[g] for g in a]) < 0.3) for a in axes)
    strategy = st.strategies.JuntaStrategy(sizes, groups, patterns, np.full(7, 1 / 7), np.e)
    values = np.stack([rng.integers(0, a, 100_000) * rng.integers(0, 2, 100_000) for a in sizes], axis=1)
    counts = np.bincount(strategy.randomise(values, rng), minlength=strategy.outputs)
    workload = st.marginals(dict(zip("abcde", sizes, strict=True)), 2)
    found = st.estimate(strategy, counts, workload)
    true = [
        np.bincount(values[:, i] * sizes[k] + values[:, k], minlength=sizes[i] * sizes[k])
        for i in range(5)
        for k in range(i + 1, 5)
    ]
    z = (found.answers - np.concatenate(true)) / found.standard_errors
    assert np.abs(z).max() < 6
    assert np.std(z) == pytest.approx(1, abs=0.2)


def line(n, seed=0):
    """Return an orbit on a cycle of n points: smoothed noise at several scales."""
    rng = np.random.default_rng(seed)
    smooth = [1 / np.maximum(np.arange(n // 2 + 1), 1) ** a for a in (0.5, 0.7, 0.9)]
    fields = (np.fft.irfft(smooth[k % 3] * np.fft.rfft(rng.normal(size=n)), n) for k in range(12))
    patterns = tuple(st.strategies.Pattern.of((0,), field > np.quantile(field, 0.73)) for field in fields)
    return st.strategies.OrbitStrategy((n,), (n,), patterns, np.full(12, 1 / 12), np.e)


def test_quantiles_of_65536_values():
    """Both quartiles and the median inside their 99.99 % intervals, which a shifted truth leaves."""
    n, strategy, rng = 1 << 16, line(1 << 16), np.random.default_rng(1)
    values = (rng.beta(2, 5, 400_000) * n).astype(int)
    found = st.estimate(strategy, reported(strategy, values, rng), st.prefix(n), confidence=0.9999)
    for share in (0.25, 0.5, 0.75):
        true, quantile = np.quantile(values, share, method="inverted_cdf"), found.quantile(share)
        assert quantile.low <= true <= quantile.high
        assert not quantile.low <= (true + n // 3) % n <= quantile.high, "the control"
        assert quantile.high - quantile.low < n // 4


@pytest.mark.parametrize("n", [64, 4096])
def test_errors_along_a_line_agree_with_the_general_formula(n):
    strategy = line(n)
    counts = collected(strategy)
    rows = np.zeros((3, n))
    rows[0, :5], rows[1, n // 3 : n // 2], rows[2] = 1, 1, 1
    for about in ("users", "population"):
        found = st.estimate(strategy, counts, st.explicit(rows), about=about).standard_errors
        below = st.estimate(strategy, counts, st.prefix(n), about=about).standard_errors
        ranges = st.estimate(strategy, counts, st.all_range(n, 5), about=about).standard_errors
        np.testing.assert_allclose(found[[0, 2]], below[[4, n - 1]], rtol=1e-6, atol=1e-3)
        np.testing.assert_allclose(found[0], ranges[-(n - 4)], rtol=1e-6)


def test_bad_input_is_refused_in_a_sentence():
    counts, d = collected(MIXED), domain(MIXED)
    never = st.strategies.JuntaStrategy(
        MIXED.sizes, MIXED.groups, MIXED.patterns, np.array([0.5, 0.5, 0.0]), np.e
    )
    for given, words in [
        (counts[:-1], "one count for each"),
        (-counts, "whole numbers from 0"),
        (counts * 0, "1 to 2\\^53"),
        (counts / 2, "counts"),
        (SparseCounts(np.array([0]), np.array([1]), 7), "outputs were given"),
        (SparseCounts(np.zeros(0, dtype=int), np.zeros(0, dtype=int), MIXED.outputs), "1 to 2\\^53"),
    ]:
        with pytest.raises(ValueError, match=words):
            st.estimate(MIXED, given, st.marginals(d, 2))
    with pytest.raises(ValueError, match="never makes"):
        st.estimate(never, counts, st.marginals(d, 2))
    with pytest.raises(st.UnsupportedWorkloadError, match="combination of values of a, b, c, d"):
        st.estimate(MIXED, counts, st.marginals(d, 4))
    with pytest.raises(ValueError, match="same domain"):
        st.estimate(MIXED, counts, st.histogram(72))


def test_what_needs_the_whole_domain_is_refused_in_a_sentence():
    strategy, total = hundred(1.0), st.total("2^100")
    nine = SparseCounts(np.array([0]), np.array([9]), strategy.outputs)
    big = st.estimate(strategy, nine, total)
    assert big.answers == pytest.approx([9])
    for ask in (lambda: big.data, lambda: big.ask(st.marginals("2^100", 1)).covariance()):
        with pytest.raises(ValueError, match="ask for"):
            ask()
    for method, words in [
        ("wnnls", "wnnls was asked for"),
        ("ibu", "too large"),
        ("norm-sub", "use unbiased"),
    ]:
        with pytest.raises(ValueError, match=words):
            st.estimate(strategy, nine, total, method=method)


def test_some_of_many_answers_are_computed_alone_and_are_the_same():
    n = 200
    strategy, _ = st.solvers.Orbit(patterns=4).solve(st.all_range(n), 1.0)
    counts = np.random.default_rng(5).multinomial(3000, np.full(strategy.outputs, 1 / strategy.outputs))
    few, chosen = st.estimate(strategy, counts, st.all_range(n)), [0, 777, n * (n + 1) // 2 - 1]
    whole = st.estimate(strategy, counts, st.all_range(n)).table()
    shown = few.table(chosen)
    assert "standard_errors" not in vars(few)
    for one, query in zip(shown, chosen, strict=True):
        assert one[:2] == whole[query][:2]
        assert one[2:] == pytest.approx(whole[query][2:], rel=1e-9, abs=1e-6)
    together = few.together()
    assert together.table(chosen)[1][2:] == pytest.approx(together.table()[777][2:], rel=1e-9)
