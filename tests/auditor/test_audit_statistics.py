"""The statistics of audits: p-values and bounds that are right as often as they say, events that are optimal."""

import copy
import json
import math
from fractions import Fraction
from itertools import chain, combinations

import numpy as np
import pytest

import stratagem as st
from mechanisms import CASES, mechanism
from stratagem.auditor import planning
from stratagem.auditor.event import (
    Event,
    best_event,
    epsilon_bound,
    provable,
    samples_to_prove,
)
from stratagem.auditor.goodness import GROUPS, byte_fit, fit, groups, pair_fit, position_fit, share_fit
from stratagem.auditor.independent_check import exp_floor, recheck
from stratagem.mechanism.table import encode

SKEWED = np.array([0.5, 0.2, 0.1, 0.1, 0.05, 0.03, 0.01, 0.009, 0.0009, 0.0001])
RATE, RUNS = 0.01, 4000
MOST = 75
"""Of 4000 p-values, 40 are expected below 0.01; more than 75 come with probability 1e-6."""


@pytest.mark.parametrize("total", [100, 1000, 100_000])
@pytest.mark.parametrize("probabilities", [SKEWED, np.full(200, 1 / 200), np.array([0.5, 0.5])], ids=len)
def test_p_values_are_small_as_seldom_as_they_say(rng, total, probabilities):
    counts = rng.multinomial(total, probabilities, RUNS)
    assert sum(fit(one, probabilities) < RATE for one in counts) <= MOST


def test_p_values_are_small_for_other_probabilities(rng):
    """The negative control: 2 % of the mass moved between the two commonest outputs."""
    moved = SKEWED + np.array([0.02, -0.02] + [0] * 8)
    assert max(fit(one, SKEWED) for one in rng.multinomial(100_000, moved, 100)) < 1e-9


