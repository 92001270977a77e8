"""Negative controls of the audit: clients with the bugs that others shipped, or with bad randomness, are caught.

All seeded, so that they are caught always or never.
"""

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

import stratagem as st
from audits import (
    Source,
    any_order,
    audit,
    batch_of,
    client_of,
    failed,
    in_a_row,
    reports_of,
    seeded,
)
from mechanisms import mechanism
from stratagem.auditor.runner import Draw, Reports
from stratagem.mechanism.mechanism import Mechanism

# Unary encoding over d = 4 values, as all its 2^4 bit strings: bit k is 1 with probability p if the value is
# k, else with q; p = sqrt(E)/(sqrt(E) + 1) = 1 - q, the published symmetric encoding of epsilon 1 (basic RAPPOR).

D = 4
P = math.exp(0.5) / (math.exp(0.5) + 1) * (1 - 1e-14)


def strings(p: float, q: float) -> np.ndarray:
    """Probabilities (2^D x D) of bit strings; bit k of output y is y >> k & 1."""
    bits = np.arange(2**D)[:, None, None] >> np.arange(D) & 1
    one = np.where(np.eye(D, dtype=bool), p, q)
    return np.where(bits, one, 1 - one).prod(axis=2)


@cache
def unary() -> Mechanism:
    return Mechanism.of(st.strategies.MatrixStrategy(strings(P, 1 - P)), st.histogram(D), 1.0)


def packed(bits: np.ndarray) -> Reports:
    return Reports(bits @ (1 << np.arange(D)))


def unary_draw(perturb: Callable[[np.random.Generator, np.ndarray, int], np.ndarray], seed: int = 3) -> Draw:
    """Clients that write their own unary encoding, given random bits that are 1 with probability q."""
    rng = np.random.default_rng(seed)

    def draw(cell: int, count: int) -> Reports:
        return packed(perturb(rng, rng.random((count, D)) < 1 - P, cell))

    return any_order(draw)


def correct(rng: np.random.Generator, bits: np.ndarray, cell: int) -> np.ndarray:
    bits[:, cell] = rng.random(len(bits)) < P
    return bits


def last_bit_untouched(rng: np.random.Generator, bits: np.ndarray, cell: int) -> np.ndarray:
    """OpenDP's make_randomized_response_bitvec, 0.11.1 to 0.14.2 (issue 2707): one bit was never randomised."""
    bits = correct(rng, bits, cell)
    bits[:, -1] = cell == D - 1
    return bits


def sets_but_never_clears(rng: np.random.Generator, bits: np.ndarray, cell: int) -> np.ndarray:
    """pure-LDP's unary encoding until 1.1.2 (issue 11): the true bit was set with probability p, and left as
    drawn with q otherwise, so that it was 1 with probability p + (1 - p) q: epsilon 1.68 in place of 1.
    """
    bits[:, cell] |= rng.random(len(bits)) < P
    return bits


def test_a_correct_unary_encoding_passes():
    one = audit(unary(), unary_draw(correct), samples=100_000)
    assert one.passed, one.failures


def test_a_last_bit_that_is_not_randomised_is_caught():
    one = audit(unary(), unary_draw(last_bit_untouched), samples=1000)
    assert not one.private
    assert "outputs" in failed(one)
    # the user type of the last bit is known from any report: an epsilon above 3 is proved by 1000 reports
    assert audit(unary(), unary_draw(last_bit_untouched), samples=100_000).epsilon_bound > 1.5


def test_the_old_unary_encoding_of_pure_ldp_is_caught():
    one = audit(unary(), unary_draw(sets_but_never_clears), samples=10_000)
    assert not one.private
    assert {"outputs", "event share"} <= failed(one)
    p, q = P + (1 - P) * (1 - P), 1 - P
    truth = math.log(p * (1 - q) / ((1 - p) * q))
    assert truth == pytest.approx(1.68, abs=0.01)
    assert 1 < one.epsilon_bound < truth


def offset(found: Mechanism, factor: float) -> Mechanism:
    """The same patterns and weights with the levels of factor times the budget."""
    strategy = found.strategy
    epsilon = float(found.epsilon) * factor
    E = math.exp(epsilon) * (1 - 1e-14)
    inside = (np.unpackbits(strategy.patterns, axis=1, count=strategy.size)).T @ strategy.theta
    assert np.ptp(inside) < 1e-9 * inside[0]
    theta = strategy.theta / (strategy.theta.sum() + (E - 1) * inside[0])
    return Mechanism.of(
        st.strategies.TwoLevelStrategy(strategy.patterns, theta, strategy.size, E), found.workload, epsilon
    )


