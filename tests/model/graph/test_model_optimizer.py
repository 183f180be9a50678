"""What the Model Optimizer (2020 to 2023) wrote: irexec accepts what OpenVINO reads, and says so truly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import irexec
from irexec.core.diagnostics.statements import NOT_COMPILED
from irexec.tools.fixes.applying import apply_fixes

openvino = pytest.importorskip("openvino")

LAYER = '<layer id="{}" name="{}" type="{}" version="{}"><data {}/>{}</layer>'
CONVOLUTION = 'strides="1,1" dilations="1,1" pads_begin="0,0" pads_end="0,0" auto_pad="explicit"'
DETECTIONS = 'keep_top_k="2" nms_threshold="0.5" normalized="true" top_k="2" code_type="caffe.PriorBoxParameter.CORNER"'
POOLING = 'strides="1,1" pads_begin="0,0" pads_end="0,0" kernel="2,2" rounding_type="floor" auto_pad="valid"'
COUNTS = 'pre_nms_topn="4" post_nms_topn="2" nms_thresh="0.7"'
REGIONS = f'{COUNTS} base_size="16" feat_stride="16" min_size="1" ratio="1" scale="8"'
PROPOSED = (["1,2,2,2", "1,4,2,2", "3"], "2,5")
BOXES = 'width="1" height="1" step="1" offset="0.5" variance="0.1" clip="false"'


def ports(kind: str, *shapes: str, first: int = 0) -> str:
    """Return the section of a layer's ports; a shape may begin with a precision: "I64:2"."""
    found = ""
    for number, shape in enumerate(shapes, first):
        precision, _, dims = shape.rpartition(":")
        extents = "".join(f"<dim>{dim}</dim>" for dim in dims.split(","))
        found += f'<port id="{number}" precision="{precision or "FP32"}">{extents}</port>'
    return f"<{kind}>{found}</{kind}>"


def net(type: str, opset: str, data: str, inputs: Sequence[str], output: str, version: int = 11) -> str:
    """Return a model of one layer; inputs and output as `ports` takes them: "FP16:1,2"."""
    kinds = {"FP32": "f32", "FP16": "f16", "I64": "i64", "I32": "i32", "BOOL": "boolean", "U8": "u8"}
    layers, edges = [], []
    for number, port in enumerate(inputs):
        precision, _, dims = port.rpartition(":")
        given = f'shape="{dims}" element_type="{kinds[precision or "FP32"]}"'
        layers.append(LAYER.format(number, f"x{number}", "Parameter", "opset1", given, ports("output", port)))
        edges.append((number, 0, 90, number))
    layers.append(LAYER.format(90, "op", type, opset, data, ports("input", *inputs) + ports("output", output, first=9)))
    layers.append(LAYER.format(91, "y", "Result", "opset1", "", ports("input", output)))
    edges.append((90, 9, 91, 0))
    joined = "".join(f'<edge from-layer="{a}" from-port="{b}" to-layer="{c}" to-port="{d}"/>\n' for a, b, c, d in edges)
    return f'<net name="m" version="{version}"><layers>{"".join(layers)}</layers><edges>{joined}</edges></net>'


def unary(type: str, data: str = "", opset: str = "opset1") -> str:
    return net(type, opset, data, ["2,3"], "2,3")


def convolution(left: str) -> str:
    return net("Convolution", "opset1", f"{CONVOLUTION} {left}", ["1,1,3,3", "1,1,2,2"], "1,1,2,2")


def shape_of(left: str, opset: str = "opset1") -> str:
    return net("ShapeOf", opset, left, ["2,3"], "I64:2")


def detections(left: str, opset: str = "opset1", kind: str = "FP32") -> str:
    classes = ' num_classes="2"' if opset == "opset1" else ""
    inputs = [f"{kind}:1,8", f"{kind}:1,4", "1,2,8"]
    return net("DetectionOutput", opset, f"{DETECTIONS}{classes} {left}", inputs, f"{kind}:1,1,2,7")


def boxes(left: str) -> str:
    return net("PriorBoxClustered", "opset1", f"{BOXES} {left}", ["I64:2", "I64:2"], "2,-1")


def pooling(left: str, positions: str = "I64", opset: str = "opset1") -> str:
    own = "" if opset == "opset1" else ' dilations="1,1" index_element_type="i64"'
    text = net("MaxPool", opset, f"{POOLING}{own} {left}", ["1,1,3,3"], "1,1,2,2")
    if opset == "opset1":
        return text
    second = f'<port id="10" precision="{positions}">{"".join(f"<dim>{n}</dim>" for n in (1, 1, 2, 2))}</port>'
    return text.replace('</port></output></layer><layer id="91"', f'</port>{second}</output></layer><layer id="91"')


def padding(left: str) -> str:
    return net("Pad", "opset1", f'pad_mode="constant" {left}', ["2,3", "I64:2", "I64:2"], "-1,-1")


