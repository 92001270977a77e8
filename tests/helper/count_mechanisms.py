"""The count mechanisms that tests cross, by name."""

from functools import cache

from stratagem import counts

CASES = {
    "geometric": lambda: counts.geometric(8, 0.9),
    "geometric, one person": lambda: counts.geometric(1, 0.5),
    "geometric, by epsilon": lambda: counts.geometric(5, epsilon=1.0),
    "geometric, strict": lambda: counts.geometric(6, "1/10"),
    "explicit fair, even": lambda: counts.explicit_fair(8, 0.9),
    "explicit fair, odd": lambda: counts.explicit_fair(7, 0.6),
    "explicit fair, one person": lambda: counts.explicit_fair(1, 0.5),
    "explicit fair, by epsilon": lambda: counts.explicit_fair(5, epsilon=0.1),
    "uniform": lambda: counts.uniform(5, 0.9),
    "programmed": lambda: counts.design(6, 0.9, "L1", "RM,CM").mechanism,
    "programmed, rows of zeros": lambda: counts.design(5, 0.9, "L0,1").mechanism,
    "table": lambda: counts.CountTable(4, *tabled(counts.geometric(4, "2/3"))),
}


def tabled(mechanism):
    """Return alpha and the whole numbers of a closed form."""
    return mechanism.alpha, mechanism.whole()


@cache
def case(name):
    """Return a mechanism by its name."""
    return CASES[name]()
