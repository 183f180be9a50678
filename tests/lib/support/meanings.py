"""The meaning of a text for OpenVINO and for irexec: its inputs and outputs in order, and its results for some
values.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import irexec
from irexec.core.types import Array, TensorType
from support.examples import example_of
from support.graphs import candidates
from support.nets import Net, iterating, two_inputs
from support.oracle import layer_xml

SAMPLES = Path(__file__).parents[3] / "samples"
MOST_ELEMENTS = 1 << 20
"""The limit for elements of inputs: a mutant may declare any number."""
_FATAL = frozenset(
    {"AvgPool", "CTCLoss", "EmbeddingBagOffsetsSum", "IRDFT", "MaxPool", "NonZero", "PriorBox", "RDFT", "ROIPooling"}
)
"""Operators for which OpenVINO's CPU plugin terminates the process for some small models."""
_UNSETTLED = frozenset({"MulticlassNms", "NonMaxSuppression", "Proposal", "SliceScatter"})
"""Operators whose results in OpenVINO contain uninitialized memory."""


class Origin(NamedTuple):
    """A model from which mutants are made; `given` are values for its inputs that are valid as indices."""

    name: str
    text: str
    weights: bytes = b""
    given: tuple[Array, ...] = ()


class Port(NamedTuple):
    """An input or output of a model."""

    names: tuple[str, ...]
    kind: str
    shape: str


class Meaning(NamedTuple):
    """The interpretation of a text by a runtime. `results` of two consecutive inferences; None: the model does
    not run.
    """

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    results: tuple[Array, ...] | None

    def difference(self, other: Meaning | None) -> str | None:
        """Return the difference from another interpretation; None if there is none. A model that did not run may run
        now.
        """
        if other is None:
            return "it is refused"
        if self.inputs != other.inputs:
            return f"inputs {_told(self.inputs)} become {_told(other.inputs)}"
        if self.outputs != other.outputs:
            return f"outputs {_told(self.outputs)} become {_told(other.outputs)}"
        if self.results is None:
            return None
        if other.results is None:
            return "it no longer runs"
        return None if alike(self.results, other.results) else "the results are other ones"


def _told(ports: Sequence[Port]) -> str:
    return " ".join(f"{'|'.join(port.names)}:{port.kind}{port.shape}" for port in ports) or "none"


def alike(one: Sequence[Array], two: Sequence[Array], tolerance: float = 1e-6) -> bool:
    """Return True if the results are the same, within a few units in the last place of f32."""
    return len(one) == len(two) and all(_alike(x, y, tolerance) for x, y in zip(one, two, strict=True))


def _alike(x: Array, y: Array, tolerance: float) -> bool:
    if x.shape != y.shape or x.dtype != y.dtype:
        return False
    if x.tobytes() == y.tobytes():
        return True
    if x.dtype.kind not in "fV":
        return False
    with np.errstate(all="ignore"):
        return bool(np.allclose(x.astype(np.float64), y.astype(np.float64), tolerance, tolerance, equal_nan=True))


@cache
def _core() -> Any:
    import openvino

    core = openvino.Core()
    # Several threads: with a single thread OpenVINO returns empty or old results if a layer of a dynamic model fails.
    core.set_property("CPU", {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 2, "NUM_STREAMS": 1})
    return core


def _shapes(compiled: Any) -> list[list[int]]:
    """Return static shapes that the inputs of a compiled model, OpenVINO's or irexec's, accept."""
    return [
        [_extent(extent.min_length, extent.max_length) for extent in port.partial_shape] for port in compiled.inputs
    ]


