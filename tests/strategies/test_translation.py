"""Orbits and juntas: translates of patterns, against the matrix they stand for."""

import itertools

import numpy as np
import pytest
from scipy.stats import chi2

import stratagem as st
from tables import EPSILONS, assert_private
from translations import MIXED, RATIO, TABLE, pattern


@pytest.mark.parametrize("strategy", TABLE.values(), ids=TABLE)
def test_columns_sum_to_one_and_epsilon_is_what_the_matrix_measures(strategy):
    matrix = strategy.dense()
    assert matrix.matrix.shape == (strategy.outputs, strategy.domain_size)
    np.testing.assert_allclose(matrix.matrix.sum(axis=0), 1, atol=1e-12)
    assert strategy.epsilon == pytest.approx(matrix.epsilon, abs=1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_measured_epsilon_stays_within_the_budget(epsilon):
    from stratagem.math.privacy import ratio

    strategy = st.strategies.OrbitStrategy((7,), (7,), (pattern((0,), 7),), np.ones(1), ratio(epsilon))
    assert strategy.epsilon <= epsilon
    assert_private(strategy.dense(), epsilon)


def test_eigenvalues_of_juntas_are_those_of_the_information_matrix():
    sizes, groups = MIXED.sizes, MIXED.groups
    spectrum = np.fft.fftn(MIXED.dense().information()[:, 0].reshape(sizes)).real
    for frequencies in np.ndindex(*sizes):
        touched = [[i for i in group if frequencies[i]] for group in groups]
        kind, place = tuple(map(len, touched)), tuple(frequencies[i] - 1 for side in touched for i in side)
        assert MIXED.eigenvalues(kind)[place] == pytest.approx(spectrum[frequencies], abs=1e-14)


@pytest.mark.parametrize("name", ["cycle", "torus"])
def test_eigenvalues_of_orbits_are_those_of_the_information_matrix(name):
    strategy = TABLE[name]
    row = strategy.dense().information()[:, 0].reshape(strategy.sizes)
    np.testing.assert_allclose(strategy.eigenvalues, np.fft.fftn(row).real, atol=1e-14)


@pytest.mark.parametrize(
    "strategy", [MIXED, TABLE["cycle"], TABLE["torus"]], ids=["juntas", "cycle", "torus"]
)
def test_eigenvalues_of_tables_are_those_of_the_information_matrix_in_any_order_of_attributes(strategy):
    sizes = strategy.sizes
    whole = np.fft.fftn(strategy.dense().information()[:, 0].reshape(sizes)).real
    for many in range(min(3, len(sizes)) + 1):
        for chosen in itertools.permutations(range(len(sizes)), many):
            kept = tuple(slice(None) if i in chosen else 0 for i in range(len(sizes)))
            expected = whole[kept].transpose(np.argsort(np.argsort(chosen)))
            np.testing.assert_allclose(strategy.table_eigenvalues(chosen), expected, atol=1e-14)
            touched = whole[kept][(slice(1, None),) * many]
            np.testing.assert_allclose(strategy.eigenvalues_at(chosen), touched, atol=1e-14)


def misfit(strategy, matrix, cell):
    """Return the p-value of 200,000 reports of one cell against a column."""
    reports = strategy.randomise(np.full(200_000, cell), np.random.default_rng(cell))
    expected = 200_000 * matrix[:, cell]
    counts = np.bincount(reports, minlength=len(matrix))
    return chi2.sf(np.sum((counts - expected) ** 2 / expected), len(matrix) - 1)


@pytest.mark.parametrize("strategy", TABLE.values(), ids=TABLE)
def test_reports_follow_the_matrix(strategy):
    """Chi-squared, false alarms 1e-6 a case; the column of another cell must be noticed."""
    matrix, last = strategy.dense().matrix, strategy.domain_size - 1
    assert misfit(strategy, matrix, last) > 1e-6
    assert misfit(strategy, np.roll(matrix, 1, axis=1), last) < 1e-6


def test_cells_and_coordinates_name_the_same_users():
    cells = np.arange(MIXED.domain_size)
    coordinates = np.stack(np.unravel_index(cells, MIXED.sizes), axis=1)
    one = MIXED.randomise(cells, np.random.default_rng(1))
    np.testing.assert_array_equal(one, MIXED.randomise(coordinates, np.random.default_rng(1)))


def test_a_hundred_attributes_are_randomised_without_their_domain():
    strategy = st.strategies.JuntaStrategy(
        (2,) * 100, (tuple(range(100)),), (pattern((0,) * 6, (2,) * 6),), np.ones(1), RATIO
    )
    values = np.random.default_rng(0).integers(0, 2, (1000, 100))
    reports = strategy.randomise(values, np.random.default_rng(1))
    assert strategy.domain_size == 2**100
    assert strategy.outputs == 64 * 100 * 99 * 98 * 97 * 96 * 95
    assert len(np.unique(reports)) > 990
    attributes, shifts = strategy.decoded(0, reports)
    assert (np.diff(np.sort(attributes, axis=1), axis=1) > 0).all()
    assert shifts.max() == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"weights": np.array([0.5, 0.5])}, "weights"),
        ({"weights": np.array([1.1, -0.1, 0.0])}, "nonnegative"),
        ({"weights": np.array([0.5, 0.3, np.nan])}, "nonnegative"),
        ({"ratio": 1.0}, "above 1"),
        ({"ratio": np.inf}, "above 1"),
        ({"groups": ((0, 2), (1, 3))}, "partition"),
        ({"groups": ((0, 1, 2), (3, 4))}, "cycle"),
        ({"groups": ((0, 1, 2, 3, 4),), "patterns": (), "weights": np.ones(0)}, "weight"),
        ({"patterns": (pattern((0,), (3,)),), "weights": np.ones(1)}, "cycle of its group"),
        ({"patterns": (pattern((0, 0, 0, 0), (2,) * 4),), "weights": np.ones(1)}, "fewer axes"),
        ({"patterns": (pattern((2,), (2,)),), "weights": np.ones(1)}, "group"),
    ],
)
def test_parts_that_do_not_fit_are_refused(change, words):
    parts = {name: getattr(MIXED, name) for name in ("sizes", "groups", "patterns", "weights", "ratio")}
    with pytest.raises(ValueError, match=words):
        st.strategies.JuntaStrategy(**parts | change)


