"""What published mechanisms and the central model refuse: bad arguments, each in one sentence."""

import warnings

import numpy as np
import pytest

import stratagem as st
from stratagem import central
from stratagem.strategies.hashing import LocalHashing
from stratagem.strategies.set_protocol import SubsetSelection

WHOLE = (2.5, "4", None, -3, True, float("nan"))
SIZED = (
    st.published.count_mean_sketch,
    st.published.hadamard_count_mean_sketch,
    st.published.haar,
    st.published.hadamard_mechanism,
    st.published.hadamard_response,
    st.published.hierarchical,
    st.published.local_hashing,
    st.published.optimised_unary_encoding,
    st.published.projective_geometry_response,
    st.published.randomised_response,
    st.published.rappor,
    st.published.subset_design,
    st.published.subset_selection,
    st.published.summed_histogram_encoding,
    st.published.symmetric_unary_encoding,
    st.published.thresholded_histogram_encoding,
    st.published.tree_encoding,
)
QUERIED = (
    st.published.local_laplace,
    st.published.local_spherical,
    lambda queries, epsilon: st.published.local_gaussian(queries, epsilon, 1e-6),
)
TABLED = (st.published.marginal_response, st.published.marginal_hadamard, st.published.marginal_encoding)


def refused(word, call, *arguments):
    """Call, and expect a ValueError of one line that has the word; a warning would be an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=word) as caught:
            call(*arguments)
    assert "\n" not in str(caught.value)
    assert type(caught.value) is ValueError


@pytest.mark.parametrize("size", WHOLE, ids=repr)
@pytest.mark.parametrize("mechanism", SIZED, ids=lambda mechanism: mechanism.__name__)
def test_the_size_of_the_domain_is_a_whole_number(mechanism, size):
    refused("must be a whole number", mechanism, size, 1.0)


@pytest.mark.parametrize("mechanism", SIZED, ids=lambda mechanism: mechanism.__name__)
def test_a_size_from_numpy_is_a_size(mechanism):
    assert mechanism(np.int64(6), 1.0).domain_size == 6


@pytest.mark.parametrize(
    "queries", [[[1, 2], [3]], [["a", "b"]], [[1j, 2]], [1, 2], [[1, np.inf]], [[2, 2]], []]
)
@pytest.mark.parametrize("mechanism", QUERIED)
def test_queries_are_a_finite_matrix_of_different_columns(mechanism, queries):
    refused("queries have shape", mechanism, queries, 1.0)


@pytest.mark.parametrize("scale", [1e200, 1e-200])
@pytest.mark.parametrize("mechanism", QUERIED)
def test_queries_have_squares(mechanism, scale):
    refused("rescale the queries", mechanism, np.eye(3) * scale, 1.0)


@pytest.mark.parametrize("tables", [[0], [], 5, [(0, 0)], [(2,)], [("a",)], [(0.0,)], None], ids=repr)
@pytest.mark.parametrize("mechanism", TABLED, ids=lambda mechanism: mechanism.__name__)
def test_tables_are_sets_of_attributes(mechanism, tables):
    refused("the tables are", mechanism, (2, 2), 1.0, tables)


@pytest.mark.parametrize("sizes", [(2, 2.5), ("a",), (0,), (), 4], ids=repr)
@pytest.mark.parametrize(
    "mechanism",
    [
        st.published.independent_response,
        lambda sizes, epsilon: st.published.fourier(sizes, epsilon, [1]),
        *(lambda sizes, epsilon, make=make: make(sizes, epsilon, [(0,)]) for make in TABLED),
    ],
)
def test_sizes_of_attributes_are_whole_numbers(mechanism, sizes):
    refused("size", mechanism, sizes, 1.0)


@pytest.mark.parametrize("levels", [["a", 1], [0, 0], [0.5], [[1], [1, 2]], [2, -1], 3, "xy"], ids=repr)
@pytest.mark.parametrize(
    "mechanism",
    [
        st.published.haar,
        lambda n, epsilon, levels: st.published.hierarchical(n, epsilon, 2, levels=levels),
        lambda n, epsilon, levels: st.published.tree_encoding(n, epsilon, 2, levels=levels),
    ],
)
def test_levels_have_probabilities(mechanism, levels):
    refused("4 values .* 2 levels", mechanism, 4, 1.0, levels)


@pytest.mark.parametrize("value", ["x", None, [1], np.nan, 0, 1, -1, 1j], ids=repr)
@pytest.mark.parametrize(
    "call",
    [
        lambda value: st.strategies.UnaryEncoding(4, value, 0.2),
        lambda value: st.strategies.UnaryEncoding(4, 0.7, value),
        lambda value: SubsetSelection(4, 1, value),
        lambda value: LocalHashing(4, 2, value),
        lambda value: st.published.local_gaussian(np.eye(3), 1.0, value),
        lambda value: central.compare(st.prefix(4), 1.0, "replace", [] if value is None else value),
        lambda value: central.measure_gaussian(np.eye(3), 1.0, value, "replace"),
        lambda value: central.stability_histogram(1.0, value, "replace"),
    ],
)
def test_probabilities_lie_between_0_and_1(call, value):
    refused("give", call, value)


@pytest.mark.parametrize(
    ("word", "call"),
    [
        ("number of blocks", lambda: st.published.hadamard_response(4, 1.0, 3.0)),  # type: ignore[arg-type]
        ("power of two", lambda: st.published.hadamard_response(4, 1.0, 3)),
        ("number of blocks", lambda: st.published.hadamard_response(4, 1.0, 8)),
        ("threshold is 'x'", lambda: st.published.thresholded_histogram_encoding(4, 1.0, "x")),  # type: ignore[arg-type]
        ("subset size", lambda: st.published.subset_selection(4, 1.0, "x")),  # type: ignore[arg-type]
        ("hash values", lambda: st.published.local_hashing(4, 1.0, "x")),  # type: ignore[arg-type]
        ("seed", lambda: st.published.count_mean_sketch(4, 1.0, seed="x")),  # type: ignore[arg-type]
        ("hash functions", lambda: st.published.count_mean_sketch(1 << 20, 1.0, hashes=1 << 20)),
        ("n\\^2", lambda: st.published.randomised_response(1 << 20, 1.0)),
        ("type <U1", lambda: st.published.fourier((4,), 1.0, ["a"])),
        ("give a list of whole", lambda: st.published.fourier((4,), 1.0, [[1], [1, 2]])),  # type: ignore[list-item]
        ("shares have", lambda: st.published.fourier((4,), 1.0, [1], ["a"])),
        ("shares have", lambda: st.published.fourier((4,), 1.0, [1, 2], [0.5, 0.6])),
        ("shape \\(\\)", lambda: st.strategies.MatrixStrategy([[1, 2], [3]])),  # type: ignore[arg-type]
        ("not a published mechanism", lambda: st.tune(st.prefix(8), 1.0, [1])),  # type: ignore[arg-type]
        ("or is not tried on domains of this size", lambda: st.tune(st.histogram(4), 1.0, "rappor")),
    ],
)
def test_other_arguments(word, call):
    refused(word, call)


def test_delta_is_checked_before_any_work(monkeypatch):
    """A workload that refuses to be looked at is never reached."""
    monkeypatch.setattr(
        "stratagem.workloads.workload.Workload.gram", lambda self: pytest.fail("worked first")
    )
    refused("delta is 'x'", central.compare, st.prefix(1024), 1.0, "replace", "x")


def test_noise_beyond_62_bits_is_not_drawn():
    slow = central.measure(np.array([[1, 2**40], [0, 1]]), 1e-6, "replace")
    refused("has the rate", slow.release, [1, 2])


def test_the_slowest_noise_has_its_variance():
    """At 1e-15 the mean of 2000 squares is within 6 standard errors; half the rate would not be.

    False alarm below 1e-6, the seed being fixed.
    """
    rate, draws = 1e-15, 2000
    slow = central.GeometricMeasurement(
        np.ones((draws, 1), dtype=np.int64), np.full(draws, rate), "add-remove"
    )
    source = np.random.default_rng(5).bytes
    squares = np.square(slow.release([0], source).astype(float) * rate)  # mean 2, variance 24 - 4
    error = 6 * (20 / draws) ** 0.5
    assert abs(squares.mean() - 2) < error
    assert abs(squares.mean() - 8) > error
