"""Other names of modules, such as former ones: they lead to the module itself."""

from __future__ import annotations

import importlib
import sys

import pytest

from irexec.api.aliases import _MODULES, real_module


@pytest.mark.parametrize(
    "name", [*_MODULES, "irexec.types.shape", "irexec.debug.sanitize", "irexec.ops.declare.groups"]
)
def test_another_name_is_the_module_itself(name: str) -> None:
    sys.modules.pop(name, None)
    present = real_module(name)
    assert present is not None
    assert importlib.import_module(name) is importlib.import_module(present)


def test_a_former_name_is_an_attribute_too() -> None:
    from irexec import engine, parallel

    assert (engine.__name__, parallel.__name__) == ("irexec.runtime.engine", "irexec.tools.parallel")


def test_a_name_that_never_was_is_not_found() -> None:
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("irexec.ops.compute.never")
