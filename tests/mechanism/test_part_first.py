"""A part that the web client draws before its questions are asked: the same reports as of all answers at once."""

import io
import json
from itertools import pairwise

import numpy as np
import pytest
from test_client import ALARM, misfit, stream
from test_parts_table import SMALL, places_of

from mechanisms import SURVEYS, mechanism
from node import run
from stratagem.mechanism.client import Client

COUNT = 20_000


def value_of(found, place):
    """Return the answers to all questions, by name, of a user type given by its coordinates."""
    return found.value(int(np.ravel_multi_index(place, found.domain.sizes)))


@pytest.mark.parametrize("case", SURVEYS)
def test_the_same_bytes_make_the_same_reports_in_two_steps_as_in_one(case):
    """Exactly those of the Python client, which takes all answers at once."""
    found = mechanism(case)
    values = [value_of(found, place) for place in places_of(found, 200)]
    raw = b"".join(stream(case)(1 << 12) for _ in range(8))
    drawn = io.BytesIO(raw)
    client = Client(found.bundle, drawn.read)
    expected = [client.randomise(value) for value in values]
    job = {"bundle": found.text, "stream": raw, "values": [json.dumps(value) for value in values]}
    assert run("steps", **job) == run("reports", **job) == {"reports": expected, "used": drawn.tell()}


@pytest.mark.parametrize("case", SMALL)
def test_reports_in_two_steps_come_as_often_as_the_table_says(case):
    """Pearson's test with WebCrypto's bytes, a false alarm once in 10^6 runs; that of another answer, and of parts with
    other shares, must fail.
    """
    found = mechanism(case)
    Q, strategy = found.strategy.dense().matrix, found.strategy
    cell, other = 0, found.domain.size - 1
    text = json.dumps(value_of(found, np.unravel_index(cell, found.domain.sizes)))
    counts = np.array(run("stepCounts", bundle=found.text, text=text, draws=COUNT, outputs=found.outputs))
    assert misfit(counts, Q[:, cell]) > ALARM
    assert misfit(counts, Q[:, other]) < ALARM
    even = np.concatenate(
        [
            Q[first:last, cell] / part.share / len(strategy.parts)
            for part, (first, last) in zip(strategy.parts, pairwise(strategy.offsets), strict=True)
        ]
    )
    assert misfit(counts, even) < ALARM


WHOLE = {"age": 20, "sex": "f", "town": 3, "region": 4, "work": 0}
REFUSED = {
    "an answer to another part": (1, {"region": 4, "work": 0}, "but ['region'] is asked for"),
    "all answers": (1, WHOLE, "but ['region'] is asked for"),
    "an answer less": (0, {"age": 20}, "but ['age', 'sex'] is asked for"),
    "one bare answer of two": (0, 20, "give an object"),
    "a bare answer out of range": (1, 5, "region is 5"),
    "an answer out of range": (0, {"age": 131, "sex": "f"}, "age is 131"),
    "a part more": (3, {"work": 0}, "3 is no part of this survey"),
    "a part below zero": (-1, {"work": 0}, "-1 is no part of this survey"),
    "the name of a method": ("at", {"work": 0}, '"at" is no part of this survey'),
    "a part that was not drawn": (None, {"work": 0}, "null is no part of this survey"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_other_answers_than_those_of_the_part_are_refused_before_any_byte_is_drawn(case):
    part, value, sentence = REFUSED[case]
    (said,) = run("refusals", bundle=mechanism("survey").text, values=[json.dumps(value)], part=part)
    assert said.startswith("RangeError: ")
    assert sentence.replace("'", '"').replace(", ", ",") in said.replace(", ", ",")


def test_of_one_table_the_part_is_the_whole_and_costs_no_byte():
    found = mechanism("several-attributes")
    values = [json.dumps({"age": 20, "sex": "m"})] * 3
    job = {"bundle": found.text, "stream": stream("whole")(1 << 10), "values": values}
    assert run("steps", **job) == run("reports", **job)
