"""ONNX's own tests as cases: its node tests, created by the package, and those that the package contains as files."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx

import irexec

# The reason why a node test does not pass, by a part of its name.
EXCEPTIONS = {
    "test_ai_onnx_ml_": "classical machine learning is refused by name",
    "test_attention_4d_causal_fp16": "one unit in the last place of f16: ONNX's numbers are rounded more often",
}
# The test draws without a seed: only types and shapes can be compared.
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
    """Yield the tests that the package contains as files."""
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
    """Return a value of ONNX as an array, a list of arrays, or None."""
    if isinstance(item, onnx.SequenceProto):
        return onnx.numpy_helper.to_list(item)
    if isinstance(item, onnx.OptionalProto):
        return onnx.numpy_helper.to_optional(item)
    return onnx.numpy_helper.to_array(item) if isinstance(item, onnx.TensorProto) else item