@pytest.mark.exhaustive
@pytest.mark.parametrize(("case", "samples"), [("two-level", 400_000), ("two-level-large-epsilon", 400_000)])
def test_an_epsilon_that_is_5_percent_too_large_is_caught_with_the_samples_stated(case, samples):
    found = mechanism(case)
    one = audit(found, any_order(batch_of(offset(found, 1.05), 4)), samples=samples, types=4)
    assert one.samples_needed is not None
    assert one.samples_needed <= samples
    assert one.provable <= 1.05 * float(found.epsilon)
    assert not one.private
    assert "event share" in failed(one)
    # far fewer reports prove nothing, and the audit says so
    few = audit(found, any_order(batch_of(offset(found, 1.05), 4)), samples=samples // 20, types=4)
    assert few.private
    assert few.provable > 1.05 * float(found.epsilon)


@pytest.mark.exhaustive
def test_an_epsilon_that_is_5_percent_too_small_is_caught_as_another_distribution():
    found = mechanism("two-level")
    one = audit(found, any_order(batch_of(offset(found, 0.95), 5)), samples=400_000, types=4)
    assert one.private
    assert "event share" in failed(one)


def test_an_index_that_stops_one_short_is_caught():
    """The last user type draws from its neighbour's column: only reports of that type show it."""
    found = mechanism("two-level")
    clean, last = batch_of(found, 11), found.strategy.domain_size - 1
    one = audit(
        found, any_order(lambda cell, count: clean(min(cell, last - 1), count)), samples=20_000, types=4
    )
    assert {check.user_type for check in one.failures} - {None} == {last}


def biased(seed: int, share: float) -> Source:
    """Bytes whose bits are 1 with probability `share`."""
    rng = np.random.default_rng(seed)
    return lambda count: np.packbits(rng.random(8 * count) < share).tobytes()


def sticky(seed: int, share: float) -> Source:
    """Uniform bytes, but a request is answered by the last one's bytes with probability `share`."""
    rng, last = np.random.default_rng(seed), {}

    def source(count: int) -> bytes:
        if count not in last or rng.random() >= share:
            last[count] = rng.bytes(count)
        return last[count]

    return source


def cycling(seed: int, period: int) -> Source:
    """Uniform bytes that come again after `period` of them."""
    store, place = np.random.default_rng(seed).bytes(period) * 2, 0

    def source(count: int) -> bytes:
        nonlocal place
        place = (place + count) % period
        return store[place : place + count]

    return source


@pytest.mark.sampled(12)
@pytest.mark.parametrize(
    ("make", "caught"),
    [
        (lambda: biased(6, 0.51), {"id bytes"}),
        (lambda: biased(6, 0.55), {"id bytes", "outputs"}),
        (lambda: sticky(7, 0.1), {"fresh ids", "independence"}),
        (lambda: cycling(8, 4096), {"fresh ids"}),
        (lambda: bytes, {"fresh ids", "outputs", "id bytes", "independence"}),
    ],
    ids=["biased bits", "very biased bits", "sticky", "cycling", "zeros"],
)
@pytest.mark.parametrize("case", ["randomised", "hadamard"])
def test_a_bad_generator_is_caught(case, make, caught):
    found = mechanism(case)
    one = audit(found, client_of(found, make()), samples=10_000, types=4)
    assert not one.passed
    assert caught <= failed(one)


def test_a_generator_that_repeats_itself_is_caught_by_the_outputs_alone():
    """Each output equals the one before with probability 0.1, but is right by itself: only pairs show it."""
    found = mechanism("two-level")
    clean, rng = batch_of(found, 9), np.random.default_rng(9)

    def draw(cell: int, count: int) -> Reports:
        outputs = clean(cell, count).outputs
        source = np.where(rng.random(count) < 0.1, np.arange(count) - 1, np.arange(count))
        return Reports(outputs[np.maximum(source, 0)])

    assert "independence" in failed(audit(found, any_order(draw), samples=50_000, types=4))


def test_an_id_that_gives_the_value_away_is_caught():
    found = mechanism("two-level")
    clean = in_a_row(client_of(found, seeded(10)))

    def draw(cell: int, count: int) -> Reports:
        one = clean(cell, count)
        ids = one.ids.copy()
        ids[:, 5] = ids[:, 5] & 0xF0 | cell
        return Reports(one.outputs, ids)

    assert failed(audit(found, any_order(draw), samples=5000, types=4)) == {"id bytes"}


def test_a_client_of_another_mechanism_is_caught():
    found, other = (
        mechanism("randomised"),
        Mechanism.of(st.published.randomised_response(6, 0.1), st.prefix(6), 0.1),
    )
    one = audit(
        found, any_order(lambda cell, count: _renamed(found, other, cell, count)), samples=100, types=2
    )
    assert failed(one) >= {"schema"}


def _renamed(found: Mechanism, other: Mechanism, cell: int, count: int) -> Reports:
    reports = (other.client.randomise(cell) for _ in range(count))
    return reports_of(found, reports)
