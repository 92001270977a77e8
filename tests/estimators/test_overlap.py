"""Parts that share attributes: one estimate from the reports of all, whose numbers are those of the matrix."""

import numpy as np
import pytest

import stratagem as st
from overlaps import KINDS, SIZES, overlapping, responses
from stratagem.estimators import UnsupportedWorkloadError, estimator
from stratagem.estimators.best_linear import BestLinear
from stratagem.estimators.overlap import portions
from stratagem.estimators.survey import Surveyed
from stratagem.strategies import MatrixStrategy, SurveyPart, SurveyStrategy
from surveys import CELLS, PREFIX, survey

TABLES = survey(
    SIZES,
    ({"income": CELLS, "region": CELLS},),
    ({"region": CELLS, "education": PREFIX}, 2.0),
    ({"region": PREFIX}, 0.01),
    ({"age": CELLS},),
    ({"education": CELLS},),
    ({},),
)


def apart(strategy):
    """Return the estimator that answers every query by one part, as before parts were estimated together."""
    found = Surveyed(strategy)
    vars(found).update(overlaps={}, tables=found.alone)
    return found


@pytest.mark.sampled(3)
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 8.0])
@pytest.mark.parametrize("kind", KINDS)
def test_the_numbers_are_those_of_the_matrix(kind, epsilon, rng):
    strategy = overlapping(kind, epsilon)
    own, listed = estimator(strategy), BestLinear(strategy.dense())
    assert own.overlaps.keys() == {0, 1, 2}
    one, two = own.accuracy(TABLES), listed.accuracy(TABLES)
    assert one.objective == pytest.approx(two.objective, rel=1e-10)
    assert own.objective(TABLES) == pytest.approx(two.objective, rel=1e-10)
    assert np.allclose(one.per_type, two.per_type, rtol=1e-9)
    x = rng.integers(0, 50, 72)
    for data in (x, None):
        right = listed.variances(TABLES, data)
        assert np.allclose(own.variances(TABLES, data), right, rtol=1e-8, atol=1e-9 * right.max())
    bound, exact = np.asarray(own.largest(TABLES)), np.asarray(listed.largest(TABLES))
    assert (bound >= exact * (1 - 1e-9) - 1e-9).all()
    counts = strategy.histogram(x, rng)
    mine, theirs = own.evidence(counts), listed.evidence(counts)
    scale = np.sqrt(right.max() * x.sum())
    assert np.allclose(mine.answers(TABLES), theirs.answers(TABLES), rtol=1e-9, atol=1e-9 * scale)
    assert np.allclose(mine.prior_variances(TABLES), theirs.prior_variances(TABLES), rtol=1e-7)
    for about in ("users", "population"):
        found, right = mine.variances(TABLES, about), theirs.variances(TABLES, about)
        assert np.allclose(found[:-6], right[:-6], rtol=1e-7, atol=1e-9 * right.max()), "all about the region"
        assert max(found[-1], right[-1]) < 1e-4, "everybody is counted"
    found, right = (one.covariance(TABLES, "population") for one in (mine, theirs))
    assert np.allclose(found, right, rtol=1e-7, atol=1e-9 * np.abs(right).max())
    alone = mine.covariance(survey(SIZES, ({"region": CELLS, "education": CELLS},)))
    assert np.linalg.eigvalsh(alone).min() > -1e-6 * np.abs(alone).max()


@pytest.mark.parametrize("kind", KINDS)
def test_no_query_is_worse_than_by_its_best_part(kind):
    """At even shares: by Gauss and Markov. The queries that gain are a control: one part is not as good."""
    strategy = overlapping(kind)
    before, after = apart(strategy), estimator(strategy)
    assert after.objective(TABLES) < before.objective(TABLES) * 0.999
    one, two = before.variances(TABLES), after.variances(TABLES)
    assert (two <= one * (1 + 1e-9)).all()
    gains = two < 0.99 * one
    assert gains[: 4 * 3 + 3 * 2 + 3 - 1].all(), "all that is about the region, but how many people there are"
    assert not gains[-6:-3].any(), "the age shares nothing"