CAFFE = (
    'eta="1.0" height="0" height_scale="0" width="0" width_scale="0" prob="0.0" interp_mode="" pad_mode="" '
    'pad_value="" resize_mode="" visualize="False" visualize_threshold="0.6"'
)


def told(text: str) -> list[tuple[str, str | None, str]]:
    return [(finding.code, finding.attribute, str(finding.severity)) for finding in irexec.validate(text.encode())]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (convolution('output_padding="0,0"'), ["output_padding"]),
        (shape_of('output_type="i64"'), ["output_type"]),
        (boxes('flip="1" img_h="0" img_size="0" img_w="0"'), ["flip", "img_h", "img_size", "img_w"]),
        (detections(CAFFE), CAFFE.replace('"', "").split()),
        (detections(CAFFE, "opset8"), CAFFE.replace('"', "").split()),
        (padding('pad_value="0.0"'), ["pad_value"]),
        (net("Proposal", "opset1", f'{REGIONS} for_deformable="0"', *PROPOSED), ["for_deformable"]),
        # The quantization tool wrote the defaults of later versions.
        (pooling('axis="0" dilations="1.0,1.0" index_element_type="i64"'), ["axis", "dilations", "index_element_type"]),
        (unary("Gelu", 'approximation_mode="erf"', "opset2"), ["approximation_mode"]),
    ],
)
def test_a_leftover_is_a_warning_that_fix_removes(text: str, names: list[str]) -> None:
    assert told(text) == [("D001", name.partition("=")[0], "warning") for name in names]
    openvino.Core().read_model(text.encode(), b"")
    fixed = apply_fixes(text.encode()).data
    assert told(fixed.decode()) == []


@pytest.mark.parametrize(
    "text",
    [
        convolution('output_padding="1,0"'),
        convolution('outputpadding="0,0"'),
        shape_of('output_type="i32"'),
        boxes('img_size="300"'),
        detections('eta="0.5"'),
        detections('heigth="0"'),
        padding('pad_value="1"'),
        net("Proposal", "opset1", f'{REGIONS} for_deformable="1"', *PROPOSED),
        pooling('dilations="2,2"'),
        pooling('index_element_type="i32"'),
    ],
)
def test_another_value_and_another_name_are_errors(text: str) -> None:
    assert [(code, severity) for code, _, severity in told(text)] == [("D001", "error")]


def test_many_layers_share_one_warning_and_one_fix() -> None:
    text = unary("ReLU", 'cacheable="false"').replace(
        "</layers>", LAYER.format(7, "z", "ReLU", "opset1", 'cacheable="true"', ports("input", "2,3")) + "</layers>"
    )
    text = text.replace("</edges>", '<edge from-layer="0" from-port="0" to-layer="7" to-port="0"/></edges>')
    assert [code for code, _, _ in told(text)].count("D001") == 1
    assert b"cacheable" not in apply_fixes(text.encode()).data


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (convolution('kernel="2,2"'), None),
        (detections('num_classes="2"', "opset8"), "opset8 removed it: remove the attribute"),
        (unary("Gelu", 'approximation_mode="tanh"', "opset2"), 'version="opset7" has it'),
        (unary("ReduceSum", 'axes="0"'), "connect a Const with the value to input 1, 'axes'"),
        (boxes('clipp="false"'), None),
    ],
)
def test_a_hint_names_nothing_that_is_there_already(text: str, hint: str | None) -> None:
    found = [finding for finding in irexec.validate(text.encode()) if finding.code == "D001"]
    assert [finding.hint for finding in found] == [hint]


def test_parameters_share_one_warning_as_well() -> None:
    text = net("Add", "opset1", 'auto_broadcast="numpy"', ["2", "2"], "2").replace(
        'element_type="f32"', 'element_type="f32" cacheable="false"'
    )
    assert told(text) == [("D001", "cacheable", "warning")]
    assert b"cacheable" not in apply_fixes(text.encode()).data


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (net("DetectionOutput", "opset8", DETECTIONS, ["FP16:1,8", "FP16:1,4", "1,2,8"], "1,1,2,7"), "warning"),
        (pooling("", "FP32", "opset8"), "warning"),
        (pooling("", "I32", "opset8"), "error"),
        (net("ReLU", "opset1", "", ["FP16:2"], "2"), "error"),
    ],
)
def test_precisions_that_the_model_optimizer_wrote(text: str, expected: str) -> None:
    assert [severity for code, _, severity in told(text) if code == "P004"] == [expected]
    openvino.Core().read_model(text.encode(), b"")


