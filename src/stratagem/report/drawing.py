"""The section on what a user sends: a picture of the strategy and a table of its reports or patterns."""

from __future__ import annotations

import numpy as np

from stratagem.io.markup import Markup, details, joined, table
from stratagem.report.content import ReportContent
from stratagem.report.picture import WIDTH, figure
from stratagem.report.plots.figure import page
from stratagem.report.plots.strategy import draw_strategy
from stratagem.report.wording import count, odds, percent
from stratagem.strategies import Strategy, TranslationStrategy

HEIGHT = 3.2
"""Height of the picture in inches."""
SHOWN = 20
"""Largest number of reports or patterns in the table."""


def drawing(subject: ReportContent) -> Markup:
    """Return the picture of the strategy with a sentence on how to read it, and its likeliest parts."""
    strategy, times = subject.solution.strategy, odds(subject.solution.epsilon)
    with page(None, HEIGHT, WIDTH) as drawn:
        draw_strategy(drawn, strategy, subject.attributes)
    if isinstance(strategy, TranslationStrategy):
        reading = (
            "Every pattern stands for many reports: it can be moved to any place, and to any attributes of its kind. "
            f"A report is {times} times as likely for a user whose values lie in its dark cells as for another."
        )
        label = f"{len(strategy.patterns):,} patterns, which make {count(strategy.outputs)} reports"
    else:
        reading = (
            "A line is a report, as high as it is likely; it is most likely for the user types that are dark, and at "
            f"most {times} times as likely as for those that are white. One report says no more than that."
        )
        label = f"{count(strategy.outputs)} reports down, {count(strategy.domain_size)} user types across"
    shown = figure(drawn, f"The strategy: {label}. The likeliest of them are in a table.", reading)
    return joined(shown, details("The likeliest of them as a table", _parts(strategy)))


def _parts(strategy: Strategy | TranslationStrategy) -> Markup:
    if isinstance(strategy, TranslationStrategy):
        headings = ("pattern", "probability", "cells", "of them dark", "placements")
        rows = [
            (f"{b + 1}", percent(float(strategy.weights[b])), *_cells(strategy, int(b)))
            for b in np.argsort(-strategy.weights, kind="stable")[:SHOWN]
        ]
        return table(f"Patterns, {_some(len(rows), len(strategy.patterns))}", headings, rows)
    likely = strategy.row_sums / strategy.domain_size
    chosen = np.argsort(-likely, kind="stable")[:SHOWN]
    picked = np.zeros((len(chosen), strategy.outputs))
    picked[np.arange(len(chosen)), chosen] = 1.0
    Q = strategy.backward(picked.T).T
    headings = (
        "report",
        "probability",
        "for the likeliest type",
        "for the least likely",
        "types above the middle",
    )
    rows = [
        (
            f"{y}",
            percent(float(likely[y])),
            percent(float(row.max())),
            percent(float(row.min())),
            count(int((row > (row.max() + row.min()) / 2).sum())),
        )
        for y, row in zip(chosen, Q, strict=True)
    ]
    return table(f"Reports, {_some(len(rows), strategy.outputs)}", headings, rows)


def _cells(strategy: TranslationStrategy, b: int) -> tuple[str, str, str]:
    pattern = strategy.patterns[b]
    sizes = " × ".join(map(str, pattern.sizes))
    return f"{count(pattern.cells)} ({sizes})", count(pattern.size), count(strategy.placements[b])


def _some(shown: int, many: int) -> str:
    return f"the {shown} likeliest of {count(many)}" if shown < many else "the likeliest first"