def test_pairs_of_independent_outputs_fit(rng):
    """Two kinds of outputs in random order: the second one comes from the shares of the first, turned round."""
    kinds, shares = rng.integers(0, 2, (RUNS // 4, 500)), np.zeros((2, GROUPS))
    shares[:, : len(SKEWED)] = SKEWED, SKEWED[::-1]
    outputs = rng.choice(len(SKEWED), kinds.shape, p=SKEWED)
    outputs = np.where(kinds == 1, len(SKEWED) - 1 - outputs, outputs)
    found = [pair_fit(*one, shares) for one in zip(outputs, kinds, strict=True)]
    assert sum(p < RATE for p in found) <= 30  # 10 expected; 1e-6 again
    alternating = np.sort(outputs.reshape(-1, 2), axis=1).reshape(-1)
    assert pair_fit(alternating, kinds.reshape(-1), shares) < 1e-9
    alternating[::9] = -1  # what is left out tells nothing
    assert pair_fit(alternating, kinds.reshape(-1), shares) < 1e-9


def test_bytes_fit_unless_one_bit_is_off(rng):
    raw = rng.integers(0, 256, (1000, 16), dtype=np.uint8)
    assert byte_fit(raw) > 1e-6
    assert byte_fit(raw | (rng.random(raw.shape) < 0.1).astype(np.uint8)) < 1e-9


def test_a_place_of_ids_that_is_not_uniform_is_seen(rng):
    ids = rng.integers(0, 256, (20_000, 16), dtype=np.uint8)
    assert position_fit(ids) > 1e-6
    ids[:, 11] = rng.permutation(ids[:, 11] | (rng.random(len(ids)) < 0.5))
    assert position_fit(ids) < 1e-9


def test_groups_of_neighbours_are_about_equally_likely():
    assert groups(np.full(160, 1 / 160)).tolist() == np.repeat(np.arange(GROUPS), 10).tolist()


def test_impossible_or_missing_outputs_never_fit():
    assert fit(np.array([99, 1]), np.array([1.0, 0.0])) == 0
    assert fit(np.array([0, 0]), np.array([0.5, 0.5])) == 0
    assert fit(np.array([100]), np.array([1.0])) == 1


def test_rare_outputs_are_tested_together(rng):
    """Two of each are expected: too few for a test of their own, but a wrong half of them shows."""
    even, halved = np.full(10_000, 1e-4), np.tile([2e-4, 0], 5000)
    assert fit(rng.multinomial(20_000, even), even) > 1e-6
    assert fit(rng.multinomial(20_000, halved), even) < 1e-9


@pytest.mark.parametrize(
    ("hits", "trials", "probability"), [(0, 10, 0.3), (7, 10, 0.3), (10, 10, 0.3), (3, 10, 0.3)]
)
def test_a_share_is_tested_exactly(hits, trials, probability):
    mass = [
        math.comb(trials, k) * probability**k * (1 - probability) ** (trials - k) for k in range(trials + 1)
    ]
    tails = sum(mass[: hits + 1]), sum(mass[hits:])
    assert share_fit(hits, trials, probability) == pytest.approx(min(1, 2 * min(tails)))


@pytest.mark.parametrize("p", [0.02, 0.3, 0.9])
def test_the_bound_on_epsilon_is_wrong_as_seldom_as_it_says(rng, p):
    trials, epsilon, level = 3000, 0.5, 0.05
    hits = rng.binomial(trials, p, 2000), rng.binomial(trials, p * math.exp(-epsilon), 2000)
    bounds = [epsilon_bound((int(a), int(b)), (trials, trials), level) for a, b in zip(*hits, strict=True)]
    assert np.mean(np.array(bounds) > epsilon) <= level
    assert np.mean(np.array(bounds) > 0) > level  # the negative control: no budget at all is exceeded


def test_the_bound_on_epsilon_at_the_ends():
    assert epsilon_bound((0, 0), (100, 100), 0.01) == 0
    assert epsilon_bound((0, 100), (100, 100), 0.01) == 0
    assert epsilon_bound((100, 100), (100, 100), 0.01) == 0
    # p >= 0.005^(1/100), q <= 1 - 0.005^(1/100)
    tail = 0.005 ** (1 / 100)
    assert epsilon_bound((100, 0), (100, 100), 0.01) == pytest.approx(math.log(tail / (1 - tail)))


@pytest.mark.parametrize("seed", range(5))
def test_no_set_of_outputs_promises_more_than_the_best_event(seed):
    Q = np.random.default_rng(seed).dirichlet(np.full(7, 0.7), 2)
    samples, level, z = 5000, 1e-4, -3.719016485455681
    event, promise = best_event(3, 4, (Q[0], Q[1]), samples, level)

    def promised(inside: list[int]) -> float:
        p, q = Q[0, inside].sum(), Q[1, inside].sum()
        return math.log(p / q) + z * math.sqrt(((1 - p) / p + (1 - q) / q) / samples)

    sets = chain.from_iterable(combinations(range(7), k) for k in range(1, 7))
    assert promise >= max(promised(list(one)) for one in sets) - 1e-12
    assert promise == pytest.approx(promised(np.flatnonzero(event.inside).tolist()))
    assert (event.u, event.v) == (3, 4)
    assert (event.p, event.q) == pytest.approx((Q[0, event.inside].sum(), Q[1, event.inside].sum()))


EVENT = Event(0, 1, np.array([True, False]), 0.4, 0.4 * math.exp(-1))


@pytest.mark.parametrize("samples", [3000, 30_000, 300_000])
def test_a_provable_epsilon_is_proved(rng, samples):
    """Proved in 99 of 100 audits: of 2000, more than 45 misses come with probability below 1e-6."""
    level, budget = 1e-6, 1.0
    found = provable(EVENT, budget, samples, level)
    step = (found - 1.0) / 4
    assert _misses(rng, found, samples, level, budget) <= 45
    assert _misses(rng, found - 2 * step, samples, level, budget) > 45  # half the excess is not


def _misses(rng: np.random.Generator, epsilon: float, samples: int, level: float, budget: float) -> int:
    low, high = 0.0, 20.0
    for _ in range(60):  # the equal steps of the log-odds that lead to epsilon
        middle = (low + high) / 2
        p, q = (1 / (1 + (1 - x) / x * math.exp(-s)) for x, s in ((EVENT.p, middle), (EVENT.q, -middle)))
        low, high = (middle, high) if math.log(p / q) < epsilon else (low, middle)
    hits = zip(rng.binomial(samples, p, 2000).tolist(), rng.binomial(samples, q, 2000).tolist(), strict=True)
    return sum(epsilon_bound(one, (samples, samples), level) <= budget for one in hits)


def test_more_samples_prove_less():
    counts = [1000, 10_000, 100_000, 1_000_000]
    proofs = [provable(EVENT, 1.0, count, 1e-6) for count in counts]
    assert proofs == sorted(proofs, reverse=True)
    columns = tuple(np.array([share, 1 - share]) for share in (EVENT.p, EVENT.q))
    needed = samples_to_prove(columns, 1.0, 0.05, 1e-6)
    assert needed is not None
    assert provable(EVENT, 1.0, needed, 1e-6) <= 1.05 < provable(EVENT, 1.0, int(needed * 0.95), 1e-6)


def test_what_no_number_of_samples_proves_is_none():
    near = np.array([0.5, 0.5]), np.array([0.4, 0.6])  # their ratio is far below the budget
    assert samples_to_prove(near, 5.0, 0.05, 1e-6) is None
    assert provable(EVENT, 12.0, 1000, 1e-6) == math.inf
    same = Event(0, 1, np.array([True, False]), 0.5, 0.5)
    assert provable(same, 1.0, 1000, 1e-6) == math.inf


def test_every_user_type_is_once_first_and_once_second():
    strategy = st.published.hadamard_response(30, 1.0)
    chosen = planning.choose(strategy, 6, 1000, 1e-6, np.random.default_rng(0)).user_types
    plan, Q = planning.plan(strategy, chosen, 1000, 1e-6), strategy.dense().matrix
    assert plan.pool is not None
    assert sorted(event.u for event in plan.pool.events) == sorted(chosen)
    assert sorted(event.v for event in plan.pool.events) == sorted(chosen)
    for place, u in enumerate(chosen):
        favoured = plan.favoured[place].holds(np.arange(strategy.outputs))
        assert favoured.tolist() == (Q[:, u] > Q.mean(axis=1) * (1 + 1e-9)).tolist()
        assert plan.favoured[place].probability == pytest.approx(Q[favoured, u].sum())
    for event in plan.pool.events:
        inside = event.inside[event.classes(np.arange(strategy.outputs))]
        assert (event.p, event.q) == pytest.approx((Q[inside, event.u].sum(), Q[inside, event.v].sum()))
        assert event.p > event.q


@pytest.mark.parametrize("case", CASES)
def test_the_independent_check_agrees_with_the_certificate(case):
    found = recheck(json.loads(mechanism(case).text))
    assert found.holds
    stated = mechanism(case).bundle["certificate"]
    if found.high > found.low:
        assert Fraction(found.high, found.low) == Fraction(
            int(stated["worst_high"]), int(stated["worst_low"])
        )


def _numbers(bundle: dict, key: str, kind: str, place: int, step: int) -> dict:
    import base64

    edited = copy.deepcopy(bundle)
    numbers = np.frombuffer(base64.b64decode(edited["table"][key]), kind).copy()
    numbers[place] = int(numbers[place]) + step
    edited["table"][key] = encode(numbers, kind)
    return edited


@pytest.mark.parametrize("step", [-1, 1])
@pytest.mark.parametrize("case", ["projected", "two-level", "randomised", "hadamard", "fine"])
def test_the_independent_check_refuses_a_table_changed_by_one_unit(case, step, rng):
    bundle = mechanism(case).bundle
    if bundle["table"]["kind"] == "two-level":
        weights = np.frombuffer(__import__("base64").b64decode(bundle["table"]["weights"]), "<u4")
        place = int(np.flatnonzero(weights)[0])
        assert not recheck(_numbers(bundle, "weights", "<u4", place, step)).holds
        return
    kind = "<u4" if bundle["table"]["bits"] == 32 else "<u8"
    size = bundle["table"]["outputs"] * bundle["table"]["user_types"]
    for place in rng.integers(0, size, 5).tolist():
        assert not recheck(_numbers(bundle, "entries", kind, place, step)).equal_sums


@pytest.mark.parametrize("case", ["two-level", "projected"])
def test_the_independent_check_refuses_a_smaller_epsilon(case):
    bundle = copy.deepcopy(mechanism(case).bundle)
    bundle["epsilon"] = ["999999", "1000000"]
    assert recheck(bundle).equal_sums
    assert not recheck(bundle).holds


def test_the_independent_check_refuses_an_output_that_never_comes_for_some():
    bundle = copy.deepcopy(mechanism("randomised").bundle)
    numbers = np.array([[2**31, 2**32 - 1], [2**31, 1]], dtype="<u4")
    bundle["table"] |= {"outputs": 2, "user_types": 2, "entries": encode(numbers, "<u4")}
    assert recheck(bundle).equal_sums
    assert not recheck(bundle).holds
    numbers = np.array([[2**31, 2**31], [2**31, 2**31], [0, 0]], dtype="<u4")
    bundle["table"] |= {"outputs": 3, "entries": encode(numbers, "<u4")}
    assert recheck(bundle).holds  # an output that never comes at all says nothing


@pytest.mark.parametrize(
    "epsilon", [Fraction(1, 10**6), Fraction(1, 3), Fraction(1), Fraction(3607, 100), Fraction(300)]
)
def test_the_exponential_of_the_independent_check_is_below_and_tight(epsilon):
    terms = [Fraction(1)]
    for k in range(1, 1200):
        terms.append(Fraction(int(terms[-1] * epsilon / k * 10**400), 10**400))
    exact = sum(terms)  # within 1e-390 of exp(epsilon)
    found = exp_floor(epsilon)
    assert exact * (1 - Fraction(1, 10**56)) < found < exact
