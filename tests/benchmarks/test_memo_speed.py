"""What repeated reports cost: a report with a memo next to one without, and the epsilon of many reports.

Run with: pytest tests/benchmarks/test_memo_speed.py -n 0 --benchmark-only
"""

import timeit
from dataclasses import replace

import stratagem as st
from stratagem.mechanism.client import Client, parse


def made():
    return st.optimise(st.histogram(64), 0.5, gap=0.01).mechanism().memoised(2.0)


def test_a_report_with_a_memo_takes_some_reports_without(benchmark, tmp_path):
    found = made()
    alone, kept = Client(found.bundle), Client(found.bundle, memo=tmp_path)
    kept.report(5)  # draws the permanent one
    reference = min(timeit.repeat(lambda: alone.report(5), number=200, repeat=5)) / 200
    benchmark.pedantic(kept.report, args=(5,), rounds=5, iterations=200)
    ratio = benchmark.stats.stats.min / reference
    benchmark.extra_info |= {"to a report without a memo": ratio}
    assert ratio < 15


def test_checking_a_memo_takes_no_longer_than_the_rest_of_the_bundle(benchmark):
    found = made()
    once = replace(found, memo=None).text
    reference = min(timeit.repeat(lambda: parse(once), number=1, repeat=5))
    benchmark.pedantic(parse, args=(found.text,), rounds=5, iterations=1)
    assert benchmark.stats.stats.min < 5 * reference
