"""A hundred million reports counted within a minute and 2 GB, on the machine at hand.

Run with: pytest tests/benchmarks/test_collection_speed.py -n 0 --benchmark-only
"""

import json
import os
import subprocess
import sys

import duckdb
import pytest

REPORTS = int(float(os.environ.get("STRATAGEM_REPORTS", "1e8")))
FILES = 20
OUTPUTS = 1024
IDENTIFIER = "5ca1ab1e" * 8

COLLECT = """
import json, resource, sys, time
from stratagem.collection.collection import Collection
folder, state, identifier, outputs = sys.argv[1:]
began = time.perf_counter()
with Collection(state, identifier, int(outputs), anonymous="count") as collection:
    collection.add(folder)
    taken = time.perf_counter()
    tally = collection.tally()
    done = time.perf_counter()
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({
    "taking": taken - began, "counting": done - taken, "processor": used.ru_utime + used.ru_stime,
    "peak": used.ru_maxrss,
    "reports": tally.reports, "duplicates": tally.duplicates, "rejected": sum(tally.rejected.values()),
    "anonymous": tally.anonymous,
}))
"""


@pytest.fixture(params=["with ids", "without ids"])
def folder(request, tmp_path):
    """Parquet files with one report in a thousand sent twice and one in a thousand out of range."""
    columns = "output" if request.param == "without ids" else "mechanism, id, output"
    connection = duckdb.connect()
    for number in range(FILES):
        first = number * REPORTS // FILES
        connection.execute(f"""
            COPY (
                SELECT {columns} FROM (
                    SELECT '{IDENTIFIER[:16]}' AS mechanism, md5((i - (i % 1000 = 1)::BIGINT)::VARCHAR) AS id,
                        CAST(hash(i - (i % 1000 = 1)::BIGINT) % {OUTPUTS} AS INTEGER)
                        + CASE WHEN i % 1000 = 2 THEN {OUTPUTS} ELSE 0 END AS output
                    FROM range({first}, {first + REPORTS // FILES}) AS numbers(i)
                )
            ) TO '{tmp_path}/{number:03}.parquet'""")
    connection.close()
    return request.param, tmp_path


def test_a_hundred_million_reports(folder, benchmark, tmp_path_factory):
    kind, path = folder
    state = tmp_path_factory.mktemp("state") / "big.reports.duckdb"

    def run():
        command = [sys.executable, "-c", COLLECT, str(path), str(state), IDENTIFIER, str(OUTPUTS)]
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    found = benchmark.pedantic(run, rounds=1, iterations=1)
    benchmark.extra_info |= found
    assert found["rejected"] == REPORTS // 1000
    if kind == "with ids":
        assert found["duplicates"] == REPORTS // 1000
    else:
        assert found["anonymous"] == found["reports"]
    assert found["reports"] + found["duplicates"] + found["rejected"] == REPORTS
    assert found["peak"] < 2 * 1e9 / 1024
    assert benchmark.stats.stats.max < 60
