"""The two modes: strict reports every error, openvino mode runs every model with a well-defined result."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.nets import two_inputs

import irexec
from irexec.core.diagnostics.codes import CODES

LAYER = """<layer id="{0}" name="{1}" type="{2}" version="{3}"><data {4}/>{5}</layer>"""
STALE = Path(__file__).parent / "files" / "stale_dims.xml"
BOTH_IDS = Path(__file__).parent / "files" / "one_id_twice.xml"

pytestmark = pytest.mark.filterwarnings("ignore:.*irexec.validate shows")


def ports(kind: str, *shapes: str, first: int = 0) -> str:
    """Return the section of a layer's ports; a shape may begin with a precision: "I64:2"."""
    found = ""
    for number, shape in enumerate(shapes, first):
        precision, _, dims = shape.rpartition(":")
        extents = "".join(f"<dim>{dim}</dim>" for dim in dims.split(",") if dim)
        found += f'<port id="{number}" precision="{precision or "FP32"}">{extents}</port>'
    return f"<{kind}>{found}</{kind}>"


def unary(type: str, data: str = "", opset: str = "opset1", shape: str = "2,3", extra: str = "") -> str:
    """Return a model of one layer with one input; `extra` are layers without readers."""
    layers = [
        LAYER.format(0, "x", "Parameter", "opset1", f'shape="{shape}" element_type="f32"', ports("output", shape)),
        LAYER.format(1, "op", type, opset, data, ports("input", shape) + ports("output", shape, first=1)),
        LAYER.format(2, "y", "Result", "opset1", "", ports("input", shape)),
    ]
    edges = [(0, 0, 1, 0), (1, 1, 2, 0)]
    joined = "".join(f'<edge from-layer="{a}" from-port="{b}" to-layer="{c}" to-port="{d}"/>\n' for a, b, c, d in edges)
    return f'<net name="m" version="11"><layers>\n{"".join(layers)}{extra}</layers><edges>{joined}</edges></net>'


def found(text: str | bytes, mode: str = "strict", weights: bytes | None = None) -> list[tuple[str, str]]:
    data = text.encode() if isinstance(text, str) else text
    return [(d.code, str(d.severity)) for d in irexec.validate(data, mode=mode, weights=weights)]


def test_names_of_enumerations_are_read_in_any_letter_case() -> None:
    data = 'kernel="2,2" strides="1,1" pads_begin="0,0" pads_end="0,0" rounding_type="FLOOR" auto_pad="SAME_LOWER"'
    text = unary("MaxPool", data, "opset1", "1,1,4,4")
    assert found(text) == [("D008", "warning"), ("D008", "warning")]
    image = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    result = irexec.compile_model(text.encode())(image)[0]
    np.testing.assert_array_equal(result[0, 0, :2, :2], [[0, 1], [4, 5]])


def test_attributes_that_old_writers_left_are_a_warning() -> None:
    assert found(unary("ReLU", 'cacheable="false"')) == [("D001", "warning")]
    assert found(unary("ReLU", 'alpha="1"')) == [("D001", "error")]
    assert found(unary("ReLU", 'alpha="1"'), "openvino") == [("D001", "warning")]


@pytest.mark.parametrize(
    ("type", "data", "in_openvino_mode"),
    [
        ("Elu", "", "error"),  # The value of OpenVINO's variable is unknown.
        ("SoftMax", 'axis="-1"', "error"),
        ("Elu", 'alpha="1.5x"', "warning"),
        ("Reshape", "", "error"),
    ],
)
def test_what_has_no_plain_meaning_is_refused(type: str, data: str, in_openvino_mode: str) -> None:
    assert found(unary(type, data))[0][1] == "error"
    assert found(unary(type, data), "openvino")[0][1] == in_openvino_mode


def test_a_missing_list_is_empty_and_other_missing_values_are_refused() -> None:
    given = 'kernel="2" strides="1" pads_begin="0" pads_end="0" exclude-pad="true"'
    assert found(unary("AvgPool", given, shape="1,1,3").replace('"3"', '"3"'), "openvino")[0][0] == "P005"
    without = given.replace('exclude-pad="true"', "")
    assert ("D002", "error") in found(unary("AvgPool", without, shape="1,1,3"), "openvino")
    without = given.replace('pads_begin="0"', "")
    assert ("D002", "warning") in found(unary("AvgPool", without, shape="1,1,3"), "openvino")


