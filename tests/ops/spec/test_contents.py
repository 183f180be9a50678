"""The table of contents: each type's versions as in OpenVINO's Python API, and a module for each.

tests/api/opsets/test_namespace.py tests the types of each opset.
"""

from __future__ import annotations

import importlib
import inspect
from importlib.util import find_spec
from pathlib import Path

import pytest

import irexec
from irexec.api.opsets.names import python_name
from irexec.ops.spec import contents
from irexec.ops.spec.operator import REGISTRY

pytest.importorskip("openvino")

OPSETS = range(1, contents.NEWEST + 1)
# OpenVINO's Python functions for an older operator than that of the file format's table, or for no operator.
PYTHON_DIFFERS = {"Assign", "Interpolate", "Range", "ReadValue", "ShapeOf"}


def test_openvino_has_every_complete_opset() -> None:
    absent = [n for n in OPSETS if n not in contents.BEGUN and find_spec(f"openvino.opset{n}") is None]
    assert absent == [], "BEGUN of irexec/ops/spec/contents.py lacks an opset that the installed OpenVINO does not have"


@pytest.mark.parametrize("opset", [n for n in OPSETS if n not in contents.BEGUN])
def test_the_operator_is_the_one_that_openvinos_python_api_makes(opset: int) -> None:
    module = importlib.import_module(f"openvino.opset{opset}")
    wrong, compared = {}, 0
    for type in contents.CONTENTS.keys() - PYTHON_DIFFERS:
        function = inspect.unwrap(getattr(module, python_name(type), None) or test_every_type_has_a_module)
        home = function.__module__.split(".")
        own = contents.introduced(type, opset)
        if home[:1] == ["openvino"] and home[1].startswith("opset") and own is not None:
            number = int(home[1].removeprefix("opset"))
            compared += 1
            # A function may be older or newer than its operator if only its Python signature changed.
            if number != own and number in contents.CONTENTS[type][1]:
                wrong[type] = (own, number)
    assert wrong == {}
    assert compared > 100


@pytest.mark.parametrize("type", sorted(contents.CONTENTS))
def test_every_type_has_a_module(type: str) -> None:
    name, versions = contents.CONTENTS[type]
    assert list(versions) == sorted(set(versions))
    assert set(versions) <= set(OPSETS)
    path = Path(irexec.__file__).parent / "ops" / f"{name.replace('.', '/')}.py"
    assert path.exists()
    for version in versions:
        operator = contents.load(type, version)
        assert operator is not None
        assert (operator.type, operator.opset) == (type, f"opset{version}")
        assert operator.__module__ == f"irexec.ops.{name}"


def test_every_declaration_makes_sense() -> None:
    """Declarations are read when a model first needs them: errors in them are found here."""
    list(contents.everything())
    importlib.import_module("irexec.ops.onnx")
    for operator in list(REGISTRY.values()):
        operator.read_declaration()


def test_every_registered_operator_is_in_the_table() -> None:
    list(contents.everything())
    ours = [key for key, operator in REGISTRY.items() if operator.__module__.startswith("irexec.ops.")]
    known = {(type, f"opset{n}") for type, (_, versions) in contents.CONTENTS.items() for n in versions}
    known |= {(type, "extension") for type in contents.TOKENIZERS}
    others = [key for key in ours if not key[1].startswith("onnx") and not contents.is_internal(key[1])]
    assert [key for key in others if key not in known] == []


def test_tables_are_cumulative() -> None:
    assert contents.introduced("ScatterNDUpdate", 3) is None
    assert [contents.introduced("ScatterNDUpdate", n) for n in (4, 14, 15, 16)] == [4, 4, 15, 15]
    assert contents.opsets_with("Reverse") == [1]
    assert contents.introduced("NoSuchType", 5) is None


def test_an_opset_in_the_making_has_only_what_it_began_with() -> None:
    """OpenVINO 2026.4's reader refuses every other type in opset17, Result and Const among them."""
    having = {type for type in contents.CONTENTS if contents.introduced(type, 17) is not None}
    new = {"BGRtoNV12", "ErfInv", "GroupedMatMul", "RGBtoNV12"}
    assert having == {*new, "Convert", "Parameter", "ShapeOf"}
    assert contents.introduced("ShapeOf", 17) == 3
    assert contents.find("ReLU", "opset17") is None


def test_spellings() -> None:
    assert contents.canonical_type("Relu") == "ReLU"
    assert contents.canonical_type("scatterndupdate") == "ScatterNDUpdate"
    assert contents.canonical_type("Constant") == "Const"
    assert contents.canonical_type("Scatter") is None
    assert contents.nearest_types("ScaterNDUpdate")[0] == "ScatterNDUpdate"
    assert contents.nearest_types("Rellu") == ["ReLU", "PReLU", "Selu"] or contents.nearest_types("Rellu")[0] == "ReLU"


@pytest.mark.parametrize(
    ("type", "number", "version"),
    [
        ("ScatterNDUpdate", 3, "opset4"),
        ("ScatterNDUpdate", 15, "opset15"),
        ("ScatterNDUpdate", None, "opset15"),
        ("ScatterNDUpdate", 99, "opset15"),
        ("Acosh", 3, "opset4"),
        ("NoSuchType", 1, None),
    ],
)
def test_a_pages_number_means_an_opset(type: str, number: int | None, version: str | None) -> None:
    assert contents.versioned(type, number) == version


@pytest.mark.parametrize("version", ["experimental", "extension"])
def test_the_other_version_texts_of_openvino(version: str) -> None:
    found = contents.find("GRUCell", version)
    assert found is not None
    assert found.opset == "opset3"
    assert contents.find("ReLU", version) is None
