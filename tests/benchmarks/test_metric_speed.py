"""How long strategies on a line take, next to the certified search for the same workload under a plain epsilon.

Run with: pytest tests/benchmarks/test_metric_speed.py -n 0 --benchmark-only
"""

import time

import pytest

import stratagem as st


@pytest.mark.parametrize(("values", "most"), [(16, 10), (32, 60)])
def test_a_line_takes_some_searches_under_a_plain_epsilon(values, most, benchmark):
    workload = st.prefix(values)
    st.optimise(workload, constraints=[st.Steps(0.2)])  # compiled code is kept
    st.optimise(workload, 1.0, gap=0.01)
    began = time.perf_counter()
    st.optimise(workload, 1.0, gap=0.01)
    reference = time.perf_counter() - began
    options = {"constraints": [st.Steps(0.1)]}
    benchmark.pedantic(st.optimise, args=(workload,), kwargs=options, rounds=3, iterations=1)
    ratio = benchmark.stats.stats.min / reference
    benchmark.extra_info |= {"to the search under a plain epsilon": ratio}
    assert ratio <= most
