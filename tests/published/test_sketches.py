"""Hashed reports: RAPPOR's Bloom filters and Apple's count mean sketches."""

import numpy as np
import pytest

import stratagem as st
from protocols import assert_exact, deviation
from stratagem.estimators import UnsupportedWorkloadError, evaluate
from stratagem.published import (
    count_mean_bias,
    count_mean_estimate,
    count_mean_sketch,
    hadamard_count_mean_sketch,
    rappor,
    symmetric_unary_encoding,
)
from stratagem.strategies import BloomFilters, MatrixStrategy, UnaryEncoding
from tables import assert_private


def enumerated(oracle: BloomFilters) -> tuple[MatrixStrategy, np.ndarray]:
    """The matrix of a few small filters, and all reports in the order of its rows."""
    bits = np.arange(2**oracle.bits)[:, None] >> np.arange(oracle.bits) & 1
    blocks, reports = [], []
    for cohort, F in enumerate(oracle.filters):
        one = np.where(F, oracle.p, oracle.q)
        blocks.append(np.where(bits[:, None], one, 1 - one).prod(axis=2) / oracle.cohorts)
        names = np.full(len(bits), cohort, "<u4")[:, None].view(np.uint8)
        reports.append(np.hstack([names, np.packbits(bits.astype(bool), axis=1)]))
    return MatrixStrategy(np.vstack(blocks)), np.vstack(reports)


@pytest.mark.parametrize(
    "oracle", [rappor(4, 1.0, 5, 2, 3), BloomFilters(rappor(4, 1.0, 5, 2, 3).filters, 0.7, 0.1)]
)
def test_bloom_filters_agree_with_their_matrix(oracle, rng):
    strategy, reports = enumerated(oracle)
    Q, n = strategy.matrix, oracle.domain_size
    assert strategy.epsilon == pytest.approx(oracle.epsilon)
    S = np.array([oracle.reconstruct(oracle.collect(report[None])) for report in reports])
    seen = np.eye(n) - oracle.null_space @ oracle.null_space.T
    assert S.T @ Q == pytest.approx(seen, abs=1e-9)
    A = rng.normal(size=(n, n))
    B = A + A.T
    assert oracle.second_moments(B) == pytest.approx(Q.T @ np.einsum("yi,ij,yj->y", S, B, S))
    x = rng.integers(0, 9, n)
    assert oracle.spread(x) == pytest.approx(S.T @ ((Q @ x)[:, None] * S))


def test_reports_follow_the_matrix(rng):
    """Sixteen standard errors at most over 96 reports: false alarm below 1e-9."""
    oracle = BloomFilters(rappor(4, 1.0, 5, 2, 3).filters, 0.7, 0.1)
    strategy, reports = enumerated(oracle)
    place = {bytes(report): row for row, report in enumerate(reports)}
    drawn = oracle.randomise(np.full(20_000, 2), rng)
    counts = np.bincount([place[bytes(report)] for report in drawn], minlength=len(reports))
    expected = 20_000 * strategy.matrix[:, 2]
    assert np.square((counts - expected) / np.sqrt(expected)).sum() < 96 + 8 * np.sqrt(2 * 96)


def test_rappor_estimates_with_the_stated_covariance(rng):
    """False alarm 4e-6; the control, users who moved to another value, must fail."""
    oracle, x = rappor(24, 2.0, 16, 2, 6), rng.integers(0, 400, 24)
    values = np.repeat(np.arange(24), x)
    assert oracle.null_space.shape == (24, 0)
    assert deviation(oracle, lambda: oracle.histogram(x, rng), x, 200) == (True, True)
    reports = lambda: oracle.collect(oracle.randomise(values, rng))  # noqa: E731
    assert deviation(oracle, reports, x, 60) == (True, True)
    assert not deviation(oracle, lambda: oracle.histogram(np.roll(x, 1), rng), x, 200)[0]


def test_cohorts_tell_apart_what_one_filter_confuses():
    """24 values in filters of 16 bits: one cohort cannot see all of them, six can."""
    with pytest.raises(UnsupportedWorkloadError):
        evaluate(st.histogram(24), rappor(24, 2.0, 16, 2, 1))
    assert evaluate(st.histogram(24), rappor(24, 2.0, 16, 2, 6)).objective > 0


def test_candidates_are_decoded_without_negative_counts(rng):
    """500,000 users on three of 60 values: those three are found, and others get little."""
    oracle, x = rappor(60, 3.0, 32, 2, 8), np.zeros(60, dtype=int)
    x[[3, 17, 40]] = 250_000, 150_000, 100_000
    totals = oracle.histogram(x, rng)
    found = oracle.nonnegative(totals)
    assert (found >= 0).all()
    assert set(np.argsort(found)[-3:]) == {3, 17, 40}
    few = oracle.nonnegative(totals, [3, 17, 40, 41])
    assert few == pytest.approx(x[[3, 17, 40, 41]], abs=15_000)


