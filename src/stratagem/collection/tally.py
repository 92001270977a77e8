"""The tally of reports: counts by output, what was not counted, the file that holds both, and each id taken once.

An aggregator makes it in one process, as reports arrive.
"""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from stratagem.collection.reports import (
    DECODER,
    ID,
    NAMED,
    Reason,
    Report,
    ReportFormat,
    count_named,
    is_blank,
    mechanism_named,
)
from stratagem.io.literal import EndlessFileError, open_regular
from stratagem.io.target import check_target, written_atomically
from stratagem.math.number import integer
from stratagem.math.vector import DENSE, Counts, SparseCounts, counted

CONFLICT = -1
"""Marker in place of the output of an id that was received with several outputs."""


@dataclass(frozen=True, eq=False)
class Tally:
    """Reports counted by output, with every line or row that was not counted accounted for.

    received = reports + duplicates + conflicting + sum of rejected.
    """

    counts: Counts
    """Reports of each output, each id once: (m,) int64, or sparse where m is above 2^20."""
    rejected: Mapping[str, int]
    """Lines or rows that are no reports of this mechanism, by reason, the most frequent first."""
    duplicates: int
    """Reports whose id had been received before."""
    conflicting: int
    """Ids received with several outputs; they count for none, whatever the order of arrival."""
    anonymous: int
    """Reports among the counts that carry no id, so that no duplicate of them can be found."""
    overruled: int = 0
    """Ids among the counts that were received with several outputs, where the first one counts."""

    @property
    def reports(self) -> int:
        """Number of reports counted."""
        return int(self.counts.sum())

    @property
    def foreign(self) -> int:
        """Number of reports that name another mechanism."""
        return self.rejected.get(Reason.MECHANISM, 0)

    @property
    def misplaced(self) -> bool:
        """Whether reports of other mechanisms came, and none of this one."""
        return self.foreign > 0 and not self.reports + self.duplicates + self.conflicting

    @property
    def received(self) -> int:
        """Number of lines and rows received, whatever became of them."""
        return self.reports + self.duplicates + self.conflicting + sum(self.rejected.values())


KEYS = ("mechanism", "reports", "counts", "rejected", "duplicates", "conflicting", "anonymous")
OVERRULED = "overruled"
"""Key of a tally file for `Tally.overruled`, present where this is not zero."""
ADVICE = "give a tally as it was written"
MOST = 1 << 62


def tally_data(tally: Tally, identifier: str) -> dict[str, Any]:
    """Return a tally as a JSON object, with the identifier of its mechanism."""
    data = {
        "mechanism": identifier,
        "reports": tally.reports,
        "counts": _counts_data(tally.counts),
        "rejected": dict(tally.rejected),
        "duplicates": tally.duplicates,
        "conflicting": tally.conflicting,
        "anonymous": tally.anonymous,
    }
    return data | ({OVERRULED: tally.overruled} if tally.overruled else {})


def read_tally(path: str | Path, form: ReportFormat) -> Tally:
    """Read the tally of one mechanism."""
    try:
        with open_regular(path) as file:
            text = file.read()
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}): {ADVICE}") from None
    return parse_tally(text, form, str(path))


