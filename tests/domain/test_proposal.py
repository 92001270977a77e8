"""Bins and labels are proposed for columns of every kind; rows are never lost, columns without a question refused."""

from collections import Counter
from decimal import Decimal

import numpy as np
import pytest

from stratagem.cli.output import translated
from stratagem.domain import Bins, Codes, Labels
from stratagem.domain.policy import Policy
from stratagem.domain.proposal import (
    MOST,
    RARE,
    STATED,
    TAIL,
    Proposal,
    cautions,
    found_values,
    propose,
    sentences,
    stated,
)
from stratagem.domain.rounding import placeholders, round_steps, roundest


def column(values) -> Counter:
    return Counter(None if value is None else str(value) for value in values)


def drawn(make) -> list:
    return list(make(np.random.default_rng(20260101)))


CASES = {
    "ages": (range(97), "0:100:5,other"),
    "ages of adults": (range(18, 66), "18:66:1,other"),
    "a score of 0 to 10 without 0": (range(1, 11), "0:11:1,other"),
    "a score that few answers": ([3, 8, 9], "0:11:1,other"),
    "stars of 1 to 5 without 1": ([2, 3, 5], "1:6:1,other"),
    "agreement of 1 to 7": ([2, 4, 7], "1:8:1,other"),
    "marks of 1 to 6, on no scale of these": (range(1, 7), "1:7:1,other"),
    "two codes": ([1, 2], "1:3:1,other"),
    "numbers of 0 to 5": (range(6), "0:6:1,other"),
    "numbers below 0": (range(-1, 11), "-1:11:1,other"),
    "years": ([1950, 2024], "1950:2025:5,other"),
    "shares": (np.linspace(0.001, 0.999, 500), "0:1:0.05,other"),
    "tenths": ([k / 10 for k in range(11)], "0:1.1:0.1,other"),
    "a few tenths": (["0.3", "0.1", "0.20"], "0.1:0.4:0.1,other"),
    "fifths": (map(Decimal, ("0.2", "0.4")), "0.2:0.6:0.2,other"),
    "quarters of both signs": ([-0.25, 0.5, 1.25], "-0.25:1.5:0.25,other"),
    "as many tenths as whole numbers": ([k / 10 for k in range(64)], "0:6.4:0.1,other"),
    "more tenths": ([k / 10 for k in range(65)], "0:6.6:0.2,other"),
    "tenths that doubles round": ([0.1, 0.1 + 0.2], "0.1:0.31:0.01,other"),
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
        "4999999900:5000000005:5,other",
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
    "large numbers that doubles tell apart": (
        (2**53 + 2 * k for k in range(30)),
        "9007199254740992:9007199254741051:1,other",
    ),
    "floats that happen to be whole": (["1e+17", "2e+17", "3e+17"], "1e+17:3.1e+17:1e+16,other"),
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
    assert type(found.values).parse(option) == stated(found.values).values == found.values


@pytest.mark.parametrize("seed", range(40))
def test_bins_of_any_numbers_are_few_round_and_cover_all_but_the_tails(seed):
    rng = np.random.default_rng(seed)
    shape = [rng.standard_normal, rng.standard_cauchy, rng.standard_exponential, rng.random][seed % 4]
    numbers = 10.0 ** rng.integers(-6, 9) * (shape(2000) + rng.integers(-3, 4))
    counts = column(numbers)
    found = propose(counts, "c")
    assert isinstance(found.values, Bins)
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
        (
            [f"{k % 28 + 1:02}.{k // 28 + 1:02}.2025" for k in range(300)],
            "read as YYYY-MM-DD, so write '01.01.2025'",
        ),
        (
            range(2**53 - 2, 2**53 + 4),
            r"column 'c' holds whole numbers such as 9007199254740992 and 900719925474099[34]",
        ),
        (
            range(2**60, 2**60 + 40),
            "beyond 2.53 double precision does not tell all of them apart: if they are ident",
        ),
        (["123456789012345678901", "123456789012345678902"], "name another column, otherwise state edges"),
    ],
)
def test_a_column_without_a_question_is_refused(values, words):
    with pytest.raises(ValueError, match=words):
        propose(column(values), "c")


def test_one_label_is_said_of_one():
    counts = column(["a"] * 1000 + ["b"] * 3)
    found = propose(counts, "c")
    said = sentences("c", found, *found.count(counts))[0]
    assert said == "c: 1 label and 'other' (the most frequent text of 2 has a label): a,other"


def test_a_text_has_a_label_from_half_a_per_cent_of_the_rows_on():
    rows = 1000
    counts = Counter({"a": rows, "just": int(RARE * 2 * rows), "under": int(RARE * 2 * rows) - 1})
    counts["b"] = 2 * rows - sum(counts.values())
    assert propose(counts, "c").option == "a,b,just,other"


@pytest.mark.parametrize(
    ("values", "words"), [(Labels.parse("other,a"), "last"), (Codes(3), "for bins or labels")]
)
def test_what_is_stated_wrongly_is_refused(values, words):
    with pytest.raises(ValueError, match=words):
        stated(values)


