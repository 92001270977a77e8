"""No answer and other: two values beside the others, and what is asked, read, planned and said of them."""

from collections import Counter

import numpy as np
import pytest

import stratagem as st
from stratagem.domain import Attribute, Bins, Codes, Domain, Labels
from stratagem.domain.attribute import values_of
from stratagem.domain.columns import read
from stratagem.domain.policy import Policy
from stratagem.estimation.answer import gaps
from stratagem.mechanism.mechanism import Mechanism
from stratagem.report.verdict import values_text
from stratagem.workloads.serial import from_data, over, to_data

BINS, BOTH = Bins.parse("0:30:10,no answer"), Bins.parse("0:30:10,other,no answer")
WORDS = {
    "bins": (
        BINS,
        {
            (0, 0): "= 0 to below 10 km",
            (3, 3): "= no answer",
            (1, 3): "from 10 to below 30 km or no answer",
            (None, 1): "below 20 km",
            (None, 3): "below 30 km or no answer",
        },
    ),
    "bins and other": (
        BOTH,
        {
            (3, 3): "= other",
            (4, 4): "= no answer",
            (3, 4): "= other or no answer",
            (2, 4): "= 20 to below 30 km or other or no answer",
            (None, 0): "= 0 to below 10 km",  # what lies below the first edge is "other"
            (None, 1): "from 0 to below 20 km",
            (None, 3): "from 0 to below 30 km or other",
        },
    ),
    "numbers": (
        Codes(4, no_answer=True),
        {
            (2, 2): "= 2 km",
            (3, 3): "= no answer",
            (1, 3): "from 1 to 2 km or no answer",
            (None, 3): "at most 2 km or no answer",
        },
    ),
    "labels": (
        Labels(("a", "b", "other"), no_answer=True),
        {
            (2, 2): "= other",
            (3, 3): "= no answer",
            (0, 3): "from a to other or no answer",
            (None, 1): "up to b",
        },
    ),
}


@pytest.mark.parametrize("name", WORDS)
def test_values_are_named(name):
    values, said = WORDS[name]
    unit = "" if isinstance(values, Labels) else "km"
    one = Attribute("x", values, unit=unit)
    assert {ends: one.text(*ends) for ends in said} == {ends: f"x {words}" for ends, words in said.items()}
    assert values.middle(values.size - 1) is None
    assert values.cell(str(values.value(values.size - 1))) == values.size - 1


VALUES = {
    "bins": (BINS, None, (3,)),
    "bins and other": (BOTH, 3, (3, 4)),
    "bins and other alone": (Bins.parse("0:30:10,other"), 3, (3,)),
    "uneven bins": (Bins.parse("0,1,30,other,no answer"), 2, (2, 3)),
    "dates": (Bins.parse("2026-01-01:2026-03-01:1mo,no answer"), None, (2,)),
    "times": (Bins.parse("00:00:24:00:12h,other,no answer"), 2, (2, 3)),
    "labels": (Labels(("a", "b"), no_answer=True), None, (2,)),
    "labels and other": (Labels(("a", "other"), no_answer=True), 1, (1, 2)),
    "labels with commas": (Labels(("a, b", "other"), no_answer=True), 1, (1, 2)),
    "other among labels": (Labels(("other", "a"), no_answer=True), None, (2,)),
    "no answer": (Labels(("no answer",)), None, ()),
    "numbers": (Codes(3, no_answer=True), None, (2,)),
    "numbers and other": (Codes(4, no_answer=True, others=True), 2, (2, 3)),
    "numbers alone": (Codes(3), None, ()),
}


