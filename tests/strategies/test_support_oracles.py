"""Oracles that support sets: four probabilities give every variance."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import stratagem as st
from protocols import assert_client, assert_exact, deviation
from stratagem.estimators import estimator, evaluate
from stratagem.published import (
    local_hashing,
    optimised_unary_encoding,
    subset_selection,
    symmetric_unary_encoding,
    thresholded_histogram_encoding,
)
from stratagem.published.oracle import best_threshold
from stratagem.strategies import LocalHashing, SubsetSelection, UnaryEncoding
from stratagem.strategies.two_level import bernoulli

BUDGETS = [1e-6, 0.1, 1.0, 3.0, 20.0, 40.0, 300.0]
UNARY = {
    "OUE": optimised_unary_encoding,
    "SUE": symmetric_unary_encoding,
    "THE": thresholded_histogram_encoding,
}
SETS = {**UNARY, "SS": subset_selection}
ORACLES = {**SETS, "OLH": local_hashing, "BLH": lambda n, epsilon: local_hashing(n, epsilon, 2)}


@pytest.mark.parametrize("n", [2, 3, 9])
@pytest.mark.parametrize("make", SETS.values(), ids=SETS)
def test_four_probabilities_agree_with_the_matrix(make, n, rng):
    assert_exact(make(n, 1.0), rng)


@pytest.mark.parametrize(("n", "k"), [(2, 1), (5, 1), (5, 4), (8, 3), (9, 5)])
def test_subsets_of_every_size_agree_with_the_matrix(n, k, rng):
    assert_exact(subset_selection(n, 2.0, k), rng)


@pytest.mark.parametrize("g", [2, 3])
def test_local_hashing_has_the_moments_of_all_hash_functions(g):
    """Against the matrix of every function from 4 values to g, which is what the family stands for."""
    n, oracle = 4, local_hashing(4, 1.3, g)
    tables = np.array(list(product(range(g), repeat=n)))
    supported = (tables[:, None, :] == np.arange(g)[:, None]).reshape(-1, n)
    Q = np.where(supported, oracle.p, (1 - oracle.p) / (g - 1)) / len(tables)
    assert np.log(Q.max(axis=1) / Q.min(axis=1)).max() == pytest.approx(oracle.epsilon)
    S = (supported - oracle.other) / (oracle.p - oracle.other)
    assert S.T @ Q == pytest.approx(np.eye(n))
    B = np.arange(16.0).reshape(4, 4)
    B = B + B.T
    assert oracle.second_moments(B) == pytest.approx(Q.T @ np.einsum("yi,ij,yj->y", S, B, S))
    x = np.array([3, 0, 5, 1])
    assert oracle.spread(x) == pytest.approx(S.T @ ((Q @ x)[:, None] * S))


@pytest.mark.parametrize("epsilon", BUDGETS)
@pytest.mark.parametrize("name", ORACLES)
def test_measured_epsilon_keeps_the_budget(name, epsilon):
    """It equals the budget while double precision can tell p from one, but for the threshold's slack."""
    measured = ORACLES[name](16, epsilon).epsilon
    assert measured <= epsilon
    if name != "THE" and epsilon <= 20:
        assert measured == pytest.approx(epsilon, rel=1e-6)


@pytest.mark.parametrize("make", SETS.values(), ids=SETS)
def test_reports_follow_the_matrix(make, rng):
    """False alarm 3e-6."""
    assert_client(make(4, 1.0), rng.integers(0, 3, 30_000), rng)


@pytest.mark.parametrize(("n", "k"), [(9, 1), (9, 8), (20, 2)])
def test_subsets_of_every_size_follow_the_matrix(n, k, rng):
    """False alarm 1e-6; 2 of 20 starts with few bits."""
    assert_client(subset_selection(n, 1.0, k), np.full(20_000, 1), rng)


@pytest.mark.parametrize("name", ORACLES)
def test_client_and_counts_estimate_with_the_stated_covariance(name, rng):
    """False alarm 4e-6; the controls, a type that gains 400 users and a noisier oracle, must fail."""
    n, x = 41, rng.integers(0, 200, 41)
    oracle, values = ORACLES[name](n, 1.0), np.repeat(np.arange(n), x)
    client, counts = 60, 150
    assert deviation(oracle, lambda: oracle.histogram(x, rng), x, counts) == (True, True)
    reports = lambda: oracle.collect(oracle.randomise(values, rng))  # noqa: E731
    assert deviation(oracle, reports, x, client) == (True, True)
    wrong = np.where(np.arange(n) == x.argmax(), x + 400, x)
    assert not deviation(oracle, lambda: oracle.histogram(wrong, rng), x, counts)[0]
    noisier = lambda: oracle.histogram(x, rng) + rng.normal(0, 20, n + 1)  # noqa: E731
    assert not deviation(oracle, noisier, x, counts)[1]


