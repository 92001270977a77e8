"""Estimates of a survey: every table by itself, one answer a cell, errors as stated."""

import pickle

import numpy as np
import pytest

import stratagem as st
from stratagem.estimation.estimation import SurveyEstimate
from stratagem.estimators import UnsupportedWorkloadError, estimator
from stratagem.strategies import SurveyPart, SurveyStrategy

DOMAIN = {"age": 9, "region": 4, "income": 5, "smokes": 2}
ASKED = (
    st.Survey(DOMAIN).prefix("age").table("region", "income").table("region").mean("income").table("smokes")
)
WORKLOAD = ASKED.workload


def strategy(epsilon=1.0):
    """Return three parts, made without a search so that the tests are quick."""
    made = (((0,), 9, 0.3), ((1, 2), 20, 0.5), ((3,), 2, 0.2))
    parts = [SurveyPart(a, st.published.randomised_response(n, epsilon), s) for a, n, s in made]
    return SurveyStrategy(tuple(DOMAIN.values()), tuple(parts))


def people(rng, N):
    shares = [rng.dirichlet(np.ones(size)) for size in DOMAIN.values()]
    return np.stack([rng.choice(len(one), N, p=one) for one in shares], axis=1)


@pytest.fixture(scope="module")
def collected():
    rng = np.random.default_rng(3)
    users, Q = people(rng, 20_000), strategy()
    counts = np.bincount(Q.randomise(users, rng), minlength=Q.outputs)
    return users, counts


@pytest.mark.parametrize("method", ["unbiased", "recommended", "maximum-entropy"])
def test_tables_are_processed_one_by_one(collected, method):
    users, counts = collected
    found = st.estimate(strategy(), counts, WORKLOAD, method=method, base=WORKLOAD)
    assert isinstance(found, SurveyEstimate)
    assert found.users == len(users)
    table = found.marginal("region", "income").answers.reshape(4, 5)
    assert np.allclose(found.marginal("region").answers, table.sum(axis=1), atol=1e-4)
    assert found["region = 2"].answer == pytest.approx(table[2].sum(), abs=1e-4)
    if method != "unbiased":
        assert table.min() >= -1e-6
        assert table.sum() == pytest.approx(len(users))
        assert not found.impossible.answers
    truth = WORKLOAD.answer_users(users)
    assert (np.abs(found.answers - truth) <= 5 * found.standard_errors + 1e-6).all()
    assert (found.low <= found.high).all()
    again = pickle.loads(pickle.dumps(found))
    assert np.allclose(again.answers, found.answers)


def test_quantiles_and_shares(collected):
    users, counts = collected
    found = st.estimate(strategy(), counts, WORKLOAD, method="recommended", base=WORKLOAD)
    median = found.quantile(0.5, "age")
    assert median.low_bin <= np.median(users[:, 0]) <= median.high_bin
    shares = {one.label: one for one in st.estimation.shares(found)}
    known = [one for label, one in shares.items() if label.startswith("smokes")]
    assert sum(one.share for one in known) == pytest.approx(1, abs=1e-6)
    assert all(one.low <= one.share <= one.high for one in known)


def test_what_no_part_asks_is_refused(collected):
    found = st.estimate(strategy(), collected[1], WORKLOAD)
    with pytest.raises(UnsupportedWorkloadError, match="age, smokes together"):
        found.marginal("age", "smokes")
    with pytest.raises(ValueError, match="two parts"):
        found.covariance()
    population = st.estimate(strategy(), collected[1], WORKLOAD, about="population").covariance()
    assert population.shape == (36, 36)
    assert np.allclose(population, population.T)


def test_one_number_a_query_is_that_of_its_table(collected):
    found = st.estimate(strategy(), collected[1], WORKLOAD, simultaneous=True)
    some = found.some([3, 12, 30])
    assert np.allclose(some.answers, found.answers[[3, 12, 30]])
    assert np.allclose(some.low, found.low[[3, 12, 30]])
    assert found.table([12])[0].answer == pytest.approx(found.answers[12])


