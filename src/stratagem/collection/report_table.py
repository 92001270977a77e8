"""Reports as a table of any Ibis backend: judged row by row, each id once, counted by output."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from stratagem.collection.reports import Reason, ReportFormat
from stratagem.collection.tally import CONFLICT, Tally, counted
from stratagem.file.toml import nearest

if TYPE_CHECKING:
    import pyarrow as pa
    from ibis.expr.types import Table

DIGITS = 32
COLUMNS = {"mechanism": ("string",), "id": ("string", "uuid"), "output": ("integer", "string")}
"""The columns that are looked at, each with the types that it may have."""


def aggregate(table: Table, identifier: str, outputs: int) -> Tally:
    """Count the reports of a table where it lies: DuckDB, Spark in its session, or any other Ibis backend.

    The column `output` holds whole numbers (as integers or as text); `id` (32 hex digits as text, or UUIDs)
    and `mechanism` (text) may be missing: without ids no duplicate can be found, and `anonymous` counts them.
    Other columns are not looked at.

    Raises:
        ValueError: for a table without the column `output`, or with a column of another type.

    Example:
        >>> import ibis, pyarrow
        >>> table = ibis.memtable(pyarrow.table({"output": [0, 2, 2]}))  # or of Spark, ...
        >>> aggregate(table, "0" * 64, outputs=3).counts.tolist()
        [1, 0, 2]
    """
    return tally(judge(table, ReportFormat(identifier, outputs)), outputs)


def judge(table: Table, form: ReportFormat) -> Table:
    """Return the columns `id`, `output` (int64) and `reason`: null for a report, else why it is none.

    Rows that are no reports have neither id nor output; the order of reasons is that of `Reason`.

    Raises:
        ValueError: for a table without the column `output`, or with a column of another type.
    """
    import ibis

    check_names(table.columns)
    _check_types(table)
    whole, number = _number(table["output"])
    reasons = [(~whole, Reason.WHOLE), (~number.between(0, form.outputs - 1).fill_null(False), Reason.RANGE)]
    if "id" in table.columns:
        reasons.insert(0, (~_well_formed(table["id"]), Reason.ID))
    if "mechanism" in table.columns:
        reasons.insert(0, (~_equal(table["mechanism"], form.mechanism), Reason.MECHANISM))
    reason = ibis.cases(*((wrong, ibis.literal(str(words))) for wrong, words in reasons))
    valid = reason.isnull()
    name = table["id"] if "id" in table.columns else ibis.null("string")
    return table.select(
        id=ibis.ifelse(valid, name, ibis.null(name.type())),
        output=ibis.ifelse(valid, number, ibis.null("int64")),
        reason=reason,
    )


def tally(judged: Table, outputs: int, parts: Iterable[Table] | None = None) -> Tally:
    """Count judged reports by output, each id once.

    `parts` are filters of `judged` that share no id and leave out none: counted one after another, they need
    less memory at a time than all ids together.
    """
    valid, rejected, anonymous = _received(judged)
    named = np.concatenate([_pairs(_ids_by_output(part).to_pyarrow()) for part in parts or (judged,)])
    conflicts = named[:, 0] == CONFLICT
    every = np.concatenate([named[~conflicts], anonymous])
    counts = counted(every[:, 0], outputs, every[:, 1])
    ids, conflicting, loose = (int(pairs[:, 1].sum()) for pairs in (named, named[conflicts], anonymous))
    return Tally(counts, dict(rejected.most_common()), valid - ids, conflicting, loose)


def check_names(names: Iterable[str]) -> None:
    """Refuse columns among which there is no `output`.

    Raises:
        ValueError: naming those that are closest.
    """
    names = tuple(names)
    if "output" not in names:
        found = nearest("output", [name[:50] for name in names[:20]])
        raise ValueError(f"the reports have no column 'output': {found}, or add a header")


def _check_types(table: Table) -> None:
    for name, allowed in COLUMNS.items():
        if name in table.columns:
            kind = table[name].type()
            if not any(getattr(kind, f"is_{word}")() for word in allowed):
                words = " or ".join(allowed)
                raise ValueError(f"the column {name!r} has type {kind}, but must be {words}: cast it")


def _number(output: Any) -> tuple[Any, Any]:
    """Return whether each value is a whole number, and the number; null where int64 does not hold it."""
    if output.type().is_integer():
        return output.notnull(), output.try_cast("int64")
    # the negated class also finds what $ overlooks in some dialects, a line end at the end
    whole = output.re_search("^-?(0|[1-9][0-9]*)$") & ~output.re_search("[^-0-9]")
    return whole.fill_null(False), output.try_cast("int64")


def _well_formed(name: Any) -> Any:
    if name.type().is_uuid():
        return name.notnull()
    return ((name.length() == DIGITS) & ~name.re_search("[^0-9a-f]")).fill_null(False)


def _equal(text: Any, wanted: str) -> Any:
    return (text == wanted).fill_null(False)


def _received(judged: Table) -> tuple[int, Counter[str], np.ndarray]:
    """Return the number of reports with an id, of rows rejected by reason, and of reports without id by output.

    The last are pairs (k x 2) of output and number.
    """
    import ibis

    named = judged.id.notnull()
    loose = ibis.ifelse(named, ibis.null("int64"), judged.output)
    found = judged.group_by(reason=judged.reason, loose=loose).agg(number=judged.count()).to_pyarrow()
    anonymous = found["loose"].is_valid()
    others = found.filter(found["loose"].is_null())
    rejected = Counter(dict(zip(others["reason"].to_pylist(), others["number"].to_pylist(), strict=True)))
    return rejected.pop(None, 0), rejected, _pairs(found.filter(anonymous).select(["loose", "number"]))


def _ids_by_output(judged: Table) -> Table:
    """Return how many distinct ids reported each output, those with two outputs as CONFLICT."""
    import ibis

    named = judged.filter(judged.id.notnull())
    once = named.group_by("id").agg(low=named.output.min(), high=named.output.max())
    output = ibis.ifelse(once.low == once.high, once.low, CONFLICT)
    return once.group_by(output=output).agg(ids=once.count())


def _pairs(table: pa.Table) -> np.ndarray:
    """Return two columns of whole numbers as an array (k x 2)."""
    return np.stack([column.to_numpy() for column in table.columns], axis=1).astype(np.int64)
