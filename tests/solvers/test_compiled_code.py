"""Compiled code is let go before it crowds the process, and solving goes on as before."""

import stratagem as st
from stratagem.solvers import compiled_code


def test_compiled_code_is_let_go_when_it_crowds_the_process(monkeypatch):
    before = st.optimise(st.prefix(5), 1.0).objective
    monkeypatch.setattr(compiled_code, "CROWDED", 0)
    assert compiled_code.release_compiled_code()
    assert st.optimise(st.prefix(5), 1.0).objective == before


def test_nothing_is_dropped_while_there_is_room_or_where_maps_cannot_be_counted(monkeypatch, tmp_path):
    monkeypatch.setattr(compiled_code, "CROWDED", 10**9)
    assert not compiled_code.release_compiled_code()
    monkeypatch.setattr(compiled_code, "MAPS", tmp_path / "absent")
    monkeypatch.setattr(compiled_code, "CROWDED", 0)
    assert not compiled_code.release_compiled_code()
