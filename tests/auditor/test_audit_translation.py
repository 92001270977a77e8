"""Audits of strategies with more outputs than can be counted: classes of known probability, and clients that err.

All seeded, so that they are caught always or never.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

import stratagem as st
from audits import any_order, audit, batch_of, client_of, failed, seeded
from mechanisms import TRANSLATES, juntas, mechanism, user_type
from stratagem.auditor import planning
from stratagem.auditor.event import by_attribute, by_cell, by_holding, by_output, by_placement
from stratagem.auditor.independent_check import recheck
from stratagem.auditor.runner import Reports
from stratagem.domain.attribute import value_of
from stratagem.mechanism.mechanism import Mechanism


def partitions(strategy, user):
    yield by_output(strategy, user)
    yield by_cell(strategy, user)
    yield by_holding(strategy, user)
    yield by_placement(strategy)
    yield from (by_attribute(strategy, user, axis) for axis in range(3))


@pytest.mark.parametrize("case", TRANSLATES)
def test_classes_are_as_likely_as_the_outputs_in_them(case):
    found = mechanism(case)
    strategy, every = found.strategy, np.arange(found.outputs)
    for cell in (0, found.domain.size // 2, found.domain.size - 1):
        column = strategy.dense().matrix[:, cell]
        for one in partitions(strategy, np.array(user_type(found, cell))):
            summed = np.bincount(one.classes(every), column, len(one.probabilities))
            np.testing.assert_allclose(one.probabilities, summed, atol=1e-14)


@pytest.mark.parametrize("case", TRANSLATES)
def test_events_are_as_likely_as_the_outputs_in_them(case):
    found = mechanism(case)
    Q, every = found.strategy.dense().matrix, np.arange(found.outputs)
    chosen = planning.choose(found.strategy, 8, 10_000, 1e-6, np.random.default_rng(0))
    assert len(set(chosen.user_types)) == len(chosen.user_types) == min(8, found.domain.size)
    plan = planning.plan(found.strategy, chosen.user_types, 10_000, 1e-6)
    assert plan.pool is not None
    assert plan.pool.mean.p == pytest.approx(np.mean([event.p for event in plan.pool.events]), rel=1e-12)
    for event in plan.pool.events:
        assert event.u != event.v
        inside = event.inside[event.classes(every)]
        assert event.p == pytest.approx(Q[inside, event.u].sum(), rel=1e-12)
        assert event.q == pytest.approx(Q[inside, event.v].sum(), rel=1e-12)
        assert event.p / event.q <= math.exp(float(found.epsilon)) * (1 + 1e-9)


@pytest.mark.parametrize("case", [*TRANSLATES, "hundred"])
def test_the_independent_check_finds_the_certificate_right_and_what_breaks_it(case):
    bundle = mechanism(case).bundle
    assert recheck(bundle).holds
    assert (recheck(bundle).high, recheck(bundle).low) == (1 << 52, bundle["table"]["low"])
    table, first = bundle["table"], bundle["table"]["patterns"][0]
    cycles = table["cycles"]
    for change in (
        {"cycles": [cycles[0] + 1, *cycles[1:]]},
        {"outputs": table["outputs"] - 1},
        {"low": table["low"] - 1 - (table["low"] >> 20)},
        {"low": 1 << 60},
        {"patterns": [first | {"weight": first["weight"] + 1}, *table["patterns"][1:]]},
        {"patterns": [first | {"bits": "/" * len(first["bits"])}, *table["patterns"][1:]]},
    ):
        if change.get("patterns", [{}])[0].get("bits") and math.prod(cycles) % 8 == 0:
            continue  # nothing is beyond the last cell
        assert not recheck(bundle | {"table": table | change}).holds


@pytest.mark.exhaustive
def test_the_shipped_client_passes_at_a_hundred_attributes():
    found = mechanism("hundred")
    one = audit(found, client_of(found, seeded(1)), samples=2000, types=2)
    assert one.passed, one.failures
    names = {check.name for check in one.checks}
    assert names == {
        "outputs",
        "placements",
        "independence",
        "id bytes",
        "event share",
        "new clients",
        "value before",
        "schema",
        "fresh ids",
    }
    one = audit(found, any_order(batch_of(found, 2)), samples=100_000, types=4)
    assert one.passed, one.failures
    assert 0.8 < one.epsilon_bound < 1


def offset(found: Mechanism, factor: float) -> Mechanism:
    """The same patterns and weights with the levels of factor times the budget."""
    strategy, epsilon = found.strategy, float(found.epsilon) * factor
    return Mechanism.of(replace(strategy, ratio=math.exp(epsilon) * (1 - 1e-14)), found.workload, epsilon)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("case", ["cycle", "mixed-juntas", "hundred"])
def test_another_epsilon_is_noticed(case):
    found = mechanism(case)
    one = audit(found, any_order(batch_of(offset(found, 1.1), 4)), samples=100_000, types=2)
    assert not one.private
    assert "event share" in failed(one)
    one = audit(found, any_order(batch_of(offset(found, 0.9), 5)), samples=100_000, types=2)
    assert one.private
    assert "event share" in failed(one)


def erring(found, change, seed=6):
    """Return draws of a correct client whose outputs are changed by change(outputs, user type, rng)."""
    clean, rng = batch_of(found, seed), np.random.default_rng(seed)

    def draw(cell, count):
        user = np.array(found.client.cell(value_of(found.attributes, cell)))
        return Reports(change(clean(cell, count).outputs, user, rng))

    return draw


def other_weights(found):
    """The chances with which patterns are drawn, taken for those with which they are reported."""
    drawn = np.array(found.table.weights) / 2.0**32
    other = Mechanism.of(replace(found.strategy, weights=drawn), found.workload, 1.0)
    return batch_of(other, 7)


def never_on_the_first(found):
    """Reports of patterns placed on the first attribute become those of the report before."""

    def change(outputs, user, rng):
        strategy, kept = found.strategy, np.ones(len(outputs), dtype=bool)
        for b, places in strategy.by_pattern(outputs):
            attributes, _ = strategy.decoded(b, outputs[places] - strategy.offsets[b])
            kept[places] = (attributes != 0).all(axis=1)
        return rng.permutation(np.resize(outputs[kept], len(outputs)))

    return erring(found, change)


def without_the_value(found):
    """Patterns and placements as they should be, but all shifts alike."""

    def change(outputs, user, rng):
        strategy, shifted = found.strategy, outputs.copy()
        for b, places in strategy.by_pattern(outputs):
            cells = strategy.patterns[b].cells
            local = outputs[places] - strategy.offsets[b]
            shifted[places] += rng.integers(0, cells, len(local)) - local % cells
        return shifted

    return erring(found, change)


def beside(found):
    """The neighbour's value of every attribute."""
    strategy, rng = found.strategy, np.random.default_rng(8)

    def draw(cell, count):
        user = np.roll(found.client.cell(value_of(found.attributes, cell)), 1)
        return Reports(strategy.randomise(np.tile(user, (count, 1)), rng))

    return draw


