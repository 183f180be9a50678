"""The file of an operator follows from its page, and the file of its rows or tests from its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from irexec.ops.spec.contents import CONTENTS

OPS = Path(__file__).parent


def _modules() -> list[str]:
    """Return the modules of OpenVINO's operators; ONNX's operators are tested by ONNX's own tests, in
    tests/frontends.
    """
    return sorted({module for module, _ in CONTENTS.values()})


@pytest.mark.parametrize("module", _modules())
def test_every_module_of_operators_has_its_rows_or_tests(module: str) -> None:
    category, name = module.split(".")
    files = OPS / category / f"{name}.rows", OPS / category / f"test_{name}.py"
    assert any(file.is_file() for file in files)
