"""How fast frequency oracles of 1,024 user types run, in processor time of one process, at epsilon 1.

Run with: pytest tests/benchmarks/test_oracle_speed.py -n 0 --benchmark-only
"""

import time

import numpy as np
import pytest

import stratagem as st
from stratagem.published import (
    local_hashing,
    optimised_unary_encoding,
    subset_selection,
    summed_histogram_encoding,
)

pytestmark = pytest.mark.benchmark(timer=time.process_time)
CELLS = 1024
ORACLES = {
    "k-RR": (st.published.randomised_response, 1_000_000, 5e6, None),
    "hadamard-response": (st.published.hadamard_response, 1_000_000, 5e6, None),
    "OUE": (optimised_unary_encoding, 100_000, 5e5, 1e6),
    "OLH": (local_hashing, 100_000, 5e6, 5e5),
    "SS": (subset_selection, 100_000, 1e5, 1e6),
    "SHE": (summed_histogram_encoding, 10_000, 2e4, 2e5),
}
"""How to make one, how many users a round, and the least rates of clients and aggregators, a second."""


@pytest.mark.parametrize("name", ORACLES)
def test_clients(name, benchmark):
    make, users, least, _ = ORACLES[name]
    oracle, rng = make(CELLS, 1.0), np.random.default_rng(1)
    values = rng.integers(0, CELLS, users)
    benchmark(oracle.randomise, values, rng)
    rate = users / benchmark.stats.stats.min
    benchmark.extra_info["users a second"] = rate
    assert rate >= least


@pytest.mark.parametrize("name", [name for name, (*_, least) in ORACLES.items() if least])
def test_aggregators(name, benchmark):
    make, users, _, least = ORACLES[name]
    oracle, rng = make(CELLS, 1.0), np.random.default_rng(1)
    reports = oracle.randomise(rng.integers(0, CELLS, users), rng)
    benchmark(oracle.collect, reports)
    rate = users / benchmark.stats.stats.min
    benchmark.extra_info["reports a second"] = rate
    assert rate >= least


@pytest.mark.parametrize("name", ["OUE", "OLH", "SS"])
def test_simulated_totals(name, benchmark):
    """Totals of 1e5 users: binomials for bits, users one by one for hashes and subsets."""
    make, users, *_ = ORACLES[name]
    oracle, rng = make(CELLS, 1.0), np.random.default_rng(1)
    x = np.bincount(rng.integers(0, CELLS, users), minlength=CELLS)
    benchmark(oracle.histogram, x, rng)
    benchmark.extra_info["users a second"] = users / benchmark.stats.stats.min
