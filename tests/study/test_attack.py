"""What an attacker learns, against attackers that try; and caps on it, against a programme over all patterns."""

import itertools
import math

import cvxpy as cp
import numpy as np
import pytest

import stratagem as st
from commands import plain, run, run_json
from stratagem.bounds.constrained import limited_bound
from stratagem.estimators import estimator
from stratagem.mechanism.mechanism import Mechanism
from stratagem.report.page import report_saved
from stratagem.solvers.limited import search_capped
from stratagem.strategies import BloomFilters, MatrixStrategy, UnaryEncoding
from stratagem.study import attacks
from stratagem.study import capped as study
from stratagem.study import frontier as frontiers
from stratagem.study.capped import FREE


def capped(workload, epsilon, guess, **options):
    return st.optimise(workload, epsilon, constraints=[st.GuessCap(guess)], **options)


def drawn(reports, n, seed):
    Q = np.random.default_rng(seed).uniform(1, 3, (reports, n))
    return MatrixStrategy(Q / Q.sum(axis=0))


STRATEGIES = {
    "two-level": lambda: st.optimise(st.prefix(6), 1.0).strategy,
    "matrix": lambda: drawn(7, 5, 3),
    "orbit": lambda: st.optimise(st.all_range(12), 1.0, st.solvers.Orbit()).strategy,
    "unary": lambda: UnaryEncoding(5, 0.5, 0.2),
}


@pytest.mark.parametrize("kind", STRATEGIES)
def test_the_best_guess_and_the_advantage_are_those_of_the_matrix(kind):
    strategy = STRATEGIES[kind]()
    Q, found = strategy.dense().matrix, st.study.attack(strategy)
    n = Q.shape[1]
    right = Q.max(axis=1).sum() / n
    exact = kind in ("two-level", "matrix")
    assert right * (1 - 1e-9) <= found.guess <= right * ((1 + 1e-9) if exact else 1.4)
    apart = max(np.abs(Q[:, u] - Q[:, v]).sum() / 2 for u, v in itertools.combinations(range(n), 2))
    assert found.advantage == pytest.approx(apart)
    assert found.epsilon == pytest.approx(strategy.epsilon)


@pytest.mark.parametrize("kind", STRATEGIES)
def test_no_test_is_above_the_curve_and_the_curve_is_reached(kind):
    """2,000 random tests of one type against another; the likelihood ratio tests are the corners."""
    strategy = STRATEGIES[kind]()
    Q, rng = strategy.dense().matrix, np.random.default_rng(4)
    curve = st.study.roc(strategy, 0, 3)
    assert (np.diff(curve, axis=0) >= 0).all()
    assert curve[-1] == pytest.approx([1, 1])
    accepted = rng.random((2000, len(Q)))
    alarms, detections = accepted @ Q[:, 3], accepted @ Q[:, 0]
    assert (detections <= np.interp(alarms, *curve.T) + 1e-12).all()
    widest = st.study.attack(strategy)
    assert (curve[:, 1] - curve[:, 0]).max() <= widest.advantage * (1 + 1e-9)
    assert (curve[:, 1] <= np.interp(curve[:, 0], *np.array(widest.roc).T) + 1e-9).all()


def test_the_control_a_curve_of_the_wrong_pair_is_beaten():
    strategy = STRATEGIES["matrix"]()
    right, wrong = st.study.roc(strategy, 0, 3), st.study.roc(strategy, 0, 0)
    assert (right[:, 1] > np.interp(right[:, 0], *wrong.T) + 1e-3).any()


def test_an_attacker_who_guesses_is_right_as_often_as_it_says():
    """100,000 users of random types; six standard errors are exceeded with probability 2e-9."""
    strategy, rng = STRATEGIES["matrix"](), np.random.default_rng(5)
    types = rng.integers(0, 5, 100_000)
    guesses = strategy.matrix.argmax(axis=1)[strategy.randomise(types, rng)]
    share, claimed = float((guesses == types).mean()), st.study.attack(strategy).guess
    spread = math.sqrt(claimed * (1 - claimed) / 100_000)
    assert abs(share - claimed) < 6 * spread
    assert abs(share - 1 / 5) > 6 * spread


