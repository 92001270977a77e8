"""Consumers of counts: universal optimality, remaps checked by brute force, the thresholds of one person."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from stratagem import counts
from stratagem.counts.exact import Whole
from stratagem.counts.mechanism import CountMechanism

SAME = 1e-8
"""Relative distance that a linear program may leave."""
SIZES = [(1, 0.3), (2, 0.9), (4, "1/3"), (5, 0.62), (7, "10/11")]


def monotone_loss(rng: np.random.Generator, n: int, sides: int) -> np.ndarray:
    """A random loss with zeros and steps that rises with |i - j|, on both sides alike or on each its own way."""
    steps = rng.exponential(size=(2, n + 1, n + 1)) * (rng.random((2, n + 1, n + 1)) < 0.6)
    steps[:, 0] = 0
    steps[:, 1] += 0.1
    rise = steps.cumsum(axis=1)
    i, j = np.indices((n + 1, n + 1))
    return np.where(i > j, rise[0][abs(i - j), j], rise[sides - 1][abs(i - j), j])


def priors(rng: np.random.Generator, n: int) -> list[np.ndarray | None]:
    """Uniform, skewed, and one that excludes about half of the counts."""
    some = (rng.random(n + 1) < 0.5) * rng.random(n + 1)
    some[rng.integers(n + 1)] = 1
    return [None, rng.dirichlet(np.full(n + 1, 0.5)), some]


def assert_post_processing(found: counts.Remap, mechanism: CountMechanism) -> None:
    """The remapped mechanism is T P, private in whole numbers, its columns of equal sum."""
    assert found.transition.min() >= 0
    assert np.allclose(found.transition.sum(axis=0), 1, atol=1e-15, rtol=0)
    assert np.allclose(found.mechanism.matrix, found.transition @ mechanism.matrix, atol=1e-14)
    cells, total = found.mechanism.whole()
    assert all(cells.sum(axis=0) == total)
    assert found.mechanism.ratio() <= mechanism.ratio()


@pytest.mark.sampled(9)
@pytest.mark.parametrize(("n", "alpha"), SIZES)
@pytest.mark.parametrize("aggregate", ["sum", "max"])
def test_the_geometric_mechanism_serves_every_consumer_of_a_monotone_loss(n, alpha, aggregate):
    rng = np.random.default_rng(n)
    losses = ["L0", "L1", "L2", f"L0,{n // 2}", monotone_loss(rng, n, 1), monotone_loss(rng, n, 2)]
    for loss, prior in product(losses, priors(rng, n)):
        consumer = counts.serve(n, alpha, loss, prior, aggregate=aggregate)
        assert consumer.remapped.cost >= consumer.tailored.bound * (1 - 1e-12)
        assert consumer.remapped.cost <= consumer.tailored.cost + 1e-12
        assert -1e-12 <= consumer.excess <= SAME or consumer.remapped.cost <= 1e-12
        assert_post_processing(consumer.remapped, counts.geometric(n, alpha))


@pytest.mark.parametrize("aggregate", ["sum", "max"])
def test_it_does_not_serve_a_loss_that_is_not_monotone(aggregate):
    """Negative control: a consumer of parity, to whom a neighbour is as bad as can be."""
    i, j = np.indices((5, 5))
    consumer = counts.serve(4, 0.62, (i + j) % 2 + 0.01 * abs(i - j), aggregate=aggregate)
    assert consumer.excess > 0.01


def test_the_explicit_fair_mechanism_does_not_serve_every_consumer():
    """Negative control: remapped it is never cheaper than the geometric one, and for some prior far dearer."""
    rng, excess = np.random.default_rng(3), []
    for prior in [None, *(rng.dirichlet(np.full(6, 0.5)) for _ in range(8))]:
        consumer = counts.serve(5, 0.62, "L1", prior)
        fair = counts.best_remap(counts.explicit_fair(5, 0.62), "L1", prior)
        assert fair.cost >= consumer.remapped.cost * (1 - 1e-12)
        excess.append(fair.cost / consumer.tailored.bound - 1)
    assert max(excess) > 0.05


@pytest.mark.parametrize("make", [counts.geometric, counts.explicit_fair, counts.uniform])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_no_map_of_outputs_beats_the_remap(make, n):
    rng = np.random.default_rng(n)
    mechanism = make(n, 0.62)
    for loss in ["L1", rng.random((n + 1, n + 1))]:
        for prior in priors(rng, n):
            best = counts.best_remap(mechanism, loss, prior)
            assert best.bound == best.cost
            every = [
                counts.CountTable(n, mechanism.alpha, _mapped(mechanism, answers)).cost(loss, prior)
                for answers in product(range(n + 1), repeat=n + 1)
            ]
            assert min(every) == pytest.approx(best.cost, rel=1e-13)
            assert_post_processing(best, mechanism)


def _mapped(mechanism: CountMechanism, answers: tuple[int, ...]) -> Whole:
    cells, total = mechanism.whole()
    found = np.zeros_like(cells)
    for y, i in enumerate(answers):
        found[i] += cells[y]
    return Whole(found, total)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_no_random_answers_beat_the_minimax_remap_and_the_bound_is_met(n):
    rng = np.random.default_rng(n)
    mechanism = counts.explicit_fair(n, 0.62)
    loss = rng.random((n + 1, n + 1))
    found = counts.best_remap(mechanism, loss, aggregate="max")
    assert found.bound == pytest.approx(found.cost, rel=1e-9)
    assert_post_processing(found, mechanism)
    for _ in range(200):
        T = rng.dirichlet(np.full(n + 1, 0.3), size=n + 1).T
        assert (loss * (T @ mechanism.matrix)).sum(axis=0).max() >= found.bound * (1 - 1e-12)


def test_a_minimax_consumer_needs_random_answers():
    """Negative control of "deterministic suffices": every map of outputs costs more than the random remap."""
    mechanism = counts.geometric(3, "10/11")
    best = counts.best_remap(mechanism, "L1", aggregate="max")
    every = [
        counts.CountTable(3, mechanism.alpha, _mapped(mechanism, answers)).cost("L1", aggregate="max")
        for answers in product(range(4), repeat=4)
    ]
    assert min(every) > 1.05 * best.cost


def test_of_equal_answers_the_smallest_is_given():
    uniform = counts.uniform(3, 0.5)
    assert counts.best_remap(uniform, "L1").answers.tolist() == [1] * 4
    assert counts.best_remap(uniform, np.zeros((4, 4))).answers.tolist() == [0] * 4
    # the floats 0.1 and 0.2 sum to 3e-17 more than the float 0.3, so answer 1 costs less than answer 0
    loss = [[0.1, 0.2, 0.0], [0.3, 0.0, 0.0], [1.0, 1.0, 1.0]]
    exact = [sum(map(Fraction, row)) for row in loss]
    assert exact[1] < exact[0]
    assert counts.best_remap(counts.uniform(2, 0.5), loss).answers.tolist() == [1] * 3


def test_outputs_too_rare_for_floating_point_are_answered_rightly():
    """alpha^300 = 1e-600: likelihoods underflow, fractions do not."""
    found = counts.best_remap(counts.geometric(300, "0.01"), "L1", [1.0] + [0.0] * 300)
    assert found.answers.tolist() == [0] * 301
    assert found.cost == 0


def test_an_output_that_never_occurs_is_harmless():
    cells = np.array([[0, 0, 0], [2, 1, 1], [1, 2, 2]], dtype=object)
    table = counts.CountTable(2, Fraction(1, 2), Whole(cells, 3))
    for aggregate in ("sum", "max"):
        assert_post_processing(counts.best_remap(table, "L0", aggregate=aggregate), table)
    assert counts.best_remap(table, "L0").answers.tolist() == [0, 0, 1]


@pytest.mark.parametrize("alpha", [0.2, 0.5, 0.9])
def test_one_person_the_thresholds_of_the_prior(alpha):
    """Randomised response is optimal under L0 while alpha <= w1/w0 <= 1/alpha, a constant answer outside."""
    response = np.array([[1, alpha], [alpha, 1]]) / (1 + alpha)
    for ratio in (alpha * 1.01, 1.0, 1.2 if alpha < 0.8 else 1.05, 0.99 / alpha):
        consumer = counts.serve(1, alpha, "L0", [1, ratio])
        assert np.allclose(consumer.tailored.mechanism.matrix, response, atol=1e-6)
        assert consumer.remapped.answers.tolist() == [0, 1]
        assert consumer.remapped.cost == pytest.approx(2 * alpha / (1 + alpha), rel=1e-12)
    for ratio, answer in ((alpha * 0.99, 0), (alpha / 10, 0), (1.01 / alpha, 1), (10 / alpha, 1)):
        consumer = counts.serve(1, alpha, "L0", [1, ratio])
        assert np.allclose(consumer.tailored.mechanism.matrix[answer], 1, atol=1e-6)
        assert consumer.remapped.answers.tolist() == [answer, answer]
        assert consumer.remapped.cost == pytest.approx(2 * min(1, ratio) / (1 + ratio), rel=1e-12)


@pytest.mark.parametrize("alpha", ["1/3", "0.62", "0.9"])
def test_one_person_has_but_one_mechanism(alpha):
    a = float(Fraction(alpha))
    response = np.array([[1, a], [a, 1]]) / (1 + a)
    found = [counts.geometric(1, alpha), counts.explicit_fair(1, alpha)]
    found += [counts.design(1, alpha, "L0", asked).mechanism for asked in ("", "WH", "RM,CM", "F", "all")]
    found += [counts.design(1, alpha, "L1", asked).mechanism for asked in ("", "all")]
    for mechanism in found:
        assert np.allclose(mechanism.matrix, response, atol=1e-7)


def test_an_epsilon_serves_as_well():
    consumer = counts.serve(4, epsilon=1.0, loss="L2")
    assert consumer.excess <= SAME
    assert "geometric, remapped" in str(consumer)
    assert consumer.remapped.mechanism.alpha == consumer.tailored.mechanism.alpha


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"loss": "L7"}, "unknown"),
        ({"loss": np.ones((2, 3))}, "outputs by counts"),
        ({"prior": [1, 1]}, "5 weights"),
        ({"prior": [1, 1, 1, 1, -1]}, "none negative"),
        ({"aggregate": "mean"}, "sum or max"),
    ],
)
def test_a_wrong_consumer_is_refused_in_one_sentence(options, said):
    with pytest.raises(ValueError, match=said):
        counts.best_remap(counts.geometric(4, 0.5), **options)
    with pytest.raises(ValueError, match=said):
        counts.serve(4, 0.5, **options)
    with pytest.raises(ValueError, match="512"):
        counts.best_remap(counts.geometric(1000, 0.5))
