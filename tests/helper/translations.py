"""Orbits and juntas by whose matrices translation strategies are judged."""

import numpy as np

import stratagem as st

RATIO = float(np.e)


def some(shape, seed):
    """Return a random set of about 3 in 10 cells, neither empty nor full."""
    inside = np.random.default_rng(seed).random(shape) < 0.3
    inside.flat[0], inside.flat[1] = True, False
    return inside


def pattern(axes, shape, seed=0):
    return st.strategies.Pattern.of(axes, some(shape, seed))


MIXED = st.strategies.JuntaStrategy(
    (2, 3, 2, 3, 2),
    ((0, 2, 4), (1, 3)),
    (
        pattern((0, 0, 1), (2, 2, 3)),
        pattern((1, 0, 1), (3, 2, 3), 1),
        st.strategies.Pattern.of((0,), np.array([1, 0])),
    ),
    np.array([0.5, 0.3, 0.2]),
    RATIO,
)
TABLE = {
    "mixed juntas": MIXED,
    "binary juntas": st.strategies.JuntaStrategy(
        (2,) * 6, (tuple(range(6)),), (pattern((0,) * 3, (2,) * 3),), np.ones(1), RATIO
    ),
    "cycle": st.strategies.OrbitStrategy(
        (7,), (7,), (pattern((0,), 7), pattern((0,), 7, 1)), np.array([0.4, 0.6]), RATIO
    ),
    "window": st.strategies.OrbitStrategy((5,), (8,), (pattern((0,), 8),), np.ones(1), RATIO),
    "torus": st.strategies.OrbitStrategy((3, 4), (3, 4), (pattern((0, 1), (3, 4)),), np.ones(1), RATIO),
}
