"""The client of a mechanism: reads a bundle, checks all it promises, and randomises values.

This file needs nothing but Python's standard library and may be copied out on its own:

    client = load("prefix.ldp.json")
    report = client.randomise(17)

Everything is done in whole numbers, with random bytes from the operating system. Every draw takes the same
steps and table reads for every value, and repeats its random numbers with a chance of 1/16 at most, whatever the value.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import re
import secrets
import struct
import sys
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time, tzinfo
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, reduce
from itertools import accumulate, pairwise, product
from operator import mul
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

FORMAT, VERSION = "stratagem-mechanism", 1
LIMIT = 1 << 28  # bytes of the largest bundle that is read
CEILING = 10  # largest epsilon of the bundles that `load` takes without a ceiling: odds change by 22,026 then
DEPTH = 100  # depth of nested lists and objects, at most
PARTS = 1 << 22  # commas, brackets, braces of a bundle, and values of an attribute: both bound the memory
MOST = (1 << 53) - 1  # most outputs: the largest whole number that every reader of JSON holds exactly
SCALE, WEIGHT_BITS = 64, 32  # exp(epsilon) is bounded below in units of 2^-64; weights of a table sum to 2^32
MOST_BITS = 52  # bits of the largest entry: doubles, all that browsers have, hold them exactly
HIGH = 1 << MOST_BITS  # the higher of two levels; the lower one is given in its units
SUMS = 24  # the sums by which rows of a user type are found are at most 2^24: that bounds memory and reads
MOST_KEPT = 1 << 16  # most values of a domain for which permanent reports are kept
FileName = str | os.PathLike[str]
Source = Callable[[int], bytes]
WHOLE = re.compile("[0-9]{1,16}( [0-9]{1,16})*\n")  # a memo: without its end a last number may be cut off
PROMISED = (10, 100, 1000)  # reports of one person for which a memo states epsilon, beside one and any number
_BITS = [bytes(byte >> 7 - k & 1 for byte in range(256)) for k in range(8)]  # of a byte its k-th bit
_WIDE = [b"".join(bit[byte].to_bytes(8, "little") for bit in _BITS) for byte in range(256)]  # all, as words
_SINGLE = {int, float, str}  # Python's own types of a value of one attribute
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?")
CLOCK = "[0-9]{2}:[0-9]{2}(?::[0-9]{2})?"  # dates and times of day of ISO 8601
DATE = f"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(?:[T ]{CLOCK})?"
MOMENT = re.compile(rf"({DATE}|{CLOCK})(?:\.([0-9]+))?(Z|[+-][0-9]{{2}}(?::?[0-5][0-9])?)?")
ZONE = re.compile("[A-Z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*")  # a name of the IANA database
DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]{1,9})?|[+-]?inf(inity)?", re.IGNORECASE)
MISSING = ("", "na", "n/a", "nan", "null", "none")  # texts that stand for no number, date or time
OTHER, NO_ANSWER = "other", "no answer"  # values for what lies in no bin, and for an empty or missing answer
ADVICE, FILE = "use the file that stratagem wrote, unchanged", "the mechanism file"

REPORT_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["mechanism", "id", "output"],
    "properties": {
        "mechanism": {"type": "string", "description": "the first 16 digits of the bundle's sha256"},
        "id": {"type": "string", "pattern": "^[0-9a-f]{32}$", "description": "random, counts a report once"},
        "output": {"type": "integer", "minimum": 0, "description": "below the table's outputs"},
    },
}


def load(
    path: FileName, *, at_most: float = CEILING, sha256: str | None = None, memo: FileName | None = None
) -> Client:
    """Read and check a bundle, and refuse it as `accepted` does.

    A bundle for repeated reports needs `memo`, a folder of this person alone that lasts: see `Client`.

    Raises:
        ValueError: for what is no bundle or breaks its promise, what is refused, and a folder missing or of no use.
    """
    bundle = checked(path, lambda raw: accepted(parse(raw), at_most, sha256), "*.ldp.json")
    if ("memo" in bundle) == (memo is None):
        advice = "give a folder as memo" if memo is None else "leave memo out"
        raise ValueError(f"{path} is made for {'repeated' if memo is None else 'single'} reports: {advice}")
    return Client(bundle, memo=memo)


def accepted(bundle: dict[str, Any], at_most: float = CEILING, sha256: str | None = None) -> dict[str, Any]:
    """Return a bundle whose epsilon is at most that number, as its decimal digits say, and whose hash is as given."""
    text = str(at_most)
    if not NUMBER.fullmatch(text) or len(text) > 40 or len(text.partition("e")[2]) > 4:
        raise ValueError(f"at_most is {_short(at_most)}, but must be a number: give an epsilon")
    ceiling, epsilon = Fraction(text), Fraction(*map(int, bundle["epsilon"]))
    if (epsilon := Fraction(bundle["memo"]["epsilon"]["any"]) if "memo" in bundle else epsilon) > ceiling:
        stated, most = f"{float(epsilon):.15g}", f"at most {float(ceiling):.15g} is accepted"
        raise ValueError(f"{FILE} has epsilon {stated}, but {most}: use another, or say at_most={stated}")
    if sha256 not in (None, bundle["sha256"]):
        stated = f"{bundle['sha256']}, but {_short(sha256)}"
        raise ValueError(f"the mechanism file has the sha256 {stated} is asked for: use that one")
    return bundle


def checked(path: FileName, check: Callable[[bytes], Any], kind: str) -> Any:
    """Return what `check` makes of the bytes of a file; its errors name the file."""
    try:
        raw = _content(Path(path), LIMIT + 1, f"name a mechanism file, {kind}")
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}): name a mechanism file, {kind}") from None
    try:
        return check(raw)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _content(path: Path, most: int, advice: str) -> bytes:
    """Return so many bytes of a file at most; what is no regular file may never begin or end, and is not opened."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise ValueError(f"{path} is a device, a pipe or a socket: {advice}")
    with path.open("rb") as file:
        return file.read(most)