@pytest.mark.parametrize("low", [Decimal(text) for text in ("-7e5", "-1", "0", "3e-9", "12")])
@pytest.mark.parametrize("span", [Decimal(text) for text in ("1e-8", "0.3", "97", "1e6")])
def test_round_steps_enclose_what_they_are_for(low, span):
    first, last, step = round_steps(low, low + span, 20)
    assert first * step <= low
    assert low + span < last * step
    assert last - first <= 22
    digits = f"{step:.6e}".split("e")[0]
    assert float(digits) in (1, 2, 5)


SKEWED = {
    "incomes": lambda rng: np.round(rng.lognormal(10.3, 1, 5000)).astype(int),
    "delays": lambda rng: np.round(
        rng.exponential(40, 5000) * (rng.random(5000) < 0.4) + rng.normal(-5, 4, 5000)
    ),
    "shares": lambda rng: np.round(rng.beta(0.3, 4, 5000), 4),
    "both tails": lambda rng: np.round(rng.standard_cauchy(5000), 3),
}


@pytest.mark.parametrize("name", SKEWED)
def test_skewed_numbers_get_round_bins_of_about_equal_shares(name):
    """The control: equal steps would put a fifth of the numbers or more into one bin."""
    numbers = SKEWED[name](np.random.default_rng(3))
    counts = column(numbers)
    found = propose(counts, "c")
    x, others = found.count(counts)
    assert x.max() <= 0.1 * len(numbers) + max(counts.values())
    assert sum(others.values()) <= 2 * TAIL * len(numbers) + 2
    assert 12 <= found.values.size <= 23
    low, high = np.quantile(numbers, [TAIL, 1 - TAIL])
    assert np.histogram(numbers, np.linspace(low, high, MOST + 1))[0].max() > 0.2 * len(numbers)
    digits = [len(edge.strip("-0.").replace(".", "").rstrip("0")) for edge in found.values.edges[:-1]]
    assert max(digits) <= 3
    assert np.mean(digits) < 2
    assert "round edges" in found.rule


def test_a_frequent_number_keeps_the_others_apart():
    rng = np.random.default_rng(4)
    counts = column(np.where(rng.random(5000) < 0.6, 0, rng.integers(1, 400, 5000)))
    found = propose(counts, "c")
    x, _ = found.count(counts)
    assert found.option.startswith("0:")
    assert np.sort(x)[-2] < 0.1 * x.sum()


@pytest.mark.parametrize(
    ("low", "high", "number"),
    [
        ("-3", "4", "0"),
        ("7", "23", "20"),
        ("7", "8", "8"),
        ("-0.3", "-0.1", "-0.2"),
        ("5", "5", "5"),
        ("999", "1001", "1000"),
    ],
)
def test_the_roundest_number_between_two(low, high, number):
    assert roundest(Decimal(low), Decimal(high)) == Decimal(number)


@pytest.mark.parametrize(
    ("texts", "shown"),
    [
        (["9", "€ 7.30", "3%"], "'€ 7.30'"),
        (["12 €", "1'000", "5"], "'12 €'"),
        (["1,2", "1", "2"], "'1,2'"),
        (["18-24", "65+", "10k to 30k"], ""),
        (["1.5", "no", "2"], ""),
        (["North", "A1", "3 times"], ""),
    ],
)
def test_labels_that_look_like_numbers_are_named(texts, shown):
    found = cautions("x", Proposal(values=Labels(tuple(texts)), rule=STATED), {})
    assert len(found) == bool(shown)
    assert all(f"such as {shown}:" in one for one in found)


REMARKS = {
    "gaps among labels": (
        ["yes"] * 9 + ["no"] * 8 + ["N/A"] * 3 + ["n/a"] * 2,
        "'N/A' (3 rows), 'n/a' (2 rows) count as an answer; missing=['N/A', 'n/a'] makes that no answer.",
    ),
    "a dash among labels": (
        ["North"] * 9 + ["South"] * 8 + ["-"] * 3,
        "'-' (3 rows) counts as an answer; missing=['-'] makes that no answer.",
    ),
    "a dash among numbers": (
        [*range(20), "-"],
        "'-' (1 row) counts as 'other'; missing=['-'] makes that no answer.",
    ),
    "thousands among numbers": (
        [*range(900, 1000), "1,234", "1,500"],
        (
            "2 rows with numbers with commas, such as 1,234, which decimal=',' reads as 1.234 and decimal='.' "
            "reads as 1234, so far counted as 'other'."
        ),
    ),
    "a word among numbers": (
        [1, 2] * 20 + ["three"] * 2,
        "Not a number, so counted as 'other', with the rows of each: 'three' 2.",
    ),
    "a word among dates": (
        ["2026-01-01", "2026-01-02"] * 20 + ["soon"],
        "Not a date, so counted as 'other', with the rows of each: 'soon' 1.",
    ),
    "dates of another form among dates": (
        ["2026-01-01", "2026-01-02"] * 20 + ["13/01/2026", "2/1/2026", "soon"],
        (
            "2 rows with dates such as 13/01/2026, which date_format='day-first' reads as 2026-01-13, so far "
            "counted as 'other'."
        ),
    ),
    "dates that do not tell their order": (
        ["2026-01-01", "2026-01-02"] * 20 + ["2/1/2026"],
        (
            "1 row with dates such as 2/1/2026, which date_format='day-first' reads as 2026-01-02 and "
            "date_format='month-first' reads as 2026-02-01, so far counted as 'other'."
        ),
    ),
    "dates that contradict each other": (
        ["2026-01-01", "2026-01-02"] * 20 + ["13/1/2026", "1/13/2026"],
        (
            "1 row with dates such as 13/1/2026, which date_format='day-first' reads as 2026-01-13, so far "
            "counted as 'other'."
        ),
    ),
    "numbers in words": (
        [1, 2] * 20 + ["three", "Five", "unsure"],
        (
            "If they stand for no answer, missing=['three', 'Five', 'unsure'] says so; if they are answers, "
            "mapping={'three': '3', 'Five': '5'} does."
        ),
    ),
}


