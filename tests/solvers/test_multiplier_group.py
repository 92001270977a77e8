"""Groups of multiplications: their orbits, their images, and what both do to the energies of patterns."""

import numpy as np
import pytest

from stratagem.solvers.junta.complementary import MultiplierGroup


def power(pattern, shape):
    return np.square(np.abs(np.fft.fftn(pattern.reshape(shape)))).ravel()


@pytest.mark.parametrize(
    ("shape", "orbits", "most"), [((7,), 1, 9), ((12, 5), 12, 64), ((3, 4, 9), 30, 64), ((2, 2, 3), 0, 8)]
)
def test_images_have_equal_mean_energies_within_orbits(shape, orbits, most):
    group, rng = MultiplierGroup.within(shape, range(len(shape)), orbits, most), np.random.default_rng(5)
    assert len(group.elements) <= most
    for _ in range(3):
        pattern = rng.random(np.prod(shape)) < 0.4
        mean = np.mean([power(image, shape) for image in group.images(pattern)], axis=0)
        assert mean == pytest.approx(group.mean(power(pattern, shape)))
        assert mean == pytest.approx(mean[group.labels])


def test_a_group_is_as_small_as_its_orbits_allow():
    assert MultiplierGroup.within((41, 16), (0, 1), 400, 128).elements == ((1, 1),)
    large = MultiplierGroup.within((41, 41, 41), (0, 1, 2), 0, 16)
    assert len(large.elements) <= 16
    assert large.orbits < 41**3 / 14
    alone = MultiplierGroup.within((13,), (0,), 1, 12)  # six up to the sign, two orbits with the trivial one
    assert (len(alone.elements), alone.orbits) == (6, 2)
    assert all(element[0] == 1 for element in MultiplierGroup.within((7, 9), (1,), 0, 64).elements)


def test_every_character_falls_into_the_orbit_of_its_conjugate():
    labels = MultiplierGroup.trivial((5, 6)).labels.reshape(5, 6)
    opposite = labels[np.ix_(-np.arange(5) % 5, -np.arange(6) % 6)]
    assert (labels == opposite).all()
    assert labels[1, 1] != labels[1, 2]