def parse(raw: bytes) -> dict[str, Any]:
    """Return the content of a bundle after checking its form, its hash and its certificate.

    Guarantee:
        Columns sum to the same total and in each row max * 2^64 <= min * exp_epsilon, where exp_epsilon is
        at most 2^64 exp(epsilon): all in whole numbers.

    Raises:
        ValueError: for anything else.
    """
    keys = "format version domain workload prior epsilon table certificate utility report sha256"
    bundle = unsealed(raw, FORMAT, VERSION, keys, "memo steps")
    _check_domain(bundle["domain"], bundle["table"])
    same = json.dumps(bundle["report"], sort_keys=True) == json.dumps(REPORT_SCHEMA, sort_keys=True)
    _require(same, "the mechanism file describes other reports than this client makes")
    same = bundle["certificate"] == certificate(bundle["table"], bundle["epsilon"])
    _require(same, "the certificate is not that of the table")
    if "memo" in bundle:
        check_memo(bundle["table"], bundle["memo"])
    if "steps" in bundle:
        check_steps(bundle["table"], bundle["steps"], len(bundle["domain"]))
    return bundle


def unsealed(raw: bytes, form: str, version: int, keys: str, optional: str = "") -> dict[str, Any]:
    """Return the content of a sealed file: plain JSON of a format and version, its keys, its hash."""
    _require(len(raw) <= LIMIT and sum(map(raw.count, b",[{")) <= PARTS, "the mechanism file is too large")
    strict = {"object_pairs_hook": _unique, "parse_float": _no_number, "parse_constant": _no_number}
    try:
        bundle = json.loads(raw.decode("utf-8"), **strict)
    except RecursionError:
        raise ValueError(f"the mechanism file is nested too deeply: {ADVICE}") from None
    except ValueError as error:
        raise ValueError(f"{FILE} is not plain JSON ({str(error.args[-1])[:80]}): {ADVICE}") from None
    level = [bundle]
    for _ in range(DEPTH + 1):
        nested = [x.values() if isinstance(x, dict) else x for x in level if isinstance(x, dict | list)]
        level = [item for items in nested for item in items]
    _require(not level, "the mechanism file is nested too deeply")
    known = isinstance(bundle, dict) and bundle.get("format") == form
    _require(known, f"the mechanism file does not name the format {form}")
    if type(found := bundle.get("version")) is not int or found != version:
        raise ValueError(f"{FILE} has version {found!r:.40}, but this client reads {version}: update it")
    exact_keys(bundle, "the mechanism file", keys, optional)
    same = bundle["sha256"] == fingerprint(bundle)
    _require(same, "the mechanism file was changed after it was written, its sha256 differs")
    return bundle


