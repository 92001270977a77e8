"""Two million reports in one file are counted in at most four times the time that DuckDB alone takes for its ids.

Run with: pytest tests/benchmarks/test_report_throughput.py -n 0 --benchmark-only

DuckDB alone reads the file, keeps one row an id and counts the outputs; it checks nothing and stores nothing. Both are
timed in turn in one process and compared by the least time and the least processor time of three runs.
"""

import os
import time

import duckdb
import numpy as np
import pytest

from stratagem.collection.collection import Collection

REPORTS = int(float(os.environ.get("STRATAGEM_REPORTS", "2e6")))
OUTPUTS = 1024
IDENTIFIER = "5ca1ab1e" * 8
MOST = 4
"""Times of DuckDB's own that counting may take."""
ROWS = f"""
    SELECT '{IDENTIFIER[:16]}' AS mechanism, md5((i - (i % 1000 = 1)::BIGINT)::VARCHAR) AS id,
        CAST(hash(i - (i % 1000 = 1)::BIGINT) % {OUTPUTS} AS INTEGER) AS output
    FROM range({REPORTS}) AS numbers(i)
"""
"""Reports of which one in a thousand comes twice."""
KINDS = {
    "jsonl": ("(FORMAT json)", "read_ndjson('{}', columns = {{id: 'VARCHAR', output: 'BIGINT'}})"),
    "csv": ("(FORMAT csv)", "read_csv('{}')"),
    "parquet": ("(FORMAT parquet)", "read_parquet('{}')"),
}


def by_duckdb(source):
    with duckdb.connect() as connection:
        once = f"SELECT any_value(output) AS output FROM {source} GROUP BY id"
        return dict(connection.execute(f"SELECT output, count(*) FROM ({once}) GROUP BY ALL").fetchall())


def by_collection(path):
    with Collection(None, IDENTIFIER, OUTPUTS) as collection:
        collection.add(path)
        return collection.tally()


def timed(action):
    began, used = time.perf_counter(), time.process_time()
    result = action()
    return result, (time.perf_counter() - began, time.process_time() - used)


@pytest.mark.parametrize("kind", KINDS)
def test_reports_against_duckdb_alone(kind, benchmark, tmp_path):
    written, read = KINDS[kind]
    path = tmp_path / f"a.{kind}"
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({ROWS}) TO '{path}' {written}")
    own, ours = [], []

    def run():
        counts, spent = timed(lambda: by_duckdb(read.format(path)))
        tally, longer = timed(lambda: by_collection(path))
        own.append(spent)
        ours.append(longer)
        return counts, tally

    counts, tally = benchmark.pedantic(run, rounds=3, warmup_rounds=1, iterations=1)
    assert tally.counts.tolist() == [counts[output] for output in range(OUTPUTS)]
    assert tally.duplicates == REPORTS // 1000
    least, longest = np.min(own, axis=0), np.min(ours, axis=0)
    for name, *seconds in zip(("wall", "processor"), least, longest, longest / least, strict=True):
        benchmark.extra_info[name] = dict(zip(("duckdb", "collection", "ratio"), seconds, strict=True))
    assert (longest <= MOST * least).all()
