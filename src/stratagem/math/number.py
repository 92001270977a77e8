"""Numbers from outside, and numbers for reading."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike


def finite(values: ArrayLike, what: str) -> np.ndarray:
    """Return real finite numbers as a float array of any shape."""
    array = numbers(values)
    if not np.isfinite(array).all():
        raise ValueError(f"{what} are not all real finite numbers: give an array of such numbers")
    return array


def numbers(values: ArrayLike) -> np.ndarray:
    """Return real numbers as floats of any shape, a single nan for anything else."""
    found = array(values)
    return found.astype(float) if found.dtype.kind in "biuf" else np.array(np.nan)


def array(values: ArrayLike) -> np.ndarray:
    """Return values as an array, a single nan where its rows would have different lengths; sparse ones are filled up.

    Raises:
        ValueError: for a sparse array of more than 2^27 numbers once it is filled up, or where numbers are masked.
    """
    filled = dense(values)
    try:
        return np.asarray(filled)
    except ValueError:
        return np.array(np.nan)


FILLED = 1 << 27
"""Numbers of the largest sparse array that is filled up (1 GiB)."""


def dense(values: Any) -> Any:
    """Return a sparse array or matrix of SciPy as an array of NumPy, and anything else as it is.

    Raises:
        ValueError: for more than 2^27 numbers, or where numbers of an array are masked.
    """
    if np.ma.is_masked(values):
        raise ValueError("some numbers of the array are masked: fill them in, as its method `filled` does")
    made = sys.modules.get("scipy.sparse")  # without it nobody has such an array
    if made is None or not made.issparse(values):
        return values
    entries(math.prod(values.shape), FILLED, "the sparse matrix", "ask fewer queries, or merge values")
    return values.toarray()


def real(value: object) -> float:
    """Return one real number as a float, or nan for anything else; every comparison with nan is false.

    Numbers of NumPy and arrays of shape () are numbers; texts and truth values are not.

    >>> real(np.float32(0.5)), real(np.array(2)), real("1"), real(True)
    (0.5, 2.0, nan, nan)
    """
    if not isinstance(value, Real | Decimal):
        found = array(value)  # type: ignore[arg-type]
        return float(found) if found.ndim == 0 and found.dtype.kind in "iuf" else math.nan
    try:
        return math.nan if isinstance(value, bool) else float(value)
    except OverflowError:
        return math.nan


def scalar(value: object, what: str) -> float:
    """Return one real finite number as a float."""
    number = real(value)
    if not math.isfinite(number):
        raise ValueError(f"{what} is {value!r}, but must be one finite number: give for example 1000.0")
    return number


def positive(value: object, what: str) -> float:
    """Return a positive finite number as a float."""
    number = scalar(value, what)
    if number <= 0:
        raise ValueError(f"{what} is {value!r}, but must be positive: give for example 1.0")
    return number


def user_counts(values: ArrayLike, n: int) -> np.ndarray:
    """Return a data vector (n,): how many users have each type."""
    x = array(values)
    whole = x.dtype.kind in "biuf" and x.shape == (n,) and bool(np.isfinite(x).all())
    if not whole or (x < 0).any() or (x % 1 != 0).any():
        raise ValueError(f"the data vector must hold {n} nonnegative whole numbers: give one count a value")
    if not x.any():
        raise ValueError("the data vector counts no people, but at least one is needed: give data")
    return x


def users_text(users: int | None) -> str:
    """Write a number of users with separators, or with four significant digits from 10^12 on.

    >>> users_text(445613), users_text(4 * 10**20), users_text(None)
    ('445,613', '4e+20', 'not known')
    """
    if users is None:
        return "not known"
    return f"{users:,}" if users < 10**12 else number_text(float(users))


def number_text(value: float) -> str:
    """Write a number for reading: whole from a thousand on, a power of ten from 10^12 on."""
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e12 else f"{value:.4g}"


def upper(value: float) -> str:
    """Return an upper limit with three significant digits, rounded up; 10^-9 of it is taken for rounding.

    >>> upper(0.029921), upper(1.0), upper(0.0)
    ('0.03', '1', '0')
    """
    if value <= 0:
        return f"{value:g}"
    digits = 10.0 ** (2 - math.floor(math.log10(value)))
    return f"{math.ceil(value * digits * (1 - 1e-9)) / digits:.3g}"


BEST = 1e-4
"""Share below which a difference is not stated but said to be smaller: a hundredth of a per cent."""
EXACT = 1e-10
"""Share that is taken for rounding."""


def upper_percent(share: float) -> str:
    """Return an upper limit in per cent with two decimals, rounded up; 10^-10 is taken for rounding.

    >>> upper_percent(0.00434), upper_percent(1e-6), upper_percent(1e-12)
    ('0.44 %', '< 0.01 %', '0 %')
    """
    if not math.isfinite(share):
        return "infinitely far"
    if share < BEST:
        return "0 %" if share <= EXACT else f"< {100 * BEST:g} %"
    return f"{math.ceil(1e4 * share - 1e-6) / 100:.2f} %"


def above_minimum(gap: float) -> str:
    """Say how far a variance is above the proven minimum, rounded up; the one wording of a gap.

    >>> above_minimum(0.00434), above_minimum(math.inf)
    ('0.44 % above the proven minimum', 'above a proven minimum of zero')
    """
    if not math.isfinite(gap):
        return "above a proven minimum of zero"
    return f"{upper_percent(gap)} above the proven minimum"


def percent_apart(ratio: float) -> str:
    """Return by how many per cent a number lies below or above another that it is `ratio` times as large as.

    With one decimal, with two where that would read 0.0 or 100.0 for something else.

    >>> percent_apart(0.837), percent_apart(0.0004), percent_apart(1e-20), percent_apart(2.0), percent_apart(1.00001)
    ('16.3 %', '99.96 %', 'more than 99.99 %', '100.0 %', '< 0.01 %')
    """
    share = 100 * abs(1 - ratio)
    if 0 < ratio < 1 and share >= 99.995:
        return "more than 99.99 %"
    if 0 < share < 100 * BEST:
        return f"< {100 * BEST:g} %"
    if share < 0.05 or (0 < ratio < 1 and share >= 99.95):
        return f"{share:.2f} %"
    return f"{share:,.1f} %" if share < 1e11 else f"{share:.3g} %"


def spread(count: int, shown: int) -> list[int]:
    """Return at most `shown` of the numbers 0..count-1, evenly spread, both ends among them."""
    if count <= shown:
        return list(range(count))
    if shown == 1:
        return [0]
    return sorted({round(k * (count - 1) / (shown - 1)) for k in range(shown)})


def ratio(value: float | None, least: float) -> float | None:
    """Return value / least: 1 where both are zero, None where the value is unknown or only `least` is zero."""
    if value is None or (least == 0 and value > 0):
        return None
    return value / least if least > 0 else 1.0


def root(function: Callable[[float], float], low: float, high: float, **tolerances: float) -> float:
    """Return where a function changes its sign between two numbers, by Brent's method up to SciPy's tolerances."""
    from scipy.optimize import root_scalar  # half a second, which those who run a mechanism need not wait

    return float(root_scalar(function, bracket=(low, high), method="brentq", **tolerances).root)


def whole(value: object) -> int | None:
    """Return a whole number as a Python int, None for anything else; truth values are no numbers."""
    try:
        return None if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def integer(value: object, what: str, low: int, high: int, advice: str) -> int:
    """Return `value` as a Python int when it is a whole number with low <= value <= high."""
    number = whole(value)
    if number is None or not low <= number <= high:
        shown = repr(value) if number is None else count_text(number)
        raise ValueError(f"{what} is {shown}, but must be a whole number from {low} to {high}: {advice}")
    return number


def as_float(count: int, what: str) -> float:
    """Return a count as a float."""
    try:
        return float(count)
    except OverflowError:
        raise ValueError(
            f"{what} is {count_text(count)}, above the largest float64 (about 10^308): "
            "work per user type, or use fewer attributes"
        ) from None


def entries(count: int, limit: int, what: str, advice: str) -> None:
    """Refuse to allocate more than `limit` numbers at once."""
    if count > limit:
        raise ValueError(
            f"{what} would hold {count_text(count)} numbers, above the limit of {limit}: {advice}"
        )


def count_text(count: int) -> str:
    """Write a count in digits below 10^15, otherwise as a rounded power of ten."""
    return str(count) if abs(count) < 10**15 else f"about {'-' * (count < 0)}10^{math.log10(abs(count)):.0f}"


def count(number: int) -> str:
    """Write a whole number with separators below 10^15, otherwise as a power of ten."""
    return f"{number:,}" if number < 10**15 else count_text(number)


def counted(number: int, thing: str) -> str:
    """Write a number with its noun in the singular or plural: 1 query, 2 queries, 3 people."""
    if thing == "person" and number != 1:
        return f"{count(number)} people"
    things = thing if number == 1 else f"{thing[:-1]}ies" if thing.endswith("ry") else f"{thing}s"
    return f"{count(number)} {things}"


def percent(share: float, rounding: str = ROUND_HALF_EVEN) -> str:
    """Write a share in per cent, with more digits the smaller it is."""
    if not math.isfinite(share):
        return "infinitely far"
    if 0 < share < BEST:
        return f"<\u00a0{100 * BEST:g}\u00a0%"
    if share >= 1e9:
        return f"{100 * share:.3g}\u00a0%"
    digits = 0 if share >= 10 else 1 if share >= 0.1 else 2
    written = Decimal(f"{100 * share:.12g}").quantize(Decimal(1).scaleb(-digits), rounding)
    return f"{written + 0:,}\u00a0%"


def at_most(share: float) -> str:
    """Write an upper limit in per cent, rounded up so that it remains an upper limit."""
    return f"{'at most ' * (share >= BEST)}{unbroken(upper_percent(share))}"


def above(share: float) -> str:
    """Write a share in per cent, rounded up."""
    return percent(share, ROUND_CEILING)


def below(share: float) -> str:
    """Write a share in per cent, rounded down."""
    return percent(share, ROUND_FLOOR)


def unbroken(text: str) -> str:
    """Write a text so that no line ends between a number and its per cent sign, or the sign that it is smaller."""
    return text.replace(" %", "\u00a0%").replace("< ", "<\u00a0")


def odds(epsilon: float) -> str:
    """Write e^epsilon rounded up, with three digits; up to 2, with three digits of e^epsilon - 1.

    >>> odds(1.0), odds(0.001)
    ('2.72', '1.00101')
    """
    exact = Decimal(epsilon).exp()
    excess = exact - 1
    shown = exact if exact > 2 else excess
    rounded = shown.quantize(Decimal(1).scaleb(shown.adjusted() - 2), ROUND_CEILING)
    whole = rounded if exact > 2 else 1 + rounded
    return f"{whole:.2e}" if whole >= 10**6 else f"{whole:,f}"


def coordinates_of(number: int, sizes: Sequence[int]) -> list[int]:
    """Return the value of every attribute of a user type, exact at any size."""
    values = []
    for size in reversed(sizes):
        number, value = divmod(number, size)
        values.append(value)
    return values[::-1]


def last_holding(holds: Callable[[int], bool], low: int, high: int) -> int | None:
    """Return the largest number from low to high for which something holds that holds for those below; else None."""
    if low > high or not holds(low):
        return None
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


def upwards(people: int) -> int:
    """Return a number of people rounded up to two digits."""
    unit = 10 ** max(0, len(str(people)) - 2)
    return -(-people // unit) * unit