@pytest.mark.parametrize(("data", "slope"), [("FP16", "FP32"), ("FP32", "FP16"), ("I32", "FP32"), ("FP32", "I32")])
def test_a_slope_may_have_another_type(data: str, slope: str) -> None:
    text = net("PReLU", "opset1", "", [f"{data}:2,3", f"{slope}:3"], f"{data}:2,3").encode()
    assert list(irexec.validate(text)) == []
    compiled = openvino.Core().compile_model(openvino.Core().read_model(text, b""), "CPU")
    given = [np.full(shape, value, kind) for shape, value, kind in zip(
        [(2, 3), 3], [-2, 3], [port.element_type.to_dtype() for port in compiled.inputs], strict=True
    )]  # fmt: skip
    (result,) = irexec.compile_model(text)(given).to_tuple()
    assert result.dtype == compiled(given)[0].dtype
    assert result.tolist() == compiled(given)[0].tolist()


@pytest.mark.parametrize("opset", ["opset1", "opset8"])
def test_proposals_may_have_another_type(opset: str) -> None:
    text = detections("", opset, "FP16").encode()
    assert list(irexec.validate(text)) == []
    openvino.Core().compile_model(openvino.Core().read_model(text, b""), "CPU")
    inputs = [np.zeros((1, 8), np.float16), np.zeros((1, 4), np.float16), np.zeros((1, 2, 8), np.float32)]
    assert irexec.compile_model(text)(inputs)[0].dtype == np.float16


ROI = (
    'output_dim="2" spatial_scale="1" group_size="2" spatial_bins_x="1" spatial_bins_y="1" trans_std="1" part_size="2"'
)


@pytest.mark.parametrize(
    "text",
    [
        net("DeformablePSROIPooling", "opset1", f'{ROI} mode="bilinear"', ["1,8,4,4", "1,5"], "1,2,2,2"),
        net("Interpolate", "opset1", 'axes="2,3" mode="bilinear"', ["1,1,2,2", "I64:2"], "1,1,-1,-1"),
    ],
)
def test_a_text_that_openvino_reads_but_does_not_compile(text: str) -> None:
    (finding,) = (found for found in irexec.validate(text.encode()) if found.code == "D005")
    assert finding.openvino == NOT_COMPILED
    model = openvino.Core().read_model(text.encode(), b"")
    with pytest.raises(RuntimeError):
        openvino.Core().compile_model(model, "CPU")


EDGE = '<edge from-layer="{}" from-port="{}" to-layer="7" to-port="0"/>'


@pytest.mark.parametrize("edge", [EDGE.format(90, 9), EDGE.format(8, 1), EDGE.format(90, 5)])
def test_an_edge_that_ends_nowhere_is_ignored(edge: str) -> None:
    text = unary("ReLU").replace("</edges>", f"{edge}</edges>")
    assert told(text) == [("E009", "to-layer", "warning")]
    openvino.Core().read_model(text.encode(), b"")
    assert told(apply_fixes(text.encode()).data.decode()) == []


@pytest.mark.parametrize(
    "comment", ["<!-- a -- b -->", "<!-- q --->", "<!--layer--name-->", "<!-- a <!-- b -- c -->", "<!------>"]
)
def test_hyphens_in_a_comment(comment: str) -> None:
    text = unary("ReLU").replace("<edges>", f"<!-- fine -->{comment}<edges>")
    assert [(code, severity) for code, _, severity in told(text)] == [("X012", "warning")]
    openvino.Core().read_model(text.encode(), b"")
    assert irexec.compile_model(text.encode())(np.ones((2, 3), np.float32))[0].sum() == 6
    assert told(apply_fixes(text.encode()).data.decode()) == []


@pytest.mark.parametrize(
    ("type", "version", "hint"),
    [
        ("IsInf", "type_relaxed_opset", 'version="opset10" has IsInf'),
        ("Gather", "extension", "Gather has versions of opset1, opset7, opset8"),
        ("StringTensorUnpack", "extension", 'version="opset15" has StringTensorUnpack; older releases of OpenVINO'),
    ],
)
def test_the_hint_for_a_version_that_is_no_opset(type: str, version: str, hint: str) -> None:
    found = [finding for finding in irexec.validate(unary(type, "", version).encode()) if finding.code == "L005"]
    assert [(finding.hint or "")[: len(hint)] for finding in found] == [hint]


@pytest.mark.parametrize("kind", ["FP16", "FP32", "I64", "I32", "BOOL", "U8"])
@pytest.mark.parametrize("version", [10, 11])
def test_an_ir_of_version_10_has_the_types_of_its_api(kind: str, version: int) -> None:
    text = net("Reshape", "opset1", 'special_zero="true"', [f"{kind}:2,3", "I64:1"], f"{kind}:-1", version).encode()
    types = []
    for core in (openvino.Core(), irexec.Core()):
        model = core.read_model(text, b"")
        types.append([port.get_element_type().get_type_name() for port in (*model.inputs, *model.outputs)])
    assert types[0] == types[1]
