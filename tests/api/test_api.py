"""The public names: the stub lists all of them, and each can be imported."""

from __future__ import annotations

import types

import irexec


def test_each_public_name_is_a_thing_and_no_module() -> None:
    assert len(irexec.__all__) > 60
    assert [name for name in irexec.__all__ if isinstance(getattr(irexec, name), types.ModuleType)] == []


def test_all_names_can_be_imported_together() -> None:
    found: dict[str, object] = {}
    exec("from irexec import *", found)
    assert set(irexec.__all__) <= found.keys()
