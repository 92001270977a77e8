"""Costs of optimal count mechanisms against tables that were computed independently."""

from decimal import Decimal

import numpy as np
import pytest
from scipy.stats import binom

from stratagem import counts

L0 = {
    "2/3": {
        2: (0.833333, 0.833333, 0.857143),
        3: (0.816667, 0.833333, 0.853333),
        4: (0.8, 0.825, 0.862069),
        5: (0.8, 0.82, 0.858947),
        6: (0.8, 0.816667, 0.860841),
        8: (0.8, 0.8125, 0.857771),
        12: (0.8, 0.808333, 0.8503),
        20: (0.8, 0.805, 0.837046),
    },
    "10/11": {
        2: (0.966667, 0.966667, 0.967742),
        3: (0.965873, 0.966667, 0.967498),
        4: (0.968, 0.969, 0.970425),
        5: (0.967143, 0.968825, 0.97022),
        6: (0.967476, 0.969476, 0.971366),
        8: (0.966239, 0.969303, 0.971725),
        12: (0.962644, 0.968113, 0.97177),
        20: (0.952381, 0.964137, 0.970988),
    },
    "0.76": {
        2: (0.894737, 0.894737, 0.904762),
        3: (0.88756, 0.894737, 0.902893),
        4: (0.885319, 0.895291, 0.909882),
        5: (0.876328, 0.893402, 0.908326),
        6: (0.867286, 0.88928, 0.910434),
        7: (0.863636, 0.886156, 0.90899),
        12: (0.863636, 0.876438, 0.906112),
        20: (0.863636, 0.871317, 0.898401),
    },
    "0.9": {
        2: (0.962963, 0.962963, 0.964286),
        3: (0.961988, 0.962963, 0.963989),
        4: (0.964198, 0.965432, 0.967195),
        5: (0.963136, 0.965216, 0.966945),
    },
    "0.62": {
        2: (0.795699, 0.795699, 0.830357),
        3: (0.771738, 0.795699, 0.825281),
        4: (0.765432, 0.788132, 0.834552),
        7: (0.765432, 0.778404, 0.828299),
    },
    "0.99": {
        4: (0.996949, 0.996959, 0.996974),
        8: (0.997137, 0.997166, 0.997188),
        20: (0.997189, 0.997273, 0.997322),
    },
}
"""Cost under L0 with WH; with WH, RM, CM, S; of the explicit fair mechanism."""

L1_L2 = {
    ("L1", "10/11"): {
        4: (1.2, 1.432672, 1.460197, 1.473842, 1.6),
        8: (2.140352, 2.448486, 2.518242, 2.56862, 2.962963),
        12: (3.004737, 3.310734, 3.414637, 3.506215, 4.307692),
    },
    ("L1", "2/3"): {
        4: (1.004444, 1.05284, 1.088123, 1.111111, 1.6),
        8: (1.488269, 1.511034, 1.547973, 1.596595, 2.962963),
        12: (1.74857, 1.760222, 1.799226, 1.845934, 4.307692),
    },
    ("L2", "10/11"): {
        4: (2.0, 3.308598, 3.463404, 3.513738, 4.0),
        8: (6.473727, 9.505661, 10.153581, 10.502673, 13.333333),
        12: (12.791225, 17.409439, 18.890358, 19.745109, 28.0),
    },
    ("L2", "2/3"): {
        4: (1.677037, 1.986173, 2.17931, 2.248276, 4.0),
        8: (3.886115, 4.161534, 4.523141, 4.698261, 13.333333),
        12: (5.724099, 5.901761, 6.289936, 6.470123, 28.0),
    },
}
"""Cost with nothing asked for, with WH, with F, with all properties; of the uniform mechanism."""

BINOMIAL = {
    ("10/11", 0.5, "geometric"): (0.9487, 0.8354, 3.6540),
    ("10/11", 0.5, "explicit_fair"): (0.8638, 0.6170, 2.7720),
    ("10/11", 0.5, "uniform"): (0.8889, 0.6675, 2.9439),
    ("10/11", 0.1, "geometric"): (0.7474, 0.5138, 4.1604),
    ("10/11", 0.1, "explicit_fair"): (0.8638, 0.6694, 3.9537),
    ("10/11", 0.1, "uniform"): (0.8889, 0.7145, 4.1984),
    ("2/3", 0.5, "geometric"): (0.7969, 0.5146, 2.3742),
    ("2/3", 0.5, "explicit_fair"): (0.7625, 0.4470, 2.2092),
    ("2/3", 0.5, "uniform"): (0.8889, 0.6675, 2.9439),
    ("2/3", 0.1, "geometric"): (0.6278, 0.3165, 2.2630),
    ("2/3", 0.1, "explicit_fair"): (0.7625, 0.5139, 3.1478),
    ("2/3", 0.1, "uniform"): (0.8889, 0.7145, 4.1984),
}
"""P(error), P(error > 1) and the root of the mean squared error for 8 people with a chance of p each."""


