"""Whoever knows an operator finds its code by its page, and its tests by its code."""

from __future__ import annotations

from pathlib import Path

import pytest

from irexec.ops.declare.contents import CONTENTS, ONNX_OPSETS, find
from irexec.ops.declare.operator import REGISTRY

OPS = Path(__file__).parent


def _modules() -> list[str]:
    find("Cast", next(iter(ONNX_OPSETS)))  # has ONNX's operators registered
    onnx = {op.__module__.removeprefix("irexec.ops.") for (_, opset), op in REGISTRY.items() if opset in ONNX_OPSETS}
    return sorted({module for module, _ in CONTENTS.values()} | onnx)


@pytest.mark.parametrize("module", _modules())
def test_every_module_of_operators_has_its_test_file(module: str) -> None:
    category, name = module.split(".")
    assert (OPS / category / f"test_{name}.py").is_file()
