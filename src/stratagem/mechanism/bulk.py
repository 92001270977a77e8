"""Reports of many people at once: the draws of the client, in arrays.

The distribution is that of the client, in whole numbers: nothing is rounded. Random bytes are read in blocks; how many
of them, and how often a number is drawn again, depends on no value.
"""

from __future__ import annotations

import secrets
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from stratagem.mechanism.client import HIGH, WEIGHT_BITS
from stratagem.mechanism.mechanism import Mechanism

Source = Callable[[int], bytes]
"""Function from a number k to k random bytes."""
WORD = 64
"""Bits by which parts are told apart at first; the others decide about once in 2^63 draws for each part."""
BLOCK = 1 << 15
"""Reports that are made together: their words of 64 bits take 16 MB one by one."""


def report_lines(
    mechanism: Mechanism, coordinates: np.ndarray, source: Source = secrets.token_bytes
) -> Iterator[str]:
    """Yield one report for each row of coordinates (k, d), as the line of JSON that `json.dumps` makes of it.

    Guarantee:
        Outputs have exactly the probabilities of the bundle's table, and so keep its epsilon, if `source` returns
        independent uniform bytes.
    """
    begin = f'{{"mechanism": "{mechanism.identifier[:16]}", "id": "'
    for first in range(0, len(coordinates), BLOCK):
        some = coordinates[first : first + BLOCK]
        outputs = draw(mechanism, some, source).tolist()
        ids = source(16 * len(some)).hex()
        yield from (
            f'{begin}{ids[32 * k : 32 * k + 32]}", "output": {output}}}\n' for k, output in enumerate(outputs)
        )


def draw(mechanism: Mechanism, coordinates: np.ndarray, source: Source) -> np.ndarray:
    """Return an output (k,) for each row of coordinates (k, d) in the domain of a mechanism."""
    return _drawn(
        mechanism.bundle["table"], mechanism.client.sampler, mechanism.domain.sizes, coordinates, source
    )


def _drawn(
    table: Mapping[str, Any], sampler: Any, sizes: Sequence[int], coordinates: np.ndarray, source: Source
) -> np.ndarray:
    """Return an output (k,) of a table for each row of coordinates (k, d) of attributes of these sizes."""
    if (kind := table["kind"]) == "parts":
        return _parts(table["parts"], sampler, sizes, coordinates, source)
    if kind == "translates":
        if sum(map(len, sampler.groups)) == coordinates.shape[1]:
            return _translates(sampler, coordinates, source)
        return _translates(sampler, _cells(sizes, coordinates)[:, None], source)
    return (_two_level if kind == "two-level" else _columns)(sampler, _cells(sizes, coordinates), source)


def _parts(
    every: Sequence[Mapping[str, Any]],
    sampler: Any,
    sizes: Sequence[int],
    coordinates: np.ndarray,
    source: Source,
) -> np.ndarray:
    """Return outputs (k,) of parts, which are drawn for all rows before any of these is looked at."""
    drawn = parts(list(accumulate(one["share"] for one in every)), len(coordinates), source)
    outputs = np.empty(len(drawn), np.int64)
    for i, (offset, places, own) in enumerate(sampler.parts):
        people, few = np.flatnonzero(drawn == i), [sizes[k] for k in places]
        if len(people):
            some = coordinates[people][:, places]
            outputs[people] = offset + _drawn(every[i]["table"], own, few, some, source)
    return outputs


def _cells(sizes: Sequence[int], coordinates: np.ndarray) -> np.ndarray:
    """Return the numbers (k,) of the user types, the last attribute fastest."""
    return np.asarray(np.ravel_multi_index(tuple(coordinates.T), tuple(sizes)))


def uniform(count: int, k: int, source: Source) -> np.ndarray:
    """Return k independent whole numbers below `count` <= 2^64, uint64; each try is kept with 1/2 or more."""
    bits = (count - 1).bit_length()
    size = next(size for size in (1, 2, 4, 8) if 8 * size >= bits)
    numbers, open_ = np.zeros(k, np.uint64), np.arange(k)
    while bits and len(open_):
        tried = np.frombuffer(source(size * len(open_)), f">u{size}").astype(np.uint64)
        tried >>= np.uint64(8 * size - bits)
        numbers[open_] = tried
        open_ = open_[tried > count - 1]
    return numbers