@pytest.mark.parametrize("name", VALUES)
def test_values_come_back_from_their_text_and_from_a_bundle(name):
    values, other, outside = VALUES[name]
    assert (values.other, values.outside) == (other, outside)
    one = Attribute("x", values)
    assert Attribute.of(one.entry()) == one
    assert values_of({"size": values.size} | values.entry()) == values
    assert [values.cell(str(values.member(k))) for k in range(values.size)] == list(range(values.size))
    if not isinstance(values, Codes):
        assert type(values).parse(str(values)) == values
    if values.no_answer:
        assert values.cell(None) == values.cell("") == values.cell("  ") == values.size - 1


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Labels(("a", ""), no_answer=True), "already stands for no answer"),
        (lambda: Labels(("a", " no answer "), no_answer=True), "already stands for no answer"),
        (lambda: Codes(1, no_answer=True), "'no answer' was stated as the only value"),
        (lambda: Codes(2, no_answer=True, others=True), "'other' and 'no answer' was stated"),
        (lambda: BINS.fit(5), "3 bins and no answer, but the attribute has 5 values: give 5 edges"),
        (lambda: BOTH.fit(4), "3 bins and other and no answer, but the attribute has 4 values: give 3 edges"),
        (lambda: Labels(("a",), no_answer=True).fit(3), "1 labels and no answer were given"),
        (lambda: Labels(("a", "b")).cell(""), "is missing: give one"),
        (lambda: BINS.cell("40"), "30 or above: give one of the values 0:30:10,no answer"),
    ],
)
def test_what_is_no_value_is_refused_in_a_sentence(make, words):
    with pytest.raises(ValueError, match=words) as error:
        make()
    assert "\n" not in str(error.value)


ORDERED = {
    "bins": (st.bins("0:50:10", no_answer=True), 5),
    "bins and other": (st.bins("0:50:10", other=True, no_answer=True), 5),
    "labels": (st.labels(*"abc", other=True, no_answer=True, ordered=True), 3),
    "numbers": (Attribute("x", Codes(5, no_answer=True)), 4),
    "numbers and other": (Attribute("x", Codes(6, no_answer=True, others=True)), 4),
    "one value": (st.bins([0, 1], other=True, no_answer=True), 1),
}
PREFIXES = {
    "prefix": (st.prefix, lambda m: np.tri(m)),
    "all-range": (st.all_range, lambda m: ranges(m, m)),
    "short ranges": (lambda one: st.all_range(one, 1), lambda m: ranges(m, 1)),
}


def ranges(m, width):
    """All ranges of at most `width` of m values, the shorter first."""
    ends = [(low, low + k) for k in range(width) for low in range(m - k)]
    return np.array([[low <= u <= high for u in range(m)] for low, high in ends], dtype=float)


@pytest.mark.parametrize("queries", PREFIXES)
@pytest.mark.parametrize("name", ORDERED)
def test_prefixes_and_ranges_are_over_the_answers(name, queries):
    (one, m), (ask, rows) = ORDERED[name], PREFIXES[queries]
    workload, padding = ask(one), np.zeros((len(rows(m)), one.size - m))
    expected = np.hstack([rows(m), padding])
    assert workload.matrix().tolist() == expected.tolist()
    assert workload.gram().tolist() == (expected.T @ expected).tolist()
    both = st.kron([workload, st.histogram({"sex": 2})])
    assert both.matrix().tolist() == np.kron(expected, np.eye(2)).tolist()
    again = over(from_data(to_data(workload)), workload.domain.attributes)
    assert again == workload
    assert again.domain.attributes == workload.domain.attributes


@pytest.mark.parametrize("name", ORDERED)
def test_without_no_answer_they_are_what_they_were(name):
    one, _ = ORDERED[name]
    plain = Domain.of(one.size)
    assert st.prefix(plain).matrix().tolist() == np.tri(one.size).tolist()
    with_other = st.bins("0:20:10", other=True)
    assert st.prefix(with_other).matrix().tolist() == np.tri(3).tolist()
    assert st.all_range(with_other).queries == 6


