"""Every attribute that OpenVINO writes is known, and OpenVINO's value for an omitted attribute is reported if it
matters.

data/openvino_attributes.json: by operator, each attribute with the value OpenVINO 2026.4.1 gives it initially.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from support.nets import Net

import irexec
from irexec.core.types import ElementType, PartialShape
from irexec.ops.spec.attributes import Attribute, attribute_text
from irexec.ops.spec.contents import find
from irexec.ops.spec.operator import Operator

WRITTEN: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "data" / "openvino_attributes.json").read_text()
)


def operator_of(name: str) -> Operator:
    type, _, version = name.rpartition("-")
    op = find(type, f"opset{version}")
    assert op is not None
    return op


@pytest.mark.parametrize("name", WRITTEN)
def test_every_attribute_that_openvino_writes_is_known(name: str) -> None:
    op = operator_of(name)
    _, problems = op.parse_attributes({key: attribute_text(value) for key, value in WRITTEN[name].items()})
    assert [p.message for p in problems if p.code == "D001"] == []


@pytest.mark.parametrize("name", WRITTEN)
def test_another_default_of_openvino_is_declared(name: str) -> None:
    declared = {a.file_name: a for a in operator_of(name).attributes}
    for key, initial in WRITTEN[name].items():
        attribute = declared[key]
        if attribute.differs:
            assert plain(attribute.reading.default) == plain(initial), f"{key}: OpenVINO takes {initial!r}"
            assert attribute.required or not same(attribute, initial), f"{key}: nothing differs"
        else:
            assert attribute.required or same(attribute, initial), f"{key}: declare AsRead(default={initial!r})"


def same(attribute: Attribute, initial: Any) -> bool:
    """Return whether OpenVINO's initial value has the same meaning as the page's default."""
    if attribute.name == "clip" and attribute.default == math.inf:
        return bool(initial == 0)  # both mean that there is no bound
    if attribute.name == "weights_format":
        return True  # OpenVINO computes in the page's order, whatever the value
    return bool(plain(attribute.default) == plain(initial))


def plain(value: Any) -> Any:
    """Return a value in the form of JSON; lists of zeros, such as masks and pads, as empty lists."""
    if isinstance(value, (ElementType, PartialShape)):
        return str(value)
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value] if any(value) else []
    return value.lower() if isinstance(value, str) else value


@pytest.mark.parametrize(
    ("type", "data", "code", "attribute", "openvino"),
    [
        ("SoftMax", "", "D011", "axis", "takes 0"),
        ("Reshape", "", "D002", "special_zero", "takes False"),
        ("Elu", "", "D002", "alpha", "uses an undefined value, or rejects most such files"),
    ],
)
def test_what_openvino_takes_instead_is_reported(
    type: str, data: str, code: str, attribute: str, openvino: str
) -> None:
    net = Net()
    inputs = [net.parameter("x", "2,3")]
    if type == "Reshape":
        inputs.append(net.parameter("s", "2", "i64"))
    net.result(net.layer(type, inputs, "2,3", data=data))
    (found,) = [d for d in irexec.validate(net.text.encode()).diagnostics if d.attribute == attribute]
    assert (found.code, found.openvino) == (code, openvino)
