"""The layer at which a runtime that cannot run a model begins to fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.failing import reference
from support.faults import Planted, chain, of_type

import irexec
from irexec import Model, Node
from irexec import opset15 as ops
from irexec.cli.main import main
from irexec.ops.spec.operator import REGISTRY
from irexec.tools.compare.compare import compare
from irexec.tools.compare.refusal import refused_at
from irexec.tools.compare.runtimes.runtime import CannotRun, OtherModel
from irexec.tools.run.record import Reference


def failed(planted: Planted) -> CannotRun:
    with pytest.raises(CannotRun) as caught:
        planted.load(reference("classifier").model)
    return caught.value


@pytest.mark.parametrize("effect", ["refuses", "crash"])
@pytest.mark.parametrize(
    "pattern", [of_type("MaxPool"), of_type("SoftMax"), chain("Convolution", "BatchNormInference", "ReLU")]
)
def test_the_layer_with_which_it_begins(pattern: Callable[[Model], list[Node]], effect: str) -> None:
    planted = Planted(pattern, effect)
    found = refused_at(reference("classifier"), planted, failed(planted))
    first = pattern(reference("classifier").model)[0]
    assert found is not None and found.friendly_name == first.friendly_name


def test_a_runtime_that_runs_nothing_has_no_such_layer() -> None:
    planted = Planted(lambda model: [*model.nodes], "refuses")
    assert refused_at(reference("classifier"), planted, failed(planted)) is None
    hanging = Planted(of_type("MaxPool"), "hang")
    assert refused_at(reference("classifier"), hanging, failed(hanging)) is None


OPERATOR = """\
from typing import Annotated
import irexec
from irexec.ops.spec.operator import Elements
from irexec.ops.rules.shapes import same_as
from irexec.core.types import F32, Array
Float = Annotated[Array, Elements("T", {F32})]

@irexec.operator("Unheard", "elsewhere", shapes=same_as())
def unheard(x: Float, /) -> Float:
    return x * 2
"""


def test_the_command_names_the_layer_that_openvino_rejects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("openvino")
    monkeypatch.chdir(tmp_path)
    x = made = ops.parameter([2, 3], np.float32, name="x")
    for name in ("one", "two", "three", "four", "five"):
        made = ops.abs(made, name=name)
    irexec.save_model(Model([made], [x], "m"), "m.xml")
    text = Path("m.xml").read_text()
    Path("m.xml").write_text(
        text.replace('name="four" type="Abs" version="opset1"', 'name="four" type="Unheard" version="elsewhere"')
    )
    Path("unheard.py").write_text(OPERATOR)
    try:
        assert main(["compare", "m.xml", "--extension", "unheard.py", "--with", "openvino"]) == 2
    finally:
        REGISTRY.pop(("Unheard", "elsewhere"), None)
    assert "it occurs at four (Unheard): the layers before it can be run" in " ".join(capsys.readouterr().err.split())


def with_heads(special_zero: bool) -> Model:
    x = ops.parameter([-1, -1, 32], np.float32, name="x")
    heads = ops.reshape(ops.relu(x, name="relu"), np.int64([0, 0, 2, 16]), special_zero, name="heads")
    turned = ops.transpose(heads, np.int64([0, 2, 1, 3]), name="turned")
    length = ops.gather(ops.shape_of(turned, name="shape"), np.int64([2]), np.int64(0), name="length")
    ends = [ops.add(turned, ops.convert(length, "f32", name="number"), name="end")]
    return Model(ends, [x], "heads")


def test_the_layer_that_makes_the_other_model_fail_is_named_alone() -> None:
    """The length that follows from the layer's wrong shape is known without running the layer."""
    rows = np.random.default_rng(0).normal(0, 1, (2, 5, 32)).astype(np.float32)
    found = compare(Reference(with_heads(True), [[rows]]), OtherModel("other.xml", with_heads(False)))
    assert found.culprit is not None
    assert [node.friendly_name for node in found.culprit.nodes] == ["heads"]
    assert "special_zero is False instead of True; other.xml then fails: heads (Reshape): " in found.verdict
