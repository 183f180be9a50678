"""Results of modules are paired with the values of an export, even if layers were folded, renamed or are wrong."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import irexec
from irexec.tools.compare.pytorch.merged import merged
from irexec.tools.compare.pytorch.pairing import Made, Pairs, matches, module_of, pair
from irexec.tools.compare.pytorch.samples import sample
from irexec.tools.compare.pytorch.server import Call

op = irexec.opset15
LAYERS = ("conv", "norm", "act", "head")


def weights() -> list[np.ndarray]:
    drawn = np.random.default_rng(3)
    return [drawn.normal(size=shape).astype(np.float32) for shape in ((6, 5), (1, 5), (5, 4))]


def network(x: np.ndarray) -> list[np.ndarray]:
    """Return the results of four modules: a product, a scale, an activation, a product."""
    first, scale, last = weights()
    product = x @ first
    scaled = product * scale
    active = np.maximum(scaled, 0)
    return [product, scaled, active, active @ last]


def model(names: Sequence[str], *, folded: bool = False, wrong: str = "", narrow: bool = False) -> irexec.Model:
    """Return the network as an exporter writes it. `wrong`: the module whose layer computes other values; `narrow`: the
    first weights have few bits, as f16 weights of a deep network seem to have.
    """
    first, scale, last = weights()
    x = op.parameter([3, 6], np.float32, name="x")
    weight = first * scale if folded else first
    weight = weight * np.float32(1.5 if wrong == "conv" else 1)
    if narrow:
        rounded = (np.round(weight * 256) / 256).astype(np.float16)
        given = op.convert(op.constant(rounded), "f32")
    else:
        given = op.constant(weight)
    node = op.matmul(x, given, False, False, name=names[0])
    if not folded:
        node = op.multiply(node, scale * (1.5 if wrong == "norm" else 1), name=names[1])
    node = op.tanh(node, name=names[2]) if wrong == "act" else op.relu(node, name=names[2])
    node = op.matmul(node, last * (1.5 if wrong == "head" else 1), False, False, name=names[3])
    return irexec.Model([node], [x], "net")


def paired(exported: irexec.Model) -> tuple[dict[str, str], Pairs]:
    """Return the module of each paired layer, by the layer's name, and the pairs."""
    x = np.random.default_rng(0).normal(size=(3, 6)).astype(np.float32)
    results = network(x)
    calls = [Call(name, "Module", 0, [sample(array)]) for name, array in zip(LAYERS, results, strict=True)]

    def fetch(made: Sequence[Made]) -> list[np.ndarray]:
        return [results[entry.call] for entry in made]

    found = pair(exported, [x], calls, results[-1:], fetch)
    return {value.node.friendly_name: LAYERS[made.call] for value, made in found.shown.items()}, found


@pytest.mark.parametrize("folded", [False, True])
def test_weights_in_f16_move_values_further_than_rounding_in_f32(folded: bool) -> None:
    found, pairs = paired(model(LAYERS, folded=folded, narrow=True))
    whole = {name: name for name in LAYERS}
    assert found == ({LAYERS[0]: "norm"} | {name: name for name in LAYERS[2:]} if folded else whole)
    assert len(pairs.paired) == len(found)


SCRIPT = [f"__module.{name}/aten::op/Op" for name in LAYERS]
NUMBERED = ["a", "b", "c", "d"]


@pytest.mark.parametrize("names", [SCRIPT, NUMBERED], ids=["named", "numbered"])
def test_values_are_paired_whatever_their_names_are(names: list[str]) -> None:
    assert paired(model(names))[0] == dict(zip(names, LAYERS, strict=True))


@pytest.mark.parametrize("names", [SCRIPT, NUMBERED], ids=["named", "numbered"])
@pytest.mark.parametrize("wrong", LAYERS)
def test_modules_after_a_fault_are_paired(names: list[str], wrong: str) -> None:
    # The wrong layer is paired with the module itself, or with the group of layers up to the next module.
    found = paired(model(names, wrong=wrong))[0]
    expected = dict(zip(names, LAYERS, strict=True))
    assert found.items() <= expected.items()
    # No later value shows which value the last module corresponds to, but its result is the result of the network.
    assert set(found.values()) >= {*LAYERS} - ({wrong, "norm"} if wrong != "head" else set())


