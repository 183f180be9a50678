"""Several sides that continue one text: one line names the side that parts from the others, with the step and block."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.language_folders import write

from irexec.cli.main import main
from irexec.tools.compare.runtimes.choose import own_config

pytest.importorskip("regex")


def compared(capsys: pytest.CaptureFixture[str], folder: Path, *others: str | Path, code: int) -> Any:
    words = ["compare", str(folder), "--prompt", "The sky is", "--tokens", "4", "--format", "json"]
    assert main([*words, *(word for other in others for word in ("--with", str(other)))]) == code
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    return [write(tmp_path / name, "llama", fault) for name, fault in (("right", ""), ("a", "scale"), ("b", "scale"))]


def test_one_side_differs(folders: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    right, wrong, _ = folders
    found = compared(capsys, right, right, wrong, code=1)
    step = found["comparisons"][1]["step"]
    assert found["verdict"].startswith(
        f"{wrong} differs from the others: irexec and {right} agree; {wrong}: step {step} (KL "
    )
    assert found["verdict"].endswith("), block 1, attention")


def test_irexec_differs_from_all_others(folders: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    right, *wrong = folders
    found = compared(capsys, right, *wrong, code=1)
    assert found["verdict"].startswith(
        f"irexec differs from all others: {wrong[0]} and {wrong[1]} agree with each other; {wrong[0]}: step"
    )


def test_the_line_is_the_first(folders: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(folders[0])
    assert main(["compare", folder, "--prompt", "The", "--tokens", "3", "--with", folder, "--with", folder]) == 0
    assert " ".join(capsys.readouterr().out.split()).startswith("irexec, ")


def test_settings_of_one_side(folders: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("openvino")
    plain = "openvino,INFERENCE_PRECISION_HINT=f32,KV_CACHE_PRECISION="
    found = compared(capsys, folders[0], f"{plain}f32", f"{plain}u8", folders[1], code=1)
    first, second, third = found["comparisons"]
    assert [one["setting"] for one in (first, third)] == ["", ""]
    assert second["setting"].startswith("KV_CACHE_PRECISION is u8")
    assert found["verdict"].startswith(f"{folders[1]} differs from the others: irexec and OpenVINO")
    assert second["setting"] in found["verdict"]


def test_properties_in_the_name_of_a_side() -> None:
    assert own_config("openvino:HETERO:GPU,CPU,A=1,B=x=y") == {"A": "1", "B": "x=y"}
    assert own_config("a,b=c.xml") == own_config("openvino:CPU") == {}
