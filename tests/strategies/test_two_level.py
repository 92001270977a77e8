"""Two-level strategies against the same strategies as matrices."""

import numpy as np
import pytest

from stratagem.math.privacy import ratio
from stratagem.published import hadamard_response, randomised_response
from stratagem.strategies import TwoLevelStrategy
from stratagem.strategies.two_level import pack, unpack


def cyclic(n, k, epsilon):
    """All translates of an interval of k cells: balanced by symmetry."""
    E = ratio(epsilon)
    patterns = (np.arange(n) - np.arange(n)[:, None]) % n < k
    return TwoLevelStrategy(pack(patterns), np.full(n, 1 / (n + (E - 1) * k)), n, E)


CASES = {(n, k, e): cyclic(n, k, e) for n, k in ((2, 1), (7, 3), (8, 2), (37, 10)) for e in (0.1, 1.0, 5.0)}


@pytest.fixture(params=CASES, ids=str)
def strategy(request):
    return CASES[request.param]


def test_every_member_agrees_with_the_matrix(strategy):
    dense, rng = strategy.dense(), np.random.default_rng(0)
    n, m = strategy.domain_size, strategy.outputs
    X, Y = rng.normal(size=(n, 3)), rng.normal(size=(m, 3))
    for ours, theirs in (
        (strategy.forward(X), dense.forward(X)),
        (strategy.forward(X[:, 0]), dense.forward(X[:, 0])),
        (strategy.backward(Y), dense.backward(Y)),
        (strategy.backward(Y[:, 0]), dense.backward(Y[:, 0])),
        (strategy.row_sums, dense.row_sums),
        (strategy.information(), dense.information()),
        (strategy.reconstruct(Y[:, 0]), dense.reconstruct(Y[:, 0])),
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-10)


def test_epsilon_is_measured(strategy):
    assert strategy.epsilon == pytest.approx(strategy.dense().epsilon, abs=1e-12)


def test_it_measures_at_most_what_was_asked_for():
    for (_, _, epsilon), strategy in CASES.items():
        assert epsilon - 1e-12 < strategy.epsilon <= epsilon


def test_a_constant_report_tells_nothing():
    silent = TwoLevelStrategy(np.zeros((1, 2), np.uint8), np.ones(1), 9, 3.0)
    assert silent.epsilon == 0
    assert silent.randomise(np.arange(9), np.random.default_rng(0)).tolist() == [0] * 9


def test_randomised_response_is_two_level():
    E = ratio(1.0)
    ours = TwoLevelStrategy(pack(np.eye(5, dtype=bool)), np.full(5, 1 / (E + 4)), 5, E)
    np.testing.assert_allclose(ours.dense().matrix, randomised_response(5, 1.0).matrix, rtol=1e-13)


def test_blocks_of_rows_change_nothing(monkeypatch, strategy):
    X = np.random.default_rng(1).normal(size=strategy.domain_size)
    whole = strategy.forward(X), strategy.centred_information()
    monkeypatch.setattr("stratagem.strategies.two_level.BLOCK", 3 * strategy.domain_size)
    np.testing.assert_allclose(strategy.forward(X), whole[0], rtol=1e-12)
    np.testing.assert_allclose(strategy.centred_information(), whole[1], rtol=1e-9, atol=1e-14)


def chi_squared(counts, expected):
    return float((np.square(counts - expected) / expected).sum())


@pytest.mark.parametrize("how", ["randomise", "histogram"])
def test_reports_follow_the_probabilities(how):
    strategy, other = CASES[7, 3, 1.0], CASES[7, 3, 5.0]
    rng, x = np.random.default_rng(7), np.array([40_000, 0, 30_000, 0, 0, 20_000, 10_000])
    if how == "randomise":
        reports = strategy.randomise(np.repeat(np.arange(7), x), rng)
        counts = np.bincount(reports, minlength=7)
    else:
        counts = strategy.histogram(x, rng)
    assert counts.sum() == x.sum()
    # 6 degrees of freedom: 22.5 is the 99.9 % quantile; the wrong strategy must fail
    assert chi_squared(counts, strategy.forward(x)) < 22.5
    assert chi_squared(counts, other.forward(x)) > 1000


def test_packing_round_trips():
    B = np.random.default_rng(0).random((11, 37)) < 0.5
    assert (unpack(pack(B), 37) == B).all()


@pytest.mark.parametrize(
    ("patterns", "theta", "size", "E", "words"),
    [
        (np.eye(3, dtype=bool), np.full(3, 0.3), 3, 2.0, "sum to one"),
        (np.eye(3, dtype=bool), np.array([-0.25, 0.25, 0.25]), 3, 2.0, "negative"),
        (np.eye(3, dtype=bool), np.full(2, 0.25), 3, 2.0, "shape"),
        (np.eye(3, dtype=bool), np.full(3, 0.25), 9, 2.0, "shape"),
        (np.eye(3, dtype=bool), np.full(3, 0.25), 3, 0.5, "ratio"),
    ],
)
def test_refusals_say_what_is_wrong(patterns, theta, size, E, words):
    with pytest.raises(ValueError, match=words):
        TwoLevelStrategy(pack(patterns), theta, size, E)


def test_arrays_are_frozen():
    with pytest.raises(ValueError, match="read-only"):
        CASES[7, 3, 1.0].theta[0] = 1


def test_hadamard_response_has_two_levels():
    matrix = hadamard_response(6, 1.0).matrix
    assert all(len(np.unique(row.round(12))) <= 2 for row in matrix)
