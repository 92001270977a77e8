"""The client: exact draws, the same work for every value, errors before any randomness."""

import hashlib

import numpy as np
import pytest
from scipy.stats import chi2

from mechanisms import CASES, mechanism, user_type
from stratagem.mechanism.client import Client
from tools import Counting

ALARM = 1e-6
"""False-alarm rate of each goodness-of-fit test; the seeds are fixed."""


def stream(seed):
    """Return a source of reproducible bytes."""
    state = {"counter": 0}

    def source(count):
        state["counter"] += 1
        return hashlib.shake_256(f"{seed} {state['counter']}".encode()).digest(count)

    return source


def misfit(counts, probabilities):
    """Return the p-value of Pearson's test, outputs expected less than five times pooled."""
    expected = counts.sum() * probabilities
    rare = expected < 5
    observed = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    kept = expected > 0
    statistic = ((observed - expected)[kept] ** 2 / expected[kept]).sum()
    return chi2.sf(statistic, max(1, kept.sum() - 1))


@pytest.mark.parametrize("case", CASES)
def test_outputs_have_the_probabilities_of_the_table(case):
    found = mechanism(case)
    n, Q = found.strategy.domain_size, found.strategy.dense().matrix
    sampler, source = Client(found.bundle).sampler, stream(case)
    for cell in {0, n - 1}:
        one = user_type(found, cell)
        counts = np.bincount([sampler.draw(one, source) for _ in range(4000)], minlength=found.outputs)
        assert misfit(counts, Q[:, cell]) > ALARM
    if found.outputs > 1 and case not in ("fine", "two-level-small-epsilon", "window"):
        assert misfit(counts * 25, Q[:, 0]) < ALARM or n == 1  # the test does see another user type


@pytest.mark.parametrize("case", CASES)
def test_simulated_outputs_have_them_too(case):
    found = mechanism(case)
    n, Q = found.strategy.domain_size, found.strategy.dense().matrix
    rng = np.random.default_rng(5)
    cells = rng.integers(0, n, 200_000)
    outputs = found.randomise(cells, rng)
    for cell in range(n):
        counts = np.bincount(outputs[cells == cell], minlength=found.outputs)
        assert misfit(counts, Q[:, cell]) > ALARM / n


@pytest.mark.parametrize("case", CASES)
def test_the_same_bytes_cost_the_same_work_for_every_value(case):
    """As many random bytes, steps of searches, weights and bytes of patterns, whatever the user type."""
    found = mechanism(case)
    assert all(len(set(work)) == 1 for work in works(found, Client(found.bundle).sampler))


@pytest.mark.parametrize("case", ["randomised", "two-level"])
def test_a_search_that_is_not_filled_up_would_be_seen(case):
    """The negative control: a table of another length than 2^k - 1, or one row of a block left out."""
    found = mechanism(case)
    sampler = Client(found.bundle).sampler
    if case == "randomised":
        sampler.stride -= 2
        sampler.first = [x for k, x in enumerate(sampler.first) if k % (sampler.stride + 2) < sampler.stride]
    else:
        sampler.patterns = sampler.patterns[: len(sampler.patterns) - sampler.width]
        sampler.weights = sampler.weights[: len(sampler.weights) - 1]
    assert any(len(set(work)) > 1 for work in works(found, sampler))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    "value", [0, 1, -1, True, 0.5, 1.5, "0", "a", "other", None, [0], np.int64(1), np.float64(0.5)]
)
def test_a_plain_value_means_what_it_does_under_its_name(case, value):
    client = Client(mechanism(case).bundle)
    if len(names := [one["name"] for one in client.attributes]) == 1:
        assert answer(client.cell, value) == answer(client.cell, {names[0]: value})


def answer(function, value):
    """Return what a function makes of a value, or what it says of it."""
    try:
        return function(value)
    except ValueError as error:
        return str(error)


def works(found, sampler):
    """Return for each of 60 streams of bytes what a draw costs every user type: bytes taken, reads of all tables."""
    tables = counted(sampler)
    for seed in range(60):
        work = []
        for cell in range(found.strategy.domain_size):
            drawn, before = [], [table.reads for table in tables]
            source = stream(seed)
            sampler.draw(user_type(found, cell), lambda count, s=source, d=drawn: d.append(count) or s(count))
            work.append((*drawn, *(table.reads - b for table, b in zip(tables, before, strict=True))))
        yield work


