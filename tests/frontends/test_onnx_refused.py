"""Nodes that ONNX forbids or allows in a corner: what is found is stated in ONNX's terms, what is allowed runs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import irexec
from irexec.core.diagnostics import Severity

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

Array = np.ndarray
TYPES = {
    "f": TensorProto.FLOAT,
    "i": TensorProto.INT64,
    "b": TensorProto.BOOL,
    "u": TensorProto.UINT8,
    "s": TensorProto.STRING,
}


class Case(NamedTuple):
    """A node: `inputs` are shapes with a type's letter before them, or constants; `names`: the input or attribute that
    its finding names."""

    type: str
    inputs: list[tuple[Any, ...] | Array]
    attributes: dict[str, Any] = {}  # noqa: RUF012
    names: str | None = None
    code: str = "O001"
    opset: int = 17
    outputs: int = 1
    domain: str = ""


def model(case: Case) -> bytes:
    """Return a model of the node, whose inputs are called a, b, c."""
    values, constants, names = [], [], []
    for name, given in zip("abcdefgh", case.inputs, strict=False):
        names.append(name)
        if isinstance(given, np.ndarray):
            constants.append(numpy_helper.from_array(given, name))
        else:
            values.append(helper.make_tensor_value_info(name, TYPES[given[0]], given[1:]))
    outputs = [f"y{n}" for n in range(case.outputs)]
    node = helper.make_node(case.type, names, outputs, domain=case.domain, name="node")
    node.attribute.extend(
        helper.make_attribute(name, value, attr_type=onnx.AttributeProto.INTS if value == [] else None)
        for name, value in case.attributes.items()
    )
    results = [onnx.ValueInfoProto(name=name) for name in outputs]
    graph = helper.make_graph([node], "g", values, results, constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", case.opset)], ir_version=8)
    return bytes(made.SerializeToString())


EMBEDDED = [np.array([[1, 5]]), np.zeros((1, 2), np.int64), ("f", 4, 3), ("f", 2, 3), ("f", 1, 3), ("f", 3), ("f", 3)]
FORBIDDEN = {
    "an index of Gather": Case("Gather", [("f", 2, 3), np.array([7])], {}, "indices"),
    "a negative index of Gather": Case("Gather", [("f", 2, 3), np.array(-4)], {"axis": 1}, "indices"),
    "an index of GatherElements": Case("GatherElements", [("f", 2, 3), np.array([[7]])], {}, "indices"),
    "an index of ScatterND": Case("ScatterND", [("f", 2, 3), np.array([[7]]), ("f", 1, 3)], {}, "indices"),
    "a condition": Case("Compress", [("f", 2, 3), np.array([True] * 3)], {"axis": 0}),
    "an image of a region": Case("RoiAlign", [("f", 1, 2, 5, 5), ("f", 2, 4), np.array([0, 7])], {}, "batch_indices"),
    "a length": Case("ReverseSequence", [("f", 3, 2), np.array([9, 9])], {}, "sequence_lens"),
    "K": Case("TopK", [("f", 2, 3), np.array([5])], {}, "K", outputs=2),
    "an operand": Case("Concat", [("f", 2, 3), ("f", 3, 3)], {"axis": 1}, "inputs[1]"),
    "rows": Case("MatMul", [("f", 2, 3), ("f", 2, 3)], {}, "B"),
    "a step": Case("Range", [np.array(1), np.array(5), np.array(0)], {}, "delta"),
    "lengths": Case("Split", [("f", 2, 3), np.array([4, 4])], {}, "split", outputs=2),
    "too many lengths": Case("Split", [("f", 3, 3), np.array([1, 1, 1])], {}, "split", outputs=2),
    "a target": Case("Expand", [("f", 2, 3), np.array([4, 4])], {}, "input"),
    "a longer axis": Case("Squeeze", [("f", 2, 3), np.array([0])], {}, "data"),
    "a longer axis, as an attribute": Case("Squeeze", [("f", 2, 3)], {"axes": [0]}, "data", opset=11),
    "an axis twice": Case("Unsqueeze", [("f", 2, 3), np.array([0, -4])], {}, "axes"),
    "repeats": Case("Tile", [("f", 2, 3), np.array([-1, 1])], {}, "repeats"),
    "pads of a maximum": Case("MaxPool", [("f", 1, 1, 5)], {"kernel_shape": [2], "pads": [0, 2]}, "pads"),
    "pads of a mean": Case("AveragePool", [("f", 1, 1, 5)], {"kernel_shape": [2], "pads": [2, 0]}, "pads"),
    "pads of a norm": Case("LpPool", [("f", 1, 1, 5)], {"kernel_shape": [2], "pads": [3, 3]}, "pads"),
    "a flag": Case("ReduceSum", [("f", 2, 3)], {"keepdims": 2}, "keepdims", "F004"),
    "a flag of a recurrent node": Case(
        "RNN", [("f", 5, 2, 3), ("f", 1, 4, 3), ("f", 1, 4, 4)], {"layout": -1, "hidden_size": 4}, "layout", "F004"
    ),
    "a kernel of ConvTranspose": Case(
        "ConvTranspose", [("f", 1, 2, 5), ("f", 2, 3, 3)], {"kernel_shape": [2]}, "kernel_shape", "F009"
    ),
    "more than a stride": Case(
        "ConvTranspose", [("f", 1, 2, 5), ("f", 2, 3, 3)], {"output_padding": [1]}, "output_padding", "F009"
    ),
    "pads that are computed": Case(
        "ConvTranspose", [("f", 1, 2, 5), ("f", 2, 2, 3)], {"auto_pad": "SAME_UPPER", "pads": [1, 1]}, "pads", "F004"
    ),
    "heads of four axes": Case(
        "Attention", [("f", 2, 3, 4, 8)] * 3, {"q_num_heads": 3, "kv_num_heads": 1}, "K", "O001", opset=23
    ),
    "a kernel of another rank": Case(
        "ConvInteger", [("u", 1, 1, 7, 7), ("u", 1, 1, 3), *[np.ones((), np.uint8)] * 2], {}, None, "F009"
    ),
    "axes of a sequence": Case(
        "ReverseSequence", [("f", 3, 2), np.array([1, 1])], {"time_axis": 1}, "batch_axis", "F004"
    ),
    "an axis of Resize": Case(
        "Resize", [("f", 2, 3), np.float32([]), np.float32([2])], {"axes": [2]}, "axes", "F009", opset=18
    ),
    "the modes of older samples": Case(
        "GridSample", [("f", 1, 2, 3, 4), ("f", 1, 5, 6, 2)], {"mode": "bilinear"}, "mode", "F004", opset=20
    ),
    "neither lengths nor a number": Case("Split", [("f", 4)], {}, "num_outputs", "F004", opset=18, outputs=2),
    "a pattern": Case("RegexFullMatch", [("s", 4)], {}, "pattern", "F004", opset=20),
    "two element types": Case(
        "QuantizeLinear", [("f", 4), np.ones((), np.float32), np.zeros((), np.uint8)], {"output_dtype": 3},
        "output_dtype", "F004", 21,
    ),
    "no heads": Case(
        "Attention", [("f", 1, 2, 4), ("f", 4, 12)], {}, "num_heads", "F004", domain="com.microsoft"
    ),
    "an axis behind the last": Case(
        "RMSNormalization", [("f", 2, 3), ("f", 3)], {"axis": 2}, "axis", "F009", opset=23
    ),
    "an axis behind the last, before the mean": Case(
        "LayerNormalization", [("f", 2, 3), ("f", 3)], {"axis": 2}, "axis", "F009"
    ),
    "matrices of another batch": Case("AffineGrid", [("f", 3, 2, 3), np.array([2, 1, 4, 4])], {}, "theta", opset=20),
    "matrices of a plane": Case("AffineGrid", [("f", 2, 2, 3), np.array([2, 1, 4, 4, 4])], {}, "theta", opset=20),
    "a flag of a grid": Case(
        "AffineGrid", [("f", 2, 2, 3), np.array([2, 1, 4, 4])], {"align_corners": 2}, "align_corners", "F004", opset=20
    ),
    "a flag of a window": Case("HannWindow", [np.array(8)], {"periodic": -1}, "periodic", "F004"),
    "a flag of attention": Case("Attention", [("f", 2, 3, 4, 8)] * 3, {"is_causal": 2}, "is_causal", "F004", opset=23),
    "a negative bound": Case("Attention", [("f", 2, 3, 4, 8)] * 3, {"softcap": -1.0}, "softcap", "F004", opset=23),
    "a mode of attention": Case(
        "Attention", [("f", 2, 3, 4, 8)] * 3, {"qk_matmul_output_mode": 4}, "qk_matmul_output_mode", "F004", opset=23
    ),
    "a word of a loss": Case(
        "SoftmaxCrossEntropyLoss", [("f", 2, 3), ("i", 2)], {"reduction": "max"}, "reduction", "F004"
    ),
    "an axis of a crop": Case("CenterCropPad", [("f", 2, 3), np.array([2])], {"axes": [2]}, "axes", "F009", opset=18),
    "half of a rotation": Case(
        "RotaryEmbedding", [("f", 2, 2, 3, 8), ("f", 9, 4), ("f", 9, 4), ("i", 2, 3)], {"rotary_embedding_dim": 4},
        "cos_cache", opset=23,
    ),
    "an odd rotation": Case(
        "RotaryEmbedding", [("f", 2, 2, 3, 8), ("f", 9, 4), ("f", 9, 4), ("i", 2, 3)], {"rotary_embedding_dim": 7},
        "rotary_embedding_dim", "F004", opset=23,
    ),
    "more than a head": Case(
        "RotaryEmbedding", [("f", 2, 3, 16), ("f", 9, 8), ("f", 9, 8), ("i", 2, 3)],
        {"rotary_embedding_dim": 16, "num_heads": 2}, "rotary_embedding_dim", "F004", opset=23,
    ),
    "a flag of a rotation": Case(
        "RotaryEmbedding", [("f", 2, 2, 3, 8), ("f", 2, 3, 4), ("f", 2, 3, 4)], {"interleaved": 2}, "interleaved",
        "F004", opset=23,
    ),
    "a position": Case(
        "RotaryEmbedding", [("f", 1, 2, 2, 8), ("f", 9, 4), ("f", 9, 4), np.array([[0, -1]])], {}, "position_ids",
        opset=23,
    ),
    "a word of older samples": Case(
        "Upsample", [("f", 1, 1, 2, 2), np.float32([1, 1, 2, 2])], {"mode": "bilinear"}, "mode", "F004", opset=9
    ),
    "a smaller image": Case("Upsample", [("f", 1, 1, 4, 4), np.float32([1, 1, 0.5, 2])], {}, "scales", opset=9),
    "an axis that is a list": Case("DFT", [("f", 1, 8, 1), np.array(8), np.array([1])], {}, "axis", opset=20),
    "a length that is a list": Case(
        "STFT", [("f", 1, 16, 1), np.array(4), np.ones(8, np.float32), np.array([8])], {}, "frame_length"
    ),
    "indexes of a pool": Case(
        "TfIdfVectorizer", [("i", 4)],
        {
            "mode": "TF", "min_gram_length": 1, "max_gram_length": 1, "max_skip_count": 0, "ngram_counts": [0],
            "ngram_indexes": [0], "pool_int64s": [1, 2],
        },
        "ngram_indexes",
    ),
    "a precision of integers": Case(
        "QuantizeLinear", [("f", 4), np.ones((), np.float32), np.zeros((), np.uint8)], {"precision": 2}, "precision",
        "F004", opset=23,
    ),
    "statistics of integers": Case(
        "GroupNormalization", [("f", 1, 4, 3), ("f", 4), ("f", 4)], {"num_groups": 2, "stash_type": 7}, "stash_type",
        "F004", opset=21,
    ),
    "a remainder": Case("Mod", [("f", 2, 3), ("f", 2, 3)], {"fmod": 0}, "fmod", "F004"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORBIDDEN)
def test_a_forbidden_node_is_found(name: str) -> None:
    case = FORBIDDEN[name]
    (finding,) = irexec.validate(model(case)).errors
    assert (finding.code, finding.port or finding.attribute, finding.constraint) == (case.code, case.names, None)
    assert finding.layer is not None and finding.layer.type == case.type


def test_rows_of_an_embedding() -> None:
    (finding,) = irexec.validate(model(Case("EmbedLayerNormalization", list(EMBEDDED)))).errors
    assert finding.code == "O001" and "index 5 is outside [-4, 3]" in finding.message


@pytest.mark.parametrize(
    "case", [Case("Gather", [("f", 4, 3), ("i", 1, 2)]), Case("EmbedLayerNormalization", [("i", 1, 2), *EMBEDDED[1:]])]
)
def test_an_index_that_only_a_run_knows(case: Case) -> None:
    rng = np.random.default_rng(0)
    given = {
        name: np.array([[1, 5]]) if entry[0] == "i" else rng.normal(size=entry[1:]).astype(np.float32)
        for name, entry in zip("abcdefgh", case.inputs, strict=False)
        if isinstance(entry, tuple)
    }
    with pytest.raises(irexec.IRError, match="index 5 is outside"):
        irexec.compile_model(model(case))(given)


REDUCTIONS = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")
ALLOWED = {
    **{
        f"Reduce{name}": Case(f"Reduce{name}", [("f", 2, 3)], {"axes": [], "keepdims": 0}, opset=11)
        for name in REDUCTIONS
    },
    "ReduceMax, with dimensions": Case("ReduceMax", [("f", 2, 3)], {"axes": []}, opset=16),
    "Squeeze": Case("Squeeze", [("f", 1, 3)], {"axes": []}, opset=11),
    "Transpose": Case("Transpose", [("f", 2, 3)], {"perm": []}),
    "an empty constant": Case("Constant", [], {"value_ints": []}),
    "EyeLike of booleans": Case("EyeLike", [("b", 2, 3)], {"k": 1}),
    "EyeLike, as booleans": Case("EyeLike", [("f", 3, 3)], {"dtype": TensorProto.BOOL}),
    "Upsample of booleans": Case("Upsample", [("b", 1, 1, 2, 3), np.float32([1, 1, 2, 2])], opset=9),
    "a vector with a zero point": Case("MatMulInteger", [("u", 3), ("u", 3, 4), np.array([2], np.uint8)]),
    "a vector with two zero points": Case(
        "MatMulInteger", [("u", 3), ("u", 3, 4), np.array(2, np.uint8), np.array([1, 2, 3, 4], np.uint8)]
    ),
    "a negative alpha of Celu": Case("Celu", [("f", 2, 3)], {"alpha": -1.5}),
    "a negative alpha of Swish": Case("Swish", [("f", 2, 3)], {"alpha": -1.5}, opset=24),
    "half of the spectrum of a complex signal": Case(
        "STFT", [("f", 1, 16, 2), np.array(4), np.ones(8, np.float32)], {"onesided": 1}
    ),
    "a remainder of floats": Case("Mod", [("f", 2, 3), ("f", 2, 3)], {"fmod": 1}),
    "a row from the end": Case("Gather", [("f", 2, 3), np.array([-1, 0])], {"axis": 1}),
}  # fmt: skip


@pytest.mark.parametrize("name", ALLOWED)
def test_an_allowed_node_runs(name: str) -> None:
    case = ALLOWED[name]
    data, rng = model(case), np.random.default_rng(1)
    given = {}
    for letter, entry in zip("abcdefgh", case.inputs, strict=False):
        if isinstance(entry, tuple):
            kind = helper.tensor_dtype_to_np_dtype(TYPES[entry[0]])
            low, high = (0, 2) if entry[0] == "b" else (1, 9)
            given[letter] = rng.integers(low, high, entry[1:]).astype(kind)
    (expected,) = ReferenceEvaluator(onnx.load_from_string(data)).run(None, given)
    result = irexec.compile_model(data)(given)[0]
    assert (result.shape, result.dtype) == (np.shape(expected), np.asarray(expected).dtype)
    np.testing.assert_allclose(result, expected, rtol=1e-6)


def test_booleans_are_resized_as_integers_are() -> None:
    x, rest = (
        np.array([[[[True, False, True], [False, True, True]]]]),
        [np.zeros(0, np.float32), np.float32([1, 1, 2, 1.5])],
    )
    results = [
        irexec.compile_model(model(Case("Resize", [(letter, 1, 1, 2, 3), *rest])))({"a": x.astype(kind)})[0]
        for letter, kind in (("b", bool), ("u", np.uint8))
    ]
    assert results[0].dtype == bool
    np.testing.assert_array_equal(results[0], results[1])


@pytest.mark.parametrize("type", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_a_recurrent_node_with_the_batch_first(type: str, direction: str) -> None:
    rng, gates, directions = np.random.default_rng(2), {"RNN": 1, "GRU": 3, "LSTM": 4}[type], 1 + (direction[0] == "b")
    shapes = {
        "x": (2, 5, 4), "w": (directions, gates * 3, 4), "r": (directions, gates * 3, 3), "h": (2, directions, 3)
    }  # fmt: skip
    given = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    node = helper.make_node(
        type, ["x", "w", "r", "", "", "h"], ["y", "last"], hidden_size=3, layout=1, direction=direction
    )
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    graph = helper.make_graph([node], "g", values, [onnx.ValueInfoProto(name=name) for name in ("y", "last")])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    compiled = irexec.compile_model(made.SerializeToString())(given)
    for index, expected in enumerate(ReferenceEvaluator(made).run(None, given)):
        np.testing.assert_allclose(compiled[index], expected, rtol=1e-5, atol=1e-6)


def test_a_norm_of_f64_is_computed_in_the_type_of_its_statistics() -> None:
    runtime, rng = pytest.importorskip("onnxruntime"), np.random.default_rng(3)
    results = []
    for stash in (TensorProto.FLOAT, TensorProto.DOUBLE):
        node = helper.make_node("GroupNormalization", ["x", "s", "b"], ["y"], num_groups=2, stash_type=stash)
        shapes = {"x": (3, 4, 2, 2), "s": (4,), "b": (4,)}
        values = [helper.make_tensor_value_info(name, TensorProto.DOUBLE, shape) for name, shape in shapes.items()]
        result = helper.make_tensor_value_info("y", TensorProto.DOUBLE, shapes["x"])
        made = helper.make_model(
            helper.make_graph([node], "g", values, [result]), opset_imports=[helper.make_opsetid("", 21)], ir_version=10
        ).SerializeToString()
        given = {name: rng.normal(size=shape) for name, shape in shapes.items()}
        (expected,) = runtime.InferenceSession(made).run(None, given)
        results.append(irexec.compile_model(made)(given)[0])
        tolerance = 1e-12 if stash == TensorProto.DOUBLE else 1e-6
        np.testing.assert_allclose(results[-1], expected, rtol=tolerance, atol=tolerance)
        # In f32, the normalized values are numbers of f32.
        normal = (results[-1] - given["b"][:, None, None]) / given["s"][:, None, None]
        near = np.abs(normal - normal.astype(np.float32)).max()
        assert bool(near < 1e-13) == (stash == TensorProto.FLOAT)


def test_pads_beside_auto_pad_are_ignored_with_a_warning() -> None:
    options = {"auto_pad": "SAME_UPPER", "pads": [2, 2]}
    report = irexec.validate(model(Case("Conv", [("f", 1, 2, 5), ("f", 2, 2, 3)], options)))
    (finding,) = report
    assert (finding.code, finding.attribute, finding.severity) == ("F004", "pads", Severity.WARNING)


def test_a_real_signal_without_a_last_axis() -> None:
    window, step = np.hanning(8).astype(np.float32), np.array(4)
    signal = np.random.default_rng(0).normal(size=(1, 40)).astype(np.float32)
    flat, plain = (model(Case("STFT", [("f", 1, 40, *last), step, window])) for last in ((), (1,)))
    (finding,) = irexec.validate(flat)
    assert (finding.code, finding.port, finding.severity) == ("F004", "signal", Severity.WARNING)
    expected = irexec.compile_model(plain)({"a": signal[..., None]})[0]
    np.testing.assert_array_equal(irexec.compile_model(flat)({"a": signal})[0], expected)
