"""Devices that report again and again, each with a memo."""

import hashlib
import io

import stratagem as st
from stratagem.mechanism.client import Client

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
