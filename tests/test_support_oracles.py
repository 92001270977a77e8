"""Oracles that support sets: four probabilities give every variance."""

import numpy as np
import pytest

import stratagem as st
from protocols import assert_client, assert_exact, deviation
from stratagem.accuracy import evaluate
from stratagem.baselines import optimised_unary_encoding, symmetric_unary_encoding
from stratagem.strategies import UnaryEncoding
from stratagem.strategies.bits import bernoulli

BUDGETS = [1e-6, 0.1, 1.0, 3.0, 20.0, 40.0, 300.0]
ORACLES = {"OUE": optimised_unary_encoding, "SUE": symmetric_unary_encoding}


@pytest.mark.parametrize("n", [1, 2, 3, 9])
@pytest.mark.parametrize("make", ORACLES.values(), ids=ORACLES)
def test_four_probabilities_agree_with_the_matrix(make, n, rng):
    assert_exact(make(n, 1.0), rng)


@pytest.mark.parametrize("epsilon", BUDGETS)
@pytest.mark.parametrize("make", ORACLES.values(), ids=ORACLES)
def test_measured_epsilon_keeps_the_budget(make, epsilon):
    measured = make(16, epsilon).epsilon
    assert measured <= epsilon
    assert measured == pytest.approx(min(epsilon, 100), rel=1e-6, abs=1e-10) or epsilon > 100


@pytest.mark.parametrize("make", ORACLES.values(), ids=ORACLES)
def test_reports_follow_the_matrix(make, rng):
    """False alarm 3e-6."""
    assert_client(make(4, 1.0), rng.integers(0, 3, 30_000), rng)


def test_client_and_counts_estimate_with_the_stated_covariance(rng):
    """False alarm 4e-6; the controls, a data vector off by 2 % and a neighbour's oracle, must fail."""
    n, x = 41, rng.integers(0, 200, 41)
    values = np.repeat(np.arange(n), x)
    oracle = optimised_unary_encoding(n, 1.0)
    assert deviation(oracle, lambda: oracle.histogram(x, rng), x, 2000) == (True, True)
    assert deviation(oracle, lambda: oracle.collect(oracle.randomise(values, rng)), x, 200) == (
        True,
        True,
    )
    wrong = np.where(np.arange(n) == x.argmax(), x + 400, x)
    assert not deviation(oracle, lambda: oracle.histogram(wrong, rng), x, 2000)[0]
    noisier = UnaryEncoding(n, 0.5, 0.3)
    assert not deviation(oracle, lambda: noisier.histogram(x, rng), x, 2000)[1]


@pytest.mark.parametrize("q", [1e-9, 1e-4, 0.11, 0.5, 0.987])
def test_random_bits_have_their_probability(q, rng):
    """Six standard deviations: false alarm 2e-9."""
    n, rows = 77, 20_000
    bits = np.unpackbits(bernoulli(rows, n, q, rng), axis=1)
    assert not bits[:, n:].any()
    assert abs(bits.sum() - rows * n * q) <= 6 * np.sqrt(rows * n * q * (1 - q)) + 1
    pairs = (bits[:, 1:n] & bits[:, : n - 1]).sum()
    assert abs(pairs - rows * (n - 1) * q * q) <= 6 * np.sqrt(3 * rows * n * q * q) + 1


def test_totals_of_two_collections_add(rng):
    oracle = optimised_unary_encoding(11, 2.0)
    reports = oracle.randomise(rng.integers(0, 11, 700), rng)
    assert (oracle.collect(reports[:300]) + oracle.collect(reports[300:]) == oracle.collect(reports)).all()


def test_unary_encodings_have_their_published_variance():
    E = np.exp(1.0)
    for make, cell in ((optimised_unary_encoding, 4 * E / (E - 1) ** 2), (symmetric_unary_encoding, 0)):
        cell = cell or np.sqrt(E) / (np.sqrt(E) - 1) ** 2
        own = 1.0 if make is optimised_unary_encoding else 0.0
        assert evaluate(st.histogram(64), make(64, 1.0)).per_type == pytest.approx(64 * cell + own)


def test_a_ratio_of_p_and_q_is_not_the_privacy_loss():
    """p*/q* = E is necessary, not sufficient: p = 1/2 and q = 1/(2E) measure log(2E - 1)."""
    E = np.exp(1.0)
    assert UnaryEncoding(8, 0.5, 0.5 / E).epsilon == pytest.approx(np.log(2 * E - 1))


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: UnaryEncoding(0, 0.5, 0.2), "number of values"),
        (lambda: UnaryEncoding(True, 0.5, 0.2), "number of values"),
        (lambda: UnaryEncoding(4, 0.2, 0.5), "0 < q < p < 1"),
        (lambda: UnaryEncoding(4, 1.0, 0.5), "0 < q < p < 1"),
        (lambda: UnaryEncoding(4, float("nan"), 0.5), "0 < q < p < 1"),
        (lambda: UnaryEncoding(40, 0.5, 0.2).dense(), "2\\^40 reports"),
        (lambda: UnaryEncoding(9, 0.5, 0.2).collect(np.zeros((3, 1), dtype=np.uint8)), "rows of 2 bytes"),
        (lambda: UnaryEncoding(9, 0.5, 0.2).collect(np.zeros((3, 2))), "rows of 2 bytes"),
        (lambda: UnaryEncoding(9, 0.5, 0.2).collect(np.full((3, 2), 255, np.uint8)), "behind the last"),
        (lambda: UnaryEncoding(9, 0.5, 0.2).randomise(np.array([9]), np.random.default_rng()), "0 to 8"),
        (lambda: optimised_unary_encoding(8, -1.0), "epsilon"),
    ],
)
def test_refusals(make, complaint):
    with pytest.raises(ValueError, match=complaint):
        make()
