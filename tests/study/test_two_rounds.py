"""Two rounds: what both answer together, against dense algebra and against every outcome of four people."""

import itertools

import numpy as np
import pytest

import stratagem as st
from stratagem.bounds.formulas import best_spread, spread
from stratagem.domain import Attribute, Codes
from stratagem.estimators.best_linear import BestLinear
from stratagem.mechanism.mechanism import Mechanism
from stratagem.study.two_rounds import _starts, advice, learned, numeric
from stratagem.workloads.merged import Spread, with_merged
from stratagem.workloads.naming import Naming

STARTS = [0, 1, 2]
MERGED = np.array([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1]])
X = np.array([1, 2, 0, 1])
"""Four people of four types; the last two types are one merged bin."""


def pair(p=(0.5, 0.3, 0.2)):
    first = Mechanism.of(st.published.randomised_response(4, 1.0), st.prefix(4), 1.0)
    merged = st.prefix(st.bins([0, 1, 2, 4]))
    return first, Mechanism.of(st.published.randomised_response(3, 1.0), merged, 1.0, prior=np.array(p))


def informed(first, second, one, two, trust=1.0):
    """Return G (I1 + I2)^-1 (I1 x1 + I2 x2) as a matrix on counts, I1 times `trust`; and the chances of reports."""
    p = MERGED.T @ (second.prior / MERGED.sum(axis=1))
    N = one + two
    Q = [first.strategy.dense().matrix, second.strategy.dense().matrix @ MERGED]
    scores = [(rows / (rows @ p)[:, None]).T for rows in Q]
    information = [users * A @ rows for users, A, rows in zip((one, two), scores, Q, strict=True)]
    weights = np.linalg.inv(trust * information[0] + information[1])
    A = MERGED @ weights @ np.hstack([trust * N * scores[0], N * scores[1]])
    return A, np.vstack([one / N * Q[0], two / N * Q[1]])


def outcomes(first, second):
    """Yield the probability and both counts of every deal of two of the four people to each round."""
    types = np.repeat(np.arange(4), X)
    one, two = first.strategy.dense().matrix, second.strategy.dense().matrix @ MERGED
    deals = list(itertools.combinations(range(4), 2))
    for deal in deals:
        told, asked = types[list(deal)], np.delete(types, deal)
        for a, b in itertools.product(
            itertools.product(range(4), repeat=2), itertools.product(range(3), repeat=2)
        ):
            chance = np.prod(one[list(a), told]) * np.prod(two[list(b), asked]) / len(deals)
            yield chance, np.bincount(a, minlength=4), np.bincount(b, minlength=3)


@pytest.mark.exhaustive
def test_every_outcome_of_four_people_has_the_true_mean_and_at_most_the_stated_covariance():
    """The stated covariance is that of people who draw their round; a deal into two halves takes the rest off."""
    first, second = pair()
    chances, answers, stated = [], [], []
    for chance, one, two in outcomes(first, second):
        found = st.study.combine(first, one, second, two, st.histogram(3), pooled=True)
        chances.append(chance)
        answers.append(found.answers)
        stated.append(found.covariance())
    mean = np.average(answers, axis=0, weights=chances)
    assert sum(chances) == pytest.approx(1)
    assert mean == pytest.approx(MERGED @ X)
    covariance = np.einsum("r,ri,rj->ij", chances, answers - mean, answers - mean)
    A, Q = informed(first, second, 2, 2)
    apart = 2 * (A[:, :4] @ Q[:4] - A[:, 4:] @ Q[4:])
    both = (apart @ X)[:, None] * (apart @ X) - (apart * X) @ apart.T
    assert np.average(stated, axis=0, weights=chances) - covariance == pytest.approx(both / 4 / 3)
    assert both.any()


def test_estimates_are_combined_by_information():
    first, second = pair()
    one, two = np.array([900, 500, 300, 300]), np.array([3000, 1500, 1500])
    A, _ = informed(first, second, 2000, 6000)
    found = st.study.combine(first, one, second, two, pooled=True)
    assert found.answers == pytest.approx(np.cumsum(A @ np.concatenate([one, two])))
    assert found.users == 8000
    assert (found.unbiased, found.bias[:41]) == (False, "biased if these first reports chose the b")


@pytest.mark.parametrize("trust", [0.01, 0.3, 3.0])
def test_the_control_other_weights_have_a_larger_variance(trust):
    first, second = pair()
    p = MERGED.T @ (second.prior / MERGED.sum(axis=1))

    def variance(A, Q):
        assert A @ Q == pytest.approx(MERGED)
        return np.sum(np.square(A) @ (Q @ p))

    assert variance(*informed(first, second, 2000, 6000, trust)) > 1.003 * variance(
        *informed(first, second, 2000, 6000)
    )


