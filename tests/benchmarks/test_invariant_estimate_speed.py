"""A million reports about a hundred binary attributes: sampling, and all 4,950 two-way tables with their errors.

Run with: pytest tests/benchmarks/test_invariant_estimate_speed.py -n 0 --benchmark-only
"""

import numpy as np
import pytest

import stratagem as st
from stratagem.math.vector import counted

USERS = 1_000_000


def juntas(d: int, widest: int) -> st.strategies.JuntaStrategy:
    """Two random patterns of each number of axes."""
    rng = np.random.default_rng(0)
    sets = (rng.permutation(2**j).reshape((2,) * j) < 2**j / 3.5 for j in [*range(2, widest + 1)] * 2)
    patterns = tuple(st.strategies.Pattern.of((0,) * inside.ndim, inside) for inside in sets)
    weights = np.full(len(patterns), 1 / len(patterns))
    return st.strategies.JuntaStrategy((2,) * d, (tuple(range(d)),), patterns, weights, np.e)


@pytest.fixture(scope="module", params=[(100, 6, 2), (20, 7, 3)], ids=["100 attributes", "20 attributes"])
def collected(request):
    d, widest, order = request.param
    strategy, rng = juntas(d, widest), np.random.default_rng(1)
    values = (rng.random((USERS, d)) < rng.random(d)).astype(np.int8)
    counts = counted(strategy.randomise(values, rng), strategy.outputs)
    return strategy, values, counts, st.marginals(f"2^{d}", order)


def test_sampling(benchmark, collected):
    strategy, values, _, _ = collected
    benchmark.pedantic(strategy.randomise, args=(values, np.random.default_rng(2)), rounds=1)
    assert benchmark.stats.stats.max <= 5


def test_all_tables_and_their_errors(benchmark, collected):
    strategy, _, counts, workload = collected

    def estimated():
        found = st.estimate(strategy, counts, workload)
        return found.answers, found.standard_errors

    answers, errors = benchmark.pedantic(estimated, rounds=1)
    assert answers.shape == errors.shape == (workload.queries,)
    assert benchmark.stats.stats.max <= 60


def test_prefixes_of_a_million_values(benchmark):
    n, rng = 1 << 20, np.random.default_rng(0)
    smooth = 1 / np.maximum(np.arange(n // 2 + 1), 1) ** 0.7
    fields = (np.fft.irfft(smooth * np.fft.rfft(rng.normal(size=n)), n) for _ in range(20))
    patterns = tuple(st.strategies.Pattern.of((0,), field > np.quantile(field, 0.73)) for field in fields)
    strategy = st.strategies.OrbitStrategy((n,), (n,), patterns, np.full(20, 0.05), np.e)
    counts = counted(strategy.randomise((rng.beta(2, 5, USERS) * n).astype(int), rng), strategy.outputs)

    def estimated():
        found = st.estimate(strategy, counts, st.prefix(n))
        return found.answers, found.standard_errors

    answers, errors = benchmark.pedantic(estimated, rounds=1)
    assert answers.shape == errors.shape == (n,)
    assert benchmark.stats.stats.max <= 60
