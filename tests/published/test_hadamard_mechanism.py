"""The Hadamard mechanism, one bit and more, and Hadamard response: published estimates and variances."""

import math

import numpy as np
import pytest
from scipy.linalg import hadamard

import stratagem as st
from published import expectation, variance
from stratagem.estimators import estimator
from stratagem.published.hadamard import HADAMARD_MECHANISM, hadamard_mechanism
from tables import assert_private, setting

CASES = [
    (n, t, e) for n, t in ((1, 1), (2, 1), (5, 1), (8, 2), (13, 2), (6, 3), (37, 1)) for e in (0.2, 1.0, 3.0)
]


def scores(n, t, epsilon):
    """The published estimate: the mean over the t coefficients l of H[l, u] o_l/(2 p_t - 1), (n x m)."""
    strategy = hadamard_mechanism(n, epsilon, t)
    K = 1 << math.ceil(math.log2(n))
    H, E = hadamard(K).astype(float), math.exp(epsilon)
    rows = []
    for chosen in _sets(K, t):
        for code in range(2**t):
            signs = np.array([1 if code >> i & 1 else -1 for i in range(t)])
            rows.append(signs @ H[list(chosen), :n] / t)
    return strategy.dense().matrix, np.array(rows).T * (E + 2**t - 1) / (E - 1)


def _sets(K, t):
    return [chosen for chosen in np.ndindex(*[K] * t) if list(chosen) == sorted(set(chosen))]


@pytest.mark.parametrize(("n", "t", "epsilon"), CASES)
def test_it_is_private_and_the_published_estimate_unbiased(n, t, epsilon):
    strategy = hadamard_mechanism(n, epsilon, t)
    assert_private(strategy, epsilon)
    assert strategy.epsilon == pytest.approx(epsilon if n > 1 else 0, abs=1e-9)
    Q, R = scores(n, t, epsilon)
    np.testing.assert_allclose(expectation(R, Q), np.eye(n), atol=1e-9)


