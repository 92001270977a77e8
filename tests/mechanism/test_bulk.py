"""Reports of many people at once: the distribution of the client, exactly, and its form."""

import itertools
import json
from collections import Counter
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from test_client import ALARM, misfit, stream
from test_exact_draws import TINY_HIGH, shares, tiny_translates, tiny_two_level, translates_units

from mechanisms import CASES, mechanism
from stratagem.mechanism import bulk
from stratagem.mechanism import client as shipped


def texts(size):
    """Yield a source for every text of so many random bytes; it has no more."""
    for number in range(256**size):
        left = list(number.to_bytes(size, "big"))

        def source(count, left=left):
            if count > len(left):
                raise StopIteration
            taken, left[:] = bytes(left[:count]), left[count:]
            return taken

        yield source


def kept(draw, size):
    """Return how many texts of random bytes make each number, and how many make none."""
    found: Counter[int] = Counter()
    for source in texts(size):
        try:
            found[int(draw(source)[0])] += 1
        except StopIteration:
            found[-1] += 1
    none = found.pop(-1, 0)
    return found, none


@pytest.mark.sampled(3)
@pytest.mark.parametrize("count", [2, 3, 7, 128, 129, 255, 256, 257, 40_000, 1 << 16])
def test_numbers_below_a_count_are_uniform(count):
    """Every text of random bytes: each number comes from as many, and at least half of the texts are kept."""
    size = 1 if count <= 256 else 2
    found, none = kept(lambda source: bulk.uniform(count, 1, source), size)
    assert sorted(found) == list(range(count))
    assert len(set(found.values())) == 1
    assert none <= 256**size / 2


@pytest.mark.parametrize(
    "sums", [[0, 255, 300], [1, 256, 257, 3000, 4096], [511, 1025, 1030], [300, 300, 301, 512]]
)
def test_parts_have_their_shares_of_the_sums(sums, monkeypatch):
    """Every text, where 8 bits are looked at first: as many make each part as its share of the total says."""
    monkeypatch.setattr(bulk, "WORD", 8)
    rest = max(0, (sums[-1] - 1).bit_length() - 8)
    found, total = Counter(), sums[-1]
    for top, low in itertools.product(range(256), range(1 << rest)):
        tops = iter([top])
        monkeypatch.setattr(bulk, "uniform", lambda count, k, _, tops=tops: np.array([next(tops)], np.uint64))
        try:
            found[int(bulk.parts(sums, 1, lambda _, low=low: bytes([low << -rest % 8]))[0])] += 1
        except StopIteration:
            found[-1] += 1
    found.pop(-1, None)
    weights = np.diff(sums, prepend=0).tolist()
    everything = sum(found.values())
    assert {part: Fraction(share, everything) for part, share in found.items()} == {
        part: Fraction(weight, total) for part, weight in enumerate(weights) if weight
    }


def chances(of, coordinates, monkeypatch):
    """Return the exact probability of every output of one person: all numbers and parts are tried that it asks for."""
    found: Counter[int] = Counter()

    class AskedError(Exception):
        """Something is drawn with these chances."""

    def explore(drawn, chance):
        given = iter(drawn)

        def next_of(weights):
            for one in given:
                return one
            raise AskedError(weights)

        def uniform(count, k, _):
            return np.array([next_of([1] * count) for _ in range(k)], np.uint64)

        def parts(sums, k, _):
            return np.array([next_of(np.diff(sums, prepend=0).tolist()) for _ in range(k)])

        monkeypatch.setattr(bulk, "uniform", uniform)
        monkeypatch.setattr(bulk, "parts", parts)
        try:
            found[int(bulk.draw(of, np.array([coordinates]), None)[0])] += chance
        except AskedError as asked:
            (weights,) = asked.args
            for one, weight in enumerate(weights):
                if weight:
                    explore([*drawn, one], chance * Fraction(weight, sum(weights)))

    explore([], Fraction(1))
    return dict(found)


