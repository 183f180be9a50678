"""Requests: verification of every result, located failures, listeners, and forms of inputs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest
from support.nets import Net, two_inputs

import irexec
from irexec import Model, Node
from irexec.core.types import BF16, F32, I64, Array, PartialShape, TensorType
from irexec.ops.spec.operator import REGISTRY, Check, ConstraintError, Elements, Operator, operator

Float = Annotated[Array, Elements("T", {F32})]
ops: Any = irexec.opset15


@pytest.fixture(autouse=True)
def own_operators_forgotten() -> Iterator[None]:
    yield
    for key in [key for key in REGISTRY if key[1] == "lying"]:
        del REGISTRY[key]


def lying(result: Any, shape: Any = (2, 3)) -> Operator:
    """Return an operator whose shape rule states f32 of this shape, and whose kernel returns `result`."""

    @operator("Liar", "lying")
    def liar(x: Float, /) -> Float:
        return result() if callable(result) else result

    @liar.shapes
    def _(check: Check, x: TensorType) -> PartialShape:
        return PartialShape(shape)

    return liar


def model_of(op: Operator, outputs: int = 1) -> irexec.CompiledModel:
    parameter = ops.parameter([2, 3], np.float32, name="x")
    node = Node(op, [parameter.outputs[0]], name="culprit")
    node.set_outputs(op.infer([parameter.outputs[0].type], {}))
    return irexec.compile_model(Model(node.outputs[:outputs], [parameter]))


X = np.ones((2, 3), np.float32)


@pytest.mark.parametrize(
    ("result", "shape", "found"),
    [
        (np.ones((2, 3)), (2, 3), "float64[2, 3]"),
        (np.ones((3, 2), np.float32), (2, 3), "float32[3, 2]"),
        (np.ones((2, 3, 1), np.float32), (2, 3), "float32[2, 3, 1]"),
        (np.float32(1), (2, 3), "float32[]"),
        (np.ones((2, 9), np.float32), (2, "0..5"), "float32[2, 9]"),
        (np.ones((4, 3), np.float32), (2, -1), "float32[4, 3]"),
        (np.ones(2, np.float32), (2, -1), "float32[2]"),
        (np.ones((2, 3), np.int32), None, "int32[2, 3]"),
    ],
)
@pytest.mark.parametrize("watched", [False, True])
def test_a_kernel_with_an_undeclared_result_is_detected(result: Any, shape: Any, found: str, watched: bool) -> None:
    rule = [irexec.Dimension(0, 5) if d == "0..5" else d for d in shape] if shape is not None else None
    compiled = model_of(lying(result, rule))
    listeners = [Listening()] if watched else []
    with pytest.raises(irexec.IRError) as caught:
        compiled.create_infer_request(listeners).infer(X)
    (finding,) = caught.value.report
    assert (finding.code, finding.found, finding.layer and finding.layer.name) == ("O006", found, "culprit")


@pytest.mark.parametrize("shape", [(2, 3), (2, -1), None])
def test_a_kernel_that_is_right_is_not_blamed(shape: Any) -> None:
    np.testing.assert_array_equal(model_of(lying(X, shape))(X)[0], X)


def test_an_output_too_few() -> None:
    @operator("Pair", "lying")
    def pair(x: Float, /) -> tuple[Float, Float]:
        return (x,)  # type: ignore[return-value]

    @pair.shapes
    def _(check: Check, x: TensorType) -> list[PartialShape]:
        return [x.shape, x.shape]

    with pytest.raises(irexec.IRError) as caught:
        model_of(pair, 2)(X)
    assert [finding.code for finding in caught.value.report] == ["O006"]
    assert "output 1 of" in str(caught.value)


def test_the_second_output_is_verified_too() -> None:
    @operator("Pair", "lying")
    def pair(x: Float, /) -> tuple[Float, Float]:
        return x, x[:1]

    @pair.shapes
    def _(check: Check, x: TensorType) -> list[PartialShape]:
        return [x.shape, x.shape]

    with pytest.raises(irexec.IRError, match="output 1 of"):
        model_of(pair, 2)(X)


def broken() -> Any:
    raise ZeroDivisionError("why")


def constrained() -> Any:
    raise ConstraintError("C7", "no good", port="x", hint="better", found="this")


@pytest.mark.parametrize(
    ("result", "code", "message"),
    [(broken, "O007", "Liar 'culprit' failed: ZeroDivisionError: why"), (constrained, "O005", "no good")],
)
@pytest.mark.parametrize("watched", [False, True])
def test_a_failure_names_the_layer_and_its_inputs(result: Any, code: str, message: str, watched: bool) -> None:
    with pytest.raises(irexec.IRError) as caught:
        model_of(lying(result)).create_infer_request([Listening()] if watched else []).infer(X)
    (finding,) = caught.value.report
    assert (finding.code, finding.message) == (code, message)
    assert finding.layer is not None and finding.layer.name == "culprit"
    assert finding.found == ("float32[2, 3]" if code == "O007" else "this")
    assert (re.fullmatch(rf"raised at {re.escape(__file__)}:\d+", finding.hint or "") is not None) == (code == "O007")
    if code == "O005":
        assert (finding.constraint, finding.hint) == ("Liar-lying C7", "better")


def test_a_failure_is_located_in_its_file(tmp_path: Path) -> None:
    net = Net()
    data, indices, axis = net.parameter("data", "4"), net.parameter("i", "2", "i64"), net.parameter("axis", "", "i64")
    net.result(net.layer("Gather", [data, indices, axis], "2", name="pick", version="opset7", data='batch_dims="0"'))
    path = tmp_path / "m.xml"
    path.write_text(net.text)
    compiled = irexec.compile_model(path)
    good, bad = ([np.arange(4, dtype=np.float32), np.array([0, i]), np.array(0)] for i in (3, 4))
    with pytest.raises(irexec.IRError) as caught:
        compiled(bad)
    (finding,) = caught.value.report
    assert (finding.file, finding.line, finding.code) == (str(path), 6, "O005")
    np.testing.assert_array_equal(compiled(good)[0], [0, 3])


def test_a_failed_run_leaves_the_request_usable() -> None:
    compiled = irexec.compile_model(irexec.read_model(two_inputs().text.encode()))
    x, y = np.ones((2, 3), np.float32), np.ones((3, 3), np.float32)
    for _ in range(3):
        with pytest.raises(irexec.IRError):
            compiled([x, y])
        np.testing.assert_array_equal(compiled([x, x])[0], x)


class Listening:
    """Records its notifications."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.outputs: list[Array] = []

    def before(self, node: Node, inputs: Sequence[Array | None]) -> None:
        self.told.append(f"before {node.friendly_name} {[a.shape for a in inputs if a is not None]}")

    def after(self, node: Node, inputs: Sequence[Array | None], outputs: Sequence[Array], seconds: float) -> None:
        assert seconds >= 0
        self.told.append(f"after {node.friendly_name}")
        self.outputs += [array.copy() for array in outputs]


