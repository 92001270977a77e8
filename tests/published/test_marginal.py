"""Marginals one at a time (MargPS, MargHT, CALM), coverings, and what the thesis says about their variance."""

import math
from itertools import combinations

import numpy as np
import pytest

import stratagem as st
from published import ratio_squared, variances
from stratagem.estimators import estimator, evaluate
from stratagem.math.block_design import covering_tables
from stratagem.published.baseline import Setting
from stratagem.published.fourier import fourier, positive, table_cells, touching
from stratagem.published.marginal import marginal_hadamard, marginal_response
from tables import assert_private

THESIS = math.log(3), 8, 2
"""Epsilon, attributes and order of the numbers in section 4.5: E = 3, and cells of share 1/4."""
MIXED = {"a": 2, "b": 3, "c": 4}


def pairs(d: int, k: int = 2) -> list[tuple[int, ...]]:
    return list(combinations(range(d), k))


def users(n: int, seed: int = 0) -> np.ndarray:
    """A data vector of shares."""
    return np.random.default_rng(seed).dirichlet(np.ones(n))


@pytest.mark.parametrize("oracle", ["randomised", "hadamard", "one-bit"])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 12.0])
def test_tables_are_private_and_answer_their_marginals(oracle, epsilon):
    workload = st.marginals(MIXED, 2)
    sizes, W = workload.domain.sizes, workload.matrix()
    strategy = marginal_response(sizes, epsilon, pairs(3), oracle)
    assert_private(strategy, epsilon)
    assert strategy.epsilon == pytest.approx(epsilon, abs=1e-9)
    estimates = np.column_stack([strategy.reconstruct(column) for column in strategy.forward(np.eye(24)).T])
    assert np.allclose(W @ estimates, W, atol=1e-7)
    with pytest.raises(st.UnsupportedWorkloadError):
        evaluate(st.histogram(MIXED), strategy)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 12.0])
def test_signs_of_tables_are_private_and_answer_their_marginals(epsilon):
    workload = st.marginals(MIXED, 2)
    strategy = marginal_hadamard(workload.domain.sizes, epsilon, pairs(3))
    assert_private(strategy, epsilon)
    x, W = np.arange(24.0), workload.matrix()
    assert np.allclose(W @ strategy.reconstruct(strategy.forward(x)), W @ x)


@pytest.mark.parametrize(("k", "epsilon"), [(1, 1.0), (2, 1.0), (3, 0.4)])
def test_margps_has_the_variance_of_the_thesis_in_every_cell(k, epsilon):
    """N Var = C ((2^k - 2 + E)/(E - 1)^2 + f (2^k - 2)/(E - 1)) + (C - 1) f, tables weighted by their share."""
    d, workload = 5, st.marginals("2^5", k)
    tables, W, E = pairs(d, k), workload.matrix(), math.exp(epsilon)
    strategy, C = marginal_response((2,) * d, epsilon, pairs(d, k)), len(pairs(d, k))
    p, q = np.array([E, 1]) / (E + 2**k - 1)
    A = np.kron(np.eye(C), C * (np.eye(2**k) - q) / (p - q))
    x = users(32)
    f = W @ x
    expected = C * ((2**k - 2 + E) / (E - 1) ** 2 + f * (2**k - 2) / (E - 1)) + (C - 1) * f
    assert len(tables) * 2**k == strategy.outputs
    assert np.allclose(variances(strategy, A, W, x), expected)
    assert (
        evaluate(workload, strategy).average_variance <= variances(strategy, A, W, np.full(32, 1 / 32)).sum()
    )


@pytest.mark.parametrize(("k", "epsilon"), [(1, 1.0), (2, 1.0), (3, 0.4)])
def test_marght_has_the_variance_of_the_thesis_in_every_cell(k, epsilon):
    """InpHT's with C (2^k - 1) in place of T, for reports that also name the table; merging them costs nothing."""
    d, workload = 5, st.marginals("2^5", k)
    sizes, tables, W, q2 = (2,) * d, pairs(d, k), workload.matrix(), ratio_squared(epsilon)
    C, rows, estimators = len(tables), [], []
    for i, attributes in enumerate(tables):
        drawn = touching(sizes, attributes)[1:]
        rows.append(fourier(sizes, epsilon, drawn).dense().matrix / C)
        cells = slice(i * 2**k, (i + 1) * 2**k)
        signs = W[cells] @ np.where(positive(drawn, sizes), 1, -1).T / 2 ** (d - k)
        told = np.zeros((len(W), len(drawn)))
        told[cells] = 2.0**-k * C * len(drawn) * math.sqrt(q2) * signs
        estimators.append(2.0**-k + np.concatenate([told, -told], axis=1))
    named, x = st.strategies.MatrixStrategy(np.concatenate(rows)), users(32)
    f = W @ x
    expected = 4.0**-k * ((2**k - 1) ** 2 * C * q2 - f * (2**k - 1) ** 2 - (1 - f))
    assert np.allclose(variances(named, np.concatenate(estimators, axis=1), W, x), expected)
    merged = marginal_hadamard(sizes, epsilon, tables)
    assert np.allclose(merged.information(), named.information())
    assert evaluate(workload, merged).total_variance(x) <= expected.sum() * (1 + 1e-9)