@pytest.mark.exhaustive
@pytest.mark.parametrize("about", ["users", "population"])
def test_errors_are_as_stated(about):
    """300 collections of 20,000 people. False alarms: less than once in 10^4 runs, by 4.5 standard errors of each
    ratio of variances (2/300)^(1/2) over 40 dependent queries, and by the binomial spread of coverage over 12,300
    intervals, taken as if only one in ten were independent."""
    rng, Q = np.random.default_rng(11), strategy(2.0)
    shares = [rng.dirichlet(np.ones(size)) for size in DOMAIN.values()]
    fixed = np.stack([rng.choice(len(one), 20_000, p=one) for one in shares], axis=1)
    spread, stated, held = [], [], []
    for _ in range(300):
        users = fixed
        if about == "population":
            users = np.stack([rng.choice(len(one), 20_000, p=one) for one in shares], axis=1)
        found = st.estimate(
            Q, np.bincount(Q.randomise(users, rng), minlength=Q.outputs), WORKLOAD, about=about
        )
        truth = WORKLOAD.answer_users(fixed) if about == "users" else _expected(shares)
        spread.append(np.square(found.answers - truth))
        stated.append(np.square(found.standard_errors))
        held.append((found.low <= truth) & (truth <= found.high))
    uncertain = np.mean(stated, axis=0) > 1
    ratio = np.mean(spread, axis=0)[uncertain] / np.mean(stated, axis=0)[uncertain]
    assert np.abs(ratio - 1).max() < 5 * np.sqrt(2 / 300)
    assert np.mean(ratio) == pytest.approx(1, abs=0.1)
    assert 0.94 <= np.mean(held, axis=0)[uncertain].mean() <= 0.965
    wrong = [np.square(Q.parts[0].share * one) for one in np.sqrt(stated)]
    assert np.mean(spread) / np.mean(wrong) > 2, "errors of a part by itself would be noticed"


@pytest.mark.exhaustive
@pytest.mark.parametrize("method", ["unbiased", "recommended"])
def test_intervals_of_those_who_answered_hold_where_two_of_five_gave_no_answer(method):
    """300 collections of 20,000 people, of whom 40 % state no income.

    False alarms: 2 % of coverage are 7 standard errors of 3,900 intervals, of which one in three is taken as
    independent; 4.4 standard errors of one query alone. The control takes shares of all for those of who answered.
    """
    income = st.bins("0:5000:1000", unit="euros", no_answer=True)
    domain = st.Domain(age=5, income=income, smokes=2)
    asked = st.Survey(domain).prefix("age").mean("income").prefix("income").table("smokes").workload
    made = (((0,), 5, 0.3), ((1,), 6, 0.5), ((2,), 2, 0.2))
    parts = [SurveyPart(a, st.published.randomised_response(n, 2.0), s) for a, n, s in made]
    found = st.Mechanism.of(SurveyStrategy(domain.sizes, tuple(parts)), asked, 2.0)
    rng = np.random.default_rng(14)
    chances = [(0.2, 0.2, 0.3, 0.2, 0.1), (0.1, 0.2, 0.1, 0.1, 0.1, 0.4), (0.8, 0.2)]
    users = np.stack([rng.choice(len(one), 20_000, p=one) for one in chances], axis=1)
    answered = (users[:, 1] < 5).sum()
    held, bins, control = [], [], []
    for _ in range(300):
        counts = np.bincount(found.strategy.randomise(users, rng), minlength=found.outputs)
        estimate = found.estimate(counts, method=method)
        truth = estimate.workload.answer_users(users)
        shares = st.estimation.shares(estimate)
        among = [answered if "income" in one.label else 20_000 for one in shares]
        true = np.array([truth[one.query] / many for one, many in zip(shares, among, strict=True)])
        low, high = (np.array([getattr(one, end) for one in shares]) for end in ("low", "high"))
        held.append((low <= true + 1e-9) & (true <= high + 1e-9))
        income_below = [
            k for k, one in enumerate(shares) if "income below" in one.label or "from 0 to" in one.label
        ]
        control.append([low[k] <= truth[shares[k].query] / 20_000 <= high[k] for k in income_below])
        median = estimate.quantile(0.5, "income")
        bins.append(median.low_bin <= 1 <= median.high_bin)
    assert np.mean(held, axis=0).min() >= 0.94 - 0.045
    known = np.all(held, axis=0)  # such as the share below the last edge
    assert 0.94 <= np.mean(held, axis=0)[~known].mean() <= 0.965
    assert np.mean(bins) >= 0.91
    assert np.mean(control) < 0.5


def _expected(shares):
    joint = shares[0]
    for one in shares[1:]:
        joint = np.multiply.outer(joint, one)
    return 20_000 * WORKLOAD.answer(joint.ravel())


def test_exact_variances_are_those_of_the_estimator(collected):
    users, counts = collected
    x = np.bincount(strategy().cells((0, 1, 2, 3), users), minlength=360)
    exact = estimator(strategy()).variances(WORKLOAD, x)
    seen = np.square(st.estimate(strategy(), counts, WORKLOAD).standard_errors)
    assert np.allclose(seen, exact, rtol=0.2, atol=1)
