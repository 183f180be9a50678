"""Writes the sample models and their inputs with irexec's opset API; every run writes the same bytes.

python samples/make_models.py [FOLDER]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import irexec
from irexec import Model, Node, Value, opset15

HEADS, SIZE = 4, 16
WIDTH = HEADS * SIZE
WORDS = 100

Array = np.ndarray[Any, np.dtype[Any]]
Tensor = Node | Value


class Weights:
    """Makes named constants with random values, scaled so that layers preserve the magnitude of their data."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def dense(self, *shape: int, inputs: int, name: str) -> Node:
        """Return an f32 constant of this shape, scaled for sums of `inputs` products."""
        values = self.rng.normal(0, np.sqrt(2 / inputs), shape)
        return opset15.constant(values.astype(np.float32), name=name)

    def near(self, value: float, *shape: int, name: str) -> Node:
        """Return an f32 constant of this shape whose elements are near a value."""
        return opset15.constant((value + self.rng.normal(0, 0.1, shape)).astype(np.float32), name=name)


def ints(*values: int) -> Array:
    return np.array(values, np.int64)


# A classifier of images


def classifier() -> Model:
    """Return a small CNN: f32 images [N,3,32,32] → probabilities [N,10]; batch normalization, depthwise layers,
    pooling.
    """
    weights = Weights(1)
    image = opset15.parameter([-1, 3, 32, 32], np.float32, name="image")
    x = _convolution(weights, image, 3, 16, "stem")
    x = _separable(weights, x, 16, 32, "block1", stride=2)
    x = _separable(weights, x, 32, 64, "block2")
    x = opset15.max_pool(
        x, strides=(2, 2), dilations=(1, 1), pads_begin=(0, 0), pads_end=(0, 0), kernel=(2, 2), name="pool"
    ).output(0)
    x = opset15.reduce_mean(x, ints(2, 3), keep_dims=False, name="mean")
    x = opset15.matmul(x, weights.dense(64, 10, inputs=64, name="head/weights"), name="head")
    x = opset15.add(x, weights.near(0, 10, name="head/bias"), name="logits")
    probabilities = opset15.softmax(x, axis=1, name="probabilities")
    return _named(Model([probabilities], [image], "classifier"), "probabilities")


def converted() -> Model:
    """Return the classifier with an error that a converter may make: one normalization has another epsilon."""
    model = classifier()
    (norm,) = (node for node in model.get_ops() if node.friendly_name == "block1/pointwise/norm")
    norm.attributes["epsilon"] = 0.1
    return model


