"""What public objects say of themselves fits a screen, at a prompt and in a notebook."""

import dataclasses
import inspect
from operator import attrgetter

import numpy as np
import pytest

import stratagem as st
from face import public_names
from mechanisms import mechanism
from stratagem.io.screen import brief

HOSTILE = "<script>alert('x')</script>"
SOLVERS = {"Auto", "Certified", "FewQueries", "Junta", "OneQuery", "Orbit", "ProjectedGradient", "Step"}
CONSTRAINTS = {"GuessCap", "Permanent", "Shuffled", "Steps"}
SHORT = SOLVERS | CONSTRAINTS | {"Attack", "PrivacyBlanket", "CentralPrivacy", "Attribute", "Domain"}
"""Solvers, steps, constraints, facts on privacy, attributes and domains: their representation shows few fields."""
KINDS = ("central", "counts", "published", "solvers", "strategies")
PUBLIC = {
    name: found for name in public_names()
    if name.partition(".")[0] not in KINDS and dataclasses.is_dataclass(found := attrgetter(name)(st))
}  # fmt: skip
"""What functions return, and what they are given."""


def subclasses(base):
    return [one for leaf in base.__subclasses__() for one in (leaf, *subclasses(leaf))]


@pytest.mark.parametrize("name", [name for name in PUBLIC if name.rpartition(".")[2] not in SHORT])
def test_no_public_result_dumps_its_fields(name):
    assert PUBLIC[name].__repr__ is brief


@pytest.mark.parametrize(
    "base",
    [st.Workload, st.strategies.Strategy, st.strategies.TranslationStrategy, st.strategies.LinearProtocol],
)
def test_no_workload_or_strategy_dumps_its_fields(base):
    leaves = [
        one for one in subclasses(base) if dataclasses.is_dataclass(one) and not inspect.isabstract(one)
    ]
    assert leaves
    assert [one.__name__ for one in leaves if one.__repr__ is not brief] == []


@pytest.fixture(scope="module")
def objects():
    found = mechanism("several-attributes")
    solution = st.optimise(st.prefix(64), 1.0, st.Certified(max_steps=2), seconds=20)
    counts = found.strategy.histogram(np.full(6, 500), np.random.default_rng(0))
    estimate = found.estimate(counts)
    large = mechanism("binary-juntas")
    return [
        solution,
        solution.strategy,
        solution.accuracy,
        solution.bounds,
        st.Comparison.of(solution),
        st.sweep(st.prefix(4), [0.5, 1.0, 2.0], "quick"),
        st.bound_sweep(st.prefix(4), [0.5, 1.0]),
        st.study.trade_off(st.prefix(4), 1.0, [8]),
        st.simulate(st.prefix(64), solution.strategy, np.full(64, 9), repetitions=3),
        st.mechanism.import_matrix(st.published.randomised_response(40, 1.0).matrix, st.prefix(40), 1.0),
        found,
        found.aggregator(),
        large,
        large.strategy,
        large.workload,
        estimate,
        estimate.marginal("age"),
        st.audit(found, samples=200),
        st.marginals("2^100", 2).domain,
        st.explicit(np.eye(200)),
        st.kron([st.prefix(30), st.histogram(40)]),
        st.strategies.MatrixStrategy(np.full((50, 40), 0.02)),
    ]


@pytest.mark.exhaustive
@pytest.mark.parametrize("show", [repr, str])
def test_each_fits_a_screen(objects, show):
    for one in objects:
        text = show(one)
        lines = text.splitlines()
        assert len(lines) <= 24, type(one)
        assert max(map(len, lines)) <= 100, text
        assert "[" not in text, text
        assert show is str or type(one).__name__ in text


@pytest.mark.exhaustive
def test_tables_for_notebooks_are_whole_and_escaped(objects):
    strategy = st.published.randomised_response(3, 1.0)
    hostile = st.Solution.mechanism(
        st.optimise(st.histogram({HOSTILE: st.labels(HOSTILE, "b", "c")}), 1.0), name=HOSTILE
    )
    estimate = hostile.estimate(np.full(hostile.outputs, 50))
    shown = [one for one in [*objects, estimate] if hasattr(one, "_repr_html_")]
    assert {type(one) for one in shown} == {st.Solution, st.Comparison, st.Bounds, st.Estimate}
    for one in shown:
        page = one._repr_html_()
        assert page.count("<table") == page.count("</table>") == 1
        assert page.count("<tr>") <= 18
        assert "<script>" not in page
        assert "color" not in page  # that of the page around it, dark or light
    assert "&lt;script&gt;" in estimate._repr_html_()
    assert strategy.epsilon <= 1
