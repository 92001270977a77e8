"""How long two rounds take: the second one's design next to the first one's, and both answers next to the second's.

Run with: pytest tests/benchmarks/test_rounds_speed.py -n 0 --benchmark-only
"""

import time

import numpy as np
import pytest

import stratagem as st


@pytest.fixture(scope="module")
def rounds():
    first = st.optimise(st.all_range(64), 1.0, gap=0.02, seconds=5).mechanism()
    x, rng = (
        np.random.default_rng(1).multinomial(5000, np.exp(-np.arange(64) / 10) / 10.5),
        np.random.default_rng(2),
    )
    counts = first.strategy.histogram(x, rng)
    second = st.study.second_round(first, counts)
    return first, counts, second, rng.multinomial(20_000, np.full(second.outputs, 1 / second.outputs))


def test_the_second_design_takes_no_longer_than_the_first(rounds, benchmark):
    first, counts, _, _ = rounds
    began = time.perf_counter()
    st.optimise(st.all_range(64), 1.0, gap=0.02, seconds=5)
    reference = time.perf_counter() - began
    benchmark.pedantic(st.study.second_round, args=(first, counts), rounds=3, iterations=1)
    ratio = benchmark.stats.stats.min / reference
    benchmark.extra_info |= {"to the first design": ratio}
    assert ratio <= 1


def test_both_answer_in_some_times_what_the_first_takes_alone(rounds, benchmark):
    first, counts, _, _ = rounds

    def alone():
        return st.estimate(first.strategy.dense(), counts, first.workload).standard_errors

    alone()
    began = time.perf_counter()
    alone()
    reference = time.perf_counter() - began
    benchmark.pedantic(lambda: st.study.combine(*rounds).standard_errors, rounds=5, iterations=1)
    ratio = benchmark.stats.stats.min / reference
    benchmark.extra_info |= {"to the first alone": ratio}
    assert ratio <= 5
