"""Bins and labels are proposed for columns of every kind; rows are never lost, columns without a question refused."""

from collections import Counter

import numpy as np
import pytest

from stratagem.collection.edges import Edges, round_steps
from stratagem.collection.proposal import MOST, RARE, TAIL, propose, stated


def column(values) -> Counter:
    return Counter(None if value is None else str(value) for value in values)


def drawn(make) -> list:
    return list(make(np.random.default_rng(20260101)))


CASES = {
    "ages": (range(97), "0:100:5,other"),
    "ages of adults": (range(18, 66), "18:66:1,other"),
    "years": ([1950, 2024], "1950:2025:5,other"),
    "shares": (np.linspace(0.001, 0.999, 500), "0:1:0.05,other"),
    "negative": (np.linspace(-1e7, -1, 500), "-10000000:0:500000,other"),
    "two numbers": ([1e9, 1e9 + 0.001], "1000000000:1000000001:1,other"),
    "far outliers": ([*range(1000), *[10**9] * 4], "0:1000:50,other"),
    "numbers and some text": ([*range(100), "x", "?"], "0:100:5,other"),
    "texts": (["b", "a", "b"] * 9, "a,b,other"),
    "texts with other": (["b", "other", "a"] * 9, "a,b,other"),
    "texts with commas": (["yes, often", "no"] * 9, 'no,"yes, often",other'),
    "blanks": ([" a", "a ", "b"] * 9, "a,b,other"),
    "rare texts": (["a"] * 1000 + ["b"] * 1000 + ["c"] * 3, "a,b,other"),
    "days": (["2026-01-05", "2026-01-20"], "2026-01-05:2026-01-21:1d,other"),
    "weeks": (["2026-01-07", "2026-07-01"], "2026-01-05:2026-07-06:1w,other"),
    "months": (["2024-03-31", "2026-01-20"], "2024-03-01:2026-02-01:1mo,other"),
    "quarters": (["2021-02-20 10:00:00", "2026-12-20 23:59:59"], "2021-01-01:2027-01-01:3mo,other"),
    "decades": (["1899-01-05", "2026-01-20"], "1890-01-01:2030-01-01:10y,other"),
    "large whole numbers": ((10**13 + k for k in range(40)), "10000000000000:10000000000040:1,other"),
    "a code far above": (
        [*map(str, range(4999999900, 5000000000)), "5000000001"],
        "4999999900:5000000010:10,other",
    ),
    "texts that say none": (["none", "dog", "cat"] * 9, "cat,dog,none,other"),
    "an unknown date": (
        ["2020-01-01", "2024-05-05"] * 300 + ["9999-12-31", "0001-01-01"],
        "2020-01-01:2024-07-01:3mo,other",
    ),
    "a date of long ago": (
        [f"2026-{m:02d}-15" for m in range(1, 13)] * 30 + ["1900-01-01"],
        "2026-01-01:2027-01-01:1mo,other",
    ),
    "both spellings": (
        ["2026-01-01 10:00"] * 9 + ["2026-01-01T10:00", "2026-01-03 10:00"],
        "2026-01-01:2026-01-04:1d,other",
    ),
    "dates that do not exist": (["2026-31-12", "2026-30-12"] * 9, "2026-30-12,2026-31-12,other"),
    "hours": (["09:30", "23:15:10"], "00:00:24:00:1h,other"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_column_gets_these_values_and_loses_no_row(name):
    values, option = CASES[name]
    values = list(values)
    counts = column([*values, None, ""])
    found = propose(counts, "c")
    assert found.option == option
    x, others = found.count(counts)
    assert x.sum() == sum(counts.values())
    assert x[-1] >= sum(others.values()) >= 2
    assert found.values.other == len(x) - 1
    again = stated(option, None) if found.ordered else stated(None, option)
    assert again is not None
    assert again.values == found.values


@pytest.mark.parametrize("seed", range(40))
def test_bins_of_any_numbers_are_few_round_and_cover_all_but_the_tails(seed):
    rng = np.random.default_rng(seed)
    shape = [rng.standard_normal, rng.standard_cauchy, rng.standard_exponential, rng.random][seed % 4]
    numbers = 10.0 ** rng.integers(-6, 9) * (shape(2000) + rng.integers(-3, 4))
    counts = column(numbers)
    found = propose(counts, "c")
    assert isinstance(found.values, Edges)
    assert 4 <= found.values.size <= MOST + MOST // 8 + 4
    x, others = found.count(counts)
    assert x.sum() == 2000
    assert sum(others.values()) <= 2 * TAIL * 2000 + 2


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([], "holds no values"),
        ([None, "", "NA"], "holds no values"),
        (["a", "a"], "holds 'a' alone"),
        ([f"p{k}" for k in range(500)], "none of them in 0.5 % of the rows"),
    ],
)
def test_a_column_without_a_question_is_refused(values, words):
    with pytest.raises(ValueError, match=words):
        propose(column(values), "c")


def test_a_text_has_a_label_from_half_a_per_cent_of_the_rows_on():
    rows = 1000
    counts = Counter({"a": rows, "just": int(RARE * 2 * rows), "under": int(RARE * 2 * rows) - 1})
    counts["b"] = 2 * rows - sum(counts.values())
    assert propose(counts, "c").option == "a,b,just,other"


@pytest.mark.parametrize(
    ("edges", "labels", "words"),
    [
        ("0:10:1", "a,b", "one of them"),
        ("10:0:1", None, "whole steps"),
        (None, "a,a", "twice"),
        (None, "other,a", "last"),
    ],
)
def test_what_is_stated_wrongly_is_refused(edges, labels, words):
    with pytest.raises(ValueError, match=words):
        stated(edges, labels)


@pytest.mark.parametrize("low", [-7e5, -1.0, 0.0, 3e-9, 12.0])
@pytest.mark.parametrize("span", [1e-8, 0.3, 97.0, 1e6])
def test_round_steps_enclose_what_they_are_for(low, span):
    first, last, step = round_steps(low, low + span, 20)
    rounding = 1e-12 * (abs(low) + span)
    assert first * step <= low + rounding
    assert low + span < last * step + rounding
    assert last - first <= 22
    digits = f"{step:.6e}".split("e")[0]
    assert float(digits) in (1, 2, 5)