@pytest.mark.exhaustive
def test_errors_are_as_stated():
    """2,000 collections: five standard errors of the mean square are exceeded with probability 6e-7."""
    first, second = pair()
    x, rng, squares, stated = np.array([1000, 500, 300, 200]), np.random.default_rng(7), [], []
    for _ in range(2000):
        told = rng.multivariate_hypergeometric(x, 400)
        one = first.strategy.histogram(told, rng)
        two = second.strategy.histogram(MERGED @ (x - told), rng)
        found = st.study.combine(first, one, second, two, pooled=True)
        squares.append(np.square(found.answers - np.cumsum(MERGED @ x)).sum())
        stated.append(np.square(found.standard_errors).sum())
    assert abs(np.mean(squares) - np.mean(stated)) < 5 * np.std(squares) / np.sqrt(2000)


def chosen_edges(repetitions, seed):
    """Return errors in standard errors, pooled and from the second round alone, where the first round chose the edge.

    6,000 people of eight values alike, half of them in the first round; the edge is where its reports put the median.
    Edges below the true median are chosen where the first reports err upwards, so errors above it change their sign.
    """
    rng, x = np.random.default_rng(seed), np.full(8, 750)
    first = Mechanism.of(st.published.randomised_response(8, 1.0), st.prefix(8), 1.0)
    errors = {True: [], False: []}
    for _ in range(repetitions):
        told = rng.multivariate_hypergeometric(x, 3000)
        one = first.strategy.histogram(told, rng)
        edge = 1 + int(np.abs(first.estimate(one).answers[:-1] - 1500).argmin())
        if edge == 4:
            continue
        asked, prior = st.prefix(st.bins([0, edge, 8])), np.array([edge, 8 - edge]) / 8
        second = Mechanism.of(st.published.randomised_response(2, 1.0), asked, 1.0, prior=prior)
        two = second.strategy.histogram(np.add.reduceat(x - told, [0, edge]), rng)
        for pooled, people in ((True, x), (False, x - told)):
            found = st.study.combine(first, one, second, two, pooled=pooled)
            apart = (found.answers[0] - people[:edge].sum()) / found.standard_errors[0]
            errors[pooled].append(np.sign(4 - edge) * apart)
    return {pooled: np.array(some) for pooled, some in errors.items()}


@pytest.mark.exhaustive
def test_answers_at_edges_that_the_first_round_chose_are_unbiased():
    """A false alarm once in 16,000 (four standard errors); the control: pooled answers are off by half an error."""
    errors = chosen_edges(1200, seed=12)
    alone, pooled = errors[False], errors[True]
    assert abs(alone.mean()) < 4 * alone.std() / np.sqrt(len(alone))
    assert pooled.mean() > 4 * pooled.std() / np.sqrt(len(pooled))
    assert 0.3 < pooled.mean() < 0.7, "as is said of these answers"


def test_the_second_round_alone_answers_and_both_do_when_asked():
    first, second = pair()
    one, two = np.array([900, 500, 300, 300]), np.array([3000, 1500, 1500])
    alone, both = (st.study.combine(first, one, second, two, pooled=pooled) for pooled in (False, True))
    assert alone.answers == pytest.approx(second.estimate(two).answers)
    assert (alone.users, alone.unbiased, both.users, both.unbiased) == (6000, True, 8000, False)


def test_queries_that_end_within_merged_bins_are_even_and_said_to_be_biased():
    first, second = pair()
    counts = np.array([900, 500, 300, 300]), np.array([3000, 1500, 1500])
    merged = st.study.combine(first, counts[0], second, counts[1])
    fine = st.study.combine(first, counts[0], second, counts[1], st.prefix(4))
    assert fine.answers[[0, 1, 3]] == pytest.approx(merged.answers)
    assert fine.answers[2] == pytest.approx(merged.answers[1:].mean())
    assert fine.standard_errors[[0, 1, 3]] == pytest.approx(merged.standard_errors)
    assert fine.workload.exact.tolist() == [True, True, False, True]
    assert not fine.unbiased
    assert fine.bias.startswith("biased: 1 of 4 queries")
    assert (
        st.study.combine(first, counts[0], second, counts[1], st.histogram(4)).table()[0].label == "value = 0"
    )


