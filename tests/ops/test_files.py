"""The file of an operator follows from its page, and the file of its tests from its own."""

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
def test_every_module_of_operators_has_its_test_file(module: str) -> None:
    category, name = module.split(".")
    assert (OPS / category / f"test_{name}.py").is_file()
