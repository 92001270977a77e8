"""Estimates from the outputs of many groups: unbiased exactly, errors as predicted, posteriors by Bayes' rule."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from count_mechanisms import CASES, case
from stratagem import counts
from stratagem.counts.exact import Whole

SILENT = ["uniform", "programmed, rows of zeros"]
"""Mechanisms whose outputs do not determine the counts of groups, however many."""
ESTIMABLE = [name for name in CASES if name not in SILENT]
REPETITIONS = 2000
GROUPS = 150
FALSE_ALARM = 5.0
"""Standard errors that a mean or a coverage of 2000 runs may be off: one false alarm in 1.7 million tests,
and the seeds are fixed."""


def statistics(n):
    """Return values f of several statistics (q, n+1)."""
    j = np.arange(n + 1)
    return np.vstack([j, j**2, j >= n // 2, np.eye(n + 1)])


@pytest.mark.parametrize("name", ESTIMABLE)
def test_weights_are_unbiased_at_every_count(name):
    mechanism = case(name)
    f = statistics(mechanism.size)
    g = counts.unbiased_weights(mechanism, f)
    assert np.abs(g @ mechanism.matrix - f).max() < 1e-11 * np.abs(g).max()


@pytest.mark.parametrize("name", ESTIMABLE)
def test_the_variance_estimate_is_unbiased_at_every_count(name):
    """E[g^2 - s] = Var[g] at each count: for one group, hence for the sum over independent ones."""
    mechanism = case(name)
    P, f = mechanism.matrix, statistics(mechanism.size)
    g = counts.unbiased_weights(mechanism, f)
    estimated = (g**2 - counts.unbiased_weights(mechanism, f**2)) @ P
    true = np.array([[P[:, j] @ (row - f[k, j]) ** 2 for j in range(len(P))] for k, row in enumerate(g)])
    assert np.allclose(estimated, true, rtol=1e-8, atol=1e-10 * np.abs(g).max() ** 2)


@pytest.mark.parametrize("size", [1, 2, 9])
@pytest.mark.parametrize("alpha", ["1/3", "10/11"])
def test_the_geometric_weights_are_exact_fractions(size, alpha):
    """g(i) = i inside, -a/(1 - a) at 0, n + a/(1 - a) at n."""
    a, (cells, total) = Fraction(alpha), counts.geometric(size, alpha).whole()
    g = [-a / (1 - a), *range(1, size), size + a / (1 - a)]
    assert [sum(g * cells[:, j]) / total for j in range(size + 1)] == list(range(size + 1))
    found = counts.unbiased_weights(counts.geometric(size, alpha), np.arange(size + 1.0))
    assert found == pytest.approx([float(value) for value in g], rel=1e-13)


def test_the_geometric_weights_need_no_matrix():
    mechanism = counts.geometric(1_000_000, epsilon=0.1)
    groups = np.full(500, 250_000)
    found = counts.estimate(mechanism, mechanism.simulate(groups, np.random.default_rng(1)), "mean")
    a = np.exp(-0.1)
    assert found.standard_errors == pytest.approx(np.sqrt(2 * a / (1 - a) ** 2 / 500), rel=1e-3)
    assert abs(found.values - 250_000) < FALSE_ALARM * found.standard_errors


def populations(n):
    """Return the chances of the counts of groups: balanced, skewed, all alike at an edge."""
    return {
        "balanced": binom.pmf(np.arange(n + 1), n, 0.5),
        "skewed": binom.pmf(np.arange(n + 1), n, 0.1),
        "all alike": np.eye(n + 1)[0],
    }


def runs(mechanism, groups, seed):
    """Return outputs of many releases (REPETITIONS x GROUPS)."""
    outputs = mechanism.simulate(np.tile(groups, REPETITIONS), np.random.default_rng(seed))
    return outputs.reshape(REPETITIONS, -1)


def off(hits, chance):
    """Return by how many standard errors a share of hits differs from its chance."""
    return (np.mean(hits) - chance) / np.sqrt(chance * (1 - chance) / len(hits))


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", ["geometric", "explicit fair, odd", "table"])
@pytest.mark.parametrize("population", ["balanced", "skewed", "all alike"])
def test_totals_are_covered_as_often_as_promised(name, population):
    """Of 2000 intervals of 90% about given groups; those of a third of the width must miss too often."""
    mechanism = case(name)
    n = mechanism.size
    groups = np.random.default_rng(3).choice(n + 1, GROUPS, p=populations(n)[population])
    found = [counts.estimate(mechanism, outputs, confidence=0.9) for outputs in runs(mechanism, groups, 4)]
    values = np.array([run.values for run in found])
    errors = np.array([run.standard_errors for run in found])
    P, f = mechanism.matrix, np.arange(n + 1)
    g = counts.unbiased_weights(mechanism, f)
    true = np.sqrt((g**2 @ P - f**2)[groups].sum())
    assert abs(values.mean() - groups.sum()) < FALSE_ALARM * true / np.sqrt(REPETITIONS)
    assert np.mean(errors**2) == pytest.approx(true**2, rel=0.05)
    covered = [run.low <= groups.sum() <= run.high for run in found]
    assert abs(off(covered, 0.9)) < FALSE_ALARM
    narrow = np.abs(values - groups.sum()) < (np.array([run.high for run in found]) - values) / 3
    assert abs(off(narrow, 0.9)) > FALSE_ALARM


def test_a_wrong_alpha_is_seen():
    """The negative control: outputs of alpha 0.8 read as those of 0.9 miss the total of groups at the edge."""
    groups = np.zeros(GROUPS, dtype=int)
    outputs = runs(counts.geometric(8, 0.8), groups, 5)
    covered = [
        run.low <= 0 <= run.high
        for run in (counts.estimate(case("geometric"), row, confidence=0.9) for row in outputs)
    ]
    assert off(covered, 0.9) < -FALSE_ALARM


def test_intervals_about_a_population_cover_its_mean():
    """Groups are drawn anew in every run; intervals about the groups alone are too narrow for that."""
    mechanism, rng = counts.geometric(8, 0.5), np.random.default_rng(6)
    groups = rng.binomial(8, 0.3, (REPETITIONS, GROUPS))
    outputs = mechanism.simulate(groups.ravel(), rng).reshape(groups.shape)
    hits = {
        about: [
            run.low <= 2.4 <= run.high
            for run in (counts.estimate(mechanism, row, "mean", about=about) for row in outputs)
        ]
        for about in ("population", "groups")
    }
    assert abs(off(hits["population"], 0.95)) < FALSE_ALARM
    assert off(hits["groups"], 0.95) < -FALSE_ALARM


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["geometric, by epsilon", "explicit fair, odd", "table"])
def test_histograms_solve_the_matrix_and_are_off_by_their_standard_errors(name):
    mechanism, n = case(name), case(name).size
    groups = np.random.default_rng(7).binomial(n, 0.4, GROUPS)
    h = np.bincount(groups, minlength=n + 1)
    outputs = runs(mechanism, groups, 8)
    found = [counts.estimate(mechanism, row, "histogram") for row in outputs]
    tally = np.bincount(outputs[0], minlength=n + 1)
    assert found[0].values == pytest.approx(np.linalg.solve(mechanism.matrix, tally), abs=1e-6)
    assert found[0].values.sum() == pytest.approx(GROUPS)
    values = np.array([run.values for run in found])
    inverse = np.linalg.inv(mechanism.matrix)
    covariance = inverse @ np.diag(mechanism.matrix @ h) @ inverse.T - np.diag(h)
    true = np.sqrt(np.diag(covariance))
    assert (np.abs(values.mean(axis=0) - h) < FALSE_ALARM * true / np.sqrt(REPETITIONS)).all()
    # a variance of 2000 nearly normal values has relative spread sqrt(2/2000) = 0.032
    assert np.allclose(values.var(axis=0), true**2, rtol=FALSE_ALARM * np.sqrt(2 / REPETITIONS))
    assert np.mean([run.standard_errors**2 for run in found], axis=0) == pytest.approx(true**2, rel=0.05)


def test_the_mean_is_the_total_by_the_groups():
    outputs = [0, 3, 8, 8, 1]
    total, mean, own = (
        counts.estimate(case("geometric"), outputs, statistic)
        for statistic in ("total", "mean", np.arange(9))
    )
    assert (mean.values, mean.standard_errors) == (total.values / 5, total.standard_errors / 5)
    assert (own.values, own.low, own.high) == (total.values, total.low, total.high)
    assert total.low < total.values < total.high


@pytest.mark.parametrize("name", SILENT)
@pytest.mark.parametrize("statistic", ["total", "histogram"])
def test_what_the_outputs_do_not_determine_is_refused(name, statistic):
    with pytest.raises(ValueError, match="no unbiased estimate of this exists") as error:
        counts.estimate(case(name), [0, 1, 2], statistic)
    assert "\n" not in str(error.value)


def test_a_singular_matrix_still_answers_what_it_determines():
    """Outputs 1 and 2 are one and the same: the total of 0, 1 (mixed) and 2 is known, the histogram is not."""
    cells = np.array([[6, 4, 2], [1, 2, 3], [1, 2, 3]], dtype=object)
    mechanism = counts.CountTable(2, Fraction(1, 2), Whole(cells, 8))
    g = counts.unbiased_weights(mechanism, np.arange(3.0))
    assert g == pytest.approx([-1, 3, 3])
    assert counts.estimate(mechanism, [0, 1, 2], about="population").values == pytest.approx(5)
    with pytest.raises(ValueError, match="but not its error"):
        counts.estimate(mechanism, [0, 1, 2])
    with pytest.raises(ValueError, match="no unbiased estimate"):
        counts.estimate(mechanism, [0, 1, 2], "histogram")


@pytest.mark.parametrize(
    ("outputs", "options", "words"),
    [
        ([], {}, "no outputs"),
        ([0, 9], {}, "outputs must be"),
        ([0, -1], {}, "outputs must be"),
        ([0.5], {}, "outputs must be"),
        ([0, 1], {"statistic": "median"}, "median"),
        ([0, 1], {"statistic": [1, 2, 3]}, "each of the counts 0 to 8"),
        ([0, 1], {"statistic": [np.nan] * 9}, "finite"),
        ([0, 1], {"statistic": [["a"] * 9]}, "finite"),
        ([0, 1], {"confidence": 1.0}, "confidence"),
        ([0, 1], {"about": "users"}, "groups or population"),
        ([0], {"about": "population"}, "one group"),
    ],
)
def test_wrong_input_is_refused(outputs, options, words):
    with pytest.raises(ValueError, match=words) as error:
        counts.estimate(case("geometric"), outputs, **options)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["geometric", "table"])
def test_weights_of_a_wrong_statistic_are_refused(name):
    assert (counts.unbiased_weights(case(name), "total") == counts.unbiased_weights(case(name), "mean")).all()
    with pytest.raises(ValueError, match="each of the counts"):
        counts.unbiased_weights(case(name), [1, 2, 3])


def test_a_histogram_that_would_be_huge_is_refused():
    with pytest.raises(ValueError, match="huge"):
        counts.estimate(counts.geometric(1_000_000, 0.5), [0, 1], "histogram")


@pytest.mark.parametrize("name", CASES)
def test_posteriors_follow_from_the_matrix(name):
    mechanism = case(name)
    n = mechanism.size
    for prior in (None, np.arange(n + 1), np.eye(n + 1)[1]):
        weights = np.ones(n + 1) if prior is None else prior
        for i in range(n + 1):
            joint = weights * mechanism.matrix[i]
            if joint.sum() == 0:
                continue
            found = counts.posterior(mechanism, i, prior)
            assert found.probabilities == pytest.approx(joint / joint.sum(), abs=1e-12)
            assert found.mean == pytest.approx(joint @ np.arange(n + 1) / joint.sum())
            assert joint[found.mode] == pytest.approx(joint.max())


def test_posteriors_of_a_million_people_need_no_matrix():
    n = 1_000_000
    prior = binom.pmf(np.arange(n + 1), n, 0.3)
    found = counts.posterior(counts.explicit_fair(n, epsilon=1.0), 300_500, prior)
    assert 300_000 < found.mean < 300_500
    assert found.probabilities.sum() == pytest.approx(1)


def test_a_posterior_far_from_the_prior_does_not_vanish():
    """alpha^200 = 1e-2000 is no double, but the ratio of two counts is."""
    found = counts.posterior(
        counts.geometric(300, Fraction(1, 10**10)), 250, np.eye(301)[49] + np.eye(301)[50]
    )
    assert found.mode == 50
    assert found.probabilities[49] == pytest.approx(1e-10)


@pytest.mark.parametrize(
    ("output", "prior", "words"),
    [
        (9, None, "whole number from 0 to 8"),
        (-1, None, "whole number from 0 to 8"),
        (1.5, None, "whole number from 0 to 8"),
        (1, [1, 2], "9 weights"),
        (1, [0] * 9, "9 weights"),
        (1, [-1] * 9, "9 weights"),
    ],
)
def test_a_wrong_output_or_prior_is_refused(output, prior, words):
    with pytest.raises(ValueError, match=words):
        counts.posterior(case("geometric"), output, prior)


def test_an_output_that_the_mechanism_never_makes_is_refused():
    cells = np.array([[1, 1], [0, 0]], dtype=object)
    never = counts.CountTable(1, Fraction(1, 2), Whole(cells, 1))
    with pytest.raises(ValueError, match="cannot come from any count"):
        counts.posterior(never, 1)


@pytest.mark.parametrize("scale", [1e308, 5e-324])
def test_weights_of_any_size_are_weights(scale):
    found = counts.posterior(counts.geometric(4, 0.5), 3, [scale] * 5)
    np.testing.assert_array_equal(
        found.probabilities, counts.posterior(counts.geometric(4, 0.5), 3).probabilities
    )