def made(sampler, kind, sizes):
    """Return what a draw needs of a mechanism."""
    return SimpleNamespace(
        client=SimpleNamespace(sampler=sampler),
        domain=SimpleNamespace(sizes=sizes),
        bundle={"table": {"kind": kind}},
    )


def tiny(monkeypatch, bits):
    """Make tables of few units."""
    for module, (name, value) in itertools.product(
        (shipped, bulk), (("HIGH", TINY_HIGH), ("WEIGHT_BITS", bits))
    ):
        monkeypatch.setattr(module, name, value)


@pytest.mark.parametrize("sums", [24, 3, 0])
@pytest.mark.parametrize("seed", range(12))
def test_every_draw_of_a_tiny_table_of_two_levels_adds_up(seed, sums, monkeypatch):
    """However few sums of blocks are held in memory; the negative control looks at another column."""
    tiny(monkeypatch, 6)
    monkeypatch.setattr(shipped, "SUMS", sums)
    table, units = tiny_two_level(seed)
    n = units.shape[1]
    of = made(shipped._TwoLevel(table), "two-level", (n,))
    found = [chances(of, [cell], monkeypatch) for cell in range(n)]
    assert found == [shares(column.tolist()) for column in units.T]
    for one, column in itertools.product(range(n), repeat=2):
        assert (found[one] == found[column]) == (units[:, one] == units[:, column]).all()


@pytest.mark.parametrize("seed", range(8))
def test_every_draw_of_a_tiny_table_of_translates_adds_up(seed, monkeypatch):
    """The negative control looks at the next user type."""
    tiny(monkeypatch, 3)
    table, controls = tiny_translates(seed), 0
    of = made(shipped._Translates(table), "translates", tuple(table["cycles"]))
    for value in itertools.product(*map(range, table["cycles"])):
        found = chances(of, value, monkeypatch)
        assert found == shares(list(translates_units(table, value)))
        other = [(k + 1) % cycle for k, cycle in zip(value, table["cycles"], strict=True)]
        controls += shares(list(translates_units(table, other))) != found
    assert controls


@pytest.mark.parametrize("case", CASES)
def test_outputs_have_the_probabilities_of_the_table(case):
    """A false alarm has a chance of 1e-6 for each user type; the negative control looks at another one."""
    found = mechanism(case)
    n, Q = found.strategy.domain_size, found.strategy.dense().matrix
    for cell in {0, n - 1}:
        coordinates = np.tile(np.unravel_index(cell, found.domain.sizes), (100_000, 1))
        outputs = bulk.draw(found, coordinates, stream(case))
        counts = np.bincount(outputs, minlength=found.outputs)
        assert misfit(counts, Q[:, cell]) > ALARM
    if found.outputs > 1 and case not in ("fine", "two-level-small-epsilon", "window"):
        assert misfit(counts, Q[:, 0]) < ALARM


@pytest.mark.parametrize("case", CASES)
def test_all_values_cost_the_same_random_bytes(case):
    found, taken = mechanism(case), []
    for cell in range(found.strategy.domain_size):
        coordinates, source, sizes = (
            np.tile(np.unravel_index(cell, found.domain.sizes), (50, 1)),
            stream(1),
            [],
        )
        bulk.draw(found, coordinates, lambda count, s=source, t=sizes: t.append(count) or s(count))
        taken.append(sizes)
    assert all(sizes == taken[0] for sizes in taken)


@pytest.mark.parametrize("case", ["two-level", "labels", "several-attributes", "mixed-juntas"])
def test_lines_are_reports_of_the_client(case, monkeypatch):
    """In several blocks, the last of them not full, each with an id of its own."""
    monkeypatch.setattr(bulk, "BLOCK", 64)
    found = mechanism(case)
    lines = list(bulk.report_lines(found, np.zeros((150, len(found.domain.sizes)), np.int64)))
    reports = [json.loads(line) for line in lines]
    assert [json.dumps(report) + "\n" for report in reports] == lines
    assert {report["mechanism"] for report in reports} == {found.identifier[:16]}
    assert len({report["id"] for report in reports}) == 150
    assert all(isinstance(found.form.parse(line.encode()).output, int) for line in lines)
