"""Mechanisms that several tests share: every kind of table, budgets from small to large."""

from functools import cache

import numpy as np

import stratagem as st
from stratagem.mechanism.mechanism import Mechanism

CASES = [
    "two-level",
    "two-level-small-epsilon",
    "two-level-large-epsilon",
    "two-level-huge-epsilon",
    "projected",
    "randomised",
    "hadamard",
]
CASES += ["hierarchical", "one-output", "labels", "edges", "unit", "no-answer"]
CASES += ["several-attributes", "prior", "fine"]
TRANSLATES = ["cycle", "window", "torus", "torus-window", "binary-juntas", "mixed-juntas", "ordered-tables"]
TRANSLATES += ["multiples", "table-on-one-cycle"]
CASES += TRANSLATES
SURVEYS = ["survey", "overlapping-survey", "large-survey"]


@cache
def mechanism(case: str) -> Mechanism:
    """Return the mechanism of that name, always the same."""
    two_level = st.Certified(max_steps=2)
    match case:
        case "two-level":
            return _optimised(st.prefix(12), 1.0, two_level)
        case "two-level-small-epsilon":
            return Mechanism.of(shifted(9, 0.01), st.prefix(9), 0.01)
        case "two-level-large-epsilon":
            return Mechanism.of(shifted(10, 5.0), st.all_range(10), 5.0)
        case "two-level-huge-epsilon":  # a row that is drawn without regard to the user type is never kept
            return Mechanism.of(shifted(10, 300.0), st.all_range(10), 300.0).accepting(300.0)
        case "projected":
            return _optimised(st.prefix(8), 1.0, st.ProjectedGradient(outputs=32, max_steps=50))
        case "randomised":
            return Mechanism.of(st.published.randomised_response(6, 0.1), st.histogram(6), 0.1)
        case "hadamard":
            return Mechanism.of(st.published.hadamard_response(9, 2.0), st.histogram(9), 2.0)
        case "hierarchical":
            return Mechanism.of(st.published.hierarchical(16, 1.0), st.prefix(16), 1.0)
        case "one-output":
            return Mechanism.of(st.strategies.MatrixStrategy(np.ones((1, 4))), st.total(4), 1.0)
        case "labels":
            return Mechanism.of(
                st.published.randomised_response(3, 1.5),
                st.histogram(st.labels("ja", "nein", "weiß nicht ☂")),
                1.5,
            )
        case "edges":
            return Mechanism.of(
                st.published.randomised_response(4, 1.0),
                st.prefix(st.bins([-30, 0, 0.5, 60, 1e6])),
                1.0,
                name="delays",
            )
        case "unit":
            delay = st.bins([-30, 0, 0.5, 60, 1e6], unit="minutes")
            return Mechanism.of(st.published.randomised_response(4, 1.0), st.prefix({"delay": delay}), 1.0)
        case "no-answer":
            age = st.bins([0, 18, 65, 130], other=True, no_answer=True, unit="years")
            return Mechanism.of(st.published.randomised_response(5, 1.0), st.prefix({"age": age}), 1.0)
        case "several-attributes":
            W = st.all_marginals({"age": st.bins([0, 18, 65, 130]), "sex": st.labels("f", "m")})
            return Mechanism.of(st.optimise(W, 1.0, two_level).strategy, W, 1.0)
        case "prior":
            W, prior = st.histogram(5), np.array([8.0, 4, 2, 1, 1]) / 16
            return Mechanism.of(shifted(5, 1.0), W, 1.0, prior=prior)
        case "fine":  # entries so small that 32 bits are too few
            return Mechanism.of(st.published.randomised_response(40, 1e-4), st.histogram(40), 1e-4)
        case "cycle":
            return Mechanism.of(orbit((7,), (7,), 1.0, patterns=3), st.all_range(7), 1.0)
        case "window":
            strategy = orbit((5,), (8,), 0.01)
            return Mechanism.of(strategy, st.prefix(st.bins([0, 1, 2.5, 4, 8, 16])), 0.01)
        case "torus":
            return Mechanism.of(orbit((3, 4), (3, 4), 5.0), st.all_marginals({"a": 3, "b": 4}), 5.0)
        case "torus-window":
            W = st.kron([st.prefix({"age": 4}), st.histogram({"sex": st.labels("f", "m")})])
            return Mechanism.of(orbit((4, 2), (5, 3), 1.0), W, 1.0)
        case "multiples":
            return Mechanism.of(multiples((5,), 8, [(3, 3), (4, 5), (1, 1)], 1.0), st.prefix(5), 1.0)
        case "table-on-one-cycle":
            strategy = multiples((2, 3), 6, [(2, 5), (1, 1)], 2.0)
            return Mechanism.of(strategy, st.histogram({"sex": st.labels("f", "m"), "age": 3}), 2.0)
        case "binary-juntas":
            strategy = juntas((2,) * 5, (tuple(range(5)),), [(0, 0, 0), (0,), (0, 0)], 1.0)
            return Mechanism.of(strategy, st.marginals("2^5", 2), 1.0)
        case "mixed-juntas":
            sizes, groups = (2, 3, 2, 3, 2), ((0, 2, 4), (1, 3))
            strategy = juntas(sizes, groups, [(0, 0, 1), (1, 0, 1), (0,), (1,)], 1.0)
            described = {"c": st.labels("yes", "no"), "b": st.bins([0, 18, 65, 130])}
            W = st.marginals(dict(zip("abcde", sizes, strict=True)) | described, 2)
            return Mechanism.of(strategy, W, 1.0)
        case "ordered-tables":
            sizes = {"age": 6, "sex": 2, "work": 3}
            ranges = [st.all_range({"age": 6}), st.histogram({"sex": 2}), st.total({"work": 3})]
            W = st.stack([st.kron(ranges), st.marginals(sizes, 2)])
            return _optimised(W, 1.0, st.solvers.Junta(max_steps=1))
        case "hundred":
            strategy = juntas((2,) * 100, (tuple(range(100)),), [(0,) * 6, (0,) * 5, (0,) * 3], 1.0)
            return Mechanism.of(strategy, st.marginals("2^100", 3), 1.0)
        case "survey":  # nobody is asked for the town; the first share is of no power of two
            age, sex = st.bins([0, 18, 65, 130]), st.labels("f", "m")
            domain = {"age": age, "sex": sex, "town": 7, "region": 5, "work": 4}
            parts = {
                (0, 1): (shifted(6, 1.0), 1 / 3),
                (3,): (st.published.randomised_response(5, 0.5), 0.4),
                (4,): (orbit((4,), (7,), 1.0), 1 - 1 / 3 - 0.4),
            }
            return survey(domain, parts)
        case "overlapping-survey":
            parts = {
                (0,): (st.published.randomised_response(3, 2.0), 0.25),
                (0, 1, 2): (juntas((3, 2, 2), ((0,), (1, 2)), [(0, 1, 1), (0, 1), (0,), (1,)], 2.0), 0.5),
                (1,): (st.published.randomised_response(2, 2.0), 0.25),
            }
            return survey({"a": 3, "b": st.labels("yes", "no"), "c": 2}, parts, 2.0)
        case "large-survey":  # 8^10 combinations of answers, more than 10^9
            parts = {
                (0, 9): (juntas((8, 8), ((0, 1),), [(0,), (0, 0)], 1.0), 0.5),
                (1, 2): (shifted(64, 1.0), 0.3),
                (4,): (st.published.hadamard_response(8, 1.0), 0.1),
                (5, 6, 7): (multiples((8, 8, 8), 520, [(3, 3), (1, 1)], 1.0), 0.1),
            }
            return survey({f"q{k}": 8 for k in range(10)}, parts)
        case "german-survey":  # nobody is asked for the place
            domain = {
                "Alter": st.bins([18, 40, 65, 90], unit="Jahre"),
                "Größe": st.labels("übergroß", "mittel", "nö"),
                "Ort": 7,
                "Tür & Tor": st.labels("auf", "zu"),
            }
            parts = {
                (0, 1): (shifted(9, 1.0), 0.4),
                (3,): (st.published.randomised_response(2, 1.0), 0.3),
                (1,): (st.published.randomised_response(3, 1.0), 0.3),
            }
            return survey(domain, parts)
    raise ValueError(case)


