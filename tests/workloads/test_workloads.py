"""Every workload over small domains, crossed with the properties that define one."""

import json
import time
import tracemalloc
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from stratagem import workloads as w
from stratagem.domain.domain import Domain
from stratagem.math.transform import fourier_adjoint, fourier_transform
from stratagem.workloads.merged import Padded
from stratagem.workloads.product import axis_vectors
from stratagem.workloads.query import MatrixRow, Span, Wave
from stratagem.workloads.serial import from_data, to_data


def random_rows(p, n, seed=0):
    return np.random.default_rng(seed).normal(size=(p, n))


def predicates(p, n, seed=0):
    return np.random.default_rng(seed).random((p, n)) < 0.5


LINES = [1, 2, 37, 100]
CATEGORICAL = ["2^4", "a=3,b=2,c=4", "a=1,b=5", "a=2,b=1,c=3,d=2"]

TABLE = {
    **{f"histogram {d}": w.histogram(d) for d in [*LINES, *CATEGORICAL]},
    **{f"total {d}": w.total(d) for d in [*LINES, *CATEGORICAL]},
    **{f"prefix {n}": w.prefix(n) for n in LINES},
    **{f"all-range {n}": w.all_range(n) for n in LINES},
    **{f"all-range 37 width {k}": w.all_range(37, k) for k in (1, 2, 18, 19, 36, 37)},
    **{f"all-marginals {d}": w.all_marginals(d) for d in [1, 37, *CATEGORICAL]},
    **{f"marginals {d} order {k}": w.marginals(d, k) for d in CATEGORICAL for k in (0, 1, 2)},
    **{f"parity {d}": w.parity(d) for d in [*LINES, *CATEGORICAL]},
    **{f"parity {d} order {k}": w.parity(d, k) for d in CATEGORICAL for k in (0, 1, 2)},
    "explicit": w.explicit(random_rows(7, 12), "a=3,b=4"),
    "explicit predicates": w.explicit(predicates(9, 37)),
    "explicit row": w.explicit([[1, 0, 2]]),
    "kron": w.kron([w.prefix({"age": 5}), w.histogram({"sex": 2})]),
    "kron grown": w.kron([w.total(6), w.all_range(5), w.marginals("2^2", 1)]),
    "kron one": w.kron([w.prefix(4)]),
    "kron symmetric": w.kron([w.parity("a=3,b=2", 1), w.total(2), w.histogram(3)]),
    "kron nested": w.kron([w.kron([w.prefix(3), w.prefix(2)]), w.explicit(random_rows(4, 3))]),
    "stack": w.stack([w.prefix(9), w.weighted(w.total(9), 3.0), w.all_range(9, 2)]),
    "stack symmetric": w.stack([w.all_marginals("2^3"), w.weighted(w.parity("2^3", 1), 0.5)]),
    "weighted": w.weighted(w.all_range(8), -1.5),
    "prefix of answers": Padded(w.prefix(6), Domain.of(8)),
    "all-range of answers": Padded(w.all_range(6), Domain.of(7)),
    "all-range of answers width 2": Padded(w.all_range(6, 2), Domain.of(8)),
    "kron of answers": w.kron([Padded(w.prefix(1), Domain.of(2)), w.histogram({"sex": 2})]),
}


@pytest.fixture(params=TABLE, ids=str)
def workload(request):
    return TABLE[request.param]


def test_gram_is_the_matrix_times_its_transpose(workload):
    W, V = workload.matrix(), workload.gram()
    assert V.shape == (workload.domain_size, workload.domain_size)
    assert V.dtype == np.float64
    np.testing.assert_allclose(V, W.T @ W, atol=1e-10 * np.abs(V).max())


def test_the_description_of_a_query_makes_its_row_again(workload):
    rows = [row_of(workload, query) for query in range(workload.queries)]
    np.testing.assert_allclose(rows, workload.matrix(), atol=1e-12)


