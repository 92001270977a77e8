"""Margins of workloads: all queries, each once, asked of the tables of the attributes that they touch."""

import numpy as np
import pytest

import stratagem as st
from stratagem.workloads import Workload
from stratagem.workloads.selection import Cells, SomeQueries

MIXED = {"a": 2, "b": 3, "c": 4, "d": 1, "e": 2}
AGES = {"age": 6}
ROWS = np.random.default_rng(0).normal(size=(5, 12))
WORKLOADS = {
    "histogram": st.histogram(MIXED),
    "total": st.total(MIXED),
    "prefix": st.prefix(7),
    "short ranges": st.all_range(7, 3),
    "explicit": st.explicit(ROWS, {"a": 3, "b": 4}),
    "marginals": st.marginals(MIXED, 2),
    "all marginals": st.all_marginals(MIXED),
    "parities": st.parity(MIXED),
    "parities of weight 2": st.parity(MIXED, 2),
    "binary parities": st.parity("2^5", 3),
    "ranges by table": st.kron([st.all_range(AGES), st.total({"b": 3}), st.histogram({"c": 2, "d": 2})]),
    "totals": st.kron([st.total(AGES), st.total({"b": 3})]),
    "marginals by parities": st.kron([st.marginals("2^3", 2), st.parity({"x": 3, "y": 2}, 1)]),
    "weighted stack": st.weighted(
        st.stack([st.weighted(st.marginals(MIXED, 1), 2.5), st.parity(MIXED, 1), st.total(MIXED)]), -0.5
    ),
}


def answered_by_margins(workload: Workload, x: np.ndarray) -> np.ndarray:
    sizes, answers = workload.domain.sizes, np.full(workload.queries, np.nan)
    for margin in workload.margins():
        others = tuple(i for i in range(len(sizes)) if i not in margin.attributes)
        table = x.reshape(sizes).sum(axis=others)
        assert table.shape == margin.workload.domain.sizes
        assert np.isnan(answers[margin.places]).all(), "a query comes twice"
        answers[margin.places] = margin.workload.answer(table.ravel())
    return answers


@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=WORKLOADS)
def test_margins_answer_every_query_once(workload):
    x = np.random.default_rng(1).normal(size=workload.domain_size)
    np.testing.assert_allclose(answered_by_margins(workload, x), workload.answer(x), atol=1e-12)


@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=WORKLOADS)
def test_some_queries_are_answered_and_described_as_all_are(workload):
    x, chosen = np.random.default_rng(1).normal(size=workload.domain_size), np.arange(workload.queries)[::-2]
    some, whole = SomeQueries(workload, chosen), workload.answer(x)[chosen]
    np.testing.assert_allclose(some.answer(x), whole, atol=1e-12)
    np.testing.assert_allclose(answered_by_margins(some, x), whole, atol=1e-12)
    for margin in some.margins():
        rows, average = margin.workload.matrix(), margin.workload.structure.translation_spectrum()
        np.testing.assert_allclose(margin.workload.gram(), rows.T @ rows, atol=1e-12)
        alike = st.explicit(rows, margin.workload.domain).structure.translation_spectrum()
        np.testing.assert_allclose(average, alike, atol=1e-9)
    means = [workload.describe(int(query)).mean(workload.domain.sizes) for query in chosen]
    np.testing.assert_allclose(means, workload.matrix()[chosen].mean(axis=1), atol=1e-12)


def test_some_cells_of_a_large_table_need_no_rows():
    cells = SomeQueries(st.marginals("1000^3", 2), np.array([0, 1_234_567, 2_999_999] * 100))
    assert {type(margin.workload) for margin in cells.margins()} == {Cells}


def test_a_hundred_attributes_have_margins_without_their_domain():
    tables = list(st.marginals("2^100", 2).margins())
    assert len(tables) == 4950
    assert tables[-1].attributes == (98, 99)
    assert len(list(st.parity("2^100", 2).margins())) == 5051
    asked = (
        [st.prefix({"age": 50})] + [st.total({f"q{i}": 2}) for i in range(98)] + [st.histogram({"sex": 2})]
    )
    (margin,) = st.kron(asked).margins()
    assert margin.attributes == (0, 99)
    assert margin.workload.queries == 100
