"""Quantiles and shares of those who answered, where a last value stands for gaps."""

import re

import numpy as np
import pytest

import stratagem as st
from stratagem.domain import Attribute, Bins, Codes, Labels
from stratagem.mechanism.mechanism import Mechanism
from stratagem.workloads.explicit import Explicit

AGE = st.bins("0:50:10", other=True, unit="years")
X = np.array([300, 500, 700, 400, 100, 1200])
"""2,000 people who answered, whose median is from 20 to below 30, and 1,200 gaps."""
REPETITIONS = 500
LEAST = 0.91
"""Of 500 at least 95 %: 4.1 standard errors (0.0097) below, a false alarm once in 48,000."""


def surveyed(epsilon=1.5, workload=None):
    W = st.prefix({"age": AGE}) if workload is None else workload
    return Mechanism.of(st.published.randomised_response(6, epsilon), W, epsilon)


def estimates(found, repetitions=REPETITIONS, x=X, **options):
    for r in range(repetitions):
        yield found.estimate(found.strategy.histogram(x, np.random.default_rng([17, r])), **options)


def test_quantiles_are_among_those_who_answered():
    sharp = next(estimates(surveyed(40.0), 1))
    median, of_all = sharp.quantile(0.5), sharp.quantile(0.5, of_all=True)
    assert (
        str(median)
        == "20 to below 30 years; 95 % sure: from 20 to below 30 years; of the 2,000 (interval 1,999 to 2,001) who "
        "gave another answer than 'other'"
    )
    assert (median.bin, of_all.bin, sharp.quantile(0.9, of_all=True).value) == (2, 3, "other")
    assert median.data()["answered"]["answer"] == pytest.approx(2000)
    assert of_all.data()["answered"] is None
    assert [sharp.quantile(share).bin for share in (0.1, 0.149, 0.3, 0.9, 0.999)] == [0, 0, 1, 3, 4]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("method", ["unbiased", "recommended"])
def test_quantiles_and_shares_of_those_who_answered_are_covered(method):
    """The control: shares of all, and their median, miss where a third did not answer."""
    truth, missed, bins, controls = np.cumsum(X[:5]) / 2000, np.zeros(5), [], []
    for found in estimates(surveyed(), method=method):
        shares = st.estimation.shares(found)
        assert [one.query for one in shares] == [0, 1, 2, 3, 4]
        missed += [not one.low <= true <= one.high for one, true in zip(shares, truth, strict=True)]
        assert all(one.low <= one.share <= one.high for one in shares)
        bins.append(found.quantile(0.5))
        controls.append(found.quantile(0.5, of_all=True))
    assert missed.max() / REPETITIONS <= 1 - LEAST
    assert np.mean([one.low_bin <= 2 <= one.high_bin for one in bins]) >= LEAST
    assert np.mean([one.low_bin <= 2 <= one.high_bin for one in controls]) < LEAST
    assert np.mean([one.bin == 2 for one in bins]) > 0.5, "and they say something"


def test_a_small_sample_of_a_population_is_covered():
    truth, inside = np.cumsum(X[:5]) / 2000, np.zeros(5)
    found, p = surveyed(3.0), X / X.sum()
    for r in range(REPETITIONS):
        rng = np.random.default_rng([18, r])
        counts = found.strategy.histogram(rng.multinomial(100, p), rng)
        shares = st.estimation.shares(found.estimate(counts, about="population"))
        inside += [one.low <= true <= one.high for one, true in zip(shares, truth, strict=True)]
    assert inside.min() / REPETITIONS >= LEAST


