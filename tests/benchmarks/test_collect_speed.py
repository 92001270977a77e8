"""A thousand posts a second for a while, each acknowledged once it is on the disk, in memory that does not grow.

Run with: pytest tests/benchmarks/test_collect_speed.py -n 0 --benchmark-only

STRATAGEM_SECONDS says for how long people post, 10 by default; they share the processors with the server.
"""

import asyncio
import os
import signal

import pytest

from mechanisms import mechanism
from posting import Collector, megabytes, post_for
from tools import need_package

need_package("uvicorn")
SECONDS = float(os.environ.get("STRATAGEM_SECONDS", "10"))
LEAST = 1000
GROWTH = 100
"""Megabytes by which the memory of the server may grow."""


@pytest.mark.parametrize("people", [256])
def test_posts_a_second(people, benchmark, tmp_path):
    found = mechanism("two-level")
    with Collector(tmp_path, found) as collector:
        asyncio.run(post_for(collector.port, found, 2.0, people))
        before = megabytes(collector.process.pid)
        acknowledged, refused, delays = benchmark.pedantic(
            lambda: asyncio.run(post_for(collector.port, found, SECONDS, people)), rounds=1
        )
        after = megabytes(collector.process.pid)
        assert collector.end(signal.SIGTERM)[0] == 0
    middle, late = (delays[int(share * len(delays))] for share in (0.5, 0.99))
    benchmark.extra_info.update(
        rate=len(acknowledged) / SECONDS, median=middle, late=late, before=before, after=after
    )
    assert not refused
    assert len(acknowledged) >= LEAST * SECONDS
    assert after - before < GROWTH
