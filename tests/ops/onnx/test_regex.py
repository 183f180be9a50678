"""RegexFullMatch of ONNX: syntax that RE2 has and Python lacks, compared with ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irexec

TEXTS = [
    "",
    "a",
    "Ab9",
    "a\nb",
    "\u65e5\u672c",
    " \u00e9 ",
    "x]y",
    "a+b",
    "[",
    "HELLO",
    "9",
    "a b",
    "_",
    ":l:",
    "\u00b2",
]
PATTERNS = [
    r"\p{L}+", r"\pN", r"\P{L}*", r"\p{^Lu}+", r"[\p{L}\d ]+", r"[^\p{Lu}]*", r"[[:alpha:]]+", r"[[:^alpha:]]+",
    r"[[:upper:][:digit:]b]+", r"[]x-y]+", r"[^]]*", r"(?i:ab)9", r"(?i)hello", r"(?m)^a$\n^b$", r"^a$\nb", r"a\z",
    r"\Qa+b\E", r"\W+", r"[[]", r"(?s).*", r".*", r"(?P<n>a|b)+", r"\p{Nd}|\p{No}", r"a(?s:.)b", r"(?i)[^\p{Lu}]+b",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_beside_onnx_runtime(pattern: str, tmp_path: Path) -> None:
    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    string = onnx.TensorProto.STRING
    node = onnx.helper.make_node("RegexFullMatch", ["x"], ["y"], pattern=pattern)
    x = onnx.helper.make_tensor_value_info("x", string, [len(TEXTS)])
    y = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.BOOL, [len(TEXTS)])
    graph = onnx.helper.make_graph([node], "g", [x], [y])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)], ir_version=9)
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (expected,) = session.run(None, {"x": np.array(TEXTS, object)})
    found = irexec.onnx20.regex_full_match(np.array(TEXTS, np.dtypes.StringDType()), pattern=pattern)
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("pattern", [r"a\Z", r"[[:letter:]]", r"\p{Elvish}", r"(a", r"(?=a)"])
def test_what_re2_does_not_have(pattern: str) -> None:
    with pytest.raises(irexec.IRError, match="the pattern cannot be read"):
        irexec.onnx20.regex_full_match(np.array(["a"], np.dtypes.StringDType()), pattern=pattern)
