"""One border: every public function takes the same kinds of workloads and budgets, and refuses the same others."""

import inspect
from decimal import Decimal
from fractions import Fraction
from functools import cache
from operator import attrgetter

import numpy as np
import pytest
import scipy.sparse

import stratagem as st
from face import public_names
from stratagem import central

N, HALF = 4, np.full(4, 50)
STRATEGY = st.published.randomised_response(N, 1.0)
COUNTS = STRATEGY.histogram(HALF, np.random.default_rng(0))
MECHANISM = st.Mechanism.of(STRATEGY, st.histogram(N), 1.0)
QUICK = st.Certified(max_steps=1, polish=False)


@cache
def rounds():
    """Return a mechanism over eight values and the one of a second round over four of their bins, with counts."""
    first = st.Mechanism.of(st.published.randomised_response(2 * N, 1.0), st.prefix(2 * N), 1.0)
    counts = first.strategy.histogram(np.full(2 * N, 50), np.random.default_rng(0))
    second = st.study.second_round(first, counts, cells=N)
    return first, counts, second, second.strategy.histogram(HALF, np.random.default_rng(1))


def end(_):
    return True


def under(workload, epsilon, constraint, **options):
    return st.optimise(workload, epsilon, on_step=end, constraints=[constraint], **options)


FUNCTIONS = {
    "optimise": lambda w, e, **k: st.optimise(w, e, QUICK, **k).objective,
    "compare": lambda w, e, **k: st.compare(w, e, QUICK, **k).rows[0].objective,
    "evaluate": lambda w, e, **k: st.evaluate(w, STRATEGY, **k).objective,
    "per_query_variance": lambda w, e, **k: st.per_query_variance(w, STRATEGY, HALF, **k).sum(),
    "lower_bounds": lambda w, e, **k: st.lower_bounds(w, e, **k).best,
    "tighten": lambda w, e, **k: st.tighten(st.lower_bounds(st.histogram(N), 1.0), w, e, **k).best,
    "bound_sweep": lambda w, e, **k: st.bound_sweep(w, [e, 2.0], **k).points[0].bounds.best,
    "bound_sweep along domains": lambda w, e, **k: st.bound_sweep([w], e, **k).points[0].bounds.best,
    "sweep": lambda w, e, **k: st.sweep(w, [e], QUICK, **k).comparisons[0].rows[0].objective,
    "sweep along domains": lambda w, e, **k: st.sweep([w], e, QUICK, **k).comparisons[0].rows[0].objective,
    "path": lambda w, e, **k: st.study.path(w, [e], QUICK, **k)[0].objective,
    "tune": lambda w, e, **k: st.tune(w, e, "randomised-response", **k).objective,
    "trade_off": lambda w, e, **k: st.study.trade_off(w, e, [8], **k).lower_bound,
    "import_matrix": lambda w, e, **k: st.mechanism.import_matrix(STRATEGY.matrix, w, e, **k).objective,
    "simulate": lambda w, e, **k: st.simulate(w, STRATEGY, HALF, repetitions=2, **k).predicted,
    "estimate": lambda w, e, **k: st.estimate(STRATEGY, COUNTS, w, **k).answers.sum(),
    "rectangular": lambda w, e, **k: (
        st.study.rectangular(N - 1, epsilon=e, workload=w, solver=QUICK).objective
    ),
    "optimise under a cap": lambda w, e, **k: under(w, e, st.GuessCap(0.5), **k).lower_bound,
    "guess_frontier": lambda w, e, **k: (
        st.study.guess_frontier(w, e, [0.5], end, **k).solutions[0].lower_bound
    ),
    "optimise by steps": lambda w, e, **k: under(w, None, st.Steps(np.ones(N - 1)), **k).lower_bound,
    "optimise with a memo": lambda w, e, **k: under(w, e, st.Permanent(3.0), **k).lower_bound,
    "optimise behind a shuffler": lambda w, e, **k: (
        under(w, e, st.Shuffled(1000, local=2.0), **k).others["safe for all"].objective
    ),
    "Mechanism.of": lambda w, e, **k: float(st.Mechanism.of(STRATEGY, w, e, **k).utility["objective"]),
    "Mechanism.estimate": lambda w, e, **k: MECHANISM.estimate(COUNTS, w).answers.sum(),
    "Estimate.ask": lambda w, e, **k: MECHANISM.estimate(COUNTS).ask(w).answers.sum(),
    "combine": lambda w, e, **k: st.study.combine(*rounds(), w).answers.sum(),
    "kron": lambda w, e, **k: st.kron([w, st.total({"other": 2})]).frobenius_squared,
    "stack": lambda w, e, **k: st.stack([w, w]).frobenius_squared,
    "weighted": lambda w, e, **k: st.weighted(w, 2.0).frobenius_squared,
    "central.compare": lambda w, e, **k: central.compare(w, e, "replace", **k).rows[0].average_variance,
}
"""Every public function that takes a workload, called with one and a budget."""
SHAPED = ("kron", "stack", "weighted")
"""Functions of parts without a domain of their own: a name has none there, and is loaded before."""
OWN_DOMAIN = ("evaluate", "per_query_variance", "import_matrix", "simulate", "estimate", "rectangular")
OWN_DOMAIN += ("Mechanism.of", "Mechanism.estimate", "Estimate.ask", "combine")
"""Functions that know how many values there are without being told."""
WITHOUT_BUDGET = (
    "evaluate",
    "per_query_variance",
    "simulate",
    "estimate",
    "Mechanism.estimate",
    "Estimate.ask",
)
WITHOUT_BUDGET += ("optimise by steps", "combine", *SHAPED)
BUDGETED = [name for name in FUNCTIONS if name not in WITHOUT_BUDGET]


