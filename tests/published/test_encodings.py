"""Trees and tables by unary encodings, against the thesis of Kulkarni and against simulation."""

import math
from itertools import combinations

import numpy as np
import pytest

import stratagem as st
from protocols import assert_client, assert_exact, deviation
from stratagem.estimators import estimator
from stratagem.published.fourier import haar
from stratagem.published.hierarchical import screened_trees, tree_encoding
from stratagem.published.marginal import marginal_encoding
from stratagem.published.oracle import symmetric_unary_encoding
from stratagem.published.partition import ENCODINGS

AVERAGES = {
    (64, 2): (7.2628, 4.4021),
    (64, 4): (6.5842, 4.2377),
    (64, 8): (6.7857, 4.7031),
    (256, 16): (14.7278, 10.0195),
}
"""Average variance of ranges and prefixes with the root known, in units of 4E/(E - 1)^2 a user."""
PRINTED = {
    0.2: ((4.269, 4.037, 4.176, 3.684), (None, 2.968, 4.282, 2.857)),
    1.0: ((0.844, 0.744, 0.844, 0.811), (None, 0.561, 0.637, 0.613)),
    1.4: ((0.571, 0.542, 0.592, 0.601), (None, 0.420, 0.478, 0.494)),
}
"""Tables 5.2(a) and 5.3(a) for 2^8 values: 1000 times the root mean squared error of 5 runs with 2^26 users
on ranges and prefixes, branching 2, 4, 16 and HaarHRR; branching 2 on prefixes is off by up to a third."""
LARGEST = {2: 19.309, 4: 18.411, 16: 22.588}
"""Largest variance of a range at 256 values in the same units."""


def unit(epsilon: float) -> float:
    """The published variance of a node, 4E/(E - 1)^2 a user."""
    return math.sinh(epsilon / 2) ** -2


def pairs(d: int) -> list[tuple[int, ...]]:
    return list(combinations(range(d), 2))


@pytest.mark.parametrize(("n", "branching"), AVERAGES)
def test_trees_have_the_average_variances_of_the_thesis(n, branching):
    """At epsilon 0.02 the share of a node, added to its variance of 10,000, cannot be seen."""
    protocol = tree_encoding(n, 0.02, branching)
    for workload, expected in zip((st.all_range(n), st.prefix(n)), AVERAGES[n, branching], strict=True):
        average = st.evaluate(workload, protocol).average_variance / workload.queries
        assert average / unit(0.02) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("branching", LARGEST)
def test_trees_have_the_largest_variance_of_the_thesis(branching):
    """Ranges that end anywhere; constrained inference stays below (B + 1)/2 h ceil(log_B r)."""
    n = 256
    C = tree_encoding(n, 0.02, branching).spread(np.full(n, 1 / n)) - np.eye(n) / n
    sums = np.zeros((n + 1, n + 1))
    sums[1:, 1:] = C.cumsum(axis=0).cumsum(axis=1)
    variance = np.diag(sums)[:, None] + np.diag(sums) - sums - sums.T
    assert variance.max() / unit(0.02) == pytest.approx(LARGEST[branching], rel=1e-4)


FINITE = [name for name in ENCODINGS if name != "hashing"]
"""Encodings whose reports can be written out; hash functions are too many."""


@pytest.mark.parametrize("epsilon", PRINTED)
def test_errors_are_those_that_the_thesis_printed(epsilon):
    """Within 15 %, which is what five runs and data of unknown parameters leave."""
    n, users = 256, 2**26
    mechanisms = [*(tree_encoding(n, epsilon, b) for b in (2, 4, 16)), haar(n, epsilon)]
    for workload, row in zip((st.all_range(n), st.prefix(n)), PRINTED[epsilon], strict=True):
        for mechanism, printed in zip(mechanisms, row, strict=True):
            if printed is not None:
                mean_square = st.evaluate(workload, mechanism).average_variance / workload.queries
                assert printed == pytest.approx(1000 * math.sqrt(mean_square / users), rel=0.15)


@pytest.mark.parametrize("encoding", FINITE)
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_trees_follow_their_matrix(encoding, epsilon, rng):
    protocol = tree_encoding(5, epsilon, 3, encoding, [0.7, 0.3])
    assert protocol.epsilon == pytest.approx(epsilon, abs=1e-9)
    assert protocol.epsilon <= epsilon
    assert_exact(protocol, rng)
    assert_client(protocol, np.repeat([0, 4], 20_000), rng)