@pytest.mark.parametrize("q", [0.0, 1e-9, 1e-4, 0.11, 0.5, 0.987])
def test_random_bits_have_their_probability(q, rng):
    """Six standard deviations: false alarm 2e-9."""
    n, rows = 77, 20_000
    bits = np.unpackbits(bernoulli(rows, n, q, rng), axis=1)
    assert not bits[:, n:].any()
    assert abs(bits.sum() - rows * n * q) <= 6 * np.sqrt(rows * n * q * (1 - q)) + 1
    pairs = (bits[:, 1:n] & bits[:, : n - 1]).sum()
    assert abs(pairs - rows * (n - 1) * q * q) <= 6 * np.sqrt(3 * rows * n * q * q) + 1


@pytest.mark.parametrize("name", ORACLES)
def test_totals_of_two_collections_add(name, rng):
    oracle = ORACLES[name](11, 2.0)
    reports = oracle.randomise(rng.integers(0, 11, 700), rng)
    assert (oracle.collect(reports[:300]) + oracle.collect(reports[300:]) == oracle.collect(reports)).all()


def test_hash_values_are_those_of_the_polynomial(rng):
    oracle = local_hashing(100, 1.0, 5)
    reports = oracle.randomise(rng.integers(0, 100, 300), rng)
    a, b, c, y = (int(number) for number in reports[7])
    field = np.array([(a + b * i + c * i * i) % (2**31 - 1) * 5 // (2**31 - 1) for i in range(100)])
    assert (oracle.supports(reports[7:8]) == (field == y)).all()


def test_a_ratio_of_p_and_q_is_not_the_privacy_loss():
    """p/q = E is necessary, not sufficient: p = 1/2 and q = 1/(2E) measure log(2E - 1)."""
    E = np.exp(1.0)
    assert UnaryEncoding(8, 0.5, 0.5 / E).epsilon == pytest.approx(np.log(2 * E - 1))


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.5])
def test_tuned_parameters_are_the_best(epsilon):
    W = st.histogram(30)
    loss = [estimator(subset_selection(30, epsilon, k)).objective(W) for k in range(1, 30)]
    assert subset_selection(30, epsilon).k == 1 + np.argmin(loss)
    loss = [estimator(local_hashing(30, epsilon, g)).objective(W) for g in range(2, 60)]
    assert local_hashing(30, epsilon).g == 2 + np.argmin(loss)
    oracles = [
        thresholded_histogram_encoding(30, epsilon, t)
        for t in (best_threshold(epsilon), *np.linspace(0.5, 1, 26))
    ]
    assert np.argmin([one.q * (1 - one.q) / (one.p - one.q) ** 2 for one in oracles]) == 0


def test_a_set_is_reconstructed_best_by_the_published_estimator():
    """Every symmetry of the values is one of subset selection, so no other linear estimator has less variance."""
    oracle = subset_selection(7, 1.5)
    for W in (st.histogram(7), st.prefix(7)):
        assert estimator(oracle).objective(W) == pytest.approx(estimator(oracle.dense()).objective(W))
        assert evaluate(W, oracle).per_type == pytest.approx(evaluate(W, oracle.dense()).per_type)


@pytest.mark.parametrize("epsilon", [1e-6, 1e-4, 1.0])
@pytest.mark.parametrize("n", [2, 3, 40])
def test_a_set_of_known_size_says_the_total_whatever_the_budget(n, epsilon):
    """Its values' scores sum to one, so that the variance is zero and L(Q) = n."""
    accuracy = evaluate(st.total(n), subset_selection(n, epsilon))
    assert accuracy.objective == pytest.approx(n, rel=1e-14)
    assert accuracy.per_type == pytest.approx(np.zeros(n), abs=1e-12)


@pytest.mark.parametrize("workload", [st.total(2), st.histogram(2)], ids=["total", "histogram"])
def test_no_set_is_listed_below_the_bound_of_the_smallest_budget(workload):
    comparison = st.compare(workload, 1e-6)
    (listed,) = (row for row in comparison.rows if row.mechanism == "subset-selection")
    assert listed.objective >= comparison.bounds.best * (1 - 1e-12)


@pytest.mark.parametrize("name", ORACLES)
def test_moments_of_the_smallest_budget_are_those_of_fractions(name):
    """E[s^T B s] against sums over two values, in exact arithmetic from p, q and how often pairs are in S."""
    n, oracle = 5, ORACLES[name](5, 1e-6)
    B = np.array([[(i * j) % 3 - 1 for j in range(n)] for i in range(n)])
    B = B + B.T
    exact = [float(moment(oracle, B, u)) for u in range(n)]
    assert oracle.second_moments(B) == pytest.approx(exact, rel=1e-8)
    assert oracle.second_moments(np.ones((n, n))) == pytest.approx(
        [float(moment(oracle, np.ones((n, n), dtype=int), u)) for u in range(n)], rel=1e-8
    )
    x = np.array([4, 0, 1, 2, 7])
    assert (oracle.spread(x) * B).sum() == pytest.approx(float(x @ exact), rel=1e-8)
    mean = oracle.mean_moment(float(B.sum()), float(np.trace(B)))
    assert mean == pytest.approx(float(np.mean([moment(oracle, B, u) for u in range(n)])), rel=1e-8)