def even_placements(found):
    """Placements of odd number become the ones before, moved so that they hold the user as they did."""

    def change(outputs, user, rng):
        strategy, found_again = found.strategy, outputs.copy()
        for b, places in strategy.by_pattern(outputs):
            local = outputs[places] - strategy.offsets[b]
            cells, (attributes, shifts) = strategy.patterns[b].cells, strategy.decoded(b, local)
            even = local // cells // 2 * 2
            others, _ = strategy.decoded(b, even * cells)
            moved = (user[others] - user[attributes] + shifts) % 2
            shift = np.ravel_multi_index(tuple(moved.T), strategy.patterns[b].sizes)
            found_again[places] = strategy.offsets[b] + even * cells + shift
        return found_again

    return erring(found, change)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("make", "caught"),
    [
        (other_weights, {"outputs"}),
        (never_on_the_first, {"placements"}),
        (without_the_value, {"outputs", "event share", "placements"}),
        (beside, {"outputs", "event share"}),
        (even_placements, {"placements"}),
    ],
)
def test_a_client_that_errs_is_caught(make, caught):
    found = mechanism("hundred")
    one = audit(found, any_order(make(found)), samples=100_000, types=4)
    assert caught <= failed(one)


@pytest.mark.exhaustive
def test_a_generator_that_repeats_itself_is_caught_by_the_outputs_alone():
    """Each output equals the one before with probability 0.1, but is right by itself: only pairs show it."""

    def change(outputs, user, rng):
        source = np.where(
            rng.random(len(outputs)) < 0.1, np.arange(len(outputs)) - 1, np.arange(len(outputs))
        )
        return outputs[np.maximum(source, 0)]

    found = mechanism("hundred")
    assert "independence" in failed(audit(found, any_order(erring(found, change)), samples=100_000, types=2))


def test_a_domain_of_one_value_has_nothing_to_tell_apart():
    strategy = st.strategies.OrbitStrategy(
        (1,), (4,), (st.strategies.Pattern.of((0,), np.eye(4, dtype=bool)[0]),), np.ones(1), 2.0
    )
    found = Mechanism.of(strategy, st.histogram(1), math.log(2) + 1e-9)
    one = audit(found, client_of(found, seeded(3)), samples=1000)
    assert one.passed
    assert (one.evidence, one.samples_needed) == ((), None)


def test_groups_that_are_not_sorted_make_the_same_mechanism():
    sizes, axes = (2,) * 4, [(0, 0), (0,)]
    tables = [
        Mechanism.of(juntas(sizes, (group,), axes, 1.0), st.marginals("2^4", 1), 1.0)
        for group in ((0, 1, 2, 3), (3, 1, 2, 0))
    ]
    assert tables[0].text == tables[1].text
