"""Devices that report again and again, each with a memo."""

import hashlib
import io

import stratagem as st
from mechanisms import juntas, multiples, survey
from stratagem.mechanism.client import Client
from stratagem.strategies.two_level import two_levels

PERMANENT = 2.0
SMALL = {"pairs": lambda: st.histogram(4), "sizes": lambda: st.prefix(4), "cycle": lambda: st.all_range(4)}


def memoised(case):
    """A small mechanism whose single report has epsilon 0.5, and all reports together PERMANENT."""
    return st.optimise(SMALL[case](), 0.5).mechanism().memoised(PERMANENT)


class Device:
    """One person's folder and a client whose random bytes are known."""

    def __init__(self, folder, bundle, seed=b"memo"):
        stream = io.BytesIO(hashlib.shake_256(seed).digest(1 << 20))
        self.folder, self.client = folder, Client(bundle, stream.read, folder)

    def outputs(self, value, reports):
        return [self.client.randomise(value)["output"] for _ in range(reports)]


def survey_of(case):
    """A survey whose reports can be repeated: one report has an epsilon, all together PERMANENT."""
    match case:
        case "two tables":
            parts = {(0,): (response(3, 0.5), 0.4), (1, 2): (response(4, 0.5), 0.6)}
            return survey({"a": 3, "b": st.labels("yes", "no"), "c": 2}, parts, 0.5).memoised(PERMANENT)
        case "three budgets":  # parts of different epsilons, and an attribute that two of them are about
            tables = juntas((3, 2, 2), ((0,), (1, 2)), [(0, 1, 1), (0, 1), (0,), (1,)], 1.0)
            parts = {(0,): (response(3, 0.5), 0.25), (0, 1, 2): (tables, 0.5), (1,): (response(2, 0.8), 0.25)}
            return survey({"a": 3, "b": 2, "c": 2}, parts, 1.0).memoised(PERMANENT)
        case "one of one":
            return survey({"a": 4}, {(0,): (response(4, 0.5), 1.0)}, 0.5).memoised(PERMANENT)
        case "large":  # 8^10 combinations of answers
            parts = {
                (0, 9): (juntas((8, 8), ((0, 1),), [(0,), (0, 0)], 1.0), 0.5),
                (1, 2): (response(64, 1.0), 0.25),
                (5, 6, 7): (multiples((8, 8, 8), 520, [(3, 3), (1, 1)], 1.0), 0.25),
            }
            return survey({f"q{k}": 8 for k in range(10)}, parts).memoised(PERMANENT)
        case "german":  # the questions of the form
            domain = {
                "Alter": st.bins([18, 40, 65, 90], unit="Jahre"),
                "Größe": st.labels("übergroß", "mittel", "nö"),
                "Tür & Tor": st.labels("auf", "zu"),
            }
            parts = {(0, 1): (response(9, 0.5), 0.5), (2,): (response(2, 0.5), 0.5)}
            return survey(domain, parts, 0.5).memoised(PERMANENT)
    raise ValueError(case)


SURVEYS = ["two tables", "three budgets", "one of one", "large"]


def response(n, epsilon):
    """Randomised response by its sets."""
    return two_levels(st.published.randomised_response(n, epsilon))
