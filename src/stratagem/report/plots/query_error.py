"""The error of every query of a strategy, beside the lower bound on unbiased mechanisms."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from stratagem.estimators import Estimator, UnsupportedWorkloadError
from stratagem.math.number import spread
from stratagem.math.vector import WHOLE
from stratagem.report.plots.figure import GREY, VERMILION
from stratagem.workloads.centring import estimated
from stratagem.workloads.explicit import counts_users
from stratagem.workloads.query import Query, Span
from stratagem.workloads.question import SurveyQuestion, is_survey, questions

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase
    from matplotlib.lines import Line2D

    from stratagem.workloads import Attribute, Workload
    from stratagem.workloads.naming import Naming

LETTERS = 18
"""Largest number of letters of a vertical name below an axis."""
TICKS = 7
"""Largest number of names below an axis."""
ROOM = 30
"""Number of letters that fit side by side below the axis of a panel."""
SMALL: dict[str, Any] = {"ncols": 2, "columnspacing": 1.0, "handlelength": 1.6, "handletextpad": 0.5}
"""Look of a legend of two entries below a panel."""
NAMES = 0.9
"""Space in inches for vertical names."""


@dataclass(frozen=True, eq=False)
class QueryAxis:
    """Positions of queries along an axis, and their names there."""

    places: np.ndarray
    """Positions: numbers in the unit of the attribute, or the numbers of the queries."""
    names: Sequence[str]
    """Names of the queries; empty where the positions are numbers with a meaning of their own."""
    title: str
    """Title of the axis."""

    @staticmethod
    def of(naming: Naming, queries: Sequence[int]) -> QueryAxis:
        """Return the axis of some queries: of numbers wherever they ask about the numbers of one attribute."""
        found = [naming.workload.describe(int(query)) for query in queries]
        places = np.array(queries, dtype=float)
        spans = _spans(found) if len(naming.attributes) == 1 else []
        if not spans:
            first = [one.parts[0] if len(one.parts) == 1 else None for one in found]
            if all(part is not None and part.numbered for part in first):
                return QueryAxis(places, (), "answer")
            return QueryAxis(places, [naming.label(int(query)) for query in queries], "answer")
        attribute = naming.attributes[0]
        title = attribute.title(prefixes=all(one.low is None for one in spans))
        numbers = _numbers(attribute, spans)
        if numbers is not None:
            return QueryAxis(numbers, (), title)
        return QueryAxis(places, [attribute.words(one.low, one.high) for one in spans], title)

    def write_below(self, axes: Axes) -> None:
        """Name the queries below the axes, some of them where there are many."""
        axes.set_xlabel(self.title)
        if not self.names:
            whole = bool((self.places % 1 == 0).all())
            axes.xaxis.set_major_locator(MaxNLocator(nbins=TICKS - 1, integer=whole, min_n_ticks=1))
            return
        name_places(axes, [(self.places[k], self.names[k]) for k in spread(len(self.names), TICKS)])

    @property
    def upright(self) -> bool:
        """Whether the names below the axis are vertical."""
        return _crowded([self.names[k] for k in spread(len(self.names), TICKS)])


def name_places(axes: Axes, named: Sequence[tuple[float, str]]) -> None:
    """Write names at positions below an axis, vertical where they are long."""
    places, names = zip(*named, strict=True)
    shown = [shortened(name, LETTERS) for name in names]
    axes.set_xticks(places, shown, rotation=90 if _crowded(shown) else 0)


def _crowded(names: Sequence[str]) -> bool:
    return sum(len(name) + 2 for name in names) > ROOM


def shortened(name: str, letters: int) -> str:
    """Return a name of at most so many letters on one line, its middle left out where it has more."""
    line = " ".join(name.split())
    if len(line) <= letters:
        return line
    end = (letters - 1) // 2
    return f"{line[: letters - 1 - end]}…{line[len(line) - end :]}"


def _spans(found: Sequence[Query]) -> list[Span]:
    """Return the single span of values of every query, if all are single unweighted spans; otherwise nothing."""
    spans = [one.spans for one in found if one.weight == 1]
    alone = [some[0] for some in spans if some is not None and len(some) == 1]
    return alone if len(alone) == len(found) else []


def _numbers(attribute: Attribute, spans: Sequence[Span]) -> np.ndarray | None:
    """Return the upper ends of prefixes or the middles of single values; None for others and what is no number."""
    prefixes = all(one.low is None for one in spans)
    if not prefixes and not all(one.low == one.high for one in spans):
        return None
    middles = [attribute.values.middle(k) for k in range(attribute.size)]
    if None in middles:
        return None  # labels, dates, times and the value other are named
    number = attribute.values.end if prefixes else attribute.values.middle
    return np.array([number(one.high) for one in spans], dtype=float)


ORDERED = 256
"""Largest number of queries of one kind that each have their own position; of more, the errors are sorted."""
DRAWN = 1 << 12
"""Number of queries that stand for all where there are more than 2^24."""
SINGLE = 64
"""Largest number of queries that each have a dot."""
KINDS = 10
"""Largest number of questions, or of kinds of tables, that each have their own position."""
EVERY = "all queries"
"""Name of the place of the root mean square over all queries that are not known exactly, which the bound is about."""
ROUNDING = 1e-14
"""Variance per user up to which an answer counts as exact; beside a large one, up to 100 times this share of it."""
LABELS = 30
"""Number of characters that fit below the axis of a panel."""
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def draw_errors(
    figure: FigureBase,
    naming: Naming,
    through: Estimator,
    bound: float | None,
    *,
    scale: float | np.ndarray = 1.0,
    label: str = "",
) -> bool:
    """Draw the standard deviation that one user of random type adds to every answer; return whether some are left out.

    Times a `scale`, of all queries or of each (p,); without a `label` the axis says of what and in which unit.

    A place for each query up to 256; a column for each question of a survey or kind of table, from the least error to
    the largest, and one for all queries; the errors in order for other large workloads, of more than 2^24 queries those
    of some, evenly spread. Where they cannot be told query by query, the root mean square over queries is drawn for
    every user type. `bound` is one on the root mean square of them all, beside which it stands where that has a column.
    Exact answers, such as the number of all users, are left out beside others of their kind.
    """
    axes, workload, left_out, across = figure.subplots(), naming.workload, False, None
    try:
        variances = through.variances(workload)
        if len(variances) > WHOLE:
            variances = variances[spread(len(variances), DRAWN)]
        errors = scale * np.sqrt(np.where(exact(variances), 0.0, variances))
    except UnsupportedWorkloadError:
        raise
    except ValueError:  # too many numbers
        errors = _draw_types(axes, workload, through, float(np.max(scale)))
    else:
        columns = _columns(workload)
        if columns is None:
            left_out = _draw_queries(axes, errors, naming)
            if len(errors) < workload.queries:
                axes.set_xlabel(f"share of {len(errors):,} of {workload.queries:,} queries, %")
        else:
            left_out, across = _draw_columns(axes, errors, *columns)
    axes.set_ylim(0, 1.08 * max(float(errors.max()), float(np.max(scale)) * (bound or 0.0)) or 1.0)
    unit = "people" if counts_users(workload) else "unit of the query"
    axes.set_ylabel(label or f"standard deviation\nof one report ({unit})")
    shown = {"mechanism": axes.lines[0]}
    if bound is not None:
        shown["proven minimum"] = _draw_bound(axes, float(np.max(scale)) * bound, across)
    figure.legend(shown.values(), shown, loc="outside lower center", **SMALL)
    return left_out


def _draw_bound(axes: Axes, height: float, across: tuple[float, float] | None) -> Line2D:
    """Draw and return a bound between two places, or across all of them."""
    look: dict[str, Any] = {"color": GREY, "linestyle": "--"}
    return axes.plot(across, [height] * 2, **look)[0] if across else axes.axhline(height, **look)


def exact(variances: np.ndarray) -> np.ndarray:
    """Return which variances are zero up to the rounding of the computation, as an array of the same shape."""
    return variances <= ROUNDING * max(1.0, 100 * float(variances.max()))


def upright(naming: Naming) -> bool:
    """Return whether names stand upright below the errors of the queries."""
    many = naming.workload.queries
    if (columns := _columns(naming.workload)) is not None:
        return columns[0] == QUESTION and _long([*columns[1], EVERY])
    return many <= ORDERED and QueryAxis.of(naming, range(many)).upright


def _draw_queries(axes: Axes, errors: np.ndarray, naming: Naming) -> bool:
    """Draw the error of every query; return whether exact ones are left out, which would end a line at zero."""
    many, shown = len(errors), errors > 0
    left_out = many <= ORDERED and bool(shown.any()) and not shown.all()
    if many <= ORDERED:
        marks = {"marker": "o", "markersize": 2.5} if many <= SINGLE else {}
        along = QueryAxis.of(naming, range(many))
        drawn = shown if left_out else np.ones(many, dtype=bool)
        axes.plot(along.places[drawn], errors[drawn], color=VERMILION, linewidth=0.8, **marks)
        along.write_below(axes)
    else:
        axes.plot((np.arange(many) + 0.5) / many * 100, np.sort(errors), color=VERMILION)
        axes.set_xlabel(f"share of {many:,} queries, %")
    axes.set_title("error of every query" + "\n(exact ones left out)" * left_out)
    return left_out


TABLE, QUESTION = "cells of the table", "question"
"""Titles of an axis along columns: the sizes of tables, and the names of questions."""


def _columns(workload: Workload) -> tuple[str, dict[str, np.ndarray]] | None:
    """Return the title of an axis and the queries by their names there; None where such groups are not useful.

    The names are the questions of a survey, or the sizes of tables.
    """
    if len(workload.domain.sizes) == 1 or workload.queries > WHOLE:
        return None
    asked = questions(workload) if is_survey(workload) else []
    if 1 < len(asked) <= KINDS:
        return QUESTION, _grouped((_asked(one, asked, workload), one.places) for one in asked)
    every, kinds = np.arange(workload.queries), dict[tuple[int, ...], list[np.ndarray]]()
    for margin in workload.margins():
        sizes = () if margin.workload.of_all else tuple(sorted(margin.workload.domain.sizes))
        kinds.setdefault(sizes, []).append(every[margin.places])
    if not 1 < len(kinds) <= KINDS:
        return None
    order = sorted(kinds, key=lambda sizes: (math.prod(sizes), sizes))
    return TABLE, {_product(sizes): np.concatenate(kinds[sizes]) for sizes in order}


def _grouped(named: Iterable[tuple[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Return the queries by name, those of one name together."""
    found = dict[str, np.ndarray]()
    for name, places in named:
        found[name] = np.append(found.get(name, np.empty(0, dtype=int)), places)
    return found


