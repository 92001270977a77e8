"""What one iteration of the projected gradient costs, as a ratio to its two unavoidable products.

Run with: pytest tests/benchmarks -n 0 --benchmark-only
"""

import resource
import statistics
import subprocess
import sys
import time

import jax
import jax.numpy as jnp
import pytest

import stratagem as st
from stratagem.solvers.problem import Average


def _seconds(function, *arguments):
    began = time.perf_counter()
    jax.block_until_ready(function(*arguments))
    return time.perf_counter() - began


@pytest.mark.parametrize("n", [512, 1024])
def test_one_iteration_costs_at_most_twice_its_products(n, benchmark):
    """Median of fifty steps in a row, each beside the two products; the mean counts reweighings as well."""
    problem, solver = Average(workload=st.prefix(n), epsilon=1.0), st.ProjectedGradient()
    state = solver.begin(problem, 0, None)
    for _ in range(25):  # the first reweighing included, so that everything is compiled
        state = solver.advance(problem, state)

    information = jax.jit(lambda Q, d: Q.T @ (Q / d))
    matmul = jax.jit(jnp.matmul)
    products = []

    def two_products():
        with jax.enable_x64(True):
            Q, d, G = state.Q, state.Q.sum(axis=1, keepdims=True), jnp.asarray(problem.gram)
            jax.block_until_ready((d, G))
            products.append(_seconds(information, Q, d) + _seconds(matmul, Q, G))

    def step():
        nonlocal state
        state = solver.advance(problem, state)
        jax.block_until_ready(state.Q)

    two_products()
    products.clear()
    benchmark.pedantic(step, setup=two_products, rounds=50, iterations=1)
    median = benchmark.stats.stats.median / statistics.median(products)
    mean = benchmark.stats.stats.mean / statistics.mean(products)
    benchmark.extra_info |= {"median to the two products": median, "mean to the two products": mean}
    assert median <= 2


LARGE = """
import resource, stratagem as st
from stratagem.solvers import search
from stratagem.solvers.problem import Average
problem = Average(workload=st.prefix(4096), epsilon=1.0)
solver = st.ProjectedGradient(outputs=2 * 4096, precision="float32", max_steps=20)
found = search(solver, problem)
assert len(found.history) == 21 and found.history[-1].objective < found.history[0].objective
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_4096_types_in_float32_stay_under_12_gigabytes(benchmark):
    def run():
        done = subprocess.run([sys.executable, "-c", LARGE], capture_output=True, text=True, check=True)
        return int(done.stdout.split()[-1])

    kilobytes = benchmark.pedantic(run, rounds=1, iterations=1)
    benchmark.extra_info["peak memory in GiB"] = kilobytes / 2**20
    assert kilobytes < 12 * 2**20


def test_a_default_run_at_64_takes_seconds(benchmark):
    st.optimise(st.prefix(64), 1.0)
    solution = benchmark.pedantic(st.optimise, args=(st.prefix(64), 1.0), rounds=3, iterations=1)
    benchmark.extra_info["gap"] = solution.gap
    assert benchmark.stats.stats.median < 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 4 * 2**20


@pytest.mark.parametrize(
    ("command", "limit"), [(["-c", "import stratagem"], 0.5), (["-m", "stratagem.cli", "--help"], 1.0)]
)
def test_starting_is_quick(command, limit, benchmark):
    def start():
        subprocess.run([sys.executable, *command], check=True, capture_output=True)

    benchmark.pedantic(start, rounds=5, iterations=1)
    assert benchmark.stats.stats.median < limit
