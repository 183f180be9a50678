"""The first accepted sizes: found even if dimensions depend on each other, and used by commands that choose inputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.dynamic_nets import MODELS, _input, _whole

import irexec
from irexec import opset15 as op
from irexec.cli.main import main
from irexec.tools.shapes.base import find_base
from irexec.tools.shapes.tracer import Tracer

pytestmark = pytest.mark.any_python


@pytest.mark.parametrize("name", MODELS)
def test_sizes_are_found(name: str) -> None:
    model = MODELS[name]()
    prober = Tracer(model, [value.type.shape for value in model.inputs])
    sizes, refusal = find_base(prober)
    assert sizes is not None and refusal is None
    assert prober.accepts(sizes)


def test_a_run_chooses_sizes_that_depend_on_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    irexec.save_model(MODELS["flattened"](), tmp_path / "flattened.xml")
    assert main(["run", str(tmp_path / "flattened.xml")]) == 0
    assert "shape chosen for [?,3,?,?]" in " ".join(capsys.readouterr().out.split())


def test_time_that_runs_out_gives_no_sizes() -> None:
    model = MODELS["flattened"]()
    prober = Tracer(model, [value.type.shape for value in model.inputs])
    with prober.limited(0):
        assert find_base(prober)[0] is None


def test_comparisons_that_refuse_are_solved() -> None:
    """Two sizes that differ from those of the other input by different numbers."""
    one, other = _input("one", [-1, -1, -1]), _input("other", [-1, -1, -1])
    zero = op.constant(np.float32(0))
    cut = op.pad(one, _whole(0, -2, 1), _whole(0, -1, -3), "constant", zero)
    shapes = irexec.shapes(irexec.Model([op.concat([cut, other], 0)], [one, other]))
    assert shapes.accepts([(2, 9, 8), (3, 6, 6)]) and not shapes.accepts([(2, 9, 8), (3, 6, 7)])
    assert shapes.evidence == "proved"


def test_a_trace_answers_for_other_sizes_without_inference() -> None:
    model = MODELS["windows"]()
    prober = Tracer(model, [value.type.shape for value in model.inputs])
    assert prober.accepts((2, 14, 21)) and prober.probes == 1
    assert prober.accepts((5, 28, 7)) and prober.outputs((5, 28, 7)) == ((20, 49, 6),)
    assert prober.probes == 1 and prober.combinations == 2
    assert not prober.accepts((2, 14, 20)) and prober.refusal((2, 14, 20)) is not None


def _mixer(patches: int) -> irexec.Model:
    """Return patches of 32 pixels, mixed by a matrix of their number; the number of channels is also dynamic."""
    image = _input("image", [-1, -1, -1, -1])
    kernel = op.constant(np.ones((2, 3, 32, 32), np.float32))
    data = op.convolution(image, kernel, [32, 32], [0, 0], [0, 0], [1, 1])
    flat = op.reshape(data, _whole(0, 2, -1), True)
    return irexec.Model([op.matmul(flat, op.constant(np.ones((patches, 4), np.float32)), False, False)], [image])


@pytest.mark.parametrize("patches", [49, 36])
def test_a_fixed_number_of_patches(patches: int) -> None:
    """Height and width change together up to the first sizes, and afterwards each by any factor of the number."""
    shapes = irexec.shapes(_mixer(patches))
    assert shapes.conditions == [["dim_0_1 == 3", f"(H // 32)*(W // 32) == {patches}"]]
    assert shapes.accepts([(1, 3, 32, 32 * patches)])