def row_of(workload, query):
    """Return a row of the matrix from what `describe` says alone."""
    sizes, found = workload.domain.sizes, workload.describe(query)
    row = np.full(sizes, found.weight)
    for part in found.parts:
        match part:
            case Span(i, low, high):
                factor = (np.arange(sizes[i]) >= (low or 0)) & (np.arange(sizes[i]) <= high)
                row *= axis_vectors([factor if k == i else np.ones(1) for k in range(len(sizes))])[i]
            case Wave(i, number):
                wave = fourier_transform(np.eye(sizes[i]))[number]
                row *= axis_vectors([wave if k == i else np.ones(1) for k in range(len(sizes))])[i]
            case MatrixRow(attributes, number):
                own = [size if k in attributes else 1 for k, size in enumerate(sizes)]
                row *= matrix_in(workload)[number].reshape(own)
    return row.ravel()


def matrix_in(workload):
    """Return the rows of the only explicit matrix in a workload."""
    match workload:
        case w.Explicit():
            return workload.rows
        case w.Product(factors):
            return next((found for one in factors if (found := matrix_in(one)) is not None), None)
    return None


@pytest.mark.parametrize("query", [-1, 10, 1.5, True, "0"])
def test_a_description_refuses_what_is_no_query(query):
    with pytest.raises(ValueError, match="the query is"):
        w.prefix(10).describe(query)


@pytest.mark.parametrize(
    "workload", [w.marginals("2^1000", 3), w.parity("2^1000", 3), w.all_range(2**20), w.all_marginals("2^60")]
)
def test_the_billionth_query_is_described_at_once(workload):
    """No list of all queries is made: that would take minutes and gigabytes."""
    for query in (0, workload.queries // 2, workload.queries - 1):
        assert workload.describe(query).parts or query == 0


@pytest.mark.parametrize("columns", [(), (1,), (3,), (0,)])
def test_answer_and_adjoint_are_products_with_the_matrix(workload, columns):
    rng = np.random.default_rng(1)
    W = workload.matrix()
    x = rng.normal(size=(workload.domain_size, *columns))
    y = rng.normal(size=(workload.queries, *columns))
    np.testing.assert_allclose(workload.answer(x), W @ x, atol=1e-9)
    np.testing.assert_allclose(workload.adjoint(y), W.T @ y, atol=1e-9)
    assert workload.answer(x).shape == (workload.queries, *columns)
    assert workload.adjoint(y).shape == (workload.domain_size, *columns)


def test_counts_match_the_matrix(workload):
    assert workload.matrix().shape == (workload.queries, workload.domain_size)
    assert type(workload.queries) is int
    assert workload.frobenius_squared == pytest.approx(np.trace(workload.gram()), rel=1e-12)
    assert type(workload.frobenius_squared) is float


def test_symmetry_leaves_the_gram_matrix_unchanged(workload):
    if workload.symmetry is None:
        return
    assert np.prod(workload.symmetry) == workload.domain_size
    V = workload.gram()
    cells = np.arange(len(V)).reshape(workload.symmetry)
    for axis in range(cells.ndim):  # the shifts by one along each axis generate the group
        moved = np.roll(cells, 1, axis).reshape(-1)
        np.testing.assert_allclose(V[np.ix_(moved, moved)], V, atol=1e-10 * np.abs(V).max())


def test_symmetry_is_found_where_it_should_be():
    symmetric = {name.split()[0] for name, workload in TABLE.items() if workload.symmetry is not None}
    assert symmetric == {"histogram", "total", "all-marginals", "marginals", "parity", "kron", "stack"}
    assert TABLE["kron symmetric"].symmetry == (3, 2, 2, 3)
    assert TABLE["kron"].symmetry is None
    assert TABLE["stack"].symmetry is None


def test_the_symmetry_check_can_fail():
    V = w.prefix(5).gram()
    moved = np.roll(np.arange(5), 1)
    assert not np.allclose(V[np.ix_(moved, moved)], V)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (lambda W, M: W + W, lambda W, M: np.vstack([W, W])),
        (lambda W, M: W + M, lambda W, M: np.vstack([W, M])),
        (lambda W, M: M + W, lambda W, M: np.vstack([M, W])),
        (lambda W, M: 2 * W, lambda W, M: 2 * W),
        (lambda W, M: np.float64(0.5) * W * 3, lambda W, M: 1.5 * W),
        (lambda W, M: W + 0.5 * (W + w.total(5)), lambda W, M: np.vstack([W, 0.5 * W, np.full((1, 5), 0.5)])),
    ],
)
def test_sums_ask_the_queries_of_both_and_a_factor_weighs_them(made, expected):
    workload, matrix = w.prefix(5), random_rows(3, 5)
    found, rows = made(workload, matrix), expected(workload.matrix(), matrix)
    assert found.shape == rows.shape
    assert np.allclose(found.matrix(), rows)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda W: W + w.prefix(6), "the domains 5 and 6"),
        (lambda W: W + 1, "Prefix, int"),
        (lambda W: sum([W, W]), "int, Prefix"),
        (lambda W: W * 0, "the weight is 0"),
        (lambda W: "2" * W, "the weight is '2'"),
        (lambda W: np.nan * W, "the weight is nan"),
        (lambda W: W * W, "the weight is Prefix"),
    ],
)
def test_what_is_no_sum_or_weight_is_refused(made, said):
    with pytest.raises(ValueError, match=said):
        made(w.prefix(5))


