"""Every result of problems with billions of queries or cells: an answer, a bound or one sentence, in little memory."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import stratagem as st
from any_size import CALLS, PROBLEMS
from stratagem.workloads.naming import Naming

HELPER = Path(__file__).parent.parent / "helper" / "any_size.py"
GIGABYTES, SECONDS = 2.0, 30.0
FAST = (
    "users_for",
    "report",
    "table",
    "variances",
    "largest variances",
    "answer users",
    "estimate",
    "answers",
    "slice",
    "together",
    "top",
)


def results(problem, *calls):
    """Return what every call took, as processor seconds and the peak of memory so far."""
    command = [sys.executable, str(HELPER), problem, *calls]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def check(problem, *calls):
    for found in results(problem, *calls):
        name = f"{problem}: {found}"
        assert found["gigabytes"] <= GIGABYTES, name
        assert found["seconds"] <= SECONDS, name
        kinds = ("ValueError: ", "UnsupportedWorkloadError: ")
        assert not found["refused"] or (found["call"] not in CALLS and found["refused"].startswith(kinds)), (
            name
        )
        assert "\n" not in found["refused"], name


@pytest.mark.sampled(2)
@pytest.mark.parametrize("problem", ["all-range 2^18", "marginals 2 of 1000^3"])
def test_the_first_results_need_little_memory_and_time(problem):
    check(problem, *FAST)


LONGEST = "marginals 3 of 2^100"
"""Its 1.3 million queries are written in less than 30 s by an idle machine alone."""


@pytest.mark.parametrize(
    "problem",
    [
        pytest.param(name, marks=pytest.mark.thorough if name == LONGEST else pytest.mark.exhaustive)
        for name in PROBLEMS
    ],
)
def test_every_result_needs_little_memory_and_time(problem):
    check(problem)


def test_queries_are_named_by_number_and_number_by_name():
    queries = st.all_range(1 << 12)
    naming = Naming.of(queries)
    for query in (0, 4095, 4096, 1_000_000, queries.queries - 1):
        assert naming.number(naming.label(query)) == query
    with pytest.raises(ValueError, match="no query has the name 'value = 4096'"):
        naming.number("value = 4096")