def test_every_public_function_that_takes_a_workload_is_in_the_table():
    taking = {
        name.rpartition(".")[2]
        for name in public_names()
        if name.partition(".")[0] not in ("central", "counts", "published", "solvers")
        and inspect.isfunction(function := attrgetter(name)(st))
        and {"workload", "factors", "parts"} & set(inspect.signature(function).parameters)
    }
    assert taking - {"plan", "optimize"} == {name.split()[0] for name in FUNCTIONS if "." not in name}


MATRICES = {
    "list of rows": np.eye(N).tolist(),
    "whole numbers": np.eye(N, dtype=np.int8),
    "truth values": np.eye(N, dtype=bool),
    "sparse array": scipy.sparse.csr_array(np.eye(N)),
    "sparse matrix": scipy.sparse.coo_matrix(np.eye(N)),
}


@cache
def of_matrix(name):
    return FUNCTIONS[name](st.explicit(np.eye(N)), 1.0)


@pytest.mark.sampled(16, 3)
@pytest.mark.parametrize("kind", MATRICES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_matrix_is_a_workload_everywhere(name, kind):
    assert FUNCTIONS[name](MATRICES[kind], 1.0) == pytest.approx(of_matrix(name), rel=1e-9)


@cache
def of_workload(name):
    return FUNCTIONS[name](st.histogram(N), 1.0)


@pytest.mark.sampled(8, 2)
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in SHAPED])
def test_a_name_is_a_workload_everywhere(name):
    domain = {} if name in OWN_DOMAIN else {"domain": N}
    assert FUNCTIONS[name]("histogram", 1.0, **domain) == pytest.approx(of_workload(name), rel=1e-9)


@pytest.mark.parametrize("name", SHAPED)
def test_a_name_without_a_domain_is_refused_by_parts(name):
    with pytest.raises(ValueError, match=r"was given str.*needs one or more workloads"):
        FUNCTIONS[name]("histogram", 1.0)