def by_openvino(text: bytes, origin: Origin) -> Meaning | None:
    """Return the interpretation of OpenVINO's CPU plugin; None if it rejects the text."""
    import openvino

    try:
        model = _core().read_model(text, _weights(openvino, origin.weights))
        compiled = _core().compile_model(model, "CPU")
        inputs, outputs = _ports(compiled.inputs), _ports(compiled.outputs)
    except Exception:  # OpenVINO rejects texts with exceptions of any class.
        return None

    def results() -> Iterator[Array]:
        request = compiled.create_infer_request()
        for number in range(2):
            dtypes = [port.element_type.to_dtype() for port in compiled.inputs]
            request.infer(_given(_shapes(compiled), dtypes, origin, number))
            for index in range(len(compiled.outputs)):
                tensor = request.get_output_tensor(index)
                yield np.array(tensor.str_data if tensor.element_type.to_string() == "string" else tensor.data)

    return Meaning(inputs, outputs, _run(results))


def _weights(openvino: Any, weights: bytes) -> Any:
    return openvino.Tensor(np.frombuffer(weights, np.uint8)) if weights else b""


def by_irexec(text: bytes, origin: Origin) -> Meaning | None:
    """Return irexec's interpretation in openvino mode; None if it rejects the text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compiled = irexec.compile_model(irexec.read_model(text, origin.weights))
        except irexec.IRError:
            return None

        def results() -> Iterator[Array]:
            request = compiled.create_infer_request()
            for number in range(2):
                dtypes = [port.element_type.dtype for port in compiled.inputs]
                given = request.infer(_given(_shapes(compiled), dtypes, origin, number))
                yield from (np.array(value) for value in given.to_tuple())

        return Meaning(_ports(compiled.inputs), _ports(compiled.outputs), _run(results))


def _ports(ports: Sequence[Any]) -> tuple[Port, ...]:
    return tuple(Port(tuple(sorted(p.names)), p.element_type.get_type_name(), str(p.partial_shape)) for p in ports)


def _run(results: Callable[[], Iterator[Array]]) -> tuple[Array, ...] | None:
    with contextlib.suppress(Exception), np.errstate(all="ignore"):
        return tuple(results())
    return None


def _extent(low: int, high: int) -> int:
    """Return the extent used for a range."""
    return low if low == high else min(max(low, 2), high) if high >= 0 else max(low, 2)


def _given(shapes: list[list[int]], dtypes: list[Any], origin: Origin, number: int) -> list[Array]:
    """Return values for inputs: those of the original that fit, otherwise small integers and halves. Raises
    ValueError.
    """
    rng = np.random.default_rng(number)
    found = []
    for index, (shape, dtype) in enumerate(zip(shapes, dtypes, strict=True)):
        if np.prod(shape, dtype=float) > MOST_ELEMENTS:
            raise ValueError("too many elements")
        own = origin.given[index] if index < len(origin.given) else None
        if own is not None and list(own.shape) == shape and own.dtype == dtype:
            found.append(own)
        elif np.dtype(dtype).kind == "f":
            found.append((rng.integers(-8, 9, shape) / 2).astype(dtype))
        else:
            found.append(rng.integers(0, 2, shape).astype(dtype))
    return found


# Models


@cache
def origins() -> list[Origin]:
    """Return small models of every kind: with order, state and bodies, and one of each operator."""
    return [
        Origin("two inputs", two_inputs().text),
        Origin("iterating", iterating().text),
        Origin("differences", _differences().text),
        Origin("dynamic", _dynamic().text),
        Origin("weighted", *_weighted()),
        Origin("stateful", *_stateful()),
        Origin("branching", *_branching()),
        Origin("looping", *_looping()),
        Origin("splitting", *_splitting()),
    ]


@cache
def of_operators() -> list[Origin]:
    """Return a model of each operator; every second one with constants for all inputs but the first."""
    found = []
    for number, operator in enumerate(op for op in candidates() if op.type not in _FATAL | _UNSETTLED):
        example = example_of(operator)
        assert example is not None
        fixed = range(1, len(example.arrays)) if number % 2 else range(0)
        attributes = {
            a.file_name: example.attributes[a.name] for a in operator.attributes if a.name in example.attributes
        }
        try:
            inferred = operator.infer([TensorType.of(a) for a in example.arrays], example.attributes)
            text = layer_xml(operator, example.arrays, attributes, inferred, fixed)
        except Exception:  # There is no text for such an attribute.
            continue
        weights = b"".join(np.ascontiguousarray(example.arrays[i]).tobytes() for i in fixed)
        given = tuple(array for i, array in enumerate(example.arrays) if i not in fixed)
        found.append(Origin(str(operator), text.replace("><", ">\n<"), weights, given))
    return found


@cache
def samples() -> list[Origin]:
    """Return the two samples that are complete networks."""
    paths = [SAMPLES / name / "model.xml" for name in ("classifier", "transformer")]
    return [Origin(path.parent.name, path.read_text("utf-8"), path.with_suffix(".bin").read_bytes()) for path in paths]


def below(folder: Path, most: int = 60_000) -> list[Origin]:
    """Return the models below a folder that have at most `most` characters."""
    paths = [path for path in sorted(folder.rglob("*.xml")) if path.stat().st_size < most]
    return [
        Origin(str(path), path.read_text("utf-8"), w.read_bytes() if (w := path.with_suffix(".bin")).exists() else b"")
        for path in paths
    ]


def _differences() -> Net:
    """Return (a - b), and (c - a) twice under other names: no two parts may be exchanged."""
    net = Net("differences")
    a, b, c = (net.parameter(name, "1,2", tensor=name) for name in "abc")
    first = net.layer("Subtract", [a, b], "1,2", name="first", data='auto_broadcast="numpy"', tensor="d")
    second = net.layer("Subtract", [c, a], "1,2", name="second", tensor="e")
    for source, name in ((first, "y"), (second, "z"), (second, "again")):
        net.result(source, name)
    return net


def _dynamic() -> Net:
    net = Net("dynamic")
    x = net.parameter("x", "-1,3,-1", tensor="x")
    soft = net.layer("SoftMax", [x], "-1,3,-1", version="opset8", data='axis="1"', tensor="soft")
    clamp = net.layer("Clamp", [soft], "-1,3,-1", data='min="0.1" max="0.5"')
    net.result(net.layer("ShapeOf", [clamp], "3", kind="i64", version="opset3", data='output_type="i64"'), "shape")
    net.result(net.layer("Elu", [clamp], "-1,3,-1", data='alpha="0.5"'), "y")
    return net


def _const(net: Net, array: Array, weights: bytearray, kind: str = "f32") -> int:
    shape = ",".join(map(str, array.shape))
    places = f'offset="{len(weights)}" size="{array.nbytes}"'
    weights += array.tobytes()
    return net.layer("Const", [], shape, kind=kind, data=f'element_type="{kind}" shape="{shape}" {places}')


def _weighted() -> tuple[str, bytes]:
    net, weights, rng = Net("weighted"), bytearray(), np.random.default_rng(1)
    x = net.parameter("image", "1,2,5,5", tensor="image")
    kernel = _const(net, rng.random((3, 2, 3, 3), np.float32), weights)
    spread = 'strides="1,1" pads_begin="1,1" pads_end="1,1" dilations="1,1" auto_pad="explicit"'
    conv = net.layer("Convolution", [x, kernel], "1,3,5,5", name="conv", data=spread)
    bias = _const(net, rng.random((1, 3, 1, 1), np.float32), weights)
    add = net.layer("Add", [conv, bias], "1,3,5,5", name="add", data='auto_broadcast="numpy"')
    pool = 'strides="2,2" pads_begin="0,0" pads_end="0,0" kernel="2,2" rounding_type="floor" auto_pad="valid"'
    pooled = net.layer("MaxPool", [net.layer("ReLU", [add], "1,3,5,5")], "1,3,2,2", data=pool)
    flat = _const(net, np.array([1, 12]), weights, "i64")
    flat = net.layer("Reshape", [pooled, flat], "1,12", data='special_zero="false"')
    matrix = _const(net, rng.random((4, 12), np.float32), weights)
    out = net.layer("MatMul", [flat, matrix], "1,4", data='transpose_a="false" transpose_b="true"', tensor="scores")
    net.result(out, "result")
    return net.text, bytes(weights)


def _stateful() -> tuple[str, bytes]:
    """Return a sum that continues from one inference to the next."""
    net, weights = Net("stateful"), bytearray()
    x = net.parameter("x", "1,2", tensor="x")
    start = _const(net, np.float32([[1, 2]]), weights)
    variable = 'variable_id="total"'
    read = f'{variable} variable_type="f32" variable_shape="1,2"'
    total = net.layer("ReadValue", [start], "1,2", version="opset6", data=read)
    added = net.layer("Add", [total, x], "1,2", name="sum", data='auto_broadcast="numpy"', tensor="sum")
    net.layer("Assign", [added], "1,2", version="opset6", data=variable, name="keep")
    net.result(net.layer("Negative", [added], "1,2"), "y")
    return net.text, bytes(weights)


def _branching() -> tuple[str, bytes]:
    bodies = []
    for type in ("Subtract", "Divide"):
        body = Net()
        a, b = body.parameter("a", "1,2"), body.parameter("b", "1,2")
        body.result(body.layer(type, [a, b], "1,2", data='auto_broadcast="numpy"'), "r")
        bodies.append(body.inside)
    maps = (
        '<input external_port_id="1" internal_layer_id="0"/><input external_port_id="2" internal_layer_id="1"/>'
        '<output external_port_id="0" internal_layer_id="3"/>'
    )
    more = (
        f"<then_port_map>{maps}</then_port_map><else_port_map>{maps}</else_port_map>"
        f"<then_body>{bodies[0]}</then_body><else_body>{bodies[1]}</else_body>"
    )
    net = Net("branching")
    condition = net.parameter("condition", "", "boolean", tensor="condition")
    a, b = net.parameter("a", "1,2", tensor="a"), net.parameter("b", "1,2", tensor="b")
    net.result(net.layer("If", [condition, a, b], "1,2", version="opset8", more=more, tensor="chosen"), "y")
    return net.text, b""


def _looping() -> tuple[str, bytes]:
    """Return x doubled minus a step, three times."""
    weights = bytearray()
    body = Net()
    x, step = body.parameter("x", "1,2"), body.parameter("step", "1,2")
    made = body.layer("Subtract", [body.layer("Add", [x, x], "1,2"), step], "1,2")
    value = body.result(made, "next")
    goes_on = body.result(_const(body, np.array(True), weights, "boolean"), "goes on")
    maps = (
        '<port_map><input external_port_id="2" internal_layer_id="0"/>'
        '<input external_port_id="3" internal_layer_id="1"/>'
        f'<output external_port_id="-1" internal_layer_id="{goes_on}" purpose="execution_condition"/>'
        f'<output external_port_id="4" internal_layer_id="{value}"/></port_map>'
        f'<back_edges><edge from-layer="{value}" to-layer="0"/></back_edges>'
    )
    net = Net("looping")
    trips = _const(net, np.array(3), weights, "i64")
    condition = _const(net, np.array(True), weights, "boolean")
    x, step = net.parameter("x", "1,2", tensor="x"), net.parameter("step", "1,2", tensor="step")
    inside = f"{maps}<body>{body.inside}</body>"
    net.result(net.layer("Loop", [trips, condition, x, step], "1,2", version="opset5", more=inside), "y")
    return net.text, bytes(weights)


def _splitting() -> tuple[str, bytes]:
    """Return a layer with two outputs, the first of which is used twice."""
    net, weights = Net("splitting"), bytearray()
    x = net.parameter("x", "2,4", tensor="x")
    axis = _const(net, np.array(1), weights, "i64")
    split = net.layer("Split", [x, axis], "2,2", name="split", data='num_splits="2"')
    second = '<port id="3" precision="FP32" names="right"><dim>2</dim><dim>2</dim></port>'
    net.layers[split] = net.layers[split].replace("</output>", f"{second}</output>")
    left = net.layer("Subtract", [split, split], "2,2", name="apart")
    net.edges[-1] = net.edges[-1].replace('from-port="2"', 'from-port="3"')
    joined = net.layer("Concat", [left, split], "2,4", data='axis="1"', tensor="joined")
    net.result(joined, "y")
    return net.text, bytes(weights)
