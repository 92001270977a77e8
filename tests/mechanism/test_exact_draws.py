"""Draws by inversion: outputs have exactly the chances of their table, after a bounded number of random bytes."""

import base64
import io
import itertools
import json
import math
from collections import Counter
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from test_client import stream

from handmade import bundle_of, one_of, placements, text_of, translates, two_level
from mechanisms import CASES, mechanism, user_type
from node import run
from stratagem.domain.attribute import value_of
from stratagem.mechanism import client as shipped
from stratagem.mechanism.client import HIGH, Client
from stratagem.mechanism.table import TwoLevelTable

TWO_LEVEL = [case for case in CASES if mechanism(case).table.kind == "two-level"]
TRANSLATES = [case for case in CASES if mechanism(case).table.kind == "translates"]


def size_of(count):
    """Return how many random bytes a number below a count is made of: four bits more than it has, if it needs any."""
    bits = (count - 1).bit_length()
    return -(-(bits + 4 * (count != 1 << bits)) // 8)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 16, 17, 128, 129, 255, 256, 257, 2049, 4095, 65_536])
def test_a_number_below_a_count_is_uniform(count):
    """Every text of random bytes: each number comes from as many, and 15 of 16 texts are kept."""
    size, found = size_of(count), Counter()
    for text in range(256**size):
        tries = iter([text.to_bytes(size, "big")])
        try:
            found[shipped._uniform(count, lambda _, t=tries: next(t))] += 1
        except StopIteration:
            found[None] += 1
    kept = {number: times for number, times in found.items() if number is not None}
    assert sorted(kept) == list(range(count))
    assert len(set(kept.values())) == 1
    assert found[None] <= 256**size / 16


def chances(sampler, cell, monkeypatch):
    """Return the exact probability of every output: all numbers are tried that a draw may ask for."""
    found: Counter[int] = Counter()

    class AskedError(Exception):
        """A number below so many is asked for."""

    def explore(numbers, chance):
        given = iter(numbers)

        def uniform(count, _):
            for number in given:
                return number
            raise AskedError(count)

        monkeypatch.setattr(shipped, "_uniform", uniform)
        try:
            found[sampler.draw(cell, None)] += chance
        except AskedError as asked:
            (count,) = asked.args
            for number in range(count):
                explore([*numbers, number], chance / count)

    explore([], Fraction(1))
    return found


TINY_HIGH = 4
"""The higher level of tables so small that all their draws can be tried, 4 for 2^52."""


def tiny_two_level(seed):
    """Return a table of shifted sets whose weights sum to 2^6, and its exact columns."""
    rng = np.random.default_rng(seed)
    n, low = int(rng.integers(2, 6)), int(rng.integers(1, TINY_HIGH + 1))
    bases = [rng.random(n) < rng.uniform(0.1, 0.9) for _ in range(int(rng.integers(1, 32 // n + 1)))]
    inside = np.array([np.roll(base, k) for base in bases for k in range(n)] + [np.zeros(n, bool)])
    weights = np.repeat(rng.integers(0, 3, len(bases)), n)
    weights = np.append(weights, 64 - weights.sum())
    units = weights[:, None] * np.where(inside, TINY_HIGH, low)
    return two_level(inside, weights, low), units


def tiny_translates(seed):
    """Return a table of patterns over attributes on cycles, whose weights sum to 8."""
    rng = np.random.default_rng(seed)
    groups, cycles = ([0, 0, 1], [2, 2, 3]) if seed % 2 else ([0, 1], [3, 2])
    sets, low = (
        [(0,), (1,), (0, 1), (1, 0)] + [(0, 0), (0, 1, 0)] * (seed % 2),
        int(rng.integers(1, TINY_HIGH)),
    )
    patterns = []
    for k, weight in zip(rng.integers(0, len(sets), 3), rng.permutation([1, 3, 4]).tolist(), strict=True):
        inside = rng.random([cycles[groups.index(group)] for group in sets[k]]) < 0.5
        inside.flat[0], inside.flat[1] = True, False
        patterns.append((sets[k], weight, inside))
    return translates(cycles, groups, patterns, low)


def translates_inside(table, value):
    """Return for each pattern whether its translates hold a user type, from the description of the format alone."""
    groups = [[i for i, g in enumerate(table["groups"]) if g == k] for k in range(max(table["groups"]) + 1)]
    for pattern in table["patterns"]:
        cycles = [table["cycles"][groups[group][0]] for group in pattern["axes"]]
        raw, inside = base64.b64decode(pattern["bits"]), []
        places, multiples = list(placements(pattern["axes"], groups)), range(pattern.get("multiples", 1))
        for i, place, shift in itertools.product(multiples, places, itertools.product(*map(range, cycles))):
            cell = 0
            for attribute, step, cycle in zip(place, shift, cycles, strict=True):
                cell = cell * cycle + (value[attribute] - step) % cycle
            cell = cell * pow(pattern.get("root", 1), -i, math.prod(cycles)) % math.prod(cycles)
            inside.append(raw[cell // 8] >> 7 - cell % 8 & 1)
        yield inside


def translates_units(table, value):
    """Return what every output weighs for a user type."""
    for pattern, inside in zip(table["patterns"], translates_inside(table, value), strict=True):
        for one in inside:
            yield Fraction(pattern["weight"] * (TINY_HIGH if one else table["low"]), len(inside))


def shares(units):
    """Return whole numbers or fractions over their sum, those of nothing left out."""
    total = sum(map(Fraction, units))
    return {y: Fraction(unit) / total for y, unit in enumerate(units) if unit}


@pytest.mark.parametrize("sums", [24, 3, 0])
@pytest.mark.parametrize("seed", range(25))
def test_every_draw_of_a_tiny_table_of_two_levels_adds_up(seed, sums, monkeypatch):
    """However few sums of blocks are held in memory; the negative control looks at another column."""
    for name, value in (("HIGH", TINY_HIGH), ("WEIGHT_BITS", 6), ("SUMS", sums)):
        monkeypatch.setattr(shipped, name, value)
    table, units = tiny_two_level(seed)
    sampler = shipped._TwoLevel(table)
    assert len(sampler.blocks) <= max(1 << sums, units.shape[1])
    found = [chances(sampler, cell, monkeypatch) for cell in range(units.shape[1])]
    assert found == [shares(column.tolist()) for column in units.T]
    for one, column in itertools.product(range(units.shape[1]), repeat=2):
        assert (found[one] == found[column]) == (units[:, one] == units[:, column]).all()


@pytest.mark.parametrize("seed", range(12))
def test_every_draw_of_a_tiny_table_of_translates_adds_up(seed, monkeypatch):
    """The negative control looks at the next user type."""
    for name, value in (("HIGH", TINY_HIGH), ("WEIGHT_BITS", 3)):
        monkeypatch.setattr(shipped, name, value)
    table = tiny_translates(seed)
    sampler, controls = shipped._Translates(table), 0
    for value in itertools.product(*map(range, table["cycles"])):
        units = list(translates_units(table, value))
        assert chances(sampler, value, monkeypatch) == shares(units)
        other = list(
            translates_units(table, [(k + 1) % c for k, c in zip(value, table["cycles"], strict=True)])
        )
        controls += shares(other) != shares(units)
    assert controls


def told(count, number, last=False):
    """Return the first or the last random bytes of which a number below a count is made."""
    share = 256 ** size_of(count) // count
    return (number * share + (share - 1) * last).to_bytes(size_of(count), "big")


def two_level_ends(found, cell):
    """Yield the bytes of the first and last number of every output of a cell, and that output; beyond all, bytes
    that are not kept."""
    table = found.table
    inside = np.unpackbits(table.patterns, axis=1, count=table.size)[:, cell]
    weights = table.weights.astype(object)
    rise, below = HIGH - table.low, table.low << 32
    total, begin = below + rise * int(weights @ inside), 0
    for parts, unit in ((weights, table.low), (weights * inside, rise)):
        for y, part in enumerate(parts.tolist()):
            if part:
                yield told(total, begin), y
                begin += part * unit
                yield told(total, begin - 1, last=True), y
    assert begin == total
    if 256 ** size_of(total) % total:
        yield told(total, total) + told(total, 0), int(np.flatnonzero(weights)[0])


def translates_ends(found, cell):
    """Yield the bytes of the first and last of all translates of each pattern, and their output, and the bytes of all
    translates that hold a user type, and which these are."""
    table, sampler, value, begin = found.bundle["table"], found.client.sampler, user_type(found, cell), 0
    sums = [0, *sampler.first[: 2 * len(sampler.rules) - 1], sampler.total]
    masses = [after - before for before, after in pairwise(sums)]
    pairs = zip(sampler.rules, translates_inside(table, value), masses[::2], masses[1::2], strict=True)
    for (offset, *_), inside, low, high in pairs:
        count, meeting = len(inside), frozenset((offset + np.flatnonzero(inside)).tolist())
        yield told(sampler.total, begin) + told(count, 0), offset
        yield (
            told(sampler.total, begin + low - 1, last=True) + told(count, count - 1, last=True),
            offset + count - 1,
        )
        for number in range(len(meeting)):
            r = begin + low + (high - 1) * (number % 2)
            yield told(sampler.total, r) + told(len(meeting), number), meeting
        begin += low + high
    assert begin == sampler.total


def judged(found, ends):
    """Assert that these bytes make these outputs in Python and on the web; each of a set of outputs is made once."""
    texts, drawn, met = list(ends), [], {}
    for raw, expected, cell in texts:
        source = io.BytesIO(raw)
        drawn.append(found.client.sampler.draw(user_type(found, cell), source.read))
        assert source.tell() == len(raw)
        if isinstance(expected, frozenset):
            met.setdefault((cell, expected), []).append(drawn[-1])
        else:
            assert drawn[-1] == expected
    assert all(sorted(outputs) == sorted(expected) for (_, expected), outputs in met.items())
    values = [json.dumps(value_of(found.attributes, cell)) for _, _, cell in texts]
    job = run(
        "reports", bundle=found.text, stream=b"".join(raw + bytes(16) for raw, _, _ in texts), values=values
    )
    assert [report["output"] for report in job["reports"]] == drawn


@pytest.mark.parametrize("case", TWO_LEVEL)
def test_the_outputs_of_two_levels_meet_at_the_right_numbers(case):
    """Each output has one range of numbers for all and one more for the user types inside: both ends are drawn."""
    found = mechanism(case)
    cells = range(found.table.size)
    judged(found, [(*end, cell) for cell in cells for end in two_level_ends(found, cell)])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", TRANSLATES)
def test_the_translates_that_hold_a_user_type_are_drawn_once_each(case):
    """Of each pattern the first and last of all translates, and all those that hold the user type."""
    found = mechanism(case)
    cells = range(found.strategy.domain_size)
    judged(found, [(*end, cell) for cell in cells for end in translates_ends(found, cell)])


def shifts(n, size, blank):
    """Return the shifts of a set of neighbours and a row of nobody, with nearly all of the weight on that row."""
    inside = np.array([np.roll(np.arange(n) < size, k) for k in range(n)] + [np.zeros(n, bool)])
    return inside, [*[((1 << 32) - blank) // n] * n, (1 << 32) - ((1 << 32) - blank) // n * n]


SLOW = {
    "nobody is in any set": lambda: two_level(np.zeros((5, 9)), [1 << 30] * 3 + [1 << 29] * 2, 1),
    "everybody is in each set": lambda: two_level(np.ones((2, 9)), [1 << 31] * 2, 1),
    "nearly always a blank row": lambda: two_level(*shifts(100, 1, (1 << 32) - 100), 1),
    "one of 500": lambda: two_level(*shifts(500, 1, 0), 1),
    "a pattern that is hardly ever drawn": lambda: translates(
        [1 << 10], [0], [((0,), (1 << 32) - 1, one_of(1 << 10)), ((0,), 1, ~one_of(1 << 10))], 1
    ),
    "one of 2^20": lambda: translates([1 << 20], [0], [((0,), 1 << 32, one_of(1 << 20))], 1),
    "one of 2^20 at epsilon 15": lambda: translates(
        [1 << 20], [0], [((0,), 1 << 32, one_of(1 << 20))], math.ceil(HIGH / math.exp(15)) + 1
    ),
    "pairs of a thousand attributes": lambda: translates(
        [7] * 1000, [0] * 1000, [((0, 0), 1 << 32, one_of(49).reshape(7, 7))], 1
    ),
    "cycles without a common divisor": lambda: translates(
        [1021, 1031], [0, 1], [((k,), 1 << 31, one_of(cycle)) for k, cycle in enumerate((1021, 1031))], 1
    ),
}


@pytest.mark.parametrize("name", SLOW)
def test_no_bundle_keeps_a_client_drawing(name):
    """Whatever the levels and weights: a number is kept with chance 15/16 or more, and a report takes two at most."""
    bundle = bundle_of(SLOW[name]())
    sizes = [attribute["size"] for attribute in bundle["domain"]]
    taken, source = [], stream(name)
    client = Client(bundle, lambda count: taken.append(count) or source(count))
    values = [[k % size for size in sizes] for k in range(150)]
    names = [attribute["name"] for attribute in bundle["domain"]]
    given = [value[0] if len(sizes) == 1 else dict(zip(names, value, strict=True)) for value in values]
    reports = [client.randomise(value) for value in given]
    assert len(taken) <= 3.5 * len(values)  # the id, and two numbers of 16/15 tries each on average, at most
    assert max(taken) <= 16
    recorded = stream(name)
    job = {
        "bundle": text_of(bundle),
        "stream": b"".join(map(recorded, taken)),
        "values": list(map(json.dumps, given)),
    }
    assert run("reports", **job) == {"reports": reports, "used": sum(taken)}


def test_patterns_without_a_common_unit_are_refused():
    """Cycles of primes make a unit that grows with each: the numbers of a draw stay below 1,200 bits."""
    primes = [p for p in range(1000, 3000) if all(p % k for k in range(2, 60))][:120]
    patterns = [((k,), 1 << 24, one_of(p)) for k, p in enumerate(primes)]
    patterns[-1] = (patterns[-1][0], (1 << 32) - (len(primes) - 1 << 24), patterns[-1][2])
    with pytest.raises(ValueError, match="share no unit of 1024 bits"):
        bundle_of(translates(primes, range(len(primes)), patterns, 1))


def test_a_simulation_of_what_is_hardly_ever_kept_ends():
    """A blank row takes nearly all draws: drawn again until kept, it would take 2^52 of them."""
    table, rng = TwoLevelTable.of(SLOW["nearly always a blank row"](), (100,)), np.random.default_rng(0)
    outputs = table.randomise(np.arange(1000) % 100, rng)
    assert (outputs < 100).mean() > 0.99  # 2^52 low units for every one beyond the blank row
    assert (outputs[outputs < 100] == np.flatnonzero(outputs < 100) % 100).all()
