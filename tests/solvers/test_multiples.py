"""Multiples of a pattern: the same strategy as all of them listed, and histograms of any size served by one set."""

import numpy as np
import pytest

import stratagem as st
from evidences import by_tables
from mechanisms import some
from stratagem.estimation.estimation import estimate
from stratagem.estimators import estimator, evaluate
from stratagem.estimators.translation import score, translates
from stratagem.math.galois import powers
from stratagem.math.vector import counted
from stratagem.mechanism.mechanism import Mechanism, load_mechanism
from stratagem.solvers.orbit.sets import flat_orbit
from stratagem.strategies import SubsetSelection
from stratagem.workloads.merged import merged

RATIO = 3.0
CASES = [  # values, points of the cycle, (multiples, root) of each pattern
    (7, 7, [(6, 3)]),
    (5, 8, [(3, 3), (1, 1), (5, 7)]),  # 7^2 = 1: multiples come again
    (11, 15, [(4, 2), (2, 11)]),
    (1029, 1031, [(4, 5), (2, 3)]),
]


def pair(values: int, cycle: int, parts) -> tuple[st.strategies.OrbitStrategy, st.strategies.OrbitStrategy]:
    """Return a strategy with multiples, and the one in which each multiple is a pattern of its own."""
    rng, made, listed, chances = np.random.default_rng(cycle), [], [], []
    for many, root in parts:
        inside = some(cycle, rng)
        made.append(st.strategies.Pattern((0,), (cycle,), np.packbits(inside), many, root))
        for i in range(many):
            moved = np.zeros(cycle, dtype=bool)
            moved[np.flatnonzero(inside) * root**i % cycle] = True
            listed.append(st.strategies.Pattern.of((0,), moved))
            chances.append(1 / many / len(parts))
    both = (tuple(made), np.full(len(parts), 1 / len(parts))), (tuple(listed), np.array(chances))
    one, other = (
        st.strategies.OrbitStrategy((values,), (cycle,), patterns, w, RATIO) for patterns, w in both
    )
    return one, other


def asked(values: int):
    """Return workloads that go through every estimator of one attribute."""
    rows = np.random.default_rng(0).standard_normal((3, values))
    return [st.histogram(values), st.prefix(values), st.explicit(rows)] + (
        [st.all_range(values)] if values < 100 else []
    )


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("values", "cycle", "parts"), CASES)
def test_multiples_are_patterns_of_their_own(values, cycle, parts):
    one, other = pair(values, cycle, parts)
    assert one.outputs == other.outputs
    assert one.eigenvalues == pytest.approx(other.eigenvalues, rel=1e-9)
    if values < 100:
        np.testing.assert_allclose(one.dense().matrix, other.dense().matrix, rtol=1e-14)
    for W in asked(values):
        mine, theirs = evaluate(W, one), evaluate(W, other)
        np.testing.assert_allclose(mine.per_type, theirs.per_type, rtol=1e-9, err_msg=str(W))
        assert mine.objective == pytest.approx(theirs.objective, rel=1e-10)
    W = st.histogram(values)
    np.testing.assert_allclose(estimator(one).largest(W), estimator(other).largest(W), rtol=1e-9)
    np.testing.assert_allclose(estimator(one).variances(W), estimator(other).variances(W), rtol=1e-9)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("method", ["unbiased", "norm-sub"])
