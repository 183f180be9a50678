"""irexec compare with several other sides at once: which one differs from the others."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from support.failing import SAMPLES, reference
from support.mocks import Wrong

import irexec
from irexec.cli.main import main
from irexec.core.types import Array
from irexec.tools.compare.compare import compare
from irexec.tools.compare.sides import Sides
from irexec.tools.render.compare import show_comparison
from irexec.tools.render.printing import Printout


def sides(*layers: str) -> Sides:
    found = [compare(reference("loop"), Wrong(layer)) for layer in layers]
    for one, letter in zip(found, "ABCD", strict=False):
        one.other = letter
    return Sides(found)


def test_all_agree() -> None:
    found = sides("nothing", "nothing")
    assert (found.verdict, found.agrees) == ("irexec, A and B agree", True)


@pytest.mark.parametrize(
    ("layers", "verdict"),
    [
        (("last", "nothing"), "A differs from the others: irexec and B agree, also about last"),
        (("nothing", "nothing", "scaled"), "C differs from the others: irexec and A and B agree, also about scaled"),
        (("last", "nothing", "scaled"), "A and C differ from the others: irexec and B agree, also about last"),
        (("last", "last"), "irexec differs from all others: A and B agree with each other"),
        (
            ("last", "nothing", "last"),
            "A and C differ from the others and agree with each other: irexec and B agree, also about last",
        ),
        (("last", "last", "scaled"), "A and B agree with each other, irexec and C differ from all others"),
        (
            ("last", "scaled", "scaled", "last"),
            "A and D agree with each other, B and C agree with each other, irexec differs from all others",
        ),
        (("last", "scaled"), "irexec, A and B all differ from each other"),
    ],
)
def test_the_side_that_differs_from_all_others(layers: tuple[str, ...], verdict: str) -> None:
    found = sides(*layers)
    assert (found.verdict, found.agrees) == (verdict, False)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = irexec.read_model(SAMPLES / "classifier" / "model.xml")
    for node in model.get_ops():
        if node.friendly_name == "block1/pointwise/norm":
            node.attributes["epsilon"] = 0.1
    other = tmp_path / "other.xml"
    irexec.save_model(model, other)
    file = str(SAMPLES / "classifier" / "model.xml")
    given = ["compare", file, "--input", f"image={SAMPLES / 'classifier' / 'image.npy'}", "--with", file]
    assert main([*given, "--with", str(other)]) == 1
    text = " ".join(capsys.readouterr().out.split())
    verdict = f"{other} differs from the others: irexec and {file} agree, also about block1/pointwise/norm"
    assert text.startswith(verdict)
    assert "first wrong layer: block1/pointwise/norm" in text
    assert main([*given, "--with", str(other), "--format", "json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert [one["agrees"] for one in told["comparisons"]] == [True, False]
    assert main([*given, "--with", str(other), "--dump", str(tmp_path / "dumped")]) == 2


def stepping() -> irexec.Model:
    from irexec import opset15 as ops

    x = ops.parameter([4], "f32", name="x")
    scaled = ops.multiply(x, np.array([1, 2, 3, 4], np.float32), name="scaled")
    return irexec.Model([ops.multiply(ops.floor(scaled, name="cut"), np.float32(5), name="last")], [x], "stepping")


def test_the_layer_where_rounding_becomes_a_jump() -> None:
    from irexec.tools.run.record import Reference

    def distort(array: Array) -> Array:
        return np.nextafter(array, np.float32(0))

    run = Reference(stepping(), [[np.ones(4, np.float32)]])
    found = compare(run, Wrong("scaled", distort))
    assert re.fullmatch(
        r"a rounding difference is amplified by cut \(Floor\): its input differs by \S+ ulp, its result by \S+ %",
        found.notes[0],
    )
    assert not compare(run, Wrong("nothing")).notes


def test_a_long_name_of_a_side_fits_80_columns() -> None:
    settings = "INFERENCE_PRECISION_HINT=f32, KV_CACHE_PRECISION=f32, DYNAMIC_QUANTIZATION_GROUP_SIZE=0"
    found = compare(reference("loop"), Wrong("last"))
    found.other = f"OpenVINO 2026.4.1 CPU ({settings})"
    page = Printout()
    show_comparison(found, page)
    assert max(map(len, page.text.splitlines())) <= 80
    assert "results: OpenVINO 2026.4.1 CPU (INFERENCE_PRECISION_HINT=f32," in page.text