def test_listeners_are_notified_of_every_layer() -> None:
    listener = Listening()
    compiled = irexec.compile_model(irexec.read_model(two_inputs().text.encode()))
    x = np.array([[-1, 2, 3]], np.float32)
    result = compiled.create_infer_request([listener]).infer([x, x])
    assert listener.told == [
        "before positive [(1, 3)]",
        "after positive",
        "before product [(1, 3), (1, 3)]",
        "after product",
    ]
    np.testing.assert_array_equal(listener.outputs[0], [[0, 2, 3]])
    np.testing.assert_array_equal(listener.outputs[1], result[0])
    np.testing.assert_array_equal(result[0], compiled([x, x])[0])


def two() -> irexec.CompiledModel:
    return irexec.compile_model(irexec.read_model(two_inputs().text.encode()))


def test_every_way_to_hand_over_inputs() -> None:
    compiled = two()
    x, y = np.full((1, 3), 2, np.float32), np.full((1, 3), 3, np.float32)
    for inputs in (
        [x, y],
        (x, y),
        {"first": x, "y": y},
        {0: x, 1: y},
        {"x": x, "y": y},
        {compiled.input(0): x, compiled.input(1): y},
    ):
        results = compiled(inputs)
        for got in (results[0], results["out"], results[compiled.output(0)], *results.to_tuple()):
            np.testing.assert_array_equal(got, x * y)
    assert list(results) == list(compiled.outputs) and len(results) == 1
    with pytest.raises(KeyError, match="Known names: out"):
        results["nope"]


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([X], "expected 2 arrays, one for each input ('first', 'y'), got 1"),
        ({"first": X}, "no array was given for 'y'"),
        ({"first": X, "z": X}, "no input is named 'z'"),
        (
            [X, np.ones((2, 4), np.float32)],
            "the array for input 'y' has shape [2,4], which does not match the model's shape [?,3]",
        ),
        ([X, np.array([["a", "b", "c"]])], "the array for input 'y' is <U1, expected f32"),
        ([X, X.astype(complex)], "the array for input 'y' is complex128, expected f32"),
        ({7: X, "y": X}, "no input is named 7"),
        ([X, [[1, 2, 3], [4, 5]]], "the value for input 'y' is not an array"),
    ],
)
def test_inputs_that_do_not_fit(inputs: Any, message: str) -> None:
    with pytest.raises(irexec.IRError, match=re.escape(message)) as caught:
        two()(inputs)
    assert [finding.code for finding in caught.value.report] == ["O008"]


@pytest.mark.parametrize(
    ("kind", "given", "accepted"),
    [
        (F32, np.ones(2), True),
        (F32, np.ones(2, np.int64), True),
        (I64, np.ones(2, np.int32), True),
        (I64, np.ones(2, np.float32), True),
        (I64, np.float32([1, 1.5]), False),
        (BF16, np.ones(2, np.float32), True),
        (irexec.ElementType.by_name["u8"], np.array([1, 255]), True),
        (irexec.ElementType.by_name["u8"], np.array([1, 256]), False),
        (irexec.ElementType.by_name["boolean"], np.array([0, 1]), False),
    ],
)
def test_casts_of_inputs(kind: irexec.ElementType, given: Array, accepted: bool) -> None:
    parameter = ops.parameter([2], kind)
    compiled = irexec.compile_model(Model([parameter], [parameter]))
    if accepted:
        result = compiled([given])[0]
        assert result.dtype == kind.dtype
        np.testing.assert_array_equal(result.astype(np.float64), given)
    else:
        with pytest.raises(irexec.IRError, match="the array for input"):
            compiled([given])


def test_a_request_keeps_its_last_results() -> None:
    request = two().create_infer_request()
    with pytest.raises(RuntimeError, match="nothing was inferred"):
        _ = request.results
    request.infer([X, X])
    np.testing.assert_array_equal(request.get_output_tensor(0), X)
