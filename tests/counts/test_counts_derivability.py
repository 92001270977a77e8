"""Derivability from the geometric mechanism: exact on closed forms and their post-processings, the published claims."""

from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest

from stratagem import counts
from stratagem.counts.criteria import inequalities, joined, property_set
from stratagem.counts.exact import Whole, reduced

ROUNDED = 1e-6
"""Tolerance for the optimum of a program; the entries of T that are truly negative below exceed it 1e4-fold."""
MONOTONE = "WH,RM,CM,S"


def random_post_processing(rng: np.random.Generator, mechanism: counts.Geometric) -> tuple:
    """A random T in whole numbers, some of them zero, the sum of its columns, and T P; n at most 8."""
    size = mechanism.size + 1
    T = (rng.integers(0, 1000, (size, size)) * (rng.random((size, size)) < 0.6)).astype(object)
    T[0] += 10000 - T.sum(axis=0)
    cells = T @ mechanism.whole().cells
    return T, 10000, counts.CountTable(mechanism.size, mechanism.alpha, reduced(cells))


@pytest.mark.parametrize("n", [1, 2, 3, 8, 40])
@pytest.mark.parametrize("alpha", ["0.2", "1/2", "0.9", "0.999"])
def test_the_geometric_mechanism_is_derived_by_doing_nothing(n, alpha):
    found = counts.derivation(counts.geometric(n, alpha))
    assert found.derivable()
    assert (found.numbers.cells == np.eye(n + 1, dtype=int) * found.numbers.total).all()


def test_an_epsilon_makes_no_difference():
    assert counts.derivation(counts.geometric(6, epsilon=0.3)).derivable()
    assert not counts.derivation(counts.explicit_fair(6, epsilon=0.3)).derivable()


@pytest.mark.parametrize("n", [1, 2, 3, 8])
@pytest.mark.parametrize("alpha", ["0.2", "0.62", "0.99"])
def test_every_post_processing_is_recognised_and_recovered(n, alpha):
    rng = np.random.default_rng(n)
    for _ in range(5):
        T, total, mechanism = random_post_processing(rng, counts.geometric(n, alpha))
        found = counts.derivation(mechanism)
        assert found.derivable()
        assert (found.numbers.cells * total == T * found.numbers.total).all()


@pytest.mark.parametrize("loss", ["L0", "L1", "L2"])
def test_what_a_consumer_makes_of_it_is_recognised(loss):
    for aggregate in ("sum", "max"):
        remap = counts.best_remap(counts.geometric(6, "0.7"), loss, aggregate=aggregate)
        found = counts.derivation(remap.mechanism)
        assert found.derivable()
        assert np.allclose(found.matrix, remap.transition, atol=1e-15)


@pytest.mark.parametrize("n", [2, 3, 4, 7, 30])
@pytest.mark.parametrize("alpha", ["0.2", "0.5", "0.9"])
def test_the_explicit_fair_mechanism_is_not_derivable_and_says_where(n, alpha):
    """T is still the only solution of P = T G, with columns that sum to one; three neighbours break the test."""
    mechanism = counts.explicit_fair(n, alpha)
    found = counts.derivation(mechanism)
    assert not found.derivable()
    assert not found.derivable(ROUNDED)
    i, j = np.unravel_index(found.matrix.argmin(), found.matrix.shape)
    a, row = mechanism.alpha, mechanism.whole().cells[i]
    assert 0 < j < n
    assert row[j] - a * row[j - 1] < a * (row[j + 1] - a * row[j])
    assert np.allclose(found.matrix.sum(axis=0), 1)
    assert np.allclose(found.matrix @ counts.geometric(n, alpha).matrix, mechanism.matrix, atol=1e-12)


def test_uniform_answers_are_derivable():
    assert counts.derivation(counts.uniform(9, 0.9)).derivable()


