"""Reports in a table of any Ibis backend: checked row by row, then counted by output, each id once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import ibis
import numpy as np

from stratagem.collection.reports import REFUSE, AnonymousReportsError, Reason, ReportFormat, check_anonymous
from stratagem.collection.tally import CONFLICT, Tally
from stratagem.io.toml import nearest
from stratagem.math.vector import counted

if TYPE_CHECKING:
    import pyarrow as pa
    from ibis.expr.types import Table

DIGITS = 32
COLUMNS = {"mechanism": ("string",), "id": ("string", "uuid"), "output": ("integer", "string")}
"""The columns that are read, each with the types that it may have."""


def aggregate(table: Table, identifier: str, outputs: int, *, anonymous: str = REFUSE) -> Tally:
    """Count the reports of a table inside its own engine: DuckDB, Spark or any other Ibis backend.

    The column `output` holds whole numbers (as integers or as text); `id` (32 hex digits as text, or UUIDs)
    and `mechanism` (text) may be missing. Without ids no duplicate can be found: `anonymous="count"` says that every
    row counts. Other columns are ignored.

    Raises:
        AnonymousReportsError: for a table without ids, unless they are to be counted.
        ValueError: for a table without the column `output`, or with a column of another type.

    Example:
        >>> import ibis, pyarrow
        >>> table = ibis.memtable(pyarrow.table({"output": [0, 2, 2]}))  # or of Spark, ...
        >>> aggregate(table, "0" * 64, outputs=3, anonymous="count").counts.tolist()
        [1, 0, 2]
    """
    return tally(judge(table, ReportFormat(identifier, outputs), anonymous, "the table"), outputs)


def judge(table: Table, form: ReportFormat, anonymous: str, source: str) -> Table:
    """Return the columns `id`, `output` (int64) and `reason`, the reason for rejection or null for a report.

    Rejected rows have neither id nor output; the order of reasons is that of `Reason`. `source` names the
    table in errors.

    Raises:
        AnonymousReportsError: for a table without ids, unless they are to be counted.
        ValueError: for a table without the column `output`, or with a column of another type.
    """
    check_columns(table)
    if check_anonymous(anonymous) == REFUSE and "id" not in table.columns:
        raise AnonymousReportsError(source)
    whole, number = _number(table["output"])
    reasons = [(~whole, Reason.WHOLE), (~number.between(0, form.outputs - 1).fill_null(False), Reason.RANGE)]
    if "id" in table.columns:
        reasons.insert(0, (~_well_formed(table["id"]), Reason.ID))
    if "mechanism" in table.columns:
        mechanism: Any = table["mechanism"]
        reasons.insert(0, (~(mechanism == form.mechanism).fill_null(False), Reason.MECHANISM))
    reason = ibis.cases(*((wrong, ibis.literal(str(words))) for wrong, words in reasons))
    valid = reason.isnull()
    name = table["id"] if "id" in table.columns else ibis.null("string")
    return table.select(
        id=ibis.ifelse(valid, name, ibis.null(name.type())),
        output=ibis.ifelse(valid, number, ibis.null("int64")),
        reason=reason,
    )


def tally(
    judged: Table, outputs: int, parts: Iterable[Table] | None = None, order: str | None = None
) -> Tally:
    """Count the reports of a table that `judge` returned by output, each id once.

    `parts` are filters of `judged` that share no id and leave out none: counted one after another, they need
    less memory at a time than all ids together. An id with several outputs counts for none, or for the first by the
    column `order`.
    """
    valid, rejected, anonymous = _received(judged)
    named = [_rows(_ids_by_output(part, order).to_pyarrow()) for part in parts or (judged,)]
    outputs_of, several, ids = np.concatenate(named).T
    counts_for = outputs_of != CONFLICT
    every = np.concatenate([outputs_of[counts_for], anonymous[:, 0]])
    times = np.concatenate([ids[counts_for], anonymous[:, 1]])
    return Tally(
        counts=counted(every, outputs, times),
        rejected=dict(rejected.most_common()),
        duplicates=valid - int(ids.sum()),
        conflicting=int(ids[~counts_for].sum()),
        anonymous=int(anonymous[:, 1].sum()),
        overruled=int(ids[counts_for & (several > 0)].sum()),
    )


def check_names(names: Iterable[str]) -> None:
    """Refuse a table without a column `output`."""
    names = tuple(names)
    if "output" not in names:
        found = nearest("output", [name[:50] for name in names[:20]])
        raise ValueError(f"the reports have no column 'output': {found}, or add a header")


def check_columns(table: Table) -> None:
    """Refuse a table without a column `output`, or with a column of reports that has another type than these have."""
    check_names(table.columns)
    for name, allowed in COLUMNS.items():
        if name in table.columns:
            kind = table[name].type()
            if not any(getattr(kind, f"is_{word}")() for word in allowed):
                words = " or ".join(allowed)
                raise ValueError(f"the column {name!r} has type {kind}, but must be {words}: cast it")


def _number(output: Any) -> tuple[Any, Any]:
    """Return two columns: whether each value is a whole number, and the number or null beyond int64."""
    if output.type().is_integer():
        return output.notnull(), output.try_cast("int64")
    number = output.try_cast("int64")
    usual = (number.cast("string") == output).fill_null(False)  # found in a third of the time of the patterns
    # the negated class also finds what $ overlooks in some dialects, a line end at the end
    whole = output.re_search("^-?(0|[1-9][0-9]*)$") & ~output.re_search("[^-0-9]")
    return usual.ifelse(True, whole.fill_null(False)), number


def _well_formed(name: Any) -> Any:
    if name.type().is_uuid():
        return name.notnull()
    return ((name.length() == DIGITS) & ~name.re_search("[^0-9a-f]")).fill_null(False)


def _received(judged: Table) -> tuple[int, Counter[str], np.ndarray]:
    """Return the number of reports with an id, the rejected rows by reason, and the reports without an id.

    The last are an array (k x 2): an output, and the number of its reports without an id.
    """
    named = judged.id.notnull()
    loose = ibis.ifelse(named, ibis.null("int64"), judged.output)
    found = judged.group_by(reason=judged.reason, loose=loose).agg(number=judged.count()).to_pyarrow()
    anonymous = found["loose"].is_valid()
    others = found.filter(found["loose"].is_null())
    rejected = Counter(dict(zip(others["reason"].to_pylist(), others["number"].to_pylist(), strict=True)))
    return rejected.pop(None, 0), rejected, _rows(found.filter(anonymous).select(["loose", "number"]))


def _ids_by_output(judged: Table, order: str | None) -> Table:
    """Return the number of distinct ids for each output, with separate rows for ids that had several outputs.

    The output of such ids is CONFLICT, or with an `order` the first that came.
    """
    named = judged.filter(judged.id.notnull())
    kept = {} if order is None else {"first": named.output.argmin(named[order])}
    once = named.group_by("id").agg(low=named.output.min(), high=named.output.max(), **kept)
    several = once.low != once.high
    output = once["first"] if kept else ibis.ifelse(several, CONFLICT, once.low)
    return once.group_by(output=output, several=several.cast("int64")).agg(ids=once.count())


def _rows(table: pa.Table) -> np.ndarray:
    """Return a table of whole-number columns as an array (rows x columns)."""
    return np.stack([column.to_numpy() for column in table.columns], axis=1).astype(np.int64)
