"""The web client under node: Python's reports from the same bytes, the table's probabilities, equal work."""

import base64
import hashlib
import io
import itertools
import json

import numpy as np
import pytest

from mechanisms import CASES, TRANSLATES, mechanism
from node import run
from stratagem.mechanism.client import Client

BITS_32, BITS_52 = "randomised", "fine"
"""Cases whose columns have 32 and 52 bits."""


def answers(case):
    """Return a value of every user type, in order: labels, lower edges or numbers, `other` and `no answer`."""
    ranges = []
    for attribute in mechanism(case).bundle["domain"]:
        edges, others = attribute.get("edges", []), []
        if edges[-1:] == ["other"]:
            *edges, others = *edges[:-1], ["other"]
        values = attribute.get("labels") or [float(edge) for edge in edges[:-1]] + others
        left_out = ["no answer"] if attribute.get("no_answer") else []
        ranges.append([*values, *left_out] if values else range(attribute["size"]))
    names = [attribute["name"] for attribute in mechanism(case).bundle["domain"]]
    every = [dict(zip(names, values, strict=True)) for values in itertools.product(*ranges)]
    return every if len(names) > 1 else [value[names[0]] for value in every]


def users(case):
    """Return the coordinates of every user type, in order."""
    return [[int(k) for k in place] for place in np.ndindex(*mechanism(case).domain.sizes)]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", CASES)
def test_the_same_bytes_make_the_same_reports_as_in_python(case):
    found, values = mechanism(case), answers(case) * 12
    stream = hashlib.shake_256(case.encode()).digest(1 << 17)
    drawn = io.BytesIO(stream)
    client = Client(found.bundle, drawn.read)
    expected = [client.randomise(value) for value in values]
    job = {"bundle": found.text, "stream": stream, "values": [json.dumps(value) for value in values]}
    assert run("reports", **job) == {"reports": expected, "used": drawn.tell()}


def test_the_cases_have_columns_of_32_and_of_52_bits():
    assert mechanism(BITS_32).table.bits == 32
    assert mechanism(BITS_52).table.bits == 52


def test_every_boundary_of_a_column_is_met():
    """The first and the last number of every output, for every user type."""
    for case, bits in ((BITS_32, 32), (BITS_52, 52)):
        found, stream, expected = mechanism(case), io.BytesIO(), []
        values = answers(case)[::13]
        for cell in range(0, found.strategy.domain_size, 13):
            begin = 0
            for y, entry in enumerate(found.table.entries[:, cell].tolist()):
                for r in (begin, begin + entry - 1):
                    stream.write((r << 64 - bits).to_bytes(8, "big") + bytes(16))
                    expected.append(y)
                begin += entry
        texts = [json.dumps(value) for value in values for _ in range(2 * found.outputs)]
        job = run("reports", bundle=found.text, stream=stream.getvalue(), values=texts)
        assert [report["output"] for report in job["reports"]] == expected


@pytest.mark.parametrize(
    "case", ["two-level-small-epsilon", "two-level-huge-epsilon", "hadamard", "edges", *TRANSLATES]
)
def test_the_same_bytes_cost_the_same_work_for_every_value(case):
    """As many random bytes, and reads of sums, weights and patterns, whatever the user type."""
    found = mechanism(case)
    stream = hashlib.shake_256(b"reads").digest(1 << 12)
    work = run("reads", bundle=found.text, stream=stream, users=users(case), draws=30)
    assert len(work) == found.strategy.domain_size
    assert all(one == work[0] for one in work)
    assert all(reads >= 1 for _, reads in work[0])


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    "case", ["two-level-large-epsilon", "hadamard", "hierarchical", "labels", "mixed-juntas"]
)
def test_real_reports_have_the_probabilities_of_the_table(case):
    """Pearson's test of 2e5 reports with WebCrypto's bytes, once in 10^6 runs a false alarm per user type.

    The negative control takes the same counts for those of another user type, and must fail.
    """
    from scipy.stats import chi2

    found, draws = mechanism(case), 100_000
    Q, values = found.strategy.dense().matrix, answers(case)
    cells = (0, len(values) - 1)
    texts = [json.dumps(values[cell]) for cell in cells]
    job = run("counts", bundle=found.text, values=texts, draws=draws, outputs=found.outputs)
    assert job["ids"] == 2 * draws
    statistics = {}
    for (cell, text), believed in itertools.product(zip(cells, texts, strict=True), cells):
        possible, counts = draws * Q[:, believed] >= 5, np.array(job["counts"][text])
        observed = np.append(counts[possible], counts[~possible].sum())
        expected = draws * np.append(Q[possible, believed], Q[~possible, believed].sum())
        kept = expected > 0
        statistic = ((observed - expected)[kept] ** 2 / expected[kept]).sum()
        statistics[cell, believed] = chi2.sf(statistic, kept.sum() - 1)
    for (cell, believed), chance in statistics.items():
        assert (chance > 1e-6) == (cell == believed)


@pytest.mark.parametrize("case", ["two-level-large-epsilon", "hadamard", "torus"])
def test_random_bytes_are_fetched_for_every_draw(case):
    """A copy of a running machine holds none of the bytes to come; Python makes the same reports of those fetched."""
    found, value = mechanism(case), answers(case)[-1]
    job = run("fetches", bundle=found.text, text=json.dumps(value), draws=50)
    fetched = [base64.b64decode(text) for text in job["filled"]]
    drawn = io.BytesIO(b"".join(fetched))
    client = Client(found.bundle, drawn.read)
    for report, left in zip(job["reports"], job["left"], strict=True):
        assert report == client.randomise(value)
        assert drawn.tell() == sum(map(len, fetched[:left]))
    assert job["before"] == 0
    ended = [
        one for one in fetched if len(one) >= 16
    ]  # with the bytes of an id; a draw tried again may repeat a byte
    assert len(set(ended)) == len(ended) >= 50


@pytest.mark.parametrize("case", ["two-level-large-epsilon", "hadamard", "one-output", *TRANSLATES])
def test_probabilities_are_those_of_the_table(case):
    found = mechanism(case)
    m, n = found.outputs, found.strategy.domain_size
    shown = np.array(run("probabilities", bundle=found.text, outputs=m, users=users(case)))
    assert shown.shape == (m, n)
    assert np.allclose(shown, found.strategy.dense().matrix, rtol=1e-12)


@pytest.mark.parametrize(
    ("case", "values"),
    [
        ("hadamard", ["12", "-1", "1.5", "NaN", "true", "'12'", "'one'", "null", "undefined", "1n", "[1]"]),
        ("hadamard", ["{age: 1}", "{}", "Symbol()", "(() => { const o = {}; o.o = o; return [o]; })()"]),
        ("labels", ["'maybe'", "1", "['ja']", "'__proto__'", "''"]),
        ("edges", ["-31", "1e6", "NaN", "Infinity", "'three'", "''", "true", "new Date()"]),
        ("several-attributes", ["3", "{age: 20}", "{age: 20, sex: 'x'}", "{age: 130, sex: 'f'}"]),
        ("several-attributes", ["{age: 20, sex: 'f', city: 1}", "Object.create({age: 20, sex: 'f'})"]),
    ],
)
def test_a_value_outside_the_domain_is_refused_before_anything_is_drawn(case, values):
    """A source without bytes: a draw would be another error."""
    for sentence in run("refusals", bundle=mechanism(case).text, values=values):
        assert sentence.startswith("RangeError: ")
        assert "must be" in sentence or "was given" in sentence
        assert "\n" not in sentence
