"""What the tests of audits share: clients whose randomness repeats from run to run."""

from collections.abc import Callable

import numpy as np

from stratagem.auditor.audit import Audit
from stratagem.auditor.runner import Draw, Reports, python_client, value_of
from stratagem.mechanism.client import Client
from stratagem.mechanism.mechanism import Mechanism

Source = Callable[[int], bytes]


def seeded(seed: int) -> Source:
    """A byte source that repeats from run to run."""
    return np.random.default_rng(seed).bytes


def client_of(found: Mechanism, source: Source) -> Draw:
    return python_client(Client(found.bundle, source), found.outputs)


def batch_of(found: Mechanism, seed: int) -> Draw:
    rng, attributes = np.random.default_rng(seed), found.client.attributes

    def draw(cell: int, count: int) -> Reports:
        users = np.full(count, cell)
        if found.table.kind == "translates":
            users = np.tile(found.client.cell(value_of(attributes, cell)), (count, 1))
        return Reports(found.randomise(users, rng))

    return draw


def failed(one: Audit) -> set[str]:
    return {check.name for check in one.failures}
