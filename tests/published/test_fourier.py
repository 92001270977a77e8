"""The Fourier mechanism, its characters, and HaarHRR as a case of it."""

import math

import numpy as np
import pytest
from scipy.linalg import hadamard

import stratagem as st
from published import ratio_squared, variances
from stratagem.estimators import estimator, evaluate
from stratagem.published.fourier import codes, energies, fourier, haar, level_of, positive, touching
from tables import WORKLOADS, assert_private

SIZES = [(2, 2, 2), (3, 4), (5,), (2, 1, 3)]
GOLDEN = {
    "3-way marginals": 215189,
    "parity of weight <= 3": 503847,
    "prefix": 202742,
    "all-range": 6667595,
    "all-marginals": 994027,
    "histogram": 18587,
}
"""L(Q) of "Fourier" at n = 64, eps = 1, by the code of McKenna et al. 2020: all needed characters alike."""


def needed(workload: st.Workload) -> tuple[np.ndarray, np.ndarray]:
    """The frequencies that a workload needs, and their energies."""
    v = energies(workload.domain.sizes, workload.gram())[1:]
    drawn = 1 + np.flatnonzero(v > 1e-9 * v.max())
    return drawn, v[drawn - 1]


@pytest.mark.parametrize("sizes", SIZES)
def test_characters_are_the_rows_of_a_padded_hadamard_matrix(sizes):
    code = codes(sizes)
    bits = int(code.max()).bit_length()
    signs = np.where(positive(np.arange(1 << bits), sizes), 1, -1)
    assert len(np.unique(code)) == math.prod(sizes)
    assert np.array_equal(signs, hadamard(1 << bits)[:, code])
    W = np.random.default_rng(1).normal(size=(4, len(code)))
    assert np.allclose(energies(sizes, W.T @ W), np.square(W @ signs.T).sum(axis=0) / len(code))


def test_touching_lists_the_characters_of_a_table():
    assert sorted(touching((2, 3, 2), (0, 2))) == [0b0000, 0b0001, 0b1000, 0b1001]
    assert sorted(touching((2, 3, 2), (1,))) == [0b0000, 0b0010, 0b0100, 0b0110]
    assert touching((2, 2), ()).tolist() == [0]


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 12.0, 300.0])
@pytest.mark.parametrize("sizes", SIZES)
def test_it_is_private_and_answers_everything_from_all_characters(sizes, epsilon):
    n, bits = math.prod(sizes), int(codes(sizes).max()).bit_length()
    strategy = fourier(sizes, epsilon, np.arange(1, 1 << bits))
    assert_private(strategy, epsilon)
    assert strategy.epsilon == pytest.approx(epsilon, abs=1e-9)
    counts = strategy.forward(np.eye(n))
    estimates = np.column_stack([strategy.reconstruct(column) for column in counts.T])
    assert np.allclose(estimates, np.eye(n), atol=1e-8)


@pytest.mark.parametrize("name", GOLDEN)
def test_equal_shares_have_the_published_objective(name):
    workload = WORKLOADS[name](64)
    drawn, v = needed(workload)
    assert estimator(fourier(workload.domain.sizes, 1.0, drawn)).objective(workload) == pytest.approx(
        GOLDEN[name], abs=1
    )
    constant = workload.gram().sum() / 64
    assert constant + ratio_squared(1.0) * len(drawn) * v.sum() == pytest.approx(GOLDEN[name], abs=1)


def test_parities_of_one_order_need_only_its_characters():
    rows = st.parity("2^6", 3).matrix()
    weight = np.abs(rows @ hadamard(64)).argmax(axis=1)
    workload = st.explicit(rows[np.bitwise_count(weight) == 3], "2^6")
    drawn, _ = needed(workload)
    assert len(drawn) == 20
    assert estimator(fourier((2,) * 6, 1.0, drawn)).objective(workload) == pytest.approx(119877, abs=1)


@pytest.mark.parametrize("name", ["3-way marginals", "prefix", "all-range"])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_shares_by_the_root_of_the_energy_are_optimal(name, epsilon):
    workload = WORKLOADS[name](16)
    drawn, v = needed(workload)
    best = np.sqrt(v) / np.sqrt(v).sum()
    value = estimator(fourier(workload.domain.sizes, epsilon, drawn, best)).objective(workload)
    expected = workload.gram().sum() / 16 + ratio_squared(epsilon) * np.sqrt(v).sum() ** 2
    assert value == pytest.approx(expected, rel=1e-9)
    rng = np.random.default_rng(3)
    for _ in range(5):
        other = best * np.exp(0.1 * rng.normal(size=len(best)))
        assert (
            estimator(fourier(workload.domain.sizes, epsilon, drawn, other / other.sum())).objective(workload)
            > value
        )


@pytest.mark.parametrize(("k", "epsilon"), [(2, 1.0986), (3, 0.4)])
def test_inpht_has_the_variance_of_the_thesis_in_every_cell(k, epsilon):
    """N Var = 2^-2k ((2^k - 1) T q2 - f (2^k - 1)^2 - (1 - f)) for a cell of share f; tables add up to one."""
    sizes, workload = (2,) * 6, st.marginals("2^6", k)
    drawn = np.flatnonzero([1 <= f.bit_count() <= k for f in range(64)])
    strategy, q2 = fourier(sizes, epsilon, drawn), ratio_squared(epsilon)
    W, signs = workload.matrix(), np.where(positive(drawn, sizes), 1, -1)
    coefficients = W @ signs.T / 64  # the part of each query on each character
    told = len(drawn) * math.sqrt(q2) * coefficients
    A = 2.0**-k + np.concatenate([told, -told], axis=1)
    assert np.allclose(A.reshape(-1, 2**k, A.shape[1]).sum(axis=1), 1)
    x = np.random.default_rng(0).dirichlet(np.ones(64))
    f = W @ x
    expected = 4.0**-k * ((2**k - 1) * len(drawn) * q2 - f * (2**k - 1) ** 2 - (1 - f))
    assert np.allclose(variances(strategy, A, W, x), expected)
    assert evaluate(workload, strategy).total_variance(x) == pytest.approx(expected.sum())