def test_gram_is_safe_to_change(workload):
    V = workload.gram()
    before = V.copy()
    V += 1.0
    np.testing.assert_array_equal(workload.gram(), before)


def test_answers_about_users_are_those_of_the_data_vector(workload):
    sizes = workload.domain.sizes
    users = np.random.default_rng(0).integers(0, sizes, (40, len(sizes)))
    x = np.bincount(np.ravel_multi_index(tuple(users.T), sizes), minlength=workload.domain_size)
    np.testing.assert_allclose(workload.answer_users(users), workload.answer(x), atol=1e-9)


def test_answers_are_safe_to_change():
    x = np.ones(3)
    answers = w.histogram(3).answer(x)
    answers += 1
    np.testing.assert_array_equal(x, np.ones(3))


def same(left, right):
    np.testing.assert_array_equal(left.gram(), right.gram())
    x = random_rows(left.domain_size, 2)
    np.testing.assert_array_equal(left.answer(x), right.answer(x))
    assert (left.domain, left.queries, left.symmetry) == (right.domain, right.queries, right.symmetry)
    assert to_data(left) == to_data(right)


def test_data_round_trip_through_json(workload):
    text = json.dumps(to_data(workload), allow_nan=False)
    same(from_data(json.loads(text)), workload)


# --- closed forms -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 37, 64])
def test_closed_forms_on_a_line(n):
    i, j = np.indices((n, n))
    np.testing.assert_array_equal(w.prefix(n).gram(), n - np.maximum(i, j))
    np.testing.assert_array_equal(w.all_range(n).gram(), (np.minimum(i, j) + 1) * (n - np.maximum(i, j)))
    assert w.all_range(n).queries == n * (n + 1) // 2


@pytest.mark.parametrize("width", range(1, 8))
def test_short_ranges_are_the_ranges_of_that_length(width):
    rows = [
        [start <= cell < start + length for cell in range(7)]
        for length in range(1, width + 1)
        for start in range(8 - length)
    ]
    np.testing.assert_array_equal(w.all_range(7, width).matrix(), rows)


@pytest.mark.parametrize("d", [1, 3, 5])
def test_closed_forms_on_binary_attributes(d):
    bits = np.array(list(np.ndindex((2,) * d)))
    h = (bits[:, None] != bits[None]).sum(axis=2)
    np.testing.assert_array_equal(w.all_marginals(f"2^{d}").gram(), 2.0 ** (d - h))
    for k in range(d + 1):
        marginals = w.marginals(f"2^{d}", k)
        np.testing.assert_array_equal(marginals.gram(), [[comb(d - int(e), k) for e in row] for row in h])
        assert marginals.queries == comb(d, k) * 2**k
        assert w.parity(f"2^{d}", k).queries == sum(comb(d, j) for j in range(k + 1))
    assert w.all_marginals(f"2^{d}").queries == 3**d
    np.testing.assert_array_equal(w.parity(f"2^{d}").gram(), 2**d * np.eye(2**d))
    np.testing.assert_array_equal(w.parity(f"2^{d}").matrix(), (-1.0) ** (bits @ bits.T))


@pytest.mark.parametrize("a", [1, 2, 3, 4, 5, 8, 37, 100])
def test_fourier_basis(a):
    B = fourier_transform(np.eye(a))
    np.testing.assert_array_equal(B[0], np.ones(a))
    np.testing.assert_allclose(B.T @ B, a * np.eye(a), atol=1e-12 * a)
    np.testing.assert_allclose(fourier_adjoint(np.eye(a)), B.T, atol=1e-13)


