"""Dates and times as texts of ISO 8601, which sort as they follow one another."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta

CLOCK = "[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\\.[0-9]+)?)?"
DAY = f"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(?:[T ]{CLOCK})?"
KINDS = (re.compile(DAY), re.compile(CLOCK))
"""A date, with a time or without; a time of day. Texts of one kind sort by time where seconds and midnights that
say nothing are left off."""
SPACED = re.compile(f"(?P<start>{DAY}|{CLOCK}):(?P<stop>{DAY}|{CLOCK}):(?P<number>[0-9]+)(?P<unit>[a-z]+)")
UNITS = {
    "s": timedelta(seconds=1),
    "min": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}
MONTHS = {"mo": 1, "y": 12}
MIDNIGHT = datetime(2000, 1, 1)
"""Date to which times of day are attached for arithmetic."""


def kind_of(texts: Sequence[object]) -> re.Pattern[str] | None:
    """Return what all texts are, dates or times of day; None where they are neither, or not alike."""
    return next(
        (kind for kind in KINDS if all(isinstance(text, str) and kind.fullmatch(text) for text in texts)),
        None,
    )


def shortest(text: str) -> str:
    """Return a date or time without the seconds and the midnight that say nothing.

    >>> shortest("2026-01-01 00:00:00"), shortest("09:30:00")
    ('2026-01-01', '09:30')
    """
    text = text.replace(" ", "T")
    if len(text) in (len("00:00:00"), len("2026-01-01T00:00:00")):
        text = text.removesuffix(":00")
    return text.removesuffix("T00:00")


def spaced(text: str, most: int) -> tuple[str, ...] | None:
    """Return the moments from START to STOP in steps, None for a text that is no START:STOP:STEP of moments.

    >>> spaced("2026-01-01:2026-04-01:1mo", most=12)
    ('2026-01-01', '2026-02-01', '2026-03-01', '2026-04-01')
    >>> spaced("00:00:24:00:8h", most=12)
    ('00:00', '08:00', '16:00', '24:00')

    Raises:
        ValueError: for moments that do not exist, an unknown unit, or steps that miss STOP or are more than `most`.
    """
    found = SPACED.fullmatch(text)
    if not found:
        return None
    clock = bool(KINDS[1].fullmatch(found["start"]))
    at, stop = (_moment(found[name]) for name in ("start", "stop"))
    number, unit = int(found["number"]), found["unit"]
    known = (*UNITS, *(() if clock else MONTHS))
    if unit not in known:
        raise ValueError(
            f"the step {number}{unit} was given, but units are {', '.join(known)}: write one of them"
        )
    moments = [at]
    while number and moments[-1] < stop and len(moments) <= most:
        moments.append(_later(at, number * len(moments), unit))
    if moments[-1] != stop or len(moments) < 2:
        raise ValueError(
            f"{text} does not lead from START to STOP in whole steps: write for example "
            f"{'00:00:24:00:1h' if clock else '2026-01-01:2027-01-01:1mo'}"
        )
    return tuple(_text(moment, clock=clock) for moment in moments)


def _moment(text: str) -> datetime:
    try:
        if KINDS[0].fullmatch(text):
            return datetime.fromisoformat(text)
        hours, minutes, *seconds = text.split(":")
        since = timedelta(hours=int(hours), minutes=int(minutes), seconds=float(seconds[0]) if seconds else 0)
    except ValueError:
        raise ValueError(f"{text} is no date that exists: write for example 2026-12-31") from None
    if int(minutes) > 59 or since > timedelta(days=1):
        raise ValueError(f"{text} is no time of day, which go from 00:00 to 24:00: write one of these")
    return MIDNIGHT + since


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


def _text(moment: datetime, *, clock: bool) -> str:
    if not clock:
        return shortest(moment.isoformat())
    return "24:00" if moment.day > MIDNIGHT.day else shortest(moment.time().isoformat())
