"""The privacy statement in plain words, with its limits."""

from __future__ import annotations

import math
from importlib.resources import files

from stratagem.auditor.independent_check import recheck
from stratagem.io.markup import Markup, element, joined, table
from stratagem.mechanism.mechanism import Mechanism
from stratagem.report.content import ReportContent
from stratagem.report.wording import above, below, odds, percent

PRIORS = (0.01, 0.1, 0.5, 0.9)
"""Prior probabilities, before a report, for which the probability after a report is stated."""


def privacy_section(subject: ReportContent) -> Markup:
    """Return the section on what epsilon means for one person and how it was measured."""
    epsilon = subject.solution.epsilon
    text = (
        "Whoever sees your report, knowing everything else there is to know, can change the odds between any two "
        f"of your possible answers by a factor of at most e^ε = {odds(epsilon)}. Who thought a fact about your answer "
        f"as likely as not (1/2) can become at most {above(_after(0.5, epsilon))} sure of it, or of its opposite."
    )
    rows = [
        (percent(prior), below(_after(prior, -epsilon)), above(_after(prior, epsilon))) for prior in PRIORS
    ]
    headings = ("believed before", "at least, after the report", "at most, after the report")
    return joined(
        element("p", text),
        table("What one report can change, in the worst case", headings, rows),
        element("h3", "How ε was measured"),
        element("p", measured(subject)),
    )


def _after(prior: float, epsilon: float) -> float:
    """Return the posterior probability of prior probability `prior` when the odds are multiplied by e^epsilon."""
    return prior / (prior + (1 - prior) * math.exp(-epsilon))


def measured(subject: ReportContent) -> str:
    """Return the sentence on how the budget was measured."""
    if subject.mechanism is not None:
        return _in_whole_numbers(subject.mechanism)
    strategy = subject.solution.strategy
    return (
        f"From the probabilities themselves, in double precision, not from what was asked for: ε = "
        f"{strategy.epsilon:.12g}, at most {subject.solution.epsilon:g}. A bundle (.ldp.json) of this strategy holds "
        "whole numbers, and then the check is exact."
    )


def _in_whole_numbers(mechanism: Mechanism) -> str:
    found = recheck(mechanism.bundle)
    assert found.holds, "a mechanism is refused unless it holds"
    ratio = found.high / found.low
    return (
        "Exactly: the probabilities are whole numbers divided by one common total, which every column was found to "
        f"sum to. The two numbers of one report that are furthest apart are {found.high:,} and {found.low:,}: "
        f"their ratio {ratio:.12g} is at most e^ε, compared as fractions without rounding "
        f"(ε = {math.log(ratio):.12g} of {float(mechanism.epsilon):g})."
    )


def threats() -> Markup:
    """Return the threat model, from the one text that the package has."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False})
    source = files("stratagem.mechanism").joinpath("threat-model.md").read_text(encoding="utf-8")
    tokens = parser.parse(source)
    start = next(k for k, token in enumerate(tokens) if token.type == "heading_close") + 1
    for token in tokens:
        if token.type.startswith("heading") and token.tag != "h1":
            token.tag = f"h{int(token.tag[1]) + 1}"
    return Markup(parser.renderer.render(tokens[start:], parser.options, {}))
