"""irexec's copy of ONNX's operator definitions, and ONNX's message classes imported without the rest of the package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.waiting import PATIENCE

onnx = pytest.importorskip("onnx")

from irexec.frontends.onnx import definitions
from irexec.frontends.onnx.definitions import NoSuchOperator, definition

PROGRAM = """
import sys
import irexec

compiled = irexec.compile_model(sys.argv[1])
assert compiled([[1.0, -2.0]])[0].tolist() == [1.5, 0.5]
loaded = [name for name in sys.modules if name.split(".")[0] == "onnx"]
assert not loaded, loaded

# Who imports the package later gets all of it, and the same classes.
import onnx
from irexec.frontends.onnx.messages import onnx as messages

assert messages.ModelProto is onnx.ModelProto and messages.TensorProto is onnx.TensorProto
assert onnx.load(sys.argv[1]).graph.node[0].op_type == "Relu"
onnx.checker.check_model(onnx.load(sys.argv[1]))
"""


def test_a_definition_is_what_the_package_states() -> None:
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain or schema.since_version > definitions.newest_opset():
            continue
        found = definition(schema.name, schema.since_version, "")
        assert (found.since, found.least, found.most) == (schema.since_version, schema.min_input, schema.max_input)
        assert found.attributes == {name: entry.required for name, entry in schema.attributes.items()}
        assert [port.name for port in found.ports] == [formal.name for formal in schema.inputs]


@pytest.mark.parametrize(
    ("type", "opset"), [("Conv", 0), ("Conv", -1), ("Conv", 1 << 40), ("Con v", 17), ("\n", 1), ("", 1)]
)
def test_what_there_is_not(type: str, opset: int) -> None:
    with pytest.raises(NoSuchOperator):
        definition(type, opset, "")


def test_a_model_is_read_without_the_rest_of_the_package(tmp_path: Path) -> None:
    graph = "g (float[2] x) => (float[2] y) <float w = {0.5}> { t = Relu(x) y = Add(t, w) }"
    model = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 17]> {graph}')
    onnx.save(model, tmp_path / "model.onnx")
    subprocess.run([sys.executable, "-c", PROGRAM, tmp_path / "model.onnx"], check=True, timeout=PATIENCE)
