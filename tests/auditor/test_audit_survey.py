"""Audits of surveys: the clients pass; parts that come wrongly, or that report wrongly, are caught."""

import math
from dataclasses import replace

import numpy as np
import pytest

import stratagem as st
from audits import any_order, audit, batch_of, client_of, failed, seeded
from mechanisms import SURVEYS, mechanism
from stratagem.auditor import planning
from stratagem.auditor.runner import Reports, web_client, web_processes
from stratagem.math.number import coordinates_of
from stratagem.strategies import SurveyStrategy


@pytest.mark.parametrize("case", SURVEYS[:2])
def test_events_and_classes_have_the_probabilities_of_the_table(case):
    found = mechanism(case)
    Q, every = found.strategy.dense().matrix, np.arange(found.outputs)
    chosen = planning.choose(found.strategy, 12, 10_000, 1e-6, np.random.default_rng(0))
    assert len(set(chosen.user_types)) == len(chosen.user_types) == 12
    plan = planning.plan(found.strategy, chosen.user_types, 10_000, 1e-6)
    for place, u in enumerate(chosen.user_types):
        for _, one in plan.partitions[place]:
            sums = np.bincount(one.classes(every), Q[:, u], len(one.probabilities))
            assert one.probabilities == pytest.approx(sums, abs=1e-12)
        favoured = plan.favoured[place]
        assert favoured.probability == pytest.approx(Q[favoured.holds(every), u].sum(), rel=1e-12)
        assert favoured.raised >= favoured.probability - 1e-12
    assert plan.pool is not None
    for event in plan.pool.events:
        inside = event.inside[event.classes(every)]
        assert event.p == pytest.approx(Q[inside, event.u].sum(), rel=1e-12)
        assert event.q == pytest.approx(Q[inside, event.v].sum(), rel=1e-12)
        assert event.p / event.q <= math.exp(float(found.epsilon)) * (1 + 1e-9)


@pytest.mark.parametrize("case", [SURVEYS[0], SURVEYS[2]])
def test_two_user_types_of_every_part_differ_in_its_attributes_alone(case):
    found = mechanism(case)
    chosen = planning.choose(found.strategy, 40, 1000, 1e-6, np.random.default_rng(0)).user_types
    pairs = iter([coordinates_of(u, found.domain.sizes) for u in chosen])
    for one in sorted(found.strategy.parts, key=lambda part: -part.share):
        u, v = np.array(next(pairs)), np.array(next(pairs))
        differ = set(np.flatnonzero(u != v).tolist())
        assert differ
        assert differ <= set(one.attributes)


@pytest.mark.exhaustive
def test_both_shipped_clients_pass(tmp_path):
    found = mechanism("survey")
    one = audit(found, client_of(found, seeded(1)), samples=1500, types=16)
    assert one.passed, one.failures
    assert {check.name for check in one.checks} >= {"outputs", "parts", "event share", "independence"}
    path = found.save(tmp_path / "survey.ldp.json")
    one = audit(found, web_client(found, path), web_processes(found, path), samples=1500, types=16)
    assert one.passed, one.failures


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", SURVEYS)
def test_many_reports_bring_the_bound_near_epsilon(case):
    found = mechanism(case)
    one = audit(found, any_order(batch_of(found, 2)), samples=40_000, types=16)
    assert one.passed, one.failures
    assert one.certificate.holds
    assert 0.5 * float(found.epsilon) < one.epsilon_bound < float(found.epsilon)


def erring(found, change, seed=3):
    """Return draws of a correct client whose outputs are changed by change(outputs, coordinates, rng)."""
    clean, rng = batch_of(found, seed), np.random.default_rng(seed)

    def draw(cell, count):
        return Reports(
            change(clean(cell, count).outputs, np.array(coordinates_of(cell, found.domain.sizes)), rng)
        )

    return any_order(draw)