MEANS = np.array([30.0, 31, 32, 33, 34, 0])
FEW = {
    "share": (np.eye(3)[:1], np.array([0.94, 0.02, 0.04])),
    "mean": (MEANS[None], np.array([0.95, 0, 0, 0, 0.01, 0.04])),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("users", [100, 250, 450])
@pytest.mark.parametrize("name", FEW)
def test_intervals_of_few_precise_reports_are_covered(name, users):
    """One report changes the answers by steps here, of another size for each of both sums."""
    rows, p = FEW[name]
    n, x = len(p), np.rint(users * p).astype(int)
    x[0] += users - x.sum()
    W = st.explicit(np.vstack([rows, np.eye(n)]), st.labels(*map(str, range(n - 1)), other=True))
    found = Mechanism.of(st.published.randomised_response(n, 4.0), W, 4.0)
    truth, inside = rows[0] @ x / x[:-1].sum(), 0
    for one in estimates(found, x=x):
        share = st.estimation.shares(one, [0])[0]
        inside += share.low <= truth <= share.high
    assert inside / REPETITIONS >= LEAST


@pytest.mark.exhaustive
def test_shares_together_hold_for_all_tables_of_the_workload():
    """The control: shares each on their own."""
    W = st.marginals({name: st.labels("x", "y", "z", other=True) for name in "abc"}, 1)
    found = Mechanism.of(st.optimise(W, 1.0, seconds=2).strategy, W, 1.0)
    missed, control = 0, 0
    for one in estimates(found, 300, np.full(64, 100)):
        together, alone = st.estimation.shares(one.together()), st.estimation.shares(one)
        first = st.estimation.shares(one.together(), [0])[0]
        assert (first.low, first.high) == pytest.approx((together[0].low, together[0].high), abs=1e-9)
        missed += not all(share.low <= 1 / 3 <= share.high for share in together)
        control += not all(share.low <= 1 / 3 <= share.high for share in alone)
    assert missed / 300 <= 1 - LEAST < control / 300


def test_shares_together_are_wider_and_of_all_they_are_the_answers():
    found = next(estimates(surveyed(), 1))
    alone, together = st.estimation.shares(found), st.estimation.shares(found.together())
    assert all(b.low <= a.low and a.high <= b.high for a, b in zip(alone, together, strict=True))
    every = st.estimation.shares(found, of_all=True)
    assert [one.share for one in every] == pytest.approx(found.answers / found.users)
    assert [one.query for one in st.estimation.shares(found, [3, 1])] == [1, 3]
    assert (every[0].words, alone[0].words[:7]) == ("of all", "of the ")


def test_those_who_answered_are_told_attribute_by_attribute():
    domain = {"age": st.bins([0, 40, 90], other=True), "sex": st.labels("F", "M")}
    W = st.stack([st.marginals(domain, order) for order in (1, 2)])
    found = next(estimates(surveyed(40.0, W), 1, np.array([10, 20, 30, 5, 25, 10])))
    by_label = {one.label: one for one in st.estimation.shares(found)}
    assert by_label["sex = F"].share == pytest.approx(65 / 100)
    assert by_label["sex = F"].answered.answer == pytest.approx(100)
    assert by_label["age = 0 to below 40"].share == pytest.approx(30 / 65)
    assert by_label["age = 0 to below 40, sex = M"].share == pytest.approx(20 / 65)
    assert not any("other" in label for label in by_label)


def test_means_are_among_those_who_answered():
    values = np.array([5.0, 15, 25, 35, 45, 0])
    found = next(estimates(surveyed(40.0, st.mean(values, {"age": AGE})), 1))
    (mean,) = st.estimation.shares(found)
    assert mean.share == pytest.approx(values[:5] @ X[:5] / 2000)


@pytest.mark.parametrize(
    ("values", "other"),
    [
        (Bins(("0", "1", "other")), 1),
        (Bins(("0", "1", "2")), None),
        (Labels(("a", "other")), 1),
        (Labels(("other", "a")), 0),
        (Labels(("a", "b")), None),
        (Codes(2), None),
    ],
)
def test_the_value_of_gaps_is_told_by_its_description(values, other):
    assert Attribute("x", values).other == other


def test_no_more_people_answered_than_there_are():
    """Unbiased estimates of how many answered lie above all users in half of the samples where everybody did."""
    above = 0
    for found in estimates(surveyed(), 20, np.array([400, 400, 400, 400, 400, 0])):
        (raw,) = found.ask(Explicit([[1.0, 1, 1, 1, 1, 0]], found.workload.domain)).table()
        above += raw.answer > 2000
        answered = (found.quantile(0.5).answered, st.estimation.shares(found)[0].answered)
        assert [one.answer for one in answered] == pytest.approx([min(raw.answer, 2000)] * 2)
        assert all(0 <= one.low <= one.answer <= one.high <= 2000 for one in answered)
        said = re.search(r"of the ([\d,]+) \(interval ", str(found.quantile(0.5)))[1]
        assert int(said.replace(",", "")) <= 2000
    assert above >= 3, "fewer in one of 5,000 runs: the control"


@pytest.mark.parametrize("options", [{"method": "recommended"}, {"simultaneous": True}])
def test_how_many_answered_has_one_interval_for_medians_and_shares(options):
    """Intervals that grow with the number of queries asked together made that of shares wider."""
    found = next(estimates(surveyed(), 1, np.array([300, 500, 200, 100, 300, 600]), **options))
    (share, *_), median = st.estimation.shares(found), found.quantile(0.5)
    assert share.answered[2:] == pytest.approx(median.answered[2:])


def test_nobody_who_answered_has_no_share():
    found = surveyed(40.0)
    assert st.estimation.shares(found.estimate(np.array([0, 0, 0, 0, 0, 50]))) == []


def test_a_quantile_of_nobody_is_not_stated():
    """All 500 gave no answer: whatever the number that is estimated, it may be none."""
    for found in estimates(surveyed(1.0), 20, np.array([0, 0, 0, 0, 0, 500])):
        said = str(found.quantile(0.5))
        assert said.startswith("too few people to state it: ") or found.quantile(0.5).answered.low > 0
    assert said.endswith(", and it may be that nobody did")
    assert "people to state" not in str(next(estimates(surveyed(4.0), 1)).quantile(0.5))


LETTERS = st.labels("always", "never", "often", "sometimes")


@pytest.mark.parametrize("query", ["median", "prefix", "ranges"])
def test_labels_in_the_order_of_the_alphabet_have_no_quantiles(query):
    mechanism = st.Mechanism.of(st.published.randomised_response(4, 1.0), st.histogram(LETTERS), 1.0)
    found = mechanism.estimate(np.array([40, 30, 20, 10]))
    asked = {
        "median": lambda: found.quantile(0.5),
        "prefix": lambda: mechanism.estimate(np.array([40, 30, 20, 10]), "prefix"),
        "ranges": lambda: found.ask(st.all_range(4)),
    }
    with pytest.raises(
        ValueError, match=r"order of the alphabet .*always,never.* state the labels from first"
    ):
        asked[query]()


@pytest.mark.parametrize(
    "texts", [("never", "sometimes", "often", "always"), ("10-19", "20-29", "3-9", "other")]
)
def test_labels_in_an_order_have_quantiles(texts):
    n = len(texts)
    made = st.Mechanism.of(st.published.randomised_response(n, 1.0), st.histogram(st.labels(*texts)), 1.0)
    assert made.estimate(np.arange(10, 10 + n)).quantile(0.5).value in texts


def test_a_mechanism_for_prefixes_of_labels_knows_their_order():
    made = st.Mechanism.of(st.published.randomised_response(4, 1.0), st.prefix(LETTERS), 1.0)
    assert made.estimate(np.array([40, 30, 20, 10])).quantile(0.5).value in LETTERS.values.texts
