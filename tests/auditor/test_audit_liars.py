"""Clients that lie to some users, sometimes, or at first: the audit finds them, and says which it would miss.

All seeded, so that they are caught always or never. Sizes are the default ones where nothing else is said.
"""

import math

import numpy as np
import pytest

import stratagem as st
from audits import audit, failed
from stratagem.auditor.runner import Reports
from stratagem.mechanism.mechanism import Mechanism

N = 64
MECHANISM = Mechanism.of(st.published.randomised_response(N, 1.0), st.histogram(N), 1.0)


def client(seed, lie=None, found=MECHANISM):
    """Draws whose outputs are lie(outputs, user types, places of the first report of each client, rng)."""
    rng = np.random.default_rng(seed)

    def draw(rows):
        cells = np.array([cell for row in rows for cell in row])
        first = np.cumsum([0, *map(len, rows)])[:-1]
        outputs = found.randomise(cells, rng)
        if lie is not None:
            outputs = lie(outputs, cells, first, rng)
        return Reports(outputs, rng.integers(0, 256, (len(cells), 16), dtype=np.uint8))

    return draw


def raw_for_most(outputs, cells, first, rng):
    """The value itself for 56 of 64 user types, those that an audit with seed 0 of 8 types passed by."""
    return np.where(np.isin(cells % 8, (3,)), outputs, cells)


def raw_for_one(outputs, cells, first, rng):
    return np.where(cells == 37, cells, outputs)


def raw_at_first(outputs, cells, first, rng):
    outputs[first] = cells[first]
    return outputs


def value_before(outputs, cells, first, rng):
    """The value asked before in 2 % of the reports."""
    leaks = rng.random(len(cells)) < 0.02
    return np.where(leaks, np.roll(cells, 1), outputs)


def output_before(outputs, cells, first, rng):
    """The output before again, in 2 % of the reports."""
    repeats = rng.random(len(cells)) < 0.02
    return np.where(repeats, np.roll(outputs, 1), outputs)


def always_alike(outputs, cells, first, rng):
    """One output for each value, drawn once: by itself each of them is right."""
    return rng.integers(0, N, N)[cells]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("lie", "caught"),
    [
        (None, set()),
        (raw_for_most, {"outputs", "event share", "new clients", "new processes"}),
        (raw_for_one, {"outputs", "event share"}),
        (raw_at_first, {"new clients", "new processes"}),
        (value_before, {"value before"}),
        (output_before, {"independence"}),
        (always_alike, {"outputs"}),
    ],
)
def test_liars_are_caught_and_an_honest_client_passes(lie, caught, seed):
    one = audit(MECHANISM, client(seed, lie), client(9 - seed, lie), seed=seed, samples=2000)
    assert one.passed == (not caught)
    assert caught <= failed(one)


def test_a_client_that_lies_once_in_a_process_is_caught_by_new_processes_alone():
    one = audit(MECHANISM, client(1), client(2, raw_at_first), samples=2000)
    assert failed(one) == {"new processes"}
    assert audit(MECHANISM, client(1), samples=2000).passed  # the negative control: without processes


def shifted(excess):
    """The mechanism of another budget, whose outputs are the same."""
    return Mechanism.of(st.published.randomised_response(N, excess), st.histogram(N), excess)


@pytest.mark.exhaustive
@pytest.mark.parametrize("factor", [0.95, 1.05])
def test_an_epsilon_of_5_percent_is_noticed_at_the_default_size(factor):
    one = audit(MECHANISM, client(3, found=shifted(factor)), client(4, found=shifted(factor)))
    assert "event share" in failed(one)
    assert {check.user_type for check in one.failures} == {None}  # no user type by itself tells it
    assert one.power.excess_missed < 1e-3
    assert one.noticeable < 1.05


