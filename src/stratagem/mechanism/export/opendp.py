"""Mechanisms as measurements of OpenDP."""

from __future__ import annotations

import math
import secrets
from typing import TYPE_CHECKING

from stratagem.math.number import count_text
from stratagem.mechanism.client import SCALE, exp_below
from stratagem.mechanism.mechanism import Mechanism

if TYPE_CHECKING:
    from opendp.mod import Measurement

MOST_TYPES = (1 << 31) - 1
"""Most user types: OpenDP takes them as 32-bit numbers."""


def to_opendp(mechanism: Mechanism) -> Measurement:
    """Return an OpenDP measurement that randomises one user's type: chain it, compose it, ask its map.

    It maps the number of a user type (0..n-1, the last attribute fastest) to an output, drawn by the
    exact client with secure randomness. Its input domain are those numbers with the discrete distance, its
    privacy measure is the max divergence (pure differential privacy), and its privacy map is 0 at distance 0
    and `certified_epsilon` at every other: values differ or they do not, as in OpenDP's own randomised
    response. A user type outside the domain is refused, where OpenDP itself does not look.

    OpenDP runs functions from outside only for those who said so:
    `opendp.prelude.enable_features("contrib", "honest-but-curious")`.

    Raises:
        ImportError: without the package opendp; the extra `opendp` installs it.
        ValueError: if these features are not enabled, or for more than 2^31 - 1 user types.
    """
    from opendp import domains, measurements, measures, metrics, mod

    if missing := {"contrib", "honest-but-curious"} - mod.GLOBAL_FEATURES:
        features = ", ".join(f'"{name}"' for name in sorted(missing))
        raise ValueError(
            f"OpenDP takes a function from outside only with {' and '.join(sorted(missing))} enabled: call "
            f"opendp.prelude.enable_features({features}) first"
        )
    n, epsilon, client = mechanism.domain.size, certified_epsilon(mechanism), mechanism.client
    if n > MOST_TYPES:
        raise ValueError(
            f"the domain has {count_text(n)} user types, but a whole number of OpenDP at most {MOST_TYPES}: use the "
            "client of the mechanism itself"
        )

    def randomise(cell: int) -> int:
        if not 0 <= cell < n:
            raise ValueError(f"{cell} was given as a user type, but there are {n}: give 0 to {n - 1}")
        return client.sampler.draw(client.cell(mechanism.value(cell)), secrets.token_bytes)

    return measurements.make_user_measurement(
        domains.atom_domain(bounds=(0, n - 1), T=int),
        metrics.discrete_distance(),
        measures.max_divergence(),
        randomise,
        lambda distance: epsilon if distance else 0.0,
        TO=int,
    )


def certified_epsilon(mechanism: Mechanism) -> float:
    """Return a double that the certificate of the mechanism holds for, at most 2^-50 above the least.

    Guarantee:
        largest * 2^64 <= smallest * `exp_below`(epsilon) in whole numbers, so that the worst ratio in a row
        is at most exp(epsilon) for the very number that is returned.
    """
    high, low = (int(mechanism.bundle["certificate"][key]) for key in ("worst_high", "worst_low"))
    epsilon = max(0.0, math.log(high / low) * (1 - 2**-52) - 2**-53)
    while high << SCALE > low * exp_below(*epsilon.as_integer_ratio()):
        epsilon += max(math.ulp(epsilon), 2**-56)
    return epsilon