@pytest.mark.parametrize(("values", "cycle", "parts"), CASES)
def test_estimates_are_those_of_the_patterns_listed(values, cycle, parts, method):
    one, other = pair(values, cycle, parts)
    users = np.random.default_rng(1).integers(0, values, 2000) ** 2 // values
    counts = counted(one.randomise(users, np.random.default_rng(2)), one.outputs)
    for W in asked(values) if method == "unbiased" else [st.histogram(values)]:
        mine, theirs = (estimate(strategy, counts, W, method=method) for strategy in (one, other))
        np.testing.assert_allclose(mine.answers, theirs.answers, atol=1e-6, err_msg=str(W))
        np.testing.assert_allclose(mine.standard_errors, theirs.standard_errors, rtol=1e-8, err_msg=str(W))


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("n", "epsilon"), [(300, 3.0), (720, 5.0), (1100, 6.0)])
def test_several_sets_estimate_as_the_transforms_do(n, epsilon, monkeypatch):
    """Reports of rounded weights too; cells listed, or convolved by set and multiple."""
    W, strategy = st.histogram(n), flat_orbit((n,), np.exp(epsilon))
    assert len(strategy.patterns) > 1
    followed = Mechanism.of(strategy, W, epsilon).strategy
    counts = counted(followed.randomise(np.arange(3000) % n, np.random.default_rng(0)), followed.outputs)
    listed = by_tables(followed, counts)
    answers, variances = listed.answers(W), listed.variances(W)
    assert listed._even is not None
    monkeypatch.setattr(score, "LISTED", 0)
    convolved = by_tables(followed, counts)
    np.testing.assert_allclose(convolved.answers(W), answers, atol=1e-8)
    np.testing.assert_allclose(convolved.variances(W), variances, rtol=1e-9)
    monkeypatch.setattr(translates, "even_scores", lambda strategy: None)
    general = by_tables(followed, counts)
    np.testing.assert_allclose(general.answers(W), answers, rtol=1e-6, atol=1e-5)
    np.testing.assert_allclose(general.variances(W), variances, rtol=1e-6)


def test_a_user_is_held_by_as_many_multiples_as_the_set_has_cells():
    """The same draws, with the negative control that they depend on the value."""
    one, other = pair(*CASES[1])
    users = np.full(40_000, 2)
    mine, theirs = (s.randomise(users, np.random.default_rng(5)) for s in (one, other))
    expected = one.dense().matrix[:, 2] * len(users)
    spread = np.square(np.bincount(mine, minlength=one.outputs) - expected) / expected
    assert spread.sum() < 150  # 71 degrees of freedom: 1 in 10^7
    assert np.square(np.bincount(theirs, minlength=one.outputs) - expected) @ (1 / expected) < 150
    wrong = one.dense().matrix[:, 3] * len(users)
    assert np.square(np.bincount(mine, minlength=one.outputs) - wrong) @ (1 / wrong) > 1000


@pytest.mark.parametrize("listed", [0, 10**9])
def test_scores_of_two_values_are_those_of_the_transforms(listed, monkeypatch):
    """Cells of all reports listed, or convolved by multiple; both against the estimator of any patterns."""
    monkeypatch.setattr(score, "LISTED", listed)
    strategy, W = flat_orbit((1100,), np.e), st.histogram(1100)
    users = np.random.default_rng(1).integers(0, 1100, 3000)
    counts = counted(strategy.randomise(users, np.random.default_rng(2)), strategy.outputs)
    even = by_tables(strategy, counts)
    monkeypatch.setattr(translates, "even_scores", lambda strategy: None)
    general = by_tables(strategy, counts)
    np.testing.assert_allclose(even.answers(W), general.answers(W), atol=1e-8)
    np.testing.assert_allclose(even.variances(W), general.variances(W), rtol=1e-9)


EQUAL = 1e-11
TABLES = [  # on the largest domains a few points of a prime above the number of cells have nobody
    *(([100, 2, 51, 7, 12], epsilon, 1e-7) for epsilon in (0.5, 1.0, 2.0, 4.0, 6.0, 8.0)),
    *(([600, 600], epsilon, 1e-6) for epsilon in (0.5, 2.0, 8.0)),
    *(([52, 52, 52], epsilon, 1e-8) for epsilon in (0.5, 1.0, 4.0)),
    *(([52, 52, 52], epsilon, EQUAL) for epsilon in (6.0, 8.0)),
    *(([41, 41, 41], epsilon, EQUAL) for epsilon in (4.0, 6.0, 8.0, 10.0)),
    *(([30, 30, 30], epsilon, EQUAL) for epsilon in (4.0, 6.0, 8.0, 12.0)),
    *(([300], epsilon, EQUAL) for epsilon in (0.1, 1.0, 3.0, 5.0, 6.0, 8.0)),
    *(([1024], epsilon, EQUAL) for epsilon in (0.1, 1.0, 4.0, 6.0, 8.0)),
    *(([5040], epsilon, EQUAL) for epsilon in (2.0, 4.0, 6.0, 8.0)),
    ([100, 51, 12], 7.0, EQUAL),
    ([50_616], 6.0, 1e-5),  # many divisors: 736 orbits of characters
]