def _asked(one: SurveyQuestion, asked: Sequence[SurveyQuestion], workload: Workload) -> str:
    """Return the attributes of a question, and what is asked of them where another question is about the same."""
    names = " × ".join(workload.domain.names[i] for i in one.about) or "everybody"
    return f"{one.kind} of {names}" if sum(other.about == one.about for other in asked) > 1 else names


def _product(sizes: tuple[int, ...]) -> str:
    """Return sizes as a product of powers: 2² × 5."""
    powers = {size: sizes.count(size) for size in sizes}
    named = (f"{size}{str(k).translate(RAISED) * (k > 1)}" for size, k in powers.items())
    return " × ".join(named) or "everybody"


def _long(names: Sequence[str]) -> bool:
    """Return whether names are too long to stand side by side below columns."""
    return sum(len(name) + 2 for name in names) > LABELS


def _draw_columns(
    axes: Axes, errors: np.ndarray, title: str, columns: dict[str, np.ndarray]
) -> tuple[bool, tuple[float, float]]:
    """Draw a column for each group of queries and one for all of them.

    Return whether bars leave out exact answers, and the ends of the last column.
    """
    left_out, last = False, len(columns)
    for place, chosen in enumerate(columns.values()):
        own = errors[chosen]
        shown = own[own > 0] if title == QUESTION and own.any() else own
        left_out = left_out or len(shown) < len(own)
        axes.vlines(place, shown.min(), shown.max(), color=VERMILION, linewidth=4, alpha=0.4)
        axes.plot(place, math.sqrt(np.square(shown).mean()), "D", color=VERMILION)
    uncertain = errors[errors > 0] if errors.any() else errors
    axes.plot(last, math.sqrt(np.square(uncertain).mean()), "D", color=VERMILION)
    names = [shortened(name, LETTERS) for name in (*columns, EVERY)]
    axes.set_xticks(range(last + 1), names, rotation=90 if _long(names) else 0)
    axes.set_xlim(-0.6, last + 0.6)
    axes.set_xlabel(title)
    apart = any(np.ptp(errors[chosen]) > 0 for chosen in columns.values())
    bars = "\n(bars: least to largest" + ",\nexact ones left out" * left_out + ")"
    what = "errors of each question" if title == QUESTION else "error of every query, by table"
    axes.set_title(what + bars * apart)
    return left_out, (last - 0.4, last + 0.4)


def _draw_types(axes: Axes, workload: Workload, through: Estimator, scale: float) -> np.ndarray:
    """Draw and return the root mean square over queries for users of each type."""
    errors = scale * np.sqrt(through.accuracy(workload).per_type / estimated(workload))
    if len(errors) > 1:
        axes.plot(errors, color=VERMILION)
    else:
        axes.axhline(errors[0], color=VERMILION)
        axes.set_xticks([])
    axes.set_xlabel("user type")
    axes.set_title("error by user type")
    return errors
