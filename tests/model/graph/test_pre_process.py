"""pre-process: the mean that an old model subtracts from its input, compared with OpenVINO."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.model_differences import differences

import irexec


def model(shape: str, section: str, kind: str = "f32", precision: str = "FP32") -> str:
    """Return x → ReLU → Result with a pre-process section; `shape`: the shape as a Parameter declares it."""
    dims = "".join(f"<dim>{d if d.isdigit() else -1}</dim>" for d in shape.split(","))
    port = f'precision="{precision}">{dims}</port>'
    return f"""<net name="m" version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1"><data shape="{shape}" element_type="{kind}"/>
<output><port id="0" names="x" {port}</output></layer>
<layer id="1" name="relu" type="ReLU" version="opset1"><input><port id="0" {port}</input>
<output><port id="1" {port}</output></layer>
<layer id="2" name="y" type="Result" version="opset1"><input><port id="0" {port}</input></layer>
</layers><edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
<edge from-layer="1" from-port="1" to-layer="2" to-port="0"/></edges>{section}</net>"""


def numbers(*values: float) -> str:
    channels = "".join(f'<channel id="{i}"><mean value="{v}"/></channel>' for i, v in enumerate(values))
    return f'<pre-process reference-layer-name="x">{channels}</pre-process>'


def images(count: int, size: int) -> str:
    mean = '<channel id="{0}"><mean offset="{1}" size="{2}"/></channel>'
    channels = "".join(mean.format(i, i * size, size) for i in range(count))
    return f'<pre-process mean-precision="FP32" reference-layer-name="x">{channels}</pre-process>'


SWAPPED = """<pre-process reference-layer-name="x">
<channel id="1"><mean value="1"/></channel><channel id="0"><mean value="2"/></channel></pre-process>"""
WEIGHTS = np.random.default_rng(0).standard_normal(12).astype(np.float32).tobytes()


@pytest.mark.parametrize(
    ("shape", "section", "kind", "precision"),
    [
        ("2,3,4,4", numbers(1, 2, 3.5), "f32", "FP32"),
        ("2,3", numbers(1, 2, 3.5), "f32", "FP32"),
        ("3,2,2", numbers(0.1, 0.2, 0.3), "f32", "FP32"),
        ("1,2,2,2,2", numbers(-1, 1e3), "f32", "FP32"),
        ("1,3,2,2", numbers(1.5, 2, 3), "i32", "I32"),
        ("2,3,2,2", images(3, 16), "f32", "FP32"),
        ("3,2,2", images(3, 16), "f32", "FP32"),
        ("2,3", images(3, 4), "f32", "FP32"),
        ("1,2,1,2,3", images(2, 24), "f32", "FP32"),
        ("1,2,2,2", numbers(1, 2).replace(' id="0"', "").replace(' id="1"', ""), "f32", "FP32"),
        ("1,2,2,2", SWAPPED, "f32", "FP32"),
        ("1,2,2,2", numbers(1, 2).replace(' reference-layer-name="x"', ""), "f32", "FP32"),
        ("1,2,2,2", '<pre-process reference-layer-name="x"/>', "f32", "FP32"),
    ],
)
def test_the_mean_is_subtracted_as_by_openvino(
    shape: str, section: str, kind: str, precision: str, tmp_path: Path
) -> None:
    import openvino as ov

    text = model(shape, section, kind, precision)
    read = irexec.read_model(text.encode(), WEIGHTS)
    extents = tuple(map(int, shape.split(",")))
    x = (np.random.default_rng(1).standard_normal(extents) * 5).astype(read.inputs[0].element_type.dtype)
    theirs = ov.Core().read_model(text.encode(), ov.Tensor(np.frombuffer(WEIGHTS, np.uint8)))
    expected = ov.Core().compile_model(theirs, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([x])[0]
    np.testing.assert_array_equal(irexec.compile_model(read)([x])[0], expected)
    assert read.inputs[0].names == {"x"}

    irexec.save_model(read, tmp_path / "m.xml")
    again = irexec.read_model(tmp_path / "m.xml")
    assert differences(read, again) == []
    assert "pre-process" not in (tmp_path / "m.xml").read_text()


def test_without_a_name_the_first_input_of_rank_4_is_meant() -> None:
    ops = irexec.opset15
    a, b = ops.parameter([2, 2], "f32", name="a"), ops.parameter([1, 2, 1, 1], "f32", name="b")
    both = irexec.Model([ops.relu(a), ops.relu(b)], [a, b])
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.xml"
        irexec.save_model(both, path)
        section = numbers(1, 2).replace(' reference-layer-name="x"', "")
        text = path.read_text().replace("<rt_info />", section)
    results = irexec.compile_model(irexec.read_model(text.encode()))([np.full((2, 2), 5), np.full((1, 2, 1, 1), 5)])
    np.testing.assert_array_equal(results[0], np.full((2, 2), 5))
    np.testing.assert_array_equal(results[1].ravel(), [4, 3])


@pytest.mark.parametrize(
    ("shape", "section", "kind", "found"),
    [
        (
            "1,3,2,2",
            numbers(1, 2),
            "f32",
            "means are given for 2 channels ([0, 1]), expected one for each of the input's 3 channels",
        ),
        (
            "1,2,2,2",
            numbers(1, 2).replace('id="1"', 'id="2"'),
            "f32",
            "expected one for each of the input's 2 channels",
        ),
        ("1,2,2,2", numbers(1, 2).replace('id="1"', 'id="0"'), "f32", "channel 0 has two means"),
        ("3", numbers(1, 2, 3), "f32", "the input has shape [3]"),
        ("?,2,2,2", numbers(1, 2), "f32", "the input has shape [?,2,2,2]"),
        ("1,2,2,2", numbers(1, 2), "boolean", "the input is boolean"),
        ("1,4000000000000000000,2,2", numbers(1, 2), "f32", "means are given for 2 channels"),
        ("1,3,2,2", images(3, 8), "f32", "needs 16 bytes"),
        ("1,2,2,2", images(2, 16).replace('size="16"', 'size="99"', 1), "f32", "needs 16 bytes"),
        ("1,2,3037000500,3037000500", images(2, 16), "f32", "needs"),
    ],
)
def test_means_that_do_not_fit_are_findings(shape: str, section: str, kind: str, found: str) -> None:
    precision = "BOOL" if kind == "boolean" else "FP32"
    report = irexec.validate(model(shape, section, kind, precision).encode(), weights=WEIGHTS)
    refused = [d for d in report if d.code == "R008"]
    assert refused
    assert all(found in d.message for d in refused)
    assert refused[0].line is not None
    assert refused[0].layer is not None
    assert refused[0].layer.name == "x"


def test_an_image_beyond_the_weights_is_a_finding() -> None:
    report = irexec.validate(model("1,3,2,2", images(3, 16)).encode(), weights=WEIGHTS[:40])
    assert [d.code for d in report.errors] == ["C002"]
    assert irexec.validate(model("1,3,2,2", images(3, 16)).encode(), weights=WEIGHTS).ok
