"""StratifiedProtocol: users answer one of several coarser questions."""

import numpy as np
import pytest

import stratagem as st
from protocols import assert_client, assert_exact, deviation
from stratagem.estimators import UnsupportedWorkloadError, evaluate
from stratagem.published import optimised_unary_encoding, symmetric_unary_encoding
from stratagem.strategies import Partition, StratifiedProtocol, UnaryEncoding


def tree(n, branching, epsilon, **options):
    """A tree of optimised unary encodings, its levels equally likely."""
    groups, width = [], 1
    while width < n:
        groups.append(np.arange(n) // width)
        width *= branching
    partitions = [
        Partition(g, optimised_unary_encoding(g.max() + 1, epsilon), 1 / len(groups)) for g in groups
    ]
    return StratifiedProtocol(tuple(partitions), **options)


def margins(epsilon):
    """The three two-way margins of 2^3, which do not see the three-way interaction."""
    cells = np.arange(8)
    pairs = [(cells >> a & 1) * 2 + (cells >> b & 1) for a, b in ((0, 1), (0, 2), (1, 2))]
    oracle = symmetric_unary_encoding(4, epsilon)
    return [Partition(pair, oracle, p) for pair, p in zip(pairs, (0.5, 0.3, 0.2), strict=True)]


CASES = {
    "tree": tree(8, 2, 1.0),
    "free tree": tree(8, 2, 1.0, total_known=False),
    "margins": StratifiedProtocol(tuple(margins(1.0))),
    "free margins": StratifiedProtocol(tuple(margins(1.0)), total_known=False),
    "one": StratifiedProtocol((Partition(np.arange(3), UnaryEncoding(3, 0.5, 0.2), 1.0),)),
    "weighted": StratifiedProtocol(
        (
            Partition(np.arange(5), UnaryEncoding(5, 0.5, 0.2), 0.75, weight=3.0),
            Partition(np.array([0, 0, 1, 1, 1]), UnaryEncoding(2, 0.6, 0.1), 0.25, weight=0.1),
        )
    ),
}


@pytest.mark.parametrize("partitions", CASES.values(), ids=CASES)
def test_views_agree_with_their_matrix(partitions, rng):
    assert_exact(partitions, rng)


def test_a_view_of_one_group_need_not_attain_the_bound():
    """Only the second partition, whose oracle has the smaller epsilon, tells types apart."""
    one, all_ = np.zeros(3, dtype=int), np.arange(3)
    partitions = StratifiedProtocol(
        (Partition(one, UnaryEncoding(2, 0.7, 0.2), 0.5), Partition(all_, UnaryEncoding(3, 0.5, 0.2), 0.5))
    )
    assert partitions.dense().epsilon == pytest.approx(np.log(4))
    assert partitions.epsilon == pytest.approx(np.log(28 / 3))


def test_a_view_may_bring_a_probability_below_double_precision():
    rare = UnaryEncoding(3, 0.5, 1e-76)
    assert np.isfinite(rare.dense().epsilon)
    partitions = StratifiedProtocol(
        (Partition(np.arange(3), rare, 0.01), Partition(np.arange(3), UnaryEncoding(3, 0.5, 0.2), 0.99))
    )
    with pytest.raises(ValueError, match="reports are too improbable"):
        partitions.dense()


@pytest.mark.parametrize("name", ["margins", "free tree"])
def test_reports_follow_the_matrix(name, rng):
    """False alarm 2e-6."""
    assert_client(CASES[name], rng.integers(3, 5, 40_000), rng)


@pytest.mark.parametrize("name", ["tree", "free margins"])
def test_estimates_have_the_stated_covariance(name, rng):
    """False alarm 4e-6; the control, users who moved to another cell, must fail."""
    partitions, x = CASES[name], rng.integers(0, 900, 8)
    values = np.repeat(np.arange(8), x)
    assert deviation(partitions, lambda: partitions.histogram(x, rng), x, 1000) == (True, True)
    assert deviation(partitions, lambda: partitions.collect(partitions.randomise(values, rng)), x, 200)[0]
    assert not deviation(partitions, lambda: partitions.histogram(np.roll(x, 1), rng), x, 1000)[0]


def test_estimates_are_weighted_least_squares(rng):
    """Against a solver: x_hat minimises sum_l w_l ||y_l - A_l x||^2 with y_l of the scores over p_l."""
    partitions = CASES["free tree"]
    totals = partitions.histogram(rng.integers(0, 50, 8), rng)
    rows, answers, first = [], [], 1
    for partition, weight in zip(partitions.partitions, partitions.weights, strict=True):
        k = partition.oracle.domain_size
        A = partition.groups == np.arange(k)[:, None]
        y = partition.oracle.reconstruct(totals[first : first + k + 1]) / partition.probability
        rows.append(np.sqrt(weight) * A)
        answers.append(np.sqrt(weight) * y)
        first += k + 1
    expected = np.linalg.lstsq(np.vstack(rows), np.concatenate(answers), rcond=None)[0]
    assert np.allclose(partitions.reconstruct(totals), expected)


def test_a_known_total_is_kept(rng):
    partitions = CASES["tree"]
    totals = partitions.histogram(rng.integers(0, 50, 8), rng)
    assert partitions.reconstruct(totals).sum() == pytest.approx(totals[0])


def test_a_tree_answers_ranges_better_than_its_leaves():
    W = st.all_range(64)
    leaves = evaluate(W, optimised_unary_encoding(64, 1.0)).objective
    assert evaluate(W, tree(64, 4, 1.0)).objective < leaves / 2


def test_what_no_view_sees_is_refused():
    with pytest.raises(UnsupportedWorkloadError, match="query 0 of 8"):
        evaluate(st.histogram(8), CASES["margins"])
    assert evaluate(st.marginals("2^3", 2), CASES["margins"]).objective > 0


LEAVES = Partition(np.arange(4), UnaryEncoding(4, 0.5, 0.2), 1.0)


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: StratifiedProtocol(()), "give at least one"),
        (lambda: StratifiedProtocol((LEAVES, LEAVES)), "must sum to one"),
        (lambda: StratifiedProtocol((Partition(np.arange(5), UnaryEncoding(4, 0.5, 0.2), 1.0),)), "0 to 3"),
        (
            lambda: StratifiedProtocol((Partition(np.arange(4.0), UnaryEncoding(4, 0.5, 0.2), 1.0),)),
            "float64",
        ),
        (
            lambda: StratifiedProtocol((Partition(np.arange(4), UnaryEncoding(4, 0.5, 0.2), 0.0),)),
            "positive number up to 1",
        ),
        (
            lambda: StratifiedProtocol((Partition(np.arange(4), UnaryEncoding(4, 0.5, 0.2), 1.0, -1.0),)),
            "weight -1.0",
        ),
        (
            lambda: StratifiedProtocol((Partition(np.arange(8), CASES["margins"], 1.0),)),
            "cannot tell its values apart",
        ),
        (lambda: StratifiedProtocol((LEAVES,)).collect(np.zeros((2, 3), np.uint8)), "rows of 5 bytes"),
        (lambda: StratifiedProtocol((LEAVES,)).collect(np.full((2, 5), 1, np.uint8)), "there are 1"),
        (
            lambda: StratifiedProtocol((LEAVES,)).collect(np.array([[0, 0, 0, 0, 15]], np.uint8)),
            "behind the last",
        ),
        (lambda: tree(40, 2, 1.0).dense(), "2\\^40 reports"),
    ],
)
def test_refusals(make, complaint):
    with pytest.raises(ValueError, match=complaint):
        make()
