"""Normalised Krawtchouk polynomials: mean characters of a product of equal cyclic groups."""

from __future__ import annotations

import numpy as np


def krawtchouk(many: int, size: int, shifts: np.ndarray) -> np.ndarray:
    """Return P[l, k], the mean of chi(g) over the translations g that move j = shifts[k] places, (m + 1 x k).

    chi is a character of Z_a^m, a = size >= 2 and m = many >= 1, that touches l places. If I of them are among
    the j of a random g, a hypergeometric number, then P = E (-1/(a - 1))^I. The recurrence in l is stable from
    l = 0 up, and from l = m down, to the middle of where the polynomial oscillates: errors are about 1e-16.

    Reference:
        Delsarte, An algebraic approach to the association schemes of coding theory, 1973, chapter 4.
    """
    m, b, j = many, size - 1, np.asarray(shifts, dtype=float)
    up, down = np.empty((m + 1, len(j))), np.empty((m + 1, len(j)))
    up[0], up[1] = 1, 1 - j * size / (m * b)
    down[m] = (-1 / b) ** j
    down[m - 1] = (1 - j / m) * down[m] + j / m * (-1 / b) ** np.maximum(j - 1, 0)
    with np.errstate(all="ignore"):  # each overflows beyond the middle alone
        for count in range(1, m):
            middle = (m - count) * b + count - size * j
            up[count + 1] = (middle * up[count] - count * up[count - 1]) / ((m - count) * b)
        for count in range(m - 1, 0, -1):
            middle = (m - count) * b + count - size * j
            down[count - 1] = (middle * down[count] - (m - count) * b * down[count + 1]) / count
    return np.where(np.arange(m + 1)[:, None] <= (m * b - (b - 1) * j) / size, up, down)
