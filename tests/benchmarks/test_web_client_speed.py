"""What a report of the web client costs under node, loading apart; most of it are calls of WebCrypto, two or three.

Run with: pytest tests/benchmarks/test_web_client_speed.py -n 0 --benchmark-only
"""

import statistics

import numpy as np
import pytest

import stratagem as st
from mechanisms import shifted
from node import run
from stratagem.mechanism.mechanism import Mechanism

N, M = 1024, 2048


def columns() -> st.strategies.Strategy:
    """A matrix of M outputs: every second one is randomised response's, twice as fine."""
    Q = st.published.randomised_response(N, 1.0).dense().matrix
    return st.strategies.MatrixStrategy(np.repeat(Q, M // N, axis=0) * (N / M))


@pytest.mark.parametrize("make", [lambda: shifted(N, 1.0, bases=1), columns], ids=["two-level", "columns"])
def test_a_report_costs_at_most_ten_microseconds(make, benchmark):
    mechanism = Mechanism.of(make(), st.histogram(N), 1.0)
    assert mechanism.outputs >= M
    job = {"bundle": mechanism.text, "draws": 500_000, "cells": N}
    found = benchmark.pedantic(run, args=("time",), kwargs=job, rounds=1, iterations=1)
    best, median = min(found["microseconds"]), statistics.median(found["microseconds"])
    size = len(mechanism.text) / 1e6
    benchmark.extra_info |= {"outputs": mechanism.outputs, "bits": getattr(mechanism.table, "bits", None)}
    benchmark.extra_info |= {
        "microseconds": median,
        "best": best,
        "loading in s": found["loading"],
        "MB": size,
    }
    assert median <= 10
