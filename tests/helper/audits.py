"""What the tests of audits share: clients whose randomness repeats from run to run."""

from collections.abc import Callable

import numpy as np

from stratagem.auditor import audit as auditor
from stratagem.auditor.audit import Audit
from stratagem.auditor.runner import Draw, Reports, collected, joined, python_client
from stratagem.domain.attribute import value_of
from stratagem.math.number import coordinates_of
from stratagem.mechanism.client import Client
from stratagem.mechanism.mechanism import Mechanism

Source = Callable[[int], bytes]
Batch = Callable[[int, int], Reports]
"""From a user type and a number k to k reports."""


def audit(found: Mechanism, draw: Draw, apart: Draw | None = None, seed: int = 0, **options) -> Audit:
    """An audit whose questions repeat from run to run."""
    return auditor.audit(found, draw, apart, seed=seed, **options)


def seeded(seed: int) -> Source:
    """A byte source that repeats from run to run."""
    return np.random.default_rng(seed).bytes


def client_of(found: Mechanism, source: Source) -> Draw:
    return python_client(found, lambda: Client(found.bundle, source))


def batch_of(found: Mechanism, seed: int) -> Batch:
    rng, attributes = np.random.default_rng(seed), found.attributes

    def draw(cell: int, count: int) -> Reports:
        users = np.full(count, cell)
        if found.table.kind == "translates":
            users = np.tile(found.client.cell(value_of(attributes, cell)), (count, 1))
        if found.table.kind == "parts":
            users = np.tile(coordinates_of(cell, found.domain.sizes), (count, 1))
        return Reports(found.randomise(users, rng))

    return draw


def any_order(batch: Batch) -> Draw:
    """Draws of a client that remembers nothing, made of one batch for every user type."""

    def draw(rows) -> Reports:
        cells = [cell for row in rows for cell in row]
        place: dict[int, list[int]] = {}
        for k, cell in enumerate(cells):
            place.setdefault(cell, []).append(k)
        order = sorted(place)
        made = joined([batch(cell, len(place[cell])) for cell in order])
        back = np.argsort(np.concatenate([place[cell] for cell in order]))
        return Reports(made.outputs[back], None if made.ids is None else made.ids[back])

    return draw


def in_a_row(client: Draw) -> Batch:
    """Batches of one client."""
    return lambda cell, count: client([[cell] * count])


def reports_of(found: Mechanism, reports) -> Reports:
    """What a collector makes of decoded reports."""
    return collected(map(found.form.check, reports))


def failed(one: Audit) -> set[str]:
    return {check.name for check in one.failures}
