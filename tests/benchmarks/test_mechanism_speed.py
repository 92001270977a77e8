"""How fast mechanisms of 1,024 user types and 2,048 outputs run.

Run with: pytest tests/benchmarks/test_mechanism_speed.py -n 0 --benchmark-only
"""

from itertools import cycle

import numpy as np
import pytest

import stratagem as st
from mechanisms import shifted
from stratagem.mechanism.client import Client
from stratagem.mechanism.mechanism import Mechanism

USERS, REPORTS = 1_000_000, 10_000


@pytest.fixture(scope="module", params=["two-level", "columns"])
def mechanism(request):
    """A mechanism of that size at epsilon 1."""
    strategy = shifted(1024, 1.0, bases=1)
    if request.param == "columns":
        strategy = strategy.dense()
    return Mechanism.of(strategy, st.histogram(1024), 1.0)


def test_simulated_users(mechanism, benchmark):
    """At least 5 million a second."""
    cells, rng = np.random.default_rng(0).integers(0, 1024, USERS), np.random.default_rng(1)
    benchmark(mechanism.randomise, cells, rng)
    rate = USERS / benchmark.stats.stats.median
    benchmark.extra_info |= {"users a second": rate, "outputs": mechanism.outputs}
    assert rate >= 5e6


def test_secure_reports(mechanism, benchmark):
    """At most 5 microseconds each, of which the operating system's random bytes are the larger part."""
    client, values = Client(mechanism.bundle), cycle(range(1024))

    def run():
        for _ in range(REPORTS):
            client.randomise(next(values))

    benchmark(run)
    each = benchmark.stats.stats.median / REPORTS
    benchmark.extra_info["microseconds a report"] = 1e6 * each
    assert each <= 5e-6
