"""Compiled code is let go before it crowds the process, and solving goes on as before."""

import pytest

import stratagem as st
from stratagem.solvers import solver


@pytest.mark.exhaustive
def test_compiled_code_is_let_go_when_it_crowds_the_process(monkeypatch):
    before = st.optimise(st.prefix(5), 1.0).objective
    monkeypatch.setattr(solver, "CROWDED", 0)
    assert solver.release_compiled_code()
    assert st.optimise(st.prefix(5), 1.0).objective == before


def test_nothing_is_dropped_while_there_is_room_or_where_maps_cannot_be_counted(monkeypatch, tmp_path):
    monkeypatch.setattr(solver, "CROWDED", 10**9)
    assert not solver.release_compiled_code()
    monkeypatch.setattr(solver, "MAPS", tmp_path / "absent")
    monkeypatch.setattr(solver, "CROWDED", 0)
    assert not solver.release_compiled_code()