@pytest.mark.parametrize("encoding", FINITE)
def test_tables_follow_their_matrix(encoding, rng):
    protocol = marginal_encoding((2, 2, 2), 1.0, [(0, 1), (2,)], encoding)
    assert protocol.epsilon <= 1
    assert_exact(protocol, rng)
    assert_client(protocol, np.repeat([0, 5], 20_000), rng)


@pytest.mark.exhaustive
@pytest.mark.parametrize("path", ["randomise", "histogram"])
@pytest.mark.parametrize("kind", ["tree", "hashed tree", "tables"])
def test_simulated_estimates_have_the_stated_mean_and_covariance(kind, path, rng):
    """False alarm 1e-6 each; reports drawn at epsilon 1.3 in place of 1 must fail, by their mean."""

    def made(epsilon):
        if kind == "tree":
            return tree_encoding(12, epsilon, 3)
        if kind == "hashed tree":
            return tree_encoding(12, epsilon, 3, "hashing")
        return marginal_encoding((2, 3, 2), epsilon, pairs(3))

    x = rng.integers(100, 400, 12)
    protocol = made(1.0)

    def drawn_from(source):
        if path == "histogram":
            return lambda: source.histogram(x, rng)
        return lambda: source.collect(source.randomise(np.repeat(np.arange(12), x), rng))

    assert deviation(protocol, drawn_from(protocol), x, 300) == (True, True)
    assert deviation(protocol, drawn_from(made(1.3)), x, 300)[0] is False


def test_margrr_has_the_variance_of_the_thesis_or_less():
    """N Var = C s/(s - 1)^2 + (C - 1) f for each table by itself, s = e^(eps/2); least squares improves on it.

    At d = 8, k = 2, E = 3, f = 1/4 that is 97.25, and 95.56 with each table's own users as denominator.
    """
    d, epsilon, f = 8, math.log(3), 0.25
    s, C = math.sqrt(3), math.comb(d, 2)
    by_itself = C * s / (s - 1) ** 2 + (C - 1) * f
    assert by_itself - (C - 1) * f**2 == pytest.approx(95.56, abs=0.005)
    oracle = symmetric_unary_encoding(4, epsilon)
    own = np.array([oracle.second_moments(np.diag(cell))[0] for cell in np.eye(4)])
    assert C * (own[0] / 4 + own[1:].mean() * 3 / 4) - f == pytest.approx(by_itself)
    workload = st.marginals("2^8", 2)
    protocol = marginal_encoding((2,) * d, epsilon, pairs(d))
    assert st.evaluate(workload, protocol).average_variance / workload.queries < by_itself


def test_inprr_has_the_number_of_the_thesis():
    """N Var = 2^(d - k) s/(s - 1)^2 a cell: 206.85 at d = 8, k = 2, E = 3."""
    workload = st.marginals("2^8", 2)
    average = st.evaluate(workload, symmetric_unary_encoding(256, math.log(3))).average_variance
    assert average / workload.queries == pytest.approx(206.85, abs=0.005)


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
@pytest.mark.parametrize("make", [st.prefix, st.all_range, st.histogram])
def test_the_screen_knows_encodings(make, epsilon):
    workload = make(27)
    V = workload.gram()
    for trees in screened_trees(V, epsilon, 99, ENCODINGS):
        for tree in trees:
            if tree.branching in (3, 9):
                protocol = tree_encoding(27, epsilon, tree.branching, tree.oracle, tree.shares)
                value = estimator(protocol).objective(workload)
                assert tree.estimate + V.sum() / 27 == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: tree_encoding(8, 1.0, 1), "branching"),
        (lambda: tree_encoding(8, 1.0, encoding="guess"), "optimised"),
        (lambda: tree_encoding(8, 1.0, 2, levels=[1.0]), "3 levels"),
        (lambda: tree_encoding(8, 1.0, 2, levels=[0.5, 0.6, -0.1]), "3 levels"),
        (lambda: tree_encoding(8, math.nan), "epsilon"),
        (lambda: marginal_encoding((2, 2), 1.0, []), "at least one"),
        (lambda: marginal_encoding((2, 2), 1.0, [(2,)]), "0 to 1"),
        (lambda: marginal_encoding((2, 2), 1.0, [(0,)], "guess"), "optimised"),
    ],
)
def test_bad_input_is_one_sentence(make, word):
    with pytest.raises(ValueError, match=word) as caught:
        make()
    assert "\n" not in str(caught.value)