def test_layers_that_nothing_depends_on_may_be_malformed() -> None:
    stray = LAYER.format(3, "stray", "Rubbish", "opset1", 'alpha="x"', ports("output", "2,3"))
    stray += LAYER.format(4, "other", "Elu", "opset1", "", ports("input", "2,3") + ports("output", "7", first=1))
    text = unary("ReLU", extra=stray)
    assert {"L004", "D002", "E004"} <= {code for code, severity in found(text) if severity == "error"}
    assert {severity for _, severity in found(text, "openvino")} == {"warning"}
    assert irexec.compile_model(text.encode())(np.float32([[-1, 2, 3], [4, 5, -6]]))[0].tolist() == [
        [0, 2, 3],
        [4, 5, 0],
    ]


def test_two_layers_of_one_id_are_refused_in_every_mode() -> None:
    for mode in ("strict", "openvino"):
        assert ("L002", "error") in found(BOTH_IDS.read_bytes(), mode, (np.int64([1, 2, 3])).tobytes())
    with pytest.raises(irexec.IRError, match="L002"):
        irexec.read_model(BOTH_IDS.read_bytes(), np.int64([1, 2, 3]).tobytes())


def test_dims_that_were_not_updated() -> None:
    """The shape of the Parameter was edited, but not the ports."""
    compiled = irexec.compile_model(STALE)
    assert compiled(np.float32([[-1, 2, 3, 4, 5]] * 2))[0].tolist() == [[0, 2, 3, 4, 5]] * 2


def test_names_that_are_not_utf8() -> None:
    data = unary("ReLU").encode().replace(b'name="op"', b'name="caf\xe9"')
    assert found(data) == [("X006", "error")]
    assert found(data, "openvino") == [("X006", "warning")]
    assert irexec.read_model(data).nodes[1].friendly_name == r"caf\xe9"


def test_a_trailing_comma_in_the_shape_of_a_constant() -> None:
    constant = LAYER.format(
        3, "c", "Const", "opset1", 'element_type="f32" shape="2,3," offset="0" size="24"', ports("output", "2,3")
    )
    text = unary("Add", extra=constant).replace(
        "</input><output>", '<port id="5" precision="FP32"/></input><output>', 1
    )
    text = text.replace("<edges>", '<edges><edge from-layer="3" from-port="0" to-layer="1" to-port="5"/>')
    weights = np.arange(6, dtype=np.float32).tobytes()
    assert ("D006", "error") in found(text, weights=weights)
    assert [pair for pair in found(text, "openvino", weights) if pair[0] != "P002"] == [("D006", "warning")]
    model = irexec.read_model(text.encode(), weights)
    assert irexec.compile_model(model)(np.zeros((2, 3), np.float32))[0].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_the_command_states_how_many_warnings_and_continues(tmp_path, capsys) -> None:
    from irexec.cli.main import main

    (tmp_path / "m.xml").write_text(unary("ReLU", 'alpha="1" beta="1"'))
    assert main(["run", str(tmp_path / "m.xml")]) == 0
    assert "3 layers, 2 warnings about grammar, types and shapes" in capsys.readouterr().out
    assert main(["run", str(tmp_path / "m.xml"), "--mode", "strict"]) == 1


def test_a_sound_model_has_no_python_warning(recwarn) -> None:
    irexec.compile_model(two_inputs().text.encode())
    assert not recwarn.list


def test_an_ir_has_no_constant() -> None:
    constant = LAYER.format(
        3, "c", "Constant", "opset1", 'element_type="f32" shape="3" offset="0" size="12"', ports("output", "3")
    )
    text = unary("Add", extra=constant).replace(
        "</input><output>", '<port id="5" precision="FP32"/></input><output>', 1
    )
    text = text.replace("<edges>", '<edges><edge from-layer="3" from-port="0" to-layer="1" to-port="5"/>')
    text = text.replace('<port id="1" precision="FP32"><dim>2', '<port id="6" precision="FP32"><dim>2')
    text = text.replace('from-layer="1" from-port="1"', 'from-layer="1" from-port="6"')
    weights = np.float32([1, 2, 3]).tobytes()
    assert found(text, weights=weights) == [("L009", "error")]
    assert irexec.validate(text.encode(), weights=weights).errors[0].hint == "write 'Const'"
    model = irexec.read_model(text.encode(), weights)
    assert irexec.compile_model(model)(np.zeros((2, 3), np.float32))[0].tolist() == [[1, 2, 3], [1, 2, 3]]


def test_an_execution_graph_is_named_for_what_it_is(tmp_path) -> None:
    ov = pytest.importorskip("openvino")
    (tmp_path / "m.xml").write_text(unary("ReLU"))
    compiled = ov.compile_model(tmp_path / "m.xml", "CPU")
    ov.serialize(compiled.get_runtime_model(), tmp_path / "executed.xml")
    (finding,) = irexec.validate(tmp_path / "executed.xml")
    assert (finding.code, finding.severity, finding.line) == ("N011", "error", 4)


TOKENIZER = unary("SentencepieceTokenizer", 'alpha="0"', "extension")