def moment(oracle, B: np.ndarray, u: int) -> Fraction:
    """E[s^T B s | u] in fractions."""
    n, p = oracle.domain_size, Fraction(oracle.p)
    if isinstance(oracle, SubsetSelection):
        k = oracle.k
        q = (k - p) / (n - 1)
        own = p * (k - 1) / (n - 1)
        other = (k - 1) * (k - 2 * p) / ((n - 1) * (n - 2))
    else:
        q = Fraction(1, oracle.g) if isinstance(oracle, LocalHashing) else Fraction(oracle.other)
        own, other = p * q, q * q
    total = Fraction(0)
    for i, j in product(range(n), repeat=2):
        mean = (p if i == u else q, p if j == u else q)
        both = mean[0] if i == j else own if u in (i, j) else other
        total += int(B[i, j]) * (both - q * (mean[0] + mean[1]) + q * q)
    return total / (p - q) ** 2


@pytest.mark.parametrize("name", ["optimised-unary-encoding", "thresholded-histogram-encoding"])
def test_a_matrix_that_underflows_is_refused(name):
    """At epsilon 150 some reports have less than 1e-229 and no variance, or zero; at 30 all is well."""
    with pytest.raises(ValueError, match="reports are too improbable") as refusal:
        st.tune(st.histogram(8), 150, name)
    assert "\n" not in str(refusal.value)
    tuned = st.tune(st.histogram(8), 30, name)
    assert tuned.strategy.epsilon <= 30
    assert np.isfinite(tuned.accuracy.per_type).all()


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: UnaryEncoding(0, 0.5, 0.2), "number of values"),
        (lambda: UnaryEncoding(True, 0.5, 0.2), "number of values"),
        (lambda: UnaryEncoding(4, 0.2, 0.5), "0 < q < p < 1"),
        (lambda: UnaryEncoding(4, 1.0, 0.5), "0 < q < p < 1"),
        (lambda: UnaryEncoding(4, float("nan"), 0.5), "0 < q < p < 1"),
        (lambda: UnaryEncoding(40, 0.5, 0.2).dense(), "2\\^40 reports"),
        (lambda: UnaryEncoding(8, 0.5, 1e-50).dense(), "too improbable"),
        (lambda: UnaryEncoding(9, 0.5, 0.2).collect(np.zeros((3, 1), dtype=np.uint8)), "rows of 2 bytes"),
        (lambda: UnaryEncoding(9, 0.5, 0.2).collect(np.zeros((3, 2))), "rows of 2 bytes"),
        (lambda: UnaryEncoding(9, 0.5, 0.2).collect(np.full((3, 2), 255, np.uint8)), "behind the last"),
        (lambda: UnaryEncoding(9, 0.5, 0.2).randomise(np.array([9]), np.random.default_rng()), "0 to 8"),
        (lambda: optimised_unary_encoding(8, -1.0), "epsilon"),
        (lambda: thresholded_histogram_encoding(8, 1.0, 1.2), "1/2 to 1"),
        (lambda: LocalHashing(8, 1, 0.5), "hash values g"),
        (lambda: LocalHashing(8, 4, 0.2), "1/g < p < 1"),
        (lambda: LocalHashing(8, 4, 0.5).dense(), "too many for a matrix"),
        (lambda: LocalHashing(8, 4, 0.5).collect(np.zeros((2, 3), np.uint32)), "four 32-bit"),
        (lambda: LocalHashing(8, 4, 0.5).collect(np.full((2, 4), 4, np.uint32)), "above 3"),
        (lambda: SubsetSelection(8, 8, 0.9), "subset size k is 8"),
        (lambda: SubsetSelection(1, 1, 0.9), "number of values"),
        (lambda: SubsetSelection(8, 4, 0.5), "k/n < p < 1"),
        (lambda: SubsetSelection(80, 40, 0.9).dense(), "sets of 40 of 80"),
        (lambda: SubsetSelection(1500, 403, 0.9).dense(), r"about 10\^377 sets of 403 of 1500"),
        (lambda: SubsetSelection(8, 4, 0.9).collect(np.array([[7]], np.uint8)), "does not hold 4"),
    ],
)
def test_refusals(make, complaint):
    with pytest.raises(ValueError, match=complaint):
        make()