def fingerprint(bundle: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the canonical form: UTF-8, keys sorted, no spaces, without the hash itself."""
    rest = {key: value for key, value in bundle.items() if key != "sha256"}
    try:
        text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError):
        raise ValueError(f"{FILE} holds text that is not Unicode, or too much: {ADVICE}") from None
    return hashlib.sha256(text).hexdigest()


def exp_below(numerator: int, denominator: int) -> int:
    """Return a whole number at most 2^64 exp(numerator/denominator): Taylor's series, every term cut off."""
    k, term, total = 0, 1 << (SCALE + 32), 1 << (SCALE + 32)
    while term:
        k += 1
        term = term * numerator // (denominator * k)
        total += term
    return total >> 32


def certificate(table: Mapping[str, Any], epsilon: Sequence[str]) -> dict[str, Any]:
    """Return the certificate of a table: what every column sums to and how far apart a row's entries are."""
    _require(isinstance(epsilon, list) and len(epsilon) == 2, "epsilon must be a numerator and a denominator")
    numerator, denominator = (from_digits(part, "epsilon") for part in epsilon)
    _require(0 < numerator <= 300 * denominator, "epsilon must be above 0 and at most 300")
    bound, facts = exp_below(numerator, denominator), _KINDS[_kind(table)](table).facts()
    if facts["worst_high"] << SCALE > facts["worst_low"] * bound:
        raise ValueError("the table breaks its epsilon: do not use it")
    return {"exp_epsilon": str(bound)} | {key: str(value) for key, value in facts.items()}


def samplers(table: Mapping[str, Any], low: int) -> tuple[Any, Any]:
    """Return the samplers of single reports and of permanent ones, which have this `low` instead of the table's."""
    return _KINDS[table["kind"]](table), _KINDS[table["kind"]](dict(table) | {"low": low})


def kept(once: Any, permanent: Any) -> Fraction:
    """Return the probability alpha of repeating the permanent report, else the weights draw (theory.md, section 12)."""
    return (HIGH - once.low) * permanent.column / ((HIGH - permanent.low) * once.column)


def repeated(once: Any, permanent: Any, reports: int) -> tuple[int, int]:
    """Return the largest ratio of the probabilities of so many reports of one memo, as whole numbers (high, low).

    (1 + E X)/(1 + X), X = gamma rho ((1 + a/rho)^k - 1), a = alpha/(1 - alpha), gamma the sum of the lower
    probabilities of the permanent table, rho the least one of a report drawn by the weights (theory.md, section 12).
    """
    alpha, rho, low = kept(once, permanent), permanent.rarest, permanent.low
    grown, scale = 1 + alpha / ((1 - alpha) * rho), rho * (low << WEIGHT_BITS) / permanent.column
    unit = grown.denominator**reports
    rest = scale.numerator * (grown.numerator**reports - unit)
    return low * scale.denominator * unit + HIGH * rest, low * (scale.denominator * unit + rest)


def check_memo(table: Mapping[str, Any], memo: Any) -> None:
    """Refuse a memo that does not hold, in whole numbers, the epsilon that it states for numbers of reports."""
    exact_keys(memo, "the memo", "low epsilon")
    tables = [part["table"] for part in table.get("parts", [{"table": table}])]
    _require(all("low" in one for one in tables), "a memo needs a table of two levels")
    low = whole_number(memo["low"], "low of the memo", 1, min(one["low"] for one in tables) - 1)
    pairs = [samplers(one, low) for one in tables]
    exact_keys(memo["epsilon"], "epsilon of the memo", " ".join(map(str, PROMISED)) + " any")
    for reports, text in memo["epsilon"].items():
        bound = _exp_of(text, "epsilon of the memo")
        worst = [(HIGH, low)] if reports == "any" else [repeated(*pair, int(reports)) for pair in pairs]
        if any(high << SCALE > least * bound for high, least in worst):
            raise ValueError("the memo breaks its epsilon: do not use it")


def check_steps(table: Mapping[str, Any], steps: Any, attributes: int) -> None:
    """Refuse steps between neighbouring values of one attribute, one for each pair, that a row of the table breaks."""
    _require(attributes == 1, "steps need a domain of one attribute")
    fit = len(_list(steps, "the steps stand in no list")) == table.get("user_types", 0) - 1
    _require(fit and _kind(table) == "columns", "the steps are not one for each pair of neighbouring columns")
    entries, n = _entries(table), table["user_types"]
    for u, text in enumerate(steps):
        bound = _exp_of(text, "a step")
        for one, next_one in zip(entries[u::n], entries[u + 1 :: n], strict=True):
            if max(one, next_one) << SCALE > min(one, next_one) * bound:
                raise ValueError("the table breaks its steps: do not use it")


def _exp_of(text: Any, where: str) -> int:
    """Return a whole number at most 2^64 exp(epsilon) for the decimal text of an epsilon."""
    known = isinstance(text, str) and len(text) < 40 and re.fullmatch(r"[0-9]+(\.[0-9]+)?", text)
    _require(bool(known) and 0 < Fraction(text) <= 300, f"{where} is no number up to 300")
    return exp_below(*Fraction(text).as_integer_ratio())


class _Memo:
    """Permanent reports of one person in a file: all values of a part, or of the table, have one, so it tells none."""

    def __init__(self, folder: FileName, bundle: Mapping[str, Any]) -> None:
        self.path, domain = Path(folder, f"{bundle['sha256']}.memo"), bundle["domain"]
        whole = {"attributes": range(len(domain)), "share": 1 << WEIGHT_BITS, "table": bundle["table"]}
        self.survey, parts = "parts" in bundle["table"], bundle["table"].get("parts", [whole])
        pairs = [samplers(part["table"], bundle["memo"]["low"]) for part in parts]
        self.kept, self.permanent = [kept(*pair) for pair in pairs], [pair[1] for pair in pairs]
        self.sizes = [[domain[k]["size"] for k in part["attributes"]] for part in parts]
        self.values = [*map(math.prod, self.sizes), 0]  # beyond the last output is no part
        self.firsts = [0, *accumulate(part["table"]["outputs"] for part in parts)]
        self.any, self.reports = _search_table(part["share"] for part in parts), array("Q")
        if not os.path.isdir(folder):  # noqa: PTH112 - that of Path raises what the system says
            raise ValueError(f"memo {str(folder)!r} is no folder that opens: make one for this person alone")
        if max(self.values) > MOST_KEPT:
            raise ValueError(f"the mechanism file has more than {MOST_KEPT:,} values to memoise: merge some")

    def draw(self, cell: Any, source: Source) -> int:
        """Return the permanent report with probability alpha, else one that is drawn by the weights."""
        if not self.reports:
            self.number, self.reports = self._read_or_draw(source)
        i, own = self.number, cell[self.number] if self.survey else cell
        places = zip([own] if isinstance(own, int) else own, self.sizes[i], strict=False)
        number = reduce(lambda above, one: above * one[1] + one[0], places, 0)  # the last attribute fastest
        permanent, other = self.reports[number], self.firsts[i] + self.permanent[i].draw_any(source)
        return permanent if _uniform(self.kept[i].denominator, source) < self.kept[i].numerator else other

    def _read_or_draw(self, source: Source) -> tuple[int, array[int]]:
        """Return the part and its reports in the file; of two processes that draw at once, both use the first one's."""
        try:
            if not self.path.exists():
                i = bisect_right(self.any, _uniform(1 << WEIGHT_BITS, source))  # whatever the answers are
                places, one = product(*([(k, n) for k in range(n)] for n in self.sizes[i])), self.permanent[i]
                drawn = (self.firsts[i] + one.draw(_user_type(one, value), source) for value in places)
                self._keep(" ".join(map(str, drawn)) + "\n")
            for draft in self.path.parent.glob(f".{self.path.name}.*"):  # also of runs that were killed
                with suppress(OSError):
                    draft.unlink()
            most, entered, own = 17 * max(self.values) + 1, 0o011, {0, getattr(os, "geteuid", int)()}
            text = _content(self.path, most, "put the memo there").decode("ascii", "replace")
            exposed = (held := self.path.stat()).st_uid not in own
            for way in [folder.stat() for folder in reversed(self.path.resolve().parents)]:
                entered = way.st_mode & 0o011 if entered else 0  # others must enter each, in any group
                exposed |= way.st_uid not in own or way.st_mode & 0o1000 == 0 < way.st_mode & entered << 1
        except OSError as io:
            raise ValueError(f"{self.path} cannot be kept or read ({io.strerror}): mend that first") from None
        reports = array("Q", map(int, text.split() if WHOLE.fullmatch(text) else ()))
        i, last = (bisect_right(self.firsts, end(reports, default=0)) - 1 for end in (min, max))
        if i != last or len(reports) != self.values[i]:
            raise ValueError(f"{self.path} is damaged: put back a copy, as a new one spends the budget again")
        if (exposed or (entered and held.st_mode & 0o066)) and os.name == "posix":
            advice = "let its owner alone do so, as by chmod 600, and chmod go-w for all folders on the way"
            raise ValueError(f"others can read or change {self.path}: {advice}")
        return i, reports

    def _keep(self, text: str) -> None:
        """Write the file down to the disk, unless another process does so before."""
        draft = self.path.with_name(f".{self.path.name}.{secrets.token_hex(4)}")
        _written(draft, text)
        try:
            os.link(draft, self.path)
        except OSError:  # it is there by now, or this file system has no links
            with suppress(FileExistsError):
                _written(self.path, text)
        with suppress(OSError):  # not every system can do so
            handle = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


def _written(path: Path, text: str) -> None:
    """Write a new file that its owner alone can read, down to the disk; a failure leaves none."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        try:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            path.unlink(missing_ok=True)
            raise


class Client:
    """Randomises values by the table of a checked bundle; `source` returns random bytes, for tests alone.

    A bundle with a memo is for people who report again and again. `memo` is a folder of one person, where permanent
    reports of all values (of a survey: of a part) are kept for its owner alone. Without one each is a new person's.
    One report has `epsilon`; any number of them about one value has `permanent`, which is None without a memo.
    """

    def __init__(
        self, bundle: Mapping[str, Any], source: Source = secrets.token_bytes, memo: FileName | None = None
    ) -> None:
        self.identifier: str = bundle["sha256"]
        self.epsilon = Fraction(*map(int, bundle["epsilon"]))
        self.permanent = Fraction(bundle["memo"]["epsilon"]["any"]) if "memo" in bundle else None
        self.attributes: list[dict[str, Any]] = bundle["domain"]
        self._readers = {attribute["name"]: reader(attribute) for attribute in self.attributes}
        self.sampler = _KINDS[bundle["table"]["kind"]](bundle["table"])
        self._plain, self._first = "user_types" in bundle["table"], next(iter(self._readers.values()))
        self._source, self._made_of = source, (bundle, source, memo)
        self._memo = None if memo is None else _Memo(memo, bundle)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how a copy is made, in another process too: permanent reports stay in their folder."""
        return type(self), self._made_of

    def randomise(self, value: Any) -> Any:
        """Return the report of a value: of one attribute as it is, of several as a mapping by name.

        A list, or a column of NumPy, pandas or Arrow, holds a value of each user: it gives the list of reports.

        Raises:
            ValueError: for values outside the domain, before any random byte is drawn.
        """
        values = value if type(value) in _SINGLE else _plain(value)
        if not isinstance(values, list):
            return self.report(self.cell(values))
        return [self.report(cell) for cell in self._cells(values)]

    def _cells(self, values: list[Any]) -> list[Any]:
        """Return the user types of a column, or say how many values are outside and where the first stands."""
        cells, outside = list[Any](), list[tuple[int, ValueError]]()
        for place, value in enumerate(values):
            try:
                cells.append(self.cell(value))
            except ValueError as error:
                outside.append((place, error))
        if outside:
            first = f"the first at position {outside[0][0]} from 0: {outside[0][1]}"
            raise ValueError(f"{len(outside)} of {len(values)} values are outside the domain, {first}")
        return cells

    def report(self, cell: Any) -> dict[str, Any]:
        """Return the report of a user type as `cell` returned it."""
        output = (self._memo or self.sampler).draw(cell, self._source)
        return {"mechanism": self.identifier[:16], "id": self._source(16).hex(), "output": output}

    def cell(self, value: Any) -> Any:
        """Return a value's user type: its number, the last attribute fastest, its coordinates, or one of each part."""
        if type(value) in _SINGLE and len(self._readers) == 1:  # the same as below, at a fifth of the time
            return self._first(value) if self._plain else self.user_type([self._first(value)])
        if not isinstance(value, Mapping):
            if len(self._readers) > 1:
                raise ValueError(f"{_short(value)} was given for several attributes: give a mapping")
            value = dict.fromkeys(self._readers, value)
        if value.keys() != self._readers.keys():
            stated = f"{_short(list(value))} was given, but {_short(list(self._readers))}"
            raise ValueError(f"a value for {stated} is asked for")
        return self.user_type([read(value[name]) for name, read in self._readers.items()])

    def user_type(self, coordinates: Sequence[int]) -> Any:
        """Return the user type whose attributes have the values of these numbers, as `report` takes it."""
        places = [(k, one["size"]) for k, one in zip(coordinates, self.attributes, strict=True)]
        return _user_type(self.sampler, places)


def _user_type(sampler: Any, places: Sequence[tuple[int, int]]) -> Any:
    """Return a user type as a sampler takes it, given the numbers of its values and the sizes of the attributes."""
    if isinstance(sampler, _Parts):
        return [_user_type(one, [places[i] for i in some]) for _, some, one in sampler.parts]
    listed = isinstance(sampler, _Translates)
    if listed and sum(map(len, sampler.groups)) == len(places):
        return [place for place, _ in places]
    cell = reduce(lambda above, one: above * one[1] + one[0], places, 0)
    return [cell] if listed else cell


class _TwoLevel:
    """Row y has weight[y] low units for everybody, and weight[y] (2^52 - low) more where its bit is set."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        exact_keys(table, "the table", "kind outputs user_types weights patterns low")
        (m, n), self.low = _shape(table), whole_number(table["low"], "low", 1, HIGH)
        weights = _array("I", exact_bytes(table["weights"], "weights", 4 * m))
        _require(sum(weights) == 1 << WEIGHT_BITS, f"the weights do not sum to 2^{WEIGHT_BITS}")
        steps = max(0, min((m // 8).bit_length() - 1, SUMS - (n - 1).bit_length()))
        self.width, self.stride, self.height = -(-n // 8), 1 << steps, -(-m >> steps)
        self.patterns = exact_bytes(table["patterns"], "patterns", m * self.width)
        beyond = any(byte & _padding(n) for byte in self.patterns[self.width - 1 :: self.width])
        _require(not beyond, "a pattern has bits beyond the last user type")
        spare = self.stride * self.height - m  # rows of no weight make all blocks as high
        self.patterns += bytes(spare * self.width)
        self.weights = weights + array("I", [0] * spare)
        self.first: Sequence[int] = _search_table(weights)
        self.blocks, covered = array("Q"), set[int]()
        for column in zip(*_coverage(self.patterns, self.weights, n, self.height), strict=True):
            self.blocks.extend([0, *_search_table(column)])
            covered.add(sum(column))
        _require(len(covered) == 1, "some user types are covered more often than others")
        self.below = self.low << WEIGHT_BITS
        self.total = self.below + (HIGH - self.low) * covered.pop()
        self.column, self.rows, self.size = Fraction(self.total), m, n

    @cached_property
    def rarest(self) -> Fraction:
        """The least probability by the weights of a row that holds some user types and not others."""
        even = bytes(self.width), bytes([255] * (self.width - 1) + [255 ^ _padding(self.size)])
        rows = zip(self.weights, range(0, self.rows * self.width, self.width), strict=False)
        weights = (weight for weight, y in rows if weight and self.patterns[y : y + self.width] not in even)
        return Fraction(min(weights, default=1 << WEIGHT_BITS), 1 << WEIGHT_BITS)

    def draw_any(self, source: Source) -> int:
        """Return an output by the weights of the rows alone."""
        return bisect_right(self.first, _uniform(1 << WEIGHT_BITS, source))

    def draw(self, cell: int, source: Source) -> int:
        """Return an output: one of all rows, or of those that hold the cell, which take as many reads for each."""
        r = _uniform(self.total, source)
        if r < self.below:
            return bisect_right(self.first, r // self.low)
        begin, r = cell * self.stride, (r - self.below) // (HIGH - self.low)
        block = bisect_right(self.blocks, r, begin + 1, begin + self.stride) - 1
        r, y = r - self.blocks[block], (block - begin) * self.height
        start, step = y * self.width + (cell >> 3), self.width
        inside = self.patterns[start : start + self.height * step : step].translate(_BITS[cell & 7])
        return y + sum(map(r.__ge__, accumulate(map(mul, self.weights[y : y + self.height], inside))))

    def facts(self) -> dict[str, Any]:
        return {"column_total": self.total, "worst_high": HIGH, "worst_low": self.low}


class _Columns:
    """The column of the user type as whole numbers that sum to 2^bits."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        exact_keys(table, "the table", "kind outputs user_types bits entries")
        (m, n), self.bits = _shape(table), whole_number(table["bits"], "bits", WEIGHT_BITS, MOST_BITS)
        entries = _entries(table)
        equal = all(sum(entries[u::n]) == 1 << self.bits for u in range(n))
        _require(equal, f"some columns do not sum to 2^{self.bits}")
        self.first = array("Q", (one for u in range(n) for one in _search_table(entries[u::n])))
        self.stride, rows = len(self.first) // n, [entries[y * n : y * n + n] for y in range(m)]
        self.extremes = list(map(max, rows)), list(map(min, rows))

    def draw(self, cell: int, source: Source) -> int:
        """Return an output after a search of as many steps for every cell."""
        begin = cell * self.stride
        r = int.from_bytes(source(8), "big") >> (64 - self.bits)
        return bisect_right(self.first, r, begin, begin + self.stride) - begin

    def facts(self) -> dict[str, Any]:
        """Return column total, worst ratio, and the largest and smallest entry of every row."""
        high, low = reduce(_wider, zip(*self.extremes, strict=True), (1, 1))
        texts = [base64.b64encode(struct.pack(f"<{len(row)}Q", *row)).decode() for row in self.extremes]
        levels = {"column_total": 1 << self.bits, "worst_high": high, "worst_low": low}
        return levels | {"largest": texts[0], "smallest": texts[1]}


class _Translates:
    """A set of cells, placed on attributes: any translate, or one that moves one of its cells onto the user's."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        exact_keys(table, "the table", "kind outputs cycles groups patterns low")
        self.low = whole_number(table["low"], "low", 1, HIGH)
        self.groups, patterns = _translates(table)
        self.any = _search_table([one[0] for one in patterns])
        self.rarest = min(Fraction(one[0], (one[2] * one[3]) << WEIGHT_BITS) for one in patterns)
        self.rules, offset, unit, high = [], 0, 1, []
        for weight, bits, ways, cells, axes, multiples in patterns:
            words = _array("Q", bits + bytes(-len(bits) % 8), "big")
            sums = array("Q", accumulate(map(int.bit_count, words)))
            self.rules.append((offset, ways, cells, axes, words, sums, multiples))
            offset += ways * cells
            high.append((weight, Fraction(weight * (HIGH - self.low) * sums[-1], cells)))
            unit = math.lcm(unit, high[-1][1].denominator)
            _require(unit >> 1024 == 0, "the weights of the patterns share no unit of 1024 bits")
        masses = [mass for weight, rest in high for mass in (weight * self.low * unit, int(rest * unit))]
        self.total, self.first, self.column = sum(masses), _search_table(masses), Fraction(sum(masses), unit)

    def draw_any(self, source: Source) -> int:
        """Return an output by the weights of the patterns alone."""
        offset, ways, cells, *_ = self.rules[bisect_right(self.any, _uniform(1 << WEIGHT_BITS, source))]
        return offset + _uniform(ways * cells, source)

    def draw(self, cell: Sequence[int], source: Source) -> int:
        """Return an output; the coordinates that are read were drawn before, and the steps do not tell them."""
        part = bisect_right(self.first, _uniform(self.total, source))
        offset, ways, cells, axes, words, sums, (multiples, root) = self.rules[part >> 1]
        if part & 1 == 0:
            return offset + _uniform(ways * cells, source)
        placement, rank = divmod(_uniform(ways * sums[-1], source), sums[-1])
        offset, block, shift = offset + placement * cells, bisect_right(sums, rank), 0
        word, rank = words[block], rank - (sums[block - 1] if block else 0)
        place = 64 * block + [k for k in range(64) if word >> 63 - k & 1][rank]
        multiple, placement = divmod(placement, ways := ways // multiples)
        place = place * pow(root, multiple, cells) % cells
        left = {group: self.groups[group].copy() for group, _, _ in axes}
        for group, choices, cycle in axes:
            ways, cells = ways // choices, cells // cycle
            (rank, placement), (point, place) = divmod(placement, ways), divmod(place, cells)
            shift = shift * cycle + (cell[left[group].pop(rank)] - point) % cycle
        return offset + shift

    def facts(self) -> dict[str, Any]:
        """Return what every column sums to, as each meets a set as often as it has cells, and the two levels."""
        column = dict(zip(("column_total", "column_unit"), self.column.as_integer_ratio(), strict=True))
        return column | {"worst_high": HIGH, "worst_low": self.low}


class _Parts:
    """One of several tables, drawn by their shares whatever the answers are; outputs count earlier parts first."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        self.parts, offset = [], 0
        for attributes, one in _parts(table):
            self.parts.append((offset, attributes, _KINDS[one["kind"]](one)))
            offset += one["outputs"]
        _require(offset == whole_number(table["outputs"], "outputs", 1, MOST), "the parts have other outputs")
        self.first = _search_table(part["share"] for part in table["parts"])

    def draw(self, cell: Sequence[Any], source: Source) -> int:
        """Return an output of a part, which is drawn before its user type is looked at."""
        offset, _, sampler = self.parts[part := bisect_right(self.first, _uniform(1 << WEIGHT_BITS, source))]
        return offset + sampler.draw(cell[part], source)

    def facts(self) -> dict[str, Any]:
        """Return what the shares sum to, and the two levels of the part in which they are furthest apart."""
        every = [sampler.facts() for _, _, sampler in self.parts]
        high, low = reduce(_wider, ((one["worst_high"], one["worst_low"]) for one in every), (1, 1))
        return {"column_total": 1 << WEIGHT_BITS, "worst_high": high, "worst_low": low}


_KINDS: Any = {"two-level": _TwoLevel, "columns": _Columns, "translates": _Translates, "parts": _Parts}


def _wider(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    """Return the pair whose first number is more times its second one, which may be 0."""
    return other if other[0] * one[1] > one[0] * other[1] else one


def _kind(table: Any) -> str:
    if not isinstance(table, dict) or table.get("kind") not in list(_KINDS):
        raise ValueError(f"the table is none of the kinds {', '.join(_KINDS)}: update this client")
    return table["kind"]


def _shape(table: Mapping[str, Any]) -> tuple[int, int]:
    outputs = whole_number(table["outputs"], "outputs", 1, LIMIT)
    return outputs, whole_number(table["user_types"], "user_types", 1, PARTS)


def _entries(table: Mapping[str, Any]) -> array[int]:
    code, width = ("I", 4) if table["bits"] == WEIGHT_BITS else ("Q", 8)
    return _array(code, exact_bytes(table["entries"], "entries", math.prod(_shape(table)) * width))


def _parts(table: Mapping[str, Any]) -> list[tuple[list[int], dict[str, Any]]]:
    """Return the attributes and the ordinary table of every part; their shares sum to 2^32."""
    exact_keys(table, "the table", "kind outputs parts")
    for part in _list(table["parts"], "the table has no parts"):
        exact_keys(part, "a part", "attributes share table")
        places = _numbers(part["attributes"], "a place of an attribute", 0, PARTS)
        _require(all(a < b for a, b in pairwise(places)), "the attributes of a part do not rise")
        _require(_kind(part["table"]) != "parts", "a part has parts itself")
    shares = [whole_number(part["share"], "a share", 1, 1 << WEIGHT_BITS) for part in table["parts"]]
    _require(sum(shares) == 1 << WEIGHT_BITS, f"the shares do not sum to 2^{WEIGHT_BITS}")
    return [(part["attributes"], part["table"]) for part in table["parts"]]


def _translates(table: Mapping[str, Any]) -> tuple[list[list[int]], list[tuple[Any, ...]]]:
    """Return the attributes of every group, and weight, bits, placements, cells, axes, multiples of every pattern."""
    cycles = _numbers(table["cycles"], "a cycle", 1, PARTS)
    numbers = _numbers(table["groups"], "a group", 0, len(cycles) - 1)
    groups: list[list[int]] = [[] for _ in range(max(numbers, default=-1) + 1)]
    for attribute, group in enumerate(numbers):
        groups[group].append(attribute)
    _require(len(numbers) == len(cycles) and all(groups), "the groups are not one number for every attribute")
    alike = all(cycles[group[0]] == cycles[attribute] for group in groups for attribute in group)
    _require(alike, "a group has attributes on different cycles")
    patterns, outputs = [], 0
    for pattern in _list(table["patterns"], "the table has no patterns"):
        exact_keys(pattern, "a pattern", "axes weight bits", "multiples root")
        weight, ways, cells = whole_number(pattern["weight"], "a weight", 1, 1 << WEIGHT_BITS), 1, 1
        axes, taken = [], Counter[int]()
        for group in _numbers(pattern["axes"], "an axis", 0, len(groups) - 1):
            choices, cycle = len(groups[group]) - taken[group], cycles[groups[group][0]]
            ways, cells, taken[group] = ways * choices, cells * cycle, taken[group] + 1
            _require(0 < ways * cells <= MOST, "a pattern has too many axes")
            axes.append((group, choices, cycle))
        multiples, root = (whole_number(pattern.get(key, 1), key, 1, PARTS) for key in ("multiples", "root"))
        sets = min(multiples, root) > 1 == len(axes) == math.gcd(root, cells)
        _require(sets or len(pattern) == 3, "a pattern has multiples that are no sets of its size")
        bits = exact_bytes(pattern["bits"], "the bits of a pattern", -(-cells // 8))
        _require(not bits[-1] & _padding(cells), "a pattern has bits beyond its last cell")
        inside = int.from_bytes(bits, "big").bit_count()
        _require(0 < inside < cells, "a pattern has no cell inside, or none outside")
        patterns.append((weight, bits, multiples * ways, cells, axes, (multiples, root)))
        outputs += multiples * ways * cells
    stated = whole_number(table["outputs"], "outputs", 1, MOST)
    _require(outputs == stated, "the patterns have another number of outputs")
    _require(sum(p[0] for p in patterns) == 1 << WEIGHT_BITS, f"the weights do not sum to 2^{WEIGHT_BITS}")
    return groups, patterns


def _uniform(count: int, source: Source) -> int:
    """Return a whole number below `count`, all of them equally likely; each try is kept with 15/16 or more."""
    size = (count - 1).bit_length() + (4 if count & (count - 1) else 0) + 7 >> 3
    share = (1 << 8 * size) // count
    while (drawn := int.from_bytes(source(size), "big") // share) >= count:
        pass
    return drawn


def _search_table(weights: Iterable[int]) -> list[int]:
    """Return the sums of the first 1, 2, ... weights, filled up to 2^k - 1: a search takes k steps, always."""
    sums = list(accumulate(weights))
    return sums[:-1] + [sums[-1]] * ((1 << (len(sums) - 1).bit_length()) - len(sums))


def _coverage(patterns: bytes, weights: Sequence[int], n: int, height: int) -> Iterator[array[int]]:
    """Yield for every `height` rows, and each user type, the weight of those whose bit is set."""
    width, covered = -(-n // 8), 0
    for y, weight in enumerate(weights, 1):
        row = b"".join(map(_WIDE.__getitem__, patterns[y * width - width : y * width]))
        covered += weight * int.from_bytes(row, "little")
        if y % height == 0:
            yield _array("Q", covered.to_bytes(64 * width, "little"))[:n]
            covered = 0


def _check_domain(domain: Any, table: Any) -> None:
    """Refuse a domain whose attributes are not named, or do not fit the table."""
    names = set()
    for attribute in _list(domain, "the domain lists no attributes"):
        exact_keys(attribute, "an attribute", "name size", "labels edges unit no_answer zone other whole")
        known = isinstance(attribute["name"], str) and attribute["name"] not in names
        _require(known, "two attributes have one name, or one has none")
        names.add(attribute["name"])
        whole_number(attribute["size"], "the size of an attribute", 1, PARTS)
        reader(attribute)
    sizes = [attribute["size"] for attribute in domain]
    _require(_fits(table, sizes), "the domain has another number of values than the table")


def _fits(table: Any, sizes: Sequence[int]) -> bool:
    """Return whether attributes of these sizes make the table's user types, or lie on its cycles, each or all."""
    if _kind(table) == "parts":
        n, parts = len(sizes), _parts(table)
        return all(own[-1] < n and _fits(one, [sizes[i] for i in own]) for own, one in parts)
    *_, cells = accumulate(sizes, lambda cells, size: min(cells * size, PARTS + 1))
    if _kind(table) == "translates":
        known = isinstance(cycles := table.get("cycles"), list) and len(cycles) in (1, len(sizes))
        lengths = sizes if known and len(cycles) == len(sizes) else [cells]
        return known and all(type(n) is int and own <= n for own, n in zip(lengths, cycles, strict=True))
    return cells == table.get("user_types")


def reader(attribute: Mapping[str, Any]) -> Callable[[Any], int]:
    """Return the rule from a value of an attribute, which may be a text, to its number 0..size-1."""
    name, silent, rest = attribute["name"], "no_answer" in attribute, "other" in attribute
    labels, edges, unit, whole = map(attribute.get, ("labels", "edges", "unit", "whole"))
    size, last, places = attribute["size"] - silent, attribute["size"] - silent - rest - 1, dict[str, int]()
    known = all(attribute.get(key, True) is True for key in ("no_answer", "other", "whole")) and last >= 0
    _require(known, f"{name} needs no_answer, other and whole true or left out, and a value beside them")
    known = unit is None or (isinstance(unit, str) and 0 < len(unit) <= 40 and labels is None)
    _require(known, f"{name} needs a unit of 1 to 40 letters, and numbers instead of labels")
    if labels is not None and edges is None:
        known = isinstance(labels, list) and len(labels) == size and all(isinstance(x, str) for x in labels)
        _require(known, f"{name} needs {size} labels")
        known = not silent or not {"", NO_ANSWER} & set(map(str.strip, labels))
        _require(known and len(set(labels)) == size, f"{name} has a label twice")
        places = {label.strip(): k for k, label in enumerate(labels)} | {x: k for k, x in enumerate(labels)}
    _require([labels, edges, rest or None].count(None) > 1, f"{name} has two of labels, edges, other")
    kind, other, texts = ("a number", rest, []) if edges is None else _edges(edges, name, size)
    bounds, zone = [_key(text, kind) for text in texts] or [0, last + 1], _zone(attribute, kind)
    _require(not whole or all(x.strip("-").isdecimal() for x in texts or [""]), f"{name} has no whole edges")
    low, high = (f"below {texts[0]}", f"{texts[-1]} or above") if texts else ("below 0", f"above {last}")
    sort = "a whole number" if whole or not texts else kind if kind == "a number" else "a date or time"
    end = int(texts[-1]) - 1 if whole else f"below {texts[-1]}" if texts else last
    what = f"one of {_short(labels)}" if labels else f"{sort} from {texts[0] if texts else 0} to {end}"
    what += "".join(f", or {word!r}" for word, known in ((OTHER, other), (NO_ANSWER, silent)) if known)

    def read(value: Any) -> int:
        if type(value) is int and not (labels or texts) and 0 <= value <= last:
            return value  # the same as below, at a fifth of the time
        text = _text(value)
        found, bare = "missing" if text.strip().lower() in MISSING else f"not {kind}", text.strip()
        if labels is not None:
            found = places.get(text, places.get(bare, "unknown label" if bare else "missing"))
        elif (key := _key(bare, kind, zone)) is None:
            found = size - 1 if other and bare == OTHER else found
        elif not bounds[0] <= key < bounds[-1]:
            found = low if key < bounds[0] else high
        else:
            found = bisect_right(bounds, key) - 1 if texts else int(key)
            found = found if (texts and not whole) or key == int(key) else "not a whole number"
        found = size if silent and (found == "missing" or bare == NO_ANSWER) else found
        if isinstance(found, str):
            raise ValueError(f"{name} is {_short(value)} ({found}), but must be {what}")
        return found

    return read


def _edges(edges: Any, name: str, size: int) -> tuple[str, bool, list[str]]:
    """Return what the edges are, whether OTHER follows, and their texts, which increase."""
    known = isinstance(edges, list) and all(isinstance(edge, str) and len(edge) < 40 for edge in edges)
    other = known and edges[-1:] == [OTHER]
    texts = edges[:-1] if other else edges if known else []
    kind = next((one for one in ("a date", "a time of day") if all(_key(x, one) for x in texts)), "a number")
    strict = NUMBER.fullmatch if kind == "a number" else lambda text: not set(text[10:]) & set(" Z+-")
    bounds = [_key(x, kind) for x in filter(strict, texts) if kind != "a number" or math.isfinite(float(x))]
    many = known and len(bounds) == len(texts) > 1 and len(edges) == size + 1
    _require(many and all(a < b for a, b in pairwise(bounds)), f"{name} needs {size + 1} edges that increase")
    return kind, other, texts


def _zone(attribute: Mapping[str, Any], kind: str) -> tzinfo:
    """Return the zone to whose local time dates are moved that name one: that of the attribute, or UTC."""
    name, zone = attribute["name"], attribute.get("zone")
    known = zone is None or (kind == "a date" and isinstance(zone, str) and ZONE.fullmatch(zone))
    _require(bool(known), f"{name} needs dates as edges and a zone such as Europe/Berlin, or none")
    try:
        return UTC if zone is None else ZoneInfo(zone)
    except (LookupError, OSError, ValueError):
        raise ValueError(f"{name} has the zone {zone}, unknown here: install the package tzdata") from None


def _key(text: str, kind: str, local: tzinfo = UTC) -> Any:
    """Return the very number of a text, or a date in local time or a time of day in full; None for none."""
    if kind == "a number":
        return Decimal(text) if DECIMAL.fullmatch(text) else None
    plain, fraction, zone = found.groups("") if (found := MOMENT.fullmatch(text)) else ("", "", "")
    dated = "-" in plain
    if dated != (kind == "a date") or (fraction and plain.count(":") < 2) or (zone and len(plain) < 16):
        return None
    try:
        if dated:
            at = datetime.fromisoformat(plain + zone)
            plain = (at.astimezone(local) if zone else at).isoformat()[:19]
        elif plain not in ("24:00", "24:00:00"):
            plain = time.fromisoformat(plain).isoformat()
    except (ValueError, OverflowError):
        return None
    return f"{plain}.{fraction}".rstrip("0").rstrip(".") if fraction else plain


def _require(fulfilled: bool, what: str) -> None:
    """Refuse a bundle for what is wrong with it."""
    if not fulfilled:
        raise ValueError(f"{what}: {ADVICE}")


def _padding(bits: int) -> int:
    """Return the bits of a last byte that are beyond so many."""
    return (1 << -bits % 8) - 1


def exact_keys(data: Any, where: str, required: str, optional: str = "") -> None:
    """Refuse what is not a mapping with all required keys and no others than the optional ones."""
    wanted, allowed = set(required.split()), set((required + " " + optional).split())
    known = isinstance(data, dict) and wanted <= set(data) <= allowed
    _require(known, f"{where} must have exactly the keys {required}")


def whole_number(value: Any, where: str, low: int, high: int) -> int:
    """Return a value that is a whole number from low to high."""
    if type(value) is int and low <= value <= high:
        return value
    raise ValueError(f"{where} is {_short(value)}, but must be a whole number from {low} to {high}: {ADVICE}")


def _numbers(data: Any, where: str, low: int, high: int) -> list[int]:
    """Return a list of whole numbers from low to high."""
    return [whole_number(number, where, low, high) for number in _list(data, f"{where} stands in no list")]


def _list(data: Any, what: str) -> list[Any]:
    """Return a list that holds something."""
    _require(isinstance(data, list) and len(data) > 0, what)
    return data


def from_digits(text: Any, where: str, most: int = 400) -> int:
    """Return the whole number that a text of decimal digits spells."""
    known = isinstance(text, str) and 1 <= len(text) <= most and text.isascii() and text.isdigit()
    _require(known, f"{where} must be written in at most {most} digits")
    return int(text)


def exact_bytes(text: Any, where: str, count: int) -> bytes:
    """Return the bytes of a base64 text that has exactly one spelling and the length expected."""
    raw = b""
    if isinstance(text, str) and len(text) == 4 * -(-count // 3):
        with suppress(ValueError):
            raw = base64.b64decode(text, validate=True)
    same = len(raw) == count and base64.b64encode(raw).decode() == text
    _require(same, f"{where} must be the base64 text of {count} bytes")
    return raw


def _array(code: str, raw: bytes, order: str = "little") -> array[int]:
    """Return the unsigned whole numbers of 4 ("I") or 8 bytes ("Q") each that some bytes hold."""
    numbers = array(code, raw)
    if sys.byteorder != order:
        numbers.byteswap()
    return numbers


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(data := dict(pairs)) != len(pairs):
        raise ValueError("a key is written twice")
    return data


def _no_number(text: str) -> Any:
    raise ValueError(f"{text[:20]} is not a whole number")


def _plain(value: Any) -> Any:
    """Return what NumPy, pandas or Arrow hold as Python's own; float32 as its shortest text, which files hold."""
    if str(getattr(value, "dtype", "")).lower() in ("float16", "float32"):
        value = value.astype(str)
    names = () if type(value) in _SINGLE else ("to_pylist", "as_py", "to_list", "tolist")
    found = (convert for name in names if callable(convert := getattr(value, name, None)))
    return next(found, lambda: value)()


def _text(value: Any) -> str:
    """Return a value as a file or a form holds it: numbers in the shortest way, dates and times in ISO 8601."""
    plain = _plain(value)
    text = plain.isoformat() if isinstance(plain, date | time) else str(plain)
    return text if isinstance(plain, str) or text not in ("None", "NaT", "<NA>") else ""


def _short(value: Any) -> str:
    return text if len(text := repr(value)) <= 80 else text[:77] + "..."