@pytest.mark.exhaustive
def test_the_power_stated_is_the_power_measured():
    """40 audits of a client of the noticeable epsilon: each is caught with probability 0.99, 36 but once in 10^5."""
    small = Mechanism.of(st.published.randomised_response(6, 1.0), st.histogram(6), 1.0)
    noticeable = audit(small, client(0, found=small), samples=2000).noticeable
    assert 1.1 < noticeable < 1.4
    for epsilon, least, most in ((noticeable, 36, 40), (1 + (noticeable - 1) / 2, 0, 25)):
        other = Mechanism.of(st.published.randomised_response(6, epsilon), st.histogram(6), epsilon)
        caught = 0
        for seed in range(40):
            one = audit(small, client(seed, found=other), samples=2000, seed=seed)
            caught += "event share" in failed(one)
        assert least <= caught <= most


@pytest.mark.exhaustive
def test_all_user_types_are_tested_where_they_are_few_and_random_ones_otherwise():
    one = audit(MECHANISM, client(0), samples=100)
    assert (one.user_types, one.drawn) == (tuple(range(N)), None)
    assert one.power.bad_types == 1 / N
    large = Mechanism.of(st.published.randomised_response(1000, 1.0), st.histogram(1000), 1.0)
    one = audit(large, client(0, found=large), samples=200)
    assert len(set(one.user_types)) == 256
    assert {0, 999} <= set(one.user_types)
    assert one.drawn is not None
    assert 252 <= one.drawn <= 256
    assert one.power.bad_types_missed == pytest.approx((1 - 0.05 * 0.99) ** one.drawn)
    assert one.power.bad_types is not None
    assert 0.01 < one.power.bad_types < 0.02
    seeds = {audit(large, client(0, found=large), samples=100, types=9, seed=k).user_types for k in (1, 1, 2)}
    assert len(seeds) == 2


@pytest.mark.exhaustive
def test_a_bad_fraction_of_user_types_is_missed_as_seldom_as_stated():
    """12 types of 400, 8 or more of them random, 20 bad ones: missed with the probability stated or less.

    The bound on misses is 5 standard deviations above the stated number; none at all would say too little.
    """
    large = Mechanism.of(st.published.randomised_response(400, 1.0), st.histogram(400), 1.0)
    bad = np.random.default_rng(5).permutation(400)[:20]

    def lie(outputs, cells, first, rng):
        return np.where(np.isin(cells, bad), cells, outputs)

    options = [{"samples": 100, "types": 12, "seed": seed} for seed in range(30)]
    found = [audit(large, client(k, lie, large), **one) for k, one in enumerate(options)]
    stated = max(one.power.bad_types_missed for one in found)
    missed = sum(not {"outputs", "event share"} & failed(one) for one in found)
    assert all(one.drawn is not None and 8 <= one.drawn <= 12 for one in found)
    assert 0.5 < stated < 0.7
    assert 0 < missed <= 30 * stated + 5 * math.sqrt(30 * stated * (1 - stated))


@pytest.mark.exhaustive
@pytest.mark.parametrize("asked", [0, 1])
def test_a_bad_first_report_is_found_from_the_fraction_stated(asked):
    """Of 20 audits with that fraction 17 or more find it; with a third of it 8 or fewer."""
    one = audit(MECHANISM, client(0), client(0), samples=100)
    name = ("new clients", "new processes")[asked]
    count, share = one.power.first_reports[name]
    assert count == (500, 40)[asked]
    assert share is not None
    for fraction, least, most in ((share, 17, 20), (share / 3, 0, 8)):

        def lie(outputs, cells, first, rng, fraction=fraction):
            raw = first[rng.random(len(first)) < fraction]
            outputs[raw] = cells[raw]
            return outputs

        caught = 0
        for seed in range(20):
            draws = [client(seed), client(seed + 50)]
            draws[asked] = client(seed, lie)
            caught += name in failed(audit(MECHANISM, *draws, samples=100, seed=seed))
        assert least <= caught <= most
