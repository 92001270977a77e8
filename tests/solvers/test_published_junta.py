"""Published mechanisms for marginals as juntas: against their matrices, and against a table made without them."""

from math import exp

import numpy as np
import pytest

import stratagem as st
from stratagem.published.fourier import fourier
from stratagem.published.marginal import marginal_hadamard, marginal_response
from stratagem.solvers.junta.junta_pattern import maximal, published_juntas
from tables import EPSILONS

SHARES = {
    (8, 3, 1): (1.76, 1.271),
    (20, 2, 1): (1.98, 1.271),
    (20, 3, 1): (2.81, 1.272),
    (100, 2, 1): (2.70, 1.272),
    (100, 3, 1): (5.07, 1.272),
    (1000, 3, 1): (7.39, 1.272),
    (20, 3, 0.5): (2.35, 1.064),
    (20, 3, 2): (5.26, 2.38),
    (100, 3, 2): (9.49, 2.38),
    (20, 3, 4): (31.2, 14.1),
}
"""d, k, epsilon: L of InpHT over the closed bound, with equal and with optimal shares (three digits)."""


def closed(workload, epsilon):
    """v_0 + 4E/(E - 1)^2 (sum over characters of sqrt(v))^2."""
    spectrum, E = workload.structure.spectrum, exp(epsilon)
    total = spectrum.multiplicities[1:] @ np.sqrt(spectrum.values[1:])
    return spectrum.values[0] + 4 * E / (E - 1) ** 2 * total**2


@pytest.mark.parametrize(("d", "k", "epsilon"), SHARES)
def test_the_character_mechanism_costs_what_the_table_says(d, k, epsilon):
    workload = st.marginals(f"2^{d}", k)
    found, bound = published_juntas(workload.structure.spectrum, epsilon), closed(workload, epsilon)
    for name, expected in zip(("fourier", "fourier, optimal shares"), SHARES[d, k, epsilon], strict=True):
        ratio = st.evaluate(workload, found[name]).objective / workload.scale / bound
        assert ratio == pytest.approx(expected, abs=0.006 * expected)


def mechanisms(d, k, epsilon):
    """The same mechanisms as matrices over 2^d cells."""
    sizes, tables = (2,) * d, [table for table in np.ndindex(*(d,) * k) if list(table) == sorted(set(table))]
    drawn = [f for f in range(1, 2**d) if f.bit_count() <= k]
    return {
        "marginal-response": marginal_response(sizes, epsilon, tables),
        "marginal-hadamard": marginal_hadamard(sizes, epsilon, tables),
        "fourier": fourier(sizes, epsilon, drawn),
    }


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(
    "workload", [st.marginals("2^5", 2), st.parity("2^5", 2)], ids=["marginals", "parity"]
)
def test_juntas_cost_what_the_matrices_do(workload, epsilon):
    found = published_juntas(workload.structure.spectrum, epsilon)
    for name, matrix in mechanisms(5, 2, epsilon).items():
        value = st.evaluate(workload, found[name]).objective
        assert value == pytest.approx(st.evaluate(workload, matrix).objective, rel=1e-9)
        assert found[name].epsilon <= epsilon


def test_optimal_shares_are_the_best():
    workload = st.stack([st.marginals("2^6", 2), st.weighted(st.marginals("2^6", 3), 0.2)])
    found = published_juntas(workload.structure.spectrum, 1.0)
    best = st.evaluate(workload, found["fourier, optimal shares"]).objective / workload.scale
    assert best < min(
        st.evaluate(workload, one).objective / workload.scale
        for name, one in found.items()
        if "optimal" not in name
    )


def test_cells_of_categorical_tables_are_told():
    workload = st.marginals("a=3,b=4,c=2,d=3", 2)
    found = published_juntas(workload.structure.spectrum, 1.0)
    assert set(found) == {"marginal-response"}
    tables = [(i, j) for i in range(4) for j in range(i)]
    matrix = marginal_response((3, 4, 2, 3), 1.0, tables)
    value = st.evaluate(workload, found["marginal-response"]).objective
    assert value == pytest.approx(st.evaluate(workload, matrix).objective, rel=1e-9)


def test_what_is_too_large_is_left_out():
    assert "fourier" not in published_juntas(st.parity("2^30").structure.spectrum, 1.0)
    assert published_juntas(st.total("2^4").structure.spectrum, 1.0) == {}
    assert published_juntas(st.histogram(1 << 21).structure.spectrum, 1.0) == {}
    with pytest.raises(ValueError, match="epsilon"):
        published_juntas(st.marginals("2^4", 2).structure.spectrum, 0)


def test_maximal_types_contain_all_others():
    kinds = [(0, 1), (1, 0), (1, 1), (2, 0), (0, 2), (0, 3)]
    assert maximal(kinds) == [(1, 1), (2, 0), (0, 3)]