def _convolution(weights: Weights, x: Tensor, channels: int, filters: int, name: str, size: int = 3) -> Node:
    kernel = weights.dense(filters, channels, size, size, inputs=channels * size * size, name=f"{name}/kernel")
    x = opset15.convolution(x, kernel, name=f"{name}/conv", **_window(1, size // 2))
    return _normalized(weights, x, filters, name)


def _separable(weights: Weights, x: Tensor, channels: int, filters: int, name: str, stride: int = 1) -> Node:
    kernel = weights.dense(channels, 1, 1, 3, 3, inputs=9, name=f"{name}/depthwise/kernel")
    x = opset15.group_convolution(x, kernel, name=f"{name}/depthwise/conv", **_window(stride, 1))
    x = _normalized(weights, x, channels, f"{name}/depthwise")
    return _convolution(weights, x, channels, filters, f"{name}/pointwise", size=1)


def _window(stride: int, pad: int) -> dict[str, tuple[int, int]]:
    return {
        "strides": (stride, stride),
        "pads_begin": (pad, pad),
        "pads_end": (pad, pad),
        "dilations": (1, 1),
    }


def _normalized(weights: Weights, x: Tensor, channels: int, name: str) -> Node:
    statistics = [
        weights.near(value, channels, name=f"{name}/norm/{what}")
        for what, value in (("gamma", 1), ("beta", 0), ("mean", 0), ("variance", 1))
    ]
    x = opset15.batch_norm_inference(x, *statistics, epsilon=1e-5, name=f"{name}/norm")
    return opset15.relu(x, name=f"{name}/relu")


def images() -> dict[str, Array]:
    """Return two pictures of soft stripes, as the input of the classifier."""
    rng = np.random.default_rng(2)
    rows, columns = np.mgrid[:32, :32] / 32
    waves = [np.sin(2 * np.pi * (a * rows + b * columns)) for a, b in rng.uniform(0, 3, (6, 2))]
    return {"image": np.array(waves, np.float32).reshape(2, 3, 32, 32)}


# A segmentation network of any size


def segmenter() -> Model:
    """Return a small U-Net: f32 images [N,3,H,W] → classes [N,4,H,W]; images are halved twice."""
    weights = Weights(5)
    image = opset15.parameter([-1, 3, -1, -1], np.float32, name="image")
    fine = _convolution(weights, image, 3, 8, "fine")
    middle = _convolution(weights, _halved(fine, "fine"), 8, 8, "middle")
    coarse = _convolution(weights, _halved(middle, "middle"), 8, 8, "coarse")
    x = _joined(weights, coarse, middle, "up1")
    x = _joined(weights, x, fine, "up2")
    kernel = weights.dense(4, 8, 1, 1, inputs=8, name="classes/kernel")
    classes = opset15.convolution(x, kernel, name="classes", **_window(1, 0))
    return _named(Model([classes], [image], "segmenter"), "classes")


def _halved(x: Node, name: str) -> Value:
    window = {**_window(2, 0), "kernel": (2, 2)}
    return opset15.max_pool(x, name=f"{name}/pool", **window).output(0)


def _joined(weights: Weights, x: Node, skipped: Node, name: str) -> Node:
    """Return `x` resized to twice its height and width, concatenated with `skipped`, and convolved."""
    kernel = weights.dense(8, 8, 2, 2, inputs=8, name=f"{name}/doubled/kernel")
    doubled = opset15.convolution_backprop_data(x, kernel, name=f"{name}/doubled", **_window(2, 0))
    joined = opset15.concat([doubled, skipped], axis=1, name=f"{name}/joined")
    return _convolution(weights, joined, 16, 8, name)


def picture() -> dict[str, Array]:
    """Return one picture of soft stripes, as the input of the segmenter."""
    return {"image": images()["image"][:1, :, :16, :24]}


# A transformer block that remembers


def transformer() -> Model:
    """Return a block of a language model: i64 words [1,L] → logits [1,L,100]; variables keep earlier keys, values."""
    weights = Weights(3)
    words = opset15.parameter([1, -1], np.int64, name="words")
    table = weights.dense(WORDS, WIDTH, inputs=2, name="embedding")
    x = opset15.gather(table, words, ints(0)[0], name="embedded")

    normal = _layer_norm(weights, x, "attention/norm")
    query, key, value = (_heads(weights, normal, f"attention/{what}") for what in ("query", "key", "value"))
    keys, keep_keys = _remembered(key, "keys")
    values, keep_values = _remembered(value, "values")
    seen = _seen(words, keys)
    mixed = opset15.scaled_dot_product_attention(query, keys, values, seen, causal=False, name="attention")
    mixed = opset15.transpose(mixed, ints(0, 2, 1, 3), name="attention/back")
    mixed = opset15.reshape(mixed, ints(0, 0, WIDTH), special_zero=True, name="attention/joined")
    x = opset15.add(x, _dense(weights, mixed, WIDTH, WIDTH, "attention/out"), name="attention/residual")

    inner = _dense(weights, _layer_norm(weights, x, "mlp/norm"), WIDTH, 4 * WIDTH, "mlp/in")
    inner = opset15.gelu(inner, approximation_mode="erf", name="mlp/gelu")
    x = opset15.add(x, _dense(weights, inner, 4 * WIDTH, WIDTH, "mlp/out"), name="mlp/residual")

    logits = opset15.matmul(_layer_norm(weights, x, "norm"), table, transpose_b=True, name="logits")
    model = Model([logits], [words], "transformer", sinks=[keep_keys, keep_values])
    return _named(model, "logits")


def _dense(weights: Weights, x: Tensor, inputs: int, outputs: int, name: str) -> Node:
    product = opset15.matmul(x, weights.dense(inputs, outputs, inputs=inputs, name=f"{name}/weights"), name=name)
    return opset15.add(product, weights.near(0, outputs, name=f"{name}/bias"), name=f"{name}/biased")


def _layer_norm(weights: Weights, x: Tensor, name: str) -> Node:
    normal = opset15.mvn(x, ints(-1), normalize_variance=True, eps=1e-5, eps_mode="inside_sqrt", name=name)
    scaled = opset15.multiply(normal, weights.near(1, WIDTH, name=f"{name}/gamma"), name=f"{name}/scaled")
    return opset15.add(scaled, weights.near(0, WIDTH, name=f"{name}/beta"), name=f"{name}/shifted")


def _heads(weights: Weights, x: Tensor, name: str) -> Node:
    """Return a dense layer on `x` [1,L,WIDTH], divided into heads: [1,HEADS,L,SIZE]."""
    x = opset15.reshape(_dense(weights, x, WIDTH, WIDTH, name), ints(0, 0, HEADS, SIZE), special_zero=True)
    return opset15.transpose(x, ints(0, 2, 1, 3), name=f"{name}/heads")


def _remembered(new: Node, name: str) -> tuple[Node, Node]:
    """Return the rows of all earlier calls followed by `new`, and the Assign that keeps them in a variable."""
    past = opset15.read_value(
        opset15.constant(np.zeros((1, HEADS, 0, SIZE), np.float32), name=f"{name}/none"),
        variable_id=name,
        variable_type="f32",
        variable_shape=f"1,{HEADS},?,{SIZE}",
        name=f"{name}/past",
    )
    rows = opset15.concat([past, new], axis=2, name=f"{name}/all")
    return rows, opset15.assign(rows, variable_id=name, name=f"{name}/kept")


def _seen(words: Node, keys: Node) -> Node:
    """Return the attention mask, boolean [L,S]: each word sees the keys up to its own position."""
    zero, one = np.int64(0), np.int64(1)
    total = opset15.gather(opset15.shape_of(keys), np.int64(2), zero, name="seen/total")
    length = opset15.gather(opset15.shape_of(words), one, zero, name="seen/length")
    positions = opset15.range(zero, total, one, output_type="i64", name="seen/positions")
    own = opset15.range(opset15.subtract(total, length), total, one, output_type="i64", name="seen/own")
    return opset15.greater_equal(opset15.unsqueeze(own, ints(1)), positions, name="seen")


def words() -> dict[str, Array]:
    """Return the words of a sentence, and the word that follows it."""
    rng = np.random.default_rng(4)
    return {"words": rng.integers(0, WORDS, (1, 6)), "next": rng.integers(0, WORDS, (1, 1))}


def _named(model: Model, name: str) -> Model:
    model.outputs[0].set_names({name})
    return model


MODELS: dict[str, tuple[Callable[[], Model], Callable[[], dict[str, Array]]]] = {
    "classifier": (classifier, images),
    "converted": (converted, dict),
    "segmenter": (segmenter, picture),
    "transformer": (transformer, words),
}


def main(folder: Path) -> None:
    """Write every model with its inputs into a folder of its name."""
    for name, (build, inputs) in MODELS.items():
        home = folder / name
        home.mkdir(parents=True, exist_ok=True)
        irexec.save_model(build(), home / "model.xml")
        for port, array in inputs().items():
            np.save(home / f"{port}.npy", array)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
