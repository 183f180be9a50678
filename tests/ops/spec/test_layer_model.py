"""The pydantic model of a layer and its JSON Schema: those of the declaration, ports included."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError
from pydantic.json_schema import PydanticJsonSchemaWarning
from support.declared import OP

from irexec.core.types import F32, I64
from irexec.ops.spec.contents import load
from irexec.ops.spec.layer_model import attributes_model

SCATTER = load("ScatterNDUpdate", 15).model


def test_the_schema_knows_texts_and_limits() -> None:
    with pytest.warns(PydanticJsonSchemaWarning, match="Default value"):
        schema = attributes_model("Sample", OP.attributes, OP.__doc__).model_json_schema()
    assert schema["required"] == ["count"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["mode"]["enum"] == ["linear", "cubic"]
    assert "odd-name" in schema["properties"]
    assert "f16" in schema["properties"]["kind"]["enum"]


def test_a_layer_is_accepted_by_its_model() -> None:
    layer: Any = SCATTER.model_validate({"attributes": {"reduction": "sum"}, "inputs": ["f32", "i64", F32]})
    assert (layer.attributes.reduction, layer.inputs) == ("sum", (F32, I64, F32))


@pytest.mark.parametrize(
    ("inputs", "place", "message"),
    [
        (["f32", "i64"], ("inputs", 2), "Field required"),
        (["f32", "f32", "f32"], ("inputs", 1), "Input should be <Type: "),
        (["f32", "i64", "f32", "f32"], ("inputs",), "at most 3 items"),
        (["f32", "i64", "f16"], ("inputs",), "updates is f16, expected f32 as data is: both have type T"),
        ([None, "i64", "f32"], ("inputs", 0), "Input should be"),
    ],
)
def test_the_model_reports_attributes_and_ports_together(
    inputs: list[Any], place: tuple[object, ...], message: str
) -> None:
    with pytest.raises(ValidationError) as error:
        SCATTER.model_validate({"attributes": {"reduction": "add", "axis": "1"}, "inputs": inputs})
    found = {finding["loc"]: finding["msg"] for finding in error.value.errors()}
    assert found.keys() == {("attributes", "reduction"), ("attributes", "axis"), place}
    assert "'add' is not one of 'none'" in found["attributes", "reduction"]
    assert message in found[place]


def test_the_schema_of_ports_lists_their_types() -> None:
    ports = SCATTER.model_json_schema()["properties"]["inputs"]
    assert ports["prefixItems"][1] == {"title": "indices", "enum": ["i32", "i64"]}
    assert (ports["items"], ports["minItems"]) == (False, 3)
    ports = load("Concat", 1).model.model_json_schema()["properties"]["inputs"]
    assert (ports["items"]["title"], ports["prefixItems"]) == ("tensors", [])
    ports = load("Pad", 12).model.model_json_schema()["properties"]["inputs"]
    assert None in ports["prefixItems"][3]["enum"]