def test_merged_queries_are_those_of_the_matrix():
    inner = st.all_range(7)
    spread = Spread(inner, (0, 2, 3), Naming.of(inner))
    A = np.repeat(np.eye(3), [2, 1, 4], axis=0) / np.array([2, 1, 4])
    W = inner.matrix() @ A
    assert spread.matrix() == pytest.approx(W)
    assert spread.gram() == pytest.approx(W.T @ W)
    assert spread.adjoint(np.eye(28)) == pytest.approx(W.T)
    assert spread.frobenius_squared == pytest.approx(np.sum(W**2))
    G = np.repeat(np.eye(3), [2, 1, 4], axis=1)
    assert spread.exact.tolist() == np.isclose(W @ G, inner.matrix()).all(axis=1).tolist()


@pytest.fixture(scope="module")
def surveyed():
    """A first round in 16 bins and "other", its counts, and the second round made from them."""
    asked = st.prefix(st.bins("0:160:10", other=True, unit="km"))
    first = st.optimise(asked, 1.0, seconds=2).mechanism()
    x = np.array([0, 0, 900, 1100, 1000, *[0] * 11, 50])
    counts = first.strategy.histogram(x, np.random.default_rng(3))
    return first, counts, st.study.second_round(first, counts, cells=6)


def test_bins_are_merged_where_few_are(surveyed):
    first, counts, second = surveyed
    p, (attribute,) = learned(first, counts), second.attributes
    assert p[1:6].sum() > 0.6 > 0.4 > p[6:].sum()
    edges = set(attribute.values.edges)
    assert attribute.values.edges[-1] == "other"
    assert edges < set(first.attributes[0].values.edges)
    assert {"20", "30", "40", "50"} & edges
    assert attribute.unit == "km"
    assert (second.epsilon, second.domain.names) == (first.epsilon, first.domain.names)
    found = st.study.combine(first, counts, second, np.ones(second.outputs))
    assert found.quantile(0.5).attribute.unit == "km"
    fine = st.study.combine(first, counts, second, np.ones(second.outputs), st.prefix(17))
    assert str(fine.quantile(0.5)) == str(found.quantile(0.5))
    assert "who gave another answer than 'other'" in str(fine.quantile(0.5))
    assert all("other" not in one.label for one in st.estimation.shares(fine))
    assert found.ask(st.histogram(second.domain)).answers.sum() == pytest.approx(found.users)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "values",
    [
        st.bins("0:80:10", no_answer=True).values,
        st.bins("0:80:10", other=True, no_answer=True).values,
        st.bins("2026-01-01:2026-09-01:1mo", no_answer=True, zone="Europe/Berlin").values,
        Codes(10, no_answer=True, others=True),
        Codes(9, no_answer=True),
    ],
    ids=str,
)
def test_no_answer_and_other_stay_apart_in_both_rounds(values):
    """300 of 1,000 people give no answer; merged bins keep them last, and no prefix counts them.

    Within five standard errors (false alarm 6e-7); as if all had answered is further away.
    """
    first = st.optimise(st.prefix(Attribute("x", values)), 4.0, seconds=1).mechanism()
    x, rng = np.zeros(values.size, dtype=int), np.random.default_rng(5)
    x[1:4], x[-1] = [300, 200, 200], 300
    counts = first.strategy.histogram(x, rng)
    second = st.study.second_round(first, counts, cells=3, seconds=1)
    merged = second.attributes[0].values
    assert merged.no_answer
    assert len(merged.outside) == len(values.outside)
    assert getattr(merged, "zone", "") == getattr(values, "zone", "")
    G = np.add.reduceat(x, _starts(first, second))
    last = st.study.combine(first, counts, second, second.strategy.histogram(G, rng)).table()[-1]
    assert abs(last.answer - 700) < 5 * last.standard_error < abs(last.answer - 1000)


@pytest.mark.parametrize(
    ("first", "words"),
    [
        (
            lambda: Mechanism.of(st.published.randomised_response(4, 1.0), st.histogram(4), 1.0),
            "make it for prefix or all-range",
        ),
        (
            lambda: Mechanism.of(st.published.randomised_response(2, 1.0), st.prefix(2), 1.0),
            "at least three bins",
        ),
        (
            lambda: Mechanism.of(
                st.published.randomised_response(4, 1.0), st.prefix(st.labels(*"abcd")), 1.0
            ),
            "4 labels, but two rounds merge",
        ),
        (
            lambda: Mechanism.of(
                st.published.randomised_response(4, 1.0), st.prefix(st.bins([0, 1, 2, 3, 5])), 1.0
            ),
            "has 4 outputs",
        ),
    ],
)
def test_what_cannot_be_a_first_round_is_refused(first, words):
    with pytest.raises(ValueError, match=words):
        st.study.second_round(first(), np.ones(3, dtype=int))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cells": 1}, "the number of merged bins is 1"),
        ({"cells": 5}, "the number of merged bins is 5"),
        ({"users": 0}, "the number of users is 0"),
        ({"users": "many"}, "the number of users is 'many'"),
    ],
)
def test_numbers_out_of_range_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        st.study.second_round(pair()[0], np.ones(4, dtype=int), **options)


