"""The operators of OpenVINO Tokenizers give the package's results, recorded by benchmarks/tokenizer_texts.py."""

from __future__ import annotations

import io
import json
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irexec
from irexec.ops.spec import contents

pytestmark = pytest.mark.any_python

pytest.importorskip("regex")
RECORDED = Path(__file__).parents[2] / "data" / "tokenizers.zip"
KINDS = ["bpe", "bpe_by_pattern", "bpe_with_bytes", "unigram", "wordpiece"]


@cache
def _json(name: str) -> Any:
    with zipfile.ZipFile(RECORDED) as archive:
        return json.loads(archive.read(name))


@pytest.fixture(scope="module")
def arrays() -> Any:
    with zipfile.ZipFile(RECORDED) as archive:
        return dict(np.load(io.BytesIO(archive.read("calls.npz"))))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tokenizers")
    with zipfile.ZipFile(RECORDED) as archive:
        archive.extractall(path, [name for name in archive.namelist() if name.endswith((".xml", ".bin"))])
    return path


@pytest.mark.by_hand(3)
@pytest.mark.parametrize("type", sorted(contents.TOKENIZERS - {"RaggedTensorPack"}))
def test_calls(type: str, arrays: dict[str, Any]) -> None:
    operator = contents.find(type, "extension")
    assert operator is not None
    names = {attribute.file_name: attribute.name for attribute in operator.attributes}
    calls = [(number, call) for number, call in enumerate(_json("calls.json")) if call["type"] == type]
    assert calls
    for number, call in calls:
        inputs = [arrays[f"{number}.in.{port}"] for port in range(call["inputs"])]
        found = operator(*inputs, **{names[name]: value for name, value in call["attributes"].items()})
        expected = [arrays[name] for name in arrays if name.startswith(f"{number}.out.")]
        found = list(found) if isinstance(found, (list, tuple)) else [found]
        assert len(found) == len(expected)
        for mine, theirs in zip(found, expected, strict=True):
            assert mine.dtype == theirs.dtype, (number, call)
            np.testing.assert_array_equal(mine, theirs, str((number, call)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_tokenizer_makes_the_tokens_of_texts_in_many_scripts(kind: str, folder: Path) -> None:
    recorded = _json("results.json")
    tokenizer = irexec.compile_model(folder / kind / "openvino_tokenizer.xml")
    found = []
    for first in range(0, len(recorded["texts"]), 40):
        result = tokenizer(recorded["texts"][first : first + 40])
        rows = zip(result["input_ids"], result["attention_mask"], strict=True)
        found += [row[own.astype(bool)].tolist() for row, own in rows]
    assert len(found) == 400
    assert found == recorded[kind]["tokens"]


@pytest.mark.by_hand(2)
@pytest.mark.parametrize("kind", KINDS)
def test_a_detokenizer_makes_texts_of_tokens(kind: str, folder: Path) -> None:
    recorded = _json("results.json")[kind]
    detokenizer = irexec.compile_model(folder / kind / "openvino_detokenizer.xml")
    found = [str(detokenizer(np.array([row], np.int64))[0][0]) for row in recorded["tokens"]]
    assert found == recorded["strings"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_files_have_no_findings(kind: str, folder: Path) -> None:
    for part in ("tokenizer", "detokenizer"):
        report = irexec.validate(folder / kind / f"openvino_{part}.xml")
        assert not report.diagnostics, report.diagnostics
