"""ONNX's own tests, live from the package: its node tests, its simple models, and those converted from PyTorch."""

from __future__ import annotations

import warnings
import zlib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import irexec

onnx = pytest.importorskip("onnx")

PARTS = 12

# Why a node test does not pass, by a part of its name.
EXCEPTIONS = {
    "test_ai_onnx_ml_": "classical machine learning is refused by name",
    "test_attention_4d_causal_fp16": "one unit in the last place of f16: ONNX's numbers are rounded more often",
}
# Draws without a seed: only types and shapes can be compared.
RANDOM = "test_bernoulli"


class Case(NamedTuple):
    """One test: a model, and pairs of inputs and outputs."""

    name: str
    model: Any
    data_sets: list[tuple[list[Any], list[Any]]]
    rtol: float
    atol: float


@cache
def node_cases() -> list[Case]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        collected = collect_testcases(None)
    return [Case(c.name, c.model, c.data_sets, c.rtol, c.atol) for c in collected]


def stored_cases(kind: str) -> Iterator[Case]:
    """The tests that the package has as files."""
    from onnx.backend.test.loader import load_model_tests

    for case in load_model_tests(kind=kind):
        folder = Path(case.model_dir)
        model = onnx.load(folder / "model.onnx")
        sets = [
            (_stored(data, "input", model.graph.input), _stored(data, "output", model.graph.output))
            for data in sorted(folder.glob("test_data_set_*"))
        ]
        yield Case(case.name, model, sets, case.rtol, case.atol)


def _stored(folder: Path, what: str, infos: Any) -> list[Any]:
    protos = []
    for index, path in enumerate(sorted(folder.glob(f"{what}_*.pb"), key=lambda p: int(p.stem.rpartition("_")[2]))):
        which = infos[index].type.WhichOneof("value")
        proto = {"sequence_type": onnx.SequenceProto, "optional_type": onnx.OptionalProto}.get(
            which, onnx.TensorProto
        )()
        proto.ParseFromString(path.read_bytes())
        protos.append(proto)
    return protos


def check(case: Case, folder: Path) -> None:
    """Run the case's model on its inputs and compare with its outputs as ONNX's own runner does."""
    path = folder / "model.onnx"
    path.write_bytes(case.model.SerializeToString())
    compiled = irexec.compile_model(irexec.read_model(path))
    for given, expected in case.data_sets:
        named = zip(case.model.graph.input, map(plain, given), strict=False)
        results = compiled({info.name: value for info, value in named})
        for info, wanted in zip(case.model.graph.output, expected, strict=True):
            compare(plain(wanted), results[info.name], case)


def compare(wanted: Any, found: Any, case: Case) -> None:
    from onnx.backend.test.runner import Runner

    if isinstance(wanted, (list, tuple)):
        assert isinstance(found, list) and len(found) == len(wanted)
        for a, b in zip(wanted, found, strict=True):
            compare(a, b, case)
    elif wanted is None:
        assert found is None
    elif case.name.startswith(RANDOM):
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    else:
        with np.errstate(all="ignore"):
            Runner.assert_similar_outputs([wanted], [found], rtol=case.rtol, atol=case.atol)


def plain(item: Any) -> Any:
    """A value of ONNX's as an array, a list of arrays, or None."""
    if isinstance(item, onnx.SequenceProto):
        return onnx.numpy_helper.to_list(item)
    if isinstance(item, onnx.OptionalProto):
        return onnx.numpy_helper.to_optional(item)
    return onnx.numpy_helper.to_array(item) if isinstance(item, onnx.TensorProto) else item


def failures(cases: list[Case], folder: Path) -> dict[str, str]:
    failed = {}
    for case in cases:
        try:
            check(case, folder)
        except Exception as error:  # every kind of failure is collected, to be shown by the case's name
            failed[case.name] = f"{error.__class__.__name__}: {error}"[:300]
    return failed


def unexpected(failed: dict[str, str]) -> dict[str, str]:
    return {name: why for name, why in failed.items() if not name.startswith(tuple(EXCEPTIONS))}


@pytest.mark.parametrize("part", range(PARTS))
def test_every_node_test_passes(part: int, tmp_path: Path) -> None:
    cases = [case for case in node_cases() if zlib.crc32(case.name.encode()) % PARTS == part]
    assert len(cases) > 50
    failed = failures(cases, tmp_path)
    assert unexpected(failed) == {}


def test_no_exception_has_lost_its_reason(tmp_path: Path) -> None:
    if not onnx.__version__.startswith("1.23"):
        pytest.skip(f"the table is of the node tests of onnx 1.23, this is {onnx.__version__}")
    named = [case for case in node_cases() if case.name.startswith(tuple(EXCEPTIONS))]
    failed = failures(named, tmp_path)
    assert failed.keys() == {case.name for case in named} and len(named) <= 10


@pytest.mark.parametrize("kind", ["simple", "pytorch-converted", "pytorch-operator"])
def test_every_stored_test_passes(kind: str, tmp_path: Path) -> None:
    cases = list(stored_cases(kind))
    assert len(cases) > 10
    assert unexpected(failures(cases, tmp_path)) == {}


def test_the_page_of_operators_is_in_step() -> None:
    from irexec.frontends.onnx import status

    if not onnx.__version__.startswith("1.23"):
        pytest.skip(f"the page is of onnx 1.23, this is {onnx.__version__}")
    page = (Path(__file__).parents[2] / "docs" / "onnx.md").read_text("utf-8")
    assert page == status.page(), "regenerate: python -m irexec.frontends.onnx.status > docs/onnx.md"


def test_every_version_of_every_operator_from_opset_7_on_is_translated(tmp_path: Path) -> None:
    """But one, which ONNX took away; it is refused by name."""
    from irexec.frontends.onnx.status import ways

    newer: dict[str, list[tuple[int, str]]] = {}
    for name, versions in ways("").items():
        # The version that opset 7 has, and those that came later.
        first = max((since for since, _ in versions if since <= 7), default=0)
        newer[name] = [(since, how) for since, how in versions if since >= first]
    counts = Counter(how for versions in newer.values() for _, how in versions)
    refused = [(name, since) for name, versions in newer.items() for since, how in versions if how == "no"]
    print(f"onnx {onnx.__version__}: {len(newer)} operators from opset 7 on, versions: {dict(counts)}")
    assert len(newer) >= 203 and counts.total() > 500
    assert refused == [("Upsample", 10)]
    model = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["" : 10]> g (float[1] x) => (float[1] y) { [up] y = Upsample(x, x) }'
    )
    onnx.save(model, tmp_path / "model.onnx")
    (finding,) = irexec.validate(tmp_path / "model.onnx").errors
    assert (finding.code, finding.layer.name) == ("F003", "up") and "Upsample-10" in finding.message