@pytest.mark.sampled(24, 3)
@pytest.mark.parametrize(("sizes", "epsilon", "loss"), TABLES)
def test_a_large_table_is_as_good_as_subset_selection_on_its_cells(sizes, epsilon, loss):
    """That is the optimum: the lower bound meets it."""
    W = st.marginals(sizes, len(sizes))
    found, n = st.optimise(W, epsilon), W.domain_size
    best = 1 + (n - 1) / SubsetSelection.best(n, epsilon).eigenvalue
    assert best * (1 - 1e-10) <= found.objective <= best * (1 + loss)
    assert found.objective * (1 - loss - 1e-9) <= found.lower_bound <= found.objective * (1 + 1e-12)
    assert found.strategy.epsilon <= epsilon * (1 + 1e-12)


def test_a_large_table_is_collected_as_its_attributes_are(tmp_path):
    """From the values of attributes to a report, a saved bundle, and answers with their errors."""
    sizes = {"age": 90, "work": 60, "town": 40}
    W = st.marginals(sizes, 3)
    found = st.optimise(W, 5.0)
    mechanism = Mechanism.of(found.strategy, W, 5.0)
    assert len(mechanism.text) < 10 * W.domain_size // 8
    path = mechanism.save(tmp_path / "table.ldp.json")
    again, rng = load_mechanism(path), np.random.default_rng(3)
    people = rng.integers(0, [2, 3, 2], (4000, 3))
    values = [dict(zip(sizes, map(int, one), strict=True)) for one in people]
    outputs = np.array([again.client.randomise(value)["output"] for value in values])
    got = estimate(again.strategy, counted(outputs, again.strategy.outputs), W)
    truth = W.answer_users(people)
    z = (got.answers - truth) / got.standard_errors
    assert np.square(z).mean() == pytest.approx(1, abs=0.05)  # 216,000 cells that hardly depend on each other
    wrong = (got.answers - W.answer_users(people[:, [1, 0, 2]] % [90, 60, 40])) / got.standard_errors
    assert np.abs(wrong).max() > 8 > np.abs(z).max()


def test_other_queries_are_answered_from_a_table_on_one_cycle():
    sizes = {"a": 30, "b": 40}
    strategy, W = flat_orbit((30, 40), np.exp(2.0)), st.marginals(sizes, 1)
    people = np.random.default_rng(0).integers(0, [3, 4], (5000, 2))
    counts = counted(strategy.randomise(people, np.random.default_rng(1)), strategy.outputs)
    found = estimate(strategy, counts, W)
    z = (found.answers - W.answer_users(people)) / found.standard_errors
    assert np.abs(z).max() < 5  # 70 answers: false alarms 4e-5
    flat = merged(W)
    assert flat.domain.sizes == (1200,)
    np.testing.assert_array_equal(flat.matrix(), W.matrix())
    np.testing.assert_allclose(flat.gram(), W.gram())
    spectrum = np.square(np.abs(np.fft.fft(W.matrix()))).sum(axis=0) / 1200
    np.testing.assert_allclose(flat.structure.translation_spectrum(), spectrum)
    with pytest.raises(ValueError, match="both must"):
        estimate(strategy, counts, st.marginals({"a": 40, "b": 30}, 1))


@pytest.mark.parametrize(
    ("axes", "sizes", "multiples", "root"),
    [((0,), (8,), 2, 2), ((0,), (8,), 0, 3), ((0, 1), (2, 4), 2, 3), ((0,), (8,), 2, 0)],
)
def test_multiples_that_are_no_sets_of_the_same_size_are_refused(axes, sizes, multiples, root):
    with pytest.raises(ValueError, match="without a divisor in common") as error:
        st.strategies.Pattern(axes, sizes, np.array([0b10100000], np.uint8), multiples, root)
    assert "\n" not in str(error.value)


def test_powers_go_on_until_they_repeat():
    assert powers(1, 3, 7).tolist() == [1, 3, 2, 6, 4, 5]
    assert powers(2, 3, 8).tolist() == [2, 6]
    assert powers(0, 3, 8).tolist() == [0]
    assert powers(5, 1, 8).tolist() == [5]
