"""Lists of names: they survive being written and read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from irexec.ir.text import name_list, write_name_list


@given(st.lists(st.text(st.characters(exclude_characters="\\", codec="utf-8"), min_size=1)))
def test_names_survive_being_written(names: list[str]) -> None:
    assert name_list(write_name_list(names)) == names
