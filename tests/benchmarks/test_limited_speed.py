"""How long a round of the searches under a limit takes, next to the certified search for the same workload without one.

Run with: pytest tests/benchmarks/test_limited_speed.py -n 0 --benchmark-only
"""

import time

import numpy as np
import pytest

import stratagem as st
from stratagem.math.shuffling import Target
from stratagem.solvers.limited import search_capped, search_shuffled

SEARCHES = {
    "capped": lambda V: next(search_capped(V, 1.0, 0.05, 1, np.random.default_rng(0))),
    "shuffled": lambda V: next(
        search_shuffled(V, 1.4, Target(0.05, 1e-6, 10_000), 1, np.random.default_rng(0))
    ),
}


@pytest.mark.parametrize(("name", "most"), [("capped", 4), ("shuffled", 20)])
def test_a_round_takes_some_searches_without_a_limit(name, most, benchmark):
    workload, search = st.prefix(32), SEARCHES[name]
    V = workload.gram()
    search(V)  # compiled code is kept
    st.optimise(workload, 1.0, gap=0.01)
    began = time.perf_counter()
    st.optimise(workload, 1.0, gap=0.01)
    reference = time.perf_counter() - began
    benchmark.pedantic(search, args=(V,), rounds=3, iterations=1)
    ratio = benchmark.stats.stats.min / reference
    benchmark.extra_info |= {"to the search without a limit": ratio}
    assert ratio <= most