def test_other_bad_input_is_refused():
    with pytest.raises(ValueError, match="2\\^53"):
        st.strategies.JuntaStrategy(
            (2,) * 1000, (tuple(range(1000)),), (pattern((0,) * 7, (2,) * 7),), np.ones(1), RATIO
        )
    with pytest.raises(ValueError, match="longer cycle"):
        st.strategies.OrbitStrategy((8,), (5,), (pattern((0,), 5),), np.ones(1), RATIO)
    with pytest.raises(ValueError, match="every attribute"):
        st.strategies.OrbitStrategy((3, 4), (3, 4), (pattern((0,), 3),), np.ones(1), RATIO)
    with pytest.raises(ValueError, match="inside"):
        st.strategies.Pattern.of((0,), np.ones(4))
    with pytest.raises(ValueError, match="bit a cell"):
        st.strategies.Pattern((0,), (9,), np.ones(1, np.uint8))
    for values in (
        np.array([72]),
        np.array([-1]),
        np.array([0.5]),
        np.zeros((2, 4), int),
        np.full((1, 5), 2),
    ):
        with pytest.raises(ValueError, match="whole numbers"):
            MIXED.randomise(values, np.random.default_rng(0))
    with pytest.raises(ValueError, match="mechanism file"):
        st.strategies.JuntaStrategy(
            (2,) * 30, (tuple(range(30)),), (pattern((0,) * 4, (2,) * 4),), np.ones(1), RATIO
        ).dense()
