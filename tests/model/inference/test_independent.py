"""Findings of a layer that do not depend on the layer's other errors are reported in the same pass."""

from __future__ import annotations

import pytest

import irexec


def port(id: int, shape: str, precision: str = "FP32") -> str:
    dims = "".join(f"<dim>{extent}</dim>" for extent in shape.split(",") if extent)
    return f'<port id="{id}" precision="{precision}">{dims}</port>'


def layer(type: str, opset: str, data: str, inputs: list[str], outputs: list[str]) -> str:
    return (
        f'<layer id="1" name="n" type="{type}" version="{opset}"><data {data}/>'
        f"<input>{''.join(inputs)}</input><output>{''.join(outputs)}</output></layer>"
    )


POOL = 'strides="2,2" pads_begin="0,0" pads_end="0,0" rounding_type="floor" auto_pad="explicit"'
MVN = 'eps_mode="inside_sqrt" normalize_variance="true"'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # The value of eps changes neither the precision nor the shape.
        (
            layer(
                "MVN", "opset6", f'eps="abc" {MVN}', [port(0, "6,12"), port(1, "1", "I64")], [port(2, "6,13", "FP16")]
            ),
            ["D010", "P004", "P005"],
        ),
        # A missing attribute hides no more than an unreadable one, and a wrong input no more than its own effects.
        (
            layer("MVN", "opset6", MVN, [port(0, "6,12"), port(1, "1")], [port(2, "6,13", "FP16")]),
            ["D002", "O002", "P004", "P005"],
        ),
        (
            layer(
                "ScatterElementsUpdate",
                "opset12",
                'reduction="xyzzy"',
                [port(0, "3,4"), port(1, "1,2"), port(2, "1,2", "FP16"), port(3, "1", "I32")],
                [port(4, "3,5")],
            ),
            ["D005", "O002", "O003", "P005"],
        ),
        # The kernel changes the last two dims only.
        (
            layer("MaxPool", "opset1", f'kernel="a" {POOL}', [port(0, "1,3,8,8")], [port(1, "1,4,9,9", "FP16")]),
            ["D010", "P004", "P005"],
        ),
        (layer("MaxPool", "opset1", f'kernel="a" {POOL}', [port(0, "1,3,8,8")], [port(1, "1,3,9,9")]), ["D010"]),
        # Neither a value that contradicts another one nor a missing one changes the shape.
        (
            layer("Clamp", "opset1", 'min="10" max="1"', [port(0, "2")], [port(1, "3", "I64")]),
            ["O001", "P004", "P005"],
        ),
        (layer("Clamp", "opset1", 'min="10"', [port(0, "2")], [port(1, "3", "I64")]), ["D002", "P004", "P005"]),
        # Shapes that do not broadcast leave the precision certain, as does a wrong port.
        (layer("Add", "opset1", "", [port(0, "2,3"), port(1, "2,4")], [port(2, "2,3", "FP16")]), ["O001", "P004"]),
        (
            layer(
                "ScatterNDUpdate",
                "opset15",
                "",
                [port(0, "8"), port(1, "4,1", "I64"), port(2, "5")],
                [port(3, "9", "I64")],
            ),
            ["O001", "P004", "P005"],
        ),
        # A missing input port hides neither the wrong types of other inputs nor those of outputs.
        (
            layer(
                "ScatterElementsUpdate",
                "opset12",
                "",
                [port(0, "3,4"), port(1, "1,2", "I64"), port(2, "1,2", "FP16")],
                [port(4, "3,5")],
            ),
            ["O003", "P005", "P007"],
        ),
        (
            layer("ReLU", "opset1", "", [port(0, "2,3"), port(1, "2")], [port(2, "2,4", "FP16")]),
            ["P004", "P005", "P007"],
        ),
        # Which of two inputs is missing changes the shape.
        (layer("Add", "opset1", "", [port(0, "2,3")], [port(2, "3", "FP16")]), ["P004", "P007"]),
        # The shape is the same for every value, and the constraint is broken for every value.
        (
            layer("SoftMax", "opset8", 'axis="7"', [port(0, "2,3")], [port(1, "2,4", "FP16")]),
            ["O001", "P004", "P005"],
        ),
        (
            layer(
                "BatchNormInference",
                "opset5",
                'epsilon="a"',
                [port(0, "2,3"), port(1, "3"), port(2, "3"), port(3, "4"), port(4, "3")],
                [port(5, "2,3")],
            ),
            ["D010", "O001"],
        ),
        # One block size divides 13 channels; which one was meant is unknown.
        (
            layer("DepthToSpace", "opset1", 'block_size="2" mode="a"', [port(0, "1,13,2,2")], [port(1, "1,1,4,4")]),
            ["D005", "O001"],
        ),
        # Sizes and pads do not cancel each other.
        (
            layer(
                "MaxPool",
                "opset1",
                POOL.replace('pads_end="0,0"', 'pads_end="a"') + ' kernel="a"',
                [port(0, "1,3,8,8")],
                [port(1, "1,3,5,5")],
            ),
            ["D010", "D010"],
        ),
    ],
)
@pytest.mark.parametrize("mode", ["strict", "openvino"])
def test_what_does_not_depend_on_an_error_is_reported_with_it(text: str, expected: list[str], mode: str) -> None:
    report = irexec.validate(text.encode(), mode=mode)
    assert sorted(finding.code for finding in report if finding.code[0] in "DOP") == expected


def test_a_loose_layer_whose_outputs_are_not_checked_is_named() -> None:
    text = layer("MaxPool", "opset1", f'kernel="a" {POOL}', [port(0, "1,3,8,8")], [port(1, "1,3,9,9")])
    report = irexec.validate(text.encode())
    assert [unchecked.name for unchecked in report.unchecked] == ["n"]
    assert "not checked completely until these errors are fixed: MaxPool 'n'" in str(report)


@pytest.mark.parametrize(
    ("right", "wrong", "code"),
    [
        ('type="Add"', 'type="Addd"', "L004"),
        ("opset1", "opset99", "L005"),
        ("opset1", "1", "L005"),
        ("opset1", "opset0", "L005"),
    ],
)
def test_a_layer_whose_operator_is_clear_is_checked_despite_its_type_and_version(
    right: str, wrong: str, code: str
) -> None:
    text = layer("Add", "opset1", "", [port(0, "2,3"), port(1, "2,3")], [port(2, "2,4", "FP16")])
    net = f'<net name="m" version="11"><layers>{text.replace(right, wrong)}</layers><edges/></net>'
    codes = [finding.code for finding in irexec.validate(net.encode()) if finding.code[0] in "DLOP"]
    assert sorted(codes) == [code, "P004", "P005"]
    if code != "L004":  # The reader of snippets corrects the type.
        found = irexec.validate(text.replace(right, wrong).encode())
        assert sorted(finding.code for finding in found if finding.code[0] in "DLOP") == [code, "P004", "P005"]


def test_a_type_that_is_only_similar_to_another_names_no_operator() -> None:
    text = layer("Moe", "opset16", 'topk="2"', [port(0, "2,3"), port(1, "2,3"), port(2, "2,3")], [port(3, "2,4")])
    assert [finding.code for finding in irexec.validate(text.encode()).errors] == ["L004"]


def test_a_version_that_fits_several_operators_names_none() -> None:
    text = layer("ScatterElementsUpdate", "opset99", "", [port(0, "2,3")], [port(1, "2,4")])
    report = irexec.validate(text.encode())
    assert [finding.code for finding in report.errors] == ["L005"]
    assert [unchecked.name for unchecked in report.unchecked] == ["n"]