def test_of_a_survey_the_guess_is_that_of_the_answers_that_a_report_is_about(tmp_path, capsys):
    """Over all 144 combinations it is 1.3 %; of one of 4 values it is that of randomised response."""
    survey = st.Survey("hours=36,drinks=4").table("hours").table("drinks")
    parts = [(0, st.published.randomised_response(36, 1.0)), (1, st.published.randomised_response(4, 1.0))]
    asked = [st.strategies.SurveyPart((place,), strategy, 0.5) for place, strategy in parts]
    made = Mechanism.of(st.strategies.SurveyStrategy((36, 4), tuple(asked)), survey.workload, 1.0)
    found = st.study.attack(made.strategy, made.domain.names)
    right = math.e / (math.e + 3)
    assert (found.part.values, found.part.about) == (4, "drinks")
    assert found.part.guess == pytest.approx(right, rel=1e-6)
    assert found.guess == pytest.approx(made.strategy.guess)
    path = made.save(tmp_path / "survey.ldp.json")
    told = run_json(capsys, "inspect", path)
    assert (told["best_guess"], told["guess_without_report"]) == (found.guess, 1 / 144)
    assert (told["part"]["about"], told["part"]["best_guess"]) == ("drinks", found.part.guess)
    said = (
        "one of 4 equally likely answers to drinks is right with probability at most 47.6 % with the report"
    )
    assert said in plain(run(capsys, "inspect", path)[1])
    page = report_saved(tmp_path / "page.html", made, seconds=5).read_text("utf-8").replace("\xa0", " ")
    assert "asked about drinks: at most 47.6 % with the report, 25 % without" in page
    assert "part" not in st.study.attack(made.strategy.parts[1].strategy).record()


def optimum(workload, epsilon, guess):
    """Return the least tr(M^-1 V) over all 2^n patterns under the cap."""
    V, n, E = workload.gram(), workload.domain_size, math.exp(epsilon)
    B = np.array(list(itertools.product([0, 1], repeat=n)), dtype=float)
    S = 1 + (E - 1) * B
    theta = cp.Variable(len(B), nonneg=True)
    M = sum(theta[y] * np.outer(S[y], S[y]) / S[y].sum() for y in range(len(B)))
    F = np.linalg.cholesky(V)
    cost = sum(cp.matrix_frac(F[:, j], M) for j in range(n))
    limits = [S.T @ theta == 1, S.max(axis=1) @ theta <= n * guess]
    return cp.Problem(cp.Minimize(cost), limits).solve(solver=cp.CLARABEL)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("share", [0.8, 0.4])
@pytest.mark.parametrize(
    "workload", [st.histogram(5), st.prefix(5), st.all_range(4)], ids=["histogram", "prefix", "ranges"]
)
def test_a_cap_costs_what_the_programme_over_all_patterns_says(workload, share):
    n, epsilon = workload.domain_size, 1.0
    guess = (1 + share * (st.study.attack(st.optimise(workload, epsilon).strategy).guess * n - 1)) / n
    least = optimum(workload, epsilon, guess)
    *_, found = search_capped(workload.gram(), epsilon, guess, 2, np.random.default_rng(1))
    assert st.study.attack(found).guess <= guess * (1 + 1e-12)
    assert least * (1 - 1e-5) <= estimator(found).objective(workload) <= 1.01 * least
    bound = limited_bound(workload, epsilon, guess=(n * guess - 1) / math.expm1(epsilon))
    assert 0.85 * least <= bound <= least * (1 + 1e-6)


def test_the_control_a_bound_for_a_stricter_cap_is_above_the_optimum():
    workload = st.histogram(5)
    assert limited_bound(workload, 1.0, guess=0.2) > optimum(workload, 1.0, (1 + 0.3 * math.expm1(1.0)) / 5)


@pytest.fixture(scope="module")
def frontier():
    return st.study.guess_frontier(st.histogram(8), 1.0)


@pytest.mark.exhaustive
def test_a_frontier_rises_as_the_cap_falls_and_stays_near_its_bound(frontier, tmp_path):
    designs = frontier.solutions
    assert len(designs) == frontiers.POINTS
    assert designs[0].objective == designs[0].others[FREE].objective
    for one, two in itertools.pairwise(designs):
        assert two.strategy.guess < one.strategy.guess
        assert one.objective < two.objective
    assert all(0 <= one.gap + 1e-12 < 0.01 for one in designs)
    assert all(one.strategy.guess <= one.problem.constraints[0].guess * (1 + 1e-9) for one in designs)
    assert len(frontier.table().rows) == len(designs)
    frontier.plot(tmp_path / "frontier.png")
    assert (tmp_path / "frontier.png").stat().st_size > 5000


