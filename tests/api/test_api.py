"""api.py contains exactly the names of `import irexec`."""

from __future__ import annotations

import types

import irexec
from irexec import api


def test_api_holds_what_irexec_exports() -> None:
    held = {name for name in vars(api) if name[0] not in "_@" and name != "annotations"}
    assert held == set(irexec.__all__)
    assert [name for name in held if getattr(api, name) is not getattr(irexec, name)] == []


def test_each_public_name_is_a_thing_and_no_module() -> None:
    assert [name for name in irexec.__all__ if isinstance(getattr(irexec, name), types.ModuleType)] == []


def test_all_names_can_be_imported_together() -> None:
    found: dict[str, object] = {}
    exec("from irexec import *", found)
    assert set(irexec.__all__) <= found.keys()