@pytest.mark.parametrize(("n", "t", "epsilon"), CASES)
def test_the_published_variance_is_exact(n, t, epsilon):
    """With gamma = (E - 1)/(E + 2^t - 1): a user of another type adds [1 - (t - 1) gamma/(K - 1)]/(t gamma^2).

    A user of the same type adds [1 + (t - 1) gamma]/(t gamma^2) - 1; for t = 1 the sum is the published
    N ((E + 1)/(E - 1))^2 - x. Derived from E[o_i o_j] = gamma H_iu H_ju and sum_l H_lu H_lv = 0.
    """
    K, E = 1 << math.ceil(math.log2(n)), math.exp(epsilon)
    gamma, x = (E - 1) / (E + 2**t - 1), np.arange(1.0, n + 1)
    other = (1 - (t - 1) * gamma / max(K - 1, 1)) / t / gamma**2
    same = (1 + (t - 1) * gamma) / t / gamma**2 - 1
    Q, R = scores(n, t, epsilon)
    np.testing.assert_allclose(variance(R, Q, x), x * same + (x.sum() - x) * other, rtol=1e-9)
    if t == 1:
        np.testing.assert_allclose(variance(R, Q, x), x.sum() * ((E + 1) / (E - 1)) ** 2 - x, rtol=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_one_bit_against_unary_encoding(epsilon):
    """Var_HM - Var_OUE = N (1 - 2 f) for every epsilon, Var_OUE = 4 N E/(E - 1)^2 + x."""
    Q, R = scores(8, 1, epsilon)
    E, x = math.exp(epsilon), np.arange(1.0, 9)
    unary = 4 * x.sum() * E / (E - 1) ** 2 + x
    np.testing.assert_allclose(variance(R, Q, x) - unary, x.sum() - 2 * x, rtol=1e-8)


@pytest.mark.parametrize("epsilon", [0.5, math.log(3), 4.0])
@pytest.mark.parametrize("t", [1, 2, 3])
def test_each_sign_is_true_with_the_published_probability(t, epsilon):
    """p_t = (E + 2^(t-1) - 1)/(E + 2^t - 1), and 2^(t-1) (E + 2^(t-1) - 1)/t grows with t."""
    Q, H, E = hadamard_mechanism(8, epsilon, t).dense().matrix, hadamard(8), math.exp(epsilon)
    for u in (0, 5):
        true = np.zeros(t)
        for place, chosen in enumerate(_sets(8, t)):
            for code in range(2**t):
                signs = np.array([1 if code >> i & 1 else -1 for i in range(t)])
                true += Q[place * 2**t + code, u] * (signs == H[list(chosen), u])
        np.testing.assert_allclose(true, (E + 2 ** (t - 1) - 1) / (E + 2**t - 1), rtol=1e-12)
    assert 2 ** (t - 1) * (E + 2 ** (t - 1) - 1) / t < 2**t * (E + 2**t - 1) / (t + 1)


@pytest.mark.parametrize(("n", "epsilon"), [(8, 0.5), (16, 1.0), (64, 2.0)])
def test_the_best_estimate_of_one_bit_in_closed_form(n, epsilon):
    """n = K: M = 11^T/n + mu P with mu = ((E - 1)/(E + 1))^2/n, the constant coefficient being known."""
    E = math.exp(epsilon)
    expected = 1 + (n - 1) * n * ((E + 1) / (E - 1)) ** 2
    assert estimator(hadamard_mechanism(n, epsilon)).objective(st.histogram(n)) == pytest.approx(
        expected, rel=1e-9
    )


def test_more_bits_pay_where_epsilon_is_large():
    """The best linear estimate also reads products of signs, so that t about log2(E + 1) is best."""
    for epsilon, best in ((0.5, 1), (1.0, 2), (2.2, 3)):
        values = [
            estimator(hadamard_mechanism(16, epsilon, t)).objective(st.histogram(16)) for t in (1, 2, 3)
        ]
        assert 1 + int(np.argmin(values)) == best


def test_comparisons_get_what_is_cheap():
    def words(n):
        return [text for text, _ in HADAMARD_MECHANISM.candidates(setting(st.total(n)), 1.0)]

    assert words(1) == ["bits 1"]
    assert words(16) == ["bits 1", "bits 2", "bits 3"]
    assert words(64) == ["bits 1", "bits 2"]
    assert words(1000) == ["bits 1"]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ((0, 1.0), "number of values"),
        ((8, 0.0), "epsilon"),
        ((8, 1.0, 0), "number of bits"),
        ((8, 1.0, 9), "number of bits"),
        ((4, 1.0, 5), "4 coefficients"),
        ((8, 1.0, 1.5), "number of bits"),
        ((256, 1.0, 3), "fewer bits"),
        ((10**5, 1.0), "probabilities"),
    ],
)
def test_bad_input_is_one_sentence(arguments, word):
    with pytest.raises(ValueError, match=word) as caught:
        hadamard_mechanism(*arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("n", "blocks"), [(5, 1), (7, 2), (16, 1), (16, 4), (13, 8), (37, 4)])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_hadamard_response_has_the_published_variance(n, blocks, epsilon):
    """With D = E + 2 B - 1: (D/(E - 1))^2 (N_b (E + 1)/D + (N - N_b) 2/D) - x, N_b users in the value's block.

    The estimate is D/(E - 1) (C(S) - C(block without S)), S the rows of the value's block where its column is +1.
    """
    strategy = st.published.hadamard_response(n, epsilon, blocks)
    assert strategy.epsilon == pytest.approx(epsilon, abs=1e-9)
    Q, E, x = strategy.matrix, math.exp(epsilon), np.arange(1.0, n + 1)
    D, b = E + 2 * blocks - 1, strategy.outputs // blocks
    home = np.arange(n) // (b - 1)
    within = home[:, None] == np.arange(strategy.outputs) // b
    R = D / (E - 1) * np.where(within, np.where(Q.T > Q.min() * (1 + E) / 2, 1, -1), 0)
    np.testing.assert_allclose(expectation(R, Q), np.eye(n), atol=1e-9)
    inside = np.bincount(home, x)[home]
    expected = (D / (E - 1)) ** 2 * (inside * (E + 1) + (x.sum() - inside) * 2) / D - x
    np.testing.assert_allclose(variance(R, Q, x), expected, rtol=1e-9)