@pytest.mark.exhaustive
def test_a_design_is_a_mechanism_and_says_what_it_costs(tmp_path):
    design = capped(st.prefix(8), 1.0, 0.2)
    mechanism = design.mechanism(name="prefix")
    mechanism.save(tmp_path / "capped.ldp.json")
    again = st.load_mechanism(tmp_path / "capped.ldp.json")
    assert st.study.attack(again.strategy).guess <= 0.2 * (1 + 1e-6)
    assert estimator(again.strategy).objective(design.workload) == pytest.approx(design.objective, rel=1e-5)
    for words in ("with the report and the best attack", "The cap costs", "above the proven minimum"):
        assert words in str(design)


def test_a_cap_that_does_not_matter_changes_nothing():
    design = capped(st.histogram(4), 1.0, 0.9)
    assert design.objective == design.others[FREE].objective


def test_a_search_that_is_ended_keeps_the_best():
    def interrupted(_):
        raise KeyboardInterrupt

    kept = capped(st.prefix(6), 1.0, 0.23, on_step=interrupted)
    assert kept.strategy.guess <= 0.23


def test_no_protocol_is_said_to_be_guessed_less_than_it_is():
    """A Bloom filter of one bit a value: whoever trusts the only bit that is one is right less often than is said."""
    bloom = BloomFilters(np.eye(40, dtype=bool)[None], 0.6, 0.05)
    found = st.study.attack(bloom)
    assert found.guess > 0.6 * 0.95**39
    assert found.guess == pytest.approx(math.exp(bloom.epsilon) / (39 + math.exp(bloom.epsilon)))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "rows", [np.eye(4)[:1], np.ones((1, 4)), np.array([[1.0, 1, 0, 0, 0], [0, 0, 1, 1, 1]])]
)
def test_queries_of_low_rank_are_capped_too(rows):
    found = capped(rows, 1.0, 1.05 / rows.shape[1])
    assert found.strategy.guess <= 1.05 / rows.shape[1] * (1 + 1e-9)
    assert found.gap >= -1e-9


@pytest.mark.parametrize("guess", [math.nextafter(0.25, 1), 0.25 + 1e-15, 0.0, 0.25, 1.5, math.nan, "half"])
def test_a_cap_that_cannot_be_is_refused(guess):
    with pytest.raises(ValueError, match="the cap on the best guess is"):
        capped(st.prefix(4), 1.0, guess)


def test_too_many_values_are_refused(monkeypatch):
    monkeypatch.setattr(study, "LARGEST", 4)
    with pytest.raises(ValueError, match="designed for 3 to 4: use coarser"):
        capped(st.prefix(6), 1.0, 0.2)


def test_bad_types_of_a_test_are_refused():
    with pytest.raises(ValueError, match="a user type is 4"):
        st.study.roc(st.published.randomised_response(4, 1.0), 0, 4)


@pytest.mark.parametrize("kind", ["two-level", "matrix"])
def test_the_best_guess_from_several_reports_is_that_of_all_ways_in_which_they_may_come(kind):
    strategy = STRATEGIES[kind]()
    Q = strategy.dense().matrix
    ways = itertools.product(range(len(Q)), repeat=3)
    every = sum(Q[list(outputs)].prod(axis=0).max() for outputs in ways) / Q.shape[1]
    assert attacks.guess_of_several(strategy, 3) == pytest.approx(every, rel=1e-12)
    assert attacks.guess_of_several(strategy, 1) == pytest.approx(strategy.guess, rel=1e-12)


@pytest.mark.parametrize("reports", [1, 2, 3])
def test_where_the_ways_are_too_many_a_guess_has_a_bound(monkeypatch, reports):
    strategy = STRATEGIES["matrix"]()
    exact = attacks.guess_of_several(strategy, reports)
    monkeypatch.setattr(attacks, "MOST", 1)
    odds = math.exp(reports * strategy.epsilon) / 4
    assert exact < attacks.guess_of_several(strategy, reports) == pytest.approx(odds / (1 + odds), rel=1e-9)


def test_what_lists_no_outputs_has_the_bound_too():
    strategy = STRATEGIES["unary"]()
    found = attacks.Revealed.of(strategy, None, 100, 1e-6)
    assert strategy.guess < found.guess <= 1
