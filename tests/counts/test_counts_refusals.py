"""What count designs refuse, each in one sentence."""

import numpy as np
import pytest

from stratagem import counts


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"size": 0, "alpha": 0.5}, "size is 0"),
        ({"size": 2.5, "alpha": 0.5}, "size is 2.5"),
        ({"size": True, "alpha": 0.5}, "size is True"),
        ({"size": 3}, "either alpha"),
        ({"size": 3, "alpha": 0.5, "epsilon": 1.0}, "either alpha"),
        ({"size": 3, "alpha": 1.0}, "alpha is 1.0"),
        ({"size": 3, "alpha": "x"}, "alpha is 'x'"),
        ({"size": 3, "alpha": float("nan")}, "alpha is nan"),
        ({"size": 3, "epsilon": -1}, "epsilon is -1"),
        ({"size": 3, "alpha": 0.5, "loss": "L3"}, "loss 'L3'"),
        ({"size": 3, "alpha": 0.5, "loss": "L0,3"}, "errors above 3"),
        ({"size": 3, "alpha": 0.5, "loss": [[1, 2]]}, "4 x 4"),
        ({"size": 3, "alpha": 0.5, "loss": -np.ones((4, 4))}, "nowhere negative"),
        ({"size": 3, "alpha": 0.5, "properties": "RX"}, "property 'RX'"),
        ({"size": 3, "alpha": 0.5, "prior": [1, 2]}, "4 weights"),
        ({"size": 3, "alpha": 0.5, "prior": [0, 0, 0, 0]}, "4 weights"),
        ({"size": 3, "alpha": 0.5, "aggregate": "mean"}, "sum or max"),
        ({"size": 3, "alpha": 0.5, "reach": 4}, "reach is 4"),
        ({"size": 3, "alpha": 0.5, "reach": "x"}, "reach is 'x'"),
        ({"size": 3, "alpha": 0.5, "column_ratio": 2}, "column_ratio is 2"),
        ({"size": 3, "alpha": 0.5, "solver": "GUROBI"}, "HIGHS or CLARABEL"),
        ({"size": 2**63, "alpha": 0.5}, "1 to 1000000000"),
        ({"size": 3, "alpha": 0.5, "loss": np.full((4, 4), 1e200)}, "above 1e100"),
        ({"size": 3, "alpha": 0.5, "loss": np.ones((4, 4)) * 1j}, "4 x 4"),
        ({"size": 3, "alpha": 0.5, "properties": None}, "property None"),
    ],
    ids=str,
)
def test_bad_input_gets_one_sentence(arguments, message):
    with pytest.raises(ValueError, match=message) as caught:
        counts.design(**arguments)
    assert "\n" not in str(caught.value)