def other(found, part=None, **changes):
    """Return draws of another survey with as many outputs: one part, or its share, is changed."""
    parts = list(found.strategy.parts)
    if part is not None:
        parts[part] = replace(parts[part], **changes)
    total = math.fsum(one.share for one in parts)
    strategy = SurveyStrategy(
        found.strategy.sizes, tuple(replace(one, share=one.share / total) for one in parts)
    )
    rng = np.random.default_rng(7)

    def draw(cell, count):
        return Reports(strategy.randomise(np.tile(coordinates_of(cell, found.domain.sizes), (count, 1)), rng))

    return any_order(draw)


def first_part_alone(found):
    return other(found, 0, share=1e12)


def without_its_value(found):
    """The second part reports what somebody else would: its first cell, whatever the value."""

    def change(outputs, place, rng):
        strategy, made = found.strategy, outputs.copy()
        begin, end = strategy.offsets[1:3]
        inside = np.flatnonzero((begin <= outputs) & (outputs < end))
        one = strategy.parts[1].strategy
        made[inside] = begin + one.randomise(np.zeros(len(inside), dtype=np.int64), rng)
        return made

    return erring(found, change)


def of_more_epsilon(found):
    """The second part has 1.5 for .5."""
    return other(found, 1, strategy=st.published.randomised_response(5, 1.5))


def shares_a_little_off(found):
    return other(found, 0, share=found.strategy.parts[0].share * 1.05)


def told_by_the_answer(found):
    """Who lives in the first region is never asked the third part: the part that came tells the answer."""

    def change(outputs, place, rng):
        made, begin = outputs.copy(), found.strategy.offsets[2]
        if place[3] == 0:
            lost = np.flatnonzero(outputs >= begin)
            made[lost] = rng.choice(outputs[outputs < begin], len(lost))
        return made

    return erring(found, change)


def half_a_part(found):
    """The third part never reports its last outputs."""

    def change(outputs, place, rng):
        middle = (found.strategy.offsets[2] + found.outputs) // 2
        return np.where(outputs >= middle, outputs - (found.outputs - middle), outputs)

    return erring(found, change)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("make", "caught", "private"),
    [
        (first_part_alone, {"outputs", "parts"}, True),
        (shares_a_little_off, {"parts"}, True),
        (without_its_value, {"outputs", "event share"}, True),
        (of_more_epsilon, {"outputs", "event share"}, None),
        (told_by_the_answer, {"outputs", "parts"}, None),
        (half_a_part, {"outputs"}, None),
    ],
)
def test_a_client_that_errs_is_caught(make, caught, private):
    found = mechanism("survey")
    one = audit(found, make(found), samples=20_000, types=16)
    assert caught <= failed(one)
    assert not one.passed
    if private is not None:
        assert one.private == private


def test_a_client_of_more_epsilon_in_one_part_is_proven_to_break_it():
    """The part with the whole budget has 1.6 for 1."""
    found = mechanism("survey")
    sets = found.strategy.parts[0].strategy
    stronger = other(
        found, 0, strategy=replace(sets, theta=sets.theta / _growth(sets, 1.6), ratio=math.exp(1.6))
    )
    one = audit(found, stronger, samples=60_000, types=16)
    assert not one.private
    assert one.epsilon_bound > 1


def _growth(sets, epsilon):
    """Return by how much the columns of a two-level strategy grow if its ratio does."""
    inside = np.unpackbits(sets.patterns, axis=1, count=sets.size)[:, 0]
    return float(sets.theta @ (1 + (math.exp(epsilon) - 1) * inside))


@pytest.mark.exhaustive
def test_false_alarms_are_as_rare_as_stated():
    """Of 30 audits of a correct client at a rate of 20 %, more than 15 fail once in 20,000 times at most."""
    found, fails = mechanism("survey"), 0
    for seed in range(30):
        one = audit(found, any_order(batch_of(found, seed)), samples=400, types=6, seed=seed, false_alarm=0.2)
        fails += not one.passed
    assert fails <= 15
