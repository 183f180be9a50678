"""The cost of reading, validating, compiling and running grows with the size of a model: counted, not timed.

A set that is built again for every layer, or a list that is searched for every finding, increases the counts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.grown import (
    all_wrong,
    bodies,
    chain,
    constants,
    cycle,
    delayed,
    disconnected,
    doubled_edges,
    extents,
    fan_in,
    fan_out,
    idle_ports,
    layer,
    long_attribute,
    metadata,
    misspelt_edges,
    nested,
    net,
    oddly_written,
    one_id,
    one_name,
    one_tensor_name,
    parameter,
    parameters,
    results,
    skips,
    states,
    tensor_names,
    unknown_attributes,
    unknown_types,
    unnamed,
    unreachable,
)
from support.mocks import Wrong
from support.work import MOST, Work

import irexec
from irexec.frontends.reading import read
from irexec.tools.compare.align import align
from irexec.tools.compare.compare import compare
from irexec.tools.compare.runtimes.runtime import OtherModel
from irexec.tools.diff.diff import diff
from irexec.tools.fixes.applying import examine
from irexec.tools.inspect.read import summary_of
from irexec.tools.render.drawing import boxes
from irexec.tools.render.drawing.layered import Layout, layered
from irexec.tools.render.drawing.scene import scene
from irexec.tools.render.printing import Printout
from irexec.tools.render.report.page import report_page
from irexec.tools.render.summary import show
from irexec.tools.run.record import Reference

pytestmark = pytest.mark.in_ci("counts the work of whole models")

SIZE = 50


SOUND = [
    chain, fan_out, fan_in, oddly_written, unreachable, nested, results, parameters, states, bodies, metadata, skips,
    delayed,
]  # fmt: skip
WRONG = [
    all_wrong, disconnected, cycle, one_name, one_id, one_tensor_name, unknown_types, unknown_attributes, extents,
    tensor_names, long_attribute, idle_ports,
]  # fmt: skip


@pytest.mark.parametrize("build", [*SOUND, *WRONG])
def test_validating(build: Callable[[int], str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert Work(monkeypatch).growth(lambda size: partial(irexec.validate, build(size).encode()), SIZE) < MOST


def test_validating_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    def task(size: int) -> Callable[[], object]:
        return partial(irexec.validate, constants(size).encode(), weights=bytes(12 * size))

    assert task(SIZE)().ok
    assert Work(monkeypatch).growth(task, SIZE) < MOST


@pytest.mark.parametrize("build", [*WRONG, unnamed, misspelt_edges, doubled_edges])
def test_finding_fixes(build: Callable[[int], str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert Work(monkeypatch).growth(lambda size: partial(examine, build(size).encode()), SIZE) < MOST


RUN = [chain, fan_out, fan_in, nested, results, parameters, states, bodies]


@pytest.mark.parametrize("build", RUN)
def test_compiling_and_running(build: Callable[[int], str], monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.ones((2, 3), np.float32)

    def task(size: int) -> Callable[[], object]:
        model = irexec.read_model(build(size).encode())
        return lambda: irexec.compile_model(model)([x] * len(model.inputs))

    assert Work(monkeypatch).growth(task, SIZE) < MOST


def test_compiling_and_running_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.ones((2, 3), np.float32)

    def task(size: int) -> Callable[[], object]:
        model = irexec.read_model(constants(size).encode(), weights=bytes(12 * size))
        return lambda: irexec.compile_model(model)([x])

    assert Work(monkeypatch).growth(task, SIZE) < MOST


@pytest.mark.parametrize("build", RUN)
def test_writing_and_reporting(build: Callable[[int], str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The work of save, show, report and diff."""

    def task(size: int) -> Callable[[], object]:
        path = tmp_path / f"{size}.xml"
        path.write_text(build(size))
        model, other = irexec.read_model(path), irexec.read_model(build(size).replace("ReLU", "Tanh").encode())

        def work() -> None:
            irexec.save_model(model, tmp_path / "saved.xml")
            diff(model, other)
            summary, _ = summary_of(read(str(path), mode="strict"))
            assert summary is not None
            show(summary, Printout(color=False))
            report_page([summary], [])

        return work

    assert Work(monkeypatch).growth(task, SIZE) < MOST


@pytest.mark.parametrize("build", [chain, fan_out, fan_in, skips, states, bodies])
def test_comparing(build: Callable[[int], str], monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.ones((2, 3), np.float32)

    def task(size: int) -> Callable[[], object]:
        model, other = irexec.read_model(build(size).encode()), irexec.read_model(build(size).encode())
        reference = Reference(model, [[x] * len(model.inputs)] * 2)

        def work() -> None:
            assert compare(reference, OtherModel("other", other)).agrees

        return work

    assert Work(monkeypatch).growth(task, 48 if build is bodies else 24) < MOST


def test_comparing_to_a_wrong_layer_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def task(size: int) -> Callable[[], object]:
        model = irexec.read_model(chain(size).encode())
        reference, other = Reference(model, [[np.ones((2, 3), np.float32)]]), Wrong(f"n{size - 1}")
        return lambda: compare(reference, other)

    assert Work(monkeypatch).growth(task, 24) < MOST


def test_finding_layers_of_other_names_from_their_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """The beginnings differ, so that no layer reads a paired value."""

    def other_chain(count: int) -> str:
        layers = [parameter(0), parameter(1), layer(2, "Add", 2), *(layer(i, "ReLU") for i in range(3, count))]
        edges = [(0, 0, 2, 0), (1, 0, 2, 1), (2, 2, 3, 0), *((i, 1, i + 1, 0) for i in range(3, count))]
        return net([*layers, layer(count, "Result")], edges).replace('name="n', 'name="m')

    def task(size: int) -> Callable[[], object]:
        one, other = irexec.read_model(chain(size).encode()), irexec.read_model(other_chain(size).encode())

        def work() -> None:
            assert len(align(one, other).forward) >= size - 3

        return work

    assert Work(monkeypatch).growth(task, SIZE) < MOST


@pytest.mark.parametrize("build", [skips, delayed])
def test_drawing_long_skips(build: Callable[[int], str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """For models that are so large that blocks are drawn in blocks: the boxes, and the points that lines pass."""
    steps: list[int] = []

    def counted(*graph: Any, **ends: Any) -> Layout:
        found = layered(*graph, **ends)
        steps.append(found.steps)
        return found

    monkeypatch.setattr(boxes, "layered", counted)

    def work(size: int) -> int:
        path = tmp_path / f"{size}.xml"
        path.write_text(build(size))
        summary, _ = summary_of(read(str(path), mode="strict"))
        assert summary is not None
        steps.clear()
        boxes.place(scene(summary.layers).graph)
        return sum(steps)

    assert work(32 * SIZE) < MOST * work(8 * SIZE)