def test_gram_row_is_the_first_column():
    for workload in (w.marginals("a=3,b=2,c=4", 2), w.parity("a=3,b=2,c=4", 2)):
        np.testing.assert_array_equal(workload.gram_row(), workload.gram()[:, 0])  # type: ignore[attr-defined]


def test_marginals_are_tables_in_lexicographic_order():
    x = np.arange(24.0).reshape(3, 2, 4)
    expected = [x.sum(2).ravel(), x.sum(1).ravel(), x.sum(0).ravel()]
    np.testing.assert_array_equal(w.marginals("a=3,b=2,c=4", 2).answer(x.ravel()), np.concatenate(expected))


def test_kron_follows_the_order_of_its_factors():
    left, right = random_rows(3, 4), random_rows(5, 2, seed=1)
    product = w.kron([w.explicit(left), w.explicit(right)])
    np.testing.assert_allclose(product.matrix(), np.kron(left, right), atol=1e-14)
    assert product.domain.names == ("value", "value_2")


def test_kron_renames_until_a_name_is_free():
    names = ["value", "value_2", "value", "value"]
    assert w.kron(w.total({name: 2}) for name in names).domain.names == (
        "value", "value_2", "value_3", "value_4",
    )  # fmt: skip


# --- size ---------------------------------------------------------------------------------------------


def test_all_ranges_of_4096_values_take_little_more_than_their_answers():
    workload = w.all_range(4096)
    x = np.random.default_rng(0).integers(0, 100, 4096)
    tracemalloc.start()
    answers = workload.answer(x)
    back = workload.adjoint(answers)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert answers.shape == (8_390_656,)
    assert peak < 2.2 * answers.nbytes
    assert answers[-1] == x.sum()
    np.testing.assert_allclose(back, workload.gram() @ x, rtol=1e-9)


@pytest.mark.parametrize("workload", [w.marginals("2^100", 3), w.parity("2^100", 3), w.all_marginals("3^60")])
def test_domains_too_large_to_count(workload):
    start = time.perf_counter()
    assert workload.domain_size > 2**64
    assert workload.queries > 0
    assert workload.frobenius_squared > 2.0**64
    assert workload.symmetry == workload.domain.sizes
    assert time.perf_counter() - start < 0.5
    assert from_data(to_data(workload)) == workload
    for refused in (workload.gram, workload.matrix):
        with pytest.raises(ValueError, match="above the limit"):
            refused()
    with pytest.raises(ValueError, match="of shape"):
        workload.answer(np.ones(4))


def test_counts_of_marginals_on_a_hundred_attributes():
    assert w.marginals("2^100", 3).queries == comb(100, 3) * 8
    assert w.parity("2^100", 3).queries == 1 + 100 + comb(100, 2) + comb(100, 3)
    assert w.total("2^100").frobenius_squared == 2.0**100


# --- random compositions ------------------------------------------------------------------------------


def leaves(domain):
    choices = [w.histogram, w.total, w.all_marginals, w.parity]
    if len(domain.sizes) == 1:
        choices += [w.prefix, w.all_range]
    fixed = some.sampled_from(choices).map(lambda make: make(domain))
    matrix = some.integers(1, 4).map(lambda p: w.explicit(random_rows(p, domain.size, seed=p), domain))
    return fixed | matrix


DOMAINS = some.lists(some.integers(1, 3), min_size=1, max_size=2).map(
    lambda sizes: Domain.sized((f"x{i}" for i in range(len(sizes))), sizes)
)
WEIGHTS = some.floats(-4, 4).filter(lambda weight: abs(weight) > 1e-3)


@some.composite
def stacks(draw):
    domain = draw(DOMAINS)
    parts = draw(some.lists(leaves(domain), min_size=1, max_size=3))
    return w.stack([w.weighted(part, draw(WEIGHTS)) for part in parts])


COMPOSED = some.lists(stacks(), min_size=1, max_size=2).map(w.kron)


@pytest.mark.exhaustive
@settings(max_examples=40, deadline=None)
@given(COMPOSED)
def test_random_compositions(workload):
    test_gram_is_the_matrix_times_its_transpose(workload)
    test_answer_and_adjoint_are_products_with_the_matrix(workload, (2,))
    test_counts_match_the_matrix(workload)
    test_symmetry_leaves_the_gram_matrix_unchanged(workload)
    test_data_round_trip_through_json(workload)
