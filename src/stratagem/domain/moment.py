"""Dates, dates with times, and times of day: texts of ISO 8601, moved to one zone where they name another."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, time, timedelta, tzinfo
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

CLOCK = "[0-9]{2}:[0-9]{2}(?::[0-9]{2})?"
DATE = f"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(?:[T ]{CLOCK})?"
DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
MOMENT = re.compile(rf"({DATE}|{CLOCK})(?:\.([0-9]+))?(Z|[+-][0-9]{{2}}(?::?[0-5][0-9])?)?")
"""A date, with a time or without, or a time of day; a fraction of a second; a zone."""
SPACED = re.compile(f"(?P<start>{DATE}|{CLOCK}):(?P<stop>{DATE}|{CLOCK}):(?P<number>[0-9]+)(?P<unit>[a-z]+)")
ZONE = re.compile("[A-Z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*")
UNITS = {
    "s": timedelta(seconds=1),
    "min": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}
MONTHS = {"mo": 1, "y": 12}
CALENDAR = ((1, "d", 1), (1, "w", 7), (1, "mo", 30), (3, "mo", 91), (1, "y", 365), (10, "y", 3652))
"""Steps of the calendar, and about how many days they have."""
ORDERS = {"day-first": (2, 1, 0), "month-first": (2, 0, 1), "year-first": (0, 1, 2)}
"""Where year, month and day stand in dates of numbers with marks between them, such as 03/04/2024."""
MARKED = re.compile(r"([0-9]{1,4})([./-])([0-9]{1,2})\2([0-9]{1,4})(?:[T ]+([0-9]{1,2}:.*))?")
DATED = 0.9
"""Share of the rows of a column that must be such dates for it to count as one of dates."""
MIDNIGHT = datetime(2000, 1, 1)
"""Date to which times of day are attached for arithmetic."""
MIDNIGHT_AFTER = "24:00"
"""The end of a day, after all of its times."""


@cache
def rule(zone: str) -> tzinfo:
    """Return the rule of a zone of the IANA database, by its name; UTC for the empty one."""
    try:
        if not zone or ZONE.fullmatch(zone):
            return ZoneInfo(zone) if zone else UTC
    except (LookupError, OSError, ValueError):
        pass
    raise ValueError(
        f"the zone {zone!r:.60} was given, but this system knows none of this name: write for example Europe/Berlin"
    )


def instant(text: str, zone: str = "") -> str | None:
    """Return a date or a time of day in full, so that those of one kind sort by time; None for what is none.

    What names a zone is moved to the local time of `zone`, by default UTC; anything else stands as it is.

    >>> instant("2026-01-01"), instant("2026-01-01 01:30+02:00"), instant("09:30"), instant("2026-02-31")
    ('2026-01-01T00:00:00', '2025-12-31T23:30:00', '09:30:00', None)
    >>> [instant(f"2026-10-25T{hour}:30Z", "Europe/Berlin") for hour in ("00", "01")]  # the clock goes back
    ['2026-10-25T02:30:00', '2026-10-25T02:30:00']
    """
    found = MOMENT.fullmatch(text)
    plain, fraction, offset = found.groups("") if found else ("", "", "")
    if not plain or (fraction and plain.count(":") < 2) or (offset and len(plain) < len("2026-01-01T00:00")):
        return None
    try:
        if "-" in plain:
            at = datetime.fromisoformat(plain + offset)
            plain = (at.astimezone(rule(zone)) if offset else at).replace(tzinfo=None).isoformat()
        elif plain not in (MIDNIGHT_AFTER, f"{MIDNIGHT_AFTER}:00"):
            plain = time.fromisoformat(plain).isoformat()
    except (ValueError, OverflowError):
        return None
    return f"{plain}.{fraction}".rstrip("0").rstrip(".") if fraction else plain


def iso_date(text: str, order: str) -> str | None:
    """Return a date whose parts stand in an order of `ORDERS` as ISO 8601 writes it; None for what is none.

    >>> iso_date("3.4.2024", "day-first"), iso_date("03/04/2024 9:30", "month-first"), iso_date("3/4/24", "day-first")
    ('2024-04-03', '2024-03-04 09:30', None)
    """
    found = MARKED.fullmatch(text.strip())
    if not found:
        return None
    parts = found[1], found[3], found[4]
    year, month, day = (parts[place] for place in ORDERS[order])
    if len(year) < 4 or max(len(month), len(day)) > 2:
        return None
    clock = found[5] and f" {'0' * (found[5].index(':') < 2)}{found[5]}"
    date = f"{year}-{month:0>2}-{day:0>2}{clock or ''}"
    return date if instant(date) else None


def date_order(counts: Mapping[str, int], column: str) -> str | None:
    """Return the order of `ORDERS` in which a column writes its dates, as one of them tells; None without such dates.

    ISO 8601 needs none.

    >>> date_order({"03/04/2024": 1, "13/04/2024": 1}, "day"), date_order({"2024-04-03": 1}, "day")
    ('day-first', None)

    Raises:
        ValueError: where no date tells day and month apart, or two contradict each other.
    """
    fits = {
        text: [order for order in ORDERS if iso_date(text, order)]
        for text in counts
        if not instant(text.strip())
    }
    rows = sum(counts[text] for text, orders in fits.items() if orders)
    if not rows or rows < DATED * sum(counts.values()):
        return None
    told: dict[str, str] = {}
    for text, orders in fits.items():
        if len(orders) == 1:
            told.setdefault(orders[0], text)
    if len(told) == 1:
        return next(iter(told))
    shown = " and ".join(map(repr, told.values())) or repr(
        next(text for text, orders in fits.items() if orders)
    )
    why = "contradict each other in the order" if told else "do not tell the order"
    days, months = (stating(column, "date_format", order) for order in (*ORDERS,)[:2])
    raise ValueError(
        f"the dates of column {column!r}, such as {shown}, {why} of day and month: say {days} or {months}"
    )


def stating(column: str, name: str, given: str | list[str] | dict[str, str]) -> str:
    """Return the argument that says how a column is read, or without a name the only one.

    >>> stating("age", "missing", ["?"]), stating("", "date_format", "day-first")
    ("by_column={'age': {'missing': ['?']}}", "date_format='day-first'")
    """
    return f"by_column={{{column!r}: {{{name!r}: {given!r}}}}}" if column else f"{name}={given!r}"


def dates_read(texts: Mapping[str, int], column: str = "") -> tuple[int, str]:
    """Return the rows of the texts that are dates of another form, and how the first can be read; nothing without any.

    >>> dates_read({"13/04/2024": 2, "unknown": 1})
    (2, "dates such as 13/04/2024, which date_format='day-first' reads as 2024-04-13")
    """
    rows, read = best_read(
        texts, iso_date, {order: stating(column, "date_format", order) for order in ORDERS}
    )
    return rows, f"dates such as {read}" if rows else ""


def best_read(
    texts: Mapping[str, int], reads: Callable[[str, str], str | None], ways: Mapping[str, str]
) -> tuple[int, str]:
    """Return the rows that the best ways of reading read, and an example; `ways` are their words."""
    rows = {way: sum(n for text, n in texts.items() if reads(text, way)) for way in ways}
    if not (most := max(rows.values())):
        return 0, ""
    first, *others = (way for way in ways if rows[way] == most)
    known = [text for text in texts if reads(text, first)]
    shown = next((text for text in known if all(reads(text, way) for way in others)), known[0])
    best = [first, *(way for way in others if reads(shown, way))]
    return most, f"{shown}, which {' and '.join(f'{ways[way]} reads as {reads(shown, way)}' for way in best)}"


def zones_said(counts: Mapping[Any, int], zone: str = "") -> str:
    """Return a sentence on the zones that the texts of a column name; empty where all name none.

    >>> zones_said({"2026-01-01T12:00Z": 3, "2026-07-01T12:00+02:00": 2}, "Europe/Berlin")
    'Dates name zones (Z 3, +02:00 2): each is read in Europe/Berlin, the zone of the bins.'
    """
    rows: Counter[str] = Counter()
    for text, count in counts.items():
        if found := MOMENT.fullmatch((text or "").strip()):
            rows[found[3] or "none"] += count
    if set(rows) <= {"none"}:
        return ""
    kinds = ", ".join(f"{offset} {count:,}" for offset, count in rows.most_common())
    bare = "; one without a zone stays as it is" if "none" in rows else ""
    read = f"{zone}, the zone of the bins" if zone else "UTC, as the bins name no zone"
    other = (
        "" if zone else " Edges that end in [Europe/Berlin], for example, are in the local time of that zone."
    )
    return f"Dates name zones ({kinds}): each is read in {read}{bare}.{other}"


def shortest(text: str) -> str:
    """Return a date or time in full without the seconds and the midnight that say nothing.

    >>> shortest("2026-01-01T00:00:00"), shortest("09:30:00")
    ('2026-01-01', '09:30')
    """
    whole = text.removesuffix(":00") if text.count(":") == 2 else text
    return whole.removesuffix("T00:00")


def spaced_moments(text: str, most: int) -> tuple[str, ...] | None:
    """Return the moments from START to STOP in steps, None for a text that is no START:STOP:STEP of moments.

    The last bin is shorter where the steps pass over STOP.

    >>> spaced_moments("2026-01-01:2026-04-01:1mo", most=12)
    ('2026-01-01', '2026-02-01', '2026-03-01', '2026-04-01')
    >>> spaced_moments("00:00:24:00:8h", most=12)
    ('00:00', '08:00', '16:00', '24:00')
    """
    found = SPACED.fullmatch(text)
    if not found:
        return None
    clock = "-" not in found["start"]
    at, stop = _moment(found["start"]), _moment(found["stop"])
    number, unit = int(found["number"]), found["unit"]
    known = (*UNITS, *(() if clock else MONTHS))
    if unit not in known:
        raise ValueError(
            f"the step {number}{unit} was given, but units are {', '.join(known)}: write one of them"
        )
    moments = [at]
    while number and moments[-1] < stop and len(moments) <= most:
        moments.append(_later(at, number * len(moments), unit))
    if moments[-1] < stop or len(moments) < 2:
        raise ValueError(
            f"{text} does not lead from START to STOP in steps above zero, at most {most:,} of them: write for example "
            f"{'00:00:24:00:1h' if clock else '2026-01-01:2027-01-01:1mo'}"
        )
    moments[-1] = stop
    return tuple(_moment_text(moment, clock=clock) for moment in moments)


def steps_text(texts: Sequence[str]) -> str:
    """Return START:STOP:STEP for moments in equal steps; empty for others.

    >>> steps_text(("2026-01-01", "2026-04-01", "2026-07-01")), steps_text(("00:00", "08:00", "20:00"))
    ('2026-01-01:2026-07-01:3mo', '')
    """
    start, second = _moment(texts[0]), _moment(texts[1])
    months = 12 * (second.year - start.year) + second.month - start.month
    steps = [f"{months // 12}y"] if months % 12 == 0 else [f"{months}mo"]
    steps += [f"{(second - start) // one}{unit}" for unit, one in reversed(UNITS.items())]
    for step in steps:
        text = f"{texts[0]}:{texts[-1]}:{step}"
        with suppress(ValueError):
            if spaced_moments(text, len(texts)) == tuple(texts):
                return text
    return ""


def whole_days(texts: Sequence[str]) -> list[tuple[str, str]]:
    """Return the first and the last day, month or year between neighbouring dates; nothing where these have times.

    >>> whole_days(("2024-01-01", "2024-02-01", "2024-04-01")), whole_days(("2024-01-01", "2024-01-08"))
    ([('2024-01', '2024-01'), ('2024-02', '2024-03')], [('2024-01-01', '2024-01-07')])
    """
    if not all(DAY.fullmatch(text) for text in texts):
        return []
    kept = next(len(end) for end in ("-01-01", "-01", "") if all(text.endswith(end) for text in texts))
    letters, day = len(texts[0]) - kept, timedelta(days=1)
    return [(a[:letters], (_moment(b) - day).isoformat()[:letters]) for a, b in itertools.pairwise(texts)]


def _moment(text: str) -> datetime:
    whole = instant(text)
    if whole is None:
        if "-" in text:
            raise ValueError(f"{text} is no date that exists: write for example 2026-12-31")
        raise ValueError(f"{text} is no time of day, which go from 00:00 to 24:00: write one of these")
    if whole.startswith(MIDNIGHT_AFTER):
        return MIDNIGHT + timedelta(days=1)
    return datetime.fromisoformat(whole if "-" in whole else f"{MIDNIGHT:%Y-%m-%d}T{whole}")


def _later(moment: datetime, number: int, unit: str) -> datetime:
    if unit in UNITS:
        return moment + number * UNITS[unit]
    months = moment.month - 1 + number * MONTHS[unit]
    try:
        return moment.replace(year=moment.year + months // 12, month=months % 12 + 1)
    except ValueError:
        raise ValueError(
            f"months were counted from day {moment.day}, which some months lack: begin at day 28 or before"
        ) from None


def _moment_text(moment: datetime, *, clock: bool) -> str:
    if not clock:
        return shortest(moment.isoformat())
    return "24:00" if moment.day > MIDNIGHT.day else shortest(moment.time().isoformat())


def calendar_bins(first: datetime, last: datetime, days: Iterable[datetime], most: int) -> tuple[str, str]:
    """Return START:STOP:STEP in about `most` steps of the calendar or fewer, and a sentence on it.

    >>> day = datetime(2026, 1, 5)
    >>> calendar_bins(day, datetime(2026, 3, 7), [day], 32)
    ('2026-01-05:2026-03-09:1w', 'steps of the calendar (1w) that cover all dates')
    """
    steps = ((number, unit) for number, unit, length in CALENDAR if (last - first).days < most * length)
    number, unit = next(steps, CALENDAR[-1][:2])
    step = f"{number}{unit}"
    start = _beginning(first, step)
    stop = next(one for k in itertools.count(1) if (one := _later(start, k * number, unit)) > last)
    covered = "all" if all(start <= day < stop for day in days) else "nearly all"
    rule = f"steps of the calendar ({step}) that cover {covered} dates"
    return f"{start:%Y-%m-%d}:{stop:%Y-%m-%d}:{step}", rule


def _beginning(moment: datetime, step: str) -> datetime:
    """Return the last beginning of a step: midnight, Monday, the first of a month, quarter, year or decade."""
    day = datetime(moment.year, moment.month, moment.day)
    if step == "1d":
        return day
    if step == "1w":
        return day - timedelta(days=day.weekday())
    month = {"1mo": day.month, "3mo": day.month - (day.month - 1) % 3}.get(step, 1)
    return datetime(day.year - day.year % 10 if step == "10y" else day.year, month, 1)
