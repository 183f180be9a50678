"""Titles of clusters: reasons without names and numbers, and the properties that explain failures."""

from __future__ import annotations

import pytest

from irexec.tools.conformance.clusters import clusters_of
from irexec.tools.conformance.results import Finding, Tally
from irexec.tools.conformance.titles import reason_of, title_of

MESSAGES = [
    (
        "RuntimeError: n.cpp:54: Check 'newNode' failed at src/plugins/intel_cpu/src/node.cpp:1626: Unsupported "
        "operation of type: Selu name: op Details: Exception from src/plugins/intel_cpu/src/nodes/mathematics.cpp:78: "
        "Not Implemented: Constant expected as the second and third inputs. Exception from src/plugins/intel_cpu/"
        "src/nodes/reference.cpp:36: Not Implemented: Cannot fallback on ngraph reference implementation. Ngraph::"
        "Node::evaluate() is not implemented for op: opset1::Selu op (opset1::Parameter data[0]:f32[?]) -> (f32[?])",
        "Constant expected as the second and third inputs",
    ),
    (
        "RuntimeError: Exception from src/inference/src/cpp/core.cpp:84: Check 'k_type == element::i8' failed at "
        "src/core/src/op/topk.cpp:162: While validating node 'opset1::TopK TopK_3 (opset1::Constant k[0]:u16[]) -> ()' "
        "with friendly_name 'TopK_3': K input element type must be i8, i32 or i64.",
        "K input element type must be i8, i32 or i64",
    ),
    (
        "RuntimeError: Exception from src/core/src/prior.hpp:55: Check 'input_shapes.size() == 2' failed at "
        "src/a.hpp:55: While validating node 'opset1::PriorBox PriorBox_1 (u8[?]) -> ()' with friendly_name 'P_1'",
        "Check 'input_shapes.size() == N'",
    ),
    (
        "RuntimeError: Exception from src/plugins/intel_cpu/src/node.cpp:108: Unexpected: CPU plug-in doesn't support "
        "Squeeze operation with dynamic rank. Operation name: op.0",
        "Unexpected: CPU plug-in doesn't support ... operation with dynamic rank",
    ),
    ("ValueError: no kernel for shape [2, 3]", "no kernel for shape N"),
    ("SIGSEGV", "SIGSEGV"),
    ("", ""),
]


@pytest.mark.parametrize(("message", "reason"), MESSAGES)
def test_the_reason_in_a_message(message: str, reason: str) -> None:
    type = next((name for name in ("Selu", "TopK", "Squeeze") if name in message), "")
    assert reason_of(message, type) == reason


def test_refusals_for_one_reason_are_one_cluster() -> None:
    found = [
        Finding(f"{operator}/{n}", "refused", f"RuntimeError: {type} {n} needs rank {n}", operator, kind)
        for n, (operator, type) in enumerate((("Tile-1", "Tile"), ("Pad-1", "Pad"), ("Pad-12", "Pad")))
        for kind in ("static", "dynamic")
    ]
    (cluster,) = clusters_of(found, Tally())
    assert cluster.title == "Pad-1, Pad-12, Tile-1: refused: ... N needs rank N" and len(cluster.findings) == 6


def test_a_title_names_what_explains_the_failures() -> None:
    """Properties that most cases have are not named."""
    tally = Tally()
    for number in range(60):
        fails = number % 10 == 0
        facts = {"attribute mode": "linear" if number % 10 < 2 else "cubic", "data is": "computed", "type": "f32"}
        kind = "dynamic" if fails or number % 10 == 5 else "static"
        tally.count("Interpolate-11", "f32", kind, "wrong" if fails else "passed", facts)
        if fails:
            tally.findings.append(Finding(str(number), "wrong", "9 %", "Interpolate-11", kind, facts))
    (cluster,) = clusters_of(tally.findings, tally)
    assert cluster.title == "Interpolate-11: wrong result with mode=linear and dynamic shapes"


@pytest.mark.parametrize(
    ("cause", "word", "operators", "common", "title"),
    [
        ("Add", "wrong", ["Add-1"], {}, "Add-1: wrong result"),
        ("Add", "wrong", ["Add-1"], {"call": "later ones only"}, "Add-1: wrong result only in later calls"),
        ("Add", "crash", ["Add-1"], {"empty": "yes"}, "Add-1: the process ends with empty inputs: SIGSEGV"),
        (
            "Gather", "shape", ["Gather-7", "Gather-8"],
            {"axis is": "constant", "data layout": "transposed", "indices type": "i32"},
            "Gather-7, Gather-8: wrong shape with constant axis, transposed data and indices in i32",
        ),
        ("64-bit", "wrong", ["A-1", "B-1", "C-1", "D-1"], {}, "A-1, B-1, C-1 and 1 other: wrong result: 64-bit"),
        ("Elu", "accepted", ["Elu-1"], {"forbidden": "C2"}, "Elu-1: a forbidden case is computed with a breach of C2"),
    ],
)  # fmt: skip
def test_titles(cause: str, word: str, operators: list[str], common: dict[str, str], title: str) -> None:
    assert title_of(cause, word, operators, common, "SIGSEGV") == title
