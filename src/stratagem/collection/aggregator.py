"""Reports counted in one process, as they arrive."""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from stratagem.collection.reports import (
    ID,
    NAMED,
    Reason,
    Report,
    ReportFormat,
    count_named,
    is_blank,
    mechanism_named,
)
from stratagem.collection.tally import CONFLICT, Tally
from stratagem.io.literal import EndlessFileError, open_regular
from stratagem.io.target import check_target, written_atomically
from stratagem.math.number import integer
from stratagem.math.vector import counted

KIND = "stratagem reports"
VERSION = 1
VALID = "valid"
OVERRULED = "overruled"
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
            "kind": KIND,
            "version": VERSION,
            "mechanism": self.form.identifier,
            "outputs": self.form.outputs,
            "received": self._received,
            "reports": {name.hex(): output for name, output in sorted(self._outputs.items())},
        } | ({OVERRULED: sorted(name.hex() for name in self._overruled)} if self.first else {})
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
                f"{path} is not a saved aggregator of version {VERSION}, or damaged: give a file that save wrote"
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
        if (state["kind"], state["version"]) != (KIND, VERSION):
            raise ValueError
        self = cls(state["mechanism"], state["outputs"], first=OVERRULED in state)
        self._overruled = {bytes.fromhex(name) for name in state.get(OVERRULED, ())}
        for name, output in state["reports"].items():
            if not ID.fullmatch(name):
                raise ValueError
            self._outputs[bytes.fromhex(name)] = integer(output, "", CONFLICT, self.form.outputs - 1, "")
        for member, received in state["received"].items():
            self._received[member] = _numbers(received)
        if self.tally().duplicates < 0 or not self._overruled <= self._outputs.keys():
            raise ValueError
        return self


def _numbers(received: Mapping[str, Any]) -> Counter[str]:
    """Return the number of valid and rejected lines of one aggregator from its saved form."""
    if not received.keys() <= {VALID, *Reason}:
        raise ValueError
    return Counter({kind: integer(number, "", 0, 1 << 62, "") for kind, number in received.items()})
