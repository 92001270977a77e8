"""Frequency oracles against published formulas and against each other."""

import numpy as np
import pytest

import stratagem as st
from stratagem.published import (
    local_hashing,
    optimised_unary_encoding,
    subset_selection,
    summed_histogram_encoding,
    symmetric_unary_encoding,
)

N, CELLS = 100_000, 64
E = np.e
PUBLISHED = {
    "k-RR": (st.published.randomised_response, 2.25e-4),
    "SUE": (symmetric_unary_encoding, 3.92e-5),
    "OUE": (optimised_unary_encoding, 3.70e-5),
    "OLH": (local_hashing, 3.71e-5),
    "BLH": (lambda n, epsilon: local_hashing(n, epsilon, 2), 4.67e-5),
    "SS": (subset_selection, 3.55e-5),
    "SHE": (summed_histogram_encoding, 8.0e-5),
}
"""Mean squared error of a frequency of 64 at epsilon 1 and 1e5 users."""


def zipf():
    """Users of 64 cells, Zipf with exponent 1.1."""
    shares = np.arange(1, CELLS + 1) ** -1.1
    return N * shares / shares.sum()


def error(oracle) -> float:
    """Mean squared error of a frequency."""
    return st.per_query_variance(st.histogram(CELLS), oracle, zipf()).mean() / N**2


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_error_within_one_percent(name):
    make, expected = PUBLISHED[name]
    assert error(make(CELLS, 1.0)) == pytest.approx(expected, rel=0.01)


def test_hadamard_response_errs_less_than_published():
    """4.67e-5 with its own estimator, ((E + 1)/(E - 1))^2 N - x_j a count; least squares also knows N."""
    published = (N * ((E + 1) / (E - 1)) ** 2 - N / CELLS) / N**2
    assert published == pytest.approx(4.67e-5, rel=0.01)
    assert 0.97 * published < error(st.published.hadamard_response(CELLS, 1.0)) < published


def test_the_published_ranking():
    ranked = [
        error(make(CELLS, 1.0)) for make, _ in (PUBLISHED[name] for name in ("SS", "OUE", "OLH", "SUE"))
    ]
    ranked += [
        error(st.published.hadamard_response(CELLS, 1.0)),
        error(st.published.randomised_response(CELLS, 1.0)),
    ]
    assert ranked == sorted(ranked)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_closed_forms_of_counts(epsilon):
    """Variances of one count x_j of N; those of local hashing for any g."""
    E, x = np.exp(epsilon), zipf()
    W, s = st.histogram(CELLS), np.exp(epsilon / 2)
    forms = {
        optimised_unary_encoding: N * 4 * E / (E - 1) ** 2 + x,
        symmetric_unary_encoding: np.full(CELLS, N * s / (s - 1) ** 2),
    }
    for make, variance in forms.items():
        assert st.per_query_variance(W, make(CELLS, epsilon), x) == pytest.approx(variance)
    for g in (2, 3, 7, 20):
        p, q = E / (E + g - 1), 1 / g
        variance = N * (E - 1 + g) ** 2 / ((E - 1) ** 2 * (g - 1)) + x * (1 - p - q) / (p - q)
        assert st.per_query_variance(W, local_hashing(CELLS, epsilon, g), x) == pytest.approx(variance)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_one_hadamard_bit_errs_more_than_optimised_unary_encoding(epsilon):
    """Var_HM - Var_OUE = N (1 - 2 f) for every epsilon, Var_HM = N ((E + 1)/(E - 1))^2 - x."""
    E, x = np.exp(epsilon), zipf()
    hadamard = N * ((E + 1) / (E - 1)) ** 2 - x
    unary = st.per_query_variance(st.histogram(CELLS), optimised_unary_encoding(CELLS, epsilon), x)
    assert hadamard - unary == pytest.approx(N - 2 * x, rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_randomised_response_is_better_on_few_values(epsilon):
    """As x_j -> 0, k-RR beats optimised unary encoding exactly when n < 3 E + 2."""
    for n in range(3, 30):
        x = np.zeros(n)
        x[0] = 1.0
        variances = [
            st.per_query_variance(st.histogram(n), make(n, epsilon), x)[1]
            for make in (st.published.randomised_response, optimised_unary_encoding)
        ]
        assert (variances[0] < variances[1]) == (n < 3 * np.exp(epsilon) + 2)


def test_no_unary_encoding_of_that_epsilon_is_better():
    E = np.exp(1.3)
    best = optimised_unary_encoding(8, 1.3)
    p = np.linspace(0.02, 0.98, 481)
    q = p / (p + E * (1 - p))
    assert (q * (1 - q) / (p - q) ** 2).min() >= best.q * (1 - best.q) / (best.p - best.q) ** 2 * (1 - 1e-9)


@pytest.mark.parametrize("name", ["SUE", "OUE", "OLH", "SS", "SHE"])
def test_more_budget_means_less_variance(name):
    errors = [error(PUBLISHED[name][0](CELLS, epsilon)) for epsilon in np.geomspace(0.1, 6, 12)]
    assert errors == sorted(errors, reverse=True)