@pytest.mark.parametrize(("alpha", "n"), [(alpha, n) for alpha, table in L0.items() for n in table])
def test_zero_one_loss(alpha, n):
    honest, monotone, fair = L0[alpha][n]
    assert counts.design(n, alpha, "L0", "WH").cost == pytest.approx(honest, abs=1e-6)
    assert counts.design(n, alpha, "L0", "WH,RM,CM,S").cost == pytest.approx(monotone, abs=1e-6)
    assert counts.design(n, alpha, "L0", "F").cost == pytest.approx(fair, abs=1e-6)
    assert counts.explicit_fair(n, alpha).cost("L0") == pytest.approx(fair, abs=1e-6)


@pytest.mark.parametrize(
    ("loss", "alpha", "n"), [(*key, n) for key, table in L1_L2.items() for n in table], ids=str
)
def test_absolute_and_squared_loss(loss, alpha, n):
    *costs, even = L1_L2[loss, alpha][n]
    found = [counts.design(n, alpha, loss, properties).cost for properties in ("", "WH", "F", "all")]
    assert found == pytest.approx(costs, abs=1e-6)
    assert counts.uniform(n, alpha).cost(loss) == pytest.approx(even, abs=1e-6)


@pytest.mark.parametrize("case", BINOMIAL, ids=str)
def test_exact_evaluation_on_binomial_counts(case):
    alpha, p, name = case
    mechanism, prior = getattr(counts, name)(8, alpha), binom.pmf(np.arange(9), 8, p)
    wrong, far = (mechanism.cost(loss, prior) * 8 / 9 for loss in ("L0", "L0,1"))
    found = (wrong, far, mechanism.cost("L2", prior) ** 0.5)
    assert found == pytest.approx(BINOMIAL[case], abs=5.1e-5)


@pytest.mark.parametrize("alpha", ["0.51", "0.6", "0.75", "0.9", "0.99"])
def test_two_people(alpha):
    """Weak honesty at n = 2 costs 4/3 - 1/(3 alpha) above alpha = 1/2, with monotone columns or without."""
    cost = 4 / 3 - 1 / (3 * float(alpha))
    for properties in ("WH", "CM,RM"):
        assert counts.design(2, alpha, "L0", properties).cost == pytest.approx(cost, abs=1e-8)


@pytest.mark.parametrize(("alpha", "step"), [("0.6", 0.083333), ("2/3", 0.1), ("0.75", 0.148148)])
def test_monotone_columns_cost_a_constant_over_n(alpha, step):
    a = counts.geometric(1, alpha).alpha
    for n in (9, 14):
        excess = counts.design(n, alpha, "L0", "CM").cost - float(2 * a / (1 + a))
        assert n * excess == pytest.approx(step, abs=1e-6)


def test_what_goes_wrong_without_properties():
    """The example of the source: eighteen times as likely to say "none" or "all" as the truth."""
    column = counts.geometric(2, 0.9).column(1)
    assert column == pytest.approx([0.4737, 0.0526, 0.4737], abs=5e-5)
    assert counts.geometric(2, 0.9).column(0)[0] == pytest.approx(0.5263, abs=5e-5)


@pytest.mark.parametrize(("n", "threshold"), [(4, 0.77330), (2, 0.43426)])
def test_squared_loss_says_the_middle_whatever_the_count(n, threshold):
    """Above the threshold the optimum under L2 is a constant: rows of zeros everywhere else."""
    middle = np.abs(np.arange(n + 1) - n / 2) == 0
    for alpha, constant in ((threshold + 1e-3, True), (threshold - 1e-3, False)):
        found = counts.design(n, alpha, "L2").mechanism.matrix
        assert bool((found[middle] > 1 - 1e-6).all()) is constant
        assert bool((found[~middle] < 1e-6).all()) is constant


@pytest.mark.parametrize("alpha", ["0.5", "2/3", "0.9"])
def test_errors_above_one_leave_gaps(alpha):
    found = counts.design(5, alpha, "L0,1").mechanism
    assert (found.matrix.max(axis=1) < 1e-6).any()
    assert (found.matrix[1] + found.matrix[4]).min() == pytest.approx(float(found.alpha), abs=1e-6)


@pytest.mark.parametrize("n", [1, 2, 4, 5])
@pytest.mark.parametrize("alpha", ["0.999999", "0.999999999999999", "0.99999999999999999999", "1e-131"])
@pytest.mark.parametrize("make", [counts.geometric, counts.explicit_fair, counts.uniform])
def test_closed_forms_keep_their_digits_at_extreme_budgets(make, alpha, n):
    mechanism = make(n, alpha)
    cells, total = mechanism.whole()
    np.testing.assert_allclose(mechanism.matrix, (cells / total).astype(float), rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(mechanism.matrix.sum(axis=0), 1, rtol=1e-14)
    exact = (n + 1 - float(sum(cells.diagonal()) / total)) / n
    assert mechanism.cost("L0") == pytest.approx(exact, rel=1e-14, abs=1e-14)


@pytest.mark.parametrize("alpha", [Decimal("Infinity"), Decimal("NaN"), "1/0", 1, True])
def test_what_is_no_alpha_is_refused(alpha):
    with pytest.raises(ValueError, match="alpha is"):
        counts.geometric(4, alpha)