@pytest.mark.parametrize("numbers", [None, [5.0, 15, 25, 35, 45, 0, 0]])
def test_means_are_over_the_answers(numbers):
    """The control: as if no answer were the largest number."""
    one = st.bins("0:50:10", other=True, no_answer=True)
    asked = st.load("mean", domain=Domain.of(one), **({} if numbers is None else {"numbers": tuple(numbers)}))
    rows = asked.matrix()
    known = np.array([1.0] * 5 + [0, 0])
    assert (rows[1] / rows[1, 0]).tolist() == known.tolist()
    if numbers is None:
        assert rows[0].tolist() == [0, 1, 2, 3, 4, 5, 0]
        return
    x = np.array([30, 20, 10, 5, 5, 400, 900])
    made = Mechanism.of(st.published.randomised_response(7, 30.0), asked, 30.0)
    (found,) = st.estimation.shares(made.estimate(made.strategy.histogram(x, np.random.default_rng(1))))
    assert found.share == pytest.approx(rows[0][:5] @ x[:5] / x[:5].sum(), rel=1e-6)
    assert found.share != pytest.approx(np.arange(7) @ x / x.sum(), rel=0.1)


def test_means_of_a_strategy_for_means_alone_have_a_number_of_people():
    one = st.bins("0:30:10", no_answer=True, unit="km")
    asked = st.load("mean", domain=Domain(way=one), numbers=(5.0, 15, 25, 0))
    made = st.optimise(asked, 4.0, seconds=2).mechanism()
    found = made.estimate(
        made.strategy.histogram(np.array([4000, 2000, 3000, 6000]), np.random.default_rng(2))
    )
    (share,) = st.estimation.shares(found)
    assert share.label == "sum of the bin middles of way"
    # five standard errors of the ratio, about 0.1 each: a false alarm once in 1.7 million
    assert share.share == pytest.approx((5 * 4 + 15 * 2 + 25 * 3) / 9, abs=1)


TRUTHS = {
    "bins": (st.bins("0:50:10", no_answer=True), [300, 500, 700, 400, 100, 1200], 5),
    "bins and other": (
        st.bins("0:50:10", other=True, no_answer=True),
        [300, 500, 700, 400, 100, 500, 900],
        5,
    ),
    "labels": (st.labels(*"abc", other=True, no_answer=True, ordered=True), [30, 25, 45, 300, 70], 3),
    "numbers": (Attribute("x", Codes(5, no_answer=True)), [3, 9, 20, 1, 80], 4),
}


@pytest.mark.parametrize("share", [0.1, 0.5, 0.51, 0.9, 0.999])
@pytest.mark.parametrize("name", TRUTHS)
def test_quantiles_are_over_the_answers(name, share):
    """At epsilon 40 reports tell the truth; the quantile is that of the people whose value has a place in the order."""
    one, x, m = TRUTHS[name]
    x = np.array(x)
    made = Mechanism.of(st.published.randomised_response(one.size, 40.0), st.prefix(one), 40.0)
    found = made.estimate(made.strategy.histogram(x, np.random.default_rng(0)))
    true = int(np.searchsorted(np.cumsum(x[:m]), share * x[:m].sum() - 1e-9))
    quantile = found.quantile(share)
    assert quantile.bin == true
    assert quantile.answered.answer == pytest.approx(x[:m].sum())
    of_all = found.quantile(share, of_all=True)
    beyond = np.searchsorted(np.cumsum(x[:m]), share * x.sum() - 1e-9)
    assert of_all.bin == (beyond if beyond < m else one.size - 1)
    assert of_all.answered is None


WHO = {
    "no answer": (st.labels("a", "b", no_answer=True), [60, 40, 100], "who answered", [0.6, 0.4]),
    "other is an answer": (
        st.labels("a", "b", other=True, no_answer=True),
        [60, 20, 20, 100],
        "who answered",
        [0.6, 0.2, 0.2],
    ),
    "other alone": (
        st.labels("a", "b", other=True),
        [60, 40, 100],
        "who gave another answer than 'other'",
        [0.6, 0.4],
    ),
    "bins": (st.bins([0, 1, 2], no_answer=True), [60, 40, 100], "who answered", [0.6, 0.4]),
    "other than a bin": (
        st.bins([0, 1, 2], other=True, no_answer=True),
        [60, 40, 30, 70],
        "who said neither 'other' nor 'no answer'",
        [0.6, 0.4],
    ),
    "neither": (st.labels("a", "b"), [60, 40], "who answered", [0.6, 0.4]),
}


