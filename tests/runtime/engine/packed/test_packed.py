"""Packed weights give the same bits as the separate layers, and are never unpacked as a whole."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.packed import RANGES, folded, model, packed, weights

import irexec
from irexec.core.types import Stored
from irexec.ops.matrix import product
from irexec.runtime.engine import CompiledModel, constants

ops: Any = irexec.opset15
ALL_FLOATS = ["f16", "bf16", "f32"]


pytestmark = pytest.mark.usefixtures("small_models_too")


def compare(graph: irexec.Model, monkeypatch: pytest.MonkeyPatch, columns: int, *, dtype: Any = np.float32) -> None:
    """Compare with the matrix folded, for numbers of rows that are divided in each of the ways."""
    compiled = CompiledModel(graph)
    (matrix,) = packed(compiled)
    whole = folded(graph, monkeypatch)
    rng = np.random.default_rng(1)
    for rows in (1, 3, 40, matrix.shape[0] + 5):
        given = [rng.standard_normal((1, rows, columns)).astype(dtype), rng.integers(-100, 100, rows)]
        for found, expected in zip(compiled(given).values(), whole(given).values(), strict=True):
            assert found.dtype == expected.dtype and found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("arithmetic", ALL_FLOATS)
@pytest.mark.parametrize("type", RANGES)
@pytest.mark.parametrize(("shape", "group"), [((300, 256), 64), ((129, 393), 131), ((257, 333), 0)])
def test_integers_in_groups_and_rows(
    type: str, arithmetic: str, shape: tuple[int, int], group: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    zero = type if type.startswith("u") else ""
    matrix = weights(rng, type, shape, group=group, arithmetic=arithmetic, zero=zero)
    compare(model(matrix), monkeypatch, shape[1])


FLOATS = [(type, arithmetic) for type in ("nf4", "f8e4m3", "f8e5m2") for arithmetic in ALL_FLOATS]


@pytest.mark.parametrize(("type", "arithmetic"), [*FLOATS, ("f16", "f32"), ("bf16", "f32")])
@pytest.mark.parametrize("scale", [None, 1e-3])
def test_floats(type: str, arithmetic: str, scale: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = weights(np.random.default_rng(2), type, (150, 320), group=64, arithmetic=arithmetic, scale=scale)
    compare(model(matrix), monkeypatch, 320)


@pytest.mark.parametrize("scale", [1e-7, 3e-5, 300.0])
def test_scales_that_make_denormal_and_infinite_halves(scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    compare(model(weights(np.random.default_rng(3), "i8", (140, 256), scale=scale)), monkeypatch, 256)


def test_zero_points_that_are_not_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = weights(np.random.default_rng(4), "u8", (140, 256), group=32, zero="f32", arithmetic="f16")
    compare(model(matrix), monkeypatch, 256)


@pytest.mark.parametrize("type", ["f16", "bf16"])
def test_activations_in_narrow_floats(type: str, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = weights(np.random.default_rng(5), "u4", (140, 256), group=64, zero="u4", arithmetic=type, final=type)
    compare(model(matrix, type=type), monkeypatch, 256, dtype=irexec.Type.by_name[type].dtype)


def test_a_matrix_from_a_file_is_not_unpacked_as_a_whole(tmp_path: Path) -> None:
    matrix = weights(np.random.default_rng(6), "u4", (2048, 1024), group=128, zero="u4")
    irexec.save_model(model(matrix), tmp_path / "m.xml")
    graph = irexec.read_model(tmp_path / "m.xml")
    given = [np.ones((1, 1, 1024), np.float32), np.array([5])]
    CompiledModel(model(weights(np.random.default_rng(7), "u4", (128, 128), group=64)))([given[0][..., :128], given[1]])
    tracemalloc.start()
    try:
        CompiledModel(graph)(given)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # The peak is a tile and its scratch memory; the matrix in f32 has 8 MB.
    assert peak < 3 * product.COPIED_BYTES
    # The constant is not unpacked to a byte for each element either.
    held = [node.held for node in graph.get_ops() if isinstance(node.held, Stored) and node.held.size == 2048 * 1024]
    assert held and all(stored._array is None for stored in held)


def test_few_packed_weights_are_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = model(weights(np.random.default_rng(12), "u4", (256, 128), group=64, zero="u4"))
    monkeypatch.setattr(constants, "LEAST_PACKED_TOTAL", 256 * 128 + 2 * 256 + 1)
    assert packed(CompiledModel(graph))
    monkeypatch.setattr(constants, "LEAST_PACKED_TOTAL", 256 * 128 + 4 * 256 + 1)
    assert not packed(CompiledModel(graph))


def test_another_reader_folds_the_matrix() -> None:
    rng = np.random.default_rng(8)
    matrix = weights(rng, "i8", (256, 128))
    x = ops.parameter([1, 128], np.float32, name="x")
    read = [ops.matmul(x, matrix, False, True), ops.relu(ops.add(matrix, x))]
    assert not packed(CompiledModel(irexec.Model(read, [x], "m")))


def test_a_conversion_that_rounds_in_between_folds_the_matrix() -> None:
    matrix = weights(np.random.default_rng(9), "i8", (256, 128), arithmetic="f32", final="f16")
    graph = model(ops.convert(matrix, "f32"))
    assert not packed(CompiledModel(graph))


def test_indices_outside_the_table() -> None:
    matrix = weights(np.random.default_rng(10), "i8", (256, 128))
    indices = ops.parameter([-1], np.int64, name="indices")
    axis = np.array(0, np.int64)
    filled = CompiledModel(irexec.Model([ops.gather(matrix, indices, axis)], [indices], "m"))
    (rows,) = filled([np.array([256, -257, 255, -1])]).values()
    assert not rows[:2].any() and rows[2].any() and (rows[2] == rows[3]).all()
    strict = irexec.opset7.gather(matrix, indices, axis)
    compiled = CompiledModel(irexec.Model([strict], [indices], "m"))
    assert packed(compiled)
    with pytest.raises(irexec.IRError, match="index 256 is outside"):
        compiled([np.array([256])])


def test_listeners_see_the_matrix() -> None:
    seen = []

    class Seeing:
        def before(self, node: Any, inputs: Any) -> None:
            pass

        def after(self, node: Any, inputs: Any, outputs: Any, seconds: float) -> None:
            if node.type == "MatMul":
                seen.append(inputs[1])

    compiled = CompiledModel(model(weights(np.random.default_rng(11), "u4", (256, 128), group=64, zero="u4")))
    given = [np.eye(128, dtype=np.float32)[None], np.arange(256)]
    results = list(compiled.create_infer_request([Seeing()]).infer(given).values())
    plain = list(compiled(given).values())
    assert [r.tobytes() for r in results] == [p.tobytes() for p in plain]
    np.testing.assert_array_equal(seen[0], plain[1])
    np.testing.assert_allclose(plain[0][0].T, seen[0])