def test_operators_of_tokenizers_are_named_once() -> None:
    two = (
        TOKENIZER.replace('to-layer="2"', 'to-layer="3"')
        .replace("</layers>", "@</layers>")
        .replace(
            "@",
            LAYER.format(
                3,
                "next",
                "StringToHashBucket",
                "extension",
                "",
                ports("input", "2,3") + ports("output", "2,3", first=1),
            ),
        )
    )
    two = two.replace("<edges>", '<edges><edge from-layer="3" from-port="1" to-layer="2" to-port="0"/>')
    assert found(two) == [("L012", "error")]
    (finding,) = irexec.validate(two.encode())
    assert finding.message.startswith(
        "SentencepieceTokenizer and StringToHashBucket are operators of OpenVINO Tokenizers"
    )
    assert '@irexec.operator("SentencepieceTokenizer", "extension")' in (finding.hint or "")


def test_an_extension_supplies_operators_of_tokenizers(tmp_path, capsys) -> None:
    from irexec.cli.main import main
    from irexec.ops.spec.operator import REGISTRY

    (tmp_path / "mine.py").write_text(
        "from typing import Annotated\nimport irexec\nfrom irexec.ops.spec.operator import Elements\n"
        "from irexec.ops.rules.shapes import same_as\nfrom irexec.core.types import F32, Array\n"
        'T = Annotated[Array, Elements("T", {F32})]\n\n'
        '@irexec.operator("SentencepieceTokenizer", "extension", shapes=same_as())\n'
        'def tokenizer(x: T, /, *, alpha: float = 0.0) -> T:\n    "Twice x."\n    return x * 2\n'
    )
    (tmp_path / "m.xml").write_text(TOKENIZER)
    try:
        assert main(["run", str(tmp_path / "m.xml"), "--extension", str(tmp_path / "mine.py"), "--json"]) == 0
    finally:
        REGISTRY.pop(("SentencepieceTokenizer", "extension"), None)
    assert '"executed": true' in capsys.readouterr().out


def test_a_repeated_entry_of_a_port_map_has_no_other_finding() -> None:
    text = (Path(__file__).parent / "files" / "if_with_an_entry_twice.xml").read_text()
    assert found(text) == [("B003", "warning"), ("B003", "warning")]
    compiled = irexec.compile_model(text.encode())
    assert compiled([True, np.float32([-1, 2])])[0].tolist() == [0, 2]
    assert compiled([False, np.float32([-1, 2])])[0].tolist() == [1, -2]


def test_sampling_ratio_of_roi_align_may_be_torchvisions() -> None:
    from irexec.ops.spec import contents

    values, (problem,) = contents.load("ROIAlign", 9).parse_attributes(
        {"pooled_h": "1", "pooled_w": "1", "sampling_ratio": "-1", "spatial_scale": "1", "mode": "avg"}
    )
    assert values["sampling_ratio"] == 0
    assert (problem.code, problem.defined) == ("D007", True)


def test_a_warning_about_a_layer_without_effect_gives_the_reason() -> None:
    idle = LAYER.format(3, "c", "Const", "opset1", 'element_type="f33" shape="3" offset="0" size="12"', "")
    *_, warning = irexec.validate(unary("ReLU", extra=idle).encode(), mode="openvino")
    assert warning.severity == "warning" and CODES[warning.code].severity == "error"
    assert warning.openvino == "does not read the layer, because no result depends on it"


def test_a_layer_that_is_idle_because_its_edge_is_wrong_stays_an_error() -> None:
    text = unary("ReLU").replace('from-layer="1" from-port="1"', 'from-layer="1" from-port="7"')
    assert ("E002", "error") in found(text, "openvino")


def test_a_constant_of_an_unknown_opset() -> None:
    constant = LAYER.format(
        3, "c", "Const", "opset99", 'element_type="f32" shape="3" offset="0" size="12"', ports("output", "3")
    )
    assert found(unary("ReLU", extra=constant), "openvino", bytes(12)) == [("L008", "warning"), ("L005", "warning")]


def test_an_input_port_of_an_operator_that_takes_none() -> None:
    stray = LAYER.format(3, "z", "Parameter", "opset1", 'shape="2" element_type="f32"', ports("input", "2") + OUTPUT)
    assert {"P007", "E004"} <= {code for code, severity in found(unary("ReLU", extra=stray)) if severity == "error"}


OUTPUT = ports("output", "2", first=1)


@pytest.mark.parametrize("ask", [irexec.validate, irexec.read_model])
def test_a_mode_that_there_is_not(ask: Callable[..., object]) -> None:
    with pytest.raises(ValueError, match="mode is 'strickt', expected 'strict' or 'openvino'"):
        ask(b"<net/>", mode="strickt")
