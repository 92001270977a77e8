"""Ten million rows of a CSV column are counted in at most 1.5 times the time of DuckDB's own GROUP BY.

Run with: pytest tests/benchmarks/test_column_speed.py -n 0 --benchmark-only

DuckDB alone reads the file and counts its distinct values; it places none of them in a domain. Both are timed in turn
in one process and compared by the least processor time of five runs; both take all cores.
"""

import os
import time

import duckdb
import numpy as np
import pytest

from stratagem.domain import Bins, Domain, Labels
from stratagem.domain.columns import read

ROWS = int(float(os.environ.get("STRATAGEM_ROWS", "1e7")))
MOST = 1.5
"""Times of DuckDB's own that reading may take."""
COLUMNS = {
    "whole numbers": ("range % 97", Bins.parse("0:100:5")),
    "decimals": ("round((hash(range) % 1000) / 10, 1)", Bins.parse("0:100:2.5")),
    "labels": (
        "['North', 'South', 'East', 'West'][1 + range % 4]",
        Labels(("East", "North", "South", "West")),
    ),
    "dates": ("DATE '2026-01-01' + CAST(range % 365 AS INTEGER)", Bins.parse("2026-01-01:2027-01-01:1mo")),
}


def by_duckdb(path):
    with duckdb.connect() as connection:
        return connection.execute(f"SELECT x, count(*) FROM read_csv('{path}') GROUP BY x").fetchall()


def timed(action):
    began, used = time.perf_counter(), time.process_time()
    result = action()
    return result, (time.perf_counter() - began, time.process_time() - used)


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_column_against_duckdb_alone(kind, benchmark, tmp_path):
    values, cells = COLUMNS[kind]
    path = tmp_path / "a.csv"
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT {values} AS x FROM range({ROWS})) TO '{path}' (HEADER)")
    own, ours = [], []

    def run():
        counts, spent = timed(lambda: by_duckdb(path))
        data, longer = timed(lambda: read(path, Domain(x=cells), {"x": "x"}))
        own.append(spent)
        ours.append(longer)
        assert sum(rows for _, rows in counts) == data.x.sum() == ROWS

    benchmark.pedantic(run, rounds=5, warmup_rounds=1, iterations=1)
    least, longest = np.min(own, axis=0), np.min(ours, axis=0)
    for name, *seconds in zip(("wall", "processor"), least, longest, longest / least, strict=True):
        benchmark.extra_info[name] = dict(zip(("duckdb", "column", "ratio"), seconds, strict=True))
    assert longest[1] <= MOST * least[1]