@pytest.mark.parametrize("name", WHO)
def test_shares_say_of_whom_they_are(name):
    one, x, words, expected = WHO[name]
    made = Mechanism.of(st.published.randomised_response(one.size, 40.0), st.histogram(one), 40.0)
    found = st.estimation.shares(
        made.estimate(made.strategy.histogram(np.array(x), np.random.default_rng(0)))
    )
    assert [share.share for share in found] == pytest.approx(expected)
    known = "100 to 100" if name == "neither" else "99 to 101"
    assert {share.words for share in found} == {f"of the 100 (interval {known}) {words}"}
    assert bool(gaps(one)) == (name != "neither")


TEXTS = ["5", "", "NA", "15", "999", "x", "other", None, "no answer", "-3"]
READ = {
    "bins": (
        Bins.parse("0:20:10,no answer"),
        {},
        [1, 1, 4],
        {"x 20 or above": 1, "x not a number": 2, "x below 0": 1},
    ),
    "bins and other": (
        Bins.parse("0:20:10,other,no answer"),
        {"invalid": "other"},
        [1, 1, 4, 4],
        {},
    ),
    "no answer is none of the other": (Bins.parse("0:20:10,other"), {"invalid": "other"}, [1, 1, 8], {}),
    "named": (
        Bins.parse("0:20:10,no answer"),
        {"missing": ("x", "999")},
        [1, 1, 6],
        {"x not a number": 1, "x below 0": 1},
    ),
    "clipped": (Bins.parse("0:20:10,no answer"), {"clip": True}, [2, 2, 4], {"x not a number": 2}),
    "labels": (Labels(("5", "NA", "other"), no_answer=True), {"invalid": "other"}, [1, 1, 5, 3], {}),
}


@pytest.mark.parametrize("name", READ)
def test_columns_are_read(name, tmp_path):
    values, options, x, outside = READ[name]
    path = tmp_path / "a.csv"
    path.write_text("x,n\n" + "".join(f"{text or ''},1\n" for text in TEXTS))
    data = read(path, Domain(x=values), {"x": "x"}, Policy(**{"invalid": "drop"} | options))
    assert data.x.tolist() == x
    assert data.outside == outside
    assert data.users + sum(data.outside.values()) == len(TEXTS)


PLANS = {
    "nothing beside": ([20, 30, 30, 40] * 9, {}, "20:41:1,whole", []),
    "missing": ([20, 30, None, 40] * 9, {}, "20:41:1,whole,no answer", [9]),
    "unlisted": ([*range(1000), *[10**9] * 4], {}, "0:1000:50,whole,other", [4]),
    "both": ([*range(1000), *[10**9] * 4, None], {}, "0:1000:50,whole,other,no answer", [4, 1]),
    "texts": (["a", "b"] * 9, {}, "a,b", []),
    "texts missing": (["a", "b", ""] * 9, {}, "a,b,no answer", [9]),
    "rare texts": (["a", "b"] * 900 + ["c"], {}, "a,b,other", [1]),
    "texts that say other": (["a", "b", "other", None] * 9, {}, "a,b,other,no answer", [9, 9]),
    "stated": ([1, 2, 3] * 9, {"values": st.bins("0:4:1")}, "0:4:1,whole", []),
    "stated and unlisted": ([1, 2, 9] * 9, {"values": st.bins("0:4:1")}, "0:4:1,whole,other", [9]),
    "stated and missing": ([1, 2, None] * 9, {"values": st.bins("0:4:1")}, "0:4:1,whole,no answer", [9]),
    "stated with both": (
        [1, 2, 3] * 9,
        {"values": st.bins("0:4:1,other,no answer")},
        "0:4:1,whole,other,no answer",
        [0, 0],
    ),
    "labels stated": (["a", None, "c"] * 9, {"values": st.labels("a", "b")}, "a,b,other,no answer", [9, 9]),
    "only": ([1, 2, 9, None] * 9, {"values": st.bins("0:4:1"), "only": True}, "0:4:1", []),
    "only with no answer": (
        [1, 2, 9, None] * 9,
        {"values": st.bins("0:4:1,no answer"), "only": True},
        "0:4:1,no answer",
        [9],
    ),
    "named missing": (
        [1, 2, 999] * 9,
        {"values": st.bins("0:4:1"), "missing": ["999"]},
        "0:4:1,whole,no answer",
        [9],
    ),
    "decimals": ([1, 2, 2.5] * 9, {"values": st.bins("0:4:1")}, "0:4:1", []),
    "decimals among whole numbers that were stated": (
        [1, 2, 2.5] * 9,
        {"values": st.bins("0:4:1,whole")},
        "0:4:1,whole,other",
        [9],
    ),
}


