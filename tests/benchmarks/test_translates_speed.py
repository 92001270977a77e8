"""How fast mechanisms over a hundred binary attributes run: forty patterns of three to six of them.

Run with: pytest tests/benchmarks/test_translates_speed.py -n 0 --benchmark-only
"""

import json
from itertools import cycle

import numpy as np
import pytest

import stratagem as st
from mechanisms import juntas
from stratagem.collection.tally import parse_tally, tally_data
from stratagem.mechanism.client import Client
from stratagem.mechanism.mechanism import Mechanism

USERS, REPORTS = 1_000_000, 2000


@pytest.fixture(scope="module")
def mechanism():
    axes = [(0,) * (3 + b % 4) for b in range(40)]
    return Mechanism.of(juntas((2,) * 100, (tuple(range(100)),), axes, 1.0), st.marginals("2^100", 3), 1.0)


def test_simulated_users(mechanism, benchmark):
    """A million in at most 5 seconds."""
    users, rng = np.random.default_rng(0).integers(0, 2, (USERS, 100)), np.random.default_rng(1)
    benchmark.pedantic(mechanism.randomise, (users, rng), rounds=3)
    assert benchmark.stats.stats.median <= 5


def test_secure_reports(mechanism, benchmark):
    """At most 50 microseconds each, a hundred answers read; the bundle has 16 kilobytes at most."""
    client, names = Client(mechanism.bundle), mechanism.domain.names
    people = np.random.default_rng(0).integers(0, 2, (100, 100)).tolist()
    values = cycle([dict(zip(names, one, strict=True)) for one in people])

    def run():
        for _ in range(REPORTS):
            client.randomise(next(values))

    benchmark(run)
    each = benchmark.stats.stats.median / REPORTS
    benchmark.extra_info |= {"microseconds a report": 1e6 * each, "bytes": len(mechanism.text)}
    assert each <= 5e-5
    assert len(mechanism.text) <= 16_000


def test_a_million_outputs_counted(mechanism, benchmark):
    """Nearly all of them different: counted in the process, written and read again in at most 3 seconds."""
    users = np.random.default_rng(0).integers(0, 2, (USERS, 100))
    outputs = mechanism.randomise(users, np.random.default_rng(1)).tolist()
    aggregator, short = mechanism.aggregator(), mechanism.identifier[:16]
    for number, output in enumerate(outputs):
        aggregator.add({"mechanism": short, "id": f"{number:032x}", "output": output})

    def run():
        text = json.dumps(tally_data(aggregator.tally(), mechanism.identifier)).encode()
        return parse_tally(text, mechanism.form, "it")

    found = benchmark.pedantic(run, rounds=3)
    assert found.reports == USERS
    assert len(found.counts.outputs) > 0.99 * USERS
    assert benchmark.stats.stats.median <= 3