def test_the_number_of_the_thesis_for_inpht():
    """d = 8, k = 2, E = 3, a cell of share 1/4: N Var = 26.81; uniform data have every cell at 1/4."""
    drawn = np.flatnonzero([1 <= f.bit_count() <= 2 for f in range(256)])
    workload = st.marginals("2^8", 2)
    accuracy = evaluate(workload, fourier((2,) * 8, math.log(3), drawn))
    assert accuracy.average_variance / workload.queries == pytest.approx(26.8125)


def test_haar_reports_a_hadamard_coefficient_of_one_level():
    """On 8 values: signs of node u >> l at the left and right halves, times a row of a Hadamard matrix."""
    Q = haar(8, 1.0).dense().matrix
    u = np.arange(8)
    for f in range(1, 8):
        level = int(level_of(np.array([f]))[0])
        node, right = u >> level, (u >> (level - 1)) & 1
        index = f >> level
        sign = (-1) ** right * hadamard(8 >> level)[index, node]
        share = 1 / (3 * (8 >> level))
        assert np.allclose(Q[f - 1], share * (1 + sign * np.tanh(0.5)) / 2)
        assert np.allclose(Q[f + 6], share * (1 - sign * np.tanh(0.5)) / 2)


@pytest.mark.parametrize(
    ("n", "ranges", "prefixes"), [(64, 5.2127, 3.3333), (256, 9.5711, 5.7778), (1024, 15.2827, 8.8889)]
)
def test_haar_has_the_average_variances_of_the_thesis(n, ranges, prefixes):
    """In units of ((E + 1)/(E - 1))^2 a user, where the constant is known; prefixes also in closed form."""
    strategy, h, q2 = haar(n, 0.7), int(math.log2(n)), ratio_squared(0.7)
    shares = strategy.theta[: n - 1] * (strategy.ratio + 1)
    for workload, expected in ((st.all_range(n), ranges), (st.prefix(n), prefixes)):
        v, units = energies((n,), workload.gram()), n * workload.queries
        assert (v[1:] / shares).sum() / units == pytest.approx(expected, abs=1e-4)
        if n == 64:
            exact = (estimator(strategy).objective(workload) - v[0]) / (units * q2)
            assert exact == pytest.approx(expected, abs=1e-4)
    assert prefixes == pytest.approx(h * (h / 12 + (1 - 4.0**-h) / 18), abs=1e-4)


def test_haar_estimates_ranges_from_the_nodes_that_they_cut():
    """The published estimator r/D + sum_u (left - right overlap)/2^l c_u is the reconstruction in use."""
    n, h, epsilon = 16, 4, 1.0
    strategy, W, q = haar(n, epsilon), st.all_range(n).matrix(), math.sqrt(ratio_squared(epsilon))
    told = np.zeros((len(W), n - 1))
    for f in range(1, n):
        level = int(level_of(np.array([f]))[0])
        halves = W.reshape(len(W), n >> level, 2, -1).sum(axis=3)
        weights = (halves[:, :, 0] - halves[:, :, 1]) / 2**level
        told[:, f - 1] = h * q * weights @ hadamard(n >> level)[f >> level]
    A = W.mean(axis=1, keepdims=True) + np.concatenate([told, -told], axis=1)
    x = np.random.default_rng(2).dirichlet(np.ones(n))
    assert np.allclose(variances(strategy, A, W, x), st.per_query_variance(st.all_range(n), strategy, x))


@pytest.mark.parametrize("n", [2, 3, 37, 100])
def test_haar_on_any_domain(n):
    for levels in (None, np.full((n - 1).bit_length(), 1 / (n - 1).bit_length())):
        strategy = haar(n, 2.0, levels)
        assert_private(strategy, 2.0)
        estimate = strategy.reconstruct(strategy.forward(np.arange(n, dtype=float)))
        assert np.allclose(estimate, np.arange(n))


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: fourier((2, 2), 1.0, []), "at least one"),
        (lambda: fourier((2, 2), 1.0, [0, 1]), "from 1 to 3"),
        (lambda: fourier((2, 2), 1.0, [1, 4]), "from 1 to 3"),
        (lambda: fourier((2, 2), 1.0, [1, 1]), "different"),
        (lambda: fourier((2, 2), 1.0, [1.5]), "whole numbers"),
        (lambda: fourier((2, 2), 1.0, [1, 2], [0.5]), "2 positive"),
        (lambda: fourier((2, 2), 1.0, [1, 2], [1.0, 0.0]), "2 positive"),
        (lambda: fourier((2, 2), 1.0, [1, 2], [0.5, math.nan]), "2 positive"),
        (lambda: fourier((2, 2), -1.0, [1, 2]), "epsilon"),
        (lambda: fourier((1,), 1.0, [1]), "from 1 to 0"),
        (lambda: haar(1, 1.0), "domain size"),
        (lambda: haar(8, 1.0, [0.5, 0.5]), "3 levels"),
        (lambda: haar(8, 1.0, [0.5, 0.5, 0.5]), "sum 1"),
        (lambda: haar(8, 0.0), "epsilon"),
    ],
)
def test_bad_input_is_one_sentence(make, word):
    with pytest.raises(ValueError, match=word) as caught:
        make()
    assert "\n" not in str(caught.value)