def test_what_is_no_pair_is_refused():
    first, second = pair()
    with pytest.raises(ValueError, match="has 3 outputs"):
        st.study.combine(first, np.ones(4), second, np.ones(4))
    with pytest.raises(ValueError, match="not merged from those of the first"):
        st.study.combine(first, np.ones(4), first, np.ones(4))
    with pytest.raises(ValueError, match="not merged from those of the first"):
        st.study.combine(second, np.ones(3), first, np.ones(4))
    with pytest.raises(ValueError, match="about 5 values"):
        st.study.combine(first, np.ones(4), second, np.ones(3), st.prefix(5))
    with pytest.raises(ValueError, match="confidence"):
        st.study.combine(first, np.ones(4), second, np.ones(3), confidence=2.0)


@pytest.mark.parametrize("pooled", [False, True])
def test_counts_given_twice_are_refused(pooled):
    one, two = np.array([50, 20, 20, 10]), np.array([49, 21, 20, 10])
    made = Mechanism.of(st.published.randomised_response(4, 1.0), st.prefix(st.bins("0:4:1")), 1.0)
    with pytest.raises(ValueError, match="the same counts, so that reports would count twice"):
        st.study.combine(made, one, made, one, pooled=pooled)
    assert st.study.combine(made, one, made, two, pooled=pooled).users == (200 if pooled else 100)


def people(shape, bins, users):
    """Return how many of some people are in each of the bins (n,)."""
    rng = np.random.default_rng(1)
    if shape == "pay":
        places = np.minimum(rng.lognormal(np.log(0.05), 0.5, users), 1)
    elif shape == "spiky":
        places = np.where(rng.random(users) < 0.7, rng.choice([0.1, 0.25, 0.5], users), rng.random(users))
    else:
        places = rng.random(users)
    return np.histogram(places, bins, (0, 1))[0]


def one_round(first, x, repetitions, rng):
    """Return the squared error of one round of everybody, in the mean over the queries and collections."""
    W, scores, users = first.workload, BestLinear(first.strategy.dense(), None), x.sum()
    drawn = (first.strategy.histogram(x, rng).astype(float) for _ in range(repetitions))
    missed = [W.answer(scores.estimated_data(counts)) - W.answer(x) for counts in drawn]
    return np.mean(np.square(missed)) / users**2


def two_rounds(first, x, repetitions, rng):
    """Return the same of two rounds at the queries of the first, a fifth of the people in it; 40 second rounds each."""
    W, users, squares = first.workload, int(x.sum()), []
    for _ in range(repetitions):
        few = rng.multivariate_hypergeometric(x, round(users / 5))
        rest = users - int(few.sum())
        second = st.study.second_round(first, first.strategy.histogram(few, rng), users=rest, seconds=3)
        starts = _starts(first, second)
        asked = Spread(W, tuple(starts.tolist()), Naming.of(W, first.attributes))
        scores = BestLinear(second.strategy.dense(), second.prior)
        for _ in range(40):
            counts = second.strategy.histogram(np.add.reduceat(x - few, starts), rng).astype(float)
            missed = asked.answer(scores.estimated_data(counts)) / rest - W.answer(x) / users
            squares.append(np.mean(np.square(missed)))
    return np.mean(squares)


@pytest.mark.exhaustive
@pytest.mark.parametrize("epsilon", [1.0, 2.0])
@pytest.mark.parametrize("shape", ["pay", "spiky", "even"])
def test_errors_of_one_round_and_of_two_are_predicted(shape, epsilon):
    """Within 15 % of 40 first rounds with 40 second ones each, and of 800 rounds of everybody."""
    solution = st.optimise(st.prefix(32), epsilon, gap=0.02, seconds=5)
    (scale,), x = numeric(solution.workload, solution.strategy), people(shape, 32, 5000)
    found, rng, first = scale.gain(x, 5000, epsilon), np.random.default_rng(5), solution.mechanism()
    one, two = one_round(first, x, 800, rng), two_rounds(first, x, 40, rng)
    assert found.one == pytest.approx(one, rel=0.15)
    assert found.two == pytest.approx(two, rel=0.15)
    assert found.pays == (shape == "pay")
    assert (two < 0.6 * one) or not found.pays