@pytest.mark.parametrize("kind", KINDS)
def test_what_parts_answer_adds_up_to_the_queries_and_to_their_cost(kind, rng):
    """A query less its mean is the sum of its portions, and its excess that of B_k/s_k, each by one part alone."""
    strategy = overlapping(kind)
    own = estimator(strategy)
    scores = own.overlaps[1]
    F = rng.standard_normal((strategy.parts[1].strategy.domain_size, 3))
    found, cells = scores.overlap.portions(scores.table, F), np.arange(strategy.domain_size)
    places = [strategy.cells(one.attributes, cells) for one in strategy.parts]
    both = zip(scores.overlap.numbers, found, strict=True)
    assert np.allclose(sum(one[places[k]] for k, one in both), (F - F.mean(axis=0))[places[1]], atol=1e-9)
    cost = 0.0
    answered = portions(own.overlaps, own.asked(TABLES))
    for k, asked in answered.items():
        part = strategy.parts[k]
        cost += estimator(part.strategy).objective(asked) / asked.scale / part.share
    in_overlap = [one for one in own.asked(TABLES) if one.part in own.overlaps]
    assert cost == pytest.approx(sum(own.tables[k].excess(one) for k, one, _ in in_overlap), rel=1e-8)
    assert answered.keys() == own.overlaps.keys()


def test_the_sums_over_what_tables_share_are_equal(rng):
    strategy = overlapping("columns")
    counts = strategy.histogram(rng.integers(0, 50, 72), rng)
    for found, equal in ((estimator(strategy), True), (apart(strategy), False)):
        evidence = found.evidence(counts)
        tables = [
            evidence.answers(survey(SIZES, (dict.fromkeys(names, CELLS),)))
            for names in (("income", "region"), ("region", "education"), ("region",))
        ]
        regions = tables[0].reshape(4, 3).sum(axis=0), tables[1].reshape(3, 2).sum(axis=1), tables[2]
        for one in regions[1:]:
            assert np.allclose(one, regions[0], rtol=0, atol=1e-9 * counts.sum()) == equal


def test_parts_that_hang_together_through_others_are_one_overlap():
    strategy = overlapping(attributes=((0, 1), (2, 3), (1, 2)), shares=(0.4, 0.3, 0.3))
    found = estimator(strategy).overlaps
    assert len({one.overlap for one in found.values()}) == 1
    workload = survey(SIZES, ({"income": CELLS, "region": CELLS},), ({"education": CELLS, "age": CELLS},))
    listed = BestLinear(strategy.dense())
    assert estimator(strategy).objective(workload) == pytest.approx(listed.objective(workload), rel=1e-10)


def test_two_overlaps_have_no_report_in_common(rng):
    strategy = overlapping(attributes=((0, 1), (1,), (2, 3), (3,)))
    workload = survey(SIZES, *(({name: CELLS},) for name in SIZES))
    counts = strategy.histogram(rng.integers(0, 50, 72), rng)
    mine, theirs = (one.evidence(counts) for one in (estimator(strategy), BestLinear(strategy.dense())))
    found, right = (one.covariance(workload, "population") for one in (mine, theirs))
    assert np.allclose(found, right, rtol=1e-7, atol=1e-9 * np.abs(right).max())


def test_what_a_part_does_not_tell_is_refused():
    told = MatrixStrategy(np.array([[0.7, 0.7, 0.3, 0.3] * 3, [0.3, 0.3, 0.7, 0.7] * 3]))
    parts = SurveyPart((0, 1), told, 0.5), SurveyPart((1,), responses(CELLS(4), 1.0), 0.5)
    strategy = SurveyStrategy((3, 4), parts)
    own, listed = estimator(strategy), BestLinear(strategy.dense())
    workload = survey({"a": 3, "b": 4}, ({"b": CELLS},))
    assert own.objective(workload) == pytest.approx(listed.objective(workload), rel=1e-10)
    assert own.objective(workload) < apart(strategy).objective(workload) * 0.99, (
        "it tells a sum of the others"
    )
    with pytest.raises(UnsupportedWorkloadError, match="that no report depends on"):
        own.check(survey({"a": 3, "b": 4}, ({"a": CELLS},)))


