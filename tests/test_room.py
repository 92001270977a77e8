"""Compiled code is let go before it crowds the process, and solving goes on as before."""

import stratagem as st
from stratagem.solvers import room


def test_compiled_code_is_let_go_when_it_crowds_the_process(monkeypatch):
    before = st.optimise(st.prefix(5), 1.0).objective
    monkeypatch.setattr(room, "CROWDED", 0)
    assert room.make_room()
    assert st.optimise(st.prefix(5), 1.0).objective == before


def test_nothing_is_dropped_while_there_is_room_or_where_maps_cannot_be_counted(monkeypatch, tmp_path):
    monkeypatch.setattr(room, "CROWDED", 10**9)
    assert not room.make_room()
    monkeypatch.setattr(room, "MAPS", tmp_path / "absent")
    monkeypatch.setattr(room, "CROWDED", 0)
    assert not room.make_room()
