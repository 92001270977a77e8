"""What the certified solver costs as the domain grows, bounds and baselines included.

Run with: pytest tests/benchmarks/test_domain_size.py -n 0 --benchmark-only
"""

import resource
import subprocess
import sys

import pytest

import stratagem as st

RUN = """
import resource, sys
import stratagem as st
n, seconds = int(sys.argv[1]), float(sys.argv[2])
solution = st.optimise(st.prefix(n), 1.0, solver=st.Certified(max_seconds=seconds))
print(solution.gap, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""


@pytest.mark.parametrize(
    ("n", "seconds", "gap", "limit", "gigabytes"),
    [(256, 60, 0.01, 90, 4), (1024, 90, 0.03, 180, 4), (4096, 480, 0.06, 1800, 16)],
    ids=["256", "1024", "4096"],
)
def test_prefix_at_epsilon_one(n, seconds, gap, limit, gigabytes, benchmark):
    def run():
        command = [sys.executable, "-c", RUN, str(n), str(seconds)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return [float(number) for number in done.stdout.split()]

    found, peak = benchmark.pedantic(run, rounds=1, iterations=1)
    benchmark.extra_info |= {"gap": found, "peak memory in GiB": peak}
    assert found <= gap
    assert peak <= gigabytes
    assert benchmark.stats.stats.median <= limit


FEW = {
    "histogram": st.histogram(64),
    "prefix": st.prefix(64),
    "3-way marginals": st.marginals("2^6", 3),
}


@pytest.mark.parametrize("outputs", [256, 512])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("name", FEW)
def test_few_outputs_beat_the_gradient_in_the_same_time(name, epsilon, outputs, benchmark):
    """The gradient has restarts for all of its time; what JAX compiles it finds compiled."""

    def objective(solver):
        return st.optimise(FEW[name], epsilon, solver=solver).objective

    certified = st.Certified(outputs=outputs, max_seconds=10)
    found = benchmark.pedantic(objective, args=[certified], rounds=1, iterations=1)
    gradient = objective(st.ProjectedGradient(outputs=outputs, max_seconds=10, restarts=100))
    benchmark.extra_info["ratio"] = found / gradient
    assert found <= gradient * (1 + 1e-4)


@pytest.mark.parametrize("outputs", [256, 512])
def test_few_outputs_at_64(outputs, benchmark):
    solver = st.Certified(outputs=outputs, max_seconds=30)
    arguments = (st.prefix(64), 1.0, solver)
    solution = benchmark.pedantic(st.optimise, args=arguments, rounds=1, iterations=1)
    benchmark.extra_info["gap"] = solution.gap
    assert solution.strategy.outputs <= outputs
    assert solution.gap <= 0.03
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 4 * 2**20