def test_tables_of_too_many_cells_are_estimated_by_themselves(monkeypatch):
    strategy = overlapping()
    assert estimator(strategy).objective(TABLES) < apart(strategy).objective(TABLES) * 0.999
    monkeypatch.setattr("stratagem.estimators.overlap.CELLS", 20)
    assert not estimator(strategy).overlaps
    assert estimator(strategy).objective(TABLES) == pytest.approx(apart(strategy).objective(TABLES))


def test_reports_that_no_part_makes_are_refused():
    never = MatrixStrategy(np.vstack([responses(CELLS(4), 1.0).dense().matrix, np.zeros((1, 4))]))
    strategy = SurveyStrategy(
        (3, 4), (SurveyPart((0, 1), responses(CELLS(12), 1.0), 0.5), SurveyPart((1,), never, 0.5))
    )
    counts = np.full(strategy.outputs, 5)
    with pytest.raises(ValueError, match="the strategy never makes it"):
        estimator(strategy).evidence(counts).variances(survey({"a": 3, "b": 4}, ({"b": CELLS},)))


@pytest.mark.exhaustive
def test_errors_are_as_stated():
    """400 collections of 4,000 people who stay the same. False alarms: once in 10^4 runs, by 5 standard errors of a
    ratio of variances, (2/400)^(1/2), of the largest of 22 queries. A control: errors by the best part are larger."""
    rng, strategy = np.random.default_rng(8), overlapping("columns", 2.0)
    people = np.stack([rng.choice(n, 4000, p=rng.dirichlet(np.ones(n))) for n in SIZES.values()], axis=1)
    x = np.bincount(strategy.cells((0, 1, 2, 3), people), minlength=72)
    truth, found = TABLES.answer(x), estimator(strategy)
    errors = []
    for _ in range(400):
        counts = np.bincount(strategy.randomise(people, rng), minlength=strategy.outputs)
        errors.append(found.evidence(counts).answers(TABLES) - truth)
    exact = found.variances(TABLES, x)
    seen = exact > 1e-6 * exact.max()
    ratio = np.square(errors).mean(axis=0)[seen] / exact[seen]
    assert np.abs(ratio - 1).max() < 5 * np.sqrt(2 / 400)
    assert (np.abs(np.mean(errors, axis=0))[seen] < 5 * np.sqrt(exact[seen] / 400)).all(), "unbiased"
    wrong = np.square(errors).mean(axis=0)[seen] / apart(strategy).variances(TABLES, x)[seen]
    assert np.abs(wrong - 1).max() > 5 * np.sqrt(2 / 400)


TWO = st.Survey({"income": 12, "region": 16, "education": 7})
FIVE = st.Survey({"age": 30, "region": 16, "income": 12, "smokes": 2, "education": 6})
STATED = {
    "two tables": (TWO.table("income", "region").table("region", "education").table("region"), 0.95),
    "five tables": (
        FIVE.prefix("age")
        .table("age", "smokes")
        .table("income", "region")
        .table("region", "education")
        .table("region", "smokes"),
        0.97,
    ),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", STATED)
def test_the_objective_that_is_stated_is_that_of_the_estimator(name):
    asked, ratio = STATED[name]
    solution = st.optimise(asked.workload, 1.0, seconds=90)  # five tables, on a busy machine
    strategy = solution.strategy
    assert isinstance(strategy, SurveyStrategy)
    assert len(estimator(strategy).overlaps) == len(strategy.parts)
    assert solution.objective == pytest.approx(estimator(strategy).objective(asked.workload), rel=1e-9)
    after, before = solution.objective, apart(strategy).objective(asked.workload)
    assert solution.lower_bound <= after < before
    assert after <= ratio * before
