"""Models of which only one has some of the results or inputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irexec
from irexec import Model
from irexec import opset15 as ops
from irexec.tools.compare.compare import compare
from irexec.tools.compare.result import Comparison
from irexec.tools.compare.runtimes.dumping import dump
from irexec.tools.compare.runtimes.runtime import CannotRun, OtherModel
from irexec.tools.compare.sides import Sides
from irexec.tools.run.record import Reference

X = np.linspace(-2, 2, 16, dtype=np.float32).reshape(2, 8)
WEIGHTS = np.random.default_rng(0).normal(0, 1, (8, 8)).astype(np.float32)


def net(results: str, factor: float = 1.0, *, spare: bool = False, reads: bool = False) -> Model:
    """Return a network with these results. `spare`: with a second input, which a layer `reads`, or none."""
    x = ops.parameter([2, 8], "f32", name="x")
    second = ops.parameter([2, 8], "f32", name="second")
    product = ops.matmul(x, WEIGHTS, False, False, name="product")
    scaled = ops.multiply(product, np.float32(factor), name="scaled")
    layers = {"t": ops.tanh(ops.add(scaled, second) if reads else scaled, name="tanh"), "r": ops.relu(product)}
    for name, node in layers.items():
        node.outputs[0].names = {name}
    return Model([layers[name] for name in results], [x, second] if spare else [x], "net")


def compared(ours: Model, theirs: Model) -> Comparison:
    return compare(Reference(ours, [[X] * len(ours.inputs)]), OtherModel("other.xml", theirs))


@pytest.mark.parametrize(("ours", "theirs", "only"), [("t", "tr", "other.xml"), ("rt", "t", "the model")])
def test_results_of_both_models_are_compared(ours: str, theirs: str, only: str) -> None:
    found = compared(net(ours), net(theirs))
    assert not found.agrees
    assert found.verdict == (f"only {only} has the result r, which is not compared; all 3 layers agree with other.xml")
    assert [name for name, _ in found.results] == ["t"]


def test_a_fault_is_named_beside_a_missing_result() -> None:
    found = compared(net("t"), net("rt", 1.5))
    assert found.culprit is not None
    assert [node.friendly_name for node in found.culprit.nodes] == ["scaled"]
    assert found.verdict.endswith("b is 1.5 instead of 1; only other.xml has the result r, which is not compared")


def test_results_without_names_are_paired_by_what_they_compute() -> None:
    ours, theirs = net("t"), net("rt")
    for model in (ours, theirs):
        for node in model.nodes:
            node.friendly_name = f"{len(model.nodes)}.{node.number}"
            for value in node.outputs:
                value.names = set()
    found = compared(ours, theirs)
    assert found.same
    assert "all 3 layers agree" in found.verdict


def test_an_input_that_no_layer_reads_is_left_out() -> None:
    found = compared(net("t", spare=True), net("t"))
    assert found.agrees
    assert found.notes == ["only the model has the input second, which no layer reads"]
    assert compared(net("t"), net("t", spare=True)).agrees


def test_an_input_that_a_layer_reads_is_refused() -> None:
    with pytest.raises(CannotRun, match=r"other\.xml has 2 inputs and 1 outputs, but the model has 1 inputs and 1 out"):
        compared(net("t"), net("t", spare=True, reads=True))


def test_no_common_result_is_refused() -> None:
    x = ops.parameter([2, 8], "f32", name="x")
    with pytest.raises(CannotRun, match="cannot be paired"):
        compared(net("tr"), Model([ops.softmax(x, 1, name="other")], [x]))


def test_the_model_itself_is_not_changed() -> None:
    ours = net("tr")
    compared(ours, net("t"))
    assert [len(node.outputs[0].users) for node in ours.get_ops() if node.type == "MatMul"] == [2]
    assert len(irexec.compile_model(ours)([X])) == 2


def test_several_sides_with_other_results() -> None:
    sides = Sides([compared(net("tr"), net("t")), compared(net("tr"), net("rt", 1.5))])
    assert not sides.agrees
    assert sides.verdict == "irexec, other.xml and other.xml all differ from each other"


def test_a_dump_of_a_model_with_other_inputs_is_refused(tmp_path: Path) -> None:
    run = Reference(net("t"), [[X]])
    with pytest.raises(CannotRun, match=r"other\.xml has 2 inputs and 1 outputs, but the model has 1 inputs and 1 out"):
        dump(run, OtherModel("other.xml", net("t", spare=True)), tmp_path)
