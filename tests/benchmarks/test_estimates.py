"""Estimates at n = 1024 user types and m = 2728 outputs: reconstruction, standard errors, post-processing.

Run with: pytest tests/benchmarks -n 0 --benchmark-only
"""

import numpy as np
import pytest

import stratagem as st

N = 1024


@pytest.fixture(scope="module")
def collected() -> tuple[st.strategies.Strategy, np.ndarray]:
    rng = np.random.default_rng(1)
    strategy = st.published.hierarchical(N, 1.0)
    x = rng.multinomial(100_000, rng.dirichlet(np.full(N, 0.1)))
    return strategy, strategy.histogram(x, rng)


@pytest.mark.parametrize(
    ("method", "workload"),
    [
        ("unbiased", st.prefix),
        ("wnnls", st.prefix),
        ("base-cut", st.histogram),
        ("norm-sub", st.histogram),
        ("ibu", st.histogram),
    ],
)
def test_post_processing(benchmark, collected, method, workload):
    found = benchmark.pedantic(
        lambda: st.estimate(*collected, workload(N), method=method).answers, rounds=3, iterations=1
    )
    assert found.shape == (N,)


@pytest.mark.parametrize("workload", [st.prefix, st.all_range], ids=["prefix", "all-range"])
def test_standard_errors(benchmark, collected, workload):
    found = benchmark.pedantic(
        lambda: st.estimate(*collected, workload(N)).standard_errors, rounds=1, iterations=1
    )
    assert (found[:-1] > 0).all()
