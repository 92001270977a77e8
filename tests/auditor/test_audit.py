"""Audits: correct clients pass, as seldom as stated they fail, and reports are read strictly.

Audits run at a false-alarm rate of 1e-6 unless they say otherwise, with seeded byte sources: a correct client
could fail one of about 20 of them with probability 2e-5, and would then fail it always.
"""

import math

import numpy as np
import pytest

import stratagem as st
from audits import any_order, audit, batch_of, client_of, reports_of, seeded
from mechanisms import CASES, mechanism, user_type
from stratagem.auditor.check import repeated
from stratagem.domain.attribute import value_of
from stratagem.mechanism.mechanism import Mechanism


@pytest.mark.sampled(27, 3)
@pytest.mark.parametrize("case", CASES)
def test_the_python_client_passes(case):
    found = mechanism(case)
    one = audit(found, client_of(found, seeded(1)), samples=5000, types=4)
    assert one.passed, one.failures
    assert one.certificate.holds
    assert {check.name for check in one.checks} >= {
        "outputs",
        "independence",
        "id bytes",
        "schema",
        "fresh ids",
    }
    assert one.epsilon_bound <= float(found.epsilon)
    assert len(one.user_types) == min(4, found.strategy.domain_size)


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", ["two-level", "projected", "hadamard", "hierarchical"])
def test_the_proved_epsilon_comes_close_to_the_truth(case):
    """A million reports of each user type prove 96 % of a budget of 1 or 2, with confidence 1 - 5e-7."""
    found = mechanism(case)
    one = audit(found, any_order(batch_of(found, 2)), samples=1_000_000, types=4)
    assert one.passed, one.failures
    assert 0.96 * float(found.epsilon) < one.epsilon_bound <= float(found.epsilon)


@pytest.mark.exhaustive
def test_correct_clients_fail_as_seldom_as_stated():
    """30 audits at a rate of 0.3: 23 or more failures come with probability 1e-7. Batches, so without ids."""
    found = mechanism("randomised")
    draw, options = any_order(batch_of(found, 12)), {"samples": 500, "types": 3, "false_alarm": 0.3}
    failures = sum(not audit(found, draw, seed=seed, **options).passed for seed in range(30))
    assert 0 < failures <= 22  # none at all would say that the checks waste what they may spend


@pytest.mark.parametrize(
    "edit",
    [
        {"output": 6},
        {"output": -1},
        {"output": 1.0},
        {"output": True},
        {"output": "1"},
        {"id": "00"},
        {"id": "A" * 32},
        {"id": 3},
        {"mechanism": "0" * 16},
        {"value": 3},
    ],
    ids=str,
)
def test_reports_that_break_the_schema_are_counted(edit):
    found = mechanism("randomised")
    report = found.client.randomise(2)
    one = reports_of(found, [report, report | edit])
    assert (one.outputs.tolist(), one.malformed) == ([report["output"], -1], 1)
    assert reports_of(found, [[], None, {}, 3]).malformed == 4


@pytest.mark.parametrize("case", CASES)
def test_every_user_type_has_a_value_that_the_client_takes(case):
    client = mechanism(case).client
    n = mechanism(case).strategy.domain_size
    assert [client.cell(value_of(mechanism(case).attributes, cell)) for cell in range(n)] == [
        user_type(mechanism(case), cell) for cell in range(n)
    ]


def test_repeated_ids_are_counted(rng):
    ids = rng.integers(0, 256, (1000, 16), dtype=np.uint8)
    assert repeated(ids) == 0
    ids[17] = ids[900]
    ids[3, :8] = ids[4, :8]  # half an id is no id
    assert repeated(ids) == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"samples": 99}, "99 samples were given"),
        ({"types": 1}, "at least 2 are compared"),
        ({"false_alarm": 0}, "between 0 and 0.5"),
        ({"false_alarm": 0.5}, "between 0 and 0.5"),
        ({"false_alarm": math.nan}, "between 0 and 0.5"),
    ],
)
def test_wrong_input_is_refused(options, words):
    found = mechanism("randomised")
    with pytest.raises(ValueError, match=words):
        audit(found, any_order(batch_of(found, 0)), **options)


def test_the_choice_of_user_types_is_repeatable_and_holds_both_ends():
    found = Mechanism.of(st.published.randomised_response(50, 1.0), st.histogram(50), 1.0)
    chosen = [
        audit(found, any_order(batch_of(found, 0)), samples=100, types=8, seed=seed).user_types
        for seed in (1, 1, 2)
    ]
    assert chosen[0] == chosen[1] != chosen[2]
    assert all({0, 49} <= set(one) and len(set(one)) == 8 for one in chosen)