def test_the_numbers_of_the_thesis():
    """N Var of a cell: MargPS 47.06 with each table's own users as denominator, MargHT 62.81, InpPS 4143.75.

    The last one adds up variances of cells as if they were independent; in truth InpPS has 3120.
    """
    epsilon, d, k = THESIS
    E, C, f, q2 = 3.0, math.comb(d, k), 0.25, ratio_squared(epsilon)
    assert q2 == pytest.approx(4)
    assert C * ((2 + E) / 4 + f) + (C - 1) * f * (1 - f) == pytest.approx(47.0625)
    assert (9 * C * q2 - 9 * f - (1 - f)) / 16 == pytest.approx(62.8125)
    workload = st.marginals("2^8", k)
    per_cell = {
        "MargPS": (marginal_response((2,) * d, epsilon, pairs(d)), 47.0625),
        "MargHT": (marginal_hadamard((2,) * d, epsilon, pairs(d)), 62.8125),
    }
    for strategy, published in per_cell.values():
        assert evaluate(workload, strategy).average_variance / workload.queries <= published
    flat = (
        evaluate(workload, st.published.randomised_response(2**d, epsilon)).average_variance
        / workload.queries
    )
    inside, outside = 66 / 258, 64 / 258
    exact = (f * inside * (1 - inside) + (1 - f) * outside * (1 - outside)) / (inside - outside) ** 2
    assert flat == pytest.approx(exact)
    assert exact == pytest.approx(3120)
    assert 64 * (254 + E) / 4 + f * 254 / 2 == pytest.approx(4143.75)


@pytest.mark.parametrize("sizes", [(2, 2, 2), (2, 3, 4), (5, 1, 2)])
def test_energies_are_traces_on_the_interactions(sizes):
    n = math.prod(sizes)
    F = np.random.default_rng(4).normal(size=(n, 5))
    V = F @ F.T
    found = Setting(sizes, V).energies
    for members in np.ndindex((2,) * len(sizes)):
        P = np.ones((1, 1))
        for a, inside in zip(sizes, members, strict=True):
            P = np.kron(P, np.eye(a) - 1 / a if inside else np.full((a, a), 1 / a))
        assert found[members] == pytest.approx(np.trace(P @ V), abs=1e-9)


@pytest.mark.parametrize(
    ("d", "k", "size", "least", "most"), [(4, 2, 2, 6, 6), (6, 2, 3, 6, 7), (8, 3, 5, 8, 14)]
)
def test_coverings_hold_every_table(d, k, size, least, most):
    """Between the known covering numbers C(6, 3, 2) = 6, C(8, 5, 3) = 8 and what greedy choice should reach."""
    sets = covering_tables(d, pairs(d, k), size)
    assert all(any(set(table) <= set(one) for one in sets) for table in pairs(d, k))
    assert least <= len(sets) <= most
    assert all(len(one) == size for one in sets)


@pytest.mark.parametrize("oracle", ["one-bit", "hadamard", "randomised"])
def test_a_covering_answers_the_marginals_that_it_holds(oracle):
    workload, x = st.marginals("2^6", 2), users(64)
    strategy = marginal_response((2,) * 6, 1.0, covering_tables(6, pairs(6), 3), oracle)
    assert np.allclose(workload.answer(strategy.reconstruct(strategy.forward(x))), workload.answer(x))
    assert estimator(strategy).objective(workload) < estimator(
        st.published.randomised_response(64, 1.0)
    ).objective(workload)


def test_table_cells_number_the_table_row_by_row():
    assert table_cells((2, 3, 2), (0, 2)).tolist() == [0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3]
    assert table_cells((2, 3), ()).tolist() == [0] * 6


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: marginal_response((2, 2), 1.0, []), "at least one"),
        (lambda: marginal_response((2, 2), 1.0, [(0, 2)]), "0 to 1"),
        (lambda: marginal_response((2, 2), 1.0, [(0, 0)]), "0 to 1"),
        (lambda: marginal_response((2, 2), 1.0, [(0,)], "guess"), "hadamard"),
        (lambda: marginal_response((2, 2), math.nan, [(0,)]), "epsilon"),
        (lambda: marginal_hadamard((2, 2), 1.0, [(-1,)]), "0 to 1"),
        (lambda: marginal_hadamard((2, 2), 1.0, [(0,), ()]), "single cell"),
        (lambda: covering_tables(3, [(0, 1)], 1), "from 2 to 3"),
        (lambda: covering_tables(3, [(0, 1)], 4), "from 2 to 3"),
        (lambda: covering_tables(0, [], 0), "from 1 to 62"),
    ],
)
def test_bad_input_is_one_sentence(make, word):
    with pytest.raises(ValueError, match=word) as caught:
        make()
    assert "\n" not in str(caught.value)
