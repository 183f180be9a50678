"""Names in an IR of version 10: rejected exactly where OpenVINO rejects them."""

from __future__ import annotations

import pytest
from support.nets import Net

# What x, m (Abs of x) and k (Abs of m) are called as tensors, and what the results return.
CASES = [
    ("", "", "", "m", True),
    ("a", "", "", "m", True),
    ("", "q", "", "m", True),
    ("", "m", "", "m", True),
    ("m", "", "", "m", False),
    ("a,m", "", "", "m", False),
    ("", "x", "", "m", False),
    ("", "x", "", "k", True),
    ("", "k", "", "k", True),
    ("k", "", "", "m", True),
    ("a", "a", "", "m", True),  # P012: one of them is renamed
    ("", "k", "m", "mk", False),
    ("", "", "", "x", True),
    ("a", "", "", "x", False),
    ("x", "", "", "x", False),
    ("a", "", "", "xm", False),
    ("", "", "", "mm", True),
    ("", "q", "", "mm", False),
    ("s.0", "", "", "s", False),
    ("s.1", "", "", "s", True),
    ("s", "", "", "s", True),
]


def text_of(tensors: tuple[str, str, str], returned: str, version: str) -> str:
    net = Net()
    numbers = {"x": net.parameter("x", "2", tensor=tensors[0])}
    numbers["m"] = net.layer("Abs", [numbers["x"]], "2", name="m", tensor=tensors[1])
    numbers["k"] = net.layer("Abs", [numbers["m"]], "2", name="k", tensor=tensors[2])
    axis = net.parameter("axis", "", "i64")
    numbers["s"] = net.layer("Split", [numbers["x"], axis], "1", name="s", data='num_splits="2"')
    for name in returned:
        net.result(numbers[name])
    second = '<port id="3" precision="FP32"><dim>1</dim></port></output></layer>'
    text = net.text.replace('version="11"', f'version="{version}"')
    return text.replace("<dim>1</dim></port></output></layer>", "<dim>1</dim></port>" + second)


@pytest.mark.parametrize("version", ["10", "11"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_names_of_inputs_and_results(case, version, read_ir, openvino_agrees) -> None:
    *tensors, returned, accepted = case
    text = text_of(tuple(tensors), returned, version)
    assert ("P014" not in read_ir(text).codes) == (accepted or version == "11")
    assert openvino_agrees(text)


def test_the_finding_is_at_the_name(read_ir) -> None:
    (finding,) = (found for found in read_ir(text_of(("m", "", ""), "m", "10")).found if found.code == "P014")
    assert finding.layer.name == "m"
    assert "version 11" in finding.hint
