"""What baselines may look at: the energies of sets of attributes, and the sets that queries need."""

import functools
import itertools

import numpy as np
import pytest

import stratagem as st
from tables import setting

CASES = {
    "histogram": (st.histogram("a=3,b=2"), {(0, 1)}),
    "prefix": (st.prefix(9), {(0,)}),
    "total": (st.total("2^3"), {()}),
    "2-way": (st.marginals("2^4", 2), set(itertools.combinations(range(4), 2))),
    "mixed": (st.marginals("a=5,b=2,c=3", 2), {(0, 1), (0, 2), (1, 2)}),
    "parity": (st.parity("2^4", 1), {(0,), (1,), (2,), (3,)}),
    "one and two": (
        st.stack(
            [
                st.kron([st.histogram({"a": 3}), st.total({"b": 2}), st.total({"c": 2})]),
                st.kron([st.total({"a": 3}), st.histogram({"b": 2}), st.prefix({"c": 2})]),
            ]
        ),
        {(0,), (1, 2)},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_margins_are_the_sets_of_attributes_that_queries_need(name):
    workload, needed = CASES[name]
    assert set(setting(workload).margins) == needed


@pytest.mark.parametrize("name", CASES)
def test_energies_are_traces_of_projections(name):
    workload, _ = CASES[name]
    found, sizes = setting(workload), workload.domain.sizes
    assert found.domain_size == workload.domain_size
    for chosen in itertools.product((0, 1), repeat=len(sizes)):
        factors = [
            np.eye(a) - np.full((a, a), 1 / a) if c else np.full((a, a), 1 / a)
            for a, c in zip(sizes, chosen, strict=True)
        ]
        expected = np.trace(functools.reduce(np.kron, factors) @ workload.gram())
        assert found.energies[chosen] == pytest.approx(expected, abs=1e-9)
    assert found.energies.sum() == pytest.approx(np.trace(workload.gram()))
