"""The reason in the message of a runtime that refuses a model."""

from __future__ import annotations

import pytest

from irexec.tools.compare.runtimes.hosted import reason

CHECK = "Exception from src/inference/src/cpp/core.cpp:84:\nCheck 'false' failed at src/frontends/report.cpp:151:\n"
CONVERSION = f"{CHECK}FrontEnd API failed with OpConversionFailure:\nModel wasn't fully converted."


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            f"{CONVERSION} Failed operations detailed log:\n-- Pad-19 with a message:\n"
            "While validating ONNX node '<Node(Pad): y>': Exception from src/frontends/onnx/op/pad.cpp:32:\n"
            "Unsupported padding mode: [wrap]\n\nSummary:\n-- Conversion is failed for: Pad-19\n\n",
            "Pad y: Unsupported padding mode: [wrap]",
        ),
        (
            f"{CONVERSION}\nSummary:\n-- No conversion rule found for operations: my.Foo\n\n",
            "No conversion rule found for operations: my.Foo",
        ),
        (f"{CHECK}[GENERAL_ERROR] no kernel\n", "[GENERAL_ERROR] no kernel"),
        (
            "[ONNXRuntimeError] : 10 : INVALID_GRAPH : Load model from /tmp/a.onnx failed:This is an invalid model.\n",
            "This is an invalid model.",
        ),
        ("[ONNXRuntimeError] : 1 : FAIL : Non-zero status\nmore\n", "Non-zero status"),
        ("", "no reason is given"),
    ],
)
def test_the_reason_is_kept(message: str, expected: str) -> None:
    assert reason(message) == expected