@pytest.mark.parametrize("epsilon", [1e-6, 0.5, 3.0, 100.0])
def test_measured_epsilon_keeps_the_budget(epsilon):
    assert rappor(30, epsilon, 16).epsilon <= epsilon
    assert count_mean_sketch(30, epsilon, 8, 9).epsilon <= epsilon
    assert_private(hadamard_count_mean_sketch(30, epsilon, 8, 9), epsilon)


def test_rappor_keeps_budgets_that_rounding_exceeds(rng):
    for epsilon in [1e-6, *rng.uniform(1e-6, 1, 75), *np.exp(rng.uniform(np.log(1e-6), 0, 75))]:
        measured = rappor(12, epsilon, 8, 2, 4).epsilon
        assert measured <= epsilon
        assert measured == pytest.approx(epsilon, rel=1e-7)


def test_rappor_published_numbers():
    """p = 3/4, q = 1/4 and two hashes: at most 4 bits differ, epsilon = 4 log 3 = 2 log 9."""
    filters = rappor(50, 1.0, 128, 2, 8).filters
    assert BloomFilters(filters, 0.75, 0.25).epsilon == pytest.approx(2 * np.log(9))


def test_a_sketch_by_least_squares_agrees_with_its_matrix(rng):
    assert_exact(count_mean_sketch(6, 1.0, 3, 4), rng)


def test_the_count_mean_estimate_has_the_stated_bias(rng):
    """With noiseless expectations of the totals, exactly; six hash functions into 4 values."""
    sketch, x = count_mean_sketch(12, 1.0, 4, 6), rng.integers(0, 1000, 12).astype(float)
    totals = [np.array([x.sum()])]
    for partition in sketch.partitions:
        oracle = partition.oracle
        assert isinstance(oracle, UnaryEncoding)
        mine = np.bincount(partition.groups, x / 6, 4)
        totals += [np.array([mine.sum()]), oracle.p * mine + oracle.q * (mine.sum() - mine)]
    estimate = count_mean_estimate(sketch, np.concatenate(totals))
    assert estimate - x == pytest.approx(count_mean_bias(sketch, x))


def test_the_count_mean_estimate_is_unbiased_over_hash_functions(rng):
    """Mean bias of 400 families within six standard errors of zero, though each one's is not small."""
    x = rng.integers(0, 1000, 12).astype(float)
    biases = np.array([count_mean_bias(count_mean_sketch(12, 1.0, 4, 6, seed), x) for seed in range(400)])
    assert (np.abs(biases.mean(axis=0)) < 6 * biases.std(axis=0) / 20).all()
    assert np.abs(biases).mean() > 100


def test_a_sketch_estimates_as_counted(rng):
    """Count mean estimates of drawn reports average to the counts plus the bias: six standard errors."""
    sketch, x = count_mean_sketch(12, 2.0, 4, 6), rng.integers(0, 1000, 12)
    estimates = np.array([count_mean_estimate(sketch, sketch.histogram(x, rng)) for _ in range(300)])
    error = estimates.mean(axis=0) - x - count_mean_bias(sketch, x)
    assert (np.abs(error) < 6 * estimates.std(axis=0) / np.sqrt(300)).all()


def test_hashing_costs_more_than_reporting_the_value_itself():
    """Least squares over eight hash functions into 16 values, against the 16 bits of the value."""
    W = st.histogram(16)
    direct = evaluate(W, symmetric_unary_encoding(16, 1.0)).objective
    assert evaluate(W, count_mean_sketch(16, 1.0, 16, 8)).objective > direct


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: rappor(8, 1.0, hashes=0), "hash functions is 0"),
        (lambda: rappor(8, 1.0, bits=2, hashes=3), "hash functions is 3"),
        (lambda: rappor(8, 1.0, cohorts=0), "cohorts is 0"),
        (lambda: BloomFilters(np.zeros((2, 3, 4)), 0.7, 0.2), "float64"),
        (lambda: BloomFilters(np.zeros((2, 3, 4), bool), 0.2, 0.7), "0 < q < p < 1"),
        (lambda: rappor(8, 1.0).dense(), "2\\^32 reports"),
        (lambda: rappor(8, 1.0).collect(np.zeros((2, 3), np.uint8)), "rows of 8 bytes"),
        (lambda: rappor(8, 1.0).collect(np.full((2, 8), 255, np.uint8)), "there are 64"),
        (lambda: rappor(8, 1.0).nonnegative(np.zeros(1 + 64 * 33), [8]), "0 to 7"),
        (lambda: count_mean_sketch(8, 1.0, width=1), "width of the sketch is 1"),
        (lambda: hadamard_count_mean_sketch(8, 1.0, width=12), "power of two"),
        (lambda: hadamard_count_mean_sketch(8, 1.0, hashes=0), "hash functions is 0"),
    ],
)
def test_refusals(make, complaint):
    with pytest.raises(ValueError, match=complaint):
        make()