def survey(domain, parts, epsilon: float = 1.0) -> Mechanism:
    """Return the mechanism of a survey, strategies and shares by their attributes, that asks for each part's table."""
    names = list(domain)
    asked = [
        st.kron(
            [(st.histogram if k in own else st.total)({name: domain[name]}) for k, name in enumerate(names)]
        )
        for own in parts
    ]
    W = st.stack(asked)
    made = tuple(st.strategies.SurveyPart(own, *rest) for own, rest in parts.items())
    strategy = st.strategies.SurveyStrategy(W.domain.sizes, made)
    return Mechanism.of(strategy, W, epsilon)


def user_type(found: Mechanism, cell: int):
    """Return the user type of a number as the client's draws take it."""
    return found.client.user_type([int(k) for k in np.unravel_index(cell, found.domain.sizes)])


def rows(found: Mechanism) -> int:
    """Return among how many rows or patterns a draw searches."""
    table = found.table
    return len(table.patterns) if table.kind == "translates" else found.outputs


def some(shape, rng: np.random.Generator) -> np.ndarray:
    """Return a random set of about 3 in 10 cells, neither empty nor full."""
    inside = rng.random(shape) < 0.3
    inside.flat[0], inside.flat[1] = True, False
    return inside


def orbit(sizes, cycles, epsilon: float, patterns: int = 2) -> st.strategies.OrbitStrategy:
    """Return translates of random patterns, the last one rare."""
    rng, axes = np.random.default_rng(1), tuple(range(len(sizes)))
    made = tuple(st.strategies.Pattern.of(axes, some(cycles, rng)) for _ in range(patterns))
    return st.strategies.OrbitStrategy(sizes, cycles, made, _weights(patterns), _ratio(epsilon))