@pytest.mark.sampled(7, 2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_file_is_a_workload_everywhere(name, tmp_path):
    if name not in SHAPED:
        np.save(tmp_path / "queries.npy", np.eye(N))
        assert FUNCTIONS[name](tmp_path / "queries.npy", 1.0) == pytest.approx(of_matrix(name), rel=1e-9)


NUMBERS = {
    "whole": 1,
    "NumPy float64": np.float64(1),
    "NumPy float32": np.float32(1),
    "NumPy int64": np.int64(1),
    "array of shape ()": np.array(1.0),
    "fraction": Fraction(1),
    "decimal": Decimal("1.0"),
}


@pytest.mark.sampled(11, 3)
@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("name", BUDGETED)
def test_every_number_is_a_budget_everywhere(name, kind):
    assert FUNCTIONS[name](st.histogram(N), NUMBERS[kind]) == pytest.approx(of_workload(name), rel=1e-9)


NO_BUDGETS = {
    "text": "1",
    "bytes": b"1",
    "truth value": True,
    "NumPy truth value": np.True_,
    "nan": float("nan"),
    "zero": 0,
    "complex": 1 + 0j,
}


@pytest.mark.parametrize("kind", NO_BUDGETS)
@pytest.mark.parametrize("name", BUDGETED)
def test_what_is_no_number_is_no_budget_anywhere(name, kind):
    with pytest.raises(ValueError, match=r"epsilon is .*: give ") as refusal:
        FUNCTIONS[name](st.histogram(N), NO_BUDGETS[kind])
    assert "\n" not in str(refusal.value)
    if name != "optimise behind a shuffler":  # its limit is the local budget
        assert str(refusal.value).endswith("give a number from 1e-06 to 300, for example 1.0")


BASELINES = [
    name
    for name in st.published.__all__
    if inspect.isfunction(function := getattr(st.published, name))
    and "epsilon" in inspect.signature(function).parameters
]
FIRST = {"sizes": (2, 2), "values": [0.0, 1.0], "queries": np.eye(2), "domain_size": 4}
MORE = {"observed": [1, 1], "frequencies": [1, 2], "tables": [(0,), (1,)], "delta": 1e-6}


@pytest.mark.parametrize("given", ["1", True, None])
@pytest.mark.parametrize("name", BASELINES)
def test_what_is_no_number_is_no_budget_of_a_published_mechanism(name, given):
    function = getattr(st.published, name)
    wanted = inspect.signature(function).parameters
    arguments = {key: value for key, value in (FIRST | MORE).items() if key in wanted}
    function(**arguments, epsilon=np.float32(1))
    with pytest.raises(ValueError, match=r"epsilon is .*: give a number from 1e-06 to 300"):
        function(**arguments, epsilon=given)


NO_WORKLOADS = {
    "no queries": (np.zeros((0, N)), r"was given no numbers \(shape \(0, 4\)\), but must ask something"),
    "no values": (np.zeros((3, 0)), "was given no numbers"),
    "sparse without queries": (scipy.sparse.csr_array((0, N)), "was given no numbers"),
    "zeros": (np.zeros((2, N)), "was given only zeros, but must ask something"),
    "sparse zeros": (scipy.sparse.csr_array((2, N)), "was given only zeros"),
    "nan": (np.full((2, N), np.nan), "NaN or infinite"),
    "texts": (np.full((2, N), "a"), "needs real numbers of shape"),
    "too large": (
        scipy.sparse.csr_array((1 << 20, 1 << 10)),
        "the sparse matrix would hold 1073741824 numbers",
    ),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", NO_WORKLOADS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_asks_nothing_is_refused_everywhere(name, kind):
    given, words = NO_WORKLOADS[kind]
    with pytest.raises(ValueError, match=words) as refusal:
        FUNCTIONS[name](given, 1.0)
    assert "\n" not in str(refusal.value)


SEEDED = {
    "no solver": None,
    "name": "certified",
    "object": st.Certified(seed=5, max_steps=4),
    "gradient": st.ProjectedGradient(max_steps=5),
    "junta": st.solvers.Junta(max_steps=20),
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("kind", SEEDED)
def test_a_seed_repeats_the_search(kind):
    workload, solver = st.marginals("2^4", 2) if kind == "junta" else st.prefix(6), SEEDED[kind]
    first, second = (st.optimise(workload, 1.0, solver, seed=3) for _ in range(2))
    assert first.objective == second.objective
    assert [step.objective for step in first.history] == [step.objective for step in second.history]


def test_a_seed_is_that_of_the_solver():
    found = [st.optimise(st.prefix(6), 1.0, st.ProjectedGradient(max_steps=5), seed=seed) for seed in (1, 2)]
    named = st.optimise(st.prefix(6), 1.0, st.ProjectedGradient(max_steps=5, seed=2))
    one, two, same = ([step.objective for step in each.history] for each in (*found, named))
    assert two == same
    assert one != two


@pytest.mark.parametrize(
    ("solver", "seed", "words"),
    [
        (st.solvers.FewQueries(), 1, "seed was given, but FewQueries takes"),
        ("few-queries", 1, "seed was given, but FewQueries takes"),
        (None, "a", "seed is 'a'"),
        (None, -1, "seed is -1"),
        ("certified", 1.5, "seed is 1.5"),
    ],
)
def test_a_seed_that_cannot_be_used_is_refused(solver, seed, words):
    with pytest.raises(ValueError, match=words):
        st.optimise(st.prefix(8), 1.0, solver, seed=seed)
