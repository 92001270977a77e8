"""Counting in one process: no order, repetition, merge or restart changes the counts."""

import itertools
import json
import secrets

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as hs

from stratagem.collection.reports import Reason
from stratagem.collection.tally import Aggregator

IDENTIFIER = "0123456789abcdef" * 4
OUTPUTS = 5


def report(name, output):
    return {"mechanism": IDENTIFIER[:16], "id": f"{name:032x}", "output": output}


def aggregated(reports):
    aggregator = Aggregator(IDENTIFIER, OUTPUTS)
    for each in reports:
        aggregator.add(each)
    return aggregator


def facts(aggregator):
    tally = aggregator.tally()
    return (
        tally.counts.tolist(),
        dict(sorted(tally.rejected.items())),
        tally.duplicates,
        tally.conflicting,
        tally.received,
    )


def joined(*aggregators):
    whole = Aggregator(IDENTIFIER, OUTPUTS)
    for each in aggregators:
        whole.merge(each)
    return whole


REPORTS = hs.lists(hs.builds(report, hs.integers(0, 12), hs.integers(0, OUTPUTS)), max_size=25)


def expected(reports):
    """The counts by their definition: the ids with exactly one valid output."""
    outputs = {}
    for each in reports:
        if each["output"] < OUTPUTS:
            outputs.setdefault(each["id"], set()).add(each["output"])
    single = [next(iter(found)) for found in outputs.values() if len(found) == 1]
    return np.bincount(single, minlength=OUTPUTS).tolist(), sum(len(found) > 1 for found in outputs.values())


@settings(deadline=None)
@given(REPORTS, hs.randoms(use_true_random=False))
def test_the_order_of_arrival_means_nothing(reports, random):
    first = facts(aggregated(reports))
    random.shuffle(reports)
    assert facts(aggregated(reports)) == first
    assert (first[0], first[3]) == expected(reports)
    assert first[4] == len(reports)


@settings(max_examples=60, deadline=None)
@given(REPORTS, REPORTS, REPORTS)
def test_merging_is_commutative_associative_and_idempotent(a, b, c):
    parts = [aggregated(each) for each in (a, b, c)]
    whole = facts(aggregated(a + b + c))
    for order in itertools.permutations(parts):
        assert facts(joined(*order)) == whole
    x, y, z = parts
    assert facts(joined(joined(x, y), z)) == facts(joined(x, joined(y, z))) == whole
    again = joined(x, y, z)
    for each in (again, x, joined(z, y), joined(again)):
        again.merge(each)
    assert facts(again) == whole


def test_a_plain_sum_would_double(rng):
    """The control: without ids, what the merge above leaves unchanged is counted twice."""
    part = aggregated(report(int(name), int(rng.integers(OUTPUTS))) for name in range(50))
    both = joined(part, part).tally()
    assert both.counts.sum() == 50
    assert (part.tally().counts + part.tally().counts).sum() == 100


def test_rejected_reports_are_named_and_counted():
    aggregator = Aggregator(IDENTIFIER, OUTPUTS)
    assert aggregator.add(report(1, 2)) is None
    assert aggregator.add(report(1, OUTPUTS)) is Reason.RANGE
    assert aggregator.add(None) is Reason.SYNTAX
    aggregator.add_lines(["{", json.dumps(report(2, 4)), b"\xff", json.dumps(report(1, 2)).encode()])
    tally = aggregator.tally()
    assert tally.counts.tolist() == [0, 0, 1, 0, 1]
    assert tally.rejected == {"not a JSON object": 3, "output out of range": 1}
    assert (tally.duplicates, tally.conflicting, tally.anonymous, tally.received) == (1, 0, 0, 7)


def test_a_restart_from_any_saved_state_ends_the_same(tmp_path, rng):
    """Stopped after any report and given all of them again, it counts what an undisturbed one counts."""
    reports = [report(int(rng.integers(30)), int(rng.integers(OUTPUTS + 1))) for _ in range(60)]
    whole = aggregated(reports).tally()
    for stop in range(0, 60, 7):
        path = aggregated(reports[:stop]).save(tmp_path / "state.json")
        again = Aggregator.load(path)
        for each in reports:
            again.add(each)
        assert again.tally().counts.tolist() == whole.counts.tolist()
        assert again.tally().conflicting == whole.conflicting
        assert again.tally().received == 60 + stop


def test_states_read_twice_go_separate_ways(tmp_path):
    """Two aggregators that begin with the same file are told apart when they are merged."""
    path = aggregated([report(1, 1), report(2, OUTPUTS)]).save(tmp_path / "state.json")
    one, two = Aggregator.load(path), Aggregator.load(path)
    one.add(report(3, 3))
    two.add(report(4, 4))
    two.add(report(3, OUTPUTS))
    one.merge(two)
    assert facts(one) == ([0, 1, 0, 1, 1], {"output out of range": 2}, 0, 0, 5)


def test_a_saved_state_is_the_same_for_the_same_content(tmp_path):
    one = aggregated([report(name, name % OUTPUTS) for name in range(20)])
    first, second = (
        one.save(tmp_path / "a.json"),
        Aggregator.load(tmp_path / "a.json").save(tmp_path / "b.json"),
    )
    one, two = json.loads(first.read_bytes()), json.loads(second.read_bytes())
    assert one["reports"] == two["reports"]
    assert list(one["reports"]) == sorted(one["reports"])
    assert facts(Aggregator.load(first)) == facts(Aggregator.load(second))


def _edited(**changes):
    return lambda state: json.dumps(state | changes)


@pytest.mark.parametrize(
    "edit",
    [
        lambda state: "",
        lambda state: "[]",
        lambda state: "[" * 100_000,
        lambda state: json.dumps(state)[:-20],
        _edited(kind="other"),
        _edited(version=2),
        _edited(mechanism="0" * 63),
        _edited(outputs=2),
        _edited(outputs=True),
        _edited(reports={"0" * 31: 1}),
        _edited(reports={"G" * 32: 1}),
        _edited(reports={"0" * 32: OUTPUTS}),
        _edited(reports={"0" * 32: -2}),
        _edited(reports={"0" * 32: 1.0}),
        _edited(reports={"0" * 32: None}),
        _edited(reports=[1]),
        _edited(received={}),
        _edited(received={"a": {"valid": -1}}),
        _edited(received={"a": {"valid": "9"}}),
        _edited(received={"a": {"unheard of": 9}}),
        _edited(received={"a": 3}),
    ],
)
def test_a_damaged_state_is_refused(tmp_path, edit):
    path = aggregated([report(1, 4), report(2, 3)]).save(tmp_path / "state.json")
    path.write_text(edit(json.loads(path.read_text())))
    with pytest.raises(ValueError, match="not a saved aggregator of version 1, or damaged: give a file"):
        Aggregator.load(path)


def test_what_cannot_be_done_is_said(tmp_path):
    one = Aggregator(IDENTIFIER, OUTPUTS)
    with pytest.raises(ValueError, match="merge those of one mechanism"):
        one.merge(Aggregator(IDENTIFIER, OUTPUTS + 1))
    with pytest.raises(ValueError, match="merge those of one mechanism"):
        one.merge(Aggregator(secrets.token_hex(32), OUTPUTS))
    with pytest.raises(ValueError, match="suffix must be one of"):
        one.save(tmp_path / "state.pickle")
    with pytest.raises(ValueError, match="cannot be read"):
        Aggregator.load(tmp_path / "absent.json")
