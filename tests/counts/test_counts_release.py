"""Draws of count mechanisms: exact, and with randomness that never sees the count."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from count_mechanisms import CASES, case
from stratagem import counts
from stratagem.counts.sampling import (
    PRECISION,
    ClampedSampler,
    ColumnSampler,
    RankSampler,
    TwoSided,
    below,
    pseudo_random,
)
from tools import Counting

ALARM = 1e-7
"""False-alarm rate of each goodness-of-fit test, about 100 of them; the seeds are fixed."""


def stream(seed):
    """Return a source of reproducible bytes."""
    return pseudo_random(np.random.default_rng(seed))


def misfit(outputs, probabilities):
    """Return the p-value of Pearson's test, outputs expected less than five times pooled."""
    observed, expected = np.bincount(outputs, minlength=len(probabilities)), len(outputs) * probabilities
    rare = expected < 5
    observed = np.append(observed[~rare], observed[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    kept = expected > 0
    statistic = ((observed - expected)[kept] ** 2 / expected[kept]).sum()
    return chi2.sf(statistic, max(1, kept.sum() - 1))


def two_sided(alpha, x):
    """Return Pr[X = x], exactly."""
    return (1 - alpha) / (1 + alpha) * alpha ** abs(x)


def noise_of(mechanism):
    """Return all noise that a sampler may draw, with its exact probabilities."""
    sampler, a, n = mechanism.sampler(), mechanism.alpha, mechanism.size
    match sampler:
        case ClampedSampler():
            edge = 2**sampler.two_sided.bits
            inner = {x: two_sided(a, x) for x in range(1 - edge, edge)}
            return inner | {-edge: a**edge / (1 + a), edge: a**edge / (1 + a)}
        case RankSampler():
            weights = [a ** ((r + 1) // 2) for r in range(n + 1)]
            return {r: weight / sum(weights) for r, weight in enumerate(weights)}
    return {r: Fraction(1, n + 1) for r in range(n + 1)}


@pytest.mark.parametrize("name", [name for name in CASES if "programmed" not in name and name != "table"])
def test_noise_makes_exactly_the_matrix(name):
    """Every noise moves every count to an output; the probabilities add up to P as fractions."""
    mechanism = case(name)
    noise, whole = noise_of(mechanism), mechanism.whole()
    assert sum(noise.values()) == 1
    for j in range(mechanism.size + 1):
        found = [Fraction(0)] * (mechanism.size + 1)
        outputs = mechanism.sampler().outputs(np.full(len(noise), j), list(noise))
        for i, probability in zip(outputs.tolist(), noise.values(), strict=True):
            found[i] += probability
        assert found == [Fraction(number, whole.total) for number in whole.cells[:, j]]


@pytest.mark.parametrize("bits", [1, 2, 4])
@pytest.mark.parametrize("alpha", [Fraction(9, 10), Fraction(1, 7), Fraction(2, 3)])
def test_independent_digits_make_a_geometric_number(alpha, bits):
    chance = [alpha ** (2**k) / (1 + alpha ** (2**k)) for k in range(bits)]
    for digits in itertools.product((0, 1), repeat=bits):
        size = sum(digit << k for k, digit in enumerate(digits))
        product = Fraction(1)
        for digit, p in zip(digits, chance, strict=True):
            product *= p if digit else 1 - p
        assert product * (1 - alpha ** (2**bits)) == (1 - alpha) * alpha**size


@pytest.mark.parametrize(
    "alpha", [Fraction(9, 10), Fraction(1, 7), Fraction(1, 2**80), 1 - Fraction(1, 10**6)]
)
@pytest.mark.parametrize("precision", [8, 64, 128])
def test_chances_are_bracketed_by_neighbouring_numbers(alpha, precision):
    for beyond in (False, True):
        found = TwoSided(alpha, 5, beyond).chances(precision)
        exact = [alpha ** (2**k) / (1 + alpha ** (2**k)) for k in range(5)] + [alpha**32] * beyond
        for (low, high), chance in zip(found, exact, strict=True):
            assert low <= chance * 2**precision <= high <= low + 2


@pytest.mark.parametrize("ahead", range(3))
def test_a_tie_takes_more_bits_until_it_is_decided(ahead):
    """The first 64 (128, 256) places are those of the chance itself; only what follows decides."""
    noise = TwoSided(Fraction(9, 10), 3, beyond=True)
    chance = Fraction(9, 19)
    places = PRECISION << ahead + 1
    exact = chance * 2**places // 1
    for u, expected in ((exact - 1, True), (exact + 1, False)):
        raw = u.to_bytes(places // 8, "big")
        taken = iter(raw[PRECISION // 8 :])
        first = int.from_bytes(raw[: PRECISION // 8], "big")
        assert noise.decided(0, first, lambda size, t=taken: bytes(itertools.islice(t, size))) is expected
        assert not list(taken)


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 256, 257, 1000])
def test_numbers_below_a_limit_are_equally_likely(limit):
    """Every string of bytes is tried once: each number comes equally often, or not at all."""
    size = -(-(limit - 1).bit_length() // 8)
    found = []
    for value in range(256**size):
        tries = iter([value.to_bytes(size, "big")])
        try:
            found.append(below(limit, lambda _, t=tries: next(t)))
        except StopIteration:
            continue
    assert len(set(np.bincount(found))) == 1
    assert set(found) == set(range(limit))


@pytest.mark.parametrize("name", CASES)
def test_outputs_have_their_probabilities_and_not_those_of_another_mechanism(name):
    mechanism, k = case(name), 4000
    n = mechanism.size
    outputs = mechanism.simulate(np.repeat(np.arange(n + 1), k), np.random.default_rng(1)).reshape(n + 1, k)
    for j in range(n + 1):
        assert misfit(outputs[j], mechanism.column(j)) > ALARM
    other = counts.geometric(n, 0.75)
    assert misfit(outputs[0], other.column(0)) < ALARM


def test_draws_of_single_counts_have_them_too():
    mechanism = case("explicit fair, odd")
    source = stream(2)
    outputs = np.array([mechanism.draw(2, source) for _ in range(4000)])
    assert misfit(outputs, mechanism.column(2)) > ALARM
    assert misfit(outputs, mechanism.column(3)) < ALARM


@pytest.mark.parametrize("name", CASES)
def test_the_same_bytes_are_taken_for_every_count(name):
    mechanism = case(name)
    taken = []
    for j in range(mechanism.size + 1):
        source, sizes = stream(3), []
        mechanism.release([j] * 50, lambda size, s=source, sizes=sizes: sizes.append(size) or s(size))
        taken.append(sizes)
    assert all(sizes == taken[0] for sizes in taken)


@pytest.mark.parametrize("name", ["programmed", "programmed, rows of zeros", "table"])
def test_a_search_reads_as_much_for_every_count_and_noise(name):
    mechanism = case(name)
    sampler = mechanism.sampler()
    sampler.sums = [Counting(sums) for sums in sampler.sums]
    for seed, j in itertools.product(range(30), range(mechanism.size + 1)):
        before = sampler.sums[j].reads
        sampler.outputs(np.array([j]), [sampler.noise(stream(seed))])
        assert sampler.sums[j].reads - before == mechanism.size.bit_length()


@pytest.mark.parametrize("name", ["programmed", "programmed, rows of zeros", "table"])
def test_the_search_ends_at_the_right_output_at_every_boundary(name):
    cells, total = case(name).whole()
    sampler = ColumnSampler(case(name).whole())
    for j in range(len(cells)):
        begin = 0
        for i, number in enumerate(cells[:, j].tolist()):
            if number:
                found = sampler.outputs(np.array([j, j]), [begin, begin + number - 1])
                assert found.tolist() == [i, i]
            begin += number
        assert begin == total


@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 300.0])
@pytest.mark.parametrize("form", [counts.geometric, counts.explicit_fair, counts.uniform])
@pytest.mark.parametrize("size", [2, 1_000_000])
def test_every_size_and_budget_runs(form, size, epsilon):
    mechanism = form(size, epsilon=epsilon)
    outputs = mechanism.release([0, size // 3, size] * 20)
    assert outputs.min() >= 0
    assert outputs.max() <= size
    if epsilon == 300 and form is not counts.uniform:
        assert outputs.tolist() == [0, size // 3, size] * 20


def test_tries_stay_few_where_noise_is_far_wider_than_the_group():
    """At epsilon = 1e-6 two in a million values of untruncated noise would fit; at least a quarter does here."""
    mechanism, calls, source = counts.explicit_fair(8, epsilon=1e-6), [], stream(4)
    mechanism.release([3] * 1000, lambda size: calls.append(size) or source(size))
    assert len(calls) < 4 * 1000


def no_bytes(size):
    raise AssertionError("random bytes were drawn")


@pytest.mark.parametrize("name", ["geometric", "explicit fair, even", "uniform", "table"])
@pytest.mark.parametrize("wrong", [-1, 9, 1.0, True, None, "1", 2**70, 1.5, [1]], ids=repr)
def test_a_wrong_count_is_refused_before_anything_is_drawn(name, wrong):
    mechanism = case(name)
    with pytest.raises(ValueError, match="whole number"):
        mechanism.draw(wrong, no_bytes)
    with pytest.raises(ValueError, match="whole numbers from 0 to"):
        mechanism.release([0, wrong] if wrong is not True else [True], no_bytes)
    with pytest.raises(ValueError, match="whole numbers from 0 to"):
        mechanism.simulate([wrong], np.random.default_rng(0))


@pytest.mark.parametrize("given", [[], np.array([], dtype=int)])
def test_no_groups_release_nothing(given):
    assert case("geometric").release(given, no_bytes).shape == (0,)


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.uint64])
def test_any_type_of_integers_is_read(dtype):
    mechanism = counts.geometric(200, epsilon=300.0)
    given = np.array([0, 100, 200], dtype=dtype)
    assert mechanism.release(given).tolist() == [0, 100, 200]
    assert mechanism.draw(given[1]) == 100


def test_a_seed_repeats_a_simulation_and_nothing_repeats_a_release():
    mechanism = case("geometric")
    groups = np.arange(200) % 9
    one, same, other = (mechanism.simulate(groups, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert (one == same).all()
    assert (one != other).any()
    assert (mechanism.release(groups) != mechanism.release(groups)).any()
