"""Whoever knows an operator finds its code by its page, and its tests by its code."""

from __future__ import annotations

from pathlib import Path

import pytest

from irexec.ops.declare.contents import CONTENTS

OPS = Path(__file__).parent


def _modules() -> list[str]:
    """The modules of OpenVINO's operators; those of ONNX are held to ONNX's own tests, in tests/frontends."""
    return sorted({module for module, _ in CONTENTS.values()})


@pytest.mark.parametrize("module", _modules())
def test_every_module_of_operators_has_its_test_file(module: str) -> None:
    category, name = module.split(".")
    assert (OPS / category / f"test_{name}.py").is_file()
