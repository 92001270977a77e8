"""What the orbit solver costs and how close it comes, up to a million user types.

Run with: pytest tests/benchmarks/test_orbit_speed.py -n 0 --benchmark-only
"""

import subprocess
import sys

import numpy as np
import pytest

import stratagem as st

RUN = """
import resource, sys
import numpy as np
import stratagem as st
kind, n, patterns = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
workload = {"all-range": st.all_range, "prefix": st.prefix, "histogram": st.histogram}[kind](n)
strategy, accuracy = st.solvers.Orbit(patterns=patterns).solve(workload, 1.0)
def pairs(cycle, last):
    return np.sqrt(n + 1) / (2 * np.sin(np.pi * np.arange(1, last + 1) / cycle))
singular = {
    "all-range": lambda: np.concatenate([pairs(n, -(-n // 2) - 1), pairs(n + 1, n // 2)]),
    "prefix": lambda: pairs(2 * n, n - 1) / np.sqrt(n + 1),
    "histogram": lambda: np.ones(n - 1),
}[kind]()
ones = np.arange(1.0, n + 1)
total = {"all-range": np.square(ones) @ ones[::-1] / n, "prefix": np.square(ones).sum() / n, "histogram": 1.0}[kind]
bound = total + 4 * np.e / (np.e - 1) ** 2 * singular.sum() ** 2
size = sum(pattern.packed.nbytes for pattern in strategy.patterns)
print(accuracy.objective / bound - 1, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, size / 1e6)
"""
"""Prints the gap to the closed bound (all-range: eigenvalues on 1^perp), GiB in use, megabytes of patterns."""

TARGETS = [
    ("all-range", 1 << 10, 64, 0.0005, 60),
    ("all-range", 1 << 16, 64, 0.0005, 60),
    ("all-range", 1 << 20, 32, 0.001, 60),
    ("histogram", 1 << 20, 64, 0.0001, 60),
    ("prefix", 1 << 10, 16, 0.06, 60),
    ("prefix", 1 << 16, 32, 0.045, 60),
    ("prefix", 1 << 20, 16, 0.04, 600),
]


@pytest.mark.parametrize(
    ("kind", "n", "patterns", "gap", "limit"), TARGETS, ids=[f"{t[0]}-{t[1]}" for t in TARGETS]
)
def test_gap_to_the_closed_bound(kind, n, patterns, gap, limit, benchmark):
    def run():
        command = [sys.executable, "-c", RUN, kind, str(n), str(patterns)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return [float(number) for number in done.stdout.split()]

    found, peak, megabytes = benchmark.pedantic(run, rounds=1, iterations=1)
    benchmark.extra_info |= {"gap": found, "peak memory in GiB": peak, "megabytes": megabytes}
    assert 0 <= found <= gap
    assert peak <= 6
    assert megabytes < 20
    assert benchmark.stats.stats.median <= limit


def haar_variance(n, epsilon):
    """Return the average variance of HaarHRR on prefixes of n = 2^h values, equal levels, by its Haar basis."""
    E, h = np.exp(epsilon), n.bit_length() - 1
    half = 2.0 ** np.arange(h)
    energies = n / (2 * half) ** 2 * half * (2 * half**2 + 1) / 3
    squares = ((E + 1) / (E - 1)) ** 2 * float(np.sum(h * n / (2 * half) * energies))
    return ((n + 1) * (2 * n + 1) / 6 + squares - n * (n + 1) / 2) / n


def test_prefixes_against_haar(benchmark):
    small = st.evaluate(st.prefix(64), st.published.haar(64, 1.0)).average_variance
    assert haar_variance(64, 1.0) == pytest.approx(small, rel=1e-9)
    solution = benchmark.pedantic(lambda: st.optimise(st.prefix(1 << 16), 1.0), rounds=1, iterations=1)
    benchmark.extra_info["times"] = haar_variance(1 << 16, 1.0) / solution.accuracy.average_variance
    assert benchmark.extra_info["times"] >= 1.85
    assert benchmark.stats.stats.median <= 60