def parse_tally(text: bytes, form: ReportFormat, source: str) -> Tally:
    """Read a tally from JSON text; `source` names it in errors."""
    try:
        data = DECODER.decode(text.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise ValueError(
            f"{source} is not JSON with every key once: {ADVICE}, and count reports first"
        ) from None
    if not isinstance(data, dict) or set(data) - {OVERRULED} != set(KEYS):
        raise ValueError(f"{source} is no tally, whose keys are {', '.join(KEYS)}: {ADVICE}")
    if data["mechanism"] != form.identifier:
        raise ValueError(
            f"{source} counts reports of mechanism {str(data['mechanism'])[:16]}, not of {form.mechanism}: "
            "give the mechanism file that the reports were made with"
        )
    rejected = data["rejected"]
    if not isinstance(rejected, dict):
        raise ValueError(f"{source} names no reasons of what was rejected: {ADVICE}")
    counts = _counts(data["counts"], form.outputs, source)

    def whole(value: object, name: str) -> int:
        return integer(value, f"{name} in {source}", 0, MOST, ADVICE)

    others = {key: whole(data.get(key, 0), key) for key in (*KEYS[4:], OVERRULED)}
    tally = Tally(counts, {key: whole(value, repr(key)) for key, value in rejected.items()}, **others)
    if tally.reports != whole(data["reports"], "reports"):
        raise ValueError(
            f"{source} states {data['reports']} reports, but its counts sum to another: {ADVICE}"
        )
    return tally


def _counts_data(counts: Counts) -> list[int] | dict[str, list[int]]:
    """Return counts as one list, or sparse counts as two lists: the outputs that came, and their counts."""
    if isinstance(counts, SparseCounts):
        return {"outputs": counts.outputs.tolist(), "counts": counts.counts.tolist()}
    return counts.tolist()


def _counts(data: Any, size: int, source: str) -> Counts:
    """Return the counts of `size` outputs from the form in which `_counts_data` writes them."""
    if size > DENSE:
        if not isinstance(data, dict) or set(data) != {"outputs", "counts"}:
            raise ValueError(f"{source} needs the outputs that came, and their counts: {ADVICE}")
        outputs = _numbers(data["outputs"], f"an output in {source}", 0, size - 1)
        times = _numbers(data["counts"], f"a count in {source}", 1, MOST // max(1, len(outputs)))
        return SparseCounts(outputs, times, size)
    if not isinstance(data, list) or len(data) != size:
        raise ValueError(f"{source} needs {size} counts, one for each output: {ADVICE}")
    return _numbers(data, f"a count in {source}", 0, MOST // size)


def _numbers(data: Any, what: str, low: int, high: int) -> np.ndarray:
    if not isinstance(data, list):
        raise ValueError(f"{what} stands in no list: {ADVICE}")
    return np.array([integer(number, what, low, high, ADVICE) for number in data], dtype=np.int64)


class Receipt(IntEnum):
    """What became of a report that arrived."""

    TAKEN = 0
    """Its id is new: it was stored."""
    REPEATED = 1
    """The same report had been stored before, for example as its sender did not hear so: nothing was stored now."""
    CONTESTED = 2
    """Its id had been stored with another output: it was refused, and the first report counts."""


def receipts(ids: np.ndarray, outputs: np.ndarray, stored: dict[bytes, int]) -> np.ndarray:
    """Return a `Receipt` for each of some reports (k,) in their order, int64.

    ids (k, 16) uint8 and outputs (k,) are the reports; `stored` holds the output of every one of their ids that is in
    the collection, CONFLICT for one that has several there.
    """
    found = np.full(len(ids), Receipt.TAKEN, dtype=np.int64)
    known = dict(stored)
    for place, (name, output) in enumerate(zip(map(bytes, ids), outputs.tolist(), strict=True)):
        if name not in known:
            known[name] = output
        else:
            same = known[name] == output != CONFLICT
            found[place] = Receipt.REPEATED if same else Receipt.CONTESTED
    return found


AGGREGATOR = "stratagem reports"
AGGREGATOR_VERSION = 1
VALID = "valid"
OVERRULED_IDS = "overruled"
"""Key of the ids with several outputs in a saved aggregator that counts the first output of an id."""


class Aggregator:
    """Counts the reports of one mechanism by output: streaming, mergeable, each id once.

    An aggregator holds a set (id -> output) and, for itself and every aggregator merged into it, the numbers of lines
    received. Merging takes the union of the sets and the larger of the numbers, so it is commutative, associative
    and idempotent, and no order of arrival, repetition or restart changes the counts.
    It needs about 110 bytes of memory a report; a `Collection` takes more reports than fit in memory.
    An id that comes with several outputs counts for none, whatever the order. With `first` the output that came
    first counts; after merging, it is the one of the aggregator that was merged into.

    Raises:
        ValueError: for an identifier that is not 64 lower-case hex digits, or fewer than one output.

    Example:
        >>> aggregator = Aggregator("0" * 64, outputs=3)
        >>> report = {"mechanism": "0" * 16, "id": "1" * 32, "output": 2}
        >>> aggregator.add(report), aggregator.add(report)
        (None, None)
        >>> aggregator.tally().counts.tolist(), aggregator.tally().duplicates
        ([0, 0, 1], 1)
    """

    def __init__(self, identifier: str, outputs: int, *, first: bool = False):
        self.form = ReportFormat(identifier, outputs)
        self.first = first
        """Whether the first output of an id counts when it comes with others."""
        self._overruled: set[bytes] = set()
        self._outputs: dict[bytes, int] = {}
        self.foreign: Counter[str] = Counter()
        """Lines taken that name other mechanisms, by the name; at most 64 names."""
        self._own: Counter[str] = Counter()
        self._received = {secrets.token_hex(8): self._own}

    def add(self, report: object) -> Reason | None:
        """Take a report as decoded JSON; return why it was rejected, or None."""
        return self._take(self.form.check(report))

    def add_lines(self, lines: Iterable[bytes | str]) -> None:
        """Take reports as lines of JSON text, for example `reports.lines(file)`; blank lines are skipped."""
        for line in lines:
            if not is_blank(line) and self._take(self.form.parse(line)) is Reason.MECHANISM:
                count_named(self.foreign, mechanism_named(line))

    def merge(self, other: Aggregator) -> None:
        """Merge another aggregator of the same mechanism into this one; merging it again changes nothing.

        Raises:
            ValueError: for an aggregator of another mechanism, or with another rule for ids with several outputs.
        """
        if other.form != self.form:
            raise ValueError(
                f"an aggregator of mechanism {other.form.mechanism} with {other.form.outputs} outputs was given "
                f"to one of {self.form.mechanism} with {self.form.outputs}: merge those of one mechanism"
            )
        if other.first != self.first:
            raise ValueError(
                "one aggregator counts the first output of an id and the other none of several: make both alike"
            )
        for name, output in other._outputs.items():
            self._put(name, output)
        self._overruled |= other._overruled
        for member, received in other._received.items():
            self._received.setdefault(member, Counter())
            self._received[member] |= received

    def tally(self) -> Tally:
        """Return the counts by output, and the number of lines that were not counted, by reason."""
        outputs = np.fromiter(self._outputs.values(), dtype=np.int64, count=len(self._outputs))
        received = sum(self._received.values(), Counter())
        valid = received.pop(VALID, 0)
        return Tally(
            counts=counted(outputs[outputs != CONFLICT], self.form.outputs),
            rejected={str(reason): number for reason, number in received.most_common()},
            duplicates=valid - len(outputs),
            conflicting=int((outputs == CONFLICT).sum()),
            anonymous=0,
            overruled=len(self._overruled),
        )

    def contested(self) -> list[str]:
        """Return the ids that came with several outputs, at most 64 of them."""
        found = self._overruled or (name for name, output in self._outputs.items() if output == CONFLICT)
        return [name.hex() for name in islice(found, NAMED)]

    def save(self, path: str | Path) -> Path:
        """Write the state of the aggregator to a .json file, which appears complete or not at all.

        Raises:
            ValueError: for another suffix or a folder that does not exist.
        """
        path = check_target(path, (".json",))
        state = {
            "kind": AGGREGATOR,
            "version": AGGREGATOR_VERSION,
            "mechanism": self.form.identifier,
            "outputs": self.form.outputs,
            "received": self._received,
            "reports": {name.hex(): output for name, output in sorted(self._outputs.items())},
        } | ({OVERRULED_IDS: sorted(name.hex() for name in self._overruled)} if self.first else {})
        with written_atomically(path) as file:
            file.write(json.dumps(state, separators=(",", ":")).encode())
        return path

    @classmethod
    def load(cls, path: str | Path) -> Aggregator:
        """Return the aggregator in a file that `save` wrote; lines received from now on are counted separately.

        Raises:
            ValueError: for a file that is not one, or not whole.
        """
        try:
            with open_regular(path) as file:
                return cls._restored(json.load(file))
        except EndlessFileError:
            raise
        except OSError as error:
            raise ValueError(f"{path} cannot be read ({error.strerror}): name a saved aggregator") from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise ValueError(
                f"{path} is not a saved aggregator of version {AGGREGATOR_VERSION}, or damaged: "
                "give a file that save wrote"
            ) from None

    def _take(self, found: Report | Reason) -> Reason | None:
        if isinstance(found, Reason):
            self._own[found] += 1
            return found
        self._own[VALID] += 1
        self._put(bytes.fromhex(found.id), found.output)
        return None

    def _put(self, name: bytes, output: int) -> None:
        if self._outputs.setdefault(name, output) != output:
            if self.first:
                self._overruled.add(name)
            else:
                self._outputs[name] = CONFLICT

    @classmethod
    def _restored(cls, state: Mapping[str, Any]) -> Aggregator:
        if (state["kind"], state["version"]) != (AGGREGATOR, AGGREGATOR_VERSION):
            raise ValueError
        self = cls(state["mechanism"], state["outputs"], first=OVERRULED_IDS in state)
        self._overruled = {bytes.fromhex(name) for name in state.get(OVERRULED_IDS, ())}
        for name, output in state["reports"].items():
            if not ID.fullmatch(name):
                raise ValueError
            self._outputs[bytes.fromhex(name)] = integer(output, "", CONFLICT, self.form.outputs - 1, "")
        for member, received in state["received"].items():
            self._received[member] = _received_numbers(received)
        if self.tally().duplicates < 0 or not self._overruled <= self._outputs.keys():
            raise ValueError
        return self


def _received_numbers(received: Mapping[str, Any]) -> Counter[str]:
    """Return the number of valid and rejected lines of one aggregator from its saved form."""
    if not received.keys() <= {VALID, *Reason}:
        raise ValueError
    return Counter({kind: integer(number, "", 0, 1 << 62, "") for kind, number in received.items()})