def counted(sampler):
    """Let all tables of a sampler count how often they are read, and return them."""
    tables = []
    for name in ("first", "blocks", "weights", "patterns"):
        if hasattr(sampler, name):
            tables.append(Counting(getattr(sampler, name)))
            setattr(sampler, name, tables[-1])
    if hasattr(sampler, "rules"):
        sampler.rules = [(*rule, Counting(words), Counting(sums)) for *rule, words, sums in sampler.rules]
        tables += [table for rule in sampler.rules for table in rule[-2:]]
    return tables


@pytest.mark.parametrize("case", ["torus-window", "binary-juntas", "mixed-juntas"])
def test_the_same_bytes_read_the_same_coordinates_of_every_user_type(case):
    """The attributes that a draw looks at are drawn, not chosen by their values."""
    found, seen = mechanism(case), {}
    sampler = Client(found.bundle).sampler
    for cell in range(found.strategy.domain_size):
        for seed in range(20):
            looked = Looked(user_type(found, cell))
            sampler.draw(looked, stream(seed))
            assert seen.setdefault(seed, looked.places) == looked.places
    assert len({len(places) for places in seen.values()}) > 1


class Looked(list):
    """Coordinates that note which of them are read."""

    def __init__(self, coordinates):
        super().__init__(coordinates)
        self.places = []

    def __getitem__(self, place):
        self.places.append(place)
        return super().__getitem__(place)


def test_the_search_ends_at_the_right_output_at_every_boundary():
    found = mechanism("hadamard")
    sampler = Client(found.bundle).sampler
    for cell in range(found.strategy.domain_size):
        begin = 0
        for y, entry in enumerate(found.table.entries[:, cell].tolist()):
            for r in (begin, begin + entry - 1):
                assert sampler.draw(cell, lambda _, r=r: (r << 32).to_bytes(8, "big")) == y
            begin += entry


def no_bytes(count):
    """Fail: a value outside the domain must be refused before randomness is drawn."""
    raise AssertionError("random bytes were drawn")


@pytest.mark.parametrize(
    ("case", "value"),
    [
        ("two-level", 12),
        ("two-level", -1),
        ("two-level", 1.5),
        ("two-level", 12.0),
        ("two-level", True),
        ("two-level", "12"),
        ("two-level", "one"),
        ("two-level", None),
        ("two-level", {"age": 1}),
        ("labels", "maybe"),
        ("labels", 1),
        ("labels", ("ja",)),
        ("edges", -31),
        ("edges", 1e6),
        ("edges", float("nan")),
        ("edges", "three"),
        ("edges", ""),
        ("edges", True),
        ("several-attributes", 3),
        ("several-attributes", {"age": 20}),
        ("several-attributes", {"age": 20, "sex": "x"}),
        ("several-attributes", {"age": 130, "sex": "f"}),
        ("several-attributes", {"age": 20, "sex": "f", "city": 1}),
    ],
    ids=str,
)
def test_a_value_outside_the_domain_is_refused_before_anything_is_drawn(case, value):
    with pytest.raises(ValueError, match=r"was given|must be") as error:
        Client(mechanism(case).bundle, no_bytes).randomise(value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("case", "value", "cell"),
    [
        ("two-level", 11, 11),
        ("labels", "weiß nicht ☂", 2),
        ("edges", -30, 0),
        ("edges", 0, 1),
        ("edges", 0.5, 2),
        ("edges", 999_999.5, 3),
        ("several-attributes", {"sex": "m", "age": 18}, 3),
        ("several-attributes", {"age": 129.9, "sex": "f"}, 4),
    ],
)
def test_values_find_their_user_type(case, value, cell):
    assert Client(mechanism(case).bundle, no_bytes).cell(value) == cell


def test_reports_are_never_alike():
    reports = [mechanism("labels").client.randomise("ja") for _ in range(100)]
    assert len({report["id"] for report in reports}) == 100
    assert {report["mechanism"] for report in reports} == {mechanism("labels").identifier[:16]}
