"""InpEM: independent attributes, and the decoding of their tables."""

import math

import numpy as np
import pytest

import stratagem as st
from stratagem.published.randomised_response import TOLERANCE, decode, independent_response
from tables import assert_private


@pytest.mark.parametrize("sizes", [(2, 2, 2), (3, 4), (5,), (1, 2)])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 12.0])
def test_it_is_private_and_unbiased(sizes, epsilon):
    strategy, n = independent_response(sizes, epsilon), math.prod(sizes)
    assert_private(strategy, epsilon)
    told = sum(a > 1 for a in sizes)
    assert strategy.epsilon == pytest.approx(epsilon * told / len(sizes), abs=1e-9)
    x = np.arange(1.0, n + 1)
    assert np.allclose(strategy.reconstruct(strategy.forward(x)), x)


def test_its_matrix_multiplies_the_attributes():
    Q, E = independent_response((2, 3), 2.0).matrix, math.e
    assert Q[0, 0] == pytest.approx(E / (E + 1) * E / (E + 2))
    assert Q[5, 0] == pytest.approx(1 / (E + 1) * 1 / (E + 2))
    assert Q[2, 0] == pytest.approx(E / (E + 1) * 1 / (E + 2))


def test_the_variance_of_a_parity_is_known():
    """A product of w signs, each flipped at odds 1 : exp(eps/d), has variance coth(eps/2d)^(2w) - 1 a user."""
    d, epsilon = 4, 2.0
    signs = np.array([(-1.0) ** (u.bit_count() % 2) for u in range(2**d)])
    workload = st.explicit(signs[None], "2^4")
    average = st.evaluate(workload, independent_response((2,) * d, epsilon)).average_variance
    assert average == pytest.approx(math.tanh(epsilon / (2 * d)) ** (-2 * d) - 1)


def test_exact_shares_decode_to_the_table_behind_them():
    table = np.array([[0.55, 0.15], [0.10, 0.20]])
    K = independent_response((2, 2), 3.0).matrix
    decoded = decode((K @ table.ravel()).reshape(2, 2), 1.5, tolerance=1e-12)
    assert np.allclose(decoded.table, table, atol=1e-6)
    assert not decoded.failed


def test_a_decoded_table_is_most_likely():
    counts = np.array([[30, 5, 20], [3, 40, 9]])
    decoded, epsilon = decode(counts, 1.0, tolerance=1e-12), 1.0
    K = independent_response((2, 3), 2 * epsilon).matrix
    gradient = K.T @ (counts.ravel() / counts.sum() / (K @ decoded.table.ravel()))
    assert gradient.max() <= 1 + 1e-4
    assert decoded.table.sum() == pytest.approx(1)
    assert (decoded.table >= 0).all()


@pytest.mark.parametrize(
    ("users", "d", "epsilon", "fails"),
    [(2**18, 16, 0.1, True), (2**19, 24, 0.2, True), (2**16, 8, 0.4, False)],
)
def test_it_fails_where_the_thesis_says(users, d, epsilon, fails, rng):
    """Table 4.2: with (d, eps) = (16, 0.1) and (24, 0.2) all tables stop at once; bits that are 1 for 80 %.

    The first step moves a cell by at most tanh(eps/2d)^2/2 + noise: 4.9e-6 and 8.7e-6 against 1e-5, the noise
    a thousandth and a quarter of the distance left; at (8, 0.4) by 1.1e-4, so that it fails by chance with
    probability below 1e-6.
    """
    K = independent_response((2, 2), 2 * epsilon / d).matrix
    observed = rng.multinomial(users, K @ [0.64, 0.16, 0.16, 0.04]).reshape(2, 2)
    decoded = decode(observed, epsilon / d)
    assert decoded.failed == fails
    if fails:
        assert np.abs(decoded.table - 0.25).max() <= TOLERANCE


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: decode([[1, -1], [0, 0]], 1.0), "at least zero"),
        (lambda: decode([[0, 0], [0, 0]], 1.0), "not all"),
        (lambda: decode([[math.nan, 0], [0, 1]], 1.0), "finite"),
        (lambda: decode(3, 1.0), "table"),
        (lambda: decode([1, 2], 0.0), "epsilon"),
        (lambda: decode([1, 2], 1.0, tolerance=0), "at least 1e-12"),
        (lambda: decode([1, 2], 1.0, tolerance=math.nan), "at least 1e-12"),
        (lambda: independent_response((2, 2), 0.0), "epsilon"),
        (lambda: independent_response((), 1.0), "attribute"),
    ],
)
def test_bad_input_is_one_sentence(make, word):
    with pytest.raises(ValueError, match=word) as caught:
        make()
    assert "\n" not in str(caught.value)
