"""Optimised <= best baseline <= others: eight workloads, seven budgets, domains of 16, 37 and 64 user types.

The searches are cut short: what is returned may be improved on, but never by a published mechanism.
"""

import numpy as np
import pytest

import stratagem as st
from tables import EPSILONS, WORKLOADS, assert_unbeaten

QUICK = st.Auto(max_seconds=0.3)
ANY = {
    "histogram": st.histogram,
    "prefix": st.prefix,
    "all-range": st.all_range,
    "short ranges": lambda n: st.all_range(n, width=4),
    "both": lambda n: st.stack([st.prefix(n), st.weighted(st.histogram(n), 3.0)]),
    "total and cells": lambda n: st.stack([st.total(n), st.histogram(n)]),
    "one-way": lambda n: st.marginals(n, 1),
    "predicates": lambda n: st.explicit(np.random.default_rng(n).integers(0, 2, (2 * n, n))),
}
CASES = [(name, n) for n, table in ((16, WORKLOADS), (37, ANY), (64, WORKLOADS)) for name in table]


@pytest.mark.sampled(48, 4)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("name", "n"), CASES)
def test_no_published_mechanism_is_better(name, n, epsilon):
    workload = (ANY if n == 37 else WORKLOADS)[name](n)
    solution = st.optimise(workload, epsilon, QUICK)
    assert_unbeaten(solution)