@pytest.mark.parametrize("name", REMARKS)
def test_what_is_no_answer_or_reads_otherwise_is_named_with_its_rows(name):
    values, sentence = REMARKS[name]
    counts = column(values)
    assert sentence in propose(counts, "c").remarks(counts)


@pytest.mark.parametrize("values", [["yes", "no", ""] * 9, [1, 2, None, "NA"] * 9])
def test_nothing_is_said_of_a_column_without_such_texts(values):
    counts = column(values)
    assert not propose(counts, "c").remarks(counts)


def test_boxes_to_tick_and_columns_of_other_answers_say_what_to_do():
    ticked = ["r;py", "r;sql", "py;sql", "r;py;sql", "r"] * 9
    proposal = propose(column(ticked), "tools")
    (said,) = [one for one in cautions("tools", proposal, {}) if "several answers" in one]
    assert "such as 'py;sql': write a column of yes and no for each of the 3 answers" in said
    for plain in (["yes, often", "no", "yes"] * 9, ["North", "South; rural", "East; urban"] * 9):
        assert not any("several" in one for one in cautions("c", propose(column(plain), "c"), {}))
    for rest, mostly in ((60, True), (18, False)):
        counts = column(["a"] * 10 + ["b"] * 10 + [f"text {k}" for k in range(rest)])
        found = propose(counts, "c")
        said = sentences("c", found, *found.count(counts))
        assert any("Most rows of c are in none of the values" in one for one in said) == mostly


def test_texts_that_stand_for_no_number_are_named_with_their_rows():
    ages = {str(age): 3 for age in range(20, 60)}
    counts = {**ages, "N/A": 18, None: 56}
    assert found_values(counts, "age").remarks(counts) == ("'N/A' (18 rows) counts as 'no answer'.",)
    assert found_values(ages | {None: 56}, "age").remarks(ages | {None: 56}) == ()
    for texts, which in (({"none": 9}, "it"), ({"none": 9, "NA": 1}, "'none'")):
        (said,) = found_values(ages | texts, "cigarettes").remarks(ages | texts, "cigarettes")
        assert translated(said).endswith(
            f" as 'no answer'; if {which} means 0, --map cigarettes=none=0 says so."
        )
    days = {f"2026-01-{day}": 3 for day in range(10, 30)} | {"none": 2}
    assert found_values(days, "day").remarks(days) == ("'none' (2 rows) counts as 'no answer'.",)
    policy = Policy(mapping={"none": "0"})
    read = policy.counted(ages | {"none": 9, None: 2})
    assert found_values(read, "age").remarks(read) == ()


@pytest.mark.parametrize("code", ["-99", "999"])
def test_what_looks_like_a_placeholder_is_in_no_proposed_bin(code):
    """It is said with the bins, and once more first of all cautions; its rows count as "other"."""
    counts = column([*range(18, 78)] * 9) + Counter({code: 20})
    plain, found = (found_values(one, "age") for one in (column([*range(18, 78)] * 9), counts))
    assert found.values.edges == (*plain.values.edges, "other")
    assert found.rule == f"{plain.rule}; {code!r} looks like a placeholder for no answer and is in none"
    assert found.count(counts)[0][found.values.other] == 20
    first, *_ = cautions("age", found, placeholders(counts))
    assert first.startswith("age holds numbers that look like placeholders")


def test_a_shorter_last_bin_is_said_with_steps_that_leave_none():
    for edges, words in {
        "15:100:7,whole": "The last bin of age, 99, is shorter: steps of 5 or 17 leave none.",
        "15:99:7,whole": "",
        "0:1:0.3": "The last bin of age, 0.9 to below 1, is shorter: steps of 0.2 or 0.5 leave none.",
        "15:22:9,other": "",
        "0,1,5": "",
        "2026-01-01:2026-02-15:1mo": "",
    }.items():
        proposal = stated(Bins.parse(edges))
        said = sentences("age", proposal, np.zeros(proposal.values.size), {})
        assert [one for one in said if "shorter" in one] == [words] * bool(words)