@pytest.mark.parametrize(
    ("shape", "bins", "users", "pays"),
    [
        ("pay", 32, 5000, True),
        ("pay", 16, 200_000, True),
        ("spiky", 32, 5000, False),
        ("even", 32, 5000, False),
        ("even", 16, 200_000, False),
    ],
)
def test_two_rounds_are_advised_where_they_pay(shape, bins, users, pays):
    """The negative control: of even values evenly merged bins are as good in one round, so nothing is to be learned."""
    solution = st.optimise(st.prefix({"pay": st.bins(range(bins + 1))}), 1.0, gap=0.02, seconds=3)
    said = advice(solution, users, [people(shape, bins, users)])
    assert bool(said) == pays
    assert not pays or "Two rounds would cut the typical error of pay by " in said
    assert not pays or f"users={users - users // 5})" in said
    assert advice(solution, users, []) == ""


def test_people_who_leave_room_for_all_bins_are_asked_in_all():
    """Bins of equal shares were fewer, although there were people enough: those where few are were lost."""
    first = st.optimise(st.prefix(st.bins(range(9))), 1.0, gap=0.02, seconds=2).mechanism()
    counts = first.strategy.histogram(np.array([0, 50_000, 0, 0, 50_000, 0, 0, 0]), np.random.default_rng(1))
    assert st.study.second_round(first, counts, seconds=2).attributes == first.attributes


@pytest.mark.parametrize("p", [np.full(6, 1 / 6), np.array([0.3, 0.1, 0.2, 0.1, 0.2, 0.1])])
def test_what_is_predicted_of_merged_bins_is_the_closed_bound(p):
    W = st.prefix(6).matrix()
    values = np.linalg.svd(W @ (np.eye(6) - np.outer(p, np.ones(6))) @ np.diag(p**0.5), compute_uv=False)
    C = best_spread(W.T @ W, p, 1.0)
    assert np.trace(W @ C @ W.T) == pytest.approx(spread(6, 1.0) * values.sum() ** 2)
    assert C.sum(axis=0) == pytest.approx(np.zeros(6), abs=1e-9)


@pytest.fixture(scope="module")
def asked_together():
    """A first round of a survey: pay in 24 bins, a region; everybody's answers, and the counts of 4,000 reports."""
    survey = st.Survey({"pay": st.bins(range(25)), "region": st.labels("north", "east", "south")})
    survey = survey.prefix("pay").table("region")
    first = st.optimise(survey.workload, 1.0, seconds=4).mechanism()
    rng = np.random.default_rng(3)
    x = rng.multinomial(20_000, np.outer(people("pay", 24, 10_000), [5, 3, 2]).ravel() / 100_000)
    few = rng.multivariate_hypergeometric(x, 4000)
    return first, x, few, first.strategy.histogram(few, rng)


def test_a_survey_is_asked_again_with_merged_bins(asked_together):
    """Answers are within five standard errors (false alarm 6e-7 each); an attribute that is asked otherwise stays."""
    first, x, few, counts = asked_together
    second = st.study.second_round(first, counts, seconds=4)
    pay, region = second.attributes
    assert (second.epsilon, region) == (first.epsilon, first.attributes[1])
    assert pay.size <= 8
    assert {*pay.values.edges} < {*first.attributes[0].values.edges}
    starts = [first.attributes[0].values.edges.index(edge) for edge in pay.values.edges[:-1]]
    merged = np.add.reduceat((x - few).reshape(24, 3), starts, axis=0).ravel()
    found = second.estimate(second.strategy.histogram(merged, np.random.default_rng(4)))
    truth = st.Survey(second.domain).prefix("pay").table("region").workload.answer(merged)
    assert (np.abs(found.answers - truth) < 5 * found.standard_errors + 1e-6).all()
    assert found.unbiased


def test_a_question_counts_as_much_with_merged_bins():
    fine, half = (st.bins(range(0, 25, step)) for step in (1, 2))
    asked = st.kron([st.prefix({"pay": fine}), st.total({"region": 3})])
    found = with_merged(st.weighted(asked, 0.5), {"pay": Attribute("pay", half.values)})
    assert (found.queries, found.weight) == (12, pytest.approx(0.5 * 2**0.5))


def test_a_survey_without_bins_of_its_own_is_refused():
    survey = st.Survey("town=8,region=3").table("town").table("region")
    first = st.optimise(survey.workload, 1.0, seconds=3).mechanism()
    with pytest.raises(ValueError, match="no part of the survey asks for prefixes or ranges"):
        st.study.second_round(first, np.ones(first.outputs, dtype=int))
