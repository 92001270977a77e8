"""What an optimal count mechanism costs as groups grow, exact numbers and bound included.

Run with: pytest tests/benchmarks/test_count_programs.py -n 0 --benchmark-only
"""

import pytest

from stratagem import counts


@pytest.mark.parametrize(
    ("n", "alpha", "loss", "limit"),
    [
        (100, "0.99", "L2", 30),
        (100, "2/3", "L1", 30),
        (200, "0.99", "L2", 180),
        (200, "2/3", "L1", 180),
    ],
)
def test_all_properties(n, alpha, loss, limit, benchmark):
    found = benchmark.pedantic(counts.design, args=(n, alpha, loss, "all"), rounds=1, iterations=1)
    benchmark.extra_info["gap"] = found.gap
    assert found.gap <= 1e-6
    assert found.mechanism.ratio() <= 1 / found.mechanism.alpha
    assert benchmark.stats.stats.median <= limit


def test_closed_forms_of_a_million_people(benchmark):
    found = benchmark(lambda: counts.explicit_fair(10**6, "0.999").cost("L1"))
    assert found == pytest.approx(1001.4977, abs=1e-4)
    assert benchmark.stats.stats.median <= 1
