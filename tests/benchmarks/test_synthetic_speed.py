"""How long synthetic people take, next to the release of the tables that they are made from.

Run with: pytest tests/benchmarks/test_synthetic_speed.py -n 0 --benchmark-only
"""

import time

import numpy as np

import stratagem as st

USERS = 20_000


def test_people_take_some_releases(benchmark):
    """Compiled code is kept between rounds."""
    workload, rng = st.marginals("4^6", 2), np.random.default_rng(0)
    strategy = st.optimise(workload, 1.0, st.solvers.Junta(max_steps=1, max_seconds=1.0)).strategy
    people = rng.integers(0, 4, (USERS, 6)) // rng.integers(1, 3, (USERS, 1))
    counts = st.counted(strategy.randomise(people, rng), strategy.outputs)
    estimate = st.estimate(strategy, counts, workload)
    st.estimation.release(estimate, 2)
    began = time.perf_counter()
    release = st.estimation.release(estimate, 2)
    reference = time.perf_counter() - began
    st.estimation.synthetic_people(release)
    benchmark.pedantic(st.estimation.synthetic_people, args=(release,), rounds=3, iterations=1)
    ratio = benchmark.stats.stats.min / reference
    benchmark.extra_info |= {"to the release": ratio}
    assert ratio <= 100
