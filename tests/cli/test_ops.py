"""irexec ops: the operator set on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.commands import output

from irexec.ops.spec import contents
from irexec.ops.spec.operator import REGISTRY

EXTENSION = '''
from irexec.ops.spec.operator import operator
from irexec.ops.spec.tensors import AnyTensor
from irexec.ops.rules.shapes import same_as
@operator("Same", "mine", shapes=same_as())
def same(x: AnyTensor, /, *, times: int = 1) -> AnyTensor:
    """x."""
    return x
'''


@pytest.mark.by_hand(0)
def test_all_operators(capsys: pytest.CaptureFixture[str]) -> None:
    text = output(["ops"], capsys)
    assert "\nScatterNDUpdate-15 " in text
    assert "\nGather-1 " in text
    assert text.endswith("operators are implemented.\n")


@pytest.mark.by_hand(0)
def test_missing_operators_are_those_that_no_module_declares(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(output(["ops", "--missing", "--format", "json"], capsys))
    assert [row["name"] for row in found] == [f"{t}-{v}" for t, v, op in contents.everything() if op is None]


def test_one_operator(capsys: pytest.CaptureFixture[str]) -> None:
    assert output(["ops", "scatterndupdate"], capsys).startswith("ScatterNDUpdate-15 (opset 15-16)\n")
    (found,) = json.loads(output(["ops", "Gather-opset7", "--format", "json"], capsys))
    assert (found["name"], found["attributes"][0]["name"]) == ("Gather-7", "batch_dims")
    assert "| [Gather-8](../irexec/ops/movement/gather.py) |" in output(
        ["ops", "Gather", "--format", "markdown"], capsys
    )


@pytest.mark.by_hand(1)
@pytest.mark.parametrize(
    ("name", "hint"),
    [("Gathr", "Gather"), ("Gather-99", "Gather-8"), ("Qwertyuiop", "`irexec ops` lists all operators")],
)
def test_an_unknown_operator(name: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = output(["ops", name], capsys, code=2)
    assert f"error[U005]: unknown operator '{name}'" in text
    assert hint in text


def test_missing_and_one_operator_do_not_go_together(capsys: pytest.CaptureFixture[str]) -> None:
    assert "error[U003]" in output(["ops", "Gather", "--missing"], capsys, code=2)


@pytest.mark.by_hand(0)
def test_a_user_s_own_operator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "own.py"
    path.write_text(EXTENSION)
    try:
        text = output(["ops", "Same", "--extension", str(path)], capsys)
        assert text.startswith("Same-mine (opset mine)\n") and text.endswith(f"source: {path}\n")
        assert "\nSame-mine " in output(["ops", "--extension", str(path)], capsys)
    finally:
        del REGISTRY["Same", "mine"]
    assert "error[U001]" in output(["ops", "--extension", str(tmp_path / "none.py")], capsys, code=2)
