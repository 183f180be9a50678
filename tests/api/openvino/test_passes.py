"""Passes: rejected arguments and their messages; test_programs.py compares the effects with OpenVINO."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.waiting import PATIENCE

import irexec as ov
from irexec import passes
from irexec.api.openvino.exceptions import NotOffered

ops: Any = ov.opset13


def model_with_bodies() -> ov.Model:
    """Return a model with a Loop whose body adds constants, and an If next to it."""
    condition = ops.parameter([], np.bool_, name="condition")
    x = ops.parameter([2], np.float32, name="x")
    branches = []
    for number in (1.0, 2.0):
        inner = ops.parameter([2], np.float32)
        total = ops.add(ops.constant(np.float32([number])), ops.constant(np.float32([number])))
        branches.append(ov.Model([ops.multiply(inner, total)], [inner]))
    chosen = ops.if_op(condition)
    chosen.set_then_body(branches[0])
    chosen.set_else_body(branches[1])
    chosen.set_input(x.output(0), branches[0].parameters[0], branches[1].parameters[0])
    result = chosen.set_output(branches[0].results[0], branches[1].results[0])
    return ov.Model([result], [condition, x])


def test_constants_of_bodies_are_folded_and_named_as_the_layer_was() -> None:
    model = model_with_bodies()
    assert passes.ConstantFolding().run_on_model(model) is True
    bodies = [body.model for node in model.get_ops() for body in node.bodies]
    assert [sum(op.get_type_name() == "Add" for op in body.get_ops()) for body in bodies] == [0, 0]
    compiled = ov.compile_model(model)
    assert compiled([np.bool_(True), np.float32([1, 2])])[0].tolist() == [2, 4]
    assert compiled([np.bool_(False), np.float32([1, 2])])[0].tolist() == [4, 8]
    assert passes.ConstantFolding().run_on_model(model) is False


def test_a_rewrite_goes_into_bodies() -> None:
    model = model_with_bodies()

    def callback(matcher: passes.Matcher) -> bool:
        root = matcher.get_match_root()
        root.output(0).replace(ops.subtract(*root.input_values()).output(0))
        return True

    wrapped = passes.WrapType("opset1.Multiply")
    rewrite = passes.GraphRewrite()
    rewrite.add_matcher(passes.MatcherPass(passes.Matcher(wrapped, "subtracting"), callback))
    assert rewrite.run_on_model(model)
    assert ov.compile_model(model)([np.bool_(True), np.float32([1, 2])])[0].tolist() == [-1, 0]


def test_a_node_that_was_replaced_is_not_visited_again() -> None:
    x = ops.parameter([2], np.float32, name="x")
    model = ov.Model([ops.relu(ops.exp(ops.abs(x)))], [x])
    seen: list[str] = []

    def callback(matcher: passes.Matcher) -> bool:
        root = matcher.get_match_root()
        seen.append(root.get_type_name())
        if root.get_type_name() != "Relu":
            return False
        root.output(0).replace(ops.sigmoid(x).output(0))
        return True

    rewrite = passes.BackwardGraphRewrite()
    rewrite.add_matcher(passes.MatcherPass(passes.Matcher(passes.AnyInput(), "any"), callback))
    rewrite.run_on_model(model)
    assert seen == ["Result", "Relu", "Parameter"]


@pytest.mark.parametrize("name", ["Relu", "opset99.Relu", "opset13.relu", "opset13.ReLU", "opset1.Gelu", "opset13"])
def test_a_pattern_of_a_type_that_no_opset_has(name: str) -> None:
    with pytest.raises(RuntimeError, match=r"Unsupported opset type|Unrecognized operation type"):
        passes.WrapType(name)


def test_what_is_not_a_pattern_pass_or_model() -> None:
    with pytest.raises(TypeError, match="a node or an output"):
        passes.Matcher(3, "three")
    with pytest.raises(TypeError, match="an input of a pattern is a node"):
        passes.WrapType("opset1.Relu", [3])
    with pytest.raises(TypeError, match="is not a pass"):
        passes.Manager().register_pass(3)
    with pytest.raises(TypeError, match=r"valid openvino\.Model"):
        passes.Manager().run_passes(3)
    with pytest.raises(RuntimeError, match="has no matcher"):
        passes.MatcherPass().apply(ops.parameter([1]))
    with pytest.raises(RuntimeError, match="has matched nothing"):
        passes.Matcher(passes.AnyInput(), "any").get_match_root()
    with pytest.raises(RuntimeError, match="names no attribute"):
        passes.attrs_match({})
    with pytest.raises(ValueError, match="more than once"):
        passes.shape_matches("[..., 3, ...]")
    with pytest.raises(RuntimeError, match="override it"):
        passes.ModelPass().run_on_model(ov.Model([], []))
    with pytest.raises(RuntimeError, match="not associated with any of Parameters"):
        passes.MakeStateful({"no": "no"}).run_on_model(model_with_bodies())
    assert passes.LowLatency2().run_on_model(model_with_bodies()) is False
    with pytest.raises(NotOffered, match="write it as a ModelPass"):
        passes.Manager().register_pass("Pruning")


def test_a_graph_is_written_for_graphviz(tmp_path: Path) -> None:
    def mark(node: ov.Node, attributes: list[str]) -> None:
        attributes.append(f"color={'red' if node.get_type_name() == 'Parameter' else 'black'}")

    passes.VisualizeTree(str(tmp_path / "graph.svg"), mark).run_on_model(model_with_bodies())
    lines = (tmp_path / "graph.svg.dot").read_text().splitlines()
    assert lines[0] == "digraph {"
    assert lines[-1] == "}"
    assert sum("color=red" in line for line in lines) == 2
    assert sum("->" in line and "[label=" in line for line in lines) == 3


def test_importing_patterns_brings_no_more_than_the_engine() -> None:
    asked = "('irexec.tools.render', 'irexec.tools.compare')"
    code = f"import irexec.passes, sys; print([m for m in {asked} if m in sys.modules])"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE
        ).stdout
        == "[]\n"
    )