def called(given: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> Call:
    samples = [entry for array in given if (entry := sample(array)) is not None]
    return Call("module", "Module", 0, [sample(array) for array in results], samples)


def test_a_module_that_was_folded_is_computed_with_the_one_that_reads_it() -> None:
    found, pairs = paired(model(NUMBERED, folded=True))
    assert found == {"a": "norm", "c": "act", "d": "head"}
    assert Made(0, 0) not in pairs.paired
    x = np.random.default_rng(0).normal(size=(3, 6)).astype(np.float32)
    results = network(x)
    calls = [called([given], [made]) for given, made in zip([x, *results], results, strict=False)]
    assert merged(calls, pairs.paired) == {0: 1}


def test_chains_and_branches_of_merged_modules() -> None:
    a, b, c, d, e = np.random.default_rng(5).normal(size=(5, 4, 3)).astype(np.float32)
    chain = [called([a], [b]), called([b], [c]), called([c], [d])]
    assert merged(chain, {Made(2, 0)}) == {0: 2, 1: 2}
    # Results in the model are not merged; results that no module reads, or only modules without a pair, are omitted.
    assert merged(chain, {Made(0, 0), Made(1, 0), Made(2, 0)}) == {}
    assert merged(chain, {Made(0, 0)}) == {}
    # A container reads the same input, but returns after its parts.
    nested = [called([a], [b]), called([b], [c]), called([c], [d]), called([b], [d])]
    assert merged(nested, {Made(1, 0), Made(2, 0), Made(3, 0)}) == {0: 1}
    assert merged([called([a], [b]), called([e], [c]), called([e, b], [d])], {Made(1, 0), Made(2, 0)}) == {0: 2}


def test_results_are_paired_in_other_shapes_and_with_constants() -> None:
    x = op.parameter([3, 6], np.float32, name="x")
    table = weights()[0]
    flat = op.reshape(op.relu(x, name="relu"), op.constant(np.int64([18])), False, name="flat")
    exported = irexec.Model([op.add(flat, op.constant(table.reshape(-1)[:18]), name="sum")], [x], "net")
    given = np.random.default_rng(0).normal(size=(3, 6)).astype(np.float32)
    relu = np.maximum(given, 0)
    results = [relu.reshape(9, 2), table.reshape(-1)[:18].reshape(2, 9), relu.reshape(-1) + table.reshape(-1)[:18]]
    calls = [called([given], [result]) for result in results]
    found = pair(exported, [given], calls, results[-1:], lambda made: [results[entry.call] for entry in made])
    assert found.paired == {Made(0, 0), Made(1, 0), Made(2, 0)}
    assert {value.node.friendly_name for value in found.shown} == {"sum"}


def test_names_of_exporters() -> None:
    assert module_of("__module.layer1.0.conv1/aten::_convolution/Convolution") == "layer1.0.conv1"
    assert module_of("/layer1/layer1.0/conv1/Conv") == "layer1.0.conv1"
    assert module_of("aten::add/Add") == module_of("relu_1/aten.relu.default/Relu") == ""
    paths = ["parts.stem", "parts.stem.0", "parts.other.0"]
    assert matches("/stem/stem.0/Conv", paths) == "parts.stem.0"
    assert matches("/0/Conv", paths) is None


def test_samples_of_equal_arrays() -> None:
    array = np.random.default_rng(1).normal(size=(40, 40)).astype(np.float32)
    one, near, far = (sample(a) for a in (array, array * np.float32(1 + 1e-5), array * np.float32(1.1)))
    assert one is not None and near is not None and far is not None
    assert one.is_close(near) and not one.is_close(far) and not one.is_equal(near)
    assert sample(np.zeros((0, 3), np.float32)) is None
