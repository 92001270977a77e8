"""What the form says of a report, against the table of probabilities."""

import json
import subprocess

import numpy as np
import pytest

import stratagem as st
from mechanisms import CASES, mechanism
from memos import memoised
from node import WEB
from stratagem.mechanism.mechanism import Mechanism
from tools import need

MOST = 40
"""Outputs of a table that are looked at."""
SCRIPT = """
import { readFileSync } from "node:fs";
import { webcrypto } from "node:crypto";
globalThis.crypto ??= webcrypto;
const { web, bundle, outputs, epsilons } = JSON.parse(readFileSync(0, "utf8"));
const { load } = await import(`${web}/client.js`), words = await import(`${web}/words.js`);
const client = await load(bundle, { atMost: 300, memo: null });
console.log(JSON.stringify({
  meanings: outputs.map((output) => words.meaning(client, output)),
  own: words.ownAmong(client, 0),
  sure: epsilons.map(words.sureness),
}));
"""


def told(found, outputs=(), epsilons=()):
    job = {"web": WEB.as_uri(), "bundle": found.text.decode(), "outputs": [*outputs], "epsilons": [*epsilons]}
    command = [need("node"), "--input-type=module", "--eval", SCRIPT]
    done = subprocess.run(command, input=json.dumps(job), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def texts_of(found, outputs):
    """Return the answers in the meaning of each output, each as one text."""
    written = "{}: {}" if len(found.attributes) > 1 else "{}{}"
    return [
        [", ".join(written.format(*pair) for pair in text) for text in meaning["texts"]]
        for meaning in told(found, outputs)["meanings"]
    ]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", CASES)
def test_the_answers_are_those_that_make_an_output_likelier(case):
    """A set has two probabilities; the probability of the own answer's being in it is that of the table."""
    found = mechanism(case)
    Q = found.strategy.dense().matrix
    outputs = np.unique(np.linspace(0, len(Q) - 1, MOST).astype(int)).tolist()
    given = told(found, outputs)
    for output, meaning in zip(outputs, given["meanings"], strict=True):
        high, low = Q[output].max(), Q[output].min()
        likely = Q[output] ** 2 > high * low * (1 + 1e-9)
        two = np.allclose(Q[output], np.where(likely, high, low), rtol=1e-5, atol=0)
        kind = "nothing" if high <= low * (1 + 1e-5) else "set" if two else "fits"
        assert (meaning["kind"], meaning["count"] > 0) == (kind, kind != "nothing")
        assert len(meaning["texts"]) <= meaning["count"]
    if given["own"] is not None:
        inside = (Q**2 > Q.max(1, keepdims=True) * Q.min(1, keepdims=True) * (1 + 1e-9)).astype(float)
        whole = Q.max(1) <= Q.min(1) * (1 + 1e-5)  # rows that hold all values of the domain, or none
        chances = ((inside * Q)[~whole]).sum(0)
        slack = Q[whole].sum(0).max() if whole.any() else 0.0
        assert np.all(chances <= given["own"] + 0.01)
        assert np.all(chances + slack >= given["own"] - 0.01)


@pytest.mark.parametrize(
    ("case", "output", "texts"),
    [
        ("labels", 1, ["nein"]),
        ("hadamard", 2, ["0", "3 to 4", "7 to 8"]),
        ("unit", 2, ["0.5 to below 60 minutes"]),
        ("binary-juntas", 482, ["a2: 0"]),
        ("mixed-juntas", 254, ["c: yes"]),
        ("table-on-one-cycle", 4, ["sex: f, age: 0", "sex: m, age: 1"]),
    ],
)
def test_answers_are_named_as_their_owners_call_them(case, output, texts):
    """Neighbouring numbers are one text, and attributes that make no difference are left out."""
    assert texts_of(mechanism(case), [output]) == [texts]


NAMED = {
    "0:7:1,whole": ("1", "", "7 or more, or something else"),
    "-2:3:1,whole": ("-1", "minutes", "less than -2 minutes, or 3 minutes or more"),
    "15,16,20,30,85,whole": ("16 to 19", "years", "less than 15 years, or 85 years or more"),
    "0:7:1": ("1 to below 2", "", "7 or more, or something else"),
    "0:70:10,whole": ("10 to 19", "years", "70 years or more, or something else"),
    "0:70:10": ("10 to below 20", "years", "70 years or more, or something else"),
    "0:1:0.25": ("0.25 to below 0.5", "", "1 or more, or something else"),
    "2024-01-01:2025-01-01:1mo": ("2024-02", "", "before 2024-01, or after 2024-12"),
    "2024-01-01:2025-01-01:3mo": ("2024-04 to 2024-06", "", "before 2024-01, or after 2024-12"),
    "2020-01-01:2024-01-01:1y": ("2021", "", "before 2020, or after 2023"),
    "2024-02-28:2024-03-02:1d": ("2024-02-29", "", "before 2024-02-28, or after 2024-03-01"),
    "2026-01-05:2026-02-02:1w": ("2026-01-12 to 2026-01-18", "", "before 2026-01-05, or after 2026-02-01"),
    "08:00:20:00:4h": ("12:00 to below 16:00", "", "before 08:00, or 20:00 or later"),
}
"""What the second bin is called, its unit, and what lies in none."""


@pytest.mark.parametrize("text", NAMED)
def test_bins_are_called_alike_in_the_form_and_in_tables(text):
    """Whole numbers, days, months and years by themselves, and only what is not whole by the next edge."""
    second, unit, beyond = NAMED[text]
    bins = st.bins(text, other=True, unit=unit)
    found = Mechanism.of(st.published.randomised_response(bins.size, 1.0), st.histogram(bins), 1.0)
    (attribute,) = found.attributes
    shown = texts_of(found, range(bins.size))
    assert shown[:-1] == [[attribute.values_text(cell, cell)] for cell in range(bins.size - 1)]
    assert shown[1] == [f"{second} {attribute.unit}".strip()]
    assert shown[-1] == [beyond]
    several = Mechanism.of(st.published.hadamard_response(bins.size, 1.0), st.histogram(bins), 1.0)
    runs = {text for texts in texts_of(several, range(several.bundle["table"]["outputs"])) for text in texts}
    spans = {attribute.values_text(a, b) for a in range(bins.size - 1) for b in range(a, bins.size - 1)}
    assert runs <= spans | {beyond}


def test_a_set_of_bins_ends_before_other():
    strategy = st.published.hadamard_response(4, 1.0)
    found = Mechanism.of(strategy, st.histogram(st.bins("0:30:10", other=True)), 1.0)
    Q = strategy.dense().matrix
    output = next(y for y in range(len(Q)) if [*(Q[y] > Q[y].mean())][2:] == [True, True])
    (texts,) = texts_of(found, [output])
    assert texts[-2:] == ["20 to below 30", "30 or more, or something else"]


def test_of_a_hundred_attributes_only_those_that_matter_are_named():
    found = mechanism("hundred")
    (meaning,) = told(found, [55208350644457])["meanings"]
    named = {name for text in meaning["texts"] for name, _ in text}
    assert (meaning["kind"], len(named)) == ("set", 5)


def test_with_a_memo_the_chance_is_that_of_one_report():
    found = memoised("pairs")
    Q = found.strategy.dense().matrix
    assert told(found)["own"] == pytest.approx((Q * (Q > Q.mean(1, keepdims=True))).sum(0)[0], abs=1e-6)


def test_how_sure_somebody_can_be_is_rounded_up_and_stays_below_certainty():
    """e/(1 + e) = 0.73106, e^2/(1 + e^2) = 0.88080, e^10/(1 + e^10) = 0.9999546."""
    found = told(mechanism("labels"), epsilons=[0.0001, 1, 2, 10])["sure"]
    assert found == ["50.1 %", "73.2 %", "88.1 %", "99.9955 %"]