@pytest.mark.parametrize("name", PLANS)
def test_plans_have_no_answer_and_other_where_the_column_does(name):
    column, options, option, beside = PLANS[name]
    plan = st.plan(column, column="x", users=100, epsilon=4.0, seconds=1, **options)
    values = plan.proposal.values
    assert plan.proposal.option == option
    assert plan.x[values.size - len(values.outside) :].tolist() == beside
    left = sum(plan.others.values()) if values.other is None else 0
    assert plan.x.sum() + left == len(column)
    assert left == (0 if not options.get("only") else 9 if beside else 18)
    said = " ".join(plan.values())
    for cell, rows in zip(values.outside, beside, strict=True):
        assert f"{rows:,} of {len(column):,} rows count as {values.value(cell)!r}" in said
    assert (f"{left} of {len(column):,} rows are left out" in said) == (left > 0)
    assert plan.mechanism().attributes[0].values == values


def test_a_page_names_what_lies_beside_whole_numbers():
    found = values_text(Attribute("x", Codes(2_006, no_answer=True, others=True), unit="km"))
    assert found == "0 to 2,003 km, other, no answer"


def test_only_needs_values():
    with pytest.raises(ValueError, match="give values"):
        st.plan([1, 2], only=True)


FORMS = {
    "texts of numbers": ({"age": "34", "sex": "f"}, {"age": 34, "sex": "f"}),
    "decimals": ({"age": "34.50", "sex": " f "}, {"age": 34.5, "sex": "f"}),
    "nothing": ({"age": "", "sex": ""}, {"age": None, "sex": None}),
    "blanks": ({"age": "  ", "sex": "\t"}, {"age": float("nan"), "sex": ""}),
    "words": ({"age": "no answer", "sex": "no answer"}, {"age": "NA", "sex": None}),
    "other": ({"age": "other", "sex": "m"}, {"age": " other", "sex": "m "}),
}


@pytest.mark.parametrize("name", FORMS)
def test_clients_take_what_a_form_sends(name):
    sent, same = FORMS[name]
    age = st.bins([0, 18, 65, 130], other=True, no_answer=True)
    domain = Domain(age=age, sex=st.labels("f", "m", no_answer=True))
    client = Mechanism.of(st.published.randomised_response(15, 1.0), st.histogram(domain), 1.0).client
    assert client.cell(sent) == client.cell(same)
    assert 0 <= client.randomise(sent)["output"] < 15
    cells = Counter(client.cell({"age": text, "sex": "f"}) for text in ("5", "34", "70", "other", ""))
    assert max(cells.values()) == 1
    with pytest.raises(ValueError, match=r"value is '' \(missing\), but must be a number from 0 to below 18"):
        Mechanism.of(
            st.published.randomised_response(1, 1.0), st.total(st.bins([0, 18])), 1.0, name="x"
        ).client.cell({"value": ""})
