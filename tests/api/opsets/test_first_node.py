"""The first node of a process has the members of OpenVINO's API, whatever was imported; arrays alone do not
load them.
"""

from __future__ import annotations

import subprocess
import sys

import pytest
from support.waiting import PATIENCE

BEGINNINGS = [
    "import irexec.opset13 as ops\nx = ops.parameter([2, 3], np.float32)",
    "import irexec\nx = irexec.opset8.constant(np.ones((2, 3), np.float32))",
    "from irexec import opset15\nx = opset15.relu(np.ones((2, 3), np.float32)).output(0).get_node()",
]


def said(program: str) -> str:
    run = subprocess.run(
        [sys.executable, "-c", f"import sys\nimport numpy as np\n{program}"], capture_output=True, timeout=PATIENCE
    )
    assert run.returncode == 0, run.stderr.decode()
    return run.stdout.decode().strip()


@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_the_first_node_has_openvinos_words(beginning: str) -> None:
    program = "\nprint(x.get_element_type(), x.output(0).get_shape(), (x + x).get_type_name())"
    assert said(beginning + program).endswith("f32 [2,3] Add")


def test_a_node_without_inputs() -> None:
    assert said("import irexec.opset8 as ops\nprint(ops.tensor_iterator().get_type_name())") == "TensorIterator"


def test_arrays_alone_need_no_words() -> None:
    program = (
        "import irexec\nirexec.opset15.relu(np.ones(2, np.float32))\nprint('irexec.api.openvino.node' in sys.modules)"
    )
    assert said(program) == "False"