def multiples(sizes, cycle: int, powers, epsilon: float) -> st.strategies.OrbitStrategy:
    """Return translates of so many multiples, by powers of some root, of random patterns on one cycle."""
    rng, made = np.random.default_rng(1), []
    for many, root in powers:
        made.append(st.strategies.Pattern((0,), (cycle,), np.packbits(some(cycle, rng)), many, root))
    weights = _weights(len(made)) if len(made) > 1 else np.ones(1)
    return st.strategies.OrbitStrategy(sizes, (cycle,), tuple(made), weights, _ratio(epsilon))


def juntas(sizes, groups, axes, epsilon: float) -> st.strategies.JuntaStrategy:
    """Return random patterns over these axes, the last one rare."""
    rng = np.random.default_rng(2)
    made = tuple(
        st.strategies.Pattern.of(one, some([sizes[groups[group][0]] for group in one], rng)) for one in axes
    )
    return st.strategies.JuntaStrategy(sizes, groups, made, _weights(len(axes)), _ratio(epsilon))


def _weights(patterns: int) -> np.ndarray:
    weights = np.append(np.arange(2.0, patterns + 1), 0.01)
    return weights / weights.sum()


def _ratio(epsilon: float) -> float:
    return float(np.exp(epsilon) * (1 - 1e-14))


def shifted(n: int, epsilon: float, bases: int = 6, seed: int = 0) -> st.strategies.TwoLevelStrategy:
    """Return random patterns over n user types, each with all its cyclic shifts, so that columns sum to one."""
    rng, E = np.random.default_rng(seed), np.exp(epsilon) * (1 - 1e-14)
    first = rng.random((bases, n)) < rng.uniform(0.2, 0.6, (bases, 1))
    shifts = np.concatenate([np.eye(n, dtype=bool)] + [np.roll(first, k, axis=1) for k in range(n)])
    weights = np.concatenate([np.full(n, 1.0), np.tile(rng.random(bases), n)])
    theta = weights / (weights @ (1 + (E - 1) * shifts[:, 0]))
    return st.strategies.TwoLevelStrategy(np.packbits(shifts, axis=1), theta, n, E)


def _optimised(workload, epsilon, solver):
    return Mechanism.of(st.optimise(workload, epsilon, solver).strategy, workload, epsilon)