def parts(sums: Sequence[int], k: int, source: Source) -> np.ndarray:
    """Return k independent parts i (k,), each with probability (sums[i] - sums[i - 1])/sums[-1].

    That is a uniform number below sums[-1], of any size, among the sums. Its first 64 bits are drawn for all; where
    they are those of a sum, the others are drawn too.
    """
    total = sums[-1]
    rest = max(0, (total - 1).bit_length() - WORD)
    limits = np.array([one >> rest for one in sums if one >> rest < 1 << WORD], np.uint64)
    if rest == 0:
        return np.searchsorted(limits, uniform(total, k, source), "right")
    found, open_ = np.zeros(k, np.int64), np.arange(k)
    while len(open_):
        top = uniform(1 << WORD, len(open_), source)
        found[open_] = np.searchsorted(limits, top, "right")
        for j in np.flatnonzero(np.isin(top, limits)).tolist():
            low = int.from_bytes(source(-(-rest // 8)), "big") >> -rest % 8
            found[open_[j]] = bisect_right(sums, int(top[j]) << rest | low)
        open_ = open_[found[open_] >= len(sums)]
    return found


def _search(sums: np.ndarray, begin: np.ndarray, many: int, r: np.ndarray) -> np.ndarray:
    """Return how many of the sums begin, ..., begin + many - 1 are at most r, for each r (k,), all uint64.

    `many` is 2^s - 1, or 2^s where the last of the sums is above every r.
    """
    found, step = np.zeros(len(r), np.int64), (many + 1) // 2
    while step:
        found += np.where(sums[begin + found + step - 1] <= r, step, 0)
        step //= 2
    return found


def _two_level(sampler: Any, cells: np.ndarray, source: Source) -> np.ndarray:
    """Return rows by their weights alone, or by the weights of those that hold the cell, in as many steps for each."""
    high = parts([sampler.below, sampler.total], len(cells), source) > 0
    rows, held = np.empty(len(cells), np.int64), cells[high]
    first = np.array(sampler.first, np.uint64)
    r = uniform(1 << WEIGHT_BITS, int((~high).sum()), source)
    rows[~high] = _search(first, np.zeros(len(r), np.int64), len(first), r)
    if len(held):
        covered = (sampler.total - sampler.below) // (HIGH - sampler.low)
        rows[high] = _holding(sampler, held, uniform(covered, len(held), source))
    return rows


def _holding(sampler: Any, cells: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Return the row (k,) that holds a cell and in whose weight r lies, among the sums of these rows."""
    blocks, begin = np.asarray(sampler.blocks, np.uint64), cells * sampler.stride
    block = _search(blocks, begin + 1, sampler.stride - 1, r)
    r, row = r - blocks[begin + block], block * sampler.height
    patterns = np.frombuffer(sampler.patterns, np.uint8)
    weights = np.array(sampler.weights, np.uint64)
    place, shift = cells >> 3, (7 - (cells & 7)).astype(np.uint8)
    covered, passed = np.zeros(len(r), np.uint64), np.zeros(len(r), np.int64)
    for k in range(sampler.height):
        covered += weights[row + k] * (patterns[(row + k) * sampler.width + place] >> shift & 1)
        passed += covered <= r
    return row + passed


def _columns(sampler: Any, cells: np.ndarray, source: Source) -> np.ndarray:
    """Return outputs by a search in the sums of the columns of the cells."""
    r = uniform(1 << sampler.bits, len(cells), source)
    return _search(np.asarray(sampler.first, np.uint64), cells * sampler.stride, sampler.stride, r)


def _translates(sampler: Any, coordinates: np.ndarray, source: Source) -> np.ndarray:
    """Return translates of patterns: any, or one that holds the user type; coordinates (k, d)."""
    found = parts([*sampler.first, sampler.total], len(coordinates), source)
    outputs, order = np.empty(len(found), np.int64), np.argsort(found, kind="stable")
    present, starts = np.unique(found[order], return_index=True)
    for part, people in zip(present.tolist(), np.split(order, starts[1:]), strict=True):
        offset, ways, cells, *_ = rule = sampler.rules[part >> 1]
        if part & 1:
            outputs[people] = offset + _meeting(sampler.groups, rule, coordinates[people], source)
        else:
            outputs[people] = offset + uniform(ways * cells, len(people), source).astype(np.int64)
    return outputs


def _meeting(
    groups: list[list[int]], rule: tuple[Any, ...], coordinates: np.ndarray, source: Source
) -> np.ndarray:
    """Return translates (k,) of a pattern that move one of its cells onto the user type, each equally likely."""
    _, ways, cells, axes, words, sums, (multiples, root) = rule
    drawn = uniform(ways * sums[-1], len(coordinates), source).astype(np.int64)
    placement, rank = np.divmod(drawn, sums[-1])
    outputs, place = placement * cells, _ranked(words, sums, rank)
    multiple, placement = np.divmod(placement, ways := ways // multiples)
    powers, which = np.unique(multiple, return_inverse=True)
    place = place * np.array([pow(root, one, cells) for one in powers.tolist()])[which] % cells
    shift, people = np.zeros(len(drawn), np.int64), np.arange(len(drawn))
    taken: dict[int, list[np.ndarray]] = {group: [] for group, _, _ in axes}
    for group, choices, cycle in axes:
        ways, cells = ways // choices, cells // cycle
        (choice, placement), (point, place) = np.divmod(placement, ways), np.divmod(place, cells)
        for earlier in np.sort(np.array(taken[group]).reshape(-1, len(drawn)), axis=0):
            choice = choice + (choice >= earlier)
        taken[group].append(choice)
        own = coordinates[people, np.array(groups[group])[choice]]
        shift = shift * cycle + (own - point) % cycle
    return outputs + shift


def _ranked(words: Any, sums: Any, rank: np.ndarray) -> np.ndarray:
    """Return the places (k,) of the bits of these ranks among the bits that are set, in words of 64 bits."""
    ends = np.asarray(sums).astype(np.int64)
    block = np.searchsorted(ends, rank, "right")
    rank = rank - np.where(block > 0, ends[block - 1], 0)
    word = np.asarray(words)[block]
    bits = np.unpackbits(word.astype(">u8").view(np.uint8).reshape(-1, 8), axis=1)
    return 64 * block + np.argmax(np.cumsum(bits, axis=1, dtype=np.uint8) > rank[:, None], axis=1)