def test_the_test_is_exact_and_the_tolerance_is_for_programs():
    """One part in 10^30 against three neighbours is seen; a tolerance forgives it."""
    tiny = 10**30
    cells = counts.geometric(2, "1/2").whole().cells * tiny
    cells[1] += np.array([0, -1, 0], dtype=object)
    cells[0] += np.array([0, 1, 0], dtype=object)
    mechanism = counts.CountTable(2, Fraction(1, 2), Whole(cells, int(cells[:, 0].sum())))
    assert counts.derivation(mechanism).derivable(1e-25)
    assert not counts.derivation(mechanism).derivable()


@pytest.mark.parametrize("wrong", [-1e-9, 1, float("nan")])
def test_a_wrong_tolerance_is_refused(wrong):
    with pytest.raises(ValueError, match="from 0 to below 1"):
        counts.derivation(counts.geometric(2, 0.5)).derivable(wrong)


def test_a_closed_form_too_large_for_whole_numbers_is_refused():
    with pytest.raises(ValueError, match="512"):
        counts.derivation(counts.geometric(513, 0.5))


def least_derivable_cost(n: int, alpha: str, asked: str) -> float:
    """The least L0 cost of T G with the properties over all post-processings T, by a program of its own."""
    G = counts.geometric(n, alpha).matrix
    T = cp.Variable((n + 1, n + 1), nonneg=True)
    cells = cp.reshape(T @ G, ((n + 1) ** 2,), order="C")
    greater, less, factor = joined([f for kind in property_set(asked) for f in inequalities(kind, n)])
    constraints = [
        cp.sum(T, axis=0) == 1,
        cells[greater] >= cp.multiply(factor, cells[less]),
        cp.diag(T @ G) >= 1 / (n + 1),
    ]
    return cp.Problem(cp.Minimize((n + 1 - cp.trace(T @ G)) / n), constraints).solve(solver="CLARABEL")


@pytest.mark.parametrize("n", [3, 4, 5, 8])
@pytest.mark.parametrize("alpha", ["0.76", "0.9"])
def test_monotone_columns_cannot_be_had_by_post_processing_where_privacy_is_strong(n, alpha):
    """No optimum of WH, RM, CM, S is derivable: the best derivable mechanism with them costs more."""
    found = counts.design(n, alpha, "L0", MONOTONE)
    assert not counts.derivation(found.mechanism).derivable(ROUNDED)
    assert least_derivable_cost(n, alpha, MONOTONE) > found.cost + 5e-4


@pytest.mark.parametrize(
    ("n", "alpha"), [(2, "0.55"), (2, "0.76"), (2, "0.9"), (3, "0.62"), (4, "0.55"), (5, "0.66"), (8, "0.62")]
)
def test_monotone_columns_can_be_had_by_post_processing_where_privacy_is_weak(n, alpha):
    """The thesis calls them underivable for all alpha > 1/2: so is one optimum of many, ours is not."""
    found = counts.design(n, alpha, "L0", MONOTONE)
    assert counts.derivation(found.mechanism).derivable(ROUNDED)
    assert least_derivable_cost(n, alpha, MONOTONE) == pytest.approx(found.cost, rel=1e-6)


def test_at_two_people_another_optimum_is_not_derivable():
    """Moving 0.01 from row 1 to row 0 of the last column, and its mirror image, keeps cost and properties."""
    found = counts.design(2, "0.9", "L0", MONOTONE).mechanism
    cells, total = found.whole()
    other = cells.copy()
    other[[0, 1, 2, 1], [2, 2, 0, 0]] += np.array([1, -1, 1, -1], dtype=object) * (total // 100)
    moved = counts.CountTable(2, found.alpha, Whole(other, total))
    assert moved.ratio() <= 1 / moved.alpha
    assert moved.properties >= property_set(MONOTONE)
    assert moved.cost("L0") == pytest.approx(found.cost("L0"), rel=1e-12)
    assert counts.derivation(moved).least < -0.5
