"""Surveys: those of the theory with their exact optima, six as people ask them, and random ones."""

import numpy as np

import stratagem as st

PREFIX, CELLS, RANGES = st.prefix, st.histogram, st.all_range


def survey(domain, *queries):
    """Return the queries {attribute: workload} of a survey, each over the attributes named, others summed out."""
    asked = []
    for query, *weight in queries:
        factors = [query.get(name, st.total)({name: size}) for name, size in domain.items()]
        asked.append(st.weighted(st.kron(factors), *weight) if weight else st.kron(factors))
    return st.stack(asked)


def alone(*questions):
    """Return a survey of one-attribute questions, (size, workload, weight)."""
    domain = {f"a{k}": one[0] for k, one in enumerate(questions)}
    return survey(domain, *(({f"a{k}": one[1]}, *one[2:]) for k, one in enumerate(questions)))


YES_NO = (2, CELLS)
OPTIMA = {
    "2, 2": (alone(YES_NO, YES_NO), (10.365389, 3.644106, 2.463091)),
    "2, 3": (alone(YES_NO, (3, CELLS)), (15.062741, 5.220153, 2.848843)),
    "3, 3": (alone((3, CELLS), (3, CELLS)), (20.773686, 6.425562, 3.553990)),
    "2, prefixes of 4": (alone(YES_NO, (4, PREFIX)), (19.207107, 7.046609, 4.631433)),
    "3, prefixes of 3": (alone((3, CELLS), (3, PREFIX)), (18.475470, 6.639488, 4.277552)),
    "2, 2, 2": (alone(YES_NO, YES_NO, YES_NO), (22.572125, 7.449237, 4.521046)),
    "2, 2 with weight 3, 2": (alone(YES_NO, (2, CELLS, 3.0), YES_NO), (64.033680, 22.655060, 15.010088)),
}
"""L/n at epsilon 1, 2 and 3 over all patterns, from an independent cone programme (theory.md, section 10)."""

AGE_9 = {"age": 9, "smoker": 3, "pets": 2, "car": 2}
FOUR = survey(AGE_9, ({"age": PREFIX},), ({"smoker": CELLS},), ({"pets": CELLS},), ({"car": CELLS},))
FOUR_OPTIMA = {1.0: 120.85, 2.0: 34.36, 3.0: 18.98}

YES_NOS = {f"q{i}": 2 for i in range(8)}
ASKED = {
    "age, region x income, region, smokes": (
        survey(
            {"age": 80, "region": 16, "income": 12, "smokes": 2},
            ({"age": PREFIX},),
            ({"region": CELLS, "income": CELLS},),
            ({"region": CELLS},),
            ({"smokes": CELLS},),
        ),
        119_487_645,
        0.03,
    ),
    "age, region, smoker, region x income": (
        survey(
            {"age": 9, "region": 7, "smoker": 3, "income": 7},
            ({"age": PREFIX},),
            ({"region": CELLS},),
            ({"smoker": CELLS},),
            ({"region": CELLS, "income": CELLS},),
        ),
        759_620,
        0.03,
    ),
    "age x sex, region, region x education": (
        survey(
            {"age": 20, "sex": 2, "region": 16, "education": 7},
            ({"age": PREFIX, "sex": CELLS},),
            ({"region": CELLS},),
            ({"region": CELLS, "education": CELLS},),
        ),
        8_266_921,
        0.03,
    ),
    "delay, distance, carrier": (
        survey(
            {"delay": 64, "distance": 25, "carrier": 16},
            ({"delay": PREFIX},),
            ({"distance": RANGES},),
            ({"carrier": CELLS},),
        ),
        186_135_459,
        0.03,
    ),
    "age, state, eight yes/no": (
        survey(
            {"age": 100, "state": 50, **YES_NOS},
            ({"age": PREFIX},),
            ({"state": CELLS},),
            *(({name: CELLS},) for name in YES_NOS),
        ),
        4_507_488_109,
        0.07,
    ),
    "age, region, smoker": (alone((9, PREFIX), (7, CELLS), (3, CELLS)), 28_268, 0.03),
}
"""Surveys at epsilon 1, with the objective to reach and the gap to the bound that may be left."""


def random_survey(number):
    """Return random queries of 2 to 12 questions, and an epsilon from .3 to 4."""
    rng = np.random.default_rng([20_261_127, number])
    many = int(rng.integers(2, 13))
    sizes = np.exp(rng.uniform(np.log(2), np.log(100), many)).round().astype(int).tolist()
    domain = {f"a{k}": size for k, size in enumerate(sizes)}
    queries = []
    for name, size in domain.items():
        kind = (CELLS, PREFIX, RANGES, _mean)[int(rng.integers(4))] if size > 2 else CELLS
        queries.append(({name: kind}, float(rng.choice([1.0, 1.0, 2.0]))))
    small = [name for name, size in domain.items() if size <= 12]
    for _ in range(int(rng.integers(3))):
        if len(small) > 1:
            pair = rng.choice(small, 2, replace=False).tolist()
            queries.append((dict.fromkeys(pair, CELLS),))
    return survey(domain, *queries), float(np.exp(rng.uniform(np.log(0.3), np.log(4))).round(2))


def _mean(domain):
    ((name, size),) = domain.items()
    return st.mean(range(size), {name: size})
