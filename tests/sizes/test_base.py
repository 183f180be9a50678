"""The first sizes: found where dimensions depend on each other, and used by commands that choose inputs."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.dynamic_nets import MODELS

import irexec
from irexec.cli.main import main
from irexec.sizes.base import find_base
from irexec.sizes.probe import Prober

pytestmark = pytest.mark.any_python


@pytest.mark.parametrize("name", MODELS)
def test_sizes_are_found(name: str) -> None:
    model = MODELS[name]()
    prober = Prober(model, [value.type.shape for value in model.inputs])
    sizes, refusal = find_base(prober)
    assert sizes is not None and refusal is None
    assert prober.accepts(sizes)


def test_a_run_chooses_sizes_that_depend_on_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    irexec.save_model(MODELS["flattened"](), tmp_path / "flattened.xml")
    assert main(["run", str(tmp_path / "flattened.xml")]) == 0
    assert "shape chosen for [?,3,?,?]" in capsys.readouterr().out


def test_time_that_runs_out_gives_no_sizes() -> None:
    model = MODELS["flattened"]()
    prober = Prober(model, [value.type.shape for value in model.inputs])
    with prober.limited(0):
        assert find_base(prober)[0] is None
