"""Small networks of many kinds with random weights, quantized to int8 as NNCF does it, with one damaged quantizer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import irexec
from irexec import opset15 as ops
from irexec.core.types import Array
from irexec.model.graph.copies import copy_with_map
from irexec.model.graph.cut import constant_nodes
from irexec.model.graph.order import ordered
from irexec.runtime.engine import CompiledModel

PRODUCTS = ("MatMul", "Convolution", "GroupConvolution")


class Layers:
    """Creates layers with random weights and numbered names."""

    def __init__(self, seed: int = 0) -> None:
        self.rng, self.count = np.random.default_rng(seed), 0

    def name(self, kind: str) -> str:
        self.count += 1
        return f"net/{kind}_{self.count}"

    def normal(self, *shape: int, scale: float = 1.0) -> Array:
        return self.rng.normal(0, scale, shape).astype(np.float32)

    def linear(self, x: Any, inner: int, outer: int) -> Any:
        y = ops.matmul(x, self.normal(outer, inner, scale=inner**-0.5), False, True, name=self.name("linear"))
        return ops.add(y, self.normal(outer, scale=0.1), name=self.name("bias"))

    def conv(self, x: Any, inner: int, outer: int, size: int = 3, stride: int = 1) -> Any:
        weights = self.normal(outer, inner, size, size, scale=(2 / (inner * size * size)) ** 0.5)
        pads = [size // 2] * 2
        y = ops.convolution(x, weights, [stride] * 2, pads, pads, [1, 1], name=self.name("conv"))
        return ops.add(y, self.normal(1, outer, 1, 1, scale=0.1), name=self.name("bias"))

    def depthwise(self, x: Any, channels: int) -> Any:
        weights = self.normal(channels, 1, 1, 3, 3, scale=0.4)
        y = ops.group_convolution(x, weights, [1, 1], [1, 1], [1, 1], [1, 1], name=self.name("depthwise"))
        return ops.add(y, self.normal(1, channels, 1, 1, scale=0.1), name=self.name("bias"))

    def relu(self, x: Any) -> Any:
        return ops.relu(x, name=self.name("relu"))

    def norm(self, x: Any, width: int) -> Any:
        y = ops.mvn(x, np.int64([-1]), True, 1e-5, "inside_sqrt", name=self.name("norm"))
        y = ops.multiply(y, 1 + self.normal(width, scale=0.1), name=self.name("scale"))
        return ops.add(y, self.normal(width, scale=0.1), name=self.name("shift"))

    def attention(self, x: Any, length: int, width: int, heads: int) -> Any:
        def split(y: Any) -> Any:
            y = ops.reshape(y, np.int64([0, length, heads, width // heads]), True, name=self.name("heads"))
            return ops.transpose(y, np.int64([0, 2, 1, 3]), name=self.name("transpose"))

        query, key, value = (split(self.linear(x, width, width)) for _ in range(3))
        scores = ops.matmul(query, key, False, True, name=self.name("scores"))
        scores = ops.multiply(scores, np.float32((width // heads) ** -0.5), name=self.name("scale"))
        mixed = ops.matmul(ops.softmax(scores, -1, name=self.name("softmax")), value, name=self.name("mixed"))
        mixed = ops.transpose(mixed, np.int64([0, 2, 1, 3]), name=self.name("transpose"))
        return self.linear(ops.reshape(mixed, np.int64([0, length, width]), True), width, width)

    def pooled(self, x: Any) -> Any:
        return ops.reduce_mean(x, np.int64([2, 3]), False, name=self.name("pool"))

    def halved(self, x: Any) -> Any:
        made = ops.max_pool(x, [2, 2], [1, 1], [0, 0], [0, 0], [2, 2], name=self.name("half"))
        return made.outputs[0]


def _image() -> Any:
    return ops.parameter([1, 3, 16, 16], np.float32, name="x")


def vgg() -> irexec.Model:
    n, x = Layers(1), _image()
    y: Any = x
    for inner, outer in ((3, 16), (16, 16), (16, 32), (32, 32)):
        y = n.relu(n.conv(y, inner, outer))
        y = n.halved(y) if inner == 16 and outer == 16 else y
    y = n.relu(n.linear(n.pooled(y), 32, 32))
    return irexec.Model([n.linear(y, 32, 10)], [x], "vgg")


def resnet() -> irexec.Model:
    n, x = Layers(2), _image()
    y = n.relu(n.conv(x, 3, 16))
    for _ in range(5):
        z = n.conv(n.relu(n.conv(y, 16, 16)), 16, 16)
        y = n.relu(ops.add(y, z, name=n.name("sum")))
    return irexec.Model([n.linear(n.pooled(y), 16, 10)], [x], "resnet")


def mobilenet() -> irexec.Model:
    n, x = Layers(3), _image()
    y: Any = ops.hswish(n.conv(x, 3, 16, stride=2), name=n.name("hswish"))
    for _ in range(4):
        z = ops.clamp(n.conv(y, 16, 32, 1), 0.0, 6.0, name=n.name("relu6"))
        z = ops.clamp(n.depthwise(z, 32), 0.0, 6.0, name=n.name("relu6"))
        gate = ops.reduce_mean(z, np.int64([2, 3]), True, name=n.name("pool"))
        gate = n.conv(n.relu(n.conv(gate, 32, 8, 1)), 8, 32, 1)
        z = n.conv(ops.multiply(z, ops.sigmoid(gate, name=n.name("gate")), name=n.name("gated")), 32, 16, 1)
        y = ops.add(y, z, name=n.name("sum"))
    return irexec.Model([n.linear(n.pooled(y), 16, 10)], [x], "mobilenet")


def densenet() -> irexec.Model:
    n, x = Layers(4), _image()
    y = n.relu(n.conv(x, 3, 8))
    for width in (8, 16, 24, 32, 40):
        y = ops.concat([y, n.relu(n.conv(y, width, 8))], 1, name=n.name("concat"))
    return irexec.Model([n.linear(n.pooled(y), 48, 10)], [x], "densenet")


def inception() -> irexec.Model:
    n, x = Layers(5), _image()
    y = n.relu(n.conv(x, 3, 16))
    for _ in range(3):
        wide = n.relu(n.conv(n.relu(n.conv(y, 16, 8, 1)), 8, 8, 3))
        y = ops.concat([n.relu(n.conv(y, 16, 4, 1)), wide, n.relu(n.conv(y, 16, 4, 5))], 1, name=n.name("concat"))
    return irexec.Model([n.linear(n.pooled(y), 16, 10)], [x], "inception")


def unet() -> irexec.Model:
    n, x = Layers(6), _image()
    first = n.relu(n.conv(x, 3, 8))
    second = n.relu(n.conv(n.halved(first), 8, 16))
    third = n.relu(n.conv(n.halved(second), 16, 16))

    def doubled(y: Any, size: int) -> Any:
        return ops.interpolate(y, np.int64([size, size]), "nearest", "sizes", axes=np.int64([2, 3]), name=n.name("up"))

    y = n.relu(n.conv(ops.concat([doubled(third, 8), second], 1, name=n.name("concat")), 32, 16))
    y = n.relu(n.conv(ops.concat([doubled(y, 16), first], 1, name=n.name("concat")), 24, 8))
    return irexec.Model([n.conv(y, 8, 4, 1)], [x], "unet")


def transformer() -> irexec.Model:
    n, x = Layers(7), ops.parameter([1, 12], np.int64, name="x")
    y: Any = ops.gather(n.normal(50, 32), x, np.int64(0), name=n.name("embedded"))
    for _ in range(3):
        y = n.norm(ops.add(y, n.attention(y, 12, 32, 4), name=n.name("sum")), 32)
        z = n.linear(ops.gelu(n.linear(y, 32, 64), name=n.name("gelu")), 64, 32)
        y = n.norm(ops.add(y, z, name=n.name("sum")), 32)
    return irexec.Model([n.linear(y, 32, 50)], [x], "transformer")


def vision_transformer() -> irexec.Model:
    n, x = Layers(8), _image()
    y: Any = ops.reshape(n.conv(x, 3, 32, 4, 4), np.int64([0, 32, -1]), True, name=n.name("flat"))
    y = ops.transpose(y, np.int64([0, 2, 1]), name=n.name("tokens"))
    length = 25
    y = ops.add(y, n.normal(1, length, 32, scale=0.1), name=n.name("positions"))
    for _ in range(3):
        y = ops.add(y, n.attention(n.norm(y, 32), length, 32, 4), name=n.name("sum"))
        z = n.linear(ops.gelu(n.linear(n.norm(y, 32), 32, 64), name=n.name("gelu")), 64, 32)
        y = ops.add(y, z, name=n.name("sum"))
    y = ops.reduce_mean(n.norm(y, 32), np.int64([1]), False, name=n.name("pool"))
    return irexec.Model([n.linear(y, 32, 10)], [x], "vision_transformer")


def mixer() -> irexec.Model:
    n, x = Layers(9), ops.parameter([1, 16, 24], np.float32, name="x")
    y: Any = x
    for _ in range(4):
        z = ops.transpose(n.norm(y, 24), np.int64([0, 2, 1]), name=n.name("transpose"))
        z = n.linear(ops.gelu(n.linear(z, 16, 32), name=n.name("gelu")), 32, 16)
        y = ops.add(y, ops.transpose(z, np.int64([0, 2, 1]), name=n.name("transpose")), name=n.name("sum"))
        z = n.linear(ops.gelu(n.linear(n.norm(y, 24), 24, 48), name=n.name("gelu")), 48, 24)
        y = ops.add(y, z, name=n.name("sum"))
    return irexec.Model([n.linear(y, 24, 8)], [x], "mixer")


def shufflenet() -> irexec.Model:
    n, x = Layers(10), _image()
    y: Any = n.relu(n.conv(x, 3, 16))
    for _ in range(4):
        kept, moved = ops.split(y, np.int64(1), 2, name=n.name("split")).outputs
        z = n.relu(n.conv(n.depthwise(n.relu(n.conv(moved, 8, 8, 1)), 8), 8, 8, 1))
        y = ops.concat([kept, z], 1, name=n.name("concat"))
        y = ops.reshape(y, np.int64([0, 2, 8, 16, 16]), True, name=n.name("grouped"))
        y = ops.transpose(y, np.int64([0, 2, 1, 3, 4]), name=n.name("shuffled"))
        y = ops.reshape(y, np.int64([0, 16, 16, 16]), True, name=n.name("whole"))
    return irexec.Model([n.linear(n.pooled(y), 16, 10)], [x], "shufflenet")


NETWORKS: dict[str, Callable[[], irexec.Model]] = {
    made.__name__: made
    for made in (
        vgg, resnet, mobilenet, densenet, inception, unet, transformer, vision_transformer, mixer, shufflenet,
    )
}  # fmt: skip


def samples(model: irexec.Model, count: int = 4, seed: int = 0) -> list[Array]:
    """Return inputs of a network."""
    rng = np.random.default_rng(seed)
    type = model.parameters[0].outputs[0].type
    shape = [extent.value for extent in type.shape]
    if type.element_type.is_integral:
        return [rng.integers(0, 50, shape).astype(np.int64) for _ in range(count)]
    return [rng.normal(0, 1, shape).astype(np.float32) for _ in range(count)]


def quantized(model: irexec.Model, given: list[Array]) -> irexec.Model:
    """Return the model in int8: a FakeQuantize at each value that a product or a sum of two values reads, with the
    range of the value for the inputs; weights as int8 with a scale for each channel.
    """
    made, copies = copy_with_map(model)
    constant = constant_nodes(made)
    back = {copy: node for node, copy in copies.items()}
    read = [
        n for n in made.nodes if n.type in PRODUCTS or (n.type == "Add" and not constant & {v.node for v in n.inputs})
    ]
    wanted = list(dict.fromkeys(v for n in read for v in n.inputs if v.node not in constant))
    seen = irexec.Model([back[v.node].outputs[v.index] for v in wanted], model.parameters, "seen")
    runs = [CompiledModel(seen).infer_new_request([array]).to_tuple() for array in given]
    for value, *arrays in zip(wanted, *runs, strict=True):
        low, high = min(np.float32(0), *(a.min() for a in arrays)), max(np.float32(1e-6), *(a.max() for a in arrays))
        name = f"{value.node.friendly_name}/fq_output_{value.index}"
        fake = ops.fake_quantize(value, low, high, low, high, 256, name=name)
        for user, port in value.uses():
            if user in read:
                user.replace_input_with(port, fake.outputs[0])
    for node in read:
        for port, value in enumerate(node.inputs):
            if node.type in PRODUCTS and value.node in constant:
                node.replace_input_with(port, _compressed(value.node, node).outputs[0])
    made.nodes = ordered([*made.parameters, *made.sinks, *made.results])
    return made


def _compressed(constant: Any, node: Any) -> Any:
    array = constant.constant
    axes = tuple(range(1 + (node.type == "GroupConvolution"), array.ndim))
    scale = (np.abs(array).max(axis=axes, keepdims=True) / 127).astype(np.float32)
    codes = np.clip(np.rint(array / scale), -127, 127).astype(np.int8)
    return ops.multiply(ops.convert(ops.constant(codes), "f32"), scale, name=f"{node.friendly_name}/fq_weights_1")


def activation_quantizers(model: irexec.Model) -> list[Any]:
    return [n for n in model.nodes if n.type == "FakeQuantize"]


def weight_quantizers(model: irexec.Model) -> list[Any]:
    return [n for n in model.nodes if n.friendly_name.endswith("fq_weights_1")]


def _ranges(node: Any, change: Callable[[int, Array], Array], ports: tuple[int, ...] = (1, 2, 3, 4)) -> None:
    for port in ports:
        held = node.inputs[port].node
        held.constant = change(port, held.constant).astype(np.float32)


def too_small(node: Any) -> None:
    _ranges(node, lambda _, a: a * 0.1)


def too_large(node: Any) -> None:
    _ranges(node, lambda _, a: a * 60)


def shifted(node: Any) -> None:
    """Shift the output, as with a wrong zero point."""
    low, high = (node.inputs[port].node.constant for port in (1, 2))
    _ranges(node, lambda _, a: a + 0.3 * (high - low), (3, 4))


def few_levels(node: Any) -> None:
    node.attributes = {**node.attributes, "levels": 4}


def scaled(node: Any) -> None:
    """Scale the range of the output."""
    _ranges(node, lambda _, a: a * 0.4, (3, 4))


def weights_clipped(node: Any) -> None:
    codes = node.inputs[0].node.inputs[0].node
    codes.constant = np.clip(codes.constant, -12, 12)


def weights_per_tensor(node: Any) -> None:
    """Use one scale for all channels, that of a channel with an outlier."""
    codes, scale = node.inputs[0].node.inputs[0].node, node.inputs[1].node
    wide = codes.constant * scale.constant
    step = np.float32(30 * np.abs(wide).max() / 127)
    codes.constant = np.clip(np.rint(wide / step), -127, 127).astype(np.int8)
    scale.constant = np.full_like(scale.constant, step)


def weights_shifted(node: Any) -> None:
    codes = node.inputs[0].node.inputs[0].node
    codes.constant = np.clip(codes.constant.astype(int) + 40, -127, 127).astype(np.int8)


ACTIVATIONS = (too_small, too_large, shifted, few_levels, scaled)
WEIGHTS = (weights_clipped, weights_per_tensor, weights_shifted)
