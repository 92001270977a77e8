"""What a secure report costs in Python and under node, from 16 to 2^20 user types and epsilon 0.1 to 300.

Run with: pytest tests/benchmarks/test_draw_speed.py -n 0 --benchmark-only

The table that pytest prints has the time of a round, which is REPORTS reports of the Python client together: 100 ms
there are 50 microseconds a report. What is asserted and kept as extra information are microseconds of one report.
"""

import math
import statistics

import numpy as np
import pytest

from handmade import bundle_of, text_of, translates, two_level
from node import run
from stratagem.mechanism.client import HIGH, Client
from stratagem.mechanism.table import encode

REPORTS = 2000
"""Reports of one round."""
MOST = 50
"""Microseconds that one report may take."""
BITS = 48
"""The columns of a table of columns sum to 2^BITS."""


def low_of(epsilon):
    """Return a lower level that holds epsilon."""
    return max(1, math.ceil(HIGH / math.exp(epsilon)) + 1)


def share(epsilon):
    """Return the share of user types in a set that serves histograms best."""
    return 1 / (math.exp(min(epsilon, 40)) + 1)


def sets(n, m, epsilon):
    """Return shifts of sets of a share of the user types, as many rows as n times a whole number, and a blank one."""
    rng, bases = np.random.default_rng(0), max(1, m // n)
    first = [np.roll(np.arange(n) < max(1, round(share(epsilon) * n)), rng.integers(n)) for _ in range(bases)]
    inside = np.array([np.roll(base, k) for base in first for k in range(n)] + [np.zeros(n, bool)])
    weight = ((1 << 32) - 1) // (n * bases)
    return two_level(inside, [weight] * (n * bases) + [(1 << 32) - weight * n * bases], low_of(epsilon))


def halves(n, m, epsilon):
    """Return m rows of many user types, each next to the row of all others."""
    rng = np.random.default_rng(0)
    half = rng.random((m // 2, n)) < 0.5
    return two_level(np.concatenate([half, ~half]), [(1 << 32) // m] * m, low_of(epsilon))


def columns(n, epsilon):
    """Return randomised response on n user types, entry by entry."""
    low = math.ceil((1 << BITS) / (n - 1 + math.exp(epsilon)))
    entries = np.full((n, n), low) + np.diag([(1 << BITS) - n * low] * n)
    sizes = {"outputs": n, "user_types": n, "bits": BITS}
    return {"kind": "columns", **sizes, "entries": encode(entries, "<u8")}


def cycle(n, epsilon):
    """Return the translates of one set of n."""
    inside = np.arange(n) < max(1, round(share(epsilon) * n))
    return translates([n], [0], [((0,), 1 << 32, inside)], low_of(epsilon))


def tables(d, epsilon):
    """Return patterns of up to five of d binary attributes."""
    rng, patterns = np.random.default_rng(0), []
    for k in range(32):
        inside = rng.random(2 ** (1 + k % 5)) < share(epsilon)
        inside[0], inside[1] = True, False
        patterns.append(((0,) * (1 + k % 5), 1 << 27, inside))
    return translates([2] * d, [0] * d, patterns, low_of(epsilon))


EPSILONS = (0.1, 1.0, 5.0, 15.0, 20.0, 300.0)
GRID = {
    f"{name}, epsilon {epsilon:g}": (make, epsilon)
    for name, make in {
        "two-level 16 x 16": lambda epsilon: sets(16, 16, epsilon),
        "two-level 1024 x 2048": lambda epsilon: sets(1024, 2048, epsilon),
        "two-level 4096 x 4096": lambda epsilon: sets(4096, 4096, epsilon),
        "two-level 2^20 x 256": lambda epsilon: halves(1 << 20, 256, epsilon),
        "columns 1024 x 1024": lambda epsilon: columns(1024, epsilon),
        "cycle of 2^20": lambda epsilon: cycle(1 << 20, epsilon),
        "20 binary attributes": lambda epsilon: tables(20, epsilon),
        "100 binary attributes": lambda epsilon: tables(100, epsilon),
    }.items()
    for epsilon in EPSILONS
}


def values_of(bundle, count):
    """Return values that are spread over the domain."""
    sizes, rng = [attribute["size"] for attribute in bundle["domain"]], np.random.default_rng(1)
    places = np.array([rng.integers(0, size, count) for size in sizes]).T.tolist()
    names = [attribute["name"] for attribute in bundle["domain"]]
    return [place[0] if len(names) == 1 else dict(zip(names, place, strict=True)) for place in places]


@pytest.mark.parametrize("name", GRID)
def test_a_report_costs_at_most_fifty_microseconds(name, benchmark):
    make, epsilon = GRID[name]
    bundle = bundle_of(make(epsilon), (math.ceil(epsilon * 10), 10))
    client, values = Client(bundle), values_of(bundle, REPORTS)
    benchmark.pedantic(client.randomise, (values,), rounds=5, warmup_rounds=1)
    web = run("speed", bundle=text_of(bundle), values=values)
    times = {
        "Python, microseconds a report": 1e6 * benchmark.stats.stats.min / REPORTS,
        "web, microseconds a report": min(web),
    }
    benchmark.extra_info |= times | {"web median, microseconds a report": statistics.median(web)}
    assert max(times.values()) <= MOST, times
