"""Networks in low precision compared with OpenVINO's CPU plugin, in one process and on one thread.

    python benchmarks/low_precision.py [NAME ...] [--runs 15] [--explain]

The networks are built in this file: convolutional networks with int8 weights, whose activations and weights pass
through FakeQuantize as NNCF inserts it; products of integers; networks in bf16; a network with a PReLU of each channel
as in MediaPipe. Operators of ONNX are compared with ONNX Runtime, whose time is in the column of OpenVINO. Both
runtimes take turns. Prints the least processor time of each, the ratio (below 1, irexec is faster) and the largest
difference relative to the largest result. OpenVINO runs with the f32 hint, and for networks in bf16 with the bf16 hint.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

# Both sides use one thread. NumPy's BLAS reads its setting when it is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import ml_dtypes
import numpy as np

import irexec
from irexec.core.threads.parallel import set_num_threads

ops: Any = irexec.opset15
F32, BF16 = irexec.Type.f32, irexec.Type.bf16


class Network:
    """A network under construction: layers with random weights."""

    def __init__(self, is_quantized: bool = True, dtype: Any = F32, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.is_quantized, self.dtype = is_quantized, dtype

    def constant(self, array: Any) -> Any:
        node = ops.constant(np.asarray(array, np.float32))
        return node if self.dtype == F32 else ops.constant(np.asarray(array, np.float32), self.dtype)

    def quantized(self, x: Any, low: float = 0.0, high: float = 4.0) -> Any:
        """Return a FakeQuantize with one range: unsigned from 0, or signed with 128 levels below 0."""
        if not self.is_quantized:
            return x
        limits = [ops.constant(np.full((1,) * len(x.shape), limit, np.float32)) for limit in (low, high)]
        return ops.fake_quantize(x, *limits, *limits, levels=256)

    def signed(self, x: Any, most: float = 4.0) -> Any:
        return self.quantized(x, -most, most * 127 / 128)

    def weights(self, shape: tuple[int, ...]) -> Any:
        """Return weights; quantized weights are i8 with a scale for each output channel."""
        inner = 3 if len(shape) > 2 else 1
        spread = (2.0 / np.prod(shape[-inner:])) ** 0.5
        if not self.is_quantized:
            return self.constant(self.rng.standard_normal(shape) * spread)
        whole = self.rng.integers(-127, 128, shape).astype(np.int8)
        scales = self.rng.uniform(0.7, 1.3, (*shape[:-inner], *[1] * inner)).astype(np.float32) * np.float32(
            spread / 73
        )
        return ops.multiply(ops.convert(ops.constant(whole), "f32"), ops.constant(scales))

    def convolution(self, x: Any, channels: int, outputs: int, size: int, stride: int = 1) -> Any:
        pads = [size // 2] * 2
        kernel = self.weights((outputs, channels, size, size))
        found = ops.convolution(x, kernel, [stride] * 2, pads, pads, [1, 1])
        return ops.add(found, self.constant(self.rng.standard_normal((1, outputs, 1, 1)) * 0.1))

    def depthwise(self, x: Any, channels: int, size: int, stride: int = 1) -> Any:
        pads = [size // 2] * 2
        kernel = self.weights((channels, 1, 1, size, size))
        found = ops.group_convolution(x, kernel, [stride] * 2, pads, pads, [1, 1])
        return ops.add(found, self.constant(self.rng.standard_normal((1, channels, 1, 1)) * 0.1))

    def classified(self, x: Any, channels: int, classes: int = 1000) -> Any:
        """Return a global mean followed by a matrix product."""
        x = self.quantized(ops.reduce_mean(x, np.array([2, 3]), keep_dims=True))
        return self.convolution(x, channels, classes, 1)


def resnet(network: Network, size: int = 224) -> irexec.Model:
    """Return a network with the blocks of ResNet-18."""
    given = ops.parameter([1, 3, size, size], network.dtype, name="image")
    x = network.quantized(ops.relu(network.convolution(network.signed(given), 3, 64, 7, 2)))
    x = ops.max_pool(x, [2, 2], [1, 1], [1, 1], [1, 1], [3, 3])
    x, channels = x.output(0), 64
    for outputs in (64, 64, 128, 128, 256, 256, 512, 512):
        stride = 1 if outputs == channels else 2
        y = network.quantized(ops.relu(network.convolution(x, channels, outputs, 3, stride)))
        y = network.signed(network.convolution(y, outputs, outputs, 3))
        if stride > 1:
            x = network.signed(network.convolution(x, channels, outputs, 1, stride))
        x, channels = network.quantized(ops.relu(ops.add(y, x))), outputs
    return irexec.Model([network.classified(x, channels)], [given])


def mobilenet(network: Network, size: int = 224) -> irexec.Model:
    """Return a network with the blocks of MobileNetV2."""
    given = ops.parameter([1, 3, size, size], network.dtype, name="image")

    def bounded(x: Any) -> Any:
        return network.quantized(ops.clamp(x, 0.0, 6.0))

    x, channels = bounded(network.convolution(network.signed(given), 3, 32, 3, 2)), 32
    for expansion, outputs, count, first in (
        (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
    ):  # fmt: skip
        for number in range(count):
            stride, y, wide = first if number == 0 else 1, x, channels * expansion
            if expansion > 1:
                y = bounded(network.convolution(y, channels, wide, 1))
            y = bounded(network.depthwise(y, wide, 3, stride))
            y = network.signed(network.convolution(y, wide, outputs, 1))
            x = network.signed(ops.add(x, y)) if stride == 1 and channels == outputs else y
            channels = outputs
    x = bounded(network.convolution(x, channels, 1280, 1))
    return irexec.Model([network.classified(x, 1280)], [given])


def with_slopes(network: Network, size: int = 128) -> irexec.Model:
    """Return a network with the blocks of MediaPipe's face mesh: depthwise and pointwise convolutions, PReLU by
    channel.
    """
    given = ops.parameter([1, 3, size, size], network.dtype, name="image")

    def sloped(x: Any, channels: int) -> Any:
        return ops.prelu(x, network.constant(network.rng.uniform(-0.3, 0.3, channels)))

    x, channels = sloped(network.convolution(given, 3, 16, 3, 2), 16), 16
    for outputs in (16, 16, 32, 32, 32, 64, 64, 64, 128, 128, 128, 128):
        stride = 1 if outputs == channels else 2
        y = network.convolution(network.depthwise(x, channels, 3, stride), channels, outputs, 1)
        if stride > 1:
            x = ops.max_pool(x, [2, 2], [1, 1], [0, 0], [0, 0], [2, 2]).output(0)
            x = ops.pad(x, np.array([0] * 4), np.array([0, outputs - channels, 0, 0]), "constant")
        x, channels = sloped(ops.add(y, x), outputs), outputs
    return irexec.Model([network.classified(x, channels, 136)], [given])


def transformer(network: Network, tokens: int = 128, width: int = 512, heads: int = 8, blocks: int = 4) -> irexec.Model:
    """Return blocks of a transformer's encoder."""
    given = ops.parameter([1, tokens, width], network.dtype, name="tokens")

    def matrix(x: Any, rows: int, columns: int) -> Any:
        found = ops.matmul(network.signed(x), network.weights((columns, rows)), transpose_a=False, transpose_b=True)
        return ops.add(found, network.constant(network.rng.standard_normal((1, 1, columns)) * 0.1))

    def normal(x: Any) -> Any:
        x = ops.mvn(x, np.array([2]), True, 1e-5, "inside_sqrt")
        x = ops.multiply(x, network.constant(network.rng.uniform(0.5, 1.5, (1, 1, width))))
        return ops.add(x, network.constant(network.rng.standard_normal((1, 1, width)) * 0.1))

    def split(x: Any) -> Any:
        x = ops.reshape(x, np.array([1, tokens, heads, width // heads]), False)
        return ops.transpose(x, np.array([0, 2, 1, 3]))

    x = given
    for _ in range(blocks):
        y = normal(x)
        q, k, v = (split(matrix(y, width, width)) for _ in range(3))
        scores = ops.multiply(ops.matmul(q, k, False, True), network.constant([(width // heads) ** -0.5]))
        y = ops.matmul(ops.softmax(scores, -1), v, False, False)
        y = ops.reshape(ops.transpose(y, np.array([0, 2, 1, 3])), np.array([1, tokens, width]), False)
        x = ops.add(x, matrix(y, width, width))
        x = ops.add(x, matrix(ops.gelu(matrix(normal(x), width, 4 * width), "erf"), 4 * width, width))
    return irexec.Model([x], [given])


def product_of(left: Any, right: Any, shape: tuple[int, int, int], constant: bool = False) -> irexec.Model:
    """Return a MatMul of integers, [M, K] times [K, N]."""
    m, k, n = shape
    a = ops.parameter([m, k], left, name="a")
    whole = np.random.default_rng(0).integers(0, 100, (k, n)).astype(right)
    b = ops.constant(whole) if constant else ops.parameter([k, n], right, name="b")
    return irexec.Model([ops.matmul(a, b, False, False)], [a] if constant else [a, b])


def of_onnx(nodes: list[Any], inputs: dict[str, tuple[Any, list[int]]], constants: dict[str, Any], result: Any) -> Any:
    """Return an ONNX model of some nodes, whose result is `y`."""
    from onnx import helper, numpy_helper

    kinds = {name: helper.np_dtype_to_tensor_dtype(np.dtype(dtype)) for name, (dtype, _) in inputs.items()}
    given = [helper.make_tensor_value_info(name, kinds[name], shape) for name, (_, shape) in inputs.items()]
    made = helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(np.dtype(result)), None)
    stored = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "graph", given, [made], stored)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def node(type: str, inputs: list[str], outputs: Sequence[str] = ("y",), **attributes: Any) -> Any:
    from onnx import helper

    return helper.make_node(type, inputs, outputs, **attributes)


def weights(*shape: int) -> Any:
    return np.random.default_rng(0).integers(-127, 128, shape).astype(np.int8)


def matmul_integer(m: int, k: int, n: int) -> Any:
    """Return a MatMulInteger with a constant matrix."""
    constants = {"b": weights(k, n), "a_zero": np.uint8(120)}
    return of_onnx([node("MatMulInteger", ["a", *constants])], {"a": (np.uint8, [m, k])}, constants, np.int32)


def qlinear_matmul(m: int, k: int, n: int) -> Any:
    """Return a QLinearMatMul with a constant matrix."""
    constants = {
        "as": np.float32(0.02), "az": np.uint8(120), "b": weights(k, n), "bs": np.float32(0.01), "bz": np.int8(0),
        "ys": np.float32(0.5), "yz": np.uint8(128),
    }  # fmt: skip
    return of_onnx([node("QLinearMatMul", ["a", *constants])], {"a": (np.uint8, [m, k])}, constants, np.uint8)


def conv_integer(channels: int, size: int) -> Any:
    """Return a ConvInteger with a kernel of 3 x 3."""
    constants = {"w": weights(channels, channels, 3, 3), "xz": np.uint8(120)}
    convolution = node("ConvInteger", ["x", *constants], pads=[1] * 4, kernel_shape=[3, 3])
    return of_onnx([convolution], {"x": (np.uint8, [1, channels, size, size])}, constants, np.int32)


def quantized_dynamically(m: int, k: int, n: int = 0) -> Any:
    """Return a DynamicQuantizeLinear; with `n`, followed by a product with a constant matrix, a scale and a bias."""
    nodes = [node("DynamicQuantizeLinear", ["x"], ["q" if n else "y", "s", "z"])]
    constants: dict[str, Any] = {}
    if n:
        bias = np.random.default_rng(0).standard_normal(n).astype(np.float32)
        constants = {"w": weights(k, n), "wz": np.int8(0), "ws": np.float32(0.01), "b": bias}
        nodes += [
            node("MatMulInteger", ["q", "w", "z", "wz"], ["sums"]),
            node("Cast", ["sums"], ["real"], to=1),
            node("Mul", ["s", "ws"], ["scale"]),
            node("Mul", ["real", "scale"], ["scaled"]),
            node("Add", ["scaled", "b"]),
        ]
    return of_onnx(nodes, {"x": (np.float32, [m, k])}, constants, np.float32 if n else np.uint8)


def qlinear_conv(channels: int, size: int) -> Any:
    """Return a QLinearConv with a kernel of 3 x 3."""
    rng = np.random.default_rng(0)
    constants = {
        "xs": np.float32(0.02), "xz": np.uint8(120), "w": weights(channels, channels, 3, 3),
        "ws": rng.uniform(0.001, 0.002, channels).astype(np.float32), "wz": np.zeros(channels, np.int8),
        "ys": np.float32(0.05), "yz": np.uint8(128), "b": rng.integers(-999, 999, channels).astype(np.int32),
    }  # fmt: skip
    convolution = node("QLinearConv", ["x", *constants], pads=[1] * 4, kernel_shape=[3, 3])
    return of_onnx([convolution], {"x": (np.uint8, [1, channels, size, size])}, constants, np.uint8)


def quantized_lstm(time_steps: int, width: int, hidden: int) -> Any:
    """Return a DynamicQuantizeLSTM of one direction."""
    names = ["x", "w", "r", "b", "", "", "", "", "ws", "wz", "rs", "rz"]
    lstm = node("DynamicQuantizeLSTM", names, domain="com.microsoft", hidden_size=hidden)
    constants = {
        "w": weights(1, width, 4 * hidden),
        "r": weights(1, hidden, 4 * hidden),
        "b": np.random.default_rng(0).standard_normal((1, 8 * hidden)).astype(np.float32) * np.float32(0.1),
        "ws": np.float32([0.001]), "wz": np.int8([0]), "rs": np.float32([0.001]), "rz": np.int8([0]),
    }  # fmt: skip
    return of_onnx([lstm], {"x": (np.float32, [time_steps, 1, width])}, constants, np.float32)


class Case(NamedTuple):
    """A case: an IR with the precision hint for OpenVINO, or an ONNX model for ONNX Runtime."""

    make: Callable[[], Any]
    hint: str = "f32"


CASES = {
    "ResNet-18, int8": Case(lambda: resnet(Network())),
    "MobileNetV2, int8": Case(lambda: mobilenet(Network())),
    "transformer, int8": Case(lambda: transformer(Network())),
    "ResNet-18, bf16": Case(lambda: resnet(Network(False, BF16)), "bf16"),
    "MobileNetV2, bf16": Case(lambda: mobilenet(Network(False, BF16)), "bf16"),
    "transformer, bf16": Case(lambda: transformer(Network(False, BF16)), "bf16"),
    "ResNet-18, f32": Case(lambda: resnet(Network(False))),
    "MobileNetV2, f32": Case(lambda: mobilenet(Network(False))),
    "PReLU by channel": Case(lambda: with_slopes(Network(False))),
    "MatMul i32 512": Case(lambda: product_of(np.int32, np.int32, (512, 512, 512))),
    "MatMul i32 512, constant": Case(lambda: product_of(np.int32, np.int32, (512, 512, 512), True)),
    "MatMul i8 512": Case(lambda: product_of(np.int8, np.int8, (512, 512, 512))),
    "MatMul u8 512, constant": Case(lambda: product_of(np.uint8, np.uint8, (512, 512, 512), True)),
    "MatMul i64 512": Case(lambda: product_of(np.int64, np.int64, (512, 512, 512))),
    "MatMulInteger 128x768x768": Case(lambda: matmul_integer(128, 768, 768), "onnx"),
    "QLinearConv 64 of 56x56": Case(lambda: qlinear_conv(64, 56), "onnx"),
    "QLinearMatMul 128x768x768": Case(lambda: qlinear_matmul(128, 768, 768), "onnx"),
    "ConvInteger 64 of 56x56": Case(lambda: conv_integer(64, 56), "onnx"),
    "DynamicQuantizeLinear": Case(lambda: quantized_dynamically(128, 768), "onnx"),
    "MatMulInteger, dynamic": Case(lambda: quantized_dynamically(128, 768, 768), "onnx"),
    "DynamicQuantizeLSTM 50x256": Case(lambda: quantized_lstm(50, 256, 256), "onnx"),
}


def drawn(parameter: Any) -> Any:
    """Return a random input of a parameter's type."""
    rng, shape, dtype = np.random.default_rng(1), parameter.shape, parameter.element_type.to_dtype()
    # As in OpenVINO, the dtype of bf16 is that of f16.
    dtype = np.dtype(ml_dtypes.bfloat16) if parameter.element_type == BF16 else dtype
    if dtype.kind in "iu":
        return rng.integers(0, 100, shape).astype(dtype)
    return rng.standard_normal(shape).astype(np.float32).astype(dtype)


def irexec_side(file: Path) -> tuple[Callable[[], Any], Any]:
    compiled = irexec.compile_model(file, config={"EXECUTION_MODE_HINT": "PERFORMANCE"})
    request = compiled.create_infer_request()
    given = [drawn(port) for port in compiled.inputs]
    for _ in range(3):
        request.infer(given)
    return lambda: request.infer(given), given


def openvino_side(file: Path, hint: str, given: Any) -> Callable[[], Any]:
    import openvino

    settings = {"INFERENCE_PRECISION_HINT": hint, "INFERENCE_NUM_THREADS": 1, "PERFORMANCE_HINT": "LATENCY"}
    compiled = openvino.Core().compile_model(file, "CPU", settings)
    request = compiled.create_infer_request()
    for port, array in zip(compiled.inputs, given, strict=True):
        tensor = openvino.Tensor(port.element_type, list(array.shape))
        tensor.data.view(np.uint8)[...] = np.ascontiguousarray(array).view(np.uint8)
        request.set_tensor(port, tensor)

    def run() -> Any:
        request.infer()
        found = request.get_output_tensor(0)
        # OpenVINO's arrays of bf16 have the dtype of f16.
        return [found.data.view(ml_dtypes.bfloat16) if found.element_type == openvino.Type.bf16 else found.data]

    return run


def onnx_side(file: Path, given: Any) -> Callable[[], Any]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    named = {port.name: array for port, array in zip(session.get_inputs(), given, strict=True)}
    return lambda: session.run(None, named)


def least(sides: list[Callable[[], Any]], runs: int) -> Iterator[float]:
    """Yield the least processor time of each side; the sides take turns."""
    best = [float("inf")] * len(sides)
    for _ in range(runs):
        for number, side in enumerate(sides):
            begin = time.process_time()
            side()
            best[number] = min(best[number], time.process_time() - begin)
    yield from best


def difference(one: Any, other: Any) -> float:
    """Return the largest difference relative to the largest number."""
    one, other = (np.asarray(array).astype(np.float64) for array in (one, other))
    return float(np.abs(one - other).max() / max(np.abs(other).max(), 1e-30))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="rows whose name contains one of these words")
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--explain", action="store_true", help="list how irexec runs each layer")
    given = parser.parse_args()
    set_num_threads(1)
    print(f"{'':28}{'irexec ms':>10}{'OpenVINO ms':>12}{'ratio':>7}{'difference':>12}")
    for name, case in CASES.items():
        if given.names and not any(word.lower() in name.lower() for word in given.names):
            continue
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / ("model.onnx" if case.hint == "onnx" else "model.xml")
            if case.hint == "onnx":
                file.write_bytes(case.make().SerializeToString())
            else:
                irexec.save_model(case.make(), file, compress_to_fp16=False)
            if given.explain:
                from irexec.runtime.lowering.explain import explain

                model = irexec.read_model(file)
                for found in explain(model, [tuple(port.shape) for port in model.inputs]):
                    print("   ", *found)
            mine, arrays = irexec_side(file)
            other = onnx_side(file, arrays) if case.hint == "onnx" else openvino_side(file, case.hint, arrays)
            own, its = least([mine, other], given.runs)
            apart = difference(mine()[0], other()[0])
            print(f"{name:28}{own * 1e3:10.2f}{its * 1e3:12.2f}{own / its:7.2f}{apart:12.1e}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
