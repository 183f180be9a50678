"""Results belong to the caller: writing to them changes no other value, in this call or in later ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.amounts import amount
from support.examples import example_of
from support.graphs import RandomGraph, alike, candidates
from support.lowering import lowered, small_ones_too

import irexec
from irexec import Model
from irexec.core.types import F32
from irexec.model.graph.evaluate import evaluate
from irexec.runtime.engine import memory

ops: Any = irexec.opset15
X = np.arange(6, dtype=np.float32).reshape(2, 3)
C = np.arange(6, 12, dtype=np.float32).reshape(2, 3)
NO_BYTES = "TUO"


def overwrite(array: np.ndarray) -> None:
    """Overwrite all elements by other values."""
    if array.dtype.kind in NO_BYTES:
        array[...] = "overwritten"
    elif array.dtype.kind == "b":
        np.logical_not(array, out=array)
    else:
        array.reshape(-1).view(np.uint8)[...] ^= 0x5A


def contents(arrays: Any) -> list[Any]:
    return [a.tolist() if a.dtype.kind in NO_BYTES else (a.dtype, a.shape, a.tobytes()) for a in arrays]


def check(infer: Callable[[list[np.ndarray]], Any], given: list[np.ndarray], calls: int = 4) -> None:
    """Check that every call computes the same and leaves its inputs unchanged, if each result is overwritten after each
    call.
    """
    inputs = [array.copy() for array in given]
    expected = [array.copy() for array in infer(inputs).to_tuple()]
    for _ in range(calls):
        results = infer(inputs).to_tuple()
        assert all(alike(np.asarray(a), np.asarray(b)) for a, b in zip(results, expected, strict=True))
        found = contents(results)
        for index, array in enumerate(results):
            assert array.flags.writeable, f"result {index}"
            overwrite(array)
            assert contents(results[index + 1 :]) == found[index + 1 :], f"result {index} has memory of another"
        assert contents(inputs) == contents(given)


def random_graphs(dynamic: bool, compile: Callable[[Model], Any]) -> None:
    pool = candidates()
    for seed in range(amount(25, 10)):
        graph = RandomGraph(pool, seed, dynamic=dynamic)
        check(compile(graph.model), graph.inputs)


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_results_of_random_graphs(dynamic: bool) -> None:
    random_graphs(dynamic, irexec.compile_model)


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_results_of_compiled_code(dynamic: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llvmlite", reason="compiled code is the extra irexec[fast]")
    small_ones_too(monkeypatch.setattr)
    monkeypatch.setattr(memory, "_MIN_BYTES", 1)
    random_graphs(dynamic, lowered)


def outputs(x: Any) -> list[Any]:
    """Return results that read Parameters, constants, each other, and views of all of them."""
    constant, made = ops.constant(C), ops.relu(x)
    split = ops.split(made, np.int64(1), 3)
    return [
        *(x, x, constant, constant, made, made),
        *(ops.reshape(value, [3, 2], False) for value in (x, constant, made)),
        *(ops.transpose(value, [1, 0]) for value in (x, constant, made)),
        *(ops.unsqueeze(value, [0]) for value in (x, constant, made)),
        *(ops.squeeze(ops.unsqueeze(value, [0]), [0]) for value in (x, constant, made)),
        *(ops.broadcast(value, [2, 3]) for value in (x, constant, made)),
        *(ops.broadcast(value, [1, 2, 3]) for value in (x, constant, made)),
        *(ops.broadcast(value, [2, 2, 3]) for value in (x, constant, made)),
        *(ops.slice(value, [0], [1], [1], [0]) for value in (x, constant, made)),
        *(ops.convert(value, "f32") for value in (x, constant, made)),
        *(ops.concat([value], 0) for value in (x, constant, made)),
        *(split.output(number) for number in range(3)),
        ops.broadcast(np.float32(3), [4, 5]),
        ops.broadcast(ops.reduce_max(made, [0, 1], keep_dims=True), [1, 1]),
        ops.add(constant, constant),
        ops.shape_of(x),
        ops.constant(np.float32(3)),
        ops.constant(np.int8([1, 2, 3])),
    ]


@pytest.fixture(params=["made", "read"])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> Model:
    x = ops.parameter([2, 3], np.float32, name="x")
    made = Model(outputs(x), [x], "views")
    if request.param == "made":
        return made
    irexec.save_model(made, tmp_path / "views.xml", compress_to_fp16=False)
    return irexec.read_model(tmp_path / "views.xml")


WAYS: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "call": lambda compiled: compiled,
    "shared": lambda compiled: lambda given: compiled(given, share_inputs=True, share_outputs=True),
    "new request": lambda compiled: compiled.infer_new_request,
    "request": lambda compiled: compiled.create_infer_request().infer,
    "request, shared": lambda compiled: partial(
        compiled.create_infer_request().infer, share_inputs=True, share_outputs=True
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_results_that_are_views_of_others(model: Model, way: str) -> None:
    constants = [node.constant for node in model.nodes if node.constant is not None]
    before = contents(constants)
    check(WAYS[way](irexec.compile_model(model)), [X])
    assert contents(constants) == before
    for value in model.outputs:
        alone = Model([value.node.inputs[0]], model.parameters, "one")
        check(WAYS[way](irexec.compile_model(alone)), [X], calls=1)


def test_a_file_of_weights_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "large.xml"
    large = np.arange(1 << 18, dtype=np.float32)
    irexec.save_model(Model([ops.constant(large)], [], "large"), path, compress_to_fp16=False)
    before = path.with_suffix(".bin").read_bytes()
    check(irexec.compile_model(path), [])
    assert path.with_suffix(".bin").read_bytes() == before


def test_variables_stay_as_they_are() -> None:
    x = ops.parameter([2, 3], np.float32, name="x")
    before = ops.read_value(ops.constant(C), "state", "f32", [2, 3])
    kept = ops.assign(ops.add(before, ops.constant(np.ones((2, 3), np.float32))), "state")
    model = Model([ops.result(before), ops.result(kept.inputs[0]), ops.result(x)], [kept], [x], "stateful")
    request = irexec.compile_model(model).create_infer_request()
    for number in range(4):
        results = request.infer([X]).to_tuple()
        assert np.array_equal(results[0], C + number)
        assert np.array_equal(results[1], C + number + 1)
        for array in results:
            overwrite(array)
        assert np.array_equal(request.query_state()[0].state.data, C + number + 1)


def test_texts_and_results_of_bodies() -> None:
    condition = ops.parameter([], np.bool_, name="condition")
    branches = [Model([ops.constant(values), ops.constant(X)], [], "branch") for values in (C, C + 1)]
    either = ops.if_op(condition.output(0))
    for place, branch in enumerate(branches):
        (either.set_then_body if place == 0 else either.set_else_body)(branch)
    found = [either.set_output(branches[0].results[n], branches[1].results[n]) for n in range(2)]
    check(irexec.compile_model(Model([*found, *found], [condition], "either")), [np.array(True)])


def test_what_functions_of_opsets_return_is_the_callers() -> None:
    for op in candidates():
        if op.type == "BinaryConvolution" or (example := example_of(op, F32)) is None:
            continue  # no array has the type u1
        names = {attribute.name: attribute.file_name for attribute in op.attributes}
        attributes = {names[name]: value for name, value in example.attributes.items() if value is not None}
        before = contents(example.arrays)
        results = evaluate(op, example.arrays, attributes)
        expected = contents(results)
        for index, array in enumerate(results):
            assert array.flags.writeable, op
            if array.dtype.kind not in NO_BYTES and array.flags.c_contiguous:
                overwrite(array)
            assert contents(results[index + 1 :]) == expected[index + 1 :], op
        assert contents(example.arrays) == before, op
    same = ops.broadcast(np.float32(1), [2, 3])
    same[0, 0] = 7
    assert same.sum() == 12


def test_large_results_are_not_copied() -> None:
    """An array that a layer computed for the result is the result, and so is a view of it that no other value uses."""
    x = ops.parameter([1 << 10, 1 << 10], np.float32, name="x")
    joined = ops.concat([x, ops.relu(x)], 0)
    array = np.ones((1 << 10, 1 << 10), np.float32)
    made: list[np.ndarray] = []

    class Watching:
        def before(self, node: Any, inputs: Any) -> None: ...

        def after(self, node: Any, inputs: Any, outputs: Any, seconds: float) -> None:
            made[:] = outputs

    for result in (joined, ops.reshape(joined, [-1], False), ops.softmax(joined, 1)):
        compiled = irexec.compile_model(Model([result], [x], "large"))
        request = compiled.create_infer_request([Watching()])
        results = request.infer([array], share_inputs=True, share_outputs=True)
        assert np.shares_memory(results[0], made[0])


def test_a_result_without_tensor_names_is_found_by_the_name_that_run_prints() -> None:
    x = irexec.opset15.parameter([2], np.float32, name="x")
    model = irexec.Model([irexec.opset15.relu(x, name="r"), irexec.opset15.abs(x, name="a")], [x], "m")
    for port in model.outputs:
        port.names.clear()
    results = irexec.compile_model(model)([np.float32([-1, 2])])
    assert results["r"].tolist() == [0, 2] and results["a"].tolist() == [1, 2]
    assert results[model.results[1].friendly_name].tolist() == [1, 2]


def test_the_name_of_an_inner_layer_gets_a_hint() -> None:
    x = irexec.opset15.parameter([2], np.float32, name="x")
    model = irexec.Model([irexec.opset15.relu(irexec.opset15.abs(x, name="inner"), name="r")], [x], "m")
    results = irexec.compile_model(model)([np.float32([-1, 2])])
    with pytest.raises(KeyError, match=r"'inner' is not found.*model\.add_outputs\(\('inner', 0\)\)"):
        results["inner"]
    with pytest.raises(RuntimeError, match=r"Tensor name inner was not found\. .*\('inner', 0\)"):
        model.add_outputs("inner")
    model.add_outputs(("inner", 0))
    assert irexec.compile_model(model)([np.float32([-1, 2])])[1].tolist() == [1, 2]
