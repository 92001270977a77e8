"""Workload non-negative least squares at n = 2048: the working set against interior points in all cells.

Run with: pytest tests/benchmarks -n 0 --benchmark-only
"""

import time

import numpy as np
import pytest

import stratagem as st
from stratagem.estimation.working_set import duality_gap, minimise_quadratic, sparse_minimum

N = 2048
WORKLOADS = {
    "histogram": st.histogram(N),
    "prefix": st.prefix(N),
    "all-range": st.all_range(N),
    "2-way marginals": st.marginals("2^11", 2),
}


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("users", [10_000, 100_000, 10_000_000])
def test_the_working_set_is_faster_where_cells_are_empty(benchmark, name, users):
    """Epsilon 1: an estimate of a cell has about 3.7 times the users as its variance."""
    rng, V = np.random.default_rng(1), WORKLOADS[name].gram()
    x = rng.multinomial(users, rng.dirichlet(np.full(N, 0.1)))
    noisy = (x + np.sqrt(3.7 * users) * rng.standard_normal(N)) / users
    centre, gap = noisy + (1 - noisy.sum()) / N, 0.5e-8 * 3.7 * np.trace(V) / users

    start = time.perf_counter()
    minimise_quadratic(V, centre, np.zeros(N), gap)
    whole = time.perf_counter() - start
    z = benchmark.pedantic(lambda: sparse_minimum(V, centre, np.zeros(N), gap), rounds=1, iterations=1)

    assert duality_gap(V @ (z - centre), z) <= gap
    benchmark.extra_info["times faster"] = whole / benchmark.stats["mean"]
    least = {10_000: 10, 100_000: 3, 10_000_000: 0.5}  # at 10^7 most cells are filled, and both do the same
    assert benchmark.extra_info["times faster"] > least[users]
