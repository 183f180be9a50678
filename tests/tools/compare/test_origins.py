"""Origins of a value: exact for movement, with the updates that were overwritten; terms of sums; effects otherwise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.cases import the

import irexec
from irexec import opset15 as ops
from irexec.cli.main import main
from irexec.core.diagnostics import WrongArgument
from irexec.model.arrays.given import Given
from irexec.tools.compare.origins import Layer, Origins, origins, origins_of
from irexec.tools.run.run import run_model

NDARRAY = np.ndarray[Any, Any]


def _range(*shape: int, dtype: Any = np.float32) -> NDARRAY:
    return np.arange(1, 1 + np.prod(shape)).astype(dtype).reshape(shape)


def _found(type: str, version: int, place: tuple[int, ...], *inputs: Any, **written: str) -> tuple[str, list[Any]]:
    operator = the(type, version)
    attributes, _ = operator.parse_attributes(written)
    arrays = [np.asarray(array) for array in inputs]
    found = origins("y", place, Layer(type, operator, attributes, arrays, [*map(str, range(len(arrays)))]))
    return found.kind, [(int(s.input), s.place, round(s.effect, 4), s.overwritten) for s in found.sources]


@pytest.mark.parametrize(
    ("type", "version", "place", "inputs", "attributes", "source"),
    [
        ("Transpose", 1, (3, 2), [_range(3, 4), [1, 0]], {}, (0, (2, 3))),
        ("Transpose", 1, (3, 2), [_range(3, 4, dtype=np.int8), [1, 0]], {}, (0, (2, 3))),
        ("Gather", 8, (0, 3), [_range(3, 4, dtype=np.int32), [2, 0], 0], {}, (0, (2, 3))),
        ("Concat", 1, (1, 4), [_range(2, 3), _range(2, 3)], {"axis": "1"}, (1, (1, 1))),
        ("Slice", 8, (0,), [_range(5), [4], [0], [-2]], {}, (0, (4,))),
        ("Reshape", 1, (5,), [_range(2, 3), [-1]], {"special_zero": "false"}, (0, (1, 2))),
        ("ScatterUpdate", 3, (1,), [_range(4), [1, 1, 0], _range(3), 0], {}, (2, (1,))),
    ],
)
def test_a_moved_value(
    type: str, version: int, place: tuple[int, ...], inputs: list[Any], attributes: dict[str, str], source: Any
) -> None:
    kind, found = _found(type, version, place, *inputs, **attributes)
    assert kind == "moved"
    assert [(number, where) for number, where, _, _ in found] == [source]


@pytest.mark.parametrize(
    ("type", "version", "place", "inputs", "attributes"),
    [
        ("ScatterElementsUpdate", 12, (3,), [_range(4), [3, 0, 3], _range(3), 0], {}),
        ("ScatterNDUpdate", 15, (3,), [_range(4), [[3], [0], [3]], _range(3)], {}),
    ],
)
def test_updates_of_one_place_in_their_order(
    type: str, version: int, place: tuple[int, ...], inputs: list[Any], attributes: dict[str, str]
) -> None:
    kind, found = _found(type, version, place, *inputs, **attributes, reduction="none")
    assert kind == "moved"
    assert [(number, where, lost) for number, where, _, lost in found] == [
        (0, (3,), True),
        (2, (0,), True),
        (2, (2,), False),
    ]


@pytest.mark.parametrize(
    ("type", "version", "place", "inputs", "attributes", "kind", "largest"),
    [
        ("ReduceSum", 1, (2,), [_range(3, 4), [1]], {}, "a sum of 4 terms", 12),
        ("Add", 1, (1, 2), [_range(2, 3, dtype=np.int32), _range(3, dtype=np.int32)], {}, "a sum of 2 terms", 6),
        ("MatMul", 1, (1, 2), [_range(2, 3), _range(3, 4)], {}, "a sum of 3 products", 66),
        (
            "Convolution",
            1,
            (0, 0, 1),
            [_range(1, 1, 4), _range(1, 1, 2)],
            {"strides": "1", "dilations": "1", "pads_begin": "0", "pads_end": "0"},
            "a sum of 2 products",
            6,
        ),
        ("SoftMax", 8, (0, 1), [_range(1, 3)], {"axis": "1"}, "computed from 3 values", 0.2027),
    ],
)
def test_terms_and_effects(
    type: str,
    version: int,
    place: tuple[int, ...],
    inputs: list[Any],
    attributes: dict[str, str],
    kind: str,
    largest: float,
) -> None:
    found, sources = _found(type, version, place, *inputs, **attributes)
    assert found == kind
    assert max(effect for _, _, effect, _ in sources) == pytest.approx(largest, abs=1e-3)


def test_a_large_product_is_not_searched_without_end() -> None:
    found = origins("y", (1, 2), Layer("", the("MatMul", 1), {}, [_range(8, 9000), _range(9000, 8)], ["", ""]))
    assert not found.is_complete and found.kind.endswith("or more")


def test_a_value_of_a_model() -> None:
    x = ops.parameter([2, 3], np.float32, name="x")
    product = ops.matmul(x, np.ones((3, 4), np.float32), False, False, name="product")
    model = irexec.Model([ops.result(ops.transpose(product, np.int64([1, 0]), name="turned"), name="y")], [x], "m")

    run = run_model(model, Given())

    def explained(text: str) -> Origins:
        return origins_of(run, text)

    found = explained("turned[3,1]")
    assert (found.kind, found.sources[0].place, found.sources[0].input) == ("moved", (1, 3), "product")
    assert explained("product[1,3]").kind == "a sum of 3 products"
    for wrong, message in (
        ("turned[4,1]", "no element"),
        ("turn[1,1]", "turned"),
        ("turned[a]", "form"),
        ("x[0,0]", "no layer computes"),
    ):
        with pytest.raises(WrongArgument, match=message):
            explained(wrong)


SNIPPET = """<layer type="ScatterElementsUpdate" version="opset12"><data reduction="none"/><input>
<port id="0" precision="I32"><dim>4</dim></port><port id="1" precision="I64"><dim>3</dim></port>
<port id="2" precision="I32"><dim>3</dim></port><port id="3" precision="I64"/></input>
<output><port id="4" precision="I32"><dim>4</dim></port></output></layer>"""


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "scatter.xml"
    file.write_text(SNIPPET)
    given = ["--input", "indices=[3, 0, 3]", "--input", "axis=0", "--input", "updates=[5, 6, 7]"]
    assert main(["run", str(file), *given, "--explain-value", "output[3]"]) == 0
    text = capsys.readouterr().out
    assert "output[3] = 7\n  moved, by ScatterElementsUpdate-12" in text
    assert "updates[0]  5" in text and "overwritten" in text
    assert main(["run", str(file), *given, "--explain-value", "output[3]", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["explain_value"]
    assert [(s["port"], s["place"], s["overwritten"]) for s in found["sources"]][1:] == [
        ("updates", [0], True),
        ("updates", [2], False),
    ]
    assert main(["run", str(file), *given, "--explain-value", "output[4]"]) == 2
    assert "has the shape [4] and no element [4]" in capsys.readouterr().out
